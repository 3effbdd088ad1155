"""Rows whose label is contradicted by fits that did not see it, and whether a fit without such rows is better.

A loss judges a label by a fit that has seen it: a bounded one ignores a hard row as readily as a wrong label, and with
many classes in each column on its own. Fits that did not see the row, all columns together, tell these apart.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from unisvm.class_pairs import class_scores
from unisvm.losses.base import Loss
from unisvm.model_selection.axes import KernelChoice
from unisvm.model_selection.folds import Folds, SearchJob, Splits, fold
from unisvm.model_selection.held_out import CellResult, held_out_decisions, solve_kernel
from unisvm.model_selection.split_functions import SplitFunctions
from unisvm.parallel import blas_threads, count_threads
from unisvm.progress import Report

# A label is contradicted if another class is ahead of it by this share of the lead that the first class usually has.
_SHARE_OF_LEAD = 2 / 3
# if more of a class is contradicted, the fits do not know the class
_MOST_OF_A_CLASS = 0.95
# labels that are mostly right allow for less regularisation: so many values of C are tried
_N_CS = 2
# fewer suspects than this share of the rows are not looked into
_WORTH_IT = 0.03
# Fits that know fewer of the labels, beyond those that a guess would know, doubt too many of them. With 40 % of the
# labels of letter wrong, 2,500 rows reach 0.45, and are better by 3 points without suspects.
_KNOWN = 0.3
# Wrong labels are everywhere, and those of classes that overlap are where the fits are unsure. Among the tenth of the
# rows that the fits are surest of, the share with another label than the first class must be at least this much of the
# share of suspects among all. It was 0.8 to 1.4 on digits, letter, covtype and others with 20 or 40 % wrong labels, and
# below 0.75 on two in three of the overlapping Gaussian classes that seemed better without suspects.
_SUREST, _LEAST_SPREAD = 0.1, 0.75
# The mean score must rise by more than so many of its standard errors, and by so much, as an accuracy. Of 60 searches
# on 2,500 rows of Gaussian classes that overlap without a wrong label, it rose by a standard error in 10, by this in 1.
_LEAST_GAIN, _LEAST_RISE = 1.0, 0.005
# fits of fewer rows know too little to doubt a label
_FEWEST_ROWS = 500
# ten splits have 45 pairs, each with fits of its own
_MOST_SPLITS = 10


class Cell(NamedTuple):
    """A cell of the grid, with the higher values of C.

    Attributes
    ----------
    loss : Loss
    Cs : ndarray
        Its C and those above it, rising.
    choice : KernelChoice
    """

    loss: Loss
    Cs: np.ndarray
    choice: KernelChoice


class CleanRefit(NamedTuple):
    """A cell that is no worse without suspects.

    Attributes
    ----------
    suspects : ndarray of bool
        Mask of the rows that a fit on all of them is to leave out.
    C : float
        The value that suits the others.
    decision, functions
        As in `Scores`, of fits without the suspects of each split.
    """

    suspects: np.ndarray
    C: float
    decision: np.ndarray
    functions: SplitFunctions


def contradicted(decision: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Mask of the rows whose leading class is far ahead of their label.

    Rows of classes of which that would be nearly all are left alone.

    Parameters
    ----------
    decision : ndarray of shape (n_rows, n_classes)
        With three classes or more.
    labels : ndarray of int of shape (n_rows,)
        Indices of the labels.
    """
    second, first = np.partition(decision, -2, axis=1)[:, -2:].T
    behind = first - decision[np.arange(len(labels)), labels]
    found = behind > _SHARE_OF_LEAD * np.median(first - second)
    share = np.bincount(labels, found) / np.maximum(np.bincount(labels), 1)
    return found & (share <= _MOST_OF_A_CLASS)[labels]


def look_wrong(decision: np.ndarray, labels: np.ndarray) -> bool:
    """Whether contradicted labels look wrong, and not like those of classes that overlap.

    Wrong labels are as frequent where the fits are sure as elsewhere. Where classes overlap, the fits are unsure.

    Parameters
    ----------
    decision : ndarray of shape (n_rows, n_classes)
        With three classes or more.
    labels : ndarray of int of shape (n_rows,)
        Indices of the labels.
    """
    second, first = np.partition(decision, -2, axis=1)[:, -2:].T
    surest = np.argsort(second - first, kind="stable")[: int(_SUREST * len(labels))]
    missed = decision.argmax(axis=1) != labels
    spread = missed[surest].mean() >= _LEAST_SPREAD * contradicted(decision, labels).mean()
    # a guess knows one in n_classes
    return bool(spread and missed.mean() < (1 - _KNOWN) * (1 - 1 / decision.shape[1]))


