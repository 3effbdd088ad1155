"""Common part of the scripts: options, results that survive an interruption, and sections of the page."""

from __future__ import annotations

import argparse
import json
import os
import re
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from rich.progress import Progress

from paper.quiet import Watch, is_quiet
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
    parser.add_argument(
        "--quiet", type=int, default=0, metavar="N", help="repeat what other work disturbed until N trials are quiet"
    )
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
    """Measurements of one table or figure, saved to a file after each of them.

    The key of a measurement ends in the seed of its trial, after a space or a slash.
    """

    def __init__(self, item: str, folder: Path, fresh: bool = False, quiet: int = 0):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{item}{SUFFIX}"
        self._quiet = quiet
        empty = {"machine": None, "measured": {}}
        self.content: dict[str, Any] = empty if fresh else load(self.path, empty)

    @classmethod
    def of(cls, item: str, chosen: argparse.Namespace) -> Results:
        """The stored results, as the options ask."""
        return cls(item, chosen.folder, chosen.fresh, chosen.quiet)

    @property
    def measured(self) -> dict[str, dict[str, Any]]:
        return self.content["measured"]

    @property
    def threads(self) -> int:
        """Threads that the fits were allowed."""
        machine = self.content["machine"]
        return int(machine["threads"]) if machine else count_threads(None)

    def run(self, jobs: Iterable[tuple[str, Callable[[], dict[str, Any]]]]) -> None:
        """Run the jobs that are not stored yet, and those that have to be repeated, with a progress bar.

        An interruption loses at most the current one.
        """
        found = dict(jobs)
        due = {key: measure for key, measure in found.items() if key not in self.measured}
        self._run(due)
        self._run({key: found[key] for key in self._disturbed(found)})

    def _run(self, jobs: dict[str, Callable[[], dict[str, Any]]]) -> None:
        if not jobs:
            return
        self.content["machine"] = describe(count_threads(None))
        with Progress() as progress:
            bar = progress.add_task("", total=len(jobs))
            for key, measure in jobs.items():
                progress.update(bar, description=key)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    watch = Watch()
                    measured = measure()
                    self.measured[key] = measured | {"disturbance": watch.disturbance()}
                save(self.path, self.content)
                progress.advance(bar)

    def _disturbed(self, keys: Iterable[str]) -> list[str]:
        """Keys of the first trials of each cell that are not quiet, as many as it lacks."""
        cells: dict[str, list[str]] = {}
        for key in keys:
            if "seconds" in self.measured[key]:
                cells.setdefault(re.sub(r"[ /][^ /]*$", "", key), []).append(key)
        due = []
        for trials in cells.values():
            disturbed = [key for key in trials if not is_quiet(self.measured[key])]
            due += disturbed[: max(self._quiet - (len(trials) - len(disturbed)), 0)]
        return due

    def of_trials(self, prefix: str) -> list[dict[str, Any]]:
        """The measurements whose keys are the prefix and a seed."""
        return [
            value for key, value in self.measured.items() if key.startswith(prefix) and key[len(prefix) :].isdigit()
        ]


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
