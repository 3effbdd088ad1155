"""Predictions for rows that were left out, by the mean of least squares with the kernels that suit the rows.

Every kernel and gamma is judged by its held-out errors, first on few rows with few landmarks; those that are left
predict all rows. Columns come twice, scaled as asked and as ranks: ranks suit columns with long tails.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.utils import check_random_state

from unisvm import engine
from unisvm.model_selection.axes import Axes, KernelChoice
from unisvm.model_selection.folds import SearchJob, kernel_choices, whole_rows
from unisvm.parallel import blas_threads, count_threads, run
from unisvm.progress import Report
from unisvm.robust_scale import weighted_medians
from unisvm.rows import MemoryRows
from unisvm.rows.mapped import StoredRows
from unisvm.wrong_labels.held_out_squares import HeldOutSquares

# Rounds in which kernels are judged: on at most so many rows, with at most so many landmarks; so many kernels are left.
_ROUNDS = ((1500, 250, 6), (5000, 1000, 4))
# values of C that are compared, for rows of weight 1 and a kernel with k(x, x) = 1
_CS = np.geomspace(1e-3, 1e3, 19)
# most numbers in the predictions of some columns at all C
_MAX_PREDICTIONS = 2**23
# residuals below this share of the typical one say no more of the spread
_LEAST_SIZE = 0.05
# rounds in which wild targets are replaced by their prediction, and robust deviations from it that make them wild
_TAMING_ROUNDS, _DEVIATIONS, _TO_DEVIATION = 4, 3.0, 1.4826


class Candidate(NamedTuple):
    """A kernel, and the job with the columns that it takes."""

    job: SearchJob
    choice: KernelChoice
    is_ranked: bool

    @property
    def name(self) -> str:
        """The kernel, for people."""
        return f"{self.choice.name}{' of ranks' if self.is_ranked else ''}"


class Judged(NamedTuple):
    """A kernel with the C of its least held-out error.

    Attributes
    ----------
    candidate : Candidate
    error : float
    C : float
    spread_C : float
        That of the least error of the logarithms of the residuals' sizes, for real targets.
    predictions, log_spread : ndarray of shape (n_rows, n_columns)
        In training units, for the rows that it was judged on; the second is 0 for labels.
    """

    candidate: Candidate
    error: float
    C: float
    spread_C: float
    predictions: np.ndarray
    log_spread: np.ndarray


class HeldOut(NamedTuple):
    """Held-out predictions in training units, with the targets that they are of.

    Attributes
    ----------
    row_indices : ndarray of int of shape (n_present,)
        The rows of positive weight.
    predictions, spread, targets : ndarray of shape (n_present, n_columns)
        The second is how large residuals are around each row; 1 for labels.
    kernels : list of str
    """

    row_indices: np.ndarray
    predictions: np.ndarray
    spread: np.ndarray
    targets: np.ndarray
    kernels: list[str]


def held_out_predictions(
    job: SearchJob, axes: Axes, folds: np.ndarray | None, report: Report, *, with_ranks: bool
) -> HeldOut:
    """Mean predictions of the best kernels for each row by fits without it, or without its fold.

    Parameters
    ----------
    job : SearchJob
    axes : Axes
        Its kernels and values of gamma.
    folds : ndarray of int of shape (n_samples,) or None
    report : Report
    with_ranks : bool
        Whether the columns are tried as ranks, too.
    """
    left = [Candidate(job, choice, False) for choice in kernel_choices(axes, job)]
    ranked = _ranked(job) if with_ranks else None
    if ranked is not None:
        left += [Candidate(ranked, choice, True) for choice in kernel_choices(axes, ranked)]
    present = np.flatnonzero(job.weights)
    judged: list[Judged] = []
    subset = None
    with report.stage("kernels"):
        for n_rows, rank, n_left in _ROUNDS:
            subset = _sample(job, present, n_rows)
            judged = sorted(_judge_all(left, subset, rank, folds), key=lambda each: each.error)[:n_left]
            left = [each.candidate for each in judged]
    for each in judged:
        report.say(f"{each.candidate.name}: held-out error {each.error:.4g} with C = {each.C:.3g}")
    predictions, log_spread = np.zeros(1), np.zeros(1)
    for each in judged:
        if subset is not None:
            with report.stage("predictions", each.candidate.name):
                each = _predict(each, folds)
        predictions = predictions + each.predictions / len(judged)
        log_spread = log_spread + each.log_spread / len(judged)
    targets = whole_rows(job)[0].targets
    kernels = [each.candidate.name for each in judged]
    return HeldOut(present, predictions, np.exp(log_spread), targets, kernels)


def _ranked(job: SearchJob) -> SearchJob | None:
    """The job with ranks in place of columns, scaled to (0, 1]; None where that would change nothing, or X is not an
    array in memory."""
    X = job.X
    if sparse.issparse(X) or isinstance(X, StoredRows):
        return None
    most, least = X.max(axis=0), X.min(axis=0)
    if ((most == X) | (least == X)).all():
        return None
    ranks = rankdata(X, axis=0) / len(X)
    return job._replace(X=ranks.astype(X.dtype))


def _sample(job: SearchJob, present: np.ndarray, n_rows: int) -> np.ndarray | None:
    """Indices of so many rows; None for all."""
    if len(present) <= n_rows:
        return None
    return np.sort(check_random_state(job.template.random_state).permutation(present)[:n_rows])


def _judge_all(
    candidates: Sequence[Candidate], subset: np.ndarray | None, rank: int, folds: np.ndarray | None
) -> list[Judged]:
    """Kernels judged on the same rows, each in a thread."""
    stores = {}
    for candidate in candidates:
        if candidate.is_ranked not in stores:
            stores[candidate.is_ranked] = whole_rows(candidate.job, subset)[0].with_threads(1)
    n_threads = min(count_threads(candidates[0].job.template.n_jobs), len(candidates))
    tasks = [partial(_judge, candidate, stores[candidate.is_ranked], rank, folds) for candidate in candidates]
    with blas_threads(1):
        return run(tasks, n_threads)


def _judge(candidate: Candidate, rows: MemoryRows, rank: int, folds: np.ndarray | None) -> Judged:
    """A kernel with the C of its least held-out error."""
    settings = candidate.job.few_landmarks(rank).settings(candidate.choice)
    rng = check_random_state(candidate.job.template.random_state)
    basis = engine.choose_basis(rows, settings, rng)
    features = basis.feature_map.build(rows)
    Cs = _CS / _unit(rows, basis.kernel)
    held_out = HeldOutSquares(rows, basis.feature_map, features, Cs, _folds_of(rows, folds))
    targets = rows.targets.astype(np.float64)
    if not settings.is_margin:
        return _judge_real(candidate, held_out, targets, rows.weights, Cs)
    errors = _errors(held_out, targets, rows.weights, len(Cs))
    best = int(errors.argmin())
    predictions = held_out.predictions(targets, slice(best, best + 1))[0]
    C = float(Cs[best])
    return Judged(candidate, float(errors[best]), C, C, predictions, np.zeros_like(predictions))


def _judge_real(
    candidate: Candidate, held_out: HeldOutSquares, targets: np.ndarray, weights: np.ndarray, Cs: np.ndarray
) -> Judged:
    """The same for real targets, with the spread of their residuals."""
    error, best, predictions = _robust_predictions(held_out, targets, weights)
    logs = _log_sizes(targets - predictions)
    of_spread = _errors(held_out, logs, weights, len(Cs))
    at = int(of_spread.argmin())
    log_spread = held_out.predictions(logs, slice(at, at + 1))[0]
    return Judged(candidate, error, float(Cs[best]), float(Cs[at]), predictions, log_spread)


def _log_sizes(residuals: np.ndarray) -> np.ndarray:
    """Logarithms of the residuals' sizes, none of them far below the typical one."""
    sizes = np.abs(residuals)
    least = np.maximum(_LEAST_SIZE * np.median(sizes, axis=0), np.finfo(np.float32).tiny)
    return np.log(np.maximum(sizes, least))


