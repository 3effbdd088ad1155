"""Checks of a kernel's values on the training rows: finite, with a diagonal that is not negative, and definite."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf

from unisvm.kernels import Kernel
from unisvm.parallel import single_thread_if_small

# less than minus this share of the largest entry of the diagonal is no rounding error
_NEGATIVE = 1e-4
# an eigenvalue below minus this share of the largest one is no rounding error
_NEGATIVE_EIGENVALUE = 1e-5
_POWER_ITERATIONS = 10
_ADVICE = "Scale the columns of X, or choose another kernel."


class NotPositiveSemidefiniteError(ValueError):
    """Raised when a kernel matrix that must not have clearly negative eigenvalues has some."""

    def __init__(self, found: str):
        super().__init__(
            f"The kernel matrix is not positive semidefinite: {found} Use indefinite='flip' where the estimator has "
            "that parameter, or clip its negative eigenvalues, or choose another kernel."
        )


def check_diagonal(kernel: Kernel, diagonal: np.ndarray, row_indices: np.ndarray) -> None:
    """Raise when k(x, x) is infinite, NaN or negative for some row, or zero for all."""
    negative = np.flatnonzero(diagonal < -_NEGATIVE * np.abs(diagonal).max(initial=0.0))
    if not kernel.is_psd and np.isfinite(diagonal).all() and len(negative):
        row, lowest = row_indices[negative[0]], diagonal[negative[0]]
        raise NotPositiveSemidefiniteError(f"k(x, x) = {lowest:.3g} for row {row} of X.")
    wrong = np.flatnonzero(~np.isfinite(diagonal) | (diagonal < -_NEGATIVE * np.abs(diagonal).max(initial=0.0)))
    if len(wrong):
        raise ValueError(
            f"The kernel {kernel} has k(x, x) = {diagonal[wrong[0]]:.3g} for row {row_indices[wrong[0]]} of X, where a "
            f"finite number that is not negative is needed. {_ADVICE}"
        )
    if not (diagonal > 0).any():
        raise ValueError(
            f"The kernel {kernel} is zero on the rows of X, so that there is nothing to learn from. {_ADVICE}"
        )


def check_finite(kernel: Kernel, values: np.ndarray) -> None:
    """Raise when values of the kernel, or sums of them, are infinite or NaN."""
    if not np.isfinite(values).all():
        raise ValueError(f"The kernel {kernel} is not finite between the rows of X. {_ADVICE}")


def check_remainder(kernel: Kernel, residual: np.ndarray, largest: float) -> None:
    """Raise when the diagonal of K − F Fᵀ is clearly negative somewhere: then K has negative eigenvalues.

    Parameters
    ----------
    kernel : Kernel
    residual : ndarray
        The diagonal that a partial Cholesky factorisation leaves.
    largest : float
        Largest entry of the diagonal of K.
    """
    lowest = residual.min()
    if not kernel.is_psd and lowest < -_NEGATIVE * largest:
        raise NotPositiveSemidefiniteError(
            f"{lowest:.3g} is left of k(x, x) in one of {len(residual)} rows, where {largest:.3g} was the largest."
        )


def check_positive_semidefinite(matrix: np.ndarray) -> None:
    """Raise when a symmetric matrix clearly has negative eigenvalues."""
    if is_indefinite(matrix):
        lowest, highest = np.linalg.eigvalsh(matrix)[[0, -1]]
        raise NotPositiveSemidefiniteError(
            f"among {len(matrix)} rows its smallest eigenvalue is {lowest:.3g}, its largest {highest:.3g}."
        )


def is_indefinite(matrix: np.ndarray) -> bool:
    """Whether a symmetric matrix has an eigenvalue below minus 1e-5 of the largest absolute one.

    That is so if and only if a multiple of the identity of this size, added to it, leaves it without a Cholesky factor,
    which takes a tenth of the time of eigenvalues.
    """
    largest = np.abs(matrix).max(initial=0.0)
    if not 0 < largest < np.inf:
        return False
    # squares of its entries neither vanish nor overflow then
    matrix = matrix / largest
    scale = _largest_eigenvalue(matrix)
    with single_thread_if_small(len(matrix) ** 3 / 6):
        lifted = np.array(matrix, dtype=np.float64, order="F")
        lifted[np.diag_indices_from(lifted)] += _NEGATIVE_EIGENVALUE * scale
        _, failed = dpotrf(lifted, lower=1, overwrite_a=1, clean=0)
    return bool(failed > 0)


def _largest_eigenvalue(matrix: np.ndarray) -> float:
    """Largest absolute eigenvalue of a symmetric matrix, from below, by power iterations."""
    vector = np.random.RandomState(0).standard_normal(len(matrix))
    size = 0.0
    for _ in range(_POWER_ITERATIONS):
        vector /= np.linalg.norm(vector)
        vector = matrix @ vector
        size = float(np.linalg.norm(vector))
    return size
