"""Solutions along the strength of the penalty, of all rows and of splits, as columns of one problem."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from unisvm.bases import ColumnBasis
from unisvm.column_spec import ColumnSpec
from unisvm.feature_selection.objective import (
    ColumnMajoriser,
    PenalisedObjective,
    RestrictedObjective,
    StandardisedColumns,
)
from unisvm.feature_selection.penalties import Penalty
from unisvm.kernels import Linear
from unisvm.losses.base import Loss
from unisvm.nystrom.gram import Gram, diagonal_gram, second_moments
from unisvm.objective import Objective
from unisvm.preconditioner import Spectrum
from unisvm.rows import MemoryRows
from unisvm.solvers import LBFGS, Result, Start, StopReason
from unisvm.solvers.driver import minimise
from unisvm.sweep import decisions, residuals

# The lowest strength of a path, as a share of that at which the first column comes in. Lower ones brought no further
# columns on the sets of benchmarks/feature_selection.py: their weights are all below the cutoff.
_LOWEST_SHARE = 1e-3
# Columns of more than this share of the fits are selected. By the fit of all rows alone, F1 of the set "wide" of
# benchmarks/feature_selection.py is 0.54 in place of 0.61, and that of "plain" 0.985 in place of 1 (seeds 0 to 5).
_MAJORITY = 0.5
# Columns that deviate less from their mean, as a share of their size, are constant but for rounding.
_CONSTANT, _ROUNDINGS = 1e-6, 10


class Columns(NamedTuple):
    """The columns of a problem: every split times every output, in this order; the first split is all rows.

    Attributes
    ----------
    loss : Loss
    penalties : ndarray of shape (n_splits,)
        λ of each split.
    totals : ndarray of shape (n_splits,)
        Σs over the training rows of each split.
    n_outputs : int
    target_medians : ndarray of shape (n_outputs,) or None
        Medians of real targets.
    """

    loss: Loss
    penalties: np.ndarray
    totals: np.ndarray
    n_outputs: int
    target_medians: np.ndarray | None

    def spec(self, splits: np.ndarray | None = None) -> ColumnSpec:
        """All outputs of each of these splits, which may repeat."""
        splits = np.arange(len(self.totals)) if splits is None else splits
        split_of = np.repeat(splits, self.n_outputs)
        target_of = np.tile(np.arange(self.n_outputs), len(splits))
        medians = None if self.target_medians is None else self.target_medians[target_of]
        return ColumnSpec(
            (self.loss,),
            np.zeros_like(split_of),
            self.penalties[split_of],
            self.totals[split_of],
            target_of,
            self.n_outputs + split_of,
            medians,
        )


class Solutions(NamedTuple):
    """Solutions along a path of one width, at falling strengths of the penalty.

    Attributes
    ----------
    strengths : ndarray of shape (n,)
        μ.
    weights : ndarray of shape (n, n_coordinates, n_columns)
    objective : ndarray of shape (n, n_columns)
    """

    strengths: np.ndarray
    weights: np.ndarray
    objective: np.ndarray

    def last(self) -> Solutions:
        """The last of them."""
        return Solutions(*(array[-1:] for array in self))


class Refits(NamedTuple):
    """Fits of the chosen columns of X alone, one for each strength.

    Attributes
    ----------
    dual : ndarray of shape (n, n_features, n_splits, n_outputs)
        Coefficients of the columns of X, less their centre, in training units.
    intercept : ndarray of shape (n, n_splits, n_outputs)
    objective, stationarity : ndarray of shape (n, n_splits, n_outputs)
    """

    dual: np.ndarray
    intercept: np.ndarray
    objective: np.ndarray
    stationarity: np.ndarray


class SelectionProblem:
    """λ‖w‖² + (1/Σs) Σ s ψ(r) over standardised columns, for all rows and for splits, with a penalty to come.

    Parameters
    ----------
    rows : MemoryRows
        Their targets are those of the outputs, then the weights of each split.
    columns : Columns
    is_margin : bool
        Whether the residual is 1 − y f(x), as in classification, or y − f(x).
    intercept : bool
        With it, columns are standardised about their mean, and else about 0.
    rng : RandomState
    tol, max_iter
        Of the solver.

    Attributes
    ----------
    basis : StandardisedColumns
    varies : ndarray of bool of shape (n_features,)
        The columns of X that are not constant.
    n_iter : int
        Iterations so far.
    n_unfinished : int
        Columns that stopped at `max_iter` so far.
    """

    def __init__(
        self,
        rows: MemoryRows,
        columns: Columns,
        *,
        is_margin: bool,
        intercept: bool,
        rng: np.random.RandomState,
        tol: float,
        max_iter: int,
    ):
        self.rows, self.columns = rows, columns
        self._is_margin, self._intercept, self._tol, self._max_iter = is_margin, intercept, tol, max_iter
        centre = ColumnBasis.of(Linear(), rows, rng, centred=intercept).feature_map.centre
        as_they_are = StandardisedColumns(centre, np.ones(rows.n_features))
        self._features = as_they_are.build(rows)
        scale, self.varies = _scales(diagonal_gram(rows, as_they_are, self._features), centre, intercept)
        self.basis = StandardisedColumns(centre, scale)
        # of least squares, since no sample is solved first
        gram = second_moments(rows, self.basis, self._features, rng, None, quadratic=True)
        self._mean = gram.mean if intercept else None
        self._spectrum = Spectrum(gram, intercept, np.dtype(np.float64))
        self.n_iter = self.n_unfinished = 0

    @property
    def _shared(self) -> tuple[MemoryRows, Any, StandardisedColumns]:
        return self.rows, self._features, self.basis

    def _majoriser(self, spec: ColumnSpec, curvatures: np.ndarray | float = 0.0) -> ColumnMajoriser:
        """Majorisers of the risk of all rows plus `curvatures` times ‖w‖²; they precondition the splits as well."""
        constants = np.full(spec.n_columns, self.columns.loss.A)
        return ColumnMajoriser(self._spectrum, spec.penalties + curvatures, constants, intercept=self._intercept)

    def _minimise(self, objective: Objective, majoriser: ColumnMajoriser, weights: np.ndarray | None) -> Result:
        start = Start(weights)
        result = minimise(LBFGS(), objective, majoriser, start, tol=self._tol, max_iter=self._max_iter)
        self.n_iter += len(result.history)
        self.n_unfinished += result.reasons.count(StopReason.MAX_ITER)
        return result

    def dense_solution(self) -> np.ndarray:
        """Weights without a penalty."""
        spec = self.columns.spec()
        objective = Objective(*self._shared, spec, self._is_margin, self._mean)
        return self._minimise(objective, self._majoriser(spec), None).weights

    def steepest_slope(self) -> float:
        """The largest slope of the mean loss in a weight where all of them are 0."""
        spec = self.columns.spec()
        objective = Objective(*self._shared, spec, self._is_margin, self._mean)
        zeros = np.zeros((self.basis.rank + self._intercept, spec.n_columns))
        _, gradient = objective(zeros, np.arange(spec.n_columns))
        return float(np.abs(gradient[: self.basis.rank]).max())

    def solve(self, penalties: Sequence[Penalty], strengths: np.ndarray, dense: np.ndarray) -> list[Solutions]:
        """Solutions for each of some penalties, at strengths that fall; each column of each is the lower of two.

        One comes from the solution at the next higher strength, beginning with no columns of X at all, and one from
        that at the next lower strength, beginning with all of them, `dense`. Bounded losses may give up a whole class
        where no column of X tells it from the others; those that begin with all columns do not. Both directions and all
        penalties take their steps in one solve.

        Parameters
        ----------
        penalties : sequence of Penalty
            Of one shape.
        strengths : ndarray of shape (n_penalties, n)
        dense : ndarray of shape (n_coordinates, n_columns)
        """
        n_penalties, q = len(penalties), dense.shape[1]
        spec = self.columns.spec(np.tile(np.arange(len(self.columns.totals)), 2 * n_penalties))
        widths = np.repeat(np.tile([penalty.width for penalty in penalties], 2), q)
        every = type(penalties[0])(widths)
        weights = np.concatenate([np.zeros_like(dense)] * n_penalties + [dense] * n_penalties, axis=1)
        found = []
        for both in zip(strengths.T, strengths.T[::-1], strict=True):
            of_columns = np.repeat(np.concatenate(both), q)
            objective = PenalisedObjective(*self._shared, spec, self._is_margin, self._mean, every, of_columns)
            result = self._minimise(objective, self._majoriser(spec, of_columns * every.A), weights)
            weights = result.weights
            found.append((result.objective, weights))
        # by strength, direction, penalty
        shape = len(found), 2, n_penalties
        values = np.array([value for value, _ in found]).reshape(*shape, q)
        stored = np.array([W for _, W in found]).reshape(shape[0], -1, *shape[1:], q).transpose(0, 2, 3, 1, 4)
        falling, rising = values[:, 0], values[::-1, 1]
        lower = (falling <= rising)[:, :, None]
        best = np.where(lower, stored[:, 0], stored[::-1, 1])
        objectives = np.minimum(falling, rising)
        return [Solutions(strengths[k], best[:, k], objectives[:, k]) for k in range(n_penalties)]

    def supports(self, solutions: Solutions, penalty: Penalty) -> np.ndarray:
        """Columns of X whose weight is beyond the cutoff in any output, of shape (n, n_features, n_splits).

        For all rows, they are those of more than half of the fits, of all rows and of the splits: one of them may be at
        a local minimum that the others avoid, and the splits' are the ones that are scored.
        """
        body = solutions.weights[:, : self.basis.rank]
        large = (np.abs(body) > penalty.cutoff).reshape(len(body), self.basis.rank, -1, self.columns.n_outputs)
        supports = large.any(axis=3)
        supports[:, :, 0] = supports.mean(axis=2) > _MAJORITY
        return np.asarray(supports)

    def refit(self, supports: np.ndarray, weights: np.ndarray) -> Refits:
        """Fits of these columns of X alone, without the penalty, from given weights: all in one solve.

        Parameters
        ----------
        supports : ndarray of bool of shape (n, n_features, n_splits)
        weights : ndarray of shape (n, n_coordinates, n_columns)
        """
        n, d, n_splits = supports.shape
        n_outputs = self.columns.n_outputs
        # strengths that choose alike are fitted once
        choices = supports.transpose(0, 2, 1).reshape(n * n_splits, d)
        splits = np.tile(np.arange(n_splits), n)
        keys = np.concatenate([splits[:, None], np.packbits(choices, axis=1)], axis=1)
        _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        spec = self.columns.spec(splits[first])
        free = np.repeat(choices[first].T, n_outputs, axis=1)
        objective = RestrictedObjective(*self._shared, spec, self._is_margin, self._mean, free)
        by_split = weights.reshape(n, -1, n_splits, n_outputs).transpose(1, 0, 2, 3)
        begin = by_split.reshape(-1, n * n_splits, n_outputs)[:, first].reshape(-1, spec.n_columns)
        result = self._minimise(objective, self._majoriser(spec), objective.restrict(begin, np.arange(spec.n_columns)))
        dual, intercept = objective.to_dual(objective.restrict(result.weights, np.arange(spec.n_columns)))

        def expand(array: np.ndarray) -> np.ndarray:
            by_choice = array.reshape(*array.shape[:-1], len(first), n_outputs)[..., inverse.ravel(), :]
            return np.moveaxis(by_choice.reshape(*array.shape[:-1], n, n_splits, n_outputs), -3, 0)

        return Refits(*map(expand, (dual, intercept, result.objective, result.stationarity)))

    def held_out_losses(self, refits: Refits, tests: list[np.ndarray]) -> np.ndarray:
        """Mean losses on the rows that each split leaves out, of shape (n, n_splits − 1)."""
        n, losses = len(refits.dual), []
        for k, test in enumerate(tests, start=1):
            dual = refits.dual[:, :, k].transpose(1, 0, 2).reshape(self.basis.rank, -1)
            intercept = refits.intercept[:, k].ravel()
            targets = np.tile(self.rows.targets[test, : self.columns.n_outputs], n)
            f = self.rows.map_rows(partial(_decide, dual, intercept), self._features, test)
            values = self.columns.loss.value(residuals(f, targets, self._is_margin))
            mean = np.average(values, axis=0, weights=self.rows.take_weights(test))
            losses.append(mean.reshape(n, -1).mean(axis=1))
        return np.stack(losses, axis=1) if losses else np.empty((n, 0))


def _decide(dual: np.ndarray, intercept: np.ndarray, features: Any) -> np.ndarray:
    """f of a block of features."""
    return np.asarray(decisions(features, dual, 1) + intercept)


def falling_strengths(slope: float, penalty: Penalty, n: int, lowest: float | None = None) -> np.ndarray:
    """Strengths from about that at which the first weight leaves 0 down to `lowest`, or to a thousandth.

    Small steps leave a weight near 0 as long as μ times the largest slope of φ is above that of the loss.

    Parameters
    ----------
    slope : float
        The largest slope of the mean loss in a weight, at 0.
    penalty : Penalty
    n : int
    lowest : float, optional
    """
    highest = slope / penalty.steepest
    if not highest > 0:
        # nothing depends on X
        highest = 1.0
    if lowest is None:
        lowest = highest * _LOWEST_SHARE
    return np.geomspace(max(highest, lowest), lowest, n)


def _scales(moments: Gram, centre: np.ndarray, intercept: bool) -> tuple[np.ndarray, np.ndarray]:
    """Root mean square of each column about its mean, or about 0, and which columns have one that is not 0.

    Parameters
    ----------
    moments : Gram
        Means and mean squares of the columns of X, less `centre`.
    centre : ndarray of shape (n_features,)
    intercept : bool
    """
    squares = moments.matrix
    variance = np.maximum(squares - moments.mean**2, 0) if intercept else squares
    rounding = _ROUNDINGS * np.finfo(centre.dtype).eps * np.abs(centre.astype(np.float64))
    varies = variance > np.maximum(_CONSTANT**2 * squares, rounding**2)
    return np.sqrt(np.where(varies, variance, 1.0)), varies
