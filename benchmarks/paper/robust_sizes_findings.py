"""The paper's findings on xor of growing size, judged from the measurements of `figure_robust_sizes`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from paper import xor
from paper.common import SOLVERS
from paper.figures import SOLVER_NAMES
from paper.findings import finding, judge

CLEAN, FLIPPED = "LibSVM without outliers", "LibSVM"
# a system matches the noise-free case if it loses less than this share of what LibSVM loses by the outliers
MATCHING = 1 / 4
# differences in points of accuracy that are called very small
SMALL = 0.5


def our_name(loss: str, solver: str) -> str:
    """Name of UniSVM with this loss and solver."""
    return f"UniSVM, {loss}, {SOLVER_NAMES[solver]}"


class Measured(Protocol):
    """Measurements by size, in each of which every system has the same trials."""

    sizes: list[int]

    def has(self, system: str, m: int) -> bool:
        """Whether the system was measured at this size."""
        ...

    def numbers(self, system: str, m: int, name: str) -> np.ndarray:
        """One figure, a number for each trial."""
        ...

    def seconds(self, system: str, m: int) -> float:
        """Median seconds."""
        ...


class _Middles:
    """Means of accuracies and medians of seconds."""

    def __init__(self, measured: Measured):
        self._measured = measured
        self.ours = {solver: [our_name(loss, solver) for loss in xor.ROBUST_LOSSES] for solver in SOLVERS}
        every = [CLEAN, FLIPPED, *(name for names in self.ours.values() for name in names)]
        self.sizes = [m for m in measured.sizes if all(measured.has(system, m) for system in every)]

    def programs(self, m: int) -> list[str]:
        return [name for name in xor.ROBUST_PROGRAMS if self._measured.has(name, m)]

    def robust(self, m: int) -> list[str]:
        return [*self.programs(m), *(name for names in self.ours.values() for name in names)]

    def accuracy(self, system: str, m: int) -> float:
        return float(self._measured.numbers(system, m, "accuracy").mean())

    def seconds(self, system: str, m: int) -> float:
        return self._measured.seconds(system, m)

    def loss_of_libsvm(self, m: int) -> float:
        return self.accuracy(CLEAN, m) - self.accuracy(FLIPPED, m)

    def matches(self, system: str, m: int) -> bool:
        return self.accuracy(CLEAN, m) - self.accuracy(system, m) < MATCHING * self.loss_of_libsvm(m)


def _by_size(found: _Middles, numbers: Iterable[str]) -> str:
    return ", ".join(f"{number} (m = {m:,})" for m, number in zip(found.sizes, numbers, strict=True))


def findings(measured: Measured) -> list[str]:
    """The four findings under the paper's figure, in their parts, for the sizes that are complete."""
    found = _Middles(measured)
    if not found.sizes:
        return ["- No size is complete: run more."]
    return [*_of_accuracy(found), *_of_seconds(found), *_of_libsvm(found), _of_unisvm(found)]


def _of_accuracy(found: _Middles) -> list[str]:
    cells = [(system, m) for m in found.sizes for system in found.robust(m)]
    better = [found.accuracy(system, m) > found.accuracy(FLIPPED, m) for system, m in cells]
    match = [found.matches(system, m) for system, m in cells]
    lost = [[found.accuracy(CLEAN, m) - found.accuracy(s, m) for s in found.robust(m)] for m in found.sizes]
    spread = [float(np.ptp(losses)) for losses in lost]
    return [
        finding(
            "the robust algorithms are all better than L1SVM on contaminated data",
            judge(better),
            f"in {sum(better)} of {len(better)} cases (system and size)",
        ),
        finding(
            "all of them match the results of the noise-free case",
            judge(match),
            f"{sum(match)} of {len(match)} cases lose less than a quarter of what LibSVM loses by the outliers; mean "
            "loss in points "
            + _by_size(
                found,
                (
                    f"{np.mean(x):.2f} against {found.loss_of_libsvm(m):.2f}"
                    for x, m in zip(lost, found.sizes, strict=True)
                ),
            ),
        ),
        finding(
            "the differences between the robust algorithms are very small",
            judge(points <= SMALL for points in spread),
            f"largest difference in points {_by_size(found, (f'{points:.2f}' for points in spread))}; up to {SMALL} "
            "counts as very small",
        ),
    ]


def _of_seconds(found: _Middles) -> list[str]:
    said = []
    for solver, names in found.ours.items():
        sizes = [m for m in found.sizes if found.programs(m)]
        ratios = [
            min(found.seconds(s, m) for s in found.programs(m)) / max(found.seconds(s, m) for s in names) for m in sizes
        ]
        texts = ", ".join(
            f"{ratio:.{0 if ratio > 10 else 1}f} (m = {m:,})" for ratio, m in zip(ratios, sizes, strict=True)
        )
        if sizes:
            said.append(
                finding(
                    f"the training time of UniSVM is significantly less ({SOLVER_NAMES[solver]})",
                    judge(ratio > 2 for ratio in ratios),
                    f"the fastest comparator takes as many times as long as the slowest UniSVM: {texts}; more than 2 "
                    "counts as significantly",
                )
            )
    cells = [(name, m) for m in found.sizes for name in found.programs(m)]
    slower = [found.seconds(name, m) > found.seconds(FLIPPED, m) for name, m in cells]
    last = max(found.sizes)
    times = ", ".join(f"{name} {found.seconds(name, last):.1f} s" for name in found.programs(last))
    if cells:
        said.append(
            finding(
                "however they are implemented, the comparators take longer than LibSVM, as each solves at least one "
                "program like LibSVM's",
                judge(slower),
                f"in {sum(slower)} of {len(slower)} cases; at m = {last:,} {times}, LibSVM "
                f"{found.seconds(FLIPPED, last):.1f} s",
            )
        )
    return said


def _of_libsvm(found: _Middles) -> list[str]:
    lost = [found.loss_of_libsvm(m) for m in found.sizes]
    ratios = [found.seconds(FLIPPED, m) / found.seconds(CLEAN, m) for m in found.sizes]
    return [
        finding(
            "the outliers greatly affect LibSVM's accuracy",
            judge(points > SMALL for points in lost),
            f"it loses points {_by_size(found, (f'{points:.2f}' for points in lost))}",
        ),
        finding(
            "and its training time",
            judge(ratio > 2 for ratio in ratios),
            f"it takes as many times as long {_by_size(found, (f'{ratio:.1f}' for ratio in ratios))}",
        ),
    ]


def _of_unisvm(found: _Middles) -> str:
    cells = [(system, m) for m in found.sizes for names in found.ours.values() for system in names]
    match = [found.matches(system, m) for system, m in cells]
    faster = [found.seconds(system, m) < found.seconds(FLIPPED, m) for system, m in cells]
    last = max(found.sizes)
    times = ", ".join(
        f"{SOLVER_NAMES[solver]} {min(found.seconds(s, last) for s in names):.2f} to "
        f"{max(found.seconds(s, last) for s in names):.2f} s"
        for solver, names in found.ours.items()
    )
    return finding(
        "UniSVM with a low-rank kernel is not only robust but also highly efficient",
        judge([*match, *faster]),
        f"it matches the noise-free case in {sum(match)} of {len(match)} cases and is faster than LibSVM with outliers "
        f"in {sum(faster)}; at m = {last:,} {times}, LibSVM {found.seconds(FLIPPED, last):.2f} s with and "
        f"{found.seconds(CLEAN, last):.2f} s without outliers",
    )
