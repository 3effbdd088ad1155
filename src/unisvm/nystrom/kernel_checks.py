"""Checks of a kernel's values on the training rows: finite, with a diagonal that is not negative, and definite."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh

from unisvm._warnings import FitWarning, warn_caller
from unisvm.kernels import Kernel

# less than minus this share of the largest entry of the diagonal is no rounding error
_NEGATIVE = 1e-4
# eigenvalues are computed for so many rows and columns at most
_MAX_ROWS = 500
_ADVICE = "Scale the columns of X, or choose another kernel."


def check_diagonal(kernel: Kernel, diagonal: np.ndarray, row_indices: np.ndarray) -> None:
    """Raise when k(x, x) is infinite, NaN or negative for some row, or zero for all."""
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


def check_remainder(kernel: Kernel, residual: np.ndarray, largest: float) -> bool:
    """Whether the diagonal of K − F Fᵀ is clearly negative somewhere, which is then said: K has negative eigenvalues.

    Parameters
    ----------
    kernel : Kernel
    residual : ndarray
        The diagonal that a partial Cholesky factorisation leaves.
    largest : float
        Largest entry of the diagonal of K.
    """
    lowest = residual.min()
    if kernel.is_psd or lowest >= -_NEGATIVE * largest:
        return False
    found = f"{lowest:.3g} is left of k(x, x) in one of {len(residual)} rows, where {largest:.3g} was the largest."
    _report_indefinite(found, refuse=kernel.refuses_indefinite)
    return True


def check_positive_semidefinite(matrix: np.ndarray, *, refuse: bool) -> None:
    """Raise, or warn, when a kernel matrix clearly has negative eigenvalues. At most 500 rows are looked at."""
    checked = np.unique(np.linspace(0, len(matrix) - 1, min(len(matrix), _MAX_ROWS)).astype(int))
    part = matrix[np.ix_(checked, checked)]
    eigenvalues = eigvalsh((part + part.T) / 2)
    if eigenvalues[0] < -1e-5 * max(abs(eigenvalues[-1]), np.finfo(float).tiny):
        lowest, highest = eigenvalues[[0, -1]]
        found = f"among {len(part)} rows its smallest eigenvalue is {lowest:.3g}, its largest {highest:.3g}."
        _report_indefinite(found, refuse=refuse)


def _report_indefinite(found: str, *, refuse: bool) -> None:
    message = f"The kernel matrix is not positive semidefinite: {found}"
    if refuse:
        raise ValueError(f"{message} Clip its negative eigenvalues, or use another kernel.")
    warn_caller(f"{message} Its negative part is left out.", FitWarning)
