"""A whole grid over the same features: every loss, split of the rows and target is a column of one batched solve.

The features, their moments and the spectrum of these are shared; a value of C only scales coordinates, so that walking
along C, each solution being the start of the next, costs little more than its sweeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eigh

from unisvm.features import FeatureMap, GramSample
from unisvm.losses.base import Loss
from unisvm.objective import Chosen, Objective, unit_of
from unisvm.solvers import LBFGS, History, Result, StopReason
from unisvm.solvers.result import Start


class Layout(NamedTuple):
    """What the columns of the store's targets are: the targets of all splits, then the weights of each split.

    Parameters
    ----------
    target_of : ndarray of shape (n_splits, n_outputs)
        Which column is the target; splits may share it.
    n_targets : int
    middle : ndarray of shape (n_targets,) or None
        The medians of real targets.
    totals : ndarray of shape (n_splits,)
        The weight of each split's training rows.
    """

    target_of: np.ndarray
    n_targets: int
    middle: np.ndarray | None
    totals: np.ndarray

    @property
    def n_splits(self) -> int:
        return len(self.target_of)

    @property
    def n_outputs(self) -> int:
        return self.target_of.shape[1]


class Spectrum:
    """Eigenvalues and -vectors of the features' second moments about their mean, to which C and A only add scales."""

    def __init__(self, sample: GramSample, intercept: bool):
        gram = sample.gram - np.tril(np.outer(sample.mean, sample.mean)) if intercept else sample.gram
        values, self.vectors = eigh(gram, lower=True, driver="evd", check_finite=False)
        self.values = np.maximum(values, 0.0)


