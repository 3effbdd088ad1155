"""A whole grid over the same features: every loss, split of the rows and target is a column of one batched solve.

The features, their moments and the spectrum of these are shared; a value of C only scales coordinates, so that it costs
little more than its sweeps, which are few where a solution for another C or loss is the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from unisvm.features import FeatureMap, GramSample
from unisvm.losses.base import CLASSIFICATION, Loss
from unisvm.model_selection.spectrum import CoordinatesByLoss, EigenMap, GridMajoriser, HessianCoordinates, Spectrum
from unisvm.objective import Chosen, Objective, Orthonormal, curvature_of, unit_of
from unisvm.rows.threads import blas_threads, run
from unisvm.solvers import LBFGS, StopReason
from unisvm.solvers.columns import Group, Run
from unisvm.solvers.lbfgs import best_least_squares

# steps from one C to the next that a start may lie ahead of the last solution
_FURTHEST = 5.0
# so few columns, so near to their solutions, need not end before others start from them
_FEW, _NEAR = 50, 3e-4
# with so many rows a column, features are turned in the time that its sweeps save
_WORTH_TURNING = 20


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
        feature_map: EigenMap | Orthonormal,
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
        parts: dict[bytes, Callable[..., None] | None] = {}
        n_targets, split_of = self._layout.n_targets, self._weight_of[columns] - self._layout.n_targets

        def part(counts: np.ndarray, alike: bool) -> Callable[..., None] | None:
            """What rows add that count as often as these; None if no column is about them."""
            key = counts[0].tobytes() if alike else b""
            if key not in parts:
                own = counts[0, split_of]
                used = np.flatnonzero(own) if alike else np.arange(len(columns))
                once = bool(alike and (own[used] == 1).all())
                chosen = self._choose(columns[used], counted_once=once)
                parts[key] = self._adding(dual.T[used].T, intercept[used], chosen, used) if len(used) else None
            return parts[key]

        def block(features, targets, weights):
            counts = targets[:, n_targets:]
            edges = np.flatnonzero((counts[1:] != counts[:-1]).any(axis=1)) + 1
            # few edges lie between rows that are kept together, many between rows that are not
            alike = len(edges) <= counts.shape[1]
            ends = [0, *edges.tolist(), len(counts)] if alike else [0, len(counts)]
            gradients, sums = np.zeros((len(columns), features.shape[1])), np.zeros((2, len(columns)))
            for rows in map(slice, ends[:-1], ends[1:]):
                add = part(counts[rows], alike)
                if add is not None:
                    add(features[rows], targets[rows], None if weights is None else weights[rows], gradients, sums)
            return gradients.T, sums

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


class Stage:
    """Some losses and values of C that begin together; arrays have axes for losses, C, splits and outputs at their end.

    Attributes
    ----------
    losses : ndarray of int
        Which losses of the grid, rising.
    places : ndarray of int
        Which values of C, rising.
    costs : ndarray
        These values.
    seconds : float
        Its share of the time.
    coefficients, intercept : ndarray
        The functions in training units, on the features. These and the following are there once it is done.
    dual : ndarray
        The coefficients on the landmarks.
    objective, n_sweeps : ndarray
    finished : ndarray of bool
        Whether a column ended before max_iter.
    """

    coefficients: np.ndarray
    intercept: np.ndarray
    dual: np.ndarray
    objective: np.ndarray
    n_sweeps: np.ndarray
    finished: np.ndarray

    def __init__(self, losses: np.ndarray, places: np.ndarray, costs: np.ndarray, group: Group, shape: tuple[int, ...]):
        self.losses = losses
        self.places = places
        self.costs = costs
        self.seconds = 0.0
        self._group: Group | None = group
        self._shape = shape
        self._weights = np.empty(0)

    @property
    def n_left(self) -> int:
        """How many columns are under way."""
        return 0 if self._group is None else self._group.n_left

    @property
    def weights(self) -> np.ndarray:
        """Where the columns stand, in the basis of the grid: what others can start from."""
        return self._weights if self._group is None else self._shaped(self._group.weights)

    def _shaped(self, array: np.ndarray) -> np.ndarray:
        return array.reshape(*array.shape[:-1], *self._shape)

    def close(
        self,
        to_features: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
        to_landmarks: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        """Keep what came of it, and not the coordinates that led there."""
        group = self._group
        if group is None:
            return
        weights = group.weights
        coefficients, intercept = to_features(weights)
        self.coefficients, self.intercept, self._weights = map(self._shaped, (coefficients, intercept, weights))
        self.dual = self._shaped(to_landmarks(coefficients))
        self.objective, self.n_sweeps = self._shaped(group.value), self._shaped(group.n_sweeps)
        self.finished = self._shaped(np.array([reason is not StopReason.MAX_ITER for reason in group.reasons]))
        self._group = None


class Trail:
    """The solutions for the last two C, and where they lead.

    Margins grow with log C, and a line through the last two solutions is close to the next one. Real targets are soon
    fitted as well as they can be: beyond, where redescending losses are flat, is no place to start.
    """

    def __init__(self, task: str) -> None:
        self._furthest = _FURTHEST if task == CLASSIFICATION else 0.0
        self._costs = np.empty(0)
        self._weights: list[np.ndarray] = []

    def add(self, stage: Stage, losses: np.ndarray) -> None:
        """Go on to the last C of a stage, as it stands, with some of its losses."""
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
    """The solutions of the squared hinge, from which losses of labels that are not convex start at the same C.

    They give up rows, such as all of a small class, and do not return to them from the solution for a lower C, which
    has given up more. (Of real targets they give up the outliers, and lose nothing on the way.) The squared hinge gives
    up none and wants the same margins: it leads into the valleys that least squares leads to, at half the way.
    """

    def __init__(self) -> None:
        self._weights: dict[float, np.ndarray] = {}

    def add(self, stage: Stage, losses: Sequence[Loss]) -> None:
        """Take in where a stage stands, if a loss that leads is among its losses."""
        for j, loss in enumerate(losses):
            if loss.leads:
                self._weights |= zip(stage.costs.tolist(), np.moveaxis(stage.weights[:, j].copy(), 1, 0), strict=True)

    def at(self, costs: np.ndarray, n_losses: int) -> np.ndarray | None:
        """Weights to start from; None, which is least squares, where they are not known."""
        if not self._weights.keys() >= set(costs.tolist()):
            return None
        weights = np.stack([self._weights[cost] for cost in costs.tolist()], axis=1)
        return np.repeat(weights[:, None], n_losses, axis=1)


class Grid:
    """All losses, values of C, splits and outputs over the same features, solved in stages that may overlap.

    Parameters
    ----------
    rows : row store
        Its targets are as `layout` says, best stored by columns.
    features, feature_map, sample
        Of the rows; the sample knows its rows. The features may be written over.
    layout : Layout
    task : {"classification", "regression"}
    intercept : bool
    losses : sequence of Loss
    costs : ndarray
        The values of C, rising.
    tol : float
    max_iter : int
    """

    def __init__(
        self,
        rows,
        features,
        feature_map: FeatureMap,
        sample: GramSample,
        layout: Layout,
        task: str,
        intercept: bool,
        losses: Sequence[Loss],
        costs: np.ndarray,
        *,
        tol: float,
        max_iter: int,
    ):
        self._intercept = intercept
        self._losses = losses
        self._costs = costs
        self._sample = sample
        # all weights are in the basis of eigenvectors, where a majoriser is diagonal whatever C and loss
        self._spectrum = spectrum = Spectrum(sample, intercept, rows.dtype)
        centre = spectrum.vectors.T @ sample.mean if intercept else None
        basis = EigenMap(feature_map, spectrum)
        # for many columns the features are turned into that basis, too: weights need not be turned in every sweep then
        n_columns = len(losses) * len(costs) * layout.target_of.size
        turned = rows.n_rows <= _WORTH_TURNING * n_columns and rows.multiply(features, basis.matrix)
        # coefficients on features that are not turned are those on the landmarks
        self._to_landmarks = basis.to_dual if turned else np.asarray
        self._part = partial(
            GridObjective, rows, features, Orthonormal() if turned else basis, layout=layout, task=task, centre=centre
        )
        self._objective = self._part(losses, costs)
        majoriser = self._majoriser(self._objective)
        self._run = Run(self._objective, majoriser, tol=tol, max_iter=max_iter, memory=LBFGS.memory)
        self._stages: list[Stage] = []

    @property
    def n_active(self) -> int:
        """How many columns are under way."""
        return self._run.n_active

    @property
    def is_near(self) -> bool:
        """Whether what is left is little, so that others can start from where it stands."""
        return self.n_active <= _FEW and bool((self._run.stationarity <= _NEAR).all())

    def _majoriser(self, objective: GridObjective) -> GridMajoriser:
        return GridMajoriser(self._spectrum, objective.penalties, objective.constants, intercept=self._intercept)

    def begin(self, losses: np.ndarray, places: np.ndarray, start: np.ndarray | None) -> Stage:
        """Let these losses at these C join the sweeps, from weights for them, or from least squares."""
        started = perf_counter()
        costs = self._costs[places]
        part = self._part([self._losses[j] for j in losses], costs, correlation=self._objective.problem_correlation)
        if start is None:
            weights, n_sweeps = best_least_squares(part, self._majoriser(part))[0], 2
        else:
            weights, n_sweeps = start.reshape(len(start), -1), 0
        numbers = np.arange(self._objective.n_columns).reshape(self._objective.shape)
        group = Group(numbers[np.ix_(losses, places)].ravel(), self._coordinates(part, weights), weights, n_sweeps)
        self._run.join(group)
        stage = Stage(losses, places, costs, group, part.shape)
        stage.seconds = perf_counter() - started
        self._stages.append(stage)
        return stage

    def sweep(self) -> list[Stage]:
        """Try one point for each column under way; the stages that are done with it."""
        started, n_active, shares = perf_counter(), self.n_active, [stage.n_left for stage in self._stages]
        # the products between two sweeps are small, and threads that they wake would spin on into the next sweep
        with blas_threads(1):
            self._run.sweep()
        spent = perf_counter() - started
        for stage, share in zip(self._stages, shares, strict=True):
            stage.seconds += spent * share / n_active
        done = [stage for stage in self._stages if not stage.n_left]
        self._stages = [stage for stage in self._stages if stage.n_left]
        for stage in done:
            stage.close(self._objective.to_dual, self._to_landmarks)
        return done

    def _coordinates(self, objective: GridObjective, weights: np.ndarray) -> CoordinatesByLoss:
        """Those of the Hessian of each loss on the sample, where the stage starts."""

        def of_loss(loss: int, curvature: np.ndarray) -> HessianCoordinates:
            return HessianCoordinates(
                self._sample,
                self._sample.moments(curvature),
                self._spectrum,
                objective.penalties[objective.loss_of == loss],
                float(objective.losses[loss].A),
                intercept=self._intercept,
            )

        curvatures = objective.curvatures(self._sample, self._spectrum, weights)
        tasks = [partial(of_loss, loss, curvature) for loss, curvature in enumerate(curvatures)]
        # a thread for each loss is busier than threads that share one, if there are as many
        n_threads = objective.rows.n_threads
        coordinates = run(tasks, n_threads) if len(tasks) >= n_threads else [task() for task in tasks]
        return CoordinatesByLoss(coordinates, objective.loss_of)