def _predict(judged: Judged, folds: np.ndarray | None) -> Judged:
    """The same with predictions for all rows of positive weight, by all landmarks that the settings allow."""
    job = judged.candidate.job
    rows, _ = whole_rows(job)
    settings = job.settings(judged.candidate.choice)
    basis = engine.choose_basis(rows, settings, check_random_state(job.template.random_state))
    of_rows = _folds_of(rows, folds)
    n_folds = 1 if of_rows is None else int(of_rows.max()) + 1
    moments = 8 * n_folds * basis.feature_map.rank**2 * (rows.n_threads + 1)
    with blas_threads(rows.n_threads):
        features = engine.build_features(rows, settings, basis, reserved=moments)
        Cs = np.array([judged.C, judged.spread_C])
        held_out = HeldOutSquares(rows, basis.feature_map, features, Cs, of_rows)
        targets = rows.targets.astype(np.float64)
        if settings.is_margin:
            predictions = held_out.predictions(targets, slice(0, 1))[0]
            return judged._replace(predictions=predictions, log_spread=np.zeros_like(predictions))
        predictions = _robust_predictions(held_out, targets, rows.weights, slice(0, 1))[2]
        log_spread = held_out.predictions(_log_sizes(targets - predictions), slice(1, 2))[0]
        return judged._replace(predictions=predictions, log_spread=log_spread)


