"""Rows whose label is contradicted by fits that did not see it, and whether a fit without such rows is better.

A loss judges a label by a fit that has seen it: a bounded one gives up on a hard row as readily as on a wrong label,
and with many classes in each column on its own. Fits that did not see the row, all columns together, tell these apart.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from unisvm._report import Report
from unisvm.losses.base import Loss
from unisvm.model_selection.folds import Folds, Splits, fold, held_out, mean_model
from unisvm.model_selection.walk import Space, Step, Task, walk
from unisvm.rows.threads import blas_threads, count_threads

# A label is contradicted if another class is ahead of it by this share of the lead that the first class usually has, of
# two classes and of more. Wrong labels of two classes are not so far off.
_SHARE_OF_TWO, _SHARE_OF_MORE = 1 / 3, 2 / 3
# if more of a class is contradicted, it is the fits that do not know the class
_MOST_OF_A_CLASS = 0.95
# labels that are mostly right allow for less regularisation: so many values of C are tried
_COSTS = 4
# Fewer suspects than this share of the rows, of two classes and of more, are not looked into. Two classes that overlap
# may have a seventh without a wrong label, and lose by doing without them.
_WORTH_IT_OF_TWO, _WORTH_IT_OF_MORE = 1 / 6, 0.03
# So many standard errors may a fit without suspects be worse by: what it is compared with is the best of many cells on
# these splits, and so looks better than it is.
_CLEARLY_WORSE = 1.0
# fits of fewer rows know too little to doubt a label
_FEWEST_ROWS = 500
# ten splits have 45 pairs, each with fits of its own
_MOST_SPLITS = 10


class Cell(NamedTuple):
    """What a fit is made with, and the higher C of the grid.

    Attributes
    ----------
    loss : Loss
    costs : ndarray
        Its C and those above it, rising.
    space : Space
    """

    loss: Loss
    costs: np.ndarray
    space: Space


class Cleaned(NamedTuple):
    """A cell that is no worse without suspects.

    Attributes
    ----------
    suspects : ndarray of bool
        Which rows a fit on all of them is to leave out.
    C : float
        What suits the others.
    decision, model
        As in `Scores`, of fits without the suspects of each split.
    """

    suspects: np.ndarray
    C: float
    decision: np.ndarray
    model: dict[str, Any]


def contradicted(decision: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Whether the leading class of each row of decisions is far ahead of its label, which is given by its number.

    Not in classes of which that would be nearly all rows.
    """
    if decision.shape[1] == 1:
        decision, share_of_lead = np.concatenate([-decision, decision], axis=1), _SHARE_OF_TWO
    else:
        share_of_lead = _SHARE_OF_MORE
    second, first = np.partition(decision, -2, axis=1)[:, -2:].T
    behind = first - decision[np.arange(len(labels)), labels]
    found = behind > share_of_lead * np.median(first - second)
    share = np.bincount(labels, found) / np.maximum(np.bincount(labels), 1)
    return found & (share <= _MOST_OF_A_CLASS)[labels]


