"""C from the data: leave-one-out errors of least squares at every C, from one spectrum, carried over to the loss.

The minimiser of Σ s (y − f)² + ‖f‖²/(2C), fitted without row i, misses y_i by

    e_i = (y_i − f_i) / (1 − s_i h_i),    h_i = 1/Σs + pᵢᵀ (Σ s p pᵀ + I/(2C))⁻¹ pᵢ    (features p about their mean)

so that one eigendecomposition gives the errors of all rows at all C. Wrong labels raise the error at a large C more
than at a small one: the C of small errors falls as labels get worse. The choice is a mean of log C, in which a C counts
by how close its error comes to the least one. Real targets further than three
robust deviations from their own prediction are replaced by it, round by round, so that wild ones do not decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unisvm.checkpoint import Arrays
from unisvm.held_out import HeldOut
from unisvm.losses.base import Loss
from unisvm.memory_budget import feature_bytes
from unisvm.nystrom.base import BaseFeatureMap
from unisvm.nystrom.column_map import dense
from unisvm.nystrom.gram import weighted_moments
from unisvm.parallel import in_threads
from unisvm.robust_scale import weighted_medians
from unisvm.rows import RowStore
from unisvm.rows.distinct import distinct_rows

# values of C that are compared, for rows of weight 1 and a kernel with k(x, x) = 1
_CS = np.geomspace(1e-3, 1e4, 29)
# Where k(x, x) grows with x, higher ones follow as long as the highest is best, up to so many in all.
_MOST_CS = 85
# C is chosen for the function on the first so many landmarks, and on so many rows: at least, and for each landmark
_MAX_RANK, _MIN_ROWS, _ROWS_A_LANDMARK = 1000, 5000, 5
# Multiples of the C of least squares, in units of the losses' curvature, that were best on average: for labels of two
# classes, for pairs of many classes, and for real targets (benchmarks/c_units.py); and for labels where there are more
# columns than rows (benchmarks/linear.py).
_SHARE_TWO_CLASSES, _SHARE_PAIRS, _SHARE_REAL, _SHARE_WIDE = 2.0, 1.25, 0.6, 0.3
# The weight of a C falls with (error/least error) to the power of this share of the number of rows. With 40 % wrong
# labels the errors are flat, and the C of the least one is a matter of chance: on the two-class sets of
# benchmarks/defaults.py the mean was better by 0.8 points on 2,500 rows and by 1.1 on 500, and with fewer wrong labels
# worse by 0.1 at most.
_SHARPNESS = 0.025
# a loss that is straight at u = 1 counts as curved by this share of its slope there
_LEAST_CURVATURE = 0.4
_CURVATURE_STEP = 0.05
# rounds in which wild targets are replaced by their prediction, and robust deviations from it that make them wild
_ROUNDS, _DEVIATIONS = 4, 3.0
_TO_DEVIATION = 1.4826
_MAX_LEVERAGE = 1 - 1e-6
# Of more columns so many rows are sampled; if they are dense, so many numbers, and at least so many rows.
_WIDE_ROWS, _WIDE_NUMBERS, _FEWEST_ROWS = 10_000, 10_000_000, 1000
# Of more columns than rows the squared errors of labels favour too high a C, since they punish a function for being
# short. The lowest C is taken that brings this share of what the best one gains (benchmarks/linear.py).
_SHARE_OF_GAIN = 0.9
_NO_C = (
    "C='auto' finds no C: errors of least squares overflow, or vanish. Scale y and the columns of X, as StandardScaler "
    "does, or give C as a number."
)
# most numbers in the predictions of some columns at all C
_MAX_PREDICTIONS = 2**23


class CChoice(NamedTuple):
    """The C that was chosen for a loss.

    Attributes
    ----------
    C : float
    Cs, errors : ndarray of shape (n_C,)
        Values of C for least squares, and the mean squared leave-one-out error of each.
    """

    C: float
    Cs: np.ndarray
    errors: np.ndarray

    def state(self) -> Arrays:
        """The choice as arrays."""
        return {"C": np.array(self.C), "Cs": self.Cs, "errors": self.errors}

    @classmethod
    def from_state(cls, state: Arrays) -> CChoice:
        """Inverse of `state`."""
        return cls(float(state["C"]), state["Cs"], state["errors"])


def mean_choice(choices: Sequence[CChoice]) -> CChoice:
    """The mean of what suits several sets of rows: of C by its logarithm, and of the errors."""
    n_Cs = min(len(choice.Cs) for choice in choices)
    Cs, errors = (np.array([each[:n_Cs] for each in arrays]) for arrays in zip(*(c[1:] for c in choices), strict=True))
    C = float(np.exp(np.mean([np.log(choice.C) for choice in choices])))
    return CChoice(C, np.exp(np.log(Cs).mean(axis=0)), errors.mean(axis=0))


class SampledRows(NamedTuple):
    """Distinct rows of a sample: features in the orthonormal basis, mean targets, and weights."""

    features: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    mean_diagonal: float
    #: whether there are too many features for a spectrum
    is_wide: bool = False
    #: whether k(x, x) is a scale of f
    is_judged_by_trace: bool = True


def choose_Cs(
    sampled: SampledRows, losses: Sequence[Loss], *, is_margin: bool, fit_intercept: bool, is_pairs: bool
) -> list[CChoice]:
    """C for each of some losses, all by the same leave-one-out errors of least squares.

    Parameters
    ----------
    sampled : SampledRows
    losses : sequence of Loss
    is_margin, fit_intercept : bool
    is_pairs : bool
        Whether the losses are those of pairs of classes, and the targets those of each class against the rest.
    """
    weights = sampled.weights
    unit = sampled.mean_diagonal * weights.mean()
    if unit < np.finfo(float).tiny:
        # all rows are 0, and any C does
        unit = 1.0
    # ‖f‖² is in units of k(x, x), and a row counts by its weight
    Cs = _CS / unit
    errors, residuals, weights = _errors(sampled, Cs, is_margin, fit_intercept)
    # a few large columns may have made the unit
    while not sampled.is_judged_by_trace and errors.argmin() == len(Cs) - 1 and len(Cs) < _MOST_CS:
        Cs = np.concatenate([Cs, _CS[1:] * (Cs[-1] / _CS[0])])
        errors, residuals, weights = _errors(sampled, Cs, is_margin, fit_intercept)
    if is_margin:
        share = _SHARE_PAIRS if is_pairs else _SHARE_TWO_CLASSES
        curvatures = [_margin_curvature(loss) for loss in losses]
    else:
        share = _SHARE_REAL
        curvatures = [_residual_curvature(loss, residuals, weights) for loss in losses]
    if is_margin and sampled.is_wide:
        C, share = _lowest_C(Cs, errors, _SHARE_OF_GAIN), _SHARE_WIDE
    else:
        C = _mean_C(Cs, errors, weights)
    # least squares has curvature 2
    found = [CChoice(float(share * C * 2 / curvature), Cs, errors) for curvature in curvatures]
    if not all(0 < choice.C < np.inf for choice in found):
        raise ValueError(_NO_C)
    return found


def _errors(
    sampled: SampledRows, Cs: np.ndarray, is_margin: bool, fit_intercept: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Errors of least squares at every C, and the residuals at the best C with the weights of their rows."""
    estimate = (HeldOut if sampled.is_wide else LeaveOneOut)(sampled.features, sampled.weights, Cs, fit_intercept)
    weights = sampled.weights[estimate.rows]
    if not is_margin:
        return *_robust_errors(estimate, sampled.targets, sampled.weights), weights
    residuals = sampled.targets[estimate.rows] - estimate.predictions(sampled.targets)
    errors = _column_means(residuals**2, weights).mean(axis=1)
    return errors, residuals[errors.argmin()], weights


