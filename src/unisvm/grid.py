"""A whole grid over the same features: every loss, split of the rows and target is a column of one batched solve.

The features, their moments and the spectrum of these are shared; a value of C only scales coordinates, so that walking
along C, each solution being the start of the next, costs little more than its sweeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from unisvm.features import FeatureMap, GramSample, Moments
from unisvm.losses.base import CLASSIFICATION, Loss
from unisvm.losses.squared import SquaredHinge
from unisvm.objective import Chosen, Objective, curvature_of, unit_of
from unisvm.rows.threads import run
from unisvm.solvers import LBFGS, History, StopReason
from unisvm.solvers.lbfgs import best_least_squares
from unisvm.solvers.result import Start

# steps from one C to the next that a start may lie ahead of the last solution
_FURTHEST = 5.0


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
    """Eigenvalues and -vectors of second moments of the features about their mean, to which λ and A only add scales.

    Parameters
    ----------
    moments : (ndarray, ndarray, float)
        Of p pᵀ, its lower triangle, of p and of 1.
    centre : ndarray or None
        Where the intercept of the weights is the value of f; None without an intercept.
    dtype : dtype
        The precision of the vectors, that of the features.
    """

    def __init__(self, moments: Moments, centre: np.ndarray | None, dtype: np.dtype):
        gram, sums, self.total = moments
        self.shift = None
        if centre is not None:
            # about their own mean, the intercept is a coordinate apart
            gram = gram - np.tril(np.outer(sums, sums / self.total))
            self.shift = sums / self.total - centre
        # NumPy's leaves the interpreter's lock to the other values of gamma
        values, self.vectors = np.linalg.eigh(gram.astype(dtype))
        # what is lost in single precision is no more than in the features themselves
        self.values = np.maximum(values, 0.0).astype(np.float64)

    def seen_from(self, basis: Spectrum) -> Spectrum:
        """The same, of weights in the basis of another spectrum's vectors."""
        other = copy(self)
        other.vectors = basis.vectors.T @ self.vectors
        if self.shift is not None:
            other.shift = basis.vectors.T @ self.shift
        return other

    def turn(self, W: np.ndarray) -> np.ndarray:
        """Vᵀ w."""
        return self.vectors.T @ W.astype(self.vectors.dtype, copy=False)

    def turn_back(self, W: np.ndarray) -> np.ndarray:
        """V w."""
        return self.vectors @ W.astype(self.vectors.dtype, copy=False)


class EigenMap:
    """The feature map whose basis are the eigenvectors of the features' moments, as one matrix.

    Parameters
    ----------
    feature_map : FeatureMap
    spectrum : Spectrum
        Of the features in the basis of `feature_map`.
    """

    def __init__(self, feature_map: FeatureMap, spectrum: Spectrum):
        dtype = spectrum.vectors.dtype
        self._matrix = feature_map.to_dual(spectrum.vectors.astype(np.float64)).astype(dtype)

    def to_dual(self, W: np.ndarray) -> np.ndarray:
        """Coefficients of K(x, B)."""
        return self._matrix @ W.astype(self._matrix.dtype)

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """Coefficients of the function with these values at the landmarks."""
        return (self._matrix.T @ values.astype(self._matrix.dtype)).astype(np.float64)


