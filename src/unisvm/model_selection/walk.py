"""The walk through one space of a grid: every loss and C is scored on rows that its splits leave out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from unisvm import solvers
from unisvm._estimator import BaseUniSVM
from unisvm._prepared import Prepared
from unisvm._report import Report
from unisvm.kernels.base import as_rows
from unisvm.losses.base import REGRESSION, Loss
from unisvm.model_selection.folds import Folds, Splits, attributes, held_out, remembering
from unisvm.model_selection.grid import Grid, Lead, Stage, Trail
from unisvm.rows.budget import parse_memory, readable
from unisvm.rows.threads import Stop

# so many columns at a time keep matrix products busy; the next ones start from where they stand
_COLUMNS = 100
# A loss is given up once its score was below its best by so many standard errors, in so many C one after the other.
_CLEARLY_WORSE, _IN_A_ROW = 2.0, 2
#: most of the memory is for the features
SHARE_FOR_DECISIONS = 0.25


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
    task: Task,
    folds: Folds,
    losses: Sequence[Loss],
    costs: np.ndarray,
    space: Space,
    *,
    prune: bool,
    report: Report,
    stop: Stop | None = None,
) -> Iterator[Step]:
    """Go through the values of C upwards, in one space; all losses together, or as many as memory allows."""
    stop = Stop() if stop is None else stop
    template = clone(task.template).set_params(**space._asdict())
    beside, each = bytes_of_decisions(folds)
    at_once = _cells_at_once(template.memory_limit, most_cells(folds, len(losses)), beside, each)
    prepared = template._prepare(
        folds.rows,
        as_rows(folds.X),
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

    def judged(stage: Stage) -> Iterator[Step]:
        """What came of each C of a stage."""
        chosen, n_costs = [losses[j] for j in stage.losses], len(stage.costs)
        n_judged = max(at_once // len(chosen), 1)
        for first in range(0, n_costs, n_judged):
            began, some = perf_counter(), slice(first, min(first + n_judged, n_costs))
            scores, decision = _judge(task, folds, prepared, stage, chosen, template, some)
            seconds = stage.seconds / n_costs, (perf_counter() - began) / scores.shape[1]
            for place in range(some.start, some.stop):
                own = scores[:, place - first], decision[:, :, place - first]
                yield Step(int(order[stage.places[place]]), place, stage.losses, stage, prepared, *own, *seconds)

    def sweep(*, to_the_end: bool) -> Iterator[Step]:
        """Sweep until little is left, or nothing; what came of the stages that are done by then."""
        while grid.n_active and not stop.asked and (to_the_end or not grid.is_near):
            for stage in grid.sweep():
                report.say(
                    f"{prepared.kernel}, C {stage.costs[0]:.3g} to {stage.costs[-1]:.3g}: {stage.n_sweeps.size} fits, "
                    f"{stage.n_sweeps.max()} sweeps, {stage.seconds:.2f} s"
                )
                yield from judged(stage)

    lead = Lead()
    # which losses start from their own solutions for lower C; the others would give rows up for good
    follow = np.array([loss.is_convex or template._task == REGRESSION for loss in losses])
    for group in _groups(follow, at_once):
        alive, trail, race = group, Trail(template._task), _Race(len(group))
        per_cost = len(group) * folds.layout.target_of.size
        # with pruning one C at a time, so that the next ones can be saved
        n_batches = len(order) if prune else min(-(-len(order) * per_cost // _COLUMNS), len(order))
        for places in np.array_split(np.arange(len(order)), n_batches):
            if stop.asked:
                return
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


def bytes_of_decisions(folds: Folds) -> tuple[int, int]:
    """Bytes beside the features: of the targets and what is computed from them, and of the decisions of one cell."""
    each = folds.rows.n_rows * folds.layout.n_outputs * folds.rows.dtype.itemsize
    return folds.rows.targets.nbytes + 2 * each, each


def most_cells(folds: Folds, n_losses: int) -> int:
    """How many cells are judged at once where there is memory: those of a stage."""
    return max(_COLUMNS // folds.layout.target_of.size, n_losses)


def _cells_at_once(memory_limit, most: int, beside: int, each: int) -> int:
    """How many cells are judged at once, so that the decisions that they leave on all rows stay within the limit."""
    limit = parse_memory(memory_limit)
    if limit is None:
        return most
    share = limit * SHARE_FOR_DECISIONS
    if beside + each > share:
        raise MemoryError(
            f"The targets, the weights of all splits and the decisions on the rows need {readable(beside + each)}, "
            f"more than a quarter of the limit of {readable(limit)}. Use fewer splits, raise memory_limit, or "
            f"give X in float32."
        )
    return int(min((share - beside) // each, most))


def _judge(
    task: Task,
    folds: Folds,
    prepared: Prepared,
    stage: Stage,
    losses: Sequence[Loss],
    template: BaseUniSVM,
    some: slice,
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of some C of a stage, by loss, C and split; decisions on the rows left out, by row, loss, C and output."""
    cls, params = remembering(type(template)), template.get_params(deep=False)
    costs = stage.costs[some].tolist()
    shape = (len(losses), len(costs))
    scores = np.empty((*shape, folds.layout.n_splits))
    total = np.zeros((len(task.weights), *shape, folds.layout.n_outputs), dtype=folds.rows.dtype)
    count = np.zeros(len(task.weights), dtype=int)
    for k, test in enumerate(folds.tests):
        decision = held_out(folds, prepared, stage, some, k)
        numbers = folds.present[test]
        total[numbers] += decision
        count[numbers] += 1
        X, y = folds.X[numbers], task.y[numbers]
        score_params = {name: np.asarray(value)[numbers] for name, value in task.score_params.items()}
        for j, c in np.ndindex(shape):
            model = cls(**(params | {"loss": losses[j], "C": costs[c]}))
            fitted = attributes(folds, prepared, stage, (j, some.start + c, k))
            model.__dict__.update(fitted, n_features_in_=folds.X.shape[1])
            model.remember(X, decision[:, j, c])
            scores[j, c, k] = task.scorer(model, X, y, **score_params)
    with np.errstate(invalid="ignore"):
        total /= np.where(count > 0, count, np.nan)[:, None, None, None]
    return scores, total


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
