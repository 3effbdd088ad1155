"""The walk through a grid of losses, C, kernels and gamma: every cell is scored on rows that its splits leave out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from unisvm import kernels, solvers
from unisvm._estimator import BaseUniSVM
from unisvm._folds import Folds, Splits, attributes, fold, held_out, mean_model, remembering
from unisvm._prepared import Prepared, bytes_of_moments
from unisvm._report import Report
from unisvm.checkpoint import Arrays, Stages
from unisvm.grid import Grid, Lead, Stage, Trail
from unisvm.losses.base import REGRESSION, Loss
from unisvm.rows.budget import parse_memory, readable
from unisvm.rows.threads import blas_threads, count_threads

# so many columns at a time keep matrix products busy; the next ones start from where they stand
_COLUMNS = 100
# rows of the first round of halving, and by how much each round has more
_FIRST_ROWS, _GROWTH = 2000, 4
# with fewer rows a split says nothing
_FEWEST_ROWS = 20
# A loss is given up once its score was below its best by so many standard errors, in so many C one after the other.
_CLEARLY_WORSE, _IN_A_ROW = 2.0, 2
# most of the memory is for the features
_SHARE_FOR_DECISIONS = 0.25


class Space(NamedTuple):
    """A kernel and its gamma, as an estimator takes them: what landmarks and features are made for."""

    kernel: Any
    gamma: Any


class Task(NamedTuple):
    """What is searched on.

    Attributes
    ----------
    template : BaseUniSVM
        An estimator with all parameters but loss, C, kernel and gamma.
    X, y, weights
        Validated.
    own : dict
        What an estimator of all rows knows about its targets.
    splits : sequence of (train, test)
    scorer : callable
    score_params : dict
        What the scorer is given beside the rows, an array with an entry for each row.
    """

    template: BaseUniSVM
    X: Any
    y: np.ndarray
    weights: np.ndarray
    own: dict[str, Any]
    splits: Splits
    scorer: Callable[..., float]
    score_params: dict[str, Any]

    def seeded(self, rng: np.random.RandomState) -> Task:
        """The task with a random state of its own: one for all fits, so that the refit has the search's landmarks."""
        seed = int(rng.randint(2**31 - 1))
        return self._replace(template=clone(self.template).set_params(random_state=seed))


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

    def score(g: int, task: Task, folds: Folds) -> None:
        scores.unfinished[g] = 0
        for step in walk(task, folds, losses, costs, spaces[g], prune=prune, report=report):
            with lock:
                scores.record(step, g, folds)
        with lock:
            saved.save(f"{before}gamma-{g}", scores.of_space(g))

    def score_all(some: Iterable[int]) -> None:
        # the limit is set here: of all threads, one alone may set it
        with blas_threads(1):
            Parallel(n_jobs=at_once, require="sharedmem")(delayed(score)(g, *alone) for g in some if g in shared)
        with blas_threads(count_threads(task.template.n_jobs)):
            for g in some:
                if g not in shared:
                    score(g, task, folds)

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
    beside, each = _decisions(folds)
    needed = beside + n_losses * each
    n_rows, size = folds.rows.n_rows, folds.rows.dtype.itemsize
    rank = n_rows if template.rank is None else min(template.rank, n_rows)
    in_all = needed + n_rows * rank * size + bytes_of_moments(folds.rows, rank)
    fits = limit is None or at_once * max(in_all, needed / _SHARE_FOR_DECISIONS) <= limit
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


class Step(NamedTuple):
    """What came of one C for some of the losses.

    Attributes
    ----------
    c, place : int
        Which C, of all and in the stage.
    losses : ndarray of int
        Which losses.
    stage : Stage
    prepared : Prepared
    scores : ndarray of shape (n_losses, n_splits)
    decision : ndarray of shape (n_samples, n_losses, n_outputs)
        On the rows left out.
    fit_seconds, score_seconds : float
        For all of them.
    """

    c: int
    place: int
    losses: np.ndarray
    stage: Stage
    prepared: Prepared
    scores: np.ndarray
    decision: np.ndarray
    fit_seconds: float
    score_seconds: float


