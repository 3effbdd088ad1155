"""What the estimators share: parameters, their checks, and the way from rows to a fitted function."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from unisvm import checkpoint, fingerprint, kernels, landmarks, losses, solvers
from unisvm._checks import check_number, is_integer, one_of
from unisvm._kernel_estimator import KernelEstimator
from unisvm._prepared import Landmarks, Prepared, bytes_of_moments, second_moments, worth_a_pilot
from unisvm._report import Report
from unisvm.checkpoint import Arrays, Stages
from unisvm.features import FeatureMap, GramSample
from unisvm.kernels.base import as_rows
from unisvm.majoriser import Majoriser
from unisvm.objective import Objective
from unisvm.rows import MemoryRows
from unisvm.rows.budget import parse_memory, readable
from unisvm.rows.stored import only
from unisvm.rows.threads import blas_threads, count_threads, one_if_small
from unisvm.solvers import History, Result, StopReason
from unisvm.solvers.pilot import explore
from unisvm.solvers.result import Start

# Parameters that another run may have otherwise and still go on: they change no more of a model than its rounding.
_FREE = ("memory_limit", "scratch_dir", "checkpoint", "n_jobs", "verbose")


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


class BaseUniSVM(KernelEstimator):
    """Common part of the classifier and the regressor."""

    _task: str

    @abstractmethod
    def _specify(
        self, y: np.ndarray, weights: np.ndarray, dtype: np.dtype, known: dict[str, Any] | None = None
    ) -> tuple[Problem, dict[str, Any]]: ...

    @abstractmethod
    def _specify_blocks(self, blocks) -> tuple[Any, dict[str, Any]]: ...

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
        checkpoint.check_folder(self.checkpoint)
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
        every_row = X = as_rows(X)
        if len(present) < len(weights):
            X = X[present][:, present] if self._is_precomputed() else only(X, present)
            targets, weights = targets[present], weights[present]
        targets = np.ascontiguousarray(targets, dtype=X.dtype)
        rows = MemoryRows(
            X, targets, weights, count_threads(self.n_jobs), scratch_dir=self.scratch_dir, present=present
        )

        def data() -> dict[str, str]:
            return {
                "X": fingerprint.describe(every_row, rows.n_threads),
                "y": fingerprint.describe_together((problem.targets, problem.centre, problem.scale), rows.n_threads),
                "the weights": fingerprint.describe(problem.weights, rows.n_threads),
            }

        return self._fit_rows(rows, problem, data, every_row, warm=warm)

    def _fit_rows(
        self, rows, problem: Problem, data: Callable[[], dict[str, str]], every_row=None, *, warm: bool
    ) -> tuple[dict[str, Any], Result]:
        """As `_fit_columns`, for a store of the rows that count; `every_row` holds the others too, if it is at hand.

        `data` describes rows, targets and weights, for a checkpoint to know them by.
        """
        report = Report(self.verbose)
        penalty = 1 / (2 * self.C * rows.total_weight)
        solver = solvers.get(self.solver)
        loss = losses.get(self.loss)

        def identity() -> dict[str, str]:
            return self._identity(data(), warm)

        with checkpoint.opened(self.checkpoint, identity, self.random_state) as saved, blas_threads(rows.n_threads):
            ended = saved.load("result")
            if saved.known:
                report.say(f"goes on from the checkpoint after: {', '.join(saved.known)}")
            if ended is not None:
                return self._finished(ended, rows, every_row, saved)
            prepared = self._prepare(
                rows, every_row, solver, saved.rng, report, quadratic=loss.is_quadratic, saved=saved
            )
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
                known = saved.load("start")
                if known is not None:
                    start = _start_of(known, loss.A)
                else:
                    start = Start(self._present_function(objective, prepared, problem) if warm else None)
                    small = sample.rows is not None and worth_a_pilot(sample.rows.n_rows, rows.n_rows)
                    if small and not loss.is_quadratic:
                        start = explore(objective, majoriser, sample, start)
                    saved.save("start", sample.state() | _arrays_of(start))
                # its features are not needed any more
                prepared = prepared._replace(sample=sample.without_rows())
                del sample, known
            with report.stage("solver"):
                result = solver.solve(
                    objective,
                    majoriser,
                    start=start._replace(state=saved.load("solver")),
                    tol=self.tol,
                    max_iter=self.max_iter,
                    history=History(callback=report.iteration, keep=partial(saved.save_at_times, "solver")),
                )
            dual, intercept = in_units_of_y(*objective.to_dual(result.weights), problem)
            saved.save("result", result.state() | prepared.state() | {"dual": dual, "intercept": intercept})
            saved.drop("landmarks", "start", "solver")
        fitted = prepared.model(dual, intercept) | _outcome(result)
        report.certificate(fitted)
        return fitted, result

    def _prepare(
        self,
        rows,
        every_row,
        solver,
        rng,
        report: Report,
        *,
        quadratic=False,
        with_rows=False,
        beside=0,
        saved: Stages | None = None,
    ) -> Prepared:
        """Landmarks, features and moments of the rows in the store, which are some of `every_row`.

        Parameters
        ----------
        quadratic : bool
            Whether the moments are all that the solver needs, so that more of them are worth having.
        with_rows : bool
            Whether the moments must know the rows that they are made from.
        beside : int
            Bytes that are needed beside the features.
        saved : Stages, optional
            Stages that an earlier run may have finished.
        """
        saved = Stages(rng) if saved is None else saved
        with report.stage("landmarks"):
            known = saved.load("landmarks")
            kernel, chosen = self._kernel_and_landmarks(rows, every_row, rng, known)
            room = self._room_for_features(rows, chosen.vectors.shape[0], solver, beside)
            if known is not None:
                feature_map = FeatureMap.from_factor(kernel, chosen.points, known["kept"], known["factor"])
            else:
                vectors = chosen.vectors.astype(np.float64)
                # NumPy's threads would spin on into the factorisation
                with one_if_small(vectors.shape[0] ** 2 * vectors.shape[1]):
                    matrix = kernel.against(chosen.points)(vectors)
                feature_map = FeatureMap(kernel, chosen.points, matrix, rows.dtype)
                stored = {} if chosen.stored is None else {"stored": chosen.stored}
                saved.save("landmarks", stored | {"kept": feature_map.kept, "factor": feature_map.factor})
            del known
        with report.stage("features"):
            features = rows.build(feature_map.block, feature_map.rank, room)
        n_bytes = rows.n_rows * feature_map.rank * rows.dtype.itemsize
        report.say(f"  {readable(n_bytes)} {rows.whereabouts(features)}")
        with report.stage("moments"):
            moments = saved.load("start")
            if moments is not None:
                return Prepared(kernel, chosen, feature_map, features, GramSample.from_state(moments))
            numbers = None if chosen.stored is None else chosen.stored[feature_map.kept]
            sample = second_moments(
                rows, feature_map, features, solver, rng, numbers, quadratic=quadratic, with_rows=with_rows
            )
        return Prepared(kernel, chosen, feature_map, features, sample)

    def _kernel_and_landmarks(self, rows, every_row, rng, known: Arrays | None) -> tuple[kernels.Kernel, Landmarks]:
        """The kernel with its gamma as a number, and the landmarks; `known` is what a checkpoint tells of them."""
        kernel = self._requested_kernel().resolve(rows.n_features, rows.variance)
        stored = None if known is None else known.get("stored")
        if not isinstance(self.landmarks, str):
            return kernel, Landmarks.given(self.landmarks, rows, kernel, every_row)
        if stored is None:
            rank = rows.n_rows if self.rank is None else self.rank
            stored = landmarks.choose(self.landmarks, rows, kernel, rank, self.rank_tol, rng)
        return kernel, Landmarks.of_store(rows, kernel, rows.numbers(stored), stored)

    # ------------------------------------------------------------------ checkpoints

    def _identity(self, data: dict[str, str], warm: bool) -> dict[str, str]:
        """What a checkpoint must have been made of for this fit to go on from it."""
        present = (self.dual_coef_, self.intercept_, self.landmark_vectors_, self.kernel_) if warm else ()
        start = {"the function that it starts from": fingerprint.describe_together(present)}
        return describe_estimator(self) | data | start

    def _finished(self, ended: Arrays, rows, every_row, saved: Stages) -> tuple[dict[str, Any], Result]:
        """The model of a fit that had ended."""
        saved.drop("landmarks", "start", "solver")
        kernel, chosen = self._kernel_and_landmarks(rows, every_row, saved.rng, ended)
        feature_map = FeatureMap.from_factor(kernel, chosen.points, ended["kept"], np.empty((0, 0)))
        sample = GramSample(np.empty(0), np.empty((0, 0)), float(ended["trace_error"]))
        prepared = Prepared(kernel, chosen, feature_map, None, sample)
        result = Result.from_state(ended)
        return prepared.model(ended["dual"], ended["intercept"]) | _outcome(result), result

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

    def _room_for_features(self, rows, rank: int, solver, beside: int) -> float:
        """Bytes that the features may take in memory. Raises when the rest does not fit into the limit."""
        limit = parse_memory(self.memory_limit)
        if limit is None:
            return np.inf
        size = rows.dtype.itemsize
        needed = beside + bytes_of_moments(rows, rank)
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

    def _can_start_warm(self, n_features: int, n_columns: int, own: dict[str, Any]) -> bool:
        """Whether the present function can be the start of a fit with so many columns, and means the same."""
        if not (self.warm_start and hasattr(self, "dual_coef_")) or self._is_precomputed():
            return False
        points = self.landmark_vectors_
        is_alike = points.ndim == 2 and points.shape[1] == n_features and len(self.dual_coef_) == n_columns
        return is_alike and np.array_equal(own.get("classes_", []), getattr(self, "classes_", []))

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


def describe_estimator(estimator: BaseEstimator, **others) -> dict[str, str]:
    """What a checkpoint knows an estimator by: its kind and parameters, `others` in place of those of their names."""
    from unisvm import __version__

    parameters = estimator.get_params(deep=False) | others
    if parameters["random_state"] is np.random:
        parameters["random_state"] = None
    kind = {"the estimator": type(estimator), "unisvm's version": __version__}
    return fingerprint.describe_parameters(
        kind | {name: value for name, value in parameters.items() if name not in _FREE}
    )


def in_units_of_y(dual: np.ndarray, intercept: np.ndarray, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and intercepts of functions of the problem, in the units of y."""
    return (dual * problem.scale).astype(dual.dtype), (intercept * problem.scale + problem.centre).astype(dual.dtype)


def _arrays_of(start: Start) -> Arrays:
    """A start as arrays, without what it leaves to the solver."""
    arrays = {"n_sweeps": np.array(start.n_sweeps)}
    if start.weights is not None:
        arrays["weights"] = start.weights
    if isinstance(start.coordinates, Majoriser):
        arrays["coordinates"] = start.coordinates.factor
    return arrays


def _start_of(arrays: Arrays, A: float) -> Start:
    """What `_arrays_of` told of."""
    factor = arrays.get("coordinates")
    coordinates = None if factor is None else Majoriser.from_factor(factor, A)
    return Start(arrays.get("weights"), coordinates, int(arrays["n_sweeps"]))


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
