"""What the estimators share: parameters, their checks, and the way from rows to a fitted function."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state

from unisvm import kernels, landmarks, losses, solvers
from unisvm._checks import check_number, is_integer, one_of
from unisvm._kernel_estimator import KernelEstimator
from unisvm._report import Report
from unisvm.features import FeatureMap, GramSample, gram_of_all, gram_sample
from unisvm.majoriser import Majoriser
from unisvm.objective import Objective
from unisvm.rows import MemoryRows
from unisvm.rows.budget import parse_memory, readable
from unisvm.rows.threads import blas_threads, count_threads
from unisvm.solvers import History, Result, StopReason
from unisvm.solvers.pilot import explore
from unisvm.solvers.result import Start

# A majoriser from all rows is worth no more multiplications than this.
_EXACT_GRAM_COST = 4e9
_LEAST_SAMPLE = 1000
# A sample of at most this share of the rows is solved first, as a guide.
_WORTH_A_PILOT = 0.5


class _Landmarks(NamedTuple):
    """Landmarks as row numbers of X and of the store, None where they are not rows of it; as points and as rows."""

    numbers: np.ndarray | None
    stored: np.ndarray | None
    points: Any
    vectors: Any


class Problem(NamedTuple):
    """What is to be fitted: targets in training units, their median if they are real, and the rows' weights.

    f · scale + centre is in the units of y.
    """

    targets: np.ndarray
    weights: np.ndarray
    middle: np.ndarray | None
    centre: np.ndarray
    scale: np.ndarray

    def to_training_units(self, values: np.ndarray) -> np.ndarray:
        """Values of f from values in the units of y."""
        return (values - self.centre) / self.scale


class Prepared(NamedTuple):
    """All that a fit needs before it knows C: the landmarks, and the features of the rows with their moments."""

    kernel: kernels.Kernel
    chosen: _Landmarks
    feature_map: FeatureMap
    features: Any
    sample: GramSample

    def model(self, dual: np.ndarray, intercept: np.ndarray) -> dict[str, Any]:
        """The attributes of an estimator with these coefficients, a column for each function."""
        numbers = self.chosen.numbers
        landmark_rows = None if numbers is None else numbers[self.feature_map.kept]
        return {
            "kernel_": self.kernel,
            "landmarks_": landmark_rows,
            "landmark_vectors_": landmark_rows if self.kernel.points_are_numbers else self.feature_map.points,
            "dual_coef_": np.ascontiguousarray(dual.T),
            "intercept_": intercept,
            "rank_": self.feature_map.rank,
            "trace_error_": self.sample.trace_error,
        }


class BaseUniSVM(KernelEstimator):
    """Common part of the classifier and the regressor."""

    _task: str

    @abstractmethod
    def _specify(
        self, y: np.ndarray, weights: np.ndarray, dtype: np.dtype, known: dict[str, Any] | None = None
    ) -> tuple[Problem, dict[str, Any]]: ...

    # ------------------------------------------------------------------ checks, before any work

    def _check_parameters(self) -> None:
        """Raise when a parameter is out of range, whatever the data."""
        loss = losses.get(self.loss)
        if self._task not in loss.tasks:
            usable = ", ".join(map(repr, losses.names(self._task)))
            raise ValueError(f"The loss {loss!r} is not for {self._task}. Losses for {self._task}: {usable}.")
        check_number("C", self.C, 0, np.inf)
        check_number("tol", self.tol, 0, np.inf)
        check_number("rank_tol", self.rank_tol, 0, 1, closed=True)
        if self.rank is not None and not (is_integer(self.rank) and self.rank >= 1):
            raise ValueError(f"rank must be a positive integer, or None for the full kernel; got {self.rank!r}.")
        if not (is_integer(self.max_iter) and self.max_iter >= 1):
            raise ValueError(f"max_iter must be a positive integer, got {self.max_iter!r}.")
        self._requested_kernel()
        solvers.get(self.solver)
        parse_memory(self.memory_limit)
        if self.scratch_dir is not None and not Path(self.scratch_dir).is_dir():
            raise ValueError(f"scratch_dir must be a folder that is there, got {self.scratch_dir!r}.")
        if isinstance(self.landmarks, str):
            one_of("landmark rule", self.landmarks, landmarks.RULES)
        if not isinstance(self.verbose, Integral):
            raise ValueError(f"verbose must be an integer, got {self.verbose!r}.")
        if self.n_jobs is not None and not (is_integer(self.n_jobs) and self.n_jobs != 0):
            raise ValueError(f"n_jobs must be None, a positive number of threads, or -1 for all; got {self.n_jobs!r}.")

    # ------------------------------------------------------------------ fit

    def _fit_columns(self, X, problem: Problem, *, warm: bool) -> tuple[dict[str, Any], Result]:
        """Fit one function for each column of the targets; the fitted attributes, and how the solver ended.

        Rows of weight 0 are left out, as if they were not there. With `warm` it starts from the present function, which
        has the same columns. The estimator itself is not changed, so that a fit that fails leaves it as it was.
        """
        targets, weights = problem.targets, problem.weights
        present = np.flatnonzero(weights)
        every_row = X = kernels.as_rows(X)
        if len(present) < len(weights):
            X = X[present][:, present] if self._is_precomputed() else X[present]
            targets, weights = targets[present], weights[present]
        n_threads = count_threads(self.n_jobs)
        rng = check_random_state(self.random_state)
        report = Report(self.verbose)
        targets = np.ascontiguousarray(targets, dtype=X.dtype)
        rows = MemoryRows(X, targets, weights, n_threads, scratch_dir=self.scratch_dir)
        penalty = 1 / (2 * self.C * rows.total_weight)
        solver = solvers.get(self.solver)
        loss = losses.get(self.loss)

        with blas_threads(n_threads):
            prepared = self._prepare(rows, every_row, present, solver, rng, report, quadratic=loss.is_quadratic)
            sample = prepared.sample
            with report.stage("majoriser"):
                majoriser = Majoriser(sample, penalty, loss.A, self.fit_intercept)
                objective = Objective(
                    rows,
                    prepared.features,
                    prepared.feature_map,
                    loss,
                    penalty,
                    self._task,
                    sample.mean if self.fit_intercept else None,
                    problem.middle,
                )
            with report.stage("pilot"):
                start = Start(self._present_function(objective, prepared, problem) if warm else None)
                if (
                    sample.rows is not None
                    and sample.rows.n_rows <= _WORTH_A_PILOT * rows.n_rows
                    and not loss.is_quadratic
                ):
                    start = explore(objective, majoriser, sample, start)
                # its features are not needed any more
                prepared = prepared._replace(sample=sample.without_rows())
                del sample
            with report.stage("solver"):
                result = solver.solve(
                    objective,
                    majoriser,
                    start=start,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    history=History(callback=report.iteration),
                )
        fitted = prepared.model(*in_units_of_y(*objective.to_dual(result.weights), problem)) | _outcome(result)
        report.certificate(fitted)
        return fitted, result

    def _prepare(
        self, rows, every_row, present, solver, rng, report: Report, *, quadratic=False, with_rows=False, beside=0
    ) -> Prepared:
        """Landmarks, features and moments of the rows in the store, which are the `present` ones of `every_row`.

        Parameters
        ----------
        quadratic : bool
            Whether the moments are all that the solver needs, so that more of them are worth having.
        with_rows : bool
            Whether the moments must know the rows that they are made from.
        beside : int
            Bytes that are needed beside the features.
        """
        kernel = self._requested_kernel().resolve(every_row.shape[1], rows.variance)
        with report.stage("landmarks"):
            chosen = self._landmarks(rows, kernel, every_row, present, rng)
            vectors = chosen.vectors.astype(np.float64)
            room = self._room_for_features(rows, vectors.shape[0], solver, beside)
            feature_map = FeatureMap(kernel, chosen.points, kernel.against(chosen.points)(vectors), rows.dtype)
        with report.stage("features"):
            features = rows.build(feature_map.block, feature_map.rank, room)
        with report.stage("moments"):
            stored = None if chosen.stored is None else chosen.stored[feature_map.kept]
            sample = _second_moments(
                rows, feature_map, features, solver, rng, stored, quadratic=quadratic, with_rows=with_rows
            )
        return Prepared(kernel, chosen, feature_map, features, sample)

    def _store(self, fitted: dict[str, Any], result: Result) -> None:
        """Take on the fitted attributes, and warn when the solver did not get where it should."""
        for name, value in fitted.items():
            setattr(self, name, value)
        worst = result.stationarity.max()
        if StopReason.MAX_ITER in result.reasons:
            advice = "Raise max_iter, or raise tol, or lower C, or scale the columns of X."
            why = f"after max_iter={self.max_iter} iterations "
        elif StopReason.PRECISION in result.reasons and worst > self.tol:
            single = self.dual_coef_.dtype == np.float32
            advice = "Give X in float64, or raise tol." if single else "The answer is as good as it gets: raise tol."
            why = "where no further decrease can be told from rounding error, "
        else:
            return
        warnings.warn(
            f"The solver stopped {why}with stationarity {worst:.2g}, where tol={self.tol:g} was asked for. {advice}",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _landmarks(self, rows, kernel, every_row, present, rng) -> _Landmarks:
        given = self.landmarks
        if isinstance(given, str):
            rank = rows.n_rows if self.rank is None else self.rank
            stored = landmarks.choose(given, rows, kernel, rank, self.rank_tol, rng)
            return _Landmarks(present[stored], stored, kernel.points(rows, stored), rows.take(stored))
        given = given if sparse.issparse(given) else np.asarray(given)
        if given.ndim == 1 and np.issubdtype(given.dtype, np.integer) and len(given):
            if given.min() < 0 or given.max() >= every_row.shape[0]:
                raise ValueError(
                    f"Landmark indices must be row numbers from 0 to {every_row.shape[0] - 1}; "
                    f"got values from {given.min()} to {given.max()}."
                )
            numbers = np.unique(given)
            stored = np.searchsorted(present, numbers)
            all_present = bool(np.isin(numbers, present).all())
            if not self._is_precomputed():
                vectors = every_row[numbers]
                return _Landmarks(numbers, stored if all_present else None, vectors, vectors)
            if not all_present:
                raise ValueError("A landmark of a precomputed kernel must be a row of positive weight.")
            return _Landmarks(numbers, stored, kernel.points(rows, stored), rows.take(stored))
        if given.ndim != 2 or self._is_precomputed():
            kinds = "row numbers (1-D integers)" + ("" if self._is_precomputed() else " or points (2-D)")
            raise ValueError(
                f"landmarks must be one of {', '.join(map(repr, landmarks.RULES))}, or an array of {kinds}; "
                f"got an array of shape {given.shape} and type {given.dtype}."
            )
        points = check_array(given, accept_sparse="csr", dtype=rows.dtype, input_name="landmarks")
        if points.shape[1] != every_row.shape[1]:
            raise ValueError(f"The landmarks have {points.shape[1]} columns, but X has {every_row.shape[1]}.")
        return _Landmarks(None, None, points, points)

    def _room_for_features(self, rows, rank: int, solver, beside: int) -> float:
        """Bytes that the features may take in memory. Raises when the rest does not fit into the limit."""
        limit = parse_memory(self.memory_limit)
        if limit is None:
            return np.inf
        size = rows.dtype.itemsize
        needed = beside + self._beside_features(rows, rank)
        if solver.copies_of_features > 1:
            needed += solver.copies_of_features * rows.n_rows * rank * size
        if needed > limit:
            whose = "memory_limit" if self.memory_limit is not None else "this machine"
            raise MemoryError(
                f"{rows.n_rows} rows and {rank} landmarks in {rows.dtype} need {readable(needed)}"
                f"{' with the features on disk' if solver.copies_of_features == 1 else ''}, more than {whose}'s "
                f"{readable(limit)}. Lower rank, or give X in float32."
            )
        return np.inf if solver.copies_of_features > 1 else limit - needed

    @staticmethod
    def _beside_features(rows, rank: int) -> int:
        """Bytes of the majoriser and of the sample that it is made from."""
        return 3 * 8 * rank**2 + min(_sample_size(rows.n_rows, rank), rows.n_rows) * rank * rows.dtype.itemsize

    def _can_start_warm(self, X, n_columns: int) -> bool:
        """Whether the present function can be the start of a fit with so many columns."""
        if not (self.warm_start and hasattr(self, "dual_coef_")) or self._is_precomputed():
            return False
        points = self.landmark_vectors_
        return points.ndim == 2 and points.shape[1] == X.shape[1] and len(self.dual_coef_) == n_columns

    def _present_function(self, objective: Objective, prepared: Prepared, problem: Problem) -> np.ndarray:
        """The function of the last fit, brought to new landmarks by its values there."""
        vectors = prepared.chosen.vectors.astype(np.float64)[prepared.feature_map.kept]
        values = problem.to_training_units(self._decide(vectors).astype(np.float64))
        intercept = problem.to_training_units(self.intercept_.astype(np.float64))
        return objective.from_values(values, intercept if self.fit_intercept else np.zeros_like(intercept))

    def _trust(self, residuals: np.ndarray) -> np.ndarray:
        loss = losses.get(self.loss)
        value = loss.value(residuals)
        return np.clip(1 - value / loss.bound, 0, 1) if np.isfinite(loss.bound) else 1 / (1 + value)


def in_units_of_y(dual: np.ndarray, intercept: np.ndarray, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and intercepts of functions of the problem, in the units of y."""
    return (dual * problem.scale).astype(dual.dtype), (intercept * problem.scale + problem.centre).astype(dual.dtype)


