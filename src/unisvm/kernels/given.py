"""Kernels that the user brings: a matrix, or a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from unisvm import compiled
from unisvm.kernels.base import Kernel, as_rows, into


class Precomputed(Kernel):
    """Rows of a kernel matrix that the user computed; a point is the index of a column.

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm.kernels import Precomputed
    >>> Precomputed()(np.array([[2.0, 1.0], [1.0, 2.0]]), [1])
    array([[1.],
           [2.]])
    """

    is_psd = False
    points_are_indices = True

    def __call__(self, X, Z):
        return self.against(Z)(as_rows(X))

    def against(self, Z):
        columns = np.asarray(Z)

        def block(X, out=None):
            part = X[:, columns].toarray() if sparse.issparse(X) else X[:, columns]
            return into(out, np.ascontiguousarray(part))

        return block

    def diagonal(self, X):
        return np.asarray(X.diagonal(), dtype=np.float64)

    def diagonal_at(self, X, indices):
        return np.asarray(X[indices, indices], dtype=np.float64).ravel()


class Function(Kernel):
    """A user's function ``function(X, Z, **params)`` that returns the matrix of k(x, z), as in scikit-learn's SVC.

    Parameters
    ----------
    function : callable
    params : dict, optional
        Further arguments.

    Examples
    --------
    >>> from unisvm.kernels import Function
    >>> Function(lambda X, Z, power: (X @ Z.T) ** power, {"power": 2})(np.ones((1, 3)), np.ones((1, 3)))
    array([[9.]])
    """

    is_psd = False

    def __init__(self, function: Callable[..., Any], params: dict[str, Any] | None = None):
        self.function = function
        self.params = params

    def against(self, Z):
        def block(X, out=None):
            with compiled.keep_subnormals():
                matrix = np.asarray(self.function(X, Z, **(self.params or {})))
            if matrix.shape != (X.shape[0], Z.shape[0]):
                raise ValueError(
                    f"The kernel function must return a matrix with a row for each row of its first argument and a "
                    f"column for each row of its second: expected shape {(X.shape[0], Z.shape[0])}, got {matrix.shape}."
                )
            if not np.isfinite(matrix).all():
                raise ValueError("The kernel function returned NaN or infinity.")
            return into(out, compiled.as_native(matrix.astype(X.dtype, copy=False)))

        return block

    def diagonal(self, X):
        # small squares along the diagonal: the function only makes matrices
        side = 32
        blocks = (X[start : start + side] for start in range(0, X.shape[0], side))
        return np.concatenate([self(block, block).diagonal() for block in blocks]).astype(np.float64)
