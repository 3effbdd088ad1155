"""The low-rank kernel: P = K(X, B) L⁻ᵀ with K(B, B) = L Lᵀ, where L⁻¹ is applied to coefficients, never to the rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh, solve_triangular
from scipy.linalg.lapack import dpstrf

from unisvm.kernels import Kernel

# Pivots of K(B, B) below this share of its largest entry are not told from rounding error in the features.
_LEAST_PIVOT = {np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-13}
_CHECKED_FOR_SIGN = 500


class FeatureMap:
    """Features K(x, B) of a row, and the factor that turns coefficients on them into ones of an orthonormal basis.

    Parameters
    ----------
    kernel : Kernel
    points
        The landmarks, as the kernel's `against` takes them.
    matrix : ndarray
        K(B, B) in double precision.
    dtype : dtype
        The precision of the rows.

    Attributes
    ----------
    kept : ndarray of int
        Which of the landmarks are left: those that the others span are not needed.
    points
        The landmarks that are left.
    factor : ndarray
        The lower triangular L.
    """

    def __init__(self, kernel: Kernel, points, matrix: np.ndarray, dtype: np.dtype):
        if not kernel.is_psd:
            check_positive_semidefinite(matrix, refuse=kernel.refuses_indefinite)
        largest = matrix.diagonal().max(initial=0.0)
        if largest <= 0:
            raise ValueError(
                "The kernel is zero on all landmarks, so that there is nothing to learn from. Scale the columns of X, "
                "or choose another kernel."
            )
        least = max(_LEAST_PIVOT[dtype], len(matrix) * np.finfo(np.float64).eps)
        factor, pivots, rank, _ = dpstrf(matrix, tol=least * largest, lower=1)
        self.kernel = kernel
        self.dtype = dtype
        self.kept = pivots[:rank] - 1
        self.points = points[self.kept]
        self.factor = np.tril(factor[:rank, :rank])
        self.block = kernel.against(self.points)

    @property
    def rank(self) -> int:
        return len(self.kept)

    def to_dual(self, W: np.ndarray) -> np.ndarray:
        """Coefficients of K(x, B) from those of the orthonormal basis."""
        return solve_triangular(self.factor, W, lower=True, trans="T", check_finite=False)

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """Coefficients in the orthonormal basis of the function with these values at the landmarks.

        It is also what turns a gradient in the dual coefficients into one in the basis.
        """
        return solve_triangular(self.factor, values, lower=True, check_finite=False)


def check_positive_semidefinite(matrix: np.ndarray, *, refuse: bool) -> None:
    """Raise, or warn, when a kernel matrix clearly has negative eigenvalues. At most 500 rows are looked at."""
    part = matrix[:_CHECKED_FOR_SIGN, :_CHECKED_FOR_SIGN]
    eigenvalues = eigvalsh((part + part.T) / 2)
    if eigenvalues[0] >= -1e-5 * max(abs(eigenvalues[-1]), np.finfo(float).tiny):
        return
    message = (
        f"The kernel matrix is not positive semidefinite: among {len(part)} rows its smallest eigenvalue is "
        f"{eigenvalues[0]:.3g}, its largest {eigenvalues[-1]:.3g}."
    )
    if refuse:
        raise ValueError(f"{message} Clip its negative eigenvalues, or use another kernel.")
    warnings.warn(f"{message} What is negative in it is left out.", UserWarning, stacklevel=2)


@dataclass(frozen=True)
class GramSample:
    """Second moments of the features in the orthonormal basis, over all rows or over a sample of them.

    Attributes
    ----------
    mean : ndarray of shape (rank,)
        The weighted mean of the features.
    gram : ndarray of shape (rank, rank)
        The weighted mean of p pᵀ.
    trace_error : float
        The share of the kernel's trace that the features leave out.
    n_rows : int
        How many rows it is from.
    """

    mean: np.ndarray
    gram: np.ndarray
    trace_error: float
    n_rows: int


def gram_sample(rows, features: FeatureMap, n_rows: int | None, rng: np.random.RandomState) -> GramSample:
    """Moments of the features from `n_rows` rows drawn by weight; from all rows if None."""
    indices, weights = rows.represent(rows.n_rows if n_rows is None else n_rows, rng)
    chosen = rows if len(indices) == rows.n_rows else rows.sample(indices, weights)

    # a majoriser in single precision serves as well
    factor = features.factor.astype(rows.dtype)

    def moments(block, targets, weights):
        P = solve_triangular(factor, block.T, lower=True, check_finite=False).T
        root = np.sqrt(weights)
        P *= root
        # the product of a matrix with its own transpose takes half the time
        return P.T @ P, (root * P).sum(axis=0, dtype=np.float64)

    gram, mean = chosen.reduce(moments, chosen.build(features.block, features.rank))
    total = chosen.total_weight
    diagonal = float(chosen.weights @ rows.diagonal(features.kernel, indices)) / total
    left_out = 1 - np.trace(gram) / total / diagonal if diagonal > 0 else 0.0
    return GramSample(mean / total, gram / total, max(float(left_out), 0.0), len(indices))
