"""The estimators' common part: check the parameters, validate the data, call the engine, store the result."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from unisvm import kernels, solvers
from unisvm._checks import check_n_jobs, check_number, check_positive_integer, is_integer, is_number, one_of
from unisvm._validation import (
    check_rows,
    is_precomputed,
)
from unisvm._version import __version__
from unisvm.checkpoint import check_folder, fingerprint
from unisvm.engine import FitSettings
from unisvm.kernel_expansion import KernelExpansion, Postprocess, identity
from unisvm.kernels.base import as_rows
from unisvm.local.expansion import LocalExpansion
from unisvm.losses.base import CLASSIFICATION, Loss
from unisvm.losses.parameters import LossParameters
from unisvm.losses.registry import get_for
from unisvm.memory_budget import MemoryBudget
from unisvm.nystrom.landmarks import check_rule
from unisvm.parallel import count_threads
from unisvm.progress.callbacks import CallbackSupportMixin
from unisvm.relevance import check_relevance
from unisvm.scaling import SCALES
from unisvm.targets import TargetEncoder

# Parameters that another run may have otherwise and still resume: they change no more of a model than its rounding.
_FREE_PARAMETERS = ("memory_limit", "scratch_dir", "checkpoint", "n_jobs", "verbose")


class ParameterEstimator(BaseEstimator):
    """An estimator whose parameters are the fields of a dataclass."""

    def __dask_tokenize__(self):
        # by the fields alone, Dask would take models of other data with the same parameters for one
        from dask.base import normalize_token

        return normalize_token((type(self), vars(self)))


@dataclass(eq=False, repr=False, kw_only=True)
class KernelEstimator(ParameterEstimator):
    """An estimator whose decisions are f(x) = Σ k(x, b) α_b + intercept for each column."""

    kernel: Any = "rbf"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 0.0
    kernel_params: dict[str, Any] | None = None

    # `out` is nothing that meta-estimators should pass on
    __metadata_request__predict = {"out": UNUSED}

    def _requested_kernel(self) -> kernels.Kernel:
        """The kernel of the parameters, which are checked before the data are looked at."""
        kernel = kernels.get(
            self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, kernel_params=self.kernel_params
        )
        kernel.resolve(1, lambda: 1.0)
        return kernel

    def _expansion(self) -> KernelExpansion | LocalExpansion:
        """The fitted functions."""
        return KernelExpansion(self.kernel_, self.landmark_vectors_, self.dual_coef_, self.intercept_)

    def _decision(self, X, postprocess: Postprocess = identity, out: np.ndarray | None = None) -> np.ndarray:
        """Rows that `postprocess` makes of the decisions, in `out` if it is given."""
        check_is_fitted(self)
        return self._decision_of(check_rows(self, X), postprocess, out)

    def _decision_of(self, rows, postprocess: Postprocess = identity, out: np.ndarray | None = None) -> np.ndarray:
        """The same for rows that are checked."""
        rows, n_threads = as_rows(rows), count_threads(getattr(self, "n_jobs", None))
        with np.errstate(all="ignore"):
            return self._expansion()(rows, postprocess, out, n_threads)

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the columns of X, of shape (n_columns, n_features); only for a linear kernel."""
        check_is_fitted(self)
        if self.landmark_vectors_ is not None:
            raise AttributeError("coef_ is only there for kernel='linear' without landmarks of your own.")
        return self.dual_coef_

    def __sklearn_is_fitted__(self):
        return hasattr(self, "dual_coef_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class FitParameters(CallbackSupportMixin, ParameterEstimator):
    """Parameters that plain and searching estimators share; `UniSVMClassifier` describes them."""

    scale: str | None = None
    rank: int | None = 1000
    rank_tol: float = 1e-3
    landmarks: Any = "rpcholesky"
    indefinite: str = "flip"
    fit_intercept: bool | str = True
    cells: Any = None
    partitions: int = 1
    tol: float = 1e-4
    max_iter: int = 1000
    memory_limit: str | float | None = None
    scratch_dir: Any = None
    checkpoint: Any = None
    n_jobs: int | None = None
    verbose: int = 0
    random_state: Any = None


@dataclass(eq=False, repr=False, kw_only=True)
class BaseUniSVM(FitParameters, KernelEstimator, LossParameters):
    """Common part of the classifier and the regressor."""

    _task: ClassVar[str]
    C: float | str = "auto"
    relevance: Any = None
    solver: Any = "lbfgs"
    warm_start: bool = False

    @abstractmethod
    def _target_encoder(self, n_features: int) -> TargetEncoder:
        """Encoder of the targets of rows with so many features."""

    @abstractmethod
    def _validate(self, X, y, sample_weight) -> tuple[Any, np.ndarray, Any]:
        """X and y, checked, and the weights, which are not."""

    def _expansion(self) -> KernelExpansion | LocalExpansion:
        if not hasattr(self, "cells_"):
            return super()._expansion()
        return LocalExpansion(self.partitions_, [cell._expansion() for cell in self.cells_])

    @property
    def coef_(self) -> np.ndarray:
        """Coefficients of the columns of X, of shape (n_columns, n_features); only for a linear kernel."""
        if hasattr(self, "cells_"):
            raise AttributeError("Every cell has coefficients of its own: see cells_[k].coef_.")
        return super().coef_

    def __sklearn_is_fitted__(self):
        return hasattr(self, "cells_") or super().__sklearn_is_fitted__()

    def _trust(self, residuals: np.ndarray) -> np.ndarray:
        """1 − ψ(r)/sup ψ for a bounded loss, 1/(1 + ψ(r)) otherwise."""
        loss = requested_loss(self)
        value = loss.value(residuals)
        return np.clip(1 - value / loss.bound, 0, 1) if np.isfinite(loss.bound) else 1 / (1 + value)


# ------------------------------------------------------------------ parameters


def requested_loss(estimator: BaseUniSVM) -> Loss:
    """The loss of the parameters; raises when it is none, or not one for the estimator's task."""
    return get_for(estimator._task, estimator.loss, estimator.loss_params)


def read_settings(estimator: BaseUniSVM) -> FitSettings:
    """Settings of a fit; raises when a parameter is out of range, whatever the data."""
    task = estimator._task
    loss = requested_loss(estimator)
    C: Any = estimator.C
    from_data = isinstance(C, str) and C == "auto"
    if not from_data and not (is_number(C) and C > 0):
        raise ValueError(f"C must be a positive number, or 'auto' for one that suits the data; got {C!r}.")
    check_number("tol", estimator.tol, 0, np.inf)
    check_number("rank_tol", estimator.rank_tol, 0, 1, closed=True)
    rank = estimator.rank
    if rank is not None and not (is_integer(rank) and rank >= 1):
        raise ValueError(f"rank must be a positive integer, or None for the full kernel; got {rank!r}.")
    check_positive_integer("max_iter", estimator.max_iter)
    if estimator.scale is not None:
        one_of("scale", estimator.scale, SCALES)
        if is_precomputed(estimator.kernel):
            raise ValueError(
                "scale is for the columns of X; the rows of a precomputed kernel matrix have none: use None."
            )
    kernel, solver = estimator._requested_kernel(), solvers.get(estimator.solver)
    memory = MemoryBudget.parse(estimator.memory_limit)
    if estimator.scratch_dir is not None and not Path(estimator.scratch_dir).is_dir():
        raise ValueError(f"scratch_dir must be a folder that is there, got {estimator.scratch_dir!r}.")
    check_folder(estimator.checkpoint)
    check_rule(estimator.landmarks)
    check_cells(estimator.cells)
    check_positive_integer("partitions", estimator.partitions)
    one_of("indefinite", estimator.indefinite, ("flip", "clip", "krein", "raise"))
    if not isinstance(estimator.fit_intercept, bool | np.bool_) and estimator.fit_intercept != "penalised":
        raise ValueError(f"fit_intercept must be True, False or 'penalised', got {estimator.fit_intercept!r}.")
    if task == CLASSIFICATION:
        one_of("multi_class", estimator.multi_class, ("auto", "ovo", "ovr"))
    if not isinstance(estimator.verbose, Integral):
        raise ValueError(f"verbose must be an integer, got {estimator.verbose!r}.")
    check_n_jobs(estimator.n_jobs)
    as_given = ("scale", "rank", "rank_tol", "landmarks", "indefinite", "tol", "max_iter")
    is_penalised = isinstance(estimator.fit_intercept, str)
    return FitSettings(
        task == CLASSIFICATION,
        loss,
        None if from_data else C,
        kernel,
        solver=solver,
        memory=memory,
        fit_intercept=bool(estimator.fit_intercept) and not is_penalised,
        penalised_intercept=is_penalised,
        relevance=check_relevance(estimator.relevance, kernel),
        **{name: getattr(estimator, name) for name in as_given},
    )


def check_cells(cells: Any) -> None:
    """Raise when `cells` is neither None, "auto" nor a number of rows."""
    if cells is None or (isinstance(cells, str) and cells == "auto") or (is_integer(cells) and cells >= 1):
        return
    raise ValueError(f"cells must be None, 'auto' or the most rows of a cell, a positive integer; got {cells!r}.")


def target_encoder(estimator: BaseUniSVM, n_features: int) -> TargetEncoder:
    """Encoder of the targets of rows with so many features."""
    return estimator._target_encoder(n_features)


def validate(estimator: BaseUniSVM, X, y, sample_weight) -> tuple[Any, np.ndarray, Any]:
    """X and y as an estimator takes them, checked, and the weights, which are not."""
    return estimator._validate(X, y, sample_weight)


def describe_estimator(estimator: BaseEstimator, **others) -> dict[str, str]:
    """Descriptions of an estimator's class and parameters for a checkpoint; `others` replace parameters."""
    parameters = estimator.get_params(deep=False) | others
    if parameters["random_state"] is np.random:
        parameters["random_state"] = None
    kind = {"the estimator": type(estimator), "unisvm's version": __version__}
    return fingerprint.describe_parameters(
        kind | {name: value for name, value in parameters.items() if name not in _FREE_PARAMETERS}
    )
