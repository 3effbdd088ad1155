"""Squared derivatives of kernel expansions along the columns of X, by products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def fewest_functions(dual: np.ndarray) -> np.ndarray:
    """Coefficients of at most so many functions as there are points, whose squares have the same sums everywhere."""
    dual = np.asarray(dual, dtype=np.float64)
    return np.asarray(np.linalg.qr(dual, mode="r")) if len(dual) > dual.shape[1] else dual


def about_mean(X: Any, Z: Any) -> tuple[Any, Any]:
    """Rows and points from the mean of the points, in double precision; sparse ones stay where they are."""
    X, Z = X.astype(np.float64), Z.astype(np.float64)
    if sparse.issparse(X) or sparse.issparse(Z) or len(Z) == 0:
        return X, Z
    origin = Z.mean(axis=0)
    return X - origin, Z - origin


def weighted_points(factors: np.ndarray, Z: Any) -> np.ndarray:
    """Sums of points weighted by factors, of shape (n_rows, n_features), for factors of shape (n_rows, n_points)."""
    # the product of an array and a sparse matrix is that of their transposes
    return np.asarray((Z.T @ factors.T).T if sparse.issparse(Z) else factors @ Z)


def times_rows(factors: np.ndarray, X: Any) -> np.ndarray:
    """Rows of X, each multiplied by its factor, as a dense array."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(factors[:, None]).toarray())
    return np.asarray(X * factors[:, None])


def columns_of(X: Any) -> Any:
    """X in the order in memory from which single columns are taken fast."""
    return X.tocsc() if sparse.issparse(X) else np.asfortranarray(X)


def column(X: Any, index: int) -> np.ndarray:
    """A column of `columns_of`, as an array in double precision."""
    if not sparse.issparse(X):
        return np.asarray(X[:, index], dtype=np.float64)
    entries, part = np.zeros(X.shape[0]), slice(X.indptr[index], X.indptr[index + 1])
    entries[X.indices[part]] = X.data[part]
    return entries
