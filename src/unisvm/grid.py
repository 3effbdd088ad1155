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
from unisvm.majoriser import Majoriser
from unisvm.objective import Chosen, Objective, curvature_of, unit_of
from unisvm.solvers import LBFGS, History, StopReason
from unisvm.solvers.lbfgs import best_least_squares
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


class GroupCoordinates:
    """Coordinates for groups of columns.

    Parameters
    ----------
    coordinates : sequence of Majoriser
        One for each group.
    group_of : ndarray of int
        The group of each column, rising.
    """

    def __init__(self, coordinates: Sequence[Majoriser], group_of: np.ndarray):
        self._coordinates = coordinates
        self._group_of = group_of

    def _each(self, method: str, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        result = np.empty_like(W)
        edges = np.searchsorted(self._group_of[columns], np.arange(len(self._coordinates) + 1)).tolist()
        for coordinates, (low, high) in zip(self._coordinates, pairwise(edges), strict=True):
            if low < high:
                result[:, low:high] = getattr(coordinates, method)(W[:, low:high])
        return result

    def to_weights(self, Z: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Coefficients in the orthonormal basis."""
        return self._each("to_weights", Z, columns)

    def from_weights(self, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The inverse of `to_weights`."""
        return self._each("from_weights", W, columns)

    def gradient(self, gradient: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The gradient in these coordinates, from that in the basis."""
        return self._each("gradient", gradient, columns)


class GridObjective(Objective):
    """The regularised risks of every loss, C, split and output; columns are in this order.

    Parameters
    ----------
    rows, features, feature_map, task, centre
        As in `Objective`.
    losses : sequence of Loss
    costs : ndarray of shape (n_C,)
        The values of C.
    layout : Layout
    """

    def __init__(
        self,
        rows,
        features,
        feature_map: FeatureMap,
        losses: Sequence[Loss],
        costs: np.ndarray,
        layout: Layout,
        task: str,
        centre: np.ndarray | None,
    ):
        super().__init__(rows, features, feature_map, losses[0], 0.0, task, centre)
        self.shape = (len(losses), len(costs), *layout.target_of.shape)
        self.losses = losses
        self._layout = layout
        self.loss_of, cost_of, split_of, _ = np.indices(self.shape).reshape(4, -1)
        #: columns that share loss and C
        self.group_of = self.loss_of * len(costs) + cost_of
        self._target_of = np.tile(layout.target_of.ravel(), len(losses) * len(costs))
        self._weight_of = layout.n_targets + split_of
        self._totals = layout.totals[split_of]
        self.n_columns = len(split_of)
        self.middle = None if layout.middle is None else layout.middle[self._target_of]
        self.penalties = 1 / (2 * costs[cost_of] * self._totals)
        self.constants = self._of_losses(lambda loss: loss.A)

    def _of_losses(self, what: Callable[[Loss], Any]) -> np.ndarray:
        """An attribute of each column's loss."""
        return np.array([what(loss) for loss in self.losses])[self.loss_of]

    @property
    def units(self) -> np.ndarray:
        return self._of_losses(unit_of)

    @property
    def has_jumps(self) -> np.ndarray:
        return self._of_losses(lambda loss: loss.has_jumps)

    def _choose(self, columns: np.ndarray) -> Chosen:
        targets_of, weights_of, loss_of = self._target_of[columns], self._weight_of[columns], self.loss_of[columns]
        edges = np.unique([0, *(np.flatnonzero(np.diff(loss_of)) + 1), len(columns)]).tolist()
        runs = [(self.losses[loss_of[low]], slice(low, high)) for low, high in pairwise(edges)]

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

    def _block(self, dual: np.ndarray, intercept: np.ndarray, columns: np.ndarray) -> Callable[..., Any]:
        """As for any objective, but rows that some splits leave out, all in the same way, do no work for them."""
        blocks: dict[bytes, tuple[np.ndarray, Callable[..., Any]]] = {}
        n_targets, of_columns = self._layout.n_targets, self._weight_of[columns]

        def block(features, targets, weights):
            counts = targets[:, n_targets:]
            alike = (counts == counts[0]).all()
            key = counts[0].tobytes() if alike else b""
            if key not in blocks:
                used = np.flatnonzero(targets[0, of_columns]) if alike else np.arange(len(columns))
                blocks[key] = used, super(GridObjective, self)._block(dual[:, used], intercept[used], columns[used])
            used, part = blocks[key]
            n = len(columns)
            results = np.zeros((features.shape[1], n), dtype=features.dtype), np.zeros(n), np.zeros(n)
            if len(used):
                for result, array in zip(results, part(features, targets, weights), strict=True):
                    result[..., used] = array
            return results

        return block

    def curvatures(self, sample: GramSample, W: np.ndarray) -> list[np.ndarray]:
        """The curvature of each loss at each row of the sample, averaged over its columns."""
        intercept = 0.0 if self.centre is None else (W[-1] - self.centre @ W[:-1]).astype(self.rows.dtype)
        f = self._products(sample.features, self._body(W).astype(self.rows.dtype)) + intercept
        u = self.residuals(f, sample.rows.targets.T[self._target_of].T)
        return [
            curvature_of(loss, part)
            for loss, part in zip(self.losses, np.split(u, len(self.losses), axis=1), strict=True)
        ]

    def _products(self, features: np.ndarray, dual: np.ndarray) -> np.ndarray:
        # stored by columns, so that the run of each loss lies together
        return (dual.T @ features.T).T


class Stage(NamedTuple):
    """Functions for some values of C; each array has axes for losses, C, splits and outputs behind its own.

    `dual` and `intercept` are in training units; `weights` is what another stage can start from.
    """

    dual: np.ndarray
    intercept: np.ndarray
    weights: np.ndarray
    objective: np.ndarray
    n_sweeps: np.ndarray
    finished: np.ndarray


class Grid:
    """Solves stages: all losses, splits and outputs for some values of C.

    Parameters
    ----------
    rows : row store
        Its targets are as `layout` says, best stored by columns.
    features, feature_map, sample
        Of the rows; the sample knows its rows.
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
        self._sample = sample

    def solve(
        self, losses: Sequence[Loss], costs: np.ndarray, start: np.ndarray | None, *, tol: float, max_iter: int
    ) -> Stage:
        """The functions for these C, from weights for the same losses at another C, or from least squares if better."""
        objective = GridObjective(*self._of_rows, losses, costs, self._layout, self._task, self._centre)
        majoriser = ColumnMajorisers(self._spectrum, objective.penalties, objective.constants, self._centre is not None)
        weights, value = best_least_squares(objective, majoriser)
        if start is not None:
            warm = np.repeat(start[:, :, None], len(costs), axis=2).reshape(len(start), -1)
            reached = objective.values_along(warm, np.arange(objective.n_columns), np.ones(1))[0]
            weights = np.where(reached < value, warm, weights)
        result = LBFGS().solve(
            objective,
            majoriser,
            start=Start(weights, self._coordinates(objective, weights), n_sweeps=2 if start is None else 3),
            tol=tol,
            max_iter=max_iter,
            history=History(),
        )
        dual, intercept = objective.to_dual(result.weights)
        finished = np.array([reason is not StopReason.MAX_ITER for reason in result.reasons])
        return Stage(
            *(
                array.reshape(*array.shape[:-1], *objective.shape)
                for array in (dual, intercept, result.weights, result.objective, result.n_sweeps, finished)
            )
        )

    def _coordinates(self, objective: GridObjective, weights: np.ndarray) -> GroupCoordinates:
        """The Hessian of each loss and C on the sample, where the stage starts."""
        moments = [self._sample.moments(curvature) for curvature in objective.curvatures(self._sample, weights)]
        penalties = objective.penalties.reshape(*objective.shape[:2], -1).mean(axis=2)
        return GroupCoordinates(
            [
                Majoriser(self._sample, float(penalty), loss.A, self._centre is not None, of_loss)
                for loss, of_loss, per_cost in zip(objective.losses, moments, penalties, strict=True)
                for penalty in per_cost
            ],
            objective.group_of,
        )
