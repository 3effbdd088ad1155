"""Nyström features of a kernel that is not positive semidefinite, with the sign of each.

    K(B, B) = U D Uᵀ,    P = K(X, B) U |D|^(−1/2),    S = sign D,    K ≈ P S Pᵀ

No part is thrown away: with all rows as landmarks K = P S Pᵀ. f = P w = K(X, B) α with α = U |D|^(−1/2) w.

Which parts of K are positive depends on how often a row occurs: if all rows are landmarks, √s K √s = U D Uᵀ with their
weights s, and P = K √s U |D|^(−1/2).

With fewer landmarks than rows the smallest eigenvalues of K(B, B) are left out. Those of a positive semidefinite kernel
do no harm, since ‖p(x)‖² ≤ k(x, x) there. Without that bound they are divisors of what other rows have in them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh, eigvalsh

from unisvm.kernels import Kernel
from unisvm.nystrom.feature_map import LEAST_PIVOT
from unisvm.nystrom.indefinite import evenly_spaced, kernel_between
from unisvm.parallel import single_thread_if_small
from unisvm.rows import RowStore

# rows that are brought to the basis at a time
_BLOCK_ROWS = 512
# rows on which the share of the kernel that is left out is measured
_MEASURED_ROWS = 500


class SignedFeatureMap:
    """K(x, B) for rows x, and the matrix T = U |D|^(−1/2) that relates it to an orthonormal basis.

    Eigenvalues that are not told from rounding error have no part: their columns of T are 0, as are those of other
    eigenvalues that are left out.

    Parameters
    ----------
    kernel : Kernel
    points
        The landmarks, as the kernel's `against` takes them.
    matrix : ndarray
        K(B, B) in double precision.
    dtype : dtype
        The precision of the rows.
    clip : bool, default=False
        Whether negative eigenvalues are left out.
    small_tol : float, default=0.0
        The eigenvalues of least size that together are at most this share of Σ |eigenvalues| are left out.
    weights : ndarray of shape (n_landmarks,), optional
        Weights of the landmarks; all are equal if not given.

    Attributes
    ----------
    kept : ndarray of int
        Positions of the landmarks: all of them.
    transform : ndarray of shape (n_landmarks, n_landmarks)
        T.
    signs : ndarray of shape (n_landmarks,)
        S: 1, −1, or 0 where an eigenvalue has no part.
    negative_share : float
        Share of the negative eigenvalues in Σ |eigenvalues| of K(B, B), of those that have a part.
    """

    has_landmarks = True
    #: there are never too many features for matrices of their moments
    is_wide = False

    def __init__(
        self,
        kernel: Kernel,
        points: Any,
        matrix: np.ndarray,
        dtype: np.dtype,
        *,
        clip: bool = False,
        small_tol: float = 0.0,
        weights: np.ndarray | None = None,
    ):
        roots = np.ones(len(matrix)) if weights is None else np.sqrt(weights / weights.max())
        transform, signs, sizes = _eigenfeatures(matrix, roots, dtype, clip=clip, small_tol=small_tol)
        if not signs.any():
            raise ValueError(
                f"The kernel {kernel} has no positive eigenvalues on the landmarks, and the others are left out: there "
                "is nothing to learn from. Use indefinite='flip', or choose another kernel."
            )
        self.negative_share = float(sizes[signs < 0].sum() / sizes[signs != 0].sum())
        self._clip, self._small_tol, self._roots = clip, small_tol, roots
        self._set(kernel, points, matrix, transform, signs)

    def state(self) -> dict[str, np.ndarray]:
        """The feature map as arrays, but for the kernel and the points."""
        return {
            "signs": self.signs,
            "factor": self.transform,
            "matrix": self.matrix,
            "negative_share": np.array(self.negative_share),
            "clip": np.array(self._clip),
            "small_tol": np.array(self._small_tol),
            "roots": self._roots,
        }

    @classmethod
    def from_state(cls, kernel: Kernel, points: Any, state: dict[str, np.ndarray]) -> SignedFeatureMap:
        """Inverse of `state`; without a matrix, the map builds no features in an orthonormal basis."""
        feature_map = cls.__new__(cls)
        nothing = np.empty((0, 0))
        matrix, transform = state.get("matrix", nothing), state.get("factor", nothing)
        feature_map.negative_share = float(state["negative_share"])
        feature_map._clip, feature_map._small_tol = bool(state["clip"]), float(state["small_tol"])
        feature_map._roots = state["roots"]
        feature_map._set(kernel, points, matrix, transform, state["signs"])
        return feature_map

    def _set(self, kernel: Kernel, points: Any, matrix: np.ndarray, transform: np.ndarray, signs: np.ndarray) -> None:
        self.kernel = kernel
        self.points = points
        self.matrix = matrix
        self.transform = transform
        self.signs = signs
        self.kept = np.arange(len(signs))
        self.block = kernel.against(points)

    @property
    def rank(self) -> int:
        return len(self.signs)

    @property
    def signature(self) -> tuple[int, int]:
        """Numbers of positive and of negative eigenvalues that have a part."""
        return int((self.signs > 0).sum()), int((self.signs < 0).sum())

    @property
    def landmark_features(self) -> np.ndarray:
        """Features of the landmarks, K(B, B) T."""
        return np.asarray(self.matrix @ self.transform)

    def build(self, rows: RowStore, room: float = np.inf) -> Any:
        """Features of all rows of a store; they do not stay in memory if they take more than `room` bytes."""
        return rows.build(self.block, self.rank, room)

    def whitener(self, dtype: np.dtype, rank: int | None = None) -> Callable[[np.ndarray], np.ndarray]:
        """Tᵀ for rows of features of this precision, or that of the first `rank` landmarks."""
        transform = self.transform
        if rank is not None and rank < self.rank:
            leading, roots = self.matrix[:rank, :rank], self._roots[:rank]
            transform, _, _ = _eigenfeatures(leading, roots, dtype, clip=self._clip, small_tol=self._small_tol)
        rounded = transform.astype(dtype)

        def whiten(values: np.ndarray) -> np.ndarray:
            for low in range(0, len(values), _BLOCK_ROWS):
                rows = values[low : low + _BLOCK_ROWS]
                rows[...] = np.dot(rows, rounded)
            return values

        return whiten

    def to_dual(self, W: np.ndarray) -> np.ndarray:
        """Dual coefficients α = T w."""
        return np.asarray(self.transform @ W)

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """Tᵀ v: the features of rows with k(x, B) = v, and a gradient in w from that in α."""
        return np.asarray(self.transform.T @ values)

    def of_function(self, values: np.ndarray) -> np.ndarray:
        """S Tᵀ v: the coefficients w of the function with values v at the landmarks."""
        return np.asarray(self.signs[:, None] * self.from_values(values))

    def diagonal(self, rows: RowStore, indices: np.ndarray, features: np.ndarray) -> np.ndarray:
        """‖p(x)‖² of rows whose features in the orthonormal basis these are: k(x, x) may be negative."""
        return np.asarray(np.einsum("ij,ij->i", features, features, dtype=np.float64))

    def trace_error(self, rows: RowStore, matrix: np.ndarray, trace: Callable[[], float]) -> float:
        """Share of the kernel's trace norm that is left out, Σ |eigenvalues of K − P S Pᵀ| / Σ |eigenvalues of K|.

        It is that of a sample of rows, a row of weight s counting as s rows. Of a positive semidefinite kernel it would
        be the share of the trace.
        """
        indices = evenly_spaced(rows, _MEASURED_ROWS)
        roots = np.sqrt(rows.take_weights(indices).astype(np.float64))
        K = kernel_between(rows, self.kernel, indices) * np.outer(roots, roots)
        P = self.from_values(np.asarray(self.block(rows.take(indices).astype(np.float64))).T) * roots
        with single_thread_if_small(len(K) ** 3):
            whole, left = (np.abs(eigvalsh(matrix)).sum() for matrix in (K, K - P.T @ (self.signs[:, None] * P)))
        return float(min(left / whole, 1.0)) if whole > 0 else 0.0


def _eigenfeatures(
    matrix: np.ndarray, roots: np.ndarray, dtype: np.dtype, *, clip: bool, small_tol: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """T = R U |D|^(−1/2), S = sign D and |D| with R K R = U D Uᵀ, in double precision; `roots` is the diagonal of R."""
    matrix = matrix * np.outer(roots, roots)
    with single_thread_if_small(4 * len(matrix) ** 3):
        values, vectors = eigh(matrix, check_finite=False)
    sizes = np.abs(values)
    rounding = len(matrix) * np.finfo(np.float64).eps * sizes.max(initial=0.0)
    least = max(LEAST_PIVOT[dtype] * np.abs(matrix).max(initial=0.0), rounding)
    present = sizes > least
    rising = np.argsort(sizes)
    sums = np.cumsum(sizes[rising])
    present[rising[sums <= small_tol * sums[-1]]] = False
    if clip:
        present &= values > 0
    scales = np.divide(1, np.sqrt(sizes), out=np.zeros_like(sizes), where=present)
    return roots[:, None] * vectors * scales, np.where(present, np.sign(values), 0.0), sizes
