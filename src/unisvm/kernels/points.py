"""Points that many blocks of rows are compared with, in the order in memory that each kind of rows needs."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from unisvm import compiled
from unisvm.kernels.base import into, room


class Points:
    """The points of a kernel.

    Parameters
    ----------
    Z : ndarray or CSR matrix of shape (n_points, n_features)
    """

    def __init__(self, Z):
        self.Z = Z
        self._by_column: dict[np.dtype, sparse.csr_array] = {}

    def __len__(self) -> int:
        return self.Z.shape[0]

    def __reduce__(self):
        # what is made of them takes more room than they do, and no more time than to send it
        return Points, (self.Z,)

    @cached_property
    def dense(self) -> np.ndarray:
        """An array with a row for each point."""
        return self.Z.toarray() if sparse.issparse(self.Z) else self.Z

    def by_column(self, dtype: np.dtype) -> sparse.csr_array:
        """A sparse matrix of this precision with a column for each point."""
        if dtype not in self._by_column:
            self._by_column[dtype] = sparse.csr_array(self.Z).astype(dtype, copy=False).T.tocsr()
        return self._by_column[dtype]

    def products(self, X, out: np.ndarray | None = None) -> np.ndarray:
        """X Zᵀ as a dense array in X's precision, in `out` if given."""
        if not sparse.issparse(X):
            return np.matmul(X, self.dense.T.astype(X.dtype, copy=False), out=out)
        by_column = self.by_column(X.dtype)
        if not compiled.is_available():
            return into(out, (X @ by_column).toarray())
        products = room((X.shape[0], len(self)), X.dtype, out)
        compiled.shared(X, by_column, of_distances=False, out=products)
        return into(out, products)
