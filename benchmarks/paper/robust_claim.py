"""The paper's claim about outliers that cluster, judged from the measurements of `figure_xor_robust`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from paper import xor
from paper.common import SOLVERS, Results, markdown
from paper.figures import (
    SOLVER_NAMES,
    median_seconds,
    seconds_of,
    seeds_of,
    values,
    with_remark,
)
from paper.tables import mean_and_deviation


class Layout(NamedTuple):
    """Place of the flips: half the side of the square, and the part of its side that a corner of them takes."""

    half_side: float
    corner: float | None

    def __str__(self) -> str:
        square = f"[-{self.half_side:g}, {self.half_side:g}]²"
        return square if self.corner is None else f"{self.corner:.0%} of {square}"


SCATTERED, CORNER = "scattered", "corner"
LAYOUTS = {
    SCATTERED: Layout(2.0, None),
    CORNER: Layout(2.0, 0.2),
    "small corner": Layout(2.0, 0.15),
    # the paper does not say how large its square is
    "corner of a small square": Layout(1.0, 0.2),
    "small corner of a small square": Layout(1.0, 0.15),
}
CORNERS = [name for name, layout in LAYOUTS.items() if layout.corner is not None]


class Pair(NamedTuple):
    """A model, and the comparator that solves it."""

    comparator: str
    loss: str

    def low_rank(self, solver: str) -> str:
        return f"{self.comparator} low rank {solver}"

    def unisvm(self, kind: str, solver: str) -> str:
        return f"UniSVM-{kind} {self.loss} {solver}"

    def systems(self, solver: str) -> dict[str, str]:
        """Either algorithm with either kernel, with their titles."""
        return {
            self.comparator: self.comparator,
            self.low_rank(solver): f"{self.comparator}, r = {xor.LOW_RANK}",
            self.unisvm("full", solver): f"UniSVM-full, {SOLVER_NAMES[solver]}",
            self.unisvm("app", solver): f"UniSVM, r = {xor.LOW_RANK}, {SOLVER_NAMES[solver]}",
        }


PAIRS = (Pair("MS-SVM", "truncated squared hinge"), Pair("re-weighted L2SVM", "loss (2, 2, 2)"))

AS_RUN, BOTH_FULL, BOTH_LOW, CAUSE = (
    f"UniSVM with r = {xor.LOW_RANK} against the comparator with the full kernel, as in the paper",
    "UniSVM against the comparator, both with the full kernel",
    f"UniSVM against the comparator, both with the kernel of rank {xor.LOW_RANK}",
    f"the comparator with r = {xor.LOW_RANK} against itself with the full kernel",
)
#: the two systems of each comparison, for a model and a solver
COMPARISONS = {
    AS_RUN: lambda pair, solver: (pair.unisvm("app", solver), pair.comparator),
    BOTH_FULL: lambda pair, solver: (pair.unisvm("full", solver), pair.comparator),
    BOTH_LOW: lambda pair, solver: (pair.unisvm("app", solver), pair.low_rank(solver)),
    CAUSE: lambda pair, solver: (pair.low_rank(solver), pair.comparator),
}


class Count(NamedTuple):
    """Cases in which the first is higher or lower by more than two standard errors, and the mean difference."""

    higher: int
    lower: int
    cases: int
    mean: float


class Verdicts:
    """Comparisons of systems over the trials in which all were measured."""

    def __init__(self, results: Results, systems: Iterable[str]):
        self.results = results
        self.seeds = seeds_of(results, [f"{layout}/{system}/" for layout in LAYOUTS for system in systems])

    def values(self, layout: str, system: str, name: str) -> np.ndarray:
        return values(self.results, f"{layout}/{system}/", self.seeds, name)

    def seconds(self, layout: str, system: str) -> float:
        """Median seconds, of undisturbed trials if there are any."""
        return seconds_of(self.results, f"{layout}/{system}/", self.seeds)

    def written_seconds(self, layout: str, system: str) -> str:
        """The same as a table shows it."""
        return median_seconds(self.results, f"{layout}/{system}/", self.seeds)

    def count(self, comparison: str, solvers: Iterable[str], name: str) -> Count:
        """Count over the corners, the models and these solvers."""
        means, errors = [], []
        for solver in solvers:
            for pair in PAIRS:
                first, second = COMPARISONS[comparison](pair, solver)
                for layout in CORNERS:
                    apart = self.values(layout, first, name) - self.values(layout, second, name)
                    means.append(apart.mean())
                    # one trial decides nothing
                    errors.append(np.std(apart, ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.inf)
        above, below = np.array(means) > 2 * np.array(errors), np.array(means) < -2 * np.array(errors)
        return Count(int(above.sum()), int(below.sum()), len(means), float(np.mean(means)))


def panel_table(verdicts: Verdicts, panels: dict[str, str], layout: str) -> str:
    rows = [
        [
            title,
            mean_and_deviation(verdicts.values(layout, system, "accuracy"), 2),
            mean_and_deviation(verdicts.values(layout, system, "corner"), 1),
            verdicts.written_seconds(layout, system),
        ]
        for system, title in panels.items()
    ]
    return with_remark(markdown(["", "test accuracy, %", "in the corner, %", "seconds"], rows))


def claim_table(verdicts: Verdicts) -> str:
    """Accuracy in every corner, and the objective in the first of them."""
    rows = []
    for pair in PAIRS:
        # the comparator stands once, its low-rank kernels and UniSVM once a solver
        systems = {
            system: f"{title}, {SOLVER_NAMES[solver]}'s landmarks" if "low rank" in system else title
            for solver in SOLVERS
            for system, title in pair.systems(solver).items()
        }
        for system, title in systems.items():
            corners = [mean_and_deviation(verdicts.values(layout, system, "corner"), 0) for layout in CORNERS]
            rows.append([pair.loss, title, *corners, f"{verdicts.values(CORNERS[0], system, 'objective').mean():.4f}"])
    return markdown(["model", "", *(f"{LAYOUTS[name]}" for name in CORNERS), "objective"], rows)


def comparison_table(verdicts: Verdicts) -> str:
    rows = []
    for comparison in COMPARISONS:
        for solver in SOLVERS:
            corner = verdicts.count(comparison, [solver], "corner")
            objective = verdicts.count(comparison, [solver], "objective")
            rows.append(
                [
                    comparison,
                    SOLVER_NAMES[solver],
                    f"{corner.mean:+.0f}",
                    f"{corner.higher} and {corner.lower} of {corner.cases}",
                    f"{objective.lower} and {objective.higher} of {objective.cases}",
                ]
            )
    header = ["", "solver", "points in the corner", "better and worse there", "lower and higher objective"]
    return markdown(header, rows)
