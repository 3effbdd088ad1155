"""The claims that the comparison must bear out, each computed from the raw results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from peers.jobs import CELLS, EVEN, PARTED, TEN_LOSSES, WIDE
from peers.tasks import BOARD_SIZES


class Missing(Exception):
    """A measurement that a claim needs is missing."""


class Table:
    """Raw results, looked up by task, system and options; the median over the repeats."""

    def __init__(self, results: list[dict]):
        self.results = results

    def runs(self, task: str, system: str, **options) -> list[dict]:
        return [
            run
            for run in self.results
            if (run["task"], run["system"], run["options"]) == (task, system, options) and "fit_seconds" in run
        ]

    def get(self, quantity: str, task: str, system: str, **options) -> float:
        runs = self.runs(task, system, **options)
        if not runs:
            raise Missing(f"{system} on {task}" + (f" with {options}" if options else ""))
        return float(np.median([run[quantity] for run in runs]))

    def fit(self, task: str, system: str, **options) -> float:
        """Seconds of a fit; for a run that was stopped, the limit."""
        stopped = [
            run["stopped_after"]
            for run in self.results
            if (run["task"], run["system"], run["options"]) == (task, system, options) and "stopped_after" in run
        ]
        return stopped[0] if stopped else self.get("fit_seconds", task, system, **options)


@dataclass(frozen=True)
class Claim:
    """A figure that must be at least, or at most, the bound."""

    text: str
    bound: float
    figure: Callable[[Table], float]
    at_least: bool = True
    unit: str = "×"

    def check(self, table: Table) -> tuple[float | None, str]:
        """The figure, and whether the claim holds: yes, no, or the missing measurement."""
        try:
            figure = self.figure(table)
        except Missing as missing:
            return None, f"not measured: {missing}"
        holds = figure >= self.bound if self.at_least else figure <= self.bound
        return figure, "yes" if holds else "**no**"


def _faster(task: str, peer: str, quantity: str = "fit_seconds", **options) -> Callable[[Table], float]:
    return lambda table: table.get(quantity, task, peer) / table.get(quantity, task, "unisvm", **options)


def _lead(task: str, peer: str, **options) -> Callable[[Table], float]:
    """Points of accuracy above a peer."""
    return lambda table: table.get("accuracy", task, "unisvm", **options) - table.get("accuracy", task, peer)


def _reaches(task: str, points: float, **options) -> Claim:
    where = f"{task}, accuracy" + "".join(f", {name} {value}" for name, value in options.items() if name == "rank")
    return Claim(where, points, lambda table: table.get("accuracy", task, "unisvm", **options), unit=" %")


def _least_against_algorithm_1(task: str) -> Callable[[Table], float]:
    def figure(table: Table) -> float:
        return min(
            table.fit(task, "algorithm-1", loss=loss) / table.fit(task, "unisvm", loss=loss) for loss in TEN_LOSSES
        )

    return figure


def _growth(table: Table, least: int = 0, **options) -> float:
    """The exponent of the fit's time in the number of rows, from so many on."""
    sizes = {label: n_rows for label, n_rows in BOARD_SIZES.items() if n_rows >= least}
    seconds = [table.fit(f"board-{label}", "unisvm", **options) for label in sizes]
    return float(np.polyfit(np.log(list(sizes.values())), np.log(seconds), 1)[0])


def _wide(rank: int) -> dict:
    return {"rank": rank, "rank_tol": 0.0} | WIDE[rank]


