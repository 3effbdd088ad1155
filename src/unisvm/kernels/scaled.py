"""A kernel of rows whose columns are shifted and divided first."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from unisvm.kernels.base import Block, Kernel


class Scaled(Kernel):
    """k((x − c)/s, (z − c)/s) of another kernel k, with a shift c and a divisor s for each column.

    Rows and landmarks stay in their own units, wherever they are: they are scaled block by block.

    Parameters
    ----------
    kernel : Kernel
        k.
    centre : array-like of shape (n_features,) or float
        c; all 0 for sparse rows, whose zeros stay zeros.
    divisor : array-like of shape (n_features,) or float
        s; infinity for a column that has no part.

    Examples
    --------
    >>> from unisvm.kernels import RBF, Scaled
    >>> Scaled(RBF(gamma=0.5), centre=[10.0], divisor=[100.0])([[110.0]], [[110.0], [210.0]]).round(3)
    array([[1.   , 0.607]])
    """

    def __init__(self, kernel: Kernel, centre: Any, divisor: Any):
        self.kernel = kernel
        self.centre = centre
        self.divisor = divisor

    def __repr__(self):
        # the numbers of all columns would hide the kernel
        return f"Scaled({self.kernel!r}, {np.size(self.divisor)} columns)"

    @property
    def is_psd(self):
        return self.kernel.is_psd

    @property
    def is_linear(self):  # type: ignore[override]
        return self.kernel.is_linear

    @property
    def is_judged_by_trace(self):  # type: ignore[override]
        return self.kernel.is_judged_by_trace

    @property
    def has_gradients(self):  # type: ignore[override]
        return self.kernel.has_gradients

    def max_rank(self, n_features):
        return self.kernel.max_rank(n_features)

    def resolve(self, n_features, variance):
        return type(self)(self.kernel.resolve(n_features, variance), self.centre, self.divisor)

    def against(self, Z) -> Block:
        return _ScaledBlock(self, Z)

    def diagonal(self, X):
        return self.kernel.diagonal(self.scaled(X))

    def squared_gradients(self, X, Z, dual):
        of_scaled = self.kernel.squared_gradients(self.scaled(X), self.scaled(Z), dual)
        return of_scaled / np.asarray(self.divisor, dtype=np.float64) ** 2

    def scaled(self, X: Any) -> Any:
        """(x − c)/s for rows x, in their precision."""
        factors = np.broadcast_to(1 / np.asarray(self.divisor, dtype=np.float64), X.shape[1]).astype(X.dtype)
        if sparse.issparse(X):
            if np.any(self.centre):
                raise ValueError(
                    "This kernel shifts the columns, which would fill in the zeros of sparse rows. Give dense rows, "
                    "X.toarray(), or fit on sparse rows, which are scaled without a shift."
                )
            X = X.tocsr()
            return type(X)((X.data * factors[X.indices], X.indices, X.indptr), shape=X.shape)
        shifted = np.subtract(X, np.asarray(self.centre, dtype=np.float64), dtype=np.float64)
        return shifted * factors if X.dtype == np.float64 else shifted.astype(X.dtype) * factors


class _ScaledBlock:
    """Maps rows X to the kernel of scaled rows and the same scaled points."""

    def __init__(self, kernel: Scaled, Z: Any):
        self._kernel, self._points = kernel, Z
        self._against = kernel.kernel.against(kernel.scaled(Z))

    def __reduce__(self):
        # what is made from the points takes more room, and no more time to make than to send
        return _ScaledBlock, (self._kernel, self._points)

    def __call__(self, X, out: np.ndarray | None = None) -> np.ndarray:
        return self._against(self._kernel.scaled(X), out)