def without_suspects(
    task: Task, cell: Cell, scores: np.ndarray, decision: np.ndarray, report: Report
) -> Cleaned | None:
    """Fit a cell without the rows whose label it contradicts out of fold; None if there are few, or that is worse.

    Which training rows a split does without is decided by fits that saw neither these rows nor those that the split is
    scored on: one for each pair of splits, which leaves out what either of them does.

    Parameters
    ----------
    task : Task
        With one label a row.
    cell : Cell
        What was best on all rows.
    scores : ndarray of shape (n_splits,)
        Its scores.
    decision : ndarray of shape (n_samples, n_classes), or (n_samples, 1) for two classes
        Its decisions on the rows left out.
    report : Report
    """
    n_splits, known = len(task.splits), np.flatnonzero(np.isfinite(decision[:, 0]))
    if len(known) < _FEWEST_ROWS or not 3 <= n_splits <= _MOST_SPLITS or not _are_parts(task.splits, len(decision)):
        return None
    labels = np.searchsorted(task.own["classes_"], task.y)
    worth_it = _WORTH_IT_OF_TWO if decision.shape[1] == 1 else _WORTH_IT_OF_MORE
    if _found(decision, labels, known).sum() < worth_it * len(known):
        return None
    try:
        doubted = _doubted_by_split(task, cell, labels, report)
        cleaned = [(train[~out[train]], test) for (train, test), out in zip(task.splits, doubted, strict=True)]
        folds, steps = _solve(task, cleaned, cell, cell.costs[:_COSTS], report)
    except MemoryError as no_room:
        report.say(f"suspects stay: {no_room}")
        return None
    best = max(steps, key=lambda step: step.scores.mean())
    gain = best.scores[0] - scores
    error = float(gain.std(ddof=1)) / np.sqrt(n_splits)
    found = f"without suspects the score changes by {gain.mean():+.4f} ± {error:.4f}"
    if gain.mean() < -_CLEARLY_WORSE * error:
        report.say(f"suspects stay: {found}")
        return None
    # fits without suspects know better who they are, and once more
    C = cell.costs[[best.c]]
    suspects = _found(best.decision[:, 0], labels, known)
    folds, (best,) = _solve(task, [(train[~suspects[train]], test) for train, test in task.splits], cell, C, report)
    suspects = _found(best.decision[:, 0], labels, known)
    report.say(f"{suspects.sum()} suspects are left out: {found}")
    return Cleaned(suspects, float(C[0]), best.decision[:, 0], mean_model(folds, best.prepared, best.stage, (0, 0)))


def _found(decision: np.ndarray, labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Which rows are suspects, among those of these numbers, whose decisions are known."""
    suspects = np.zeros(len(decision), dtype=bool)
    suspects[known] = contradicted(decision[known], labels[known])
    return suspects


def _doubted_by_split(task: Task, cell: Cell, labels: np.ndarray, report: Report) -> np.ndarray:
    """Which of its training rows each split is to do without, a row of the array for each."""
    n_rows, tests = len(labels), [test for _, test in task.splits]
    doubted = np.zeros((len(tests), n_rows), dtype=bool)
    pairs = list(combinations(range(len(tests)), 2))
    left_out = [np.concatenate([tests[j], tests[k]]) for j, k in pairs]
    splits = [(np.setdiff1d(np.arange(n_rows), rows), rows) for rows in left_out]
    folds, (step,) = _solve(task, splits, cell, cell.costs[:1], report)
    for p, pair in enumerate(pairs):
        rows = folds.present[folds.tests[p]]
        decision = held_out(folds, step.prepared, step.stage, slice(None), p)[:, 0, 0]
        # what one of the two trains on, the other is scored on, and must not be judged by
        for scored, trained in pair, pair[::-1]:
            own = np.isin(rows, tests[trained])
            doubted[scored, rows[own]] = contradicted(decision[own], labels[rows[own]])
    return doubted


def _solve(task: Task, splits: Splits, cell: Cell, costs: np.ndarray, report: Report) -> tuple[Folds, list[Step]]:
    """A cell fitted for other splits and these C."""
    with blas_threads(count_threads(task.template.n_jobs)):
        folds = fold(task.template, task.X, task.y, task.weights, splits)
        task = task._replace(splits=splits)
        return folds, list(walk(task, folds, [cell.loss], costs, cell.space, prune=False, report=report))


def _are_parts(splits: Splits, n_rows: int) -> bool:
    """Whether every row is left out by one split and trained on, once, by all others."""
    times_left_out = np.bincount(np.concatenate([test for _, test in splits]), minlength=n_rows)
    return bool((times_left_out == 1).all()) and all(
        np.array_equal(np.sort(np.concatenate(split)), np.arange(n_rows)) for split in splits
    )
