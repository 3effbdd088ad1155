"""The comparators' common part: checks, labels, the kernel matrix, and decisions from coefficients on the rows."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from unisvm._base import KernelEstimator, set_attributes
from unisvm._checks import check_number, is_integer
from unisvm._validation import check_kernel_matrix, check_weights, drop_zero_weights, is_precomputed
from unisvm.kernels import Kernel
from unisvm.memory_budget import check_room_for_kernel
from unisvm.nystrom.kernel_checks import check_positive_semidefinite
from unisvm.nystrom.landmarks import Landmarks
from unisvm.rows import MemoryRows

#: lowest and highest value of each number that a comparator takes, both excluded
_RANGES: dict[str, tuple[float, float]] = {"C": (0, np.inf), "a": (0, np.inf), "tol": (0, np.inf)}


@dataclass(eq=False, repr=False, kw_only=True)
class BinaryKernelClassifier(ClassifierMixin, KernelEstimator):
    """A classifier of two classes, f(x) = Σ α_i y_i k(x, x_i), that a subclass finds in `_coefficients`."""

    #: matrices of the size of the kernel that the solver needs besides it
    _further_matrices: ClassVar[int] = 1
    C: float = 1.0

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            For a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            Two kinds of labels.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as one given twice.

        Returns
        -------
        self : object
        """
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        weights = check_weights(sample_weight, X)
        precomputed = is_precomputed(self.kernel)
        if precomputed:
            check_kernel_matrix(X)
        X, present = drop_zero_weights(X, weights, precomputed=precomputed)
        classes = np.unique(y[present])
        if len(classes) != 2:
            self._refuse(classes)
        signs = np.where(y[present] == classes[1], 1.0, -1.0)
        rows = MemoryRows(X, signs[:, None], weights[present])
        kernel = self._requested_kernel().resolve(X.shape[1], rows.variance)
        chosen, coefficients, fitted = self._solve(rows, kernel, signs, weights[present])
        self.classes_ = classes
        self.kernel_ = kernel
        self.support_ = present[chosen]
        self.landmark_vectors_ = self.support_ if precomputed else rows.take(chosen)
        self.dual_coef_ = coefficients[None]
        self.intercept_ = np.zeros(1)
        self.rank_ = len(chosen)
        set_attributes(self, fitted)
        return self

    def _solve(self, rows: MemoryRows, kernel: Kernel, signs, weights) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """Store indices of the rows in the function, their coefficients, and further fitted attributes."""
        K = self._kernel_matrix(rows, kernel)
        coefficients, fitted = self._coefficients(K, signs, weights)
        chosen = np.flatnonzero(coefficients)
        return chosen, coefficients[chosen], fitted

    @abstractmethod
    def _coefficients(self, K, y, weights) -> tuple[np.ndarray, dict[str, Any]]:
        """Coefficients of k(x, x_i) in f(x), and fitted attributes."""

    def _kernel_matrix(self, rows: MemoryRows, kernel: Kernel) -> np.ndarray:
        check_room_for_kernel(type(self).__name__, rows.n_rows, 1 + self._further_matrices)
        every = Landmarks.from_store(rows, kernel, np.arange(rows.n_rows))
        K = kernel.against(every.kernel_points)(every.vectors)
        if not kernel.is_psd:
            check_positive_semidefinite(K, refuse=kernel.refuses_indefinite)
        return np.asarray(K)

    def _check_parameters(self) -> None:
        parameters = self.get_params(deep=False)
        for name, (low, high) in _RANGES.items():
            if name in parameters:
                check_number(name, parameters[name], low, high)
        for name in ("max_iter", "rank"):
            value = parameters.get(name, 1)
            if not (is_integer(value) and value >= 1):
                raise ValueError(f"{name} must be a positive integer, got {value!r}.")
        if "rank_tol" in parameters:
            check_number("rank_tol", parameters["rank_tol"], 0, 1, closed=True)
        self._requested_kernel()

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

    def _warn_unfinished(self, what: str) -> None:
        warnings.warn(
            f"{type(self).__name__} stopped after max_iter={self.max_iter} steps {what}. Raise max_iter.",
            ConvergenceWarning,
            stacklevel=4,
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