class ColumnCoordinates:
    """Coordinates of columns that differ in penalty and loss, but share a spectrum.

    Parameters
    ----------
    spectrum : Spectrum
    penalties, constants : ndarray of shape (n_columns,)
        λ and A of each column.
    turned : bool
        Whether weights are in the spectrum's own basis.
    """

    def __init__(self, spectrum: Spectrum, penalties: np.ndarray, constants: np.ndarray, *, turned: bool):
        self._turn, self._turn_back = (_same, _same) if turned else (spectrum.turn, spectrum.turn_back)
        self._shift = spectrum.shift
        self._constants = constants
        squares = 2 * (penalties + np.outer(spectrum.values, constants))
        if self._shift is not None:
            squares = np.concatenate([squares, 2 * spectrum.total * constants[None]])
        self._scales = np.sqrt(squares)

    def to_weights(self, Z: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Coefficients in the basis."""
        scaled = Z / self._scales[:, columns]
        if self._shift is None:
            return self._turn_back(scaled)
        body = self._turn_back(scaled[:-1])
        return np.concatenate([body, scaled[-1:] - self._shift @ body])

    def from_weights(self, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The inverse of `to_weights`."""
        if self._shift is None:
            return self._turn(W) * self._scales[:, columns]
        turned = np.concatenate([self._turn(W[:-1]), W[-1:] + self._shift @ W[:-1]])
        return turned * self._scales[:, columns]

    def gradient(self, gradient: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The gradient in these coordinates, from that in the basis."""
        if self._shift is None:
            return self._turn(gradient) / self._scales[:, columns]
        body = self._turn(gradient[:-1] - np.outer(self._shift, gradient[-1]))
        return np.concatenate([body, gradient[-1:]]) / self._scales[:, columns]

    def least_squares(self, correlation: np.ndarray) -> np.ndarray:
        """The least-squares solutions, given the mean of y times the features, one or more for each column."""
        n_columns = len(self._constants)
        every = np.tile(np.arange(n_columns), correlation.shape[1] // n_columns)
        return self.to_weights(2 * self._constants[every] * self.gradient(correlation, every), every)


class CoordinatesByLoss:
    """Coordinates of columns whose losses have a spectrum each.

    Parameters
    ----------
    coordinates : sequence of ColumnCoordinates
        One for each loss, for its columns.
    loss_of : ndarray of int
        The loss of each column, rising.
    """

    def __init__(self, coordinates: Sequence[ColumnCoordinates], loss_of: np.ndarray):
        self._coordinates = coordinates
        self._loss_of = loss_of
        self._first = np.searchsorted(loss_of, np.arange(len(coordinates)))

    def _each(self, method: str, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        result = np.empty_like(W)
        for loss in np.unique(self._loss_of[columns]).tolist():
            own = self._loss_of[columns] == loss
            result[:, own] = getattr(self._coordinates[loss], method)(W[:, own], columns[own] - self._first[loss])
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
    correlation : ndarray, optional
        What the targets of every split and output correlate with, if it is known: it is the same for all losses and C.
    """

    def __init__(
        self,
        rows,
        features,
        feature_map: EigenMap,
        losses: Sequence[Loss],
        costs: np.ndarray,
        layout: Layout,
        task: str,
        centre: np.ndarray | None,
        correlation: np.ndarray | None = None,
    ):
        super().__init__(rows, features, feature_map, losses[0], 0.0, task, centre)
        self.shape = (len(losses), len(costs), *layout.target_of.shape)
        self.losses = losses
        self._layout = layout
        self.loss_of, cost_of, split_of, _ = np.indices(self.shape).reshape(4, -1)
        self._target_of = np.tile(layout.target_of.ravel(), len(losses) * len(costs))
        self._weight_of = layout.n_targets + split_of
        self._totals = layout.totals[split_of]
        self.n_columns = len(split_of)
        self.middle = None if layout.middle is None else layout.middle[self._target_of]
        self.penalties = 1 / (2 * costs[cost_of] * self._totals)
        self.constants = self._of_losses(lambda loss: loss.A)
        n_problems = layout.target_of.size
        self.problem_correlation = self._correlate(np.arange(n_problems)) if correlation is None else correlation

    def correlate_targets(self) -> np.ndarray:
        n_problems = self._layout.target_of.size
        kinds = np.split(self.problem_correlation, self.problem_correlation.shape[1] // n_problems, axis=1)
        return np.concatenate([np.tile(kind, self.n_columns // n_problems) for kind in kinds], axis=1)

    def _of_losses(self, what: Callable[[Loss], Any]) -> np.ndarray:
        """An attribute of each column's loss."""
        return np.array([what(loss) for loss in self.losses])[self.loss_of]

    @property
    def units(self) -> np.ndarray:
        return self._of_losses(unit_of)

    @property
    def has_jumps(self) -> np.ndarray:
        return self._of_losses(lambda loss: loss.has_jumps)

    def _choose(self, columns: np.ndarray, *, counted_once: bool = False) -> Chosen:
        targets_of, weights_of, loss_of = self._target_of[columns], self._weight_of[columns], self.loss_of[columns]
        edges = np.unique([0, *(np.flatnonzero(np.diff(loss_of)) + 1), len(columns)]).tolist()
        runs = [(self.losses[loss_of[low]], slice(low, high)) for low, high in pairwise(edges)]
        if len(columns) and (targets_of == targets_of[0]).all():
            # splits of labels share them
            targets_of = targets_of[:1]

        def select(targets, weights):
            # the rows' own weights are in those of the splits
            return targets.T[targets_of].T, None if counted_once else targets.T[weights_of].T

        return Chosen(select, runs, self.penalties[columns], self._totals[columns])

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
                once = bool(alike and (targets[0, of_columns[used]] == 1).all())
                chosen = self._choose(columns[used], counted_once=once)
                blocks[key] = used, self._added_by(dual[:, used], intercept[used], chosen)
            used, part = blocks[key]
            n = len(columns)
            results = np.zeros((features.shape[1], n), dtype=features.dtype), np.zeros((2, n))
            if len(used):
                for result, array in zip(results, part(features, targets, weights), strict=True):
                    result[..., used] = array
            return results

        return block

    def curvatures(self, sample: GramSample, spectrum: Spectrum, W: np.ndarray) -> list[np.ndarray]:
        """The curvature of each loss at each row of the sample, averaged over its columns.

        The weights are in the basis of the spectrum, and the sample is not.
        """
        intercept = 0.0 if self.centre is None else (W[-1] - self.centre @ W[:-1]).astype(self.rows.dtype)
        f = self._products(sample.features, spectrum.turn_back(self._body(W))) + intercept
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

    costs: np.ndarray
    dual: np.ndarray
    intercept: np.ndarray
    weights: np.ndarray
    objective: np.ndarray
    n_sweeps: np.ndarray
    finished: np.ndarray


class Trail:
    """The solutions of convex losses for the last two C, and where they lead.

    Margins grow with log C, and a line through the last two solutions is close to the next one. Real targets are soon
    fitted as well as they can be.
    """

    def __init__(self, task: str) -> None:
        self._furthest = _FURTHEST if task == CLASSIFICATION else 0.0
        self._costs = np.empty(0)
        self._weights: list[np.ndarray] = []

    def add(self, stage: Stage, losses: np.ndarray) -> None:
        """Go on to the last C of a stage, with some of its losses."""
        self._costs = np.concatenate([self._costs, stage.costs])[-2:]
        weights = [*self._weights, *np.moveaxis(stage.weights, 2, 0)][-2:]
        self._weights = [array[:, losses] for array in weights]

    def ahead(self, costs: np.ndarray) -> np.ndarray | None:
        """Weights to start from at higher C; None at the beginning."""
        if not self._weights:
            return None
        first, last = self._weights[0], self._weights[-1]
        before, now = np.log(self._costs[[0, -1]])
        steps = (np.log(costs) - now) / (now - before) if now > before else np.zeros(len(costs))
        return last[:, :, None] + np.minimum(steps, self._furthest)[:, None, None] * (last - first)[:, :, None]


class Lead:
    """The solutions of the squared hinge, from which losses that are not convex start at the same C.

    They give up rows, and do not return to them from the solution for a lower C, which has given up more. The squared
    hinge gives up none and wants the same margins: it leads into the valleys that least squares leads to, at half the
    way.
    """

    def __init__(self) -> None:
        self._weights: dict[float, np.ndarray] = {}

    def add(self, stage: Stage, losses: Sequence[Loss]) -> None:
        """Take in what a stage of convex losses found."""
        for j, loss in enumerate(losses):
            if isinstance(loss, SquaredHinge):
                self._weights |= zip(stage.costs.tolist(), np.moveaxis(stage.weights[:, j], 1, 0), strict=True)

    def at(self, costs: np.ndarray, n_losses: int) -> np.ndarray | None:
        """Weights to start from; None, which is least squares, where they are not known."""
        if not self._weights.keys() >= set(costs.tolist()):
            return None
        weights = np.stack([self._weights[cost] for cost in costs.tolist()], axis=1)
        return np.repeat(weights[:, None], n_losses, axis=1)


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
        self._layout = layout
        self._task = task
        # all weights are in the basis of eigenvectors, where a majoriser is diagonal whatever C and loss
        spectrum = Spectrum((sample.gram, sample.mean, 1.0), sample.mean if intercept else None, rows.dtype)
        self._spectrum = spectrum
        self._of_rows = (rows, features, EigenMap(feature_map, spectrum))
        self._sample = sample
        self._correlation: np.ndarray | None = None
        self._centre = spectrum.vectors.T @ sample.mean if intercept else None

    def solve(
        self, losses: Sequence[Loss], costs: np.ndarray, start: np.ndarray | None, *, tol: float, max_iter: int
    ) -> Stage:
        """The functions for these C, from weights for them, or from least squares."""
        objective = GridObjective(
            *self._of_rows, losses, costs, self._layout, self._task, self._centre, self._correlation
        )
        self._correlation = objective.problem_correlation
        majoriser = ColumnCoordinates(self._spectrum, objective.penalties, objective.constants, turned=True)
        if start is None:
            weights, n_sweeps = best_least_squares(objective, majoriser)[0], 2
        else:
            weights, n_sweeps = start.reshape(len(start), -1), 0
        result = LBFGS().solve(
            objective,
            majoriser,
            start=Start(weights, self._coordinates(objective, weights), n_sweeps=n_sweeps),
            tol=tol,
            max_iter=max_iter,
            history=History(),
        )
        dual, intercept = objective.to_dual(result.weights)
        finished = np.array([reason is not StopReason.MAX_ITER for reason in result.reasons])
        return Stage(
            costs,
            *(
                array.reshape(*array.shape[:-1], *objective.shape)
                for array in (dual, intercept, result.weights, result.objective, result.n_sweeps, finished)
            ),
        )

    def _coordinates(self, objective: GridObjective, weights: np.ndarray) -> CoordinatesByLoss:
        """Those of the Hessian of each loss on the sample, where the stage starts."""
        centre = None if self._centre is None else self._sample.mean

        def of_loss(loss: int, curvature: np.ndarray) -> ColumnCoordinates:
            own = objective.loss_of == loss
            moments = self._sample.moments(curvature)
            spectrum = Spectrum(moments, centre, objective.rows.dtype).seen_from(self._spectrum)
            return ColumnCoordinates(spectrum, objective.penalties[own], objective.constants[own], turned=False)

        curvatures = objective.curvatures(self._sample, self._spectrum, weights)
        tasks = [partial(of_loss, loss, curvature) for loss, curvature in enumerate(curvatures)]
        # a thread for each loss is busier than threads that share one, if there are as many
        n_threads = objective.rows.n_threads
        coordinates = run(tasks, n_threads) if len(tasks) >= n_threads else [task() for task in tasks]
        return CoordinatesByLoss(coordinates, objective.loss_of)


def _same(W: np.ndarray) -> np.ndarray:
    return W
