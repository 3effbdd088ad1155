"""‖x − z‖₁ between blocks of rows and the same points."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist


class Manhattan:
    """Distances to points, in double precision.

    Where the points have one of two values, as in dummies of categories, |x − z| is |x − low| and what the step to high
    adds: a product, which takes a fifth of the time.

    Parameters
    ----------
    Z : ndarray of shape (n_points, n_features)
    """

    def __init__(self, Z: np.ndarray):
        Z = Z.astype(np.float64)
        low, high = Z.min(axis=0), Z.max(axis=0)
        self._two = ((low == Z) | (high == Z)).all(axis=0)
        self._low, self._high = low[self._two], high[self._two]
        self._is_high = (Z[:, self._two] > self._low).T.astype(np.float64)
        self._others = Z[:, ~self._two]

    @property
    def have_two_values(self) -> bool:
        """Whether the points have no more than two values in every column."""
        return bool(self._two.all())

    def of_dense(self, X: np.ndarray) -> np.ndarray:
        """The distances of rows, of shape (n_rows, n_points)."""
        X = X.astype(np.float64)
        if not self._two.any():
            return cdist(X, self._others, "cityblock")
        from_low, step = self._parts(X[:, self._two], slice(None))
        distances = np.dot(step, self._is_high)
        distances += from_low.sum(axis=1)[:, None]
        if not self.have_two_values:
            distances += cdist(X[:, ~self._two], self._others, "cityblock")
        return np.maximum(distances, 0, out=distances)

    def of_sparse(self, X) -> np.ndarray:
        """The distances of rows that are a CSR matrix, to points that have two values in every column."""
        # what the entries that are stored change in the distances of a row of zeros
        from_low, step = self._parts(X.data.astype(np.float64), X.indices)
        low_of_zero, step_of_zero = self._parts(np.zeros(X.shape[1]), slice(None))
        from_low -= low_of_zero[X.indices]
        step -= step_of_zero[X.indices]
        changes = sparse.csr_array((step, X.indices, X.indptr), shape=X.shape)
        of_rows = sparse.csr_array((from_low, X.indices, X.indptr), shape=X.shape).sum(axis=1)
        distances = changes @ self._is_high
        distances += low_of_zero.sum() + step_of_zero @ self._is_high
        distances += np.asarray(of_rows).reshape(-1, 1)
        return np.maximum(distances, 0, out=distances)

    def _parts(self, X: np.ndarray, columns) -> tuple[np.ndarray, np.ndarray]:
        """How far entries of X are from the low value of their columns, and how much further from the high one."""
        from_low = np.abs(X - self._low[columns])
        return from_low, np.abs(X - self._high[columns]) - from_low
