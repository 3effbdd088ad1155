"""Scores of a kernel's solutions, and their decisions, on the rows that their splits leave out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from unisvm import engine
from unisvm._base import BaseUniSVM
from unisvm.checkpoint import Stages
from unisvm.class_pairs import class_scores
from unisvm.engine import NystromFeatures
from unisvm.fitted_attributes import model_attributes, set_attributes
from unisvm.kernel_expansion import KernelExpansion, identity
from unisvm.losses.base import CLASSIFICATION, Loss
from unisvm.model_selection.axes import KernelChoice
from unisvm.model_selection.folds import Folds, SearchJob
from unisvm.model_selection.solve import COLUMNS_AT_ONCE, BatchSolution, GridSolver
from unisvm.model_selection.split_functions import SplitFunctions
from unisvm.parallel import CancelToken
from unisvm.progress import Report, StageRunner
from unisvm.targets import Attributes


class CellResult(NamedTuple):
    """Scores and held-out decisions of one C for some of the losses.

    Attributes
    ----------
    C_index, place : int
        Position of C in the grid, and in the batch.
    losses : ndarray of int
        Indices of the losses.
    batch : BatchSolution
    nystrom : NystromFeatures
    scores : ndarray of shape (n_losses, n_splits)
    decision : ndarray of shape (n_samples, n_losses, n_outputs)
        On the rows left out, averaged over the splits that leave a row out; NaN where none does. Scores of the classes
        where these are fitted in pairs.
    fit_seconds, score_seconds : float
        For all of them.
    """

    C_index: int
    place: int
    losses: np.ndarray
    batch: BatchSolution
    nystrom: NystromFeatures
    scores: np.ndarray
    decision: np.ndarray
    fit_seconds: float
    score_seconds: float

    def split_functions(self, folds: Folds, position: int) -> SplitFunctions:
        """Functions of the loss at this position."""
        cell = position, self.place
        functions = [split_function(folds, self.nystrom, self.batch, (*cell, k)) for k in range(folds.columns.n_splits)]
        return SplitFunctions(functions, self.nystrom.basis.row_indices, folds.columns.pairs)


def solve_kernel(
    job: SearchJob,
    folds: Folds,
    losses: Sequence[Loss],
    Cs: np.ndarray,
    choice: KernelChoice,
    report: Report,
    cancel: CancelToken | None = None,
    tried: np.ndarray | None = None,
) -> Iterator[CellResult]:
    """Results of all losses and C for one kernel; all losses together, or as many as memory allows.

    `tried` is a mask of the cells to solve, of shape (n_losses, n_C); None for all.
    """
    settings = job.settings(choice)
    cancel = CancelToken() if cancel is None else cancel
    shared, each = decision_bytes(folds)
    at_once = job.memory.cells_at_once(max_cells(folds, len(losses)), shared, each)
    runner = StageRunner(Stages(check_random_state(job.template.random_state)), report)
    nystrom = engine.prepare(folds.rows, settings, runner, keep_sample=True, reserved=shared + at_once * each)
    order = np.argsort(Cs, kind="stable")
    solver = GridSolver(folds.rows, nystrom, folds.columns, losses, Cs[order], settings, cancel)
    for batch in solver.solve_all(at_once, None if tried is None else tried[:, order]):
        report.say(
            f"{nystrom.basis.kernel}, C {batch.Cs[0]:.3g} to {batch.Cs[-1]:.3g}: {batch.n_sweeps.size} fits, "
            f"{batch.n_sweeps.max()} sweeps, {batch.seconds:.2f} s"
        )
        n_Cs, together = len(batch.Cs), max(at_once // len(batch.losses), 1)
        for first in range(0, n_Cs, together):
            part = slice(first, min(first + together, n_Cs))
            started = perf_counter()
            scores, decision = _score(job, folds, nystrom, batch, losses, choice, part)
            seconds = batch.seconds / n_Cs, (perf_counter() - started) / scores.shape[1]
            for place in range(part.start, part.stop):
                of_cell = scores[:, place - first], decision[:, :, place - first]
                C_index = int(order[batch.C_indices[place]])
                yield CellResult(C_index, place, batch.losses, batch, nystrom, *of_cell, *seconds)


def decision_bytes(folds: Folds) -> tuple[int, int]:
    """Bytes beside the features: of the targets and what is computed from them, and of the decisions of one cell."""
    each = folds.rows.n_rows * folds.columns.n_outputs * folds.rows.dtype.itemsize
    return folds.rows.targets.nbytes + 2 * each, each


def max_cells(folds: Folds, n_losses: int) -> int:
    """Number of cells that are scored together where there is memory: those of a batch."""
    return max(COLUMNS_AT_ONCE // folds.columns.target_of.size, n_losses)


def held_out_decisions(
    folds: Folds, nystrom: NystromFeatures, batch: BatchSolution, Cs: slice, split: int
) -> np.ndarray:
    """Decisions on the rows that a split leaves out, of shape (n_test, n_losses, n_Cs, n_outputs)."""
    intercept = batch.intercept[:, Cs, split]
    coefficients = batch.coefficients[:, :, Cs, split].reshape(len(batch.coefficients), -1)
    coefficients = np.ascontiguousarray(coefficients)

    def block(features: np.ndarray) -> np.ndarray:
        return features @ coefficients + intercept.ravel()

    values = folds.rows.map_rows(block, nystrom.features, folds.tests[split])
    values = values.reshape(len(values), *intercept.shape)
    units = folds.units[split]
    return (values * units.scale + units.offset).astype(values.dtype, copy=False)


def split_function(
    folds: Folds, nystrom: NystromFeatures, batch: BatchSolution, cell: tuple[int, int, int]
) -> KernelExpansion:
    """The functions, in the units of y, of a loss, C and split, given by their places in the batch."""
    units = folds.units[cell[-1]]
    return nystrom.basis.expansion(*units.restore(batch.dual[(slice(None), *cell)], batch.intercept[cell]))


def split_attributes(
    folds: Folds, nystrom: NystromFeatures, batch: BatchSolution, cell: tuple[int, int, int]
) -> Attributes:
    """Fitted attributes of an estimator for a loss, C and split, given by their places in the batch."""
    function = split_function(folds, nystrom, batch, cell)
    model = model_attributes(nystrom.basis, nystrom.gram.trace_error, function)
    return model | folds.target_attributes[cell[-1]] | {"n_features_in_": folds.X.shape[1]}


def _score(
    job: SearchJob,
    folds: Folds,
    nystrom: NystromFeatures,
    batch: BatchSolution,
    losses: Sequence[Loss],
    choice: KernelChoice,
    part: slice,
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of some C of a batch, by loss, C and split; decisions on the rows left out, by row, loss, C and output."""
    estimator = _with_known_decisions(type(job.template))
    params = job.template.get_params(deep=False) | choice._asdict()
    Cs = batch.Cs[part].tolist()
    shape = (len(batch.losses), len(Cs))
    scores = np.empty((*shape, folds.columns.n_splits))
    pairs = folds.columns.pairs
    n_outputs = folds.columns.n_outputs if pairs is None else folds.columns.n_targets
    total = np.zeros((len(job.weights), *shape, n_outputs), dtype=folds.rows.dtype)
    count = np.zeros(len(job.weights), dtype=int)
    for k, test in enumerate(folds.tests):
        decision = held_out_decisions(folds, nystrom, batch, part, k)
        indices = folds.present[test]
        total[indices] += decision if pairs is None else class_scores(decision, pairs)
        count[indices] += 1
        X, y = folds.X[indices], job.y[indices]
        score_params = {name: np.asarray(value)[indices] for name, value in job.score_params.items()}
        for j, c in np.ndindex(shape):
            model = estimator(**(params | {"loss": losses[int(batch.losses[j])], "C": Cs[c]}))
            set_attributes(model, split_attributes(folds, nystrom, batch, (j, part.start + c, k)))
            model.know(X, decision[:, j, c])
            scores[j, c, k] = job.scorer(model, X, y, **score_params)
    with np.errstate(invalid="ignore"):
        total /= np.where(count > 0, count, np.nan)[:, None, None, None]
    return scores, total


def _with_known_decisions(cls: type[BaseUniSVM]) -> Any:
    """Subclass of an estimator that has its decisions on some rows at hand, for scorers that ask it for them."""

    class WithKnownDecisions(cls):  # type: ignore[valid-type, misc]
        def know(self, X, decision: np.ndarray) -> None:
            self._known = X, decision

        def _decision(self, X, postprocess=identity, out=None):
            known, decision = self._known
            return postprocess(decision) if X is known and out is None else super()._decision(X, postprocess, out)

        def score(self, X, y, sample_weight=None):
            # as accuracy_score, without its checks, which take longer
            if self._task == CLASSIFICATION and y.ndim == 1 and sample_weight is None:
                return float(np.mean(self.predict(X) == y))
            return super().score(X, y, sample_weight)

    WithKnownDecisions.__name__ = WithKnownDecisions.__qualname__ = cls.__name__
    return WithKnownDecisions
