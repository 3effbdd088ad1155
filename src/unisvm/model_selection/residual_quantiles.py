"""Quantiles of the out-of-fold residuals as functions of the rows, for prediction intervals.

One batched solve of the smooth pinball loss for two quantiles, several C and all folds as columns, on the best kernel
and few landmarks. Its targets are the residuals, so that the quantiles become constant as C falls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from unisvm.kernel_expansion import KernelExpansion
from unisvm.losses import SmoothPinball
from unisvm.model_selection.axes import KernelChoice
from unisvm.model_selection.folds import SearchJob, Splits, fold
from unisvm.model_selection.held_out import solve_kernel
from unisvm.model_selection.intervals import PredictionIntervals, Residuals, Widths, interval_scores
from unisvm.model_selection.learning_curve import residual_ratio
from unisvm.parallel import blas_threads, count_threads
from unisvm.progress import Report
from unisvm.robust_scale import as_columns

#: kinds of intervals that a search fits
INTERVALS = ("auto", "constant")
# Levels of the quantiles, sharpness of the pinball loss in units of the residuals' scale, and values of C. On held-out
# training rows of the sets of docs/intervals.md, levels of 0.03 and 0.1, sharpness of 20 and 100, seven C from 0.01 to
# 30, and all landmarks changed the interval score by less than 1 %.
_LEVELS, _SHARPNESS, _CS = (0.05, 0.95), 5.0, np.geomspace(0.1, 30.0, 4)
# coverage whose interval score says whether widths that vary are better
_COVERAGE = 0.9
# of fewer rows the quantiles are those of a handful
_FEWEST_ROWS = 100
# folds of the residuals, where the splits of the search leave rows out of all scores
_N_SPLITS = 5


def fit_intervals(
    kind: str, job: SearchJob, choice: KernelChoice, decision: np.ndarray, report: Report
) -> PredictionIntervals:
    """Intervals of the best cell of a search.

    Parameters
    ----------
    kind : {"auto", "constant"}
        Whether widths vary with the rows where that lowers the interval score of the rows left out, or never.
    job : SearchJob
    choice : KernelChoice
        The best kernel.
    decision : ndarray of shape (n_samples, n_targets)
        Predictions for the rows left out; rows with NaN are passed over.
    report : Report
    """
    residuals = as_columns(job.y) - decision
    known = np.isfinite(residuals).all(axis=1) & (job.weights > 0)
    rows = np.flatnonzero(known)
    left_out = Residuals.of(residuals[rows], job.weights[rows].astype(np.float64))
    with report.stage("intervals"):
        if job.drawn is not None:
            # of some cells, which tell nothing of the widths in others
            return PredictionIntervals(left_out, np.ones(decision.shape[1]))
        with blas_threads(count_threads(job.template.n_jobs)):
            ratio = residual_ratio(job, choice, decision)
        if kind == "constant" or len(rows) < _FEWEST_ROWS:
            return PredictionIntervals(left_out, ratio)
        splits = job.splits if known[job.weights > 0].all() else _splits_of(rows)
        targets = np.where(known[:, None], residuals, 0.0)
        job = job._replace(y=targets, weights=np.where(known, job.weights, 0), splits=splits, score_params={})
        quantiles, values = _fit_quantiles(job, choice, report.within("intervals"))
    widths = Widths(quantiles, np.ones(len(ratio), dtype=bool), left_out.centre, left_out.least_width)
    of_rows = widths.of_quantiles(values[rows])
    widths = widths._replace(varies=_score(left_out, of_rows) < _score(left_out, np.ones_like(of_rows)))
    if not widths.varies.any():
        return PredictionIntervals(left_out, ratio)
    return PredictionIntervals(left_out, ratio, widths, widths.of_quantiles(values[rows]))


def _score(residuals: Residuals, of_rows: np.ndarray) -> np.ndarray:
    """Interval score of each target on the rows left out, with these widths there."""
    intervals = PredictionIntervals(residuals, np.ones(len(residuals.centre)), of_rows=of_rows)
    ends = intervals.ends(np.zeros_like(residuals.values), _COVERAGE, of_rows)
    return interval_scores(residuals.values + residuals.centre, ends, residuals.weights, _COVERAGE)


def _splits_of(rows: np.ndarray) -> Splits:
    """Splits of some rows into blocks, in their order."""
    return [(rows[train], rows[test]) for train, test in KFold(_N_SPLITS).split(rows)]


def _fit_quantiles(job: SearchJob, choice: KernelChoice, report: Report) -> tuple[KernelExpansion, np.ndarray]:
    """Functions for the lower quantile of each target, then for the upper one, and their values on the rows left out.

    The functions are means over the splits, each with the C of the least pinball loss on the rows left out.
    """
    job = job.few_landmarks()._replace(scorer=_no_score)
    losses = [SmoothPinball(tau=level, p=_SHARPNESS) for level in _LEVELS]
    n_rows, n_targets = job.y.shape
    least = np.full((len(losses), n_targets), np.inf)
    values = np.zeros((n_rows, len(losses), n_targets))
    duals: dict[tuple[int, int], Any] = {}
    with blas_threads(count_threads(job.template.n_jobs)):
        folds = fold(job)
        for result in solve_kernel(job, folds, losses, _CS, choice, report):
            for position, j in enumerate(result.losses.tolist()):
                left_out = result.decision[:, position].astype(np.float64)
                errors = _pinball_losses(job, left_out, _LEVELS[j])
                function = result.split_functions(folds, position).mean()
                for target in np.flatnonzero(errors < least[j]).tolist():
                    least[j, target] = errors[target]
                    values[:, j, target] = left_out[:, target]
                    duals[j, target] = function.dual_coef[target], function.intercept[target]
    chosen = [duals[cell] for cell in np.ndindex(least.shape)]
    dual_coef, intercept = (np.stack(parts) for parts in zip(*chosen, strict=True))
    return function._replace(dual_coef=dual_coef, intercept=intercept), values.reshape(n_rows, -1)


def _pinball_losses(job: SearchJob, predicted: np.ndarray, level: float) -> np.ndarray:
    """Mean pinball loss of each target over the rows of positive weight."""
    present = job.weights > 0
    u = job.y[present] - predicted[present]
    return np.average(np.maximum(level * u, (level - 1) * u), axis=0, weights=job.weights[present])


def _no_score(model: Any, X: Any, y: np.ndarray) -> float:
    """Nothing: the quantiles are judged target by target on all rows that were left out, and not split by split."""
    return 0.0
