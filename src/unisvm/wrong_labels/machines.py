"""Predictions for rows that were left out, by the mean of least squares with the kernels that suit the rows.

Every kernel and gamma is judged by its held-out errors, first on few rows with few landmarks; those that are left predict
all rows. Columns come twice, scaled as asked and as ranks: ranks suit columns with long tails.
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
from unisvm.losses.base import CLASSIFICATION
from unisvm.model_selection.axes import Axes, KernelChoice
from unisvm.model_selection.base import kernel_choices
from unisvm.model_selection.folds import SearchJob, whole_rows
from unisvm.parallel import blas_threads, count_threads, run
from unisvm.progress import Report
from unisvm.robust_scale import weighted_medians
from unisvm.rows import MemoryRows
from unisvm.rows.mapped import StoredRows
from unisvm.wrong_labels.held_out_squares import HeldOutSquares

# Rounds in which kernels are judged: on at most so many rows, with at most so many landmarks; and so many kernels are left.
_ROUNDS = ((1500, 250, 6), (5000, 800, 4))
# values of C that are compared, for rows of weight 1 and a kernel with k(x, x) = 1
_CS = np.geomspace(1e-3, 1e3, 19)
# most numbers in the predictions of some columns at all C
_MAX_PREDICTIONS = 2**23
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
    predictions : ndarray of shape (n_rows, n_columns)
        In training units, for the rows that it was judged on.
    """

    candidate: Candidate
    error: float
    C: float
    predictions: np.ndarray


class HeldOut(NamedTuple):
    """Held-out predictions in training units, with the targets that they are of.

    Attributes
    ----------
    row_indices : ndarray of int of shape (n_present,)
        The rows of positive weight.
    predictions, targets : ndarray of shape (n_present, n_columns)
    kernels : list of str
    """

    row_indices: np.ndarray
    predictions: np.ndarray
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
    with report.stage("kernels"):
        for n_rows, rank, n_left in _ROUNDS:
            subset = _sample(job, present, n_rows)
            if judged and subset is None and n_last is None:
                break
            n_last = subset
            judged = sorted(_judge_all(left, subset, rank, folds), key=lambda each: each.error)[:n_left]
            left = [each.candidate for each in judged]
    for each in judged:
        report.say(f"{each.candidate.name}: held-out error {each.error:.4g} with C = {each.C:.3g}")
    judged = judged[: _ROUNDS[-1][2]]
    names = [each.candidate.name for each in judged]
    total: np.ndarray | float = 0.0
    if subset is None:
        total = np.sum([each.predictions for each in judged], axis=0)
    else:
        for each in judged:
            with report.stage("predictions", each.candidate.name):
                total = total + _predict(each, folds)
    targets = whole_rows(job)[0].targets
    return HeldOut(present, np.asarray(total) / len(judged), targets, names)


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
    if settings.is_margin:
        errors = _errors(held_out, targets, rows.weights, len(Cs))
        best = int(errors.argmin())
        return Judged(candidate, float(errors[best]), float(Cs[best]), held_out.predictions(targets, slice(best, best + 1))[0])
    error, best, predictions = _robust_predictions(held_out, targets, rows.weights)
    return Judged(candidate, error, float(Cs[best]), predictions)


def _predict(judged: Judged, folds: np.ndarray | None) -> np.ndarray:
    """Held-out predictions for all rows of positive weight, with the landmarks that the settings allow."""
    job = judged.candidate.job
    rows, _ = whole_rows(job)
    settings = job.settings(judged.candidate.choice)
    basis = engine.choose_basis(rows, settings, check_random_state(job.template.random_state))
    of_rows = _folds_of(rows, folds)
    n_folds = 1 if of_rows is None else int(of_rows.max()) + 1
    rank = basis.feature_map.rank
    with blas_threads(rows.n_threads):
        features = engine.build_features(rows, settings, basis, reserved=8 * n_folds * rank**2 * (rows.n_threads + 1))
        held_out = HeldOutSquares(rows, basis.feature_map, features, np.array([judged.C]), of_rows)
        targets = rows.targets.astype(np.float64)
        if settings.is_margin:
            return held_out.predictions(targets)[0]
        return _robust_predictions(held_out, targets, rows.weights)[2]


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
    held_out: HeldOutSquares, y: np.ndarray, weights: np.ndarray
) -> tuple[float, int, np.ndarray]:
    """Error, index of the best C, and its predictions, when wild targets are replaced by their prediction."""
    median = weighted_medians(y, weights)
    reach = _DEVIATIONS * _TO_DEVIATION * weighted_medians(np.abs(y - median), weights)
    tamed = np.clip(y, median - reach, median + reach) if (reach > 0).all() else y
    for _ in range(_TAMING_ROUNDS):
        predictions = held_out.predictions(tamed)
        residuals = y - predictions
        deviation = _TO_DEVIATION * np.min([weighted_medians(np.abs(each), weights) for each in residuals], axis=0)
        deviation = np.maximum(deviation, np.finfo(np.float32).eps)
        cut = np.clip(residuals, -_DEVIATIONS * deviation, _DEVIATIONS * deviation)
        errors = np.average(np.square(cut).mean(axis=2), axis=1, weights=weights)
        best = int(errors.argmin())
        tamed = np.where(cut[best] == residuals[best], y, predictions[best])
    return float(errors[best]), best, predictions[best]