def walk(
    task: Task, folds: Folds, losses: Sequence[Loss], costs: np.ndarray, space: Space, *, prune: bool, report: Report
) -> Iterator[Step]:
    """Go through the values of C upwards, in one space; all losses together, or as many as memory allows."""
    template = clone(task.template).set_params(**space._asdict())
    beside, each = _decisions(folds)
    most = max(_COLUMNS // folds.layout.target_of.size, len(losses))
    at_once = _cells_at_once(template.memory_limit, most, beside, each)
    prepared = template._prepare(
        folds.rows,
        kernels.as_rows(folds.X),
        solvers.LBFGS(),
        check_random_state(template.random_state),
        report,
        with_rows=True,
        beside=beside + at_once * each,
    )
    order = np.argsort(costs, kind="stable")
    grid = Grid(
        folds.rows,
        prepared.features,
        prepared.feature_map,
        prepared.sample,
        folds.layout,
        template._task,
        template.fit_intercept,
        losses,
        costs[order],
        tol=template.tol,
        max_iter=template.max_iter,
    )

    def sweep(*, to_the_end: bool) -> Iterator[Step]:
        """Sweep until little is left, or nothing; what came of the stages that are done by then."""
        while grid.n_active and (to_the_end or not grid.is_near):
            for stage in grid.sweep():
                report.say(
                    f"{prepared.kernel}, C {stage.costs[0]:.3g} to {stage.costs[-1]:.3g}: {stage.n_sweeps.size} fits, "
                    f"{stage.n_sweeps.max()} sweeps, {stage.seconds:.2f} s"
                )
                yield from _judged(task, folds, prepared, stage, template, losses, order, at_once)

    lead = Lead()
    # which losses start from their own solutions for lower C; the others would give rows up for good
    follow = np.array([loss.is_convex or template._task == REGRESSION for loss in losses])
    for group in _groups(follow, at_once):
        alive, trail, race = group, Trail(template._task), _Race(len(group))
        per_cost = len(group) * folds.layout.target_of.size
        # with pruning one C at a time, so that the next ones can be saved
        n_batches = len(order) if prune else min(-(-len(order) * per_cost // _COLUMNS), len(order))
        for places in np.array_split(np.arange(len(order)), n_batches):
            start = trail.ahead(costs[order[places]]) if follow[group[0]] else lead.at(costs[order[places]], len(alive))
            stage = grid.begin(alive, places, start)
            keep = np.ones(len(alive), dtype=bool)
            # the last columns are swept together with the next stage, unless that depends on their scores
            for step in sweep(to_the_end=prune):
                if prune:
                    keep &= race.still_in(step.scores)
                yield step
            race.forget(~keep)
            trail.add(stage, keep)
            lead.add(stage, [losses[j] for j in alive])
            alive = alive[keep]
            if len(alive) == 0:
                break
    yield from sweep(to_the_end=True)


def _groups(follow: np.ndarray, together: int) -> list[np.ndarray]:
    """Numbers of losses that are solved together, at most so many: first those that follow their own solutions for
    lower C, which may lead the others."""
    kinds = [kind for kind in (np.flatnonzero(follow), np.flatnonzero(~follow)) if len(kind)]
    return [group for kind in kinds for group in np.array_split(kind, -(-len(kind) // together))]


def _decisions(folds: Folds) -> tuple[int, int]:
    """Bytes beside the features: of the targets and what is computed from them, and of one loss's decisions."""
    each = folds.rows.n_rows * folds.layout.n_outputs * folds.rows.dtype.itemsize
    return folds.rows.targets.nbytes + 2 * each, each


def _cells_at_once(memory_limit, most: int, beside: int, each: int) -> int:
    """How many cells are judged at once, so that the decisions that they leave on all rows stay within the limit."""
    limit = parse_memory(memory_limit)
    if limit is None:
        return most
    share = limit * _SHARE_FOR_DECISIONS
    if beside + each > share:
        raise MemoryError(
            f"The targets, the weights of all splits and the decisions on the rows need {readable(beside + each)}, "
            f"more than a quarter of the limit of {readable(limit)}. Use fewer splits, raise memory_limit, or "
            f"give X in float32."
        )
    return int(min((share - beside) // each, most))


def _judged(
    task: Task,
    folds: Folds,
    prepared: Prepared,
    stage: Stage,
    template: BaseUniSVM,
    losses: Sequence[Loss],
    order: np.ndarray,
    at_once: int,
) -> Iterator[Step]:
    """What came of each C of a stage; so many cells are judged at once, and `order` has the places of all C."""
    n_costs, step = len(stage.costs), max(at_once // len(stage.losses), 1)
    params = template.get_params(deep=False)
    cls = remembering(type(template))
    for first in range(0, n_costs, step):
        began = perf_counter()
        some = slice(first, min(first + step, n_costs))
        scores = np.empty((len(stage.losses), n_costs, folds.layout.n_splits))
        shape = (len(task.weights), len(stage.losses), some.stop - first, folds.layout.n_outputs)
        total, count = np.zeros(shape, dtype=folds.rows.dtype), np.zeros(shape[0], dtype=int)
        for k, test in enumerate(folds.tests):
            decision = held_out(folds, prepared, stage, some, k)
            numbers = folds.present[test]
            total[numbers] += decision
            count[numbers] += 1
            X, y = folds.X[numbers], task.y[numbers]
            score_params = {name: np.asarray(value)[numbers] for name, value in task.score_params.items()}
            for j, place in np.ndindex(shape[1:3]):
                cell = (j, first + place, k)
                own = {"loss": losses[int(stage.losses[j])], "C": float(stage.costs[cell[1]])}
                model = cls(**(params | own))
                model.__dict__.update(attributes(folds, prepared, stage, cell), n_features_in_=folds.X.shape[1])
                model.remember(X, decision[:, j, place])
                scores[cell] = task.scorer(model, X, y, **score_params)
        with np.errstate(invalid="ignore"):
            total /= np.where(count > 0, count, np.nan)[:, None, None, None]
        seconds = stage.seconds / n_costs, (perf_counter() - began) / shape[2]
        for place in range(first, some.stop):
            c, decision = int(order[stage.places[place]]), total[:, :, place - first]
            yield Step(c, place, stage.losses, stage, prepared, scores[:, place], decision, *seconds)


class _Race:
    """Tells which losses are still worth a higher C."""

    def __init__(self, n_losses: int):
        self._best: list[np.ndarray | None] = [None] * n_losses
        self._worse = np.zeros(n_losses, dtype=int)

    def still_in(self, scores: np.ndarray) -> np.ndarray:
        """Which of the losses go on, given their scores for the next C by split."""
        for j, now in enumerate(scores):
            best = self._best[j]
            if best is None or now.mean() >= best.mean():
                self._best[j], self._worse[j] = now, 0
                continue
            loss = best - now
            error = loss.std(ddof=1) / np.sqrt(len(loss)) if len(loss) > 1 else np.inf
            self._worse[j] = self._worse[j] + 1 if loss.mean() > _CLEARLY_WORSE * error else 0
        return self._worse < _IN_A_ROW

    def forget(self, losses: np.ndarray) -> None:
        """Leave these out from now on."""
        self._best = [best for best, out in zip(self._best, losses, strict=True) if not out]
        self._worse = self._worse[~losses]
