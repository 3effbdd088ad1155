"""The search of a grid of losses, C, kernels and gamma: which spaces are walked through, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.utils import check_random_state

from unisvm._estimator import BaseUniSVM
from unisvm._prepared import bytes_of_moments
from unisvm._report import Report
from unisvm.checkpoint import Arrays, Stages
from unisvm.losses.base import Loss
from unisvm.model_selection.folds import Folds, fold, mean_model
from unisvm.model_selection.walk import SHARE_FOR_DECISIONS, Space, Step, Task, bytes_of_decisions, most_cells, walk
from unisvm.rows.budget import parse_memory
from unisvm.rows.threads import Stop, blas_threads, count_threads, run

# rows of the first round of halving, and by how much each round has more
_FIRST_ROWS, _GROWTH = 2000, 4
# with fewer rows a split says nothing
_FEWEST_ROWS = 20


@dataclass
class Scores:
    """What is known of every cell; axes are C, space and loss, and splits for the scores.

    Attributes
    ----------
    values : ndarray of shape (n_C, n_spaces, n_losses, n_splits)
        NaN where a cell was not tried.
    fit_seconds, score_seconds : ndarray of shape (n_C, n_spaces, n_losses)
        For one split.
    unfinished : ndarray of int of shape (n_spaces,)
        How many columns reached max_iter.
    best : tuple of int or None
        The best cell.
    decision : ndarray of shape (n_samples, n_outputs)
        Its decisions on the rows left out, averaged over the splits that leave a row out, NaN where none does.
    model : dict
        The attributes of an estimator whose function is the mean of those of its splits.
    """

    values: np.ndarray
    fit_seconds: np.ndarray
    score_seconds: np.ndarray
    unfinished: np.ndarray
    best: tuple[int, ...] | None = None
    decision: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    model: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def empty(cls, n_costs: int, n_spaces: int, n_losses: int, n_splits: int) -> Scores:
        shape = (n_costs, n_spaces, n_losses)
        return cls(np.full((*shape, n_splits), np.nan), np.zeros(shape), np.zeros(shape), np.zeros(n_spaces, int))

    @property
    def means(self) -> np.ndarray:
        return self.values.mean(axis=-1)

    def record(self, step: Step, g: int, folds: Folds) -> None:
        """Take in the scores of a step for the space of this number."""
        self.values[step.c, g, step.losses] = step.scores
        self.fit_seconds[step.c, g, step.losses] = step.fit_seconds / step.scores.size
        self.score_seconds[step.c, g, step.losses] = step.score_seconds / step.scores.size
        self.unfinished[g] += int((~step.stage.finished[:, step.place]).sum())
        for position, j in enumerate(step.losses.tolist()):
            if self._takes_the_lead((step.c, g, j)):
                self.decision = step.decision[:, position].copy()
                self.model = mean_model(folds, step.prepared, step.stage, (position, step.place))

    def of_space(self, g: int) -> Arrays:
        """The scores for the space of this number, as a checkpoint keeps them."""
        kept = {name: getattr(self, name)[:, g] for name in ("values", "fit_seconds", "score_seconds")}
        return kept | {"unfinished": self.unfinished[g]}

    def take(self, g: int, kept: Arrays) -> None:
        """Take in what an earlier run kept of a space."""
        for name in ("values", "fit_seconds", "score_seconds"):
            getattr(self, name)[:, g] = kept[name]
        self.unfinished[g] = kept["unfinished"]
        for c, j in np.ndindex(kept["fit_seconds"].shape):
            self._takes_the_lead((c, g, j))

    def _takes_the_lead(self, cell: tuple[int, ...]) -> bool:
        """Whether this cell is now the best; of equals, the one that GridSearchCV lists first."""
        mean = self.values[cell].mean()
        if not np.isfinite(mean):
            return False
        if self.best is not None:
            lead = self.values[self.best].mean()
            if mean < lead or (mean == lead and cell > self.best):
                return False
        self.best = cell
        return True


def search(
    task: Task,
    losses: Sequence[Loss],
    costs: np.ndarray,
    spaces: Sequence[Space],
    *,
    halving: bool = False,
    prune: bool = False,
    report: Report,
    saved: Stages,
) -> Scores:
    """Score the grid.

    Parameters
    ----------
    task : Task
    losses, costs, spaces : sequence
    halving : bool
        Weed out spaces on samples of the rows that grow by a factor of four.
    prune : bool
        Give up a loss once higher C have become clearly worse.
    report : Report
    saved : Stages
        Keeps the scores of every space.
    """
    worth_it = _weed_out(task, losses, costs, spaces, prune, report, saved) if halving else range(len(spaces))
    return _score(task, losses, costs, spaces, worth_it, None, prune, report, saved)


def _score(
    task: Task,
    losses,
    costs,
    spaces: Sequence[Space],
    which: Iterable[int],
    subset: np.ndarray | None,
    prune: bool,
    report: Report,
    saved: Stages,
) -> Scores:
    """Score some spaces on all rows, or on a subset of them."""
    which = list(which)
    scores = Scores.empty(len(costs), len(spaces), len(losses), len(task.splits))
    folds = fold(task.template, task.X, task.y, task.weights, task.splits, subset)
    at_once = _at_once(task.template, folds, len(losses), len(which))
    # A thread for each is busier than threads that wait for each other after every sweep. What would leave threads
    # idle comes last, and has them all.
    shared = which[: len(which) - len(which) % at_once] if at_once > 1 else []
    alone = _with_one_thread(task, folds, at_once)
    lock = Lock()
    before = "" if subset is None else f"{len(subset)}-rows-"
    known = {g: kept for g in which if (kept := saved.load(f"{before}gamma-{g}")) is not None}
    for g, kept in known.items():
        scores.take(g, kept)

    config = get_config()

    def score(g: int, task: Task, folds: Folds, stop: Stop) -> None:
        scores.unfinished[g] = 0
        for step in walk(task, folds, losses, costs, spaces[g], prune=prune, report=report, stop=stop):
            with lock:
                scores.record(step, g, folds)
        with lock:
            if not stop.asked:
                saved.save(f"{before}gamma-{g}", scores.of_space(g))

    def score_in_thread(g: int, stop: Stop) -> None:
        # scikit-learn's settings are those of a thread
        with config_context(**config):
            score(g, *alone, stop)

    def score_all(some: Iterable[int]) -> None:
        stop = Stop()
        run([partial(score_in_thread, g, stop) for g in some if g in shared], at_once, stop)
        with blas_threads(count_threads(task.template.n_jobs)):
            for g in some:
                if g not in shared:
                    score(g, task, folds, Stop())

    score_all([g for g in which if g not in known])
    if subset is None and scores.best is not None and scores.best[1] in known:
        # its decisions are too large to be kept
        score_all([scores.best[1]])
    return scores


def _with_one_thread(task: Task, folds: Folds, at_once: int) -> tuple[Task, Folds]:
    """The same for one of so many threads, with its share of the memory."""
    limit = parse_memory(task.template.memory_limit)
    share = {"n_jobs": 1, "memory_limit": None if limit is None else limit // at_once}
    template = clone(task.template).set_params(**share)
    return task._replace(template=template), folds._replace(rows=folds.rows.with_threads(1))


def _at_once(template: BaseUniSVM, folds: Folds, n_losses: int, n_spaces: int) -> int:
    """How many spaces are worked on at the same time: as many as there are threads and there is memory for."""
    n_threads, limit = count_threads(template.n_jobs), parse_memory(template.memory_limit)
    if n_threads > 2 * n_spaces:
        # most would have nothing to do
        return 1
    at_once = min(n_threads, n_spaces)
    beside, each = bytes_of_decisions(folds)
    needed = beside + most_cells(folds, n_losses) * each
    n_rows, size = folds.rows.n_rows, folds.rows.dtype.itemsize
    rank = n_rows if template.rank is None else min(template.rank, n_rows)
    in_all = needed + n_rows * rank * size + bytes_of_moments(folds.rows, rank)
    fits = limit is None or at_once * max(in_all, needed / SHARE_FOR_DECISIONS) <= limit
    return at_once if fits else 1


def _weed_out(task: Task, losses, costs, spaces: Sequence[Space], prune: bool, report: Report, saved) -> list[int]:
    """Which spaces are worth all rows: the better half of those that the round before left over."""
    order = check_random_state(task.template.random_state).permutation(len(task.weights))
    left, n_rows = list(range(len(spaces))), _FIRST_ROWS
    while len(left) > 1 and n_rows <= len(order) / 2:
        drawn = np.sort(order[:n_rows])
        if not _has_all_splits(task, drawn):
            n_rows *= _GROWTH
            continue
        scores = _score(task, losses, costs, spaces, left, drawn, prune, report, saved)
        reached = np.nanmax(scores.means[:, left], axis=(0, 2))
        best = np.argsort(-reached, kind="stable")[: -(-len(left) // 2)]
        left = sorted(left[i] for i in best)
        names = ", ".join(f"{spaces[g].kernel} with gamma={spaces[g].gamma}" for g in left)
        report.say(f"{n_rows} rows leave {names}")
        n_rows *= _GROWTH
    return left


def _has_all_splits(task: Task, rows: np.ndarray) -> bool:
    """Whether every split can be trained and scored on these rows."""
    inside = np.zeros(len(task.weights), dtype=bool)
    inside[rows] = task.weights[rows] > 0
    return all(inside[part].sum() >= _FEWEST_ROWS for split in task.splits for part in split)
