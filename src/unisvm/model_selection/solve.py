"""All losses and C of a grid over the same features: batches of columns, each one batched solve.

Features, their moments and the spectrum of these are shared by all columns. A value of C only scales coordinates, so
that it costs little more than its sweeps, which are few where a solution for another C or loss is the start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from time import perf_counter
from typing import NamedTuple

import numpy as np

from unisvm.column_spec import ColumnSpec
from unisvm.engine import FitSettings, NystromFeatures
from unisvm.losses.base import Loss
from unisvm.model_selection.folds import SplitColumns
from unisvm.nystrom.gram import Sample
from unisvm.objective import Objective, Orthonormal
from unisvm.parallel import CancelToken, blas_threads, run
from unisvm.preconditioner import CoordinatesByLoss, EigenBasis, HessianCoordinates, SpectralMajoriser, Spectrum
from unisvm.rows import RowStore
from unisvm.solvers import LBFGS, Start, StopReason
from unisvm.solvers.driver import minimise
from unisvm.solvers.lbfgs import best_least_squares

# so many columns at a time keep matrix products busy; the next ones start from their solutions
COLUMNS_AT_ONCE = 100
# steps from one C to the next that a start may lie ahead of the last solution
_MAX_STEPS_AHEAD = 5.0
# with at most so many rows a column, features are transformed in the time that its sweeps save
_WORTH_TRANSFORMING = 20


class BatchSolution(NamedTuple):
    """Solutions for some losses and C; arrays have axes for losses, C, splits and outputs at their end.

    Attributes
    ----------
    losses, C_indices : ndarray of int
        Indices of the losses and of the values of C, both rising.
    Cs : ndarray
        These values.
    weights : ndarray
        In the basis of eigenvectors, intercepts included: other solutions can start from them.
    coefficients, dual, intercept : ndarray
        The functions in training units: coefficients on the features, those on the landmarks, and intercepts.
    objective, n_sweeps : ndarray
    converged : ndarray of bool
        Whether a column ended before max_iter.
    seconds : float
    """

    losses: np.ndarray
    C_indices: np.ndarray
    Cs: np.ndarray
    weights: np.ndarray
    coefficients: np.ndarray
    dual: np.ndarray
    intercept: np.ndarray
    objective: np.ndarray
    n_sweeps: np.ndarray
    converged: np.ndarray
    seconds: float


class LogCExtrapolation:
    """Starts on the line through the solutions for the last two C, as a function of log C.

    Margins grow with log C, and the line is close to the next solution. Real targets are soon fitted as well as they
    can be: beyond, where redescending losses are flat, is no place to start.
    """

    def __init__(self, is_margin: bool) -> None:
        self._max_steps = _MAX_STEPS_AHEAD if is_margin else 0.0
        self._Cs = np.empty(0)
        self._weights: list[np.ndarray] = []

    def add(self, batch: BatchSolution) -> None:
        """Go on to the highest C of a batch."""
        self._Cs = np.concatenate([self._Cs, batch.Cs])[-2:]
        # copies, since a view would keep the whole batch
        self._weights = [weights.copy() for weights in [*self._weights, *np.moveaxis(batch.weights, 2, 0)][-2:]]

    def ahead(self, Cs: np.ndarray) -> np.ndarray | None:
        """Weights to start from at higher C; None at the beginning."""
        if not self._weights:
            return None
        first, last = self._weights[0], self._weights[-1]
        before, now = np.log(self._Cs[[0, -1]])
        steps = (np.log(Cs) - now) / (now - before) if now > before else np.zeros(len(Cs))
        return last[:, :, None] + np.minimum(steps, self._max_steps)[:, None, None] * (last - first)[:, :, None]


class ConvexWarmStart:
    """Solutions of the squared hinge, from which nonconvex losses of labels start at the same C.

    These losses ignore rows, such as all of a small class, and do not return to them from the solution for a lower C,
    which ignores more. (Of real targets they ignore the outliers, and lose nothing on the way.) The squared hinge
    ignores none and wants the same margins: its solutions lie where least squares leads to, at half the way.
    """

    def __init__(self) -> None:
        self._weights: dict[float, np.ndarray] = {}

    def add(self, batch: BatchSolution, losses: Sequence[Loss]) -> None:
        """Take in the solutions of a batch, if a loss that seeds others is among its losses."""
        for place, j in enumerate(batch.losses.tolist()):
            if losses[j].seeds_nonconvex:
                self._weights |= zip(batch.Cs.tolist(), np.moveaxis(batch.weights[:, place].copy(), 1, 0), strict=True)

    def at(self, Cs: np.ndarray, n_losses: int) -> np.ndarray | None:
        """Weights to start from; None, which stands for least squares, where they are not known."""
        if not self._weights.keys() >= set(Cs.tolist()):
            return None
        weights = np.stack([self._weights[C] for C in Cs.tolist()], axis=1)
        return np.repeat(weights[:, None], n_losses, axis=1)


class GridSolver:
    """Solves batches of columns of a grid, in the basis where the majorisers of all C and losses are diagonal.

    Parameters
    ----------
    rows : RowStore
        Its targets are as `columns` says.
    nystrom : NystromFeatures
        Of these rows, with the sample; the features may be written over.
    columns : SplitColumns
    losses : sequence of Loss
    Cs : ndarray
        Rising.
    settings : FitSettings
    cancel : CancelToken
    """

    def __init__(
        self,
        rows: RowStore,
        nystrom: NystromFeatures,
        columns: SplitColumns,
        losses: Sequence[Loss],
        Cs: np.ndarray,
        settings: FitSettings,
        cancel: CancelToken,
    ):
        self._columns = columns
        self._losses = losses
        self._Cs = Cs
        self._settings = settings
        self._cancel = cancel
        self._gram = gram = nystrom.gram
        self._spectrum = Spectrum(gram, settings.fit_intercept, rows.dtype)
        # columns of which only a diagonal is known are their own basis
        basis: EigenBasis | Orthonormal = Orthonormal()
        if not gram.is_diagonal:
            basis = EigenBasis(nystrom.basis.feature_map, self._spectrum)
        mean = self._spectrum.from_values(gram.mean) if settings.fit_intercept else None
        # for many columns the features are transformed into that basis, too: weights need not be in every sweep then
        n_columns = len(losses) * len(Cs) * columns.target_of.size
        transformed = (
            isinstance(basis, EigenBasis)
            and rows.n_rows <= _WORTH_TRANSFORMING * n_columns
            and rows.transform(nystrom.features, basis.matrix)
        )
        # coefficients on features as they were built are those on the landmarks
        self._to_landmarks = basis.to_dual if transformed else np.asarray
        self._objective = Objective(
            rows,
            nystrom.features,
            Orthonormal() if transformed else basis,
            columns.spec(losses[:1], Cs[:1]),
            settings.is_margin,
            mean,
        )

    def solve(self, losses: np.ndarray, C_indices: np.ndarray, start: np.ndarray | None) -> BatchSolution:
        """Solutions for these losses and C, from weights for them or from least squares."""
        started = perf_counter()
        settings, Cs = self._settings, self._Cs[C_indices]
        spec = self._columns.spec([self._losses[j] for j in losses], Cs)
        objective = self._objective.with_columns(spec)
        constants = spec.of_losses(lambda loss: loss.A)
        majoriser = SpectralMajoriser(self._spectrum, spec.penalties, constants, intercept=settings.fit_intercept)
        if start is None:
            weights, n_sweeps = best_least_squares(objective, majoriser)[0], 2
        else:
            weights, n_sweeps = start.reshape(len(start), -1), 0
        result = minimise(
            LBFGS(),
            objective,
            majoriser,
            Start(weights, self._coordinates(objective, weights), n_sweeps),
            tol=settings.tol,
            max_iter=settings.max_iter,
            callback=lambda reached: self._cancel.cancelled,
        )
        with blas_threads(1):
            coefficients, intercept = objective.to_dual(result.weights)
            dual = self._to_landmarks(coefficients)
        converged = np.array([reason is not StopReason.MAX_ITER for reason in result.reasons])
        shape = (len(losses), len(Cs), *self._columns.target_of.shape)
        weights, coefficients, dual, intercept, values, sweeps, converged = (
            array.reshape(*array.shape[:-1], *shape)
            for array in (result.weights, coefficients, dual, intercept, result.objective, result.n_sweeps, converged)
        )
        functions = weights, coefficients, dual, intercept
        return BatchSolution(losses, C_indices, Cs, *functions, values, sweeps, converged, perf_counter() - started)

    def _coordinates(self, objective: Objective, weights: np.ndarray) -> CoordinatesByLoss | None:
        """Coordinates of the Hessian of each loss on the sample, at the start; None where there is no sample."""
        gram, spec = self._gram, objective.spec
        if gram.sample is None:
            return None
        tasks = [
            partial(self._hessian, gram.sample, spec, loss, curvature)
            for loss, curvature in enumerate(objective.on_sample(gram.sample, self._spectrum).curvatures(weights))
        ]
        # a thread for each loss is busier than threads that share one, if there are as many
        n_threads = objective.rows.n_threads
        coordinates = run(tasks, n_threads) if len(tasks) >= n_threads else [task() for task in tasks]
        return CoordinatesByLoss(coordinates, spec.loss_of)

    def _hessian(self, sample: Sample, spec: ColumnSpec, loss: int, curvature: np.ndarray) -> HessianCoordinates:
        return HessianCoordinates(
            self._gram,
            self._gram.reweighted(sample, curvature),
            self._spectrum,
            spec.penalties[spec.loss_of == loss],
            spec.losses[loss].A,
            intercept=self._settings.fit_intercept,
        )

    def solve_all(self, losses_at_once: int, tried: np.ndarray | None = None) -> Iterator[BatchSolution]:
        """Solutions for all losses and C, going up with C; at most so many losses are solved together.

        `tried` is a mask of the cells to solve, of shape (n_losses, n_C); None for all.
        """
        is_margin = self._settings.is_margin
        seeds = ConvexWarmStart()
        # losses that start from their own solutions for lower C; the others would ignore rows for good
        follows = np.array([loss.is_convex or not is_margin for loss in self._losses])
        tried = np.ones((len(self._losses), len(self._Cs)), dtype=bool) if tried is None else tried
        for group in _groups(follows, tried, losses_at_once):
            line = LogCExtrapolation(is_margin)
            of_group = np.flatnonzero(tried[group[0]])
            n_columns = len(of_group) * len(group) * self._columns.target_of.size
            n_batches = min(-(-n_columns // COLUMNS_AT_ONCE), len(of_group))
            for C_indices in np.array_split(of_group, n_batches):
                Cs = self._Cs[C_indices]
                start = line.ahead(Cs) if follows[group[0]] else seeds.at(Cs, len(group))
                batch = self.solve(group, C_indices, start)
                if self._cancel.cancelled:
                    return
                yield batch
                line.add(batch)
                seeds.add(batch, self._losses)


def _groups(follows: np.ndarray, tried: np.ndarray, losses_at_once: int) -> list[np.ndarray]:
    """Indices of losses that are solved together, at the same C: first those that follow their own solutions for lower
    C, which may seed the others."""
    kinds = []
    for kind in (np.flatnonzero(follows), np.flatnonzero(~follows)):
        _, same_Cs = np.unique(tried[kind], axis=0, return_inverse=True)
        same_Cs = same_Cs.ravel()  # NumPy 2.0.0 returns another shape
        kinds += [kind[same_Cs == i] for i in range(same_Cs.max(initial=-1) + 1) if tried[kind[same_Cs == i]].any()]
    return [group for kind in kinds for group in np.array_split(kind, -(-len(kind) // losses_at_once))]
