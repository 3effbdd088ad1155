"""The Nyström features P = K(X, B) L⁻ᵀ with K(B, B) = L Lᵀ: L⁻¹ is applied to coefficients, never to all rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from unisvm.kernels import Kernel
from unisvm.nystrom.kernel_checks import check_finite
from unisvm.parallel import blas_threads, single_thread_if_small
from unisvm.rows import RowStore

# Pivots of K(B, B) below this share of its largest entry are not told from rounding error in the features.
LEAST_PIVOT = {np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-13}
# rows and columns that are whitened at a time
_WHITENED_ROWS, _PANEL = 512, 128


class FeatureMap:
    """K(x, B) for rows x, and the factor L that relates coefficients on it to those of an orthonormal basis.

    f(x) = K(x, B) α = p(x)·w with p(x) = L⁻¹ K(B, x) and α = L⁻ᵀ w, so that ‖f‖² = ‖w‖².

    Parameters
    ----------
    kernel : Kernel
    points
        The landmarks, as the kernel's `against` takes them.
    matrix : ndarray
        K(B, B) in double precision, which is written over.
    dtype : dtype
        The precision of the rows.

    Attributes
    ----------
    kept : ndarray of int
        Positions of the landmarks that are left; those in the span of others are dropped.
    points
        The landmarks that are left.
    factor : ndarray
        The lower triangular L.
    """

    def __init__(self, kernel: Kernel, points: Any, matrix: np.ndarray, dtype: np.dtype):
        check_finite(kernel, matrix)
        largest = matrix.diagonal().max(initial=0.0)
        if largest <= 0:
            raise ValueError(
                "The kernel is zero on all landmarks, so that there is nothing to learn from. Scale the columns of X, "
                "or choose another kernel."
            )
        # where k(x, x) grows with x, each landmark is judged by its own length
        lengths = None
        if not kernel.is_judged_by_trace:
            lengths = np.sqrt(np.where(matrix.diagonal() > 0, matrix.diagonal(), 1))
            matrix /= np.outer(lengths, lengths)
            largest = 1.0
        least = max(LEAST_PIVOT[dtype], len(matrix) * np.finfo(np.float64).eps)
        # the transpose is the same matrix in the order of LAPACK, which needs no copy then
        with single_thread_if_small(len(matrix) ** 3 / 6):
            factor, pivots, rank, _ = dpstrf(matrix.T, tol=least * largest, lower=1, overwrite_a=1)
        factor = np.asfortranarray(factor[:rank, :rank])
        factor *= np.tri(rank, dtype=bool)
        kept = pivots[:rank] - 1
        if lengths is not None:
            factor *= lengths[kept, None]
        self._set(kernel, points, kept, factor)

    def state(self) -> dict[str, np.ndarray]:
        """The feature map as arrays, but for the kernel and the points."""
        return {"kept": self.kept, "factor": self.factor}

    @classmethod
    def from_state(cls, kernel: Kernel, points: Any, state: dict[str, np.ndarray]) -> FeatureMap:
        """Inverse of `state`, for all points; without a factor, the map has none."""
        feature_map = cls.__new__(cls)
        feature_map._set(kernel, points, state["kept"], state.get("factor", np.empty((0, 0))))
        return feature_map

    def _set(self, kernel: Kernel, points: Any, kept: np.ndarray, factor: np.ndarray) -> None:
        self.kernel = kernel
        self.kept = kept
        self.points = points[kept]
        self.factor = factor
        self.block = kernel.against(self.points)

    @property
    def rank(self) -> int:
        return len(self.kept)

    has_landmarks = True
    #: there are never too many features for matrices of their moments
    is_wide = False

    def trace_error(self, rows: RowStore, matrix: np.ndarray, trace: Callable[[], float]) -> float:
        """1 − tr(matrix)/trace, the share of the kernel's trace that is not in the features.

        Parameters
        ----------
        rows : RowStore
        matrix : ndarray
            Sum or mean of p pᵀ over some rows.
        trace : callable
            Returns that of k(x, x) over the same rows.
        """
        whole = trace()
        return max(float(1 - np.trace(matrix) / whole), 0.0) if whole > 0 else 0.0

    def diagonal(self, rows: RowStore, indices: np.ndarray, features: Any) -> np.ndarray:
        """k(x, x) of rows of the store."""
        return rows.diagonal(self.kernel, indices)

    def build(self, rows: RowStore, room: float = np.inf) -> Any:
        """Features of all rows of a store; they do not stay in memory if they take more than `room` bytes."""
        return rows.build(self.block, self.rank, room)

    def whitener(self, dtype: np.dtype, rank: int | None = None) -> Whitener:
        """L⁻¹ for rows of features of this precision, or its leading block, for the first `rank` landmarks."""
        return Whitener(self.factor[:rank, :rank], dtype)

    @property
    def landmark_features(self) -> np.ndarray:
        """Features of the landmarks, K(B, B) L⁻ᵀ = L."""
        return self.factor

    @property
    def signature(self) -> tuple[int, int]:
        """Numbers of positive and of negative eigenvalues of the approximated kernel matrix."""
        return self.rank, 0

    @property
    def signs(self) -> np.ndarray:
        """Sign of each feature in the kernel: 1."""
        return np.ones(self.rank)

    def to_dual(self, W: np.ndarray) -> np.ndarray:
        """Dual coefficients α = L⁻ᵀ w."""
        return np.asarray(solve_triangular(self.factor, W, lower=True, trans="T", check_finite=False))

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """L⁻¹ v: the features of rows with k(x, B) = v, and a gradient in w from that in α."""
        return np.asarray(solve_triangular(self.factor, values, lower=True, check_finite=False))

    #: the coefficients w of the function with values v at the landmarks
    of_function = from_values


class Whitener:
    """L⁻¹ for rows of features, in products of panels: unlike a solve, they leave the interpreter's lock to others.

    Parameters
    ----------
    factor : ndarray
        The lower triangular L.
    dtype : dtype
        The precision of the rows.
    """

    def __init__(self, factor: np.ndarray, dtype: np.dtype):
        panels = [slice(low, min(low + _PANEL, len(factor))) for low in range(0, len(factor), _PANEL)]
        blocks = [factor[panel, panel] for panel in panels]
        with blas_threads(1):
            inverses = [solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False) for L in blocks]
        rounded = factor.astype(dtype)
        self._panels = [
            (panel, rounded[panel, : panel.start].T, inverse.T.astype(dtype))
            for panel, inverse in zip(panels, inverses, strict=True)
        ]

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """L⁻¹ v for every row v, written over the rows."""
        for low in range(0, len(values), _WHITENED_ROWS):
            rows = values[low : low + _WHITENED_ROWS]
            for panel, before, inverse in self._panels:
                part = rows[:, panel]
                part -= np.dot(rows[:, : panel.start], before)
                part[...] = np.dot(part, inverse)
        return values
