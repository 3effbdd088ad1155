"""A fit from rows to coefficients, as plain functions over one settings record.

    rows of X → landmarks → features → Gram matrix → objective and majoriser → start → solver → coefficients

Single fits, searches and fits on Dask call these functions; estimators validate, call them and store the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from unisvm.bases import Basis, ColumnBasis, LandmarkBasis, WithPenalisedIntercept, restore_basis, uses_columns
from unisvm.checkpoint import Arrays
from unisvm.column_spec import ColumnSpec
from unisvm.kernel_expansion import KernelExpansion
from unisvm.kernels import Kernel
from unisvm.leave_one_out import CChoice, choose_Cs, loo_bytes, read_distinct
from unisvm.losses.base import Loss
from unisvm.memory_budget import MemoryBudget, column_bytes, feature_bytes
from unisvm.nystrom.base import BaseFeatureMap
from unisvm.nystrom.gram import Gram, is_subsample, read_sample, sample_size, second_moments
from unisvm.nystrom.indefinite import krein_signs
from unisvm.nystrom.landmarks import Landmarks, choose_landmarks
from unisvm.objective import Objective
from unisvm.preconditioner import Majoriser, MajoriserCoordinates, SpectralMajoriser, Spectrum
from unisvm.progress import FeaturesBuilt, StageRunner
from unisvm.rows import RowStore
from unisvm.scaling import resolve_kernel
from unisvm.solvers.base import Solver, Start, trait
from unisvm.solvers.driver import Result, minimise
from unisvm.solvers.subsample import solve_subsample
from unisvm.targets import TargetUnits


@dataclass(frozen=True)
class FitSettings:
    """Parameters of a fit, checked, with the names of losses, kernels and solvers resolved to objects.

    Attributes
    ----------
    is_margin : bool
        Whether the residual is 1 − y f(x), as in classification, or y − f(x).
    loss : Loss
    C : float or None
        1/(2λΣs); chosen by the rows when None.
    kernel : Kernel
        Its gamma may still be "scale" or "auto".
    scale : {"standard", "minmax"} or None
        How the columns of X are scaled before the kernel.
    rank : int or None
        Most landmarks; None for all rows.
    rank_tol : float
    landmarks : str, LandmarkRule or array
    indefinite : {"flip", "clip", "krein", "raise"}
        What becomes of the negative part of a kernel that is not positive semidefinite.
    fit_intercept : bool
        Whether there is an offset that is not penalised.
    penalised_intercept : bool
        Whether there is an offset that is.
    solver : Solver
    tol : float
    max_iter : int
    memory : MemoryBudget
    relevance : ndarray of shape (n_features,), "learned" or None
        What scaled columns are multiplied by; None once the kernel does it.
    """

    is_margin: bool
    loss: Loss
    C: float | None
    kernel: Kernel
    scale: str | None
    rank: int | None
    rank_tol: float
    landmarks: Any
    indefinite: str
    fit_intercept: bool
    penalised_intercept: bool
    solver: Solver
    tol: float
    max_iter: int
    memory: MemoryBudget
    relevance: Any = None


class NystromFeatures(NamedTuple):
    """The part of a fit that depends on neither C nor the loss."""

    basis: Basis
    features: Any
    gram: Gram


class Fitted(NamedTuple):
    """Functions in the units of y, and how they were reached."""

    basis: Basis
    trace_error: float
    choice: CChoice
    expansion: KernelExpansion
    result: Result

    def state(self) -> Arrays:
        """The model as arrays, but for kernel and vectors."""
        basis = self.basis.state()
        for large in ("factor", "matrix"):
            basis.pop(large, None)
        model = {"dual_coef": self.expansion.dual_coef, "intercept": self.expansion.intercept}
        certificate = self.choice.state() | {"trace_error": np.array(self.trace_error)}
        return basis | model | self.result.state() | certificate

    @classmethod
    def from_state(cls, state: Arrays, rows: RowStore, settings: FitSettings) -> Fitted:
        """Inverse of `state`, for the same rows and settings."""
        kernel = resolve_kernel(settings.kernel, rows, settings.scale)
        basis = restore_basis(state, rows, kernel, settings.landmarks)
        expansion = basis.expansion(state["dual_coef"].T, state["intercept"])
        return cls(basis, float(state["trace_error"]), CChoice.from_state(state), expansion, Result.from_state(state))


def fit(
    rows: RowStore,
    units: TargetUnits,
    settings: FitSettings,
    runner: StageRunner,
    init: KernelExpansion | None = None,
) -> Fitted:
    """Functions that minimise λ‖f‖² + mean loss, one for each column of the store's targets.

    Parameters
    ----------
    rows : RowStore
        With the training targets.
    units : TargetUnits
        Of these targets.
    settings : FitSettings
    runner : StageRunner
        Keeps and reports the stages and iterations.
    init : KernelExpansion, optional
        Functions in the units of y to start from.
    """
    loss = settings.loss
    nystrom = basis, features, gram = prepare(rows, settings, runner, quadratic=loss.is_quadratic)
    choice = regularisation(rows, nystrom, units, settings, runner)
    penalty = 1 / (2 * choice.C * rows.total_weight)
    spec = ColumnSpec.shared(loss, penalty, rows.total_weight, units.n_columns, units.median, units.pairs)
    mean = gram.mean if settings.fit_intercept else None
    signs = None
    if settings.indefinite == "krein" and basis.feature_map.signature[1]:
        signs = krein_signs(basis.feature_map.signs, gram.about(mean), penalty / loss.A)
    objective = Objective(rows, features, basis.feature_map, spec, settings.is_margin, mean, signs)
    majoriser = runner.run("majoriser", lambda: majoriser_of(gram, spec, settings.fit_intercept, rows.dtype))
    start = runner.stage(
        "start",
        lambda: find_start(objective, majoriser, basis, gram, units, init),
        lambda saved: Start.from_state(saved, loss.A),
    )
    gram = gram.without_sample()

    def fitted(result: Result) -> Fitted:
        functions = basis.expansion(*units.restore(*objective.to_dual(result.weights)))
        return Fitted(basis, gram.trace_error, choice, functions, result)

    result = runner.run(
        "solver",
        lambda: minimise(
            settings.solver,
            objective,
            majoriser,
            start,
            tol=settings.tol,
            max_iter=settings.max_iter,
            callback=partial(runner.iteration, fitted=fitted, tol=settings.tol, max_iter=settings.max_iter),
            state=runner.saved_iteration(),
        ),
    )
    outcome = fitted(result)
    outcome.expansion.check_finite()
    return outcome


def count_stages(settings: FitSettings) -> int:
    """Number of stages of a fit."""
    return 6 + (settings.C is None) + (settings.relevance is not None)


def regularisation(
    rows: RowStore, nystrom: NystromFeatures, units: TargetUnits, settings: FitSettings, runner: StageRunner
) -> CChoice:
    """C of the settings, or the one that suits the rows."""
    if settings.C is not None:
        return CChoice(settings.C, np.empty(0), np.empty(0))
    choice = runner.stage(
        "C",
        lambda: suitable_Cs(rows, nystrom.basis, nystrom.features, units, settings, [settings.loss], runner.rng)[0],
        CChoice.from_state,
    )
    runner.report.say(f"  C = {choice.C:.3g} by leave-one-out errors of least squares")
    return choice


def suitable_Cs(
    rows: RowStore,
    basis: Basis,
    features: Any,
    units: TargetUnits,
    settings: FitSettings,
    losses: Sequence[Loss],
    rng: np.random.RandomState,
) -> list[CChoice]:
    """C that suits the rows for each of the losses."""
    return choose_Cs(
        read_distinct(rows, basis.feature_map, features, rng),
        losses,
        is_margin=settings.is_margin,
        fit_intercept=settings.fit_intercept,
        is_pairs=units.pairs is not None,
    )


def prepare(
    rows: RowStore,
    settings: FitSettings,
    runner: StageRunner,
    *,
    quadratic: bool = False,
    keep_sample: bool = False,
    reserved: int = 0,
) -> NystromFeatures:
    """Landmarks, the features of all rows, and their second moments.

    Parameters
    ----------
    rows, settings, runner
        As in `fit`.
    quadratic : bool
        The moments are all that the solver needs, so that more of them are worth having.
    keep_sample : bool
        The moments must be those of a sample whose rows are at hand.
    reserved : int
        Bytes that are needed beside the features.
    """
    basis = runner.stage(
        "landmarks",
        lambda: choose_basis(rows, settings, runner.rng, reserved),
        lambda saved: restore_basis(
            saved, rows, resolve_kernel(settings.kernel, rows, settings.scale), settings.landmarks
        ),
    )
    feature_map = basis.feature_map
    features = runner.run("features", lambda: build_features(rows, settings, basis, reserved))
    are_rows = basis.landmarks is None and rows.is_sparse
    n_bytes = 0 if are_rows else feature_bytes(rows.n_rows, feature_map.rank, rows.dtype)
    runner.report.emit(FeaturesBuilt, n_bytes=n_bytes, location=rows.location(features))
    gram = runner.stage(
        "gram",
        lambda: second_moments(
            rows,
            feature_map,
            features,
            runner.rng,
            basis.store_indices,
            exact=trait(settings.solver, "needs_exact_majoriser"),
            quadratic=quadratic,
            keep_sample=keep_sample,
        ),
        Gram.from_state,
    )
    return NystromFeatures(basis, features, gram)


def choose_basis(rows: RowStore, settings: FitSettings, rng: np.random.RandomState, reserved: int = 0) -> Basis:
    """Landmarks, or the columns of X for a linear kernel.

    Raises when the fit would take too much memory, before the features exist.
    """
    settings.memory.check_columns(rows.n_features, rows.n_threads)
    kernel = resolve_kernel(settings.kernel, rows, settings.scale)
    basis: Basis
    if uses_columns(kernel, settings.landmarks):
        basis = columns = ColumnBasis.of(kernel, rows, rng, centred=settings.fit_intercept)
        _room_for_features(rows, settings, columns.feature_map, reserved)
    else:
        rank = rows.n_rows if settings.rank is None else settings.rank
        tol = settings.rank_tol if kernel.is_judged_by_trace else 0.0
        landmarks = choose_landmarks(settings.landmarks, rows, kernel, rank, tol, rng, settings.indefinite)
        _room_for_features(rows, settings, landmarks, reserved)
        # 3,000 rows of phoneme, a truncated distance, 500 landmarks: trace error 0.24, and 0.57 with all eigenvalues
        small_tol, weights = settings.rank_tol, None
        if landmarks.store_indices is not None and landmarks.rank == rows.n_rows:
            small_tol, weights = 0.0, rows.take_weights(landmarks.store_indices).astype(np.float64)
        basis = LandmarkBasis.of(kernel, landmarks, rows.dtype, settings.indefinite, small_tol, weights)
    return WithPenalisedIntercept(basis) if settings.penalised_intercept else basis


def build_features(rows: RowStore, settings: FitSettings, basis: Basis, reserved: int = 0) -> Any:
    """Features of all rows, in memory or in a scratch file; `reserved` is as in `prepare`."""
    made_of = basis.feature_map if basis.landmarks is None else basis.landmarks
    return basis.feature_map.build(rows, _room_for_features(rows, settings, made_of, reserved))


def _room_for_features(
    rows: RowStore, settings: FitSettings, made_of: Landmarks | BaseFeatureMap, reserved: int
) -> float:
    reserved += column_bytes(rows.n_features, rows.n_threads)
    if settings.C is None:
        of_columns = not isinstance(made_of, Landmarks)
        reserved += loo_bytes(rows.n_rows, made_of.rank, rows.dtype, of_columns=of_columns, is_sparse=rows.is_sparse)
    return settings.memory.room_for_features(
        rows,
        made_of.rank,
        sample_size(rows.n_rows, made_of.rank),
        copies_of_features=trait(settings.solver, "copies_of_features"),
        reserved=reserved,
        of_columns=not isinstance(made_of, Landmarks),
        diagonal=made_of.is_wide and not trait(settings.solver, "needs_exact_majoriser"),
    )


def majoriser_of(gram: Gram, spec: ColumnSpec, intercept: bool, dtype: np.dtype) -> MajoriserCoordinates:
    """Majoriser of the columns of one loss and penalty."""
    (loss,), penalty = spec.losses, float(spec.penalties[0])
    if not gram.is_diagonal:
        return Majoriser(gram, penalty, loss.A, intercept)
    return SpectralMajoriser(
        Spectrum(gram, intercept, dtype), spec.penalties, spec.of_losses(lambda each: each.A), intercept=intercept
    )


def find_start(
    objective: Objective,
    majoriser: MajoriserCoordinates,
    basis: Basis,
    gram: Gram,
    units: TargetUnits,
    init: KernelExpansion | None,
) -> Start:
    """Start of the solver: from `init` or by its own choice, and by the solution on a sample where that pays."""
    rows, (loss,), feature_map = objective.rows, objective.spec.losses, basis.feature_map
    weights = None if init is None else _weights_of(init, objective, basis, units)
    n_sampled = len(gram.indices)
    # a majoriser of few numbers has no sample
    # what bounds the objective of all rows may not bound that of a sample when the regulariser is not convex
    is_bounded = objective.signs is None
    if n_sampled == 0 or loss.is_quadratic or not is_subsample(n_sampled, rows.n_rows) or not is_bounded:
        return Start(weights)
    assert isinstance(majoriser, Majoriser)
    sample = gram.sample
    if sample is None:
        # the moments are from a checkpoint
        n_landmarks = 0 if basis.store_indices is None else len(basis.store_indices)
        sample = read_sample(rows, feature_map, objective.features, gram.indices, gram.weights, n_landmarks)
    return solve_subsample(objective, majoriser, gram, sample, weights)


def _weights_of(init: KernelExpansion, objective: Objective, basis: Basis, units: TargetUnits) -> np.ndarray | None:
    """Weights of given functions, brought to the landmarks by their values there; None if they have no such form."""
    read = basis.read(init, objective.rows.n_threads)
    if read is None:
        return None
    values, intercept = map(units.to_training, read)
    return objective.join_intercept(basis.feature_map.of_function(values - intercept), intercept)
