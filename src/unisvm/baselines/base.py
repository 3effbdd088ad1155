"""The comparators' common part: checks, targets, the kernel matrix, and decisions from coefficients on the rows."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from unisvm._base import KernelEstimator
from unisvm._checks import check_number, is_integer
from unisvm._validation import check_kernel_matrix, check_weights, drop_zero_weights, is_precomputed
from unisvm._warnings import warn_caller
from unisvm.fitted_attributes import set_attributes
from unisvm.kernels import Kernel
from unisvm.memory_budget import check_room_for_kernel
from unisvm.nystrom.kernel_checks import check_positive_semidefinite
from unisvm.nystrom.landmarks import Landmarks
from unisvm.rows import MemoryRows
from unisvm.targets import Attributes

#: numbers that a comparator may take, which are positive, and those that may be 0
_POSITIVE, _NOT_NEGATIVE = ("C", "a", "tol"), ("epsilon",)


@dataclass(eq=False, repr=False, kw_only=True)
class KernelComparator(KernelEstimator):
    """An estimator with f(x) = Σ β_i k(x, x_i), whose β a subclass finds in `_coefficients` or `_solve`."""

    #: matrices of the size of the kernel that are needed besides it, as measured
    _further_matrices: ClassVar[int] = 1
    #: whether scikit-learn is to make numbers of y
    _y_numeric: ClassVar[bool] = False
    C: float = 1.0

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            For a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            Two kinds of labels for a classifier, numbers for a regressor.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as one given twice.

        Returns
        -------
        self : object
        """
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=self._y_numeric)
        weights = check_weights(sample_weight, X)
        precomputed = is_precomputed(self.kernel)
        if precomputed:
            check_kernel_matrix(X)
        X, present = drop_zero_weights(X, weights, precomputed=precomputed)
        targets, attributes = self._targets(y[present])
        rows = MemoryRows(X, targets[:, None], weights[present])
        kernel = self._requested_kernel().resolve(X.shape[1], rows.variance)
        chosen, coefficients, fitted = self._solve(rows, kernel, targets, weights[present])
        self.kernel_ = kernel
        self.support_ = present[chosen]
        self.landmark_vectors_ = self.support_ if precomputed else rows.take(chosen)
        self.dual_coef_ = coefficients[None]
        self.intercept_ = np.zeros(1)
        self.rank_ = len(chosen)
        set_attributes(self, attributes | fitted)
        return self

    @abstractmethod
    def _targets(self, y) -> tuple[np.ndarray, Attributes]:
        """±1 for labels, or real targets, and the fitted attributes that say what they mean."""

    def _solve(self, rows: MemoryRows, kernel: Kernel, targets, weights) -> tuple[np.ndarray, np.ndarray, Attributes]:
        """Store indices of the rows in the function, their coefficients, and further fitted attributes."""
        K = self._kernel_matrix(rows, kernel)
        coefficients, fitted = self._coefficients(K, targets, weights)
        # a kernel has at least one point, be it for f = 0
        chosen = np.flatnonzero(coefficients) if coefficients.any() else np.zeros(1, dtype=int)
        return chosen, coefficients[chosen], fitted

    @abstractmethod
    def _coefficients(self, K, y, weights) -> tuple[np.ndarray, Attributes]:
        """Coefficients of k(x, x_i) in f(x), and fitted attributes."""

    def _kernel_matrix(self, rows: MemoryRows, kernel: Kernel) -> np.ndarray:
        check_room_for_kernel(type(self).__name__, rows.n_rows, 1 + self._further_matrices)
        every = Landmarks.from_store(rows, kernel, np.arange(rows.n_rows))
        K = kernel.against(every.kernel_points)(every.vectors)
        if not kernel.is_psd:
            # unlike landmarks, the whole matrix is used as it is: with negative eigenvalues there is no minimum
            check_positive_semidefinite(K)
        return np.asarray(K)

    def _check_parameters(self) -> None:
        parameters = self.get_params(deep=False)
        for name in (*_POSITIVE, *_NOT_NEGATIVE):
            if name in parameters:
                check_number(name, parameters[name], 0, np.inf, closed=name in _NOT_NEGATIVE)
        for name in ("max_iter", "rank"):
            value = parameters.get(name, 1)
            if not (is_integer(value) and value >= 1):
                raise ValueError(f"{name} must be a positive integer, got {value!r}.")
        if "rank_tol" in parameters:
            check_number("rank_tol", parameters["rank_tol"], 0, 1, closed=True)
        self._requested_kernel()

    def _has_settled(self, objective: list[float]) -> bool:
        """Whether the objective, one value a step, falls no more than by the share `tol`, or `max_iter` is reached."""
        if len(objective) > 1 and objective[-2] - objective[-1] <= self.tol * objective[-2]:
            return True
        if len(objective) == self.max_iter:
            self._warn_unfinished("while the objective still fell")
            return True
        return False

    def _warn_unfinished(self, what: str) -> None:
        warn_caller(
            f"{type(self).__name__} stopped after max_iter={self.max_iter} steps {what}. Raise max_iter.",
            ConvergenceWarning,
        )


@dataclass(eq=False, repr=False, kw_only=True)
class BinaryKernelClassifier(ClassifierMixin, KernelComparator):
    """A classifier of two classes by the sign of f(x)."""

    def _targets(self, y):
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) != 2:
            self._refuse(classes)
        return np.where(y == classes[1], 1.0, -1.0), {"classes_": classes}

    def _refuse(self, classes: np.ndarray) -> None:
        if len(classes) == 1:
            raise ValueError(
                f"A classifier needs at least two classes, but y holds only one class, {classes.item(0)!r}. "
                "Check y, or the rows of positive weight."
            )
        raise ValueError(
            f"Only binary classification is supported by {type(self).__name__}, but y holds {len(classes)} classes. "
            "Wrap it in sklearn.multiclass.OneVsRestClassifier."
        )

    def decision_function(self, X):
        """f(x).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        decision : ndarray of shape (n_samples,)
        """
        return self._decision(X).ravel()

    def predict(self, X):
        """Predicted labels.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class KernelRegressor(RegressorMixin, KernelComparator):
    """A regressor of one target, in its own units, by f(x)."""

    _y_numeric = True

    def _targets(self, y):
        return np.asarray(y, dtype=np.float64), {}

    def predict(self, X):
        """Predicted targets, f(x).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._decision(X).ravel()
