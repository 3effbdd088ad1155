"""The base class of the kernels: blocks of k(x, z), and the diagonal k(x, x) without the matrix."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import wraps
from types import FunctionType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from unisvm import compiled
from unisvm._checks import is_number, one_of
from unisvm.rows.mapped import StoredRows

#: maps rows X, and optionally an array `out` to write into, to k(X, Z)
Block = Callable[..., np.ndarray]


class Kernel(BaseEstimator):
    """Base class of the kernels."""

    #: whether a point is the index of a column of a given kernel matrix, rather than a row
    points_are_indices: bool = False
    #: whether columns of larger scale count for more
    compares_columns: bool = False
    #: whether k(x, z) = x·z, so that the columns of X are features of it
    is_linear: bool = False
    #: Whether a small share of the trace left out tells of a good approximation. It does not where k(x, x) grows with
    #: x: then a few large columns or rows have nearly all of the trace.
    is_judged_by_trace: bool = True
    #: whether `squared_gradients` is there
    has_gradients: bool = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__module__.partition(".")[0] == "unisvm":
            return
        # methods of the user's keep subnormal numbers, which our threads flush to 0
        for name in ("against", "diagonal", "diagonal_at", "gamma_of_scale", "squared_gradients"):
            if isinstance(method := vars(cls).get(name), FunctionType):
                setattr(cls, name, _keeping_subnormals(method))

    @property
    def is_psd(self) -> bool:
        """Whether the kernel matrix is positive semidefinite whatever the rows."""
        return True

    def max_rank(self, n_features: int) -> float:
        """The highest rank that a kernel matrix of rows with so many columns can have."""
        return np.inf

    def __call__(self, X, Z) -> np.ndarray:
        """k(X, Z), of shape (n_rows, n_points), in X's precision."""
        return self.against(as_rows(Z))(as_rows(X))

    @abstractmethod
    def against(self, Z) -> Block:
        """The function that maps a block of rows X to k(X, Z)."""

    @abstractmethod
    def diagonal(self, X) -> np.ndarray:
        """k(x, x) for each row of X, in double precision."""

    def diagonal_at(self, X, indices: np.ndarray) -> np.ndarray:
        """The diagonal for some rows of X."""
        return self.diagonal(X[indices])

    def squared_gradients(self, X, Z, dual: np.ndarray) -> np.ndarray:
        """Σ_c (∂f_c/∂x_j)² for each row and column of X, of shape (n_rows, n_features), in double precision.

        Parameters
        ----------
        X, Z : ndarray or CSR matrix
            Rows, and the points of the functions f_c(x) = Σ_b k(x, z_b) α_cb.
        dual : ndarray of shape (n_functions, n_points)
            α.
        """
        raise ValueError(f"{self!r} has no derivatives along the columns of X.")

    def resolve(self, n_features: int, variance: Callable[[], float]) -> Kernel:
        """A kernel whose gamma is a number. `variance` is called only if it is needed."""
        parameters = self.get_params(deep=False)
        if not is_number(parameters.get("coef0", 0.0)):
            raise ValueError(f"coef0 must be a finite number, got {parameters['coef0']!r}.")
        degree = parameters.get("degree", 1)
        if not (is_number(degree) and degree >= 1 and float(degree).is_integer()):
            raise ValueError(f"degree must be a positive whole number, got {degree!r}.")
        if "gamma" not in parameters:
            return self
        gamma = parameters["gamma"]
        if not isinstance(gamma, str):
            if not (is_number(gamma) and gamma > 0):
                raise ValueError(f"gamma must be a positive number, 'scale' or 'auto', got {gamma!r}.")
            return self
        if one_of("gamma", gamma, ("scale", "auto")) == "auto":
            number = 1.0 / n_features
        else:
            number = self.gamma_of_scale(n_features, variance())
        return type(self)(**{**parameters, "gamma": number})

    def gamma_of_scale(self, n_features: int, variance: float) -> float:
        """The gamma that "scale" stands for: it makes exponents of about 1, in whatever units X is."""
        return inverse(n_features * variance)


def _keeping_subnormals(method: FunctionType) -> Callable[..., Any]:
    """The method, which keeps subnormal numbers, as does the block that it returns."""

    @wraps(method)
    def keeping(*arguments: Any, **others: Any) -> Any:
        with compiled.keep_subnormals():
            result = method(*arguments, **others)
        return _UsersBlock(result) if callable(result) else result

    return keeping


class _UsersBlock:
    """A block of the user's, which keeps subnormal numbers."""

    def __init__(self, block: Block):
        self._block = block

    def __call__(self, X, out: np.ndarray | None = None) -> np.ndarray:
        with compiled.keep_subnormals():
            return self._block(X) if out is None else self._block(X, out=out)


def as_rows(X: Any) -> Any:
    """X as a floating array, or as a CSR matrix without duplicate entries, as norms and distances need it.

    Its arrays are native, as compiled code needs them; those that are so already are not copied. Rows in a file stay
    there; blocks that are read from it have these forms.
    """
    if isinstance(X, StoredRows):
        return X
    if not sparse.issparse(X):
        X = compiled.as_native(np.asarray(X))
        return X if np.issubdtype(X.dtype, np.floating) else X.astype(np.float64)
    X = X.tocsr() if np.issubdtype(X.dtype, np.floating) else X.tocsr().astype(np.float64)
    arrays = X.data, X.indices, X.indptr
    if any(compiled.as_native(array) is not array for array in arrays):
        X = type(X)(tuple(map(compiled.as_native, arrays)), shape=X.shape)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def inverse(number: float) -> float:
    """1/number, or 1 for rows that are all alike."""
    return 1.0 / number if number > 0 else 1.0


def decay(exponents: np.ndarray) -> np.ndarray:
    """e to the power of the exponents, which are at most 0 but for rounding, written over them."""
    if not compiled.decay(exponents):
        np.minimum(exponents, 0, out=exponents)
        np.exp(exponents, out=exponents)
    return exponents


def into(out: np.ndarray | None, result: np.ndarray) -> np.ndarray:
    """Put the result where it was asked for, if it is not there already."""
    if out is None or out is result:
        return result
    out[...] = result
    return out


def room(shape: tuple[int, int], dtype: np.dtype, out: np.ndarray | None) -> np.ndarray:
    """Where compiled code writes numbers of this precision: `out` itself, if it will do."""
    if out is not None and out.dtype == dtype and compiled.can_read(out):
        return out
    return np.empty(shape, dtype)
