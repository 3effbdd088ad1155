"""The columns of X as the features of a linear kernel: f(x) = x·w + b, with ‖f‖² = ‖w‖².

Where the columns are scaled by divisors s, features are built as x − c, and the orthonormal basis has (x − c)/s.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from unisvm.kernels import Kernel
from unisvm.rows import RowStore

# Of more columns, only the diagonal of the second moments is computed. Up to here, matrices of d × d numbers take no
# more time and room than those of as many landmarks.
_MAX_FULL_MOMENTS = 2000


def has_many_columns(n_features: int) -> bool:
    """Whether there are too many columns for matrices of their moments."""
    return n_features > _MAX_FULL_MOMENTS


class ColumnMap:
    """x − c for rows x: features that need no landmarks, and whose basis is orthonormal.

    Parameters
    ----------
    kernel : Kernel
        The linear one.
    centre : ndarray of shape (n_features,)
        c, near the mean of dense rows, so that few digits cancel where columns lie far from 0; sparse rows stay where
        they are.
    divisor : ndarray of shape (n_features,), optional
        s; 1 when None.
    """

    has_landmarks = False

    def __init__(self, kernel: Kernel, centre: np.ndarray, divisor: np.ndarray | None = None):
        self.kernel = kernel
        self.centre = centre
        self.divisor = divisor

    @property
    def rank(self) -> int:
        return len(self.centre)

    @property
    def is_wide(self) -> bool:
        """Whether there are too many columns for matrices of their moments."""
        return has_many_columns(self.rank)

    def build(self, rows: RowStore, room: float = np.inf) -> Any:
        """Features of all rows of a store: sparse ones are the rows themselves."""
        return rows.sparse_features() if rows.is_sparse else rows.build(self.block, self.rank, room)

    def block(self, X: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """x − c for a block of dense rows, in `out` if it is given."""
        return np.asarray(np.subtract(X, self.centre, out=out))

    @property
    def signature(self) -> tuple[int, int]:
        """Numbers of positive and of negative eigenvalues of the kernel."""
        return self.rank, 0

    @property
    def signs(self) -> np.ndarray:
        """Sign of each feature in the kernel: 1."""
        return np.ones(self.rank)

    @property
    def landmark_features(self) -> None:
        """None: there are no landmarks."""
        return None

    def diagonal(self, rows: RowStore, indices: np.ndarray, features: Any) -> np.ndarray:
        """‖p‖² of rows of the store with these features p."""
        return squared_lengths(features)

    def trace_error(self, rows: RowStore, matrix: np.ndarray, trace: Callable[[], float]) -> float:
        """0: nothing is left out."""
        return 0.0

    def to_dual(self, W: np.ndarray) -> np.ndarray:
        """Coefficients of the columns: w/s."""
        return W if self.divisor is None else W / self.divisor[:, None]

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """v/s: a gradient in w, from that in the coefficients of the columns."""
        return values if self.divisor is None else values / self.divisor[:, None]

    def of_function(self, values: np.ndarray) -> np.ndarray:
        """w = s α, from the coefficients α of the columns."""
        if self.divisor is None:
            return values
        # of a column without a part, whose divisor is infinite, the coefficient is 0
        return values * np.where(np.isfinite(self.divisor), self.divisor, 0.0)[:, None]

    def whitener(self, dtype: np.dtype, rank: int | None = None) -> Callable[[np.ndarray], np.ndarray]:
        """Function that brings features, or the first `rank` of them, to the orthonormal basis: where they are, unless
        they are sparse.
        """
        if self.divisor is None:
            return lambda values: values
        factors = (1 / self.divisor[:rank]).astype(dtype)

        def whiten(values: Any) -> Any:
            if sparse.issparse(values):
                return with_data(values, values.data * factors[values.indices])
            return np.multiply(values, factors, out=values)

        return whiten


def with_data(rows: Any, data: np.ndarray) -> Any:
    """The CSR matrix with other entries in the same places."""
    return type(rows)((data, rows.indices, rows.indptr), shape=rows.shape)


def dense(features: Any) -> np.ndarray:
    """Features of a block of rows as an array."""
    return np.asarray(features.toarray() if sparse.issparse(features) else features)


def squared_lengths(features: Any) -> np.ndarray:
    """‖x‖² of each row of features."""
    if sparse.issparse(features):
        return np.asarray(features.multiply(features).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", features, features, dtype=np.float64))
