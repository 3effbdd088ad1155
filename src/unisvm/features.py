"""The low-rank kernel: P = K(X, B) L⁻ᵀ with K(B, B) = L Lᵀ, where L⁻¹ is applied to coefficients, never to the rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh, solve_triangular
from scipy.linalg.blas import get_blas_funcs
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


def gram_of_all(rows, features: FeatureMap, built) -> GramSample:
    """Moments of the features that `rows.build` made, over all rows."""
    gram, sums = _moments(rows, features, built)
    diagonal = rows.weights @ rows.diagonal(features.kernel, np.arange(rows.n_rows))
    total = rows.total_weight
    return GramSample(sums / total, gram / total, _left_out(gram, diagonal), rows.n_rows)


def gram_sample(
    rows, features: FeatureMap, n_rows: int, rng: np.random.RandomState, landmarks: np.ndarray | None = None
) -> GramSample:
    """Moments of the features, from a sample of rows.

    Parameters
    ----------
    rows : row store
    features : FeatureMap
    n_rows : int
        How many rows to draw by weight.
    rng : RandomState
    landmarks : ndarray of int, optional
        Which rows the landmarks are. They are in every sample: a landmark is often the one row of its kind, and a
        majoriser that has not seen it takes its direction to be flat.
    """
    total = rows.total_weight
    indices, weights = rows.represent(n_rows, rng)
    gram, sums, diagonal = np.zeros((features.rank, features.rank)), np.zeros(features.rank), 0.0
    known_weight = 0.0
    if landmarks is not None:
        # the features of the landmarks are the rows of L
        own = rows.weights[landmarks].astype(np.float64)
        P = features.factor * np.sqrt(own)[:, None]
        gram, sums, diagonal = P.T @ P, own @ features.factor, own @ rows.diagonal(features.kernel, landmarks)
        known_weight = own.sum()
        other = ~np.isin(indices, landmarks)
        indices, weights = indices[other], weights[other]
    if len(indices):
        # the others stand for all rows that are no landmarks
        weights = weights * ((total - known_weight) / weights.sum())
        others = rows.sample(indices, weights)
        other_gram, other_sums = _moments(others, features, others.build(features.block, features.rank))
        gram, sums = gram + other_gram, sums + other_sums
        diagonal += weights @ rows.diagonal(features.kernel, indices)
    n_seen = len(indices) + (0 if landmarks is None else len(landmarks))
    return GramSample(sums / total, gram / total, _left_out(gram, diagonal), n_seen)


def _moments(rows, features: FeatureMap, built) -> tuple[np.ndarray, np.ndarray]:
    """Σ s p pᵀ and Σ s p over the rows of a store whose features are built."""
    # a majoriser in single precision serves as well
    factor = features.factor.astype(rows.dtype)
    # NumPy and SciPy each bring a BLAS whose idle threads spin for a while: with both products from SciPy's the two
    # do not fight for the processors, which took twice the time
    (syrk,) = get_blas_funcs(("syrk",), (factor,))

    def block(values, targets, weights):
        P = solve_triangular(factor, values.T, lower=True, check_finite=False)
        if weights is None:
            return syrk(1.0, P), P.sum(axis=1, dtype=np.float64)
        root = np.sqrt(weights.T)
        P *= root
        return syrk(1.0, P), (root * P).sum(axis=1, dtype=np.float64)

    upper, sums = rows.reduce(block, built, spread=False)
    return np.triu(upper) + np.triu(upper, 1).T, sums


def _left_out(gram: np.ndarray, diagonal: float) -> float:
    """The share of the kernel's trace that is not in the features."""
    return max(float(1 - np.trace(gram) / diagonal), 0.0) if diagonal > 0 else 0.0
