"""Common part of the scripts: options, results that survive an interruption, and sections of the page."""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from rich.progress import Progress

from peers.machine import describe
from results import SUFFIX, load, save
from unisvm import losses, solvers
from unisvm.parallel import count_threads

ROOT = Path(__file__).resolve().parents[2]
#: pictures, and the results that the page is built from
FOLDER = ROOT / "docs" / "paper"
PUBLISHED = json.loads((Path(__file__).parent / "published.json").read_text())

#: UniSVM_1 to UniSVM_10 of the paper's classification tables
CLASSIFICATION_LOSSES = [
    losses.LeastSquares(),
    losses.SmoothHinge(p=10),
    losses.SquaredHinge(),
    losses.TruncatedSquaredHinge(a=2),
    losses.TruncatedLeastSquares(a=2),
    losses.QuadraticRamp(a=2),
    losses.SoftplusRamp(a=2, p=10),
    losses.Saturating(2, 2, 2),
    losses.Saturating(2, 2, 4),
    losses.Saturating(2, 3, 4),
]
#: UniSVM_1 to UniSVM_6 of its regression table
REGRESSION_LOSSES = [
    losses.LeastSquares(),
    losses.SmoothEpsilonInsensitive(epsilon=0.1, p=100),
    losses.Huber(delta=0.1),
    losses.SmoothAbsolute(p=100),
    losses.TruncatedLeastSquares(a=2),
    losses.TruncatedHuber(delta=0.1, a=2),
]


def options(description: str, trials: int, **more: dict[str, Any]) -> argparse.Namespace:
    """The options that every script takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--solver", choices=list(SOLVERS), default="lbfgs", help="dca is the paper's, with its stopping rule"
    )
    parser.add_argument("--trials", type=int, default=trials)
    parser.add_argument("--seed", type=int, default=0, help="of the first trial")
    parser.add_argument("--fresh", action="store_true", help="discard stored results")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where results and pictures go")
    for name, settings in more.items():
        parser.add_argument(f"--{name}", **settings)
    chosen = parser.parse_args()
    if chosen.trials < 1:
        parser.error("--trials must be at least 1")
    return chosen


#: the default, and Algorithm 1 with greedily pivoted landmarks and the paper's stopping rule
SOLVERS: dict[str, dict[str, Any]] = {
    "lbfgs": {},
    "dca": {"solver": solvers.DCA(stop="change"), "landmarks": "pivoted_cholesky", "max_iter": 5000},
}


class Results:
    """Measurements of one table or figure, saved to a file after each of them."""

    def __init__(self, item: str, folder: Path, fresh: bool = False):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{item}{SUFFIX}"
        empty = {"machine": None, "measured": {}}
        self.content: dict[str, Any] = empty if fresh else load(self.path, empty)

    @property
    def measured(self) -> dict[str, dict[str, Any]]:
        return self.content["measured"]

    def run(self, jobs: Iterable[tuple[str, Callable[[], dict[str, Any]]]]) -> None:
        """Run the jobs that are not stored yet, with a progress bar; an interruption loses at most the current one."""
        missing = [(key, measure) for key, measure in jobs if key not in self.measured]
        if not missing:
            return
        self.content["machine"] = describe(count_threads(None))
        with Progress() as progress:
            bar = progress.add_task("", total=len(missing))
            for key, measure in missing:
                progress.update(bar, description=key)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    self.measured[key] = measure()
                save(self.path, self.content)
                progress.advance(bar)

    def mean(self, prefix: str, name: str) -> float:
        """Mean of one figure over the trials whose keys start with the prefix."""
        return float(np.mean([value[name] for key, value in self.measured.items() if key.startswith(prefix)]))


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)]
    return "\n".join(lines)


def write_section(item: str, folder: Path, text: str) -> None:
    """Print and save the text of one table or figure, from which `python -m paper.page` builds the page."""
    print(text)
    # no paths of this machine in the page
    data = os.environ.get("UNISVM_DATA")
    if data:
        text = text.replace(data, "the folder in UNISVM_DATA")
    (folder / f"{item}.md").write_text(text.strip() + "\n")
