"""Warnings of fits that cannot be good: by the solver's end, the columns of X, and what landmarks leave out."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.sparsefuncs import mean_variance_axis

from unisvm._warnings import FitWarning, warn_caller
from unisvm.engine import FitSettings, Fitted
from unisvm.kernels import Kernel, Scaled
from unisvm.nystrom.signed_map import SignedFeatureMap
from unisvm.rows import RowStore
from unisvm.rows.distinct import distinct_rows
from unisvm.solvers.driver import StopReason

# a larger share of the trace that is left out is told of
_MOST_LEFT_OUT = 0.1
# Columns whose scales differ by more are told of. Rare ones of zeros and ones have small deviations, and large ranges
# after they were scaled: a scale counts as different only if both do.
_MOST_SCALES_APART = 1000.0
# With a larger share of the kernel in its negative part it is said to look like a distance: that of a matrix whose
# diagonal is zero is a half. Similarities of benchmarks/indefinite.py have 0.4 or less.
_MOST_NEGATIVE = 0.45
# rows that scales are estimated from
_N_ROWS = 1000
# So few landmarks, no more than a linear function of the columns needs, and a small share of what could be had, are
# those of a kernel in which columns have no part, or a linear one. Prepared sets of the benchmarks have 16 or more.
_FEW_LANDMARKS, _SHARE_OF_AVAILABLE = 15, 0.05
# Of so many rows, what is left of k(x, x) for a polynomial kernel. It counts if the penalty leaves this much of it,
# or a hundred times as much where nearly all landmarks are there; a smaller share of k(x, x) is rounding error itself.
# Prepared sets of the benchmarks have less left, or are in float32 and have more landmarks in float64.
_N_LEFT_ROWS, _COUNTS, _COUNTS_OF_FEW, _NEARLY_ALL, _LEAST_LEFT = 200, 0.5, 100, 0.85, 5e-15


def warn_unless_converged(
    reasons: list[StopReason], worst: float, settings: FitSettings, *, single: bool, is_krein: bool = False
) -> None:
    """Warn, with advice, when the solver did not reach the tolerance, unless a callback ended it.

    Parameters
    ----------
    reasons : list of StopReason
        Of all columns.
    worst : float
        The largest stationarity of a column.
    settings : FitSettings
    single : bool
        Whether the fit is in single precision.
    is_krein : bool
        Whether the regulariser is not convex.
    """
    if StopReason.CALLBACK in reasons:
        return
    if StopReason.MAX_ITER in reasons:
        advice = "Raise max_iter, or raise tol, or lower C, or scale the columns of X."
        if is_krein:
            advice = "With indefinite='krein' the loss may have no minimum to come to: use 'flip', or raise max_iter."
        why = f"after max_iter={settings.max_iter} iterations "
    elif StopReason.PRECISION in reasons and worst > settings.tol:
        advice = f"Scale the columns of X,{' or give it in float64,' if single else ''} or lower C, or raise tol."
        why = "where no further decrease can be told from rounding error, "
    else:
        return
    warn_caller(
        f"The solver stopped {why}with stationarity {worst:.2g}, where tol={settings.tol:g} was asked for. {advice}",
        ConvergenceWarning,
    )


def warn_of_cells(rows: RowStore, kernel: Kernel, trace_errors: np.ndarray, ranks: np.ndarray) -> None:
    """Warn when the machines of cells cannot be good, by the share of the trace that each leaves out and its rank."""
    found = _different_scales(rows) if kernel.compares_columns else []
    left_out, most = float(trace_errors.mean()), int(ranks.max())
    if left_out > _MOST_LEFT_OUT:
        found.append(
            f"{most} landmarks leave out {100 * left_out:.0f} % of the kernel's trace in the average cell: what sets "
            f"apart rows far from all of them is lost. Raise rank, or lower cells{_smoother(kernel)}."
        )
    for message in found:
        warn_caller(message, FitWarning)


def warn_if_doubtful(rows: RowStore, fitted: Fitted, settings: FitSettings) -> None:
    """Warn when a fit cannot be good, saying why and what to do."""
    basis, trace_error = fitted.basis, fitted.trace_error
    kernel, feature_map = basis.kernel, basis.kernel_map
    rank = feature_map.rank
    found = []
    if kernel.compares_columns:
        found += _different_scales(rows)
    if rank == 1 and rows.n_rows > 1 and len(distinct_rows(rows.take(_evenly(rows)))[0]) == 1:
        found.append("All rows of X are the same, as far as was looked at: there is nothing to tell them apart by.")
    if basis.landmarks is not None:
        are_chosen = isinstance(settings.landmarks, str)
        highest = kernel.max_rank(rows.n_features)
        available = rows.n_rows if settings.rank is None else min(settings.rank, rows.n_rows)
        if not found and kernel.compares_columns and kernel.is_psd and are_chosen and rank < highest:
            found += _few_landmarks(rows, rank, available)
        if isinstance(feature_map, SignedFeatureMap):
            found += _negative_part(feature_map, trace_error, settings)
        elif trace_error > _MOST_LEFT_OUT:
            found.append(
                f"{rank} landmarks leave out {100 * trace_error:.0f} % of the kernel's trace: what sets apart rows far "
                f"from all of them is lost. Raise rank{_smoother(kernel)}."
            )
        elif not found and are_chosen and highest < np.inf and rank < min(available, highest):
            found += _lost_digits(rows, fitted, min(available, highest))
    for message in found:
        warn_caller(message, FitWarning)


def _smoother(kernel: Kernel) -> str:
    unscaled = kernel.kernel if isinstance(kernel, Scaled) else kernel
    return ", or lower gamma, or try kernel='linear'" if hasattr(unscaled, "gamma") else ""


def _negative_part(feature_map: SignedFeatureMap, trace_error: float, settings: FitSettings) -> list[str]:
    if feature_map.negative_share > _MOST_NEGATIVE:
        return [
            f"{100 * feature_map.negative_share:.0f} % of the kernel matrix is its negative part: k(x, z) looks like a "
            "distance. A kernel is a similarity, high for rows that are alike: use a function that falls with the "
            "distance d, such as exp(-d)."
        ]
    if trace_error <= _MOST_LEFT_OUT:
        return []
    advice = "indefinite='flip' keeps the negative part" if settings.indefinite == "clip" else "raise rank"
    return [f"{100 * trace_error:.0f} % of the kernel, by the sum of absolute eigenvalues, is left out: {advice}."]


def _few_landmarks(rows: RowStore, rank: int, available: int) -> list[str]:
    if rank > min(rows.n_features + 1, _FEW_LANDMARKS, _SHARE_OF_AVAILABLE * available):
        return []
    if len(distinct_rows(rows.take(_evenly(rows)))[0]) <= rank:
        # no more of them could be told apart
        return []
    return [
        f"rank_ is {rank}, where {available} landmarks could be had: the kernel hardly tells rows apart, or by a few "
        "large columns only. Scale the columns of X by scale='standard', or raise gamma."
    ]


def _lost_digits(rows: RowStore, fitted: Fitted, available: float) -> list[str]:
    kernel, feature_map = fitted.basis.kernel, fitted.basis.kernel_map
    if len(feature_map.factor) < feature_map.rank:
        # the model is from a checkpoint, where it was told of
        return []
    X, points = rows.take(_evenly(rows, _N_LEFT_ROWS)).astype(np.float64), feature_map.points.astype(np.float64)
    P = feature_map.from_values(kernel(X, points).T)
    diagonal = kernel.diagonal(X)
    left = np.maximum(diagonal - np.einsum("ij,ij->j", P, P), 0).mean()
    counts = _COUNTS if feature_map.rank < _NEARLY_ALL * available else _COUNTS_OF_FEW
    # at a low C, ‖f‖² holds down the directions that were dropped
    if left <= _LEAST_LEFT * diagonal.mean() or left * 2 * fitted.choice.C * rows.total_weight < counts:
        return []
    precise = " or give X in float64," if rows.dtype == np.float32 else ""
    return [
        f"rank_ is {feature_map.rank}: in {rows.dtype}, rounding error hides the rest of the kernel, which would "
        f"count at this C. Scale the columns of X by scale='standard',{precise} or lower C."
    ]


def _evenly(rows: RowStore, n: int = _N_ROWS) -> np.ndarray:
    """Store indices of so many rows, evenly spaced."""
    return np.linspace(0, rows.n_rows - 1, min(n, rows.n_rows)).astype(int)


def _different_scales(rows: RowStore) -> list[str]:
    sample = rows.take(_evenly(rows))
    ranges = _ranges(sample)
    vary = np.flatnonzero((ranges > 0) & np.isfinite(ranges))
    if len(vary) < 2 or not ranges[vary].max() / ranges[vary].min() > _MOST_SCALES_APART:
        return []
    deviations = _deviations(sample[:, vary])
    low, high = deviations.argmin(), deviations.argmax()
    least, most = vary[[low, high]]
    apart = min(deviations[high] / deviations[low], ranges[most] / ranges[least])
    if not apart > _MOST_SCALES_APART:
        return []
    return [
        f"The scales of the columns of X differ by {apart:.1g}: column {most} has the standard deviation "
        f"{deviations[high]:.3g}, and column {least} {deviations[low]:.3g}, which hardly counts beside it. Scale the "
        "columns by scale='standard', or by a scaler."
    ]


def _ranges(X: Any) -> np.ndarray:
    """Range of each column."""
    ends = X.max(axis=0), X.min(axis=0)
    most, least = (end.toarray().ravel() if sparse.issparse(end) else end for end in ends)
    return np.subtract(most, least, dtype=np.float64)


def _deviations(X: Any) -> np.ndarray:
    """Standard deviation of each column."""
    if sparse.issparse(X):
        return np.sqrt(mean_variance_axis(X.astype(np.float64), axis=0)[1])
    return X.std(axis=0, dtype=np.float64)
