"""The search of a grid by machines of cells: some cells are searched on, each by itself, and scores are averaged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unisvm.checkpoint import Stages
from unisvm.model_selection.axes import Axes, KernelChoice
from unisvm.model_selection.folds import SearchJob, Splits
from unisvm.model_selection.search import GridSearch, Scores
from unisvm.model_selection.split_functions import SplitFunctions
from unisvm.progress import Report


class FunctionsOfCells(NamedTuple):
    """Functions of the splits of each cell, and the rows of the cells."""

    cells: list[SplitFunctions | None]
    parts: list[np.ndarray]

    def mean(self) -> None:
        """None: a refit has other cells."""

    def decide_as_new(self, X: Any, splits: Splits, decision: np.ndarray) -> np.ndarray:
        """Decisions on the rows left out, as if none of them were a landmark."""
        as_new = decision.copy()
        for functions, part in zip(self.cells, self.parts, strict=True):
            if functions is not None:
                as_new[part] = functions.decide_as_new(X, splits, decision)[part]
        return as_new


def search_cells(
    job: SearchJob, axes: Axes, choices: Sequence[KernelChoice], *, method: str, report: Report, stages: Stages
) -> Scores:
    """Scores of the grid, means over the cells that were drawn, weighted by their rows; as `search.search_all`."""
    return _CellSearch(job, axes, choices, report, stages).run(method)


@dataclass
class _CellSearch(GridSearch):
    def score(
        self,
        chosen: Iterable[int],
        subset: np.ndarray | None = None,
        *,
        tried: np.ndarray | None = None,
        prefix: str = "",
    ) -> Scores:
        """Mean scores of the kernels of these indices over the cells; decisions of the best grid cell on their rows."""
        assert self.job.drawn is not None
        chosen, parts = list(chosen), self.job.drawn.parts
        found = [
            super(_CellSearch, self).score(chosen, part, tried=tried, prefix=f"part-{p}-{prefix}")
            for p, part in enumerate(parts)
        ]
        scores = self._mean(found)
        if scores.best is None or prefix:
            return scores
        functions: list[SplitFunctions | None] = []
        for cell, part in zip(found, parts, strict=True):
            best = cell
            if cell.best != scores.best:
                # it has kept the decisions of another grid cell
                best = self._solve_again(scores.best, part, self._only(scores.best))
            elif cell.decision.size == 0:
                # its scores are from a checkpoint
                best = self._solve_again(scores.best, part, tried)
            functions.append(best.functions)
            if scores.decision.size == 0:
                scores.decision = np.full_like(best.decision, np.nan)
            if best.decision.size:
                scores.decision[part] = best.decision[part]
        scores.functions = FunctionsOfCells(functions, parts)
        return scores

    def _only(self, best: tuple[int, ...]) -> np.ndarray:
        """Mask of one grid cell."""
        tried = np.zeros((len(self.axes.Cs), len(self.choices), len(self.axes.losses)), dtype=bool)
        tried[best] = True
        return tried

    def _solve_again(self, best: tuple[int, ...], part: np.ndarray, tried: np.ndarray | None) -> Scores:
        """The kernel of the best grid cell on the rows of a cell, as it was tried before."""
        again = GridSearch(self.job, self.axes, self.choices, self.report, Stages(self.stages.rng), self.ending)
        return again.score([best[1]], part, tried=tried)

    def _mean(self, found: list[Scores]) -> Scores:
        """Means over the cells, of those in which a score is defined."""
        assert self.job.drawn is not None
        n_Cs, n_choices, n_losses, n_splits = found[0].values.shape
        mean = Scores.empty(n_Cs, n_choices, n_losses, n_splits)
        sizes = np.array([len(part) for part in self.job.drawn.parts], dtype=float)
        values = np.stack([scores.values for scores in found])
        is_there = np.isfinite(values)
        weights = np.where(is_there, sizes[:, None, None, None, None], 0)
        total = weights.sum(axis=0)
        mean.values = np.where(total > 0, (np.where(is_there, values, 0) * weights).sum(axis=0), np.nan)
        mean.values /= np.where(total > 0, total, 1)
        mean.fit_seconds = np.sum([scores.fit_seconds for scores in found], axis=0)
        mean.score_seconds = np.sum([scores.score_seconds for scores in found], axis=0)
        mean.n_landmarks = np.max([scores.n_landmarks for scores in found], axis=0)
        mean.unfinished = np.sum([scores.unfinished for scores in found], axis=0)
        for cell in np.argwhere(mean.n_landmarks > 0).tolist():
            mean.becomes_best(tuple(cell))
        return mean
