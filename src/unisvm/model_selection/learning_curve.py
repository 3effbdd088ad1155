"""How much smaller residuals are for a fit to all rows than for fits that leave a fold out, by least squares.

The residuals r = y − H y of least squares, H = P (PᵀP + λI)⁻¹ Pᵀ, say what fits without the rows S miss these by:

    (I − H_SS)⁻¹ r_S

so that errors of fits without one fold, and of fits without two, come from one matrix. Where errors fall as a power of
the number of rows, these two say how much they fall from fits without a fold to the fit of all rows.
"""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from unisvm import engine
from unisvm.model_selection.axes import KernelChoice
from unisvm.model_selection.folds import SearchJob, whole_rows
from unisvm.nystrom.column_map import dense

# With more rows the residuals of five folds cover as the fit's own do (docs/intervals.md), and H takes longer.
_MOST_ROWS = 3000
# of more columns than that, as of a linear kernel, the matrix would take longer than the search
_MOST_COLUMNS = 1000
# more folds leave out too little to matter
_MOST_SPLITS = 20
# values of C of least squares that are compared, for features whose squared length is 1 on average
_CS = np.geomspace(0.01, 1000, 6)
# Targets further than so many robust deviations from their prediction are brought there, and of the errors the largest
# 5 % count as the next: a few of them must not decide.
_DEVIATIONS, _TO_DEVIATION, _USUAL = 3.0, 1.4826, 0.95


def residual_ratio(job: SearchJob, choice: KernelChoice, decision: np.ndarray) -> np.ndarray:
    """Residuals of a fit to all rows on rows that it did not see, as a share of those that are held out, by target.

    From √((k − 1)/k), for errors that fall with the root of the number of rows, to 1. It is 1 for many rows, for more
    than a thousand columns of a linear kernel, and where the splits are no partition of the rows into 3 to 20 parts.

    Parameters
    ----------
    job : SearchJob
    choice : KernelChoice
        The kernel.
    decision : ndarray of shape (n_samples, n_targets)
        Predictions for the rows left out.
    """
    y = job.y.reshape(len(job.y), -1)
    tests = [test for _, test in job.splits]
    present = np.flatnonzero(job.weights)
    n_splits = len(tests)
    is_partition = np.array_equal(np.sort(np.concatenate(tests)), np.arange(len(y)))
    if not (is_partition and 3 <= n_splits <= _MOST_SPLITS and len(present) <= _MOST_ROWS):
        return np.ones(y.shape[1])
    fold_of = np.empty(len(y), dtype=int)
    for k, test in enumerate(tests):
        fold_of[test] = k
    residuals = y - decision
    limit = _DEVIATIONS * _TO_DEVIATION * np.median(np.abs(residuals[present]), axis=0)
    usual = decision + np.clip(residuals, -limit, limit)
    job = job._replace(y=np.where(job.weights[:, None] > 0, usual, 0.0))
    one_fold, two_folds = _held_out_errors(job, choice, fold_of[present])
    slope = np.log(n_splits / (n_splits - 1)) / np.log((n_splits - 1) / (n_splits - 2))
    ratio = np.divide(one_fold, two_folds, out=np.ones_like(one_fold), where=two_folds > 0) ** slope
    return np.clip(ratio, np.sqrt(1 - 1 / n_splits), 1.0)


def _held_out_errors(job: SearchJob, choice: KernelChoice, fold_of: np.ndarray) -> np.ndarray:
    """Mean errors of fits without one fold and of fits without two, of shape (2, n_targets), at the best C.

    They are 1 where there are too many columns.
    """
    settings = job.few_landmarks().settings(choice)
    rows, _ = whole_rows(job)
    basis = engine.choose_basis(rows, settings, check_random_state(job.template.random_state))
    if basis.feature_map.rank > _MOST_COLUMNS:
        return np.ones((2, rows.targets.shape[1]))
    features = dense(basis.feature_map.build(rows))
    P = basis.feature_map.whitener(features.dtype)(features).astype(np.float64)
    y = rows.targets.astype(np.float64)
    weights = rows.take_weights(np.arange(len(y))).astype(np.float64)
    if settings.fit_intercept:
        P, y = (each - np.average(each, axis=0, weights=weights) for each in (P, y))
    P /= max(np.sqrt(np.mean(np.einsum("ij,ij->i", P, P))), np.finfo(float).tiny)
    root = np.sqrt(weights)[:, None]
    values, vectors = np.linalg.eigh((root * P).T @ (root * P))
    Q, values = root * (P @ vectors), np.maximum(values, 0)
    folds = [np.flatnonzero(fold_of == k) for k in np.unique(fold_of)]
    found = []
    for C in _CS:
        shares = 1 / (values + 1 / (2 * C))
        one = _errors(Q, shares, root * y, [(fold, fold[:0]) for fold in folds]) / root
        found.append((np.abs(one).mean(axis=0), C, one))
    errors = np.array([mean for mean, _, _ in found])
    result = np.empty((2, y.shape[1]))
    for target, best in enumerate(errors.argmin(axis=0).tolist()):
        _, C, one = found[best]
        pairs = [(fold, folds[(k + 1) % len(folds)]) for k, fold in enumerate(folds)]
        two = _errors(Q, 1 / (values + 1 / (2 * C)), root * y[:, [target]], pairs) / root
        result[:, target] = _usual_mean(one[:, target], weights), _usual_mean(two[:, 0], weights)
    return result


def _errors(
    Q: np.ndarray, shares: np.ndarray, y: np.ndarray, left_out: list[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    """Errors on the first rows of each pair, of fits without both, where H = Q diag(shares) Qᵀ."""
    residuals = y - Q @ (shares[:, None] * (Q.T @ y))
    errors = np.empty_like(y)
    for scored, others in left_out:
        rows = np.concatenate([scored, others])
        part = Q[rows]
        matrix = np.eye(len(rows)) - (part * shares) @ part.T
        errors[scored] = np.linalg.solve(matrix, residuals[rows])[: len(scored)]
    return errors


def _usual_mean(errors: np.ndarray, weights: np.ndarray) -> float:
    """Mean distance from 0, in which the largest are as large as the usual ones."""
    sizes = np.abs(errors)
    return float(np.average(np.minimum(sizes, np.quantile(sizes, _USUAL)), weights=weights))