def _second_moments(
    rows, feature_map: FeatureMap, features, solver, rng, landmarks, *, quadratic: bool, with_rows: bool
) -> GramSample:
    """What the majoriser is made from: a sample of the rows, or all of them if they are few or must be exact.

    More rows save sweeps, up to 20 a landmark, and should take a small share of the time that all sweeps do: their
    cost grows with the square of the rank, that of the sweeps with rows times rank.
    """
    m, r = rows.n_rows, feature_map.rank
    n_sampled = _sample_size(m, r)
    enough = not quadratic and n_sampled <= _WORTH_A_PILOT * m
    if not with_rows and (solver.needs_exact_majoriser or (m * r**2 <= _EXACT_GRAM_COST and not enough)):
        return gram_of_all(rows, feature_map, features)
    return gram_sample(rows, feature_map, features, n_sampled, rng, landmarks)


def _sample_size(m: int, r: int) -> int:
    return max(int(np.clip(100 * m / r, 5 * r, 20 * r)), _LEAST_SAMPLE)


def _outcome(result: Result) -> dict[str, Any]:
    """What the solver reports, as numbers for one column and as arrays for several."""

    def per_column(array):
        return array[0] if len(result.objective) == 1 else array

    return {
        "objective_": per_column(result.objective),
        "stationarity_": per_column(result.stationarity),
        "n_sweeps_": per_column(result.n_sweeps),
        "n_iter_": len(result.history.objective),
        "history_": {
            "objective": [per_column(values) for values in result.history.objective],
            "stationarity": [per_column(values) for values in result.history.stationarity],
            "seconds": list(result.history.seconds),
        },
    }
