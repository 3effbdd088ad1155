"""Features (1, p): those of the kernel k + 1, whose offset is penalised like any other coefficient.

f(x) = b + p(x)·w,    ‖f‖² = b² + ‖w‖²
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from unisvm.nystrom.base import BaseFeatureMap
from unisvm.rows import RowStore


class WithConstant:
    """A feature map with a constant feature before those of another one.

    Parameters
    ----------
    feature_map : BaseFeatureMap
    """

    def __init__(self, feature_map: BaseFeatureMap):
        self.inner = feature_map
        self.kernel = feature_map.kernel

    @property
    def rank(self) -> int:
        return int(self.inner.rank) + 1

    @property
    def is_wide(self) -> bool:
        """Whether there are too many features for matrices of their moments."""
        return bool(self.inner.is_wide)

    @property
    def has_landmarks(self) -> bool:
        """Whether the other features are values of a kernel at landmarks."""
        return self.inner.has_landmarks

    @property
    def signature(self) -> tuple[int, int]:
        """Numbers of positive and of negative eigenvalues of the kernel without the constant."""
        return self.inner.signature

    @property
    def signs(self) -> np.ndarray:
        """Sign of each feature in the kernel."""
        return np.concatenate([[1.0], self.inner.signs])

    @property
    def landmark_features(self) -> np.ndarray | None:
        """Features of the landmarks; None without landmarks."""
        features = self.inner.landmark_features
        return None if features is None else np.insert(features, 0, 1.0, axis=1)

    def build(self, rows: RowStore, room: float = np.inf) -> Any:
        """Features of all rows of a store: of sparse columns, the rows themselves with a column of ones."""
        if not self.inner.has_landmarks and rows.is_sparse:
            return rows.sparse_features(with_ones=True)
        return rows.build(self.block, self.rank, room)

    def block(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        """(1, p) for a block of rows, in `out` if it is given."""
        if out is None:
            out = np.empty((X.shape[0], self.rank), X.dtype)
        out[:, 0] = 1
        self.inner.block(X, out=out[:, 1:])
        return out

    def to_dual(self, W: np.ndarray) -> np.ndarray:
        """Coefficients of the constant and of the other features as they are built."""
        return np.concatenate([W[:1], self.inner.to_dual(W[1:])])

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """Features in the orthonormal basis, from those that are built, and a gradient in w from that in theirs."""
        return np.concatenate([values[:1], self.inner.from_values(values[1:])])

    def of_function(self, values: np.ndarray) -> np.ndarray:
        """Coefficients w of functions, from their offsets and from what the inner map makes coefficients of."""
        return np.concatenate([values[:1], self.inner.of_function(values[1:])])

    def whitener(self, dtype: np.dtype, rank: int | None = None) -> Callable[[np.ndarray], np.ndarray]:
        """Function that brings features, or the first `rank` of them, to the orthonormal basis where they are."""
        whiten = self.inner.whitener(dtype, None if rank is None else rank - 1)

        def whiten_others(values: Any) -> Any:
            if sparse.issparse(values):
                return sparse.hstack([values[:, :1], whiten(values[:, 1:])], format="csr")
            whiten(values[:, 1:])
            return values

        return whiten_others

    def diagonal(self, rows: RowStore, indices: np.ndarray, features: Any) -> np.ndarray:
        """‖p(x)‖² of rows of the store, of the kernel without the constant."""
        return np.asarray(self.inner.diagonal(rows, indices, features[:, 1:]))

    def trace_error(self, rows: RowStore, matrix: np.ndarray, trace: Callable[[], float]) -> float:
        """Share of the kernel without the constant that is left out."""
        return float(self.inner.trace_error(rows, matrix[1:, 1:] if matrix.ndim == 2 else matrix[1:], trace))