def _unit(rows: MemoryRows, kernel) -> float:
    """Mean k(x, x) of the rows, each counted by its weight."""
    some = np.linspace(0, rows.n_rows - 1, min(rows.n_rows, 1000)).astype(np.intp)
    unit = float(rows.diagonal(kernel, some).mean() * rows.weights.mean())
    return unit if unit > np.finfo(float).tiny else 1.0


def _folds_of(rows: MemoryRows, folds: np.ndarray | None) -> np.ndarray | None:
    """Folds of the rows of a store, from 0 on."""
    if folds is None:
        return None
    return np.unique(folds[rows.row_indices(np.arange(rows.n_rows))], return_inverse=True)[1]


def _errors(held_out: HeldOutSquares, targets: np.ndarray, weights: np.ndarray, n_C: int) -> np.ndarray:
    """Mean squared held-out error at every C, of as many columns at a time as memory allows."""
    at_once = max(_MAX_PREDICTIONS // (n_C * len(targets)), 1)
    total = np.zeros(n_C)
    for low in range(0, targets.shape[1], at_once):
        part = targets[:, low : low + at_once]
        total += np.average(np.square(part - held_out.predictions(part)).sum(axis=2), axis=1, weights=weights)
    return total / targets.shape[1]


def _robust_predictions(
    held_out: HeldOutSquares, y: np.ndarray, weights: np.ndarray, Cs: slice = slice(None)
) -> tuple[float, int, np.ndarray]:
    """Error, index of the best C, and its predictions, when wild targets are replaced by their prediction."""
    median = weighted_medians(y, weights)
    reach = _DEVIATIONS * _TO_DEVIATION * weighted_medians(np.abs(y - median), weights)
    tamed = np.clip(y, median - reach, median + reach) if (reach > 0).all() else y
    for _ in range(_TAMING_ROUNDS):
        predictions = held_out.predictions(tamed, Cs)
        residuals = y - predictions
        deviation = _TO_DEVIATION * np.min([weighted_medians(np.abs(each), weights) for each in residuals], axis=0)
        deviation = np.maximum(deviation, np.finfo(np.float32).eps)
        cut = np.clip(residuals, -_DEVIATIONS * deviation, _DEVIATIONS * deviation)
        errors = np.average(np.square(cut).mean(axis=2), axis=1, weights=weights)
        best = int(errors.argmin())
        tamed = np.where(cut[best] == residuals[best], y, predictions[best])
    return float(errors[best]), best, predictions[best]