class ColumnMajorisers:
    """The majorisers of columns that differ in penalty and loss, in the coordinates of one spectrum.

    Parameters
    ----------
    spectrum : Spectrum
    penalties, constants : ndarray of shape (n_columns,)
        λ and A of each column.
    intercept : bool
    """

    def __init__(self, spectrum: Spectrum, penalties: np.ndarray, constants: np.ndarray, intercept: bool):
        self._vectors = spectrum.vectors
        self._constants = constants
        squares = 2 * (penalties + np.outer(spectrum.values, constants))
        if intercept:
            squares = np.concatenate([squares, 2 * constants[None]])
        self._scales = np.sqrt(squares)

    def _rotated(self, W: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """The vectors times the body of W; the intercepts are coordinates of their own."""
        r = len(vectors)
        turned = vectors @ W[:r]
        return turned if len(W) == r else np.concatenate([turned, W[r:]])

    def to_weights(self, Z: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Coefficients in the orthonormal basis."""
        return self._rotated(Z / self._scales[:, columns], self._vectors)

    def from_weights(self, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The inverse of `to_weights`."""
        return self._rotated(W, self._vectors.T) * self._scales[:, columns]

    def gradient(self, gradient: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The gradient in these coordinates, from that in the basis."""
        return self._rotated(gradient, self._vectors.T) / self._scales[:, columns]

    def least_squares(self, correlation: np.ndarray) -> np.ndarray:
        """The least-squares solutions, given the mean of y times the features, one or more for each column."""
        times = correlation.shape[1] // len(self._constants)
        filtered = self._rotated(correlation, self._vectors.T)
        filtered *= np.tile(2 * self._constants / self._scales**2, times)
        return self._rotated(filtered, self._vectors)


class GridObjective(Objective):
    """The regularised risks of every loss, split and output for one C; columns are in this order.

    Parameters
    ----------
    rows, features, feature_map, task, centre
        As in `Objective`.
    losses : sequence of Loss
    layout : Layout
    cost : float
        C.
    """

    def __init__(
        self,
        rows,
        features,
        feature_map: FeatureMap,
        losses: Sequence[Loss],
        layout: Layout,
        cost: float,
        task: str,
        centre: np.ndarray | None,
    ):
        super().__init__(rows, features, feature_map, losses[0], 0.0, task, centre)
        self._losses = losses
        self._loss_of, split_of, _ = np.indices((len(losses), *layout.target_of.shape)).reshape(3, -1)
        self._target_of = np.tile(layout.target_of.ravel(), len(losses))
        self._weight_of = layout.n_targets + split_of
        self._totals = layout.totals[split_of]
        self.n_columns = len(split_of)
        self.middle = None if layout.middle is None else layout.middle[self._target_of]
        self.penalties = 1 / (2 * cost * self._totals)
        self.constants = self._of_losses(lambda loss: loss.A)

    def _of_losses(self, what: Callable[[Loss], Any]) -> np.ndarray:
        """An attribute of each column's loss."""
        return np.array([what(loss) for loss in self._losses])[self._loss_of]

    @property
    def units(self) -> np.ndarray:
        return self._of_losses(unit_of)

    @property
    def has_jumps(self) -> np.ndarray:
        return self._of_losses(lambda loss: loss.has_jumps)

    def _choose(self, columns: np.ndarray) -> Chosen:
        targets_of, weights_of, loss_of = self._target_of[columns], self._weight_of[columns], self._loss_of[columns]
        edges = [0, *(np.flatnonzero(np.diff(loss_of)) + 1).tolist(), len(columns)]
        runs = [(self._losses[loss_of[low]], slice(low, high)) for low, high in pairwise(edges)]

        def select(targets, weights):
            # the rows' own weights are in those of the splits
            return targets.T[targets_of].T, targets.T[weights_of].T

        def value(u):
            values = np.empty_like(u)
            for loss, run in runs:
                values[:, run] = loss.value(u[:, run])
            return values

        def value_and_derivative(u):
            values, slopes = np.empty_like(u), np.empty_like(u)
            for loss, run in runs:
                values[:, run], slopes[:, run] = loss.value_and_derivative(u[:, run])
            return values, slopes

        return Chosen(select, value, value_and_derivative, self.penalties[columns], self._totals[columns])

    def _products(self, features: np.ndarray, dual: np.ndarray) -> np.ndarray:
        # stored by columns, so that the run of each loss lies together
        return (dual.T @ features.T).T


class Stage(NamedTuple):
    """The functions for one C, each array with axes for losses, splits and outputs behind its own.

    `dual` and `intercept` are in training units; `weights` is what the next stage starts from.
    """

    dual: np.ndarray
    intercept: np.ndarray
    weights: np.ndarray
    result: Result

    @property
    def n_unfinished(self) -> int:
        """How many columns reached max_iter."""
        return self.result.reasons.count(StopReason.MAX_ITER)


class Grid:
    """Solves stages, one C after another.

    Parameters
    ----------
    rows : row store
        Its targets are as `layout` says, best stored by columns.
    features, feature_map, sample
        Of the rows.
    layout : Layout
    task : {"classification", "regression"}
    intercept : bool
    """

    def __init__(
        self, rows, features, feature_map: FeatureMap, sample: GramSample, layout: Layout, task: str, intercept: bool
    ):
        self._of_rows = (rows, features, feature_map)
        self._layout = layout
        self._task = task
        self._spectrum = Spectrum(sample, intercept)
        self._centre = sample.mean if intercept else None

    def solve(
        self, losses: Sequence[Loss], cost: float, start: np.ndarray | None, *, tol: float, max_iter: int
    ) -> Stage:
        """The functions for this C, from weights of a stage with the same losses, or from least squares."""
        objective = GridObjective(*self._of_rows, losses, self._layout, cost, self._task, self._centre)
        majoriser = ColumnMajorisers(self._spectrum, objective.penalties, objective.constants, self._centre is not None)
        weights = None if start is None else start.reshape(len(start), -1)
        result = LBFGS().solve(
            objective, majoriser, start=Start(weights), tol=tol, max_iter=max_iter, history=History()
        )
        dual, intercept = objective.to_dual(result.weights)
        shape = (len(losses), *self._layout.target_of.shape)
        return Stage(dual.reshape(-1, *shape), intercept.reshape(shape), result.weights.reshape(-1, *shape), result)