def _mean_C(Cs: np.ndarray, errors: np.ndarray, weights: np.ndarray) -> float:
    """Geometric mean of the values of C, weighted by how close their errors come to the least one."""
    shares = weights / weights.sum()
    # as many rows of equal weight would have means of the same variance
    n_rows = 1 / (shares**2).sum()
    errors = np.maximum(errors, np.finfo(float).tiny)
    return float(np.exp(np.average(np.log(Cs), weights=(errors / errors.min()) ** (-_SHARPNESS * n_rows))))


def _lowest_C(Cs: np.ndarray, errors: np.ndarray, share: float) -> float:
    """The lowest C with this share of what the best one gains over the lowest of all.

    It is interpolated, so that rounding does not decide between two values.
    """
    level = errors.min() + (1 - share) * (errors[0] - errors.min())
    first = int((errors <= level).argmax())
    if first == 0:
        return float(Cs[0])
    above, below = errors[first - 1 : first + 1]
    part = (above - level) / (above - below)
    return float(np.exp((1 - part) * np.log(Cs[first - 1]) + part * np.log(Cs[first])))


def loo_bytes(n_rows: int, rank: int, dtype: np.dtype, *, of_columns: bool = False, is_sparse: bool = False) -> int:
    """Bytes of the features that C is chosen on, in two bases, and of the matrices between these."""
    if of_columns and rank > _MAX_RANK:
        # sparse ones take as much as they do in X
        return 0 if is_sparse else 2 * feature_bytes(min(_wide_sample_size(rank), n_rows), rank, dtype)
    rank = min(rank, _MAX_RANK)
    return 2 * feature_bytes(min(_sample_size(rank), n_rows), rank, dtype) + 2 * rank**2 * dtype.itemsize


