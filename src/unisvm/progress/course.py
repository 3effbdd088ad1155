"""How far a fit is and how long it takes yet, as far as its events tell."""

from __future__ import annotations

import math
from time import perf_counter
from typing import NamedTuple

import numpy as np

from unisvm.progress.events import (
    CellFitted,
    CellScored,
    Event,
    IterationEnds,
    KernelBegins,
    KernelEnds,
    RoundBegins,
    RoundEnds,
    StageBegins,
    StageEnds,
)

# a share below this says nothing of the time that is left
_LEAST_SHARE = 0.02


class Standing(NamedTuple):
    """How far a fit is.

    Attributes
    ----------
    text : str
        What is under way.
    seconds : float
        Since that began.
    share : float or None
        Of it that is done, about; None if that cannot be told.
    """

    text: str
    seconds: float
    share: float | None

    @property
    def seconds_left(self) -> float | None:
        """Seconds that it takes yet, about; None if that cannot be told."""
        if self.share is None or self.share < _LEAST_SHARE:
            return None
        return self.seconds * (1 - self.share) / self.share


class Course:
    """Follows the events of a fit or a search."""

    def __init__(self) -> None:
        self._stages: dict[tuple[str, ...], tuple[str, float]] = {}
        self._solver: _SolverCourse | None = None
        self._round: _RoundCourse | None = None
        self._cells: CellFitted | None = None

    def follow(self, event: Event) -> None:
        """Take in an event."""
        if isinstance(event, StageBegins | StageEnds):
            self._follow_stage(event)
        elif isinstance(event, IterationEnds):
            if self._solver is None:
                self._solver = _SolverCourse(event)
            self._solver.follow(event)
        elif isinstance(event, CellFitted):
            self._cells = event
        elif isinstance(event, RoundBegins):
            self._round = _RoundCourse(event)
        elif isinstance(event, RoundEnds):
            self._round = None
        elif self._round is not None:
            self._round.follow(event)

    def _follow_stage(self, event: StageBegins | StageEnds) -> None:
        key = (*event.path, event.name)
        if isinstance(event, StageBegins):
            self._stages[key] = event.label, perf_counter()
        else:
            self._stages.pop(key, None)
        if event.name == "solver":
            self._solver = None
        if event.name == "cells":
            self._cells = None

    def standing(self) -> Standing | None:
        """How far the fit is; None between its stages."""
        now = perf_counter()
        if self._round is not None:
            return self._round.standing(now)
        if not self._stages:
            return None
        # the innermost is the last that began
        *path, _ = next(reversed(self._stages))
        label, began = next(reversed(self._stages.values()))
        name = ", ".join([*path, label])
        if self._solver is not None:
            return self._solver.standing(name, now)
        if self._cells is not None:
            done, n_cells = self._cells.number, self._cells.n_cells
            return Standing(f"{name}: {done} of {n_cells}", now - began, done / n_cells)
        return Standing(name, now - began, None)


class _SolverCourse:
    """The iterations of a solver.

    Stationarity falls about exponentially: its logarithm, from where it was at first to that of tol, tells the share
    that is done, or the number of iterations in max_iter if that is nearer to its end.
    """

    def __init__(self, first: IterationEnds):
        self._began, self._first, self._last = perf_counter(), first, first
        self._lowest = math.inf

    def follow(self, event: IterationEnds) -> None:
        self._last = event
        self._lowest = min(self._lowest, float(np.max(event.stationarity)))

    def standing(self, name: str, now: float) -> Standing:
        first, last = self._first, self._last
        text = f"{name}: iteration {last.number}, objective {np.mean(last.objective):.6g}, "
        text += f"stationarity {np.max(last.stationarity):.1e} for tol={last.tol:g}"
        to_end = (last.number - first.number) / max(last.max_iter - first.number, 1)
        share = max(to_end, _share_to_tol(float(np.max(first.stationarity)), self._lowest, last.tol))
        return Standing(text, now - self._began, min(share, 0.99))


def _share_to_tol(first: float, lowest: float, tol: float) -> float:
    if lowest <= tol:
        return 1.0
    return 0.0 if first <= tol or lowest >= first else math.log(first / lowest) / math.log(first / tol)


class _RoundCourse:
    """The kernels and cells of a round of a search."""

    def __init__(self, begins: RoundBegins):
        self._began, self._round = perf_counter(), begins
        self._kernels: dict[int, KernelBegins] = {}
        self._n_scored = 0
        self._best_score = -math.inf

    def follow(self, event: Event) -> None:
        if isinstance(event, KernelBegins):
            self._kernels[event.index] = event
        elif isinstance(event, KernelEnds):
            self._kernels.pop(event.index, None)
        elif isinstance(event, CellScored):
            self._n_scored += 1
            if event.best_params:
                self._best_score = event.best_score

    def standing(self, now: float) -> Standing:
        text = f"search, {self._round.name}"
        if self._kernels:
            numbers = " and ".join(str(kernel.number) for kernel in self._kernels.values())
            text += f": kernel {numbers} of {self._round.n_kernels}"
            if len(self._kernels) == 1:
                text += f", {next(iter(self._kernels.values())).name}"
        if self._best_score > -math.inf:
            text += f", best score {self._best_score:.4g}"
        return Standing(text, now - self._began, self._n_scored / max(self._round.n_cells, 1))
