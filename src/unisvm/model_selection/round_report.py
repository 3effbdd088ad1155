"""What a round of a search tells of its kernels and cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from unisvm.model_selection.axes import Axes, KernelChoice
from unisvm.parallel import CancelToken
from unisvm.progress import CellScored, KernelBegins, KernelEnds, Report, RoundBegins, RoundEnds


class Scores(Protocol):
    """The best cell until now, by its indices of C, kernel and loss, and its mean score."""

    @property
    def best(self) -> tuple[int, ...] | None: ...

    @property
    def best_score(self) -> float: ...


class RoundReport:
    """Tells of a round, which it is the context of.

    Parameters
    ----------
    report : Report
        Of the search.
    name : str
        Of the round.
    axes : Axes
    choices : sequence of KernelChoice
        All kernels.
    chosen : list of int
        Indices of those of the round.
    n_cells : ndarray of int of shape (n_choices,)
        Cells of the round that are to be tried with each kernel.
    ending : CancelToken
        Set when a listener asks to end the search.
    """

    def __init__(
        self,
        report: Report,
        name: str,
        axes: Axes,
        choices: Sequence[KernelChoice],
        chosen: list[int],
        n_cells: np.ndarray,
        ending: CancelToken,
    ):
        self._outer, self._report = report, report.within(name)
        self._name, self._axes, self._choices = name, axes, choices
        self._chosen, self._n_cells, self._ending = chosen, n_cells, ending
        self._several_kernels = any(choice.kernel is not choices[0].kernel for choice in choices)

    @contextmanager
    def whole(self, scores: Scores) -> Iterator[None]:
        """Context of the round, which fills these scores."""
        started = perf_counter()
        n_cells = int(self._n_cells.sum())
        self._outer.emit(RoundBegins, name=self._name, n_kernels=len(self._chosen), n_cells=n_cells)
        ends = partial(self._outer.emit, RoundEnds, name=self._name)
        try:
            yield
        except BaseException:
            ends(seconds=perf_counter() - started, failed=True, **self._best(scores))
            raise
        ends(seconds=perf_counter() - started, **self._best(scores))

    @contextmanager
    def kernel(self, index: int) -> Iterator[Report]:
        """Context of a kernel, with the report of its stages."""
        started, name = perf_counter(), self._choices[index].name
        number, n_kernels = self._chosen.index(index) + 1, len(self._chosen)
        places = {"number": number, "n_kernels": n_kernels, "n_cells": int(self._n_cells[index])}
        self._report.emit(KernelBegins, index=index, name=name, **places)
        ends = partial(self._report.emit, KernelEnds, index=index, name=name)
        try:
            yield self._report.within(name)
        except BaseException:
            ends(seconds=perf_counter() - started, failed=True)
            raise
        if ends(seconds=perf_counter() - started):
            self._end()

    def cell(self, cell: tuple[int, int, int], score: float, scores: Scores) -> None:
        """Tell of the score of a cell, by its indices of C, kernel and loss, and of the best until then."""
        params, best = self._params(*cell), self._best(scores)
        if self._report.emit(CellScored, index=cell[1], params=params, score=score, **best):
            self._end()

    def _best(self, scores: Scores) -> dict[str, Any]:
        return {"best_score": scores.best_score, "best_params": self._params(*scores.best) if scores.best else {}}

    def _params(self, C: int, choice: int, loss: int) -> dict[str, Any]:
        kernel, gamma = self._choices[choice]
        params = {"C": float(self._axes.Cs[C]), "gamma": gamma, "loss": self._axes.given_losses[loss]}
        return params | ({"kernel": kernel} if self._several_kernels else {})

    def _end(self) -> None:
        if not self._ending.cancelled:
            self._ending.cancelled = True
            self._outer.say("a callback ends the search: no further kernel is tried")
