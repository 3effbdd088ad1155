"""Points that many blocks of rows are compared with, in the order in memory that each kind of rows needs."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from unisvm import compiled
from unisvm.kernels.base import into, room
from unisvm.parallel import cached_property


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
        # everything made from them takes more room, and no more time to make than to send
        return Points, (self.Z,)

    def meet_sparsely(self, X) -> bool:
        """Whether rows and points are compared only where both have entries."""
        return sparse.issparse(X) or sparse.issparse(self.Z)

    @cached_property
    def squares(self) -> np.ndarray:
        """‖z‖² of each point, in double precision."""
        return row_norms(self.Z.astype(np.float64), squared=True)

    def by_column(self, dtype: np.dtype) -> sparse.csr_array:
        """A sparse matrix of this precision with a column for each point."""
        if dtype not in self._by_column:
            made = sparse.csr_array(self.Z).astype(dtype, copy=False).T.tocsr()
            # compiled code takes no other numbers
            made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
            self._by_column[dtype] = made
        return self._by_column[dtype]

    def products(self, X, out: np.ndarray | None = None) -> np.ndarray:
        """X Zᵀ as a dense array in X's precision, in `out` if given."""
        if not self.meet_sparsely(X):
            return np.matmul(X, self.Z.T.astype(X.dtype, copy=False), out=out)
        rows, by_column = sparse.csr_array(X), self.by_column(X.dtype)
        products = room((X.shape[0], len(self)), X.dtype, out)
        if not compiled.sparse_products(rows, by_column, of_distances=False, out=products):
            products = (rows @ by_column).toarray()
        return into(out, products)