def _sample_size(rank: int) -> int:
    return max(_ROWS_A_LANDMARK * rank, _MIN_ROWS)


def _wide_sample_size(rank: int, is_sparse: bool = False) -> int:
    return _WIDE_ROWS if is_sparse else min(max(_WIDE_NUMBERS // rank, _FEWEST_ROWS), _WIDE_ROWS)


def read_distinct(
    rows: RowStore, feature_map: BaseFeatureMap, features: Any, rng: np.random.RandomState
) -> SampledRows:
    """Rows that C is chosen on: all, or a sample drawn by weight.

    Rows that are the same become one with the sum of their weights. Copies would tell each other's targets when one of
    them is left out, and a row of weight 2 is a row given twice.
    """
    is_wide = not feature_map.has_landmarks and feature_map.rank > _MAX_RANK
    if is_wide:
        n_sampled = _wide_sample_size(feature_map.rank, rows.is_sparse)
    else:
        n_sampled = _sample_size(min(feature_map.rank, _MAX_RANK))
    indices, weights = rows.weighted_subsample(n_sampled, rng)
    if is_wide:
        order = rng.permutation(len(indices))
        indices, weights = indices[order], weights[order]
    if n_sampled < rows.n_rows:
        weights = weights * (rows.total_weight / rows.n_rows)
    subset = rows.subset(indices, weights)
    first, group = _in_the_order_of_rows(*distinct_rows(subset.X))
    targets = subset.targets.astype(np.float64)
    if len(first) < len(indices):
        totals = np.bincount(group, weights)
        targets = np.stack([np.bincount(group, weights * column) for column in targets.T], axis=1) / totals[:, None]
        indices, weights = indices[first], totals
    if is_wide:
        values = feature_map.build(subset.subset(first, weights))
        values = feature_map.whitener(values.dtype)(values)
    else:
        values = _orthonormal(rows, feature_map, features, indices)
    diagonal = feature_map.diagonal(rows, indices, values)
    mean_diagonal = float(np.average(diagonal, weights=weights))
    return SampledRows(values, targets, weights, mean_diagonal, is_wide, feature_map.kernel.is_judged_by_trace)


def _orthonormal(rows: RowStore, feature_map: BaseFeatureMap, features: Any, indices: np.ndarray) -> np.ndarray:
    """Features of these rows in the orthonormal basis, of the first landmarks if there are many."""
    rank = min(feature_map.rank, _MAX_RANK)
    values = rows.map_rows(lambda block: dense(block[:, :rank]), features, indices)
    whiten = feature_map.whitener(values.dtype, rank)
    in_threads(lambda part: whiten(values[part]), len(values), values.size * rank)
    return values


def _in_the_order_of_rows(first: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Kinds of rows by the first row of each."""
    order = np.argsort(first)
    return first[order], np.argsort(order)[group]


class LeaveOneOut:
    """Predictions of least squares for each row when it is left out, at several C.

    Parameters
    ----------
    P : ndarray of shape (n_rows, rank)
        Features in an orthonormal basis.
    weights : ndarray of shape (n_rows,)
    Cs : ndarray of shape (n_C,)
    fit_intercept : bool
    """

    #: all rows are predicted, and each by the targets of the others
    rows = slice(None)
    uses_all_targets = True

    def __init__(self, P: np.ndarray, weights: np.ndarray, Cs: np.ndarray, fit_intercept: bool):
        total = weights.sum()
        matrix, mean = weighted_moments(P, weights / total)
        if fit_intercept:
            matrix -= np.tril(np.outer(mean, mean))
            P = P - mean.astype(P.dtype)
        if not np.isfinite(matrix).all():
            raise ValueError(_NO_C)
        values, vectors = np.linalg.eigh(matrix.astype(P.dtype))
        values = np.maximum(values, np.finfo(P.dtype).eps * values.max(initial=0.0)).astype(np.float64)
        self._features = P @ vectors
        self._shares = weights / total
        self._intercept = fit_intercept
        #: of shape (rank, n_C)
        self._filters = 1 / (values[:, None] + 1 / (2 * Cs * total))
        h = (self._features**2 @ self._filters.astype(P.dtype)).astype(np.float64) + float(fit_intercept)
        #: of shape (n_C, n_rows, 1)
        self._remaining = 1 - np.minimum(self._shares[:, None] * h, _MAX_LEVERAGE).T[:, :, None]

    def predictions(self, y: np.ndarray) -> np.ndarray:
        """Predictions at every C, of shape (n_C, n_rows, n_columns), for targets of shape (n_rows, n_columns)."""
        n_C, at_once = self._filters.shape[1], max(_MAX_PREDICTIONS // self._remaining.size, 1)
        found = np.empty((n_C, *y.shape))
        for low in range(0, y.shape[1], at_once):
            part = y[:, low : low + at_once]
            mean = self._shares @ part if self._intercept else np.zeros(part.shape[1])
            correlation = self._features.T @ (self._shares[:, None] * (part - mean)).astype(self._features.dtype)
            coefficients = (correlation[:, None] * self._filters[:, :, None]).astype(self._features.dtype)
            f = self._features @ coefficients.reshape(len(coefficients), -1)
            f = np.moveaxis(f.reshape(len(f), n_C, -1), 1, 0) + mean
            found[:, :, low : low + at_once] = part - (part - f) / self._remaining
        return found


def _column_means(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted means over the rows, of shape (n_C, n_columns)."""
    return np.asarray(np.average(values, axis=1, weights=weights))


def _robust_errors(
    estimate: LeaveOneOut | HeldOut, y: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Errors of real targets at every C, and the residuals at the best C; both of residuals cut at three deviations."""
    median = weighted_medians(y, weights)
    reach = _DEVIATIONS * _TO_DEVIATION * weighted_medians(np.abs(y - median), weights)
    tamed = np.clip(y, median - reach, median + reach) if (reach > 0).all() else y
    y, weights = y[estimate.rows], weights[estimate.rows]
    for _ in range(_ROUNDS if estimate.uses_all_targets else 1):
        residuals = y - estimate.predictions(tamed)
        deviation = _TO_DEVIATION * np.min([weighted_medians(np.abs(each), weights) for each in residuals], axis=0)
        deviation = np.maximum(deviation, np.finfo(np.float32).eps)
        cut = np.clip(residuals, -_DEVIATIONS * deviation, _DEVIATIONS * deviation)
        errors = _column_means(cut**2, weights).mean(axis=1)
        best = int(errors.argmin())
        if estimate.uses_all_targets:
            tamed = np.where(cut[best] == residuals[best], y, y - residuals[best])
    return errors, cut[best]


def _margin_curvature(loss: Loss) -> float:
    """ψ'' at u = 1, where the residuals are as long as f is small, and not much less than the slope there.

    Near there a loss of labels is least squares with another factor, and so with another C.
    """
    lower, slope, upper = loss.derivative(1 + _CURVATURE_STEP * np.array([-1.0, 0.0, 1.0]))
    curvature = max((upper - lower) / (2 * _CURVATURE_STEP), _LEAST_CURVATURE * slope)
    return float(curvature) if curvature > 0 else 2 * loss.A


def _residual_curvature(loss: Loss, residuals: np.ndarray, weights: np.ndarray) -> float:
    """Curvature of the parabola that has the loss's slope at these residuals, on average."""
    slope, squares = (weights @ values.sum(axis=1) for values in (residuals * loss.derivative(residuals), residuals**2))
    return float(slope / squares) if slope > 0 and squares > 0 else 2 * loss.A