def refit_without_suspects(
    job: SearchJob, cell: Cell, scores: np.ndarray | None, decision: np.ndarray, report: Report
) -> CleanRefit | None:
    """A cell without the rows whose label it contradicts out of fold; None if there are few, or that is worse.

    The training rows that a split does without are chosen by fits that saw neither these rows nor those that the split
    is scored on: one for each pair of splits, which leaves out what either of them does.

    Parameters
    ----------
    job : SearchJob
        With one label a row.
    cell : Cell
        The best on all rows.
    scores : ndarray of shape (n_splits,) or None
        Its scores with few landmarks, if they are known.
    decision : ndarray of shape (n_samples, n_columns)
        Its decisions on the rows left out. With one column, for two classes, no rows are left out: wrong labels are
        not so far off there, and a rule for them gained nothing on average.
    report : Report
    """
    n_splits, known = len(job.splits), np.flatnonzero(np.isfinite(decision[:, 0]))
    if decision.shape[1] == 1 or len(known) < _FEWEST_ROWS:
        return None
    if not 3 <= n_splits <= _MOST_SPLITS or not _is_partition(job.splits, len(decision)):
        return None
    labels = np.searchsorted(job.target_attributes["classes_"], job.y)
    if _flag(decision, labels, known).sum() < _WORTH_IT * len(known) or not look_wrong(decision[known], labels[known]):
        return None
    with report.stage("suspects"):
        return _refit_cell(job, cell, scores, labels, known, report.within("suspects"))


def _refit_cell(
    job: SearchJob,
    cell: Cell,
    scores: np.ndarray | None,
    labels: np.ndarray,
    known: np.ndarray,
    report: Report,
) -> CleanRefit | None:
    """A cell without its suspects, if that is better; labels are indices of classes, those of `known` rows count."""
    few = job.few_landmarks()
    try:
        if scores is None:
            _, (whole,) = _solve(few, job.splits, cell, cell.Cs[:1], report)
            scores = whole.scores[0]
        doubted = _doubted_by_split(few, cell, labels, report)
        splits = [(train[~out[train]], test) for (train, test), out in zip(job.splits, doubted, strict=True)]
        _, results = _solve(few, splits, cell, cell.Cs[:_N_CS], report)
        best = max(results, key=lambda result: result.scores.mean())
        gain = best.scores[0] - scores
        change = f"without suspects the score changes by {gain.mean():+.4f}"
        if gain.mean() <= max(_LEAST_GAIN * gain.std(ddof=1) / len(gain) ** 0.5, _LEAST_RISE):
            report.say(f"suspects stay: {change}")
            return None
        # fits without suspects know better who they are, and once more
        C = cell.Cs[[best.C_index]]
        suspects = _flag(best.decision[:, 0], labels, known)
        splits = [(train[~suspects[train]], test) for train, test in job.splits]
        folds, (best,) = _solve(job, splits, cell, C, report)
    except MemoryError as no_room:
        report.say(f"suspects stay: {no_room}")
        return None
    suspects = _flag(best.decision[:, 0], labels, known)
    report.say(f"{suspects.sum()} suspects are left out: {change}")
    return CleanRefit(suspects, float(C[0]), best.decision[:, 0], best.split_functions(folds, 0))


def _flag(decision: np.ndarray, labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Mask of the suspects among the rows at these indices, whose decisions are known."""
    suspects = np.zeros(len(decision), dtype=bool)
    suspects[known] = contradicted(decision[known], labels[known])
    return suspects


def _doubted_by_split(job: SearchJob, cell: Cell, labels: np.ndarray, report: Report) -> np.ndarray:
    """Mask of the training rows that each split is to do without, of shape (n_splits, n_rows)."""
    n_rows, tests = len(labels), [test for _, test in job.splits]
    doubted = np.zeros((len(tests), n_rows), dtype=bool)
    pairs = list(combinations(range(len(tests)), 2))
    left_out = [np.concatenate([tests[j], tests[k]]) for j, k in pairs]
    splits = [(np.setdiff1d(np.arange(n_rows), rows), rows) for rows in left_out]
    folds, (result,) = _solve(job, splits, cell, cell.Cs[:1], report)
    for p, pair in enumerate(pairs):
        rows = folds.present[folds.tests[p]]
        decision = held_out_decisions(folds, result.nystrom, result.batch, slice(None), p)[:, 0, 0]
        if folds.columns.pairs is not None:
            decision = class_scores(decision, folds.columns.pairs)
        # the rows that one of the two trains on, the other is scored on: it must not be judged by them
        for scored, trained in pair, pair[::-1]:
            of_trained = np.isin(rows, tests[trained])
            doubted[scored, rows[of_trained]] = contradicted(decision[of_trained], labels[rows[of_trained]])
    return doubted


def _solve(
    job: SearchJob, splits: Splits, cell: Cell, Cs: np.ndarray, report: Report
) -> tuple[Folds, list[CellResult]]:
    """Results of a cell for other splits and these C."""
    job = job._replace(splits=splits)
    with blas_threads(count_threads(job.template.n_jobs)):
        folds = fold(job)
        return folds, list(solve_kernel(job, folds, [cell.loss], Cs, cell.choice, report))


def _is_partition(splits: Splits, n_rows: int) -> bool:
    """Whether every row is left out by one split and trained on, once, by all others."""
    times_left_out = np.bincount(np.concatenate([test for _, test in splits]), minlength=n_rows)
    return bool((times_left_out == 1).all()) and all(
        np.array_equal(np.sort(np.concatenate(split)), np.arange(n_rows)) for split in splits
    )
