"""The common part of the sparse machines: check the parameters, walk the path, choose, store."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from unisvm._base import ParameterEstimator
from unisvm._checks import check_n_jobs, check_number, check_positive_integer, is_integer, is_number, one_of
from unisvm._validation import (
    check_rows,
    check_rows_and_targets,
    check_weights,
    drop_zero_weights,
    unchanged_on_failure,
)
from unisvm._warnings import warn_caller
from unisvm.distributed.collections import refuse_collections
from unisvm.feature_selection.choice import RULES, SelectionPath, choose, warn_of_choice
from unisvm.feature_selection.path import Columns, SelectionProblem, falling_strengths
from unisvm.feature_selection.penalties import PENALTIES, Penalty
from unisvm.fitted_attributes import set_attributes
from unisvm.io import files
from unisvm.kernel_expansion import KernelExpansion
from unisvm.kernels import Linear
from unisvm.kernels.base import as_rows
from unisvm.losses.base import CLASSIFICATION, Loss
from unisvm.losses.parameters import LossParameters
from unisvm.losses.registry import get_for
from unisvm.model_selection.splits import read_splits
from unisvm.parallel import blas_threads, count_threads
from unisvm.rows import MemoryRows
from unisvm.rows.distinct import distinct_rows
from unisvm.rows.mapped import take_rows
from unisvm.targets import Attributes, TargetEncoder, TargetUnits, TrainingTargets

# The widths that "auto" compares: weights of standardised columns are used from about 0.02, 0.04, 0.07 and 0.12 on.
# Narrow ones are needed where rows are many (a9a) or columns (200 rows of 500); wide ones give the truest supports
# elsewhere (docs/feature_selection.md).
_WIDTHS = (0.001, 0.003, 0.01, 0.03)
_N_SPLITS = 5


class SelectionSettings(NamedTuple):
    """Checked parameters of a fit.

    Attributes
    ----------
    loss : Loss
    penalties : list of Penalty
        One for each width.
    alpha : float or None
        None when it is chosen along the path.
    alphas : ndarray or None
        Falling.
    """

    loss: Loss
    penalties: list[Penalty]
    alpha: float | None
    alphas: np.ndarray | None


class Certificate(NamedTuple):
    """Objective and stationarity of the fit of each candidate, of shape (n_candidates, n_columns)."""

    objective: np.ndarray
    stationarity: np.ndarray


@dataclass(eq=False, repr=False, kw_only=True)
class BaseSparseUniSVM(SelectorMixin, ParameterEstimator, LossParameters):
    """Common part of the classifier and the regressor."""

    _task: ClassVar[str]
    C: float = 1.0
    penalty: str = "exponential"
    width: float | str = "auto"
    alpha: float | str = "auto"
    n_alphas: int = 25
    alphas: Any = None
    cv: Any = None
    rule: str = "best"
    fit_intercept: bool = True
    tol: float = 1e-4
    max_iter: int = 1000
    n_jobs: int | None = None
    random_state: Any = None

    @abstractmethod
    def _check_targets(self, y) -> np.ndarray:
        """y, checked."""

    @abstractmethod
    def _target_encoder(self) -> TargetEncoder:
        """Encoder of the targets."""

    @abstractmethod
    def _splitter(self, y: np.ndarray, weights: np.ndarray, rng: np.random.RandomState) -> Any:
        """What splits the rows when `cv` is a number or None."""

    def _fit(self, X, y, sample_weight) -> BaseSparseUniSVM:
        """The estimator, fitted. If the fit fails, it is as before."""
        settings = read_settings(self)
        refuse_collections(X, "this estimator does not take")
        if files.is_path(X):
            raise TypeError(f"{type(self).__name__} needs rows in memory: load {X!r} as an array or CSR matrix first.")
        with unchanged_on_failure(self), np.errstate(all="ignore"):
            X, y, sample_weight = check_rows_and_targets(
                self, X, y, sample_weight, y_numeric=self._task != CLASSIFICATION
            )
            X, y = as_rows(X), self._check_targets(y)
            rng, n_threads = check_random_state(self.random_state), count_threads(self.n_jobs)
            targets, attributes = self._target_encoder().encode(y, check_weights(sample_weight, X), X.dtype)
            splits = self._splits(settings, X, y, targets.weights, rng)
            with blas_threads(n_threads):
                problem, tests = _problem(self, settings, X, targets, splits, rng)
                path, certificate = _walk_path(problem, settings, self.n_alphas, tests, targets.units)
        chosen = choose(path, self.rule)
        public = {name: value for name, value in attributes.items() if not name.startswith("_")}
        set_attributes(self, public | _fitted_attributes(path, chosen, certificate, problem.n_iter))
        _warn_unless_converged(self, problem)
        warn_of_choice(path, chosen, int(problem.varies.sum()))
        return self

    def _splits(self, settings: SelectionSettings, X, y, weights, rng) -> list[tuple[np.ndarray, np.ndarray]]:
        """Row indices that each split trains and scores on; none where there is nothing to choose."""
        if settings.alpha is not None and len(settings.penalties) == 1:
            return []
        cv = self.cv
        if cv is None or is_integer(cv):
            cv = self._splitter(y, weights, rng)
        return read_splits(check_cv(cv, y, classifier=self._task == CLASSIFICATION).split(X, y), weights)

    def _decision(self, X) -> np.ndarray:
        """f(x) of each row and column."""
        check_is_fitted(self)
        expansion = KernelExpansion(Linear(), None, self.coef_, self.intercept_)
        return expansion(as_rows(check_rows(self, X)), n_threads=count_threads(self.n_jobs))

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_is_fitted__(self):
        return hasattr(self, "coef_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def n_splits_of(cv: int | None, most: int) -> int:
    """Number of splits: as asked for, or five if there are rows for so many."""
    return max(min(_N_SPLITS, most), 2) if cv is None else cv


# ------------------------------------------------------------------ parameters


def read_settings(estimator: BaseSparseUniSVM) -> SelectionSettings:
    """Settings of a fit; raises when a parameter is out of range, whatever the data."""
    loss = get_for(estimator._task, estimator.loss, estimator.loss_params)
    one_of("penalty", estimator.penalty, PENALTIES)
    one_of("rule", estimator.rule, RULES)
    check_number("C", estimator.C, 0, np.inf)
    check_number("tol", estimator.tol, 0, np.inf)
    for name in ("n_alphas", "max_iter"):
        check_positive_integer(name, getattr(estimator, name))
    cv = estimator.cv
    if (is_integer(cv) and cv < 2) or isinstance(cv, str | bool | float):
        raise ValueError(f"cv must be a number of splits from 2 on, a splitter, or splits; got {cv!r}.")
    check_n_jobs(estimator.n_jobs)
    if not isinstance(estimator.fit_intercept, bool | np.bool_):
        raise ValueError(f"fit_intercept must be True or False, got {estimator.fit_intercept!r}.")
    width, alpha = _number_or_auto("width", estimator.width), _number_or_auto("alpha", estimator.alpha)
    widths = _WIDTHS if width is None else (width,)
    return SelectionSettings(
        loss, [PENALTIES[estimator.penalty](each) for each in widths], alpha, _read_alphas(estimator.alphas)
    )


def _number_or_auto(name: str, value: Any) -> float | None:
    if isinstance(value, str) and value == "auto":
        return None
    if not (is_number(value) and value > 0):
        raise ValueError(f"{name} must be a positive number, or 'auto' for one that suits the data; got {value!r}.")
    return float(value)


def _read_alphas(alphas: Any) -> np.ndarray | None:
    if alphas is None:
        return None
    values = np.asarray(alphas)
    if values.dtype.kind not in "iuf" or values.ndim != 1 or not len(values) or not (values > 0).all():
        raise ValueError(f"alphas must be positive numbers, or None for a range that suits the data; got {alphas!r}.")
    if not np.isfinite(values).all():
        raise ValueError(f"alphas must be finite, got {alphas!r}.")
    return np.unique(values.astype(np.float64))[::-1]


# ------------------------------------------------------------------ fit


def _problem(
    estimator: BaseSparseUniSVM,
    settings: SelectionSettings,
    X: Any,
    targets: TrainingTargets,
    splits: list[tuple[np.ndarray, np.ndarray]],
    rng: np.random.RandomState,
) -> tuple[SelectionProblem, list[np.ndarray]]:
    """All rows and the splits as columns of one problem, and store indices of the rows that each split leaves out.

    Rows that are the same in X, target and splits become one with the sum of their weights, and stand in an order of
    their own, so that copies and weights, and rows in any order, make one problem to the last bit.
    """
    kept, present = drop_zero_weights(X, targets.weights, precomputed=False)
    weights, n_outputs = targets.weights[present], targets.values.shape[1]
    n_given = len(targets.weights)
    counts = [np.bincount(train, minlength=n_given)[present] for train, _ in splits]
    left_out = [np.isin(present, test) for _, test in splits]
    parts = np.stack([np.ones(len(present)), *(count > 0 for count in counts), *left_out], axis=1)
    first, group = distinct_rows(kept, targets.values[present], parts)
    of_splits = np.stack([np.bincount(group, count * weights) for count in [np.ones(len(present)), *counts]], axis=1)
    weights = of_splits[:, 0]
    stored = np.asfortranarray(np.concatenate([targets.values[present[first]], of_splits], axis=1), dtype=X.dtype)
    # rows that the same splits leave out follow each other
    order = np.lexsort(np.packbits(of_splits > 0, axis=1).T[::-1])
    n_threads = count_threads(estimator.n_jobs)
    rows = MemoryRows(take_rows(kept, first), stored, weights, n_threads, order, None, present[first], given=X)
    totals = of_splits.sum(axis=0, dtype=np.float64)
    columns = Columns(settings.loss, 1 / (2 * estimator.C * totals), totals, n_outputs, targets.units.median)
    problem = SelectionProblem(
        rows,
        columns,
        is_margin=estimator._task == CLASSIFICATION,
        intercept=bool(estimator.fit_intercept),
        rng=rng,
        tol=estimator.tol,
        max_iter=estimator.max_iter,
    )
    return problem, [np.unique(group[each]) for each in left_out]


def _walk_path(
    problem: SelectionProblem,
    settings: SelectionSettings,
    n_alphas: int,
    tests: list[np.ndarray],
    units: TargetUnits,
) -> tuple[SelectionPath, Certificate]:
    """Candidates of all widths, in the units of y, and how their fits ended."""
    dense, slope = problem.dense_solution(), problem.steepest_slope()
    strengths = [
        settings.alphas
        if settings.alpha is None and settings.alphas is not None
        else falling_strengths(slope, penalty, n_alphas, settings.alpha)
        for penalty in settings.penalties
    ]
    paths, certificates = [], []
    all_solutions = problem.solve(settings.penalties, np.array(strengths), dense)
    for penalty, solutions in zip(settings.penalties, all_solutions, strict=True):
        if settings.alpha is not None:
            # the others were steps on the way
            solutions = solutions.last()
        supports = problem.supports(solutions, penalty)
        refits = problem.refit(supports, solutions.weights)
        n, n_outputs = len(solutions.strengths), units.n_columns
        of_all = refits.dual[:, :, 0].transpose(1, 0, 2).reshape(-1, n * n_outputs)
        centre = problem.basis.centre.astype(np.float64)
        tiled = units._replace(offset=np.tile(units.offset, n), scale=np.tile(units.scale, n))
        about_zero = (refits.intercept[:, 0].ravel() - centre @ of_all).astype(of_all.dtype)
        coef, intercept = tiled.restore(of_all, about_zero)
        paths.append(
            SelectionPath(
                np.full(n, penalty.width),
                solutions.strengths,
                supports[:, :, 0],
                coef.reshape(-1, n, n_outputs).transpose(1, 2, 0),
                intercept.reshape(n, n_outputs),
                solutions.objective[:, :n_outputs],
                problem.held_out_losses(refits, tests),
            )
        )
        certificates.append(Certificate(refits.objective[:, 0], refits.stationarity[:, 0]))
    joined = SelectionPath(*map(np.concatenate, zip(*paths, strict=True)))
    return joined, Certificate(*map(np.concatenate, zip(*certificates, strict=True)))


def _fitted_attributes(path: SelectionPath, chosen: int, certificate: Certificate, n_iter: int) -> Attributes:
    """Attributes of the chosen candidate: numbers for one column and arrays for several."""

    def per_column(array: np.ndarray) -> Any:
        return float(array[0]) if len(array) == 1 else array

    return {
        "coef_": np.ascontiguousarray(path.coef[chosen]),
        "intercept_": path.intercept[chosen],
        "support_": path.support[chosen],
        "alpha_": float(path.alpha[chosen]),
        "width_": float(path.width[chosen]),
        "objective_": per_column(certificate.objective[chosen]),
        "stationarity_": per_column(certificate.stationarity[chosen]),
        "n_iter_": n_iter,
        "path_": path,
    }


def _warn_unless_converged(estimator: BaseSparseUniSVM, problem: SelectionProblem) -> None:
    if problem.n_unfinished:
        warn_caller(
            f"{problem.n_unfinished} fits of the path stopped after max_iter={estimator.max_iter} iterations. Raise "
            "max_iter, or raise tol, or lower C.",
            ConvergenceWarning,
        )
