"""Warnings of fits that cannot be good: by the columns of X, and by what the landmarks leave out of the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from unisvm._warnings import FitWarning, warn_caller
from unisvm.bases import Basis
from unisvm.engine import FitSettings
from unisvm.kernels import Kernel
from unisvm.rows import RowStore

# a larger share of the trace that is left out is told of
_MOST_LEFT_OUT = 0.1
# Columns whose scales differ by more are told of. Rare ones of zeros and ones have small deviations, and large ranges
# after they were scaled: a scale counts as different only if both do.
_MOST_SCALES_APART = 1000.0
# rows that scales are estimated from
_N_ROWS = 1000
# So few landmarks, no more than a linear function of the columns needs, and a small share of what could be had, are
# those of a kernel in which columns have no part, or a linear one. Prepared sets of the benchmarks have 16 or more.
_FEW_LANDMARKS, _SHARE_OF_AVAILABLE = 15, 0.05


def warn_if_doubtful(rows: RowStore, basis: Basis, settings: FitSettings, trace_error: float) -> None:
    """Warn when a fit cannot be good, saying why and what to do.

    Parameters
    ----------
    rows : RowStore
    basis : Basis
    settings : FitSettings
    trace_error : float
    """
    kernel, rank = basis.kernel, basis.feature_map.rank
    found = []
    if kernel.compares_columns:
        found += _different_scales(rows, kernel)
    if basis.landmarks is not None:
        are_chosen = isinstance(settings.landmarks, str)
        available = rows.n_rows if settings.rank is None else min(settings.rank, rows.n_rows)
        if not found and kernel.compares_columns and kernel.is_psd and are_chosen:
            found += _few_landmarks(rank, available, rows.n_features)
        if trace_error > _MOST_LEFT_OUT:
            found.append(
                f"{rank} landmarks leave out {100 * trace_error:.0f} % of the kernel's trace: what sets apart rows far "
                f"from all of them is lost. Raise rank{_smoother(kernel)}."
            )
    for message in found:
        warn_caller(message, FitWarning)


def _smoother(kernel: Kernel) -> str:
    return ", or lower gamma, or try kernel='linear'" if hasattr(kernel, "gamma") else ""


def _few_landmarks(rank: int, available: int, n_features: int) -> list[str]:
    if rank > min(n_features + 1, _FEW_LANDMARKS, _SHARE_OF_AVAILABLE * available):
        return []
    return [
        f"rank_ is {rank}, where {available} landmarks could be had: the kernel hardly tells rows apart, or by a few "
        "large columns only. Scale the columns of X, as StandardScaler does, or raise gamma."
    ]


def _different_scales(rows: RowStore, kernel: Kernel) -> list[str]:
    # of its own, so that a fit is the same with and without
    sample = rows.take(rows.draw(_N_ROWS, np.random.RandomState(0)))
    deviations, ranges = _scales(sample)
    vary = np.flatnonzero((deviations > 0) & np.isfinite(deviations))
    if len(vary) < 2:
        return []
    least, most = vary[deviations[vary].argmin()], vary[deviations[vary].argmax()]
    apart = min(deviations[most] / deviations[least], ranges[most] / ranges[least])
    if not apart > _MOST_SCALES_APART:
        return []
    return [
        f"The scales of the columns of X differ by {apart:.1g}: column {most} has the standard deviation "
        f"{deviations[most]:.3g}, and column {least} {deviations[least]:.3g}, which hardly counts beside it. Scale the "
        "columns, as StandardScaler does."
    ]


def _scales(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Standard deviation and range of each column."""
    if sparse.issparse(X):
        X = X.astype(np.float64)
        mean = np.asarray(X.mean(axis=0)).ravel()
        square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        ranges = (X.max(axis=0) - X.min(axis=0)).toarray().ravel()
        # constant columns have a range of 0, and rounding error for a deviation
        return np.sqrt(np.maximum(square - mean**2, 0)) * (ranges > 0), ranges
    X = np.asarray(X, dtype=np.float64)
    ranges = np.ptp(X, axis=0) if len(X) else np.zeros(X.shape[1])
    return X.std(axis=0) * (ranges > 0), ranges
