"""Kernels that are not positive semidefinite: whether the rows show it, and landmarks for them.

Pivoted Cholesky factorisations of K end where its diagonal is used up, wherever that is. K² has the same eigenvectors,
with the squares of the eigenvalues, and is positive semidefinite.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpstrf

from unisvm.kernels import Kernel
from unisvm.nystrom.kernel_checks import check_finite, check_positive_semidefinite, is_indefinite
from unisvm.parallel import blas_threads, single_thread_if_small
from unisvm.rows import RowStore

# A negative feature of variance v < 2 λ/A is penalised like a positive one. Least squares multiplies what it should
# give such a feature by v/(v − λ/A): down to v = λ/A, 1,000 rows of spambase lost 15 points of accuracy at C = 1 to
# features near that pole; from twice and from four times that on, none.
_LEAST_HELD = 2.0
# rows that are looked at to find out, before landmarks are chosen
_CHECKED_ROWS = 500
# rows that pivots are chosen from: so many a landmark, and at least so many; K² takes the cube of it
_CANDIDATES_A_LANDMARK, _FEWEST_CANDIDATES = 2, 2000


def kernel_between(rows: RowStore, kernel: Kernel, indices: np.ndarray) -> np.ndarray:
    """K between the rows at these store indices, in double precision and symmetric to the last bit."""
    vectors = rows.take(indices).astype(np.float64)
    with single_thread_if_small(len(indices) ** 2 * rows.n_features):
        K = kernel.against(indices if kernel.points_are_indices else vectors)(vectors)
    K = np.asarray(K, dtype=np.float64)
    return (K + K.T) / 2


def looks_indefinite(rows: RowStore, kernel: Kernel, *, refuse: bool) -> bool:
    """Whether K between a few hundred rows clearly has negative eigenvalues, which `refuse` makes an error."""
    if kernel.is_psd:
        return False
    K = kernel_between(rows, kernel, evenly_spaced(rows, _CHECKED_ROWS))
    check_finite(kernel, K)
    if refuse:
        check_positive_semidefinite(K)
    return is_indefinite(K)


def krein_signs(signs: np.ndarray, moments: np.ndarray, ratio: float) -> np.ndarray:
    """S of the regulariser λ wᵀSw: −1 for negative features that the loss can hold, and 1 for all others.

    The curvature of F is at most that of its majoriser, 2A(M + (λ/A) S) with the moments M. Features leave the negative
    part until M, less what the positive features can make up for, is at least twice λ/A there: of the whole kernel
    matrix without an offset, with m rows, those whose eigenvalues are no larger than 2 λm/A.

    Parameters
    ----------
    signs : ndarray of shape (rank,)
        Of the features.
    moments : ndarray of shape (rank, rank)
        Means of p pᵀ, about the mean of p if there is an offset that is not penalised; a lower triangle.
    ratio : float
        λ/A.
    """
    M = np.tril(moments) + np.tril(moments, -1).T
    rounding = np.finfo(float).eps * np.trace(M)
    held = (signs < 0) & (M.diagonal() >= _LEAST_HELD * ratio)
    while held.any():
        others = M[np.ix_(~held, ~held)]
        others[np.diag_indices_from(others)] += max(ratio, rounding)
        beside = M[np.ix_(~held, held)]
        values, vectors = np.linalg.eigh(M[np.ix_(held, held)] - beside.T @ np.linalg.solve(others, beside))
        weak = vectors[:, values < _LEAST_HELD * ratio]
        if not weak.size:
            break
        held[np.flatnonzero(held)[np.unique(np.abs(weak).argmax(axis=0))]] = False
    return np.where(held, -1.0, 1.0)


def evenly_spaced(rows: RowStore, n: int) -> np.ndarray:
    """Store indices of at most so many rows, evenly spaced."""
    return np.unique(np.linspace(0, rows.n_rows - 1, min(n, rows.n_rows)).astype(int))


def pivots_of_square(rows: RowStore, kernel: Kernel, rank: int, tol: float, rng: np.random.RandomState) -> np.ndarray:
    """Store indices of landmarks: pivots of K² on a sample of the rows, greedily by its diagonal.

    No more of them than leave out the share tol² of its trace, which is the sum of the squared eigenvalues of K.
    """
    n_candidates = max(_CANDIDATES_A_LANDMARK * rank, _FEWEST_CANDIDATES)
    candidates, weights = rows.weighted_subsample(n_candidates, rng)
    K = kernel_between(rows, kernel, candidates)
    check_finite(kernel, K)
    roots = np.sqrt(weights / weights.max())
    K *= np.outer(roots, roots)
    # its square neither vanishes nor overflows then
    K /= max(np.abs(K).max(), np.finfo(float).tiny)
    trace = float(np.einsum("ij,ij->", K, K))
    with blas_threads(rows.n_threads):
        # the transpose is the same matrix in the order of LAPACK, which needs no copy then
        K = K @ K
        factor, pivots, found, _ = dpstrf(K.T, lower=1, overwrite_a=1)
    found = max(min(found, rank), 1)
    left = trace - np.cumsum([factor[j:, j] @ factor[j:, j] for j in range(found)])
    enough = np.flatnonzero(left <= tol**2 * trace)
    return np.asarray(candidates[pivots[: enough[0] + 1 if len(enough) else found] - 1])
