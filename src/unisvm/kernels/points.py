"""Points that many blocks of rows are compared with, in the order in memory that each kind of rows needs."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy import sparse

from unisvm.kernels.base import into

# sparse points are made dense up to this size: sparse rows times a dense matrix is several times faster
_DENSE_BYTES = 2**28


class Points:
    """The points of a kernel. Of sparse ones, only columns count that one of them has an entry in.

    Parameters
    ----------
    Z : ndarray or CSR matrix of shape (n_points, n_features)

    Attributes
    ----------
    columns : ndarray of int or None
        Which columns count, or None if all do.
    are_few : bool
        Whether they may be made dense.
    """

    def __init__(self, Z):
        self.Z = Z
        # the first one always does, so that there are some
        columns = np.unique(np.append(Z.indices, 0)) if sparse.issparse(Z) else np.arange(Z.shape[1])
        self.columns = columns if len(columns) < Z.shape[1] else None
        self.are_few = not sparse.issparse(Z) or Z.shape[0] * len(columns) * Z.dtype.itemsize <= _DENSE_BYTES
        self._by_column: dict[np.dtype, np.ndarray] = {}

    def __reduce__(self):
        # what is made of them takes more room than they do, and no more time than to send it
        return Points, (self.Z,)

    @cached_property
    def dense(self) -> np.ndarray:
        """The columns that count, a row for each point."""
        return self.of(self.Z).toarray() if sparse.issparse(self.Z) else self.Z

    def by_column(self, dtype: np.dtype) -> np.ndarray:
        """The same in this precision, a row for each column."""
        if dtype not in self._by_column:
            own = self.of(self.Z).astype(dtype, copy=False).T
            self._by_column[dtype] = own.toarray(order="C") if sparse.issparse(own) else np.ascontiguousarray(own)
        return self._by_column[dtype]

    def of(self, X):
        """The columns of rows X that count."""
        if self.columns is None:
            return X
        if not sparse.issparse(X):
            return X[:, self.columns]
        # much faster than to index columns
        place = self._places[X.indices]
        counts = place >= 0
        starts = np.concatenate([[0], np.cumsum(counts)])[X.indptr].astype(place.dtype)
        return sparse.csr_array((X.data[counts], place[counts], starts), shape=(X.shape[0], len(self.columns)))

    @cached_property
    def _places(self) -> np.ndarray:
        """Where each column is among those that count, or −1."""
        places = np.full(self.Z.shape[1], -1, dtype=self.Z.indices.dtype)
        if self.columns is not None:
            places[self.columns] = np.arange(len(self.columns))
        return places

    def products(self, X, out: np.ndarray | None = None) -> np.ndarray:
        """X Zᵀ as a dense array in X's precision, in `out` if given."""
        if not self.are_few:
            products = X @ self.Z.T
            dense = products.toarray() if sparse.issparse(products) else products
            return into(out, dense.astype(X.dtype, copy=False))
        if sparse.issparse(X):
            return into(out, self.of(X) @ self.by_column(X.dtype))
        return np.matmul(self.of(X), self.dense.T.astype(X.dtype, copy=False), out=out)