_SLACK = -0.1
CLAIMS = [
    Claim("a9a, fit against scikit-learn's SVC", 60, _faster("a9a", "sklearn-svm")),
    Claim("a9a, fit against intelex SVC", 5, _faster("a9a", "intelex-svm")),
    Claim("a9a, accuracy above SVC's", _SLACK, _lead("a9a", "sklearn-svm"), unit=" points"),
    Claim("ijcnn1, fit against scikit-learn's SVC", 8, _faster("ijcnn1", "sklearn-svm")),
    Claim("ijcnn1, fit against intelex SVC", 3, _faster("ijcnn1", "intelex-svm")),
    Claim("ijcnn1, fit against Nystroem + LinearSVC", 8, _faster("ijcnn1", "nystroem-linear-svc")),
    Claim("ijcnn1, accuracy above SVC's", _SLACK, _lead("ijcnn1", "sklearn-svm"), unit=" points"),
    Claim(
        "ijcnn1, accuracy above Nystroem + LinearSVC's", _SLACK, _lead("ijcnn1", "nystroem-linear-svc"), unit=" points"
    ),
    Claim("ijcnn1, predict against scikit-learn's SVC", 15, _faster("ijcnn1", "sklearn-svm", "predict_seconds")),
    Claim("ijcnn1, predict against intelex SVC", 2, _faster("ijcnn1", "intelex-svm", "predict_seconds")),
    Claim(
        "covtype, least squares, fit against Nystroem + RidgeClassifier",
        1.75,
        _faster("covtype", "nystroem-ridge", **EVEN),
    ),
    Claim("covtype, least squares, accuracy above it", 0, _lead("covtype", "nystroem-ridge", **EVEN), unit=" points"),
    Claim("covtype, saturating, fit against Nystroem + RidgeClassifier", 1, _faster("covtype", "nystroem-ridge")),
    _reaches("covtype", 84.0),
    Claim(
        "covtype, rank 4000 against ten fits of rank 1000",
        1,
        lambda table: 10 * table.fit("covtype", "unisvm") / table.fit("covtype", "unisvm", **_wide(4000)),
    ),
    _reaches("covtype", 89.3, **_wide(4000)),
    _reaches("covtype", 91.5, **_wide(8000)),
    Claim(
        "covtype, rank 8000, peak memory",
        17,
        lambda table: table.get("peak_megabytes", "covtype", "unisvm", **_wide(8000)) / 1024,
        at_least=False,
        unit=" GB",
    ),
    Claim(
        "covtype, cells, accuracy", 94.5, lambda table: table.get("accuracy", "covtype", "unisvm", **CELLS), unit=" %"
    ),
    Claim(
        "covtype, cells, fit against rank 4000",
        1,
        lambda table: table.fit("covtype", "unisvm", **_wide(4000)) / table.fit("covtype", "unisvm", **CELLS),
    ),
    Claim(
        "covtype, cells, peak memory",
        6,
        lambda table: table.get("peak_megabytes", "covtype", "unisvm", **CELLS) / 1024,
        at_least=False,
        unit=" GB",
    ),
    Claim(
        "covtype, mean of three partitions, accuracy",
        96.2,
        lambda table: table.get("accuracy", "covtype", "unisvm", **PARTED),
        unit=" %",
    ),
    Claim("covtype-100k, fit against intelex SVC", 30, _faster("covtype-100k", "intelex-svm")),
    Claim("covtype-100k, accuracy above it", _SLACK, _lead("covtype-100k", "intelex-svm"), unit=" points"),
    Claim("mnist, fit against scikit-learn's SVC", 30, _faster("mnist", "sklearn-svm")),
    _reaches("mnist", 97.3),
    Claim("a9a, the least of ten losses against Algorithm 1", 8, _least_against_algorithm_1("a9a")),
    Claim("covtype, the least of ten losses against Algorithm 1", 8, _least_against_algorithm_1("covtype")),
    Claim(
        "letter, 26 classes against one",
        8,
        lambda table: table.fit("letter", "unisvm") / table.fit("letter-A", "unisvm"),
        at_least=False,
    ),
    _reaches("board-3M", 99.9),
    Claim(
        "board-3M, peak memory",
        6,
        lambda table: table.get("peak_megabytes", "board-3M", "unisvm") / 1024,
        at_least=False,
        unit=" GB",
    ),
    Claim("checkerboard, growth of the fit's time with the rows", 1.1, _growth, at_least=False, unit=" exponent"),
    Claim(
        "checkerboard, cells, growth from 100,000 to 3,000,000 rows",
        1.1,
        lambda table: _growth(table, 10**5, cells="auto"),
        at_least=False,
        unit=" exponent",
    ),
]
