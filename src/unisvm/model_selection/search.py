"""The search of a grid: every kernel is solved, or those that samples of the rows do not rule out, and scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.utils import check_random_state

from unisvm.checkpoint import Arrays, Stages
from unisvm.model_selection.adaptive import suitable_Cs
from unisvm.model_selection.axes import Axes, KernelChoice
from unisvm.model_selection.folds import Folds, SearchJob, fold
from unisvm.model_selection.held_out import CellResult, decision_bytes, max_cells, solve_kernel
from unisvm.model_selection.round_report import RoundReport
from unisvm.nystrom.gram import sample_size
from unisvm.parallel import CancelToken, blas_threads, count_threads, run
from unisvm.progress import Report

# rows of the first round of halving, and the factor from each round to the next
_FIRST_ROWS, _GROWTH = 2000, 4
# a split of fewer rows tells nothing
_FEWEST_ROWS = 20
# values of C that an adaptive search tries: those nearest to the one that suits the rows
_N_CS = 3
# arrays with an entry for each cell
_BY_CELL = ("values", "fit_seconds", "score_seconds", "n_landmarks")


@dataclass
class Scores:
    """Scores of every cell; axes are C, kernel choice and loss, and splits for the scores.

    Attributes
    ----------
    values : ndarray of shape (n_C, n_choices, n_losses, n_splits)
        NaN where a cell was not tried.
    fit_seconds, score_seconds : ndarray of shape (n_C, n_choices, n_losses)
        For one split.
    n_landmarks : ndarray of int of shape (n_C, n_choices, n_losses)
        Most landmarks that the cell's fits could have; 0 where it was not tried.
    unfinished : ndarray of int of shape (n_choices,)
        Number of fits, one for each cell and split, that reached max_iter.
    best : tuple of int or None
        The best cell.
    decision : ndarray of shape (n_samples, n_outputs)
        Its decisions on the rows left out, averaged over the splits that leave a row out, NaN where none does.
    functions : SplitFunctions, FunctionsOfCells or None
        Of its splits.
    few_values : ndarray of shape (n_splits,) or None
        Its scores with few landmarks, if an earlier round had these.
    """

    values: np.ndarray
    fit_seconds: np.ndarray
    score_seconds: np.ndarray
    n_landmarks: np.ndarray
    unfinished: np.ndarray
    best: tuple[int, ...] | None = None
    decision: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    functions: Any = None
    few_values: np.ndarray | None = None

    @classmethod
    def empty(cls, n_Cs: int, n_choices: int, n_losses: int, n_splits: int) -> Scores:
        """Scores before any cell was tried."""
        shape = (n_Cs, n_choices, n_losses)
        seconds, counts = (np.zeros(shape), np.zeros(shape)), (np.zeros(shape, int), np.zeros(n_choices, int))
        return cls(np.full((*shape, n_splits), np.nan), *seconds, *counts)

    def record(self, result: CellResult, choice: int, folds: Folds, n_landmarks: int) -> None:
        """Take in the results of a C for the kernel of this index."""
        cells = result.C_index, choice, result.losses
        self.values[cells] = result.scores
        self.n_landmarks[cells] = n_landmarks
        self.fit_seconds[cells] = result.fit_seconds / result.scores.size
        self.score_seconds[cells] = result.score_seconds / result.scores.size
        self.unfinished[choice] += int((~result.batch.converged[:, result.place]).any(axis=-1).sum())
        for position, j in enumerate(result.losses.tolist()):
            if self.becomes_best((result.C_index, choice, j)):
                self.decision = result.decision[:, position].copy()
                self.functions = result.split_functions(folds, position)

    @property
    def best_score(self) -> float:
        """Mean score of the best cell; NaN if there is none."""
        return np.nan if self.best is None else float(self.values[self.best].mean())

    def state(self, choice: int) -> Arrays:
        """The scores for one kernel as arrays."""
        saved_arrays = {name: getattr(self, name)[:, choice] for name in _BY_CELL}
        return saved_arrays | {"unfinished": self.unfinished[choice]}

    def resume(self, choice: int, saved_arrays: Arrays) -> None:
        """Inverse of `state`, but for the decisions and function of the best cell."""
        for name in _BY_CELL:
            getattr(self, name)[:, choice] = saved_arrays[name]
        self.unfinished[choice] = saved_arrays["unfinished"]
        for c, j in np.ndindex(saved_arrays["fit_seconds"].shape):
            self.becomes_best((c, choice, j))

    def best_of(self, choice: int) -> tuple[int, int]:
        """Indices of C and loss of the best cell of a kernel."""
        means = self.values[:, choice].mean(axis=-1)
        C, loss = np.unravel_index(np.nanargmax(means), means.shape)
        return int(C), int(loss)

    def add_earlier(self, earlier: Scores) -> None:
        """Take in the cells of an earlier round that this one did not try; they do not become the best."""
        missing = self.n_landmarks == 0
        for name in _BY_CELL:
            getattr(self, name)[missing] = getattr(earlier, name)[missing]
        self.unfinished += earlier.unfinished

    def becomes_best(self, cell: tuple[int, ...]) -> bool:
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


def search_all(
    job: SearchJob, axes: Axes, choices: Sequence[KernelChoice], *, method: str, report: Report, stages: Stages
) -> Scores:
    """Scores of the grid, by machines of all rows.

    Parameters
    ----------
    job : SearchJob
    axes : Axes
        Losses and values of C.
    choices : sequence of KernelChoice
    method : {"full", "halving", "adaptive"}
        Try all cells; rule out kernels on samples of the rows that grow by a factor of four; or try the cells that
        leave-one-out errors of least squares promise the most of.
    report : Report
    stages : Stages
        Keeps the scores of every kernel.
    """
    return GridSearch(job, axes, choices, report, stages).run(method)


class _Round(NamedTuple):
    """A round of a search: the scores that it fills, its folds and cells, and how its kernels share the threads."""

    scores: Scores
    folds: Folds
    tried: np.ndarray | None
    prefix: str
    at_once: int
    shared: set[int]
    told: RoundReport


@dataclass
class GridSearch:
    """A search of a grid, as `search_all` describes it."""

    job: SearchJob
    axes: Axes
    choices: Sequence[KernelChoice]
    report: Report
    stages: Stages
    #: set when a callback has ended the search: a round tries one kernel more at most
    ending: CancelToken = field(default_factory=CancelToken)

    def run(self, method: str) -> Scores:
        """Scores of the grid."""
        if method == "adaptive":
            return self.adapt()
        return self.score(self.halve() if method == "halving" else range(len(self.choices)))

    def adapt(self) -> Scores:
        """Scores of the cells that an adaptive search tries.

        Of at most three kernels, all losses are tried with the C that suits them, then the best loss with the values of
        C beside it, both with few landmarks; and then the best cell with all landmarks.
        """
        suited = self._suited()
        chosen = np.flatnonzero(np.isfinite(suited).all(axis=1)).tolist()
        distance = np.abs(np.log(self.axes.Cs)[:, None, None] - np.log(suited))
        nearness = np.argsort(np.argsort(distance, axis=0, kind="stable"), axis=0)
        few = replace(self, job=self.job.few_landmarks())
        scores = few.score(chosen, tried=nearness == 0, prefix="losses-")
        if scores.best is None:
            return scores
        chosen = self._left([g for g in chosen if np.isfinite(scores.values[:, g]).any()], scores)
        beside, best = np.zeros((2, *nearness.shape), dtype=bool)
        for g in chosen:
            _, loss = scores.best_of(g)
            beside[:, g, loss] = (nearness > 0)[:, g, loss] & (nearness < _N_CS)[:, g, loss]
        if beside.any():
            more = few.score(chosen, tried=beside, prefix="Cs-")
            more.add_earlier(scores)
            scores = more
            chosen = self._left(chosen, scores)
        for g in chosen:
            C, loss = scores.best_of(g)
            best[C, g, loss] = True
        final = self.score(chosen, tried=best)
        if final.best is not None:
            final.few_values = scores.values[final.best]
        final.add_earlier(scores)
        return final

    def _left(self, chosen: list[int], scores: Scores) -> list[int]:
        """Indices of the kernels that are left: the best, once a callback has ended the search."""
        return [scores.best[1]] if self.ending.cancelled and scores.best is not None else chosen

    def _suited(self) -> np.ndarray:
        """C that suits the rows for each kernel and loss; NaN where a kernel is not worth cross-validation."""
        saved = self.stages.load("suited")
        if saved is None:
            with self.report.stage("kernels"):
                saved = {"Cs": suitable_Cs(self.job, self.axes, self.choices, self.report)}
            self.stages.save("suited", saved)
        shape = len(self.choices), len(self.axes.losses)
        Cs = saved["Cs"]
        with self.stages.restoring("suited"):
            if Cs.shape != shape or Cs.dtype != np.float64 or (Cs <= 0).any():
                raise ValueError(f"its values of C are of shape {Cs.shape} and type {Cs.dtype}, or not positive")
        return Cs

    def score(
        self,
        chosen: Iterable[int],
        subset: np.ndarray | None = None,
        *,
        tried: np.ndarray | None = None,
        prefix: str = "",
    ) -> Scores:
        """Scores of the kernels of these indices on all rows, or on a subset of them.

        `tried` is a mask of the cells to try, of shape (n_C, n_choices, n_losses); None for all. Stages have names with
        this prefix; a search ends with the round that has none.
        """
        job, chosen = self.job, list(chosen)
        scores = Scores.empty(len(self.axes.Cs), len(self.choices), len(self.axes.losses), len(job.splits))
        folds = fold(job, subset)
        saved = {g: arrays for g in chosen if (arrays := self.stages.load(f"{prefix}gamma-{g}")) is not None}
        for g, arrays in saved.items():
            with self.stages.restoring(f"{prefix}gamma-{g}"):
                scores.resume(g, arrays)
        at_once = self._kernels_at_once(folds, len(chosen))
        # A thread for each is busier than threads that wait for each other after every sweep. Kernels that would leave
        # threads idle come last, and have them all. Which these are does not depend on what was saved: sums over
        # another number of threads would be rounded otherwise.
        shared = set(chosen[: len(chosen) - len(chosen) % at_once]) if at_once > 1 else set()
        new = [g for g in chosen if g not in saved]
        told = self._told(chosen, new, tried, prefix)
        round_ = _Round(scores, folds, tried, prefix, at_once, shared, told)
        with told.whole(scores):
            self._score_some(new, round_)
            if not prefix and scores.best is not None and scores.best[1] in saved:
                # its decisions are too large to be kept
                best = scores.best[1]
                self._score_some([best], round_)
                with self.stages.restoring(f"gamma-{best}"):
                    if scores.decision.size == 0:
                        raise ValueError("its best cell is none that this round tries")
        return scores

    def _told(self, chosen: list[int], new: list[int], tried: np.ndarray | None, prefix: str) -> RoundReport:
        """The report of a round over these kernels, of which `new` have no scores yet."""
        name = prefix.strip("-").replace("-", " ") or ("grid" if tried is None else "best cells")
        n_cells = np.zeros(len(self.choices), dtype=int)
        n_cells[new] = len(self.axes.Cs) * len(self.axes.losses) if tried is None else tried.sum(axis=(0, 2))[new]
        return RoundReport(self.report, name, self.axes, self.choices, chosen, n_cells, self.ending)

    def _score_some(self, chosen: list[int], round_: _Round) -> None:
        """Score kernels: those that are `shared` in one thread each, so many at the same time."""
        scores, folds, tried, prefix, at_once, shared, told = round_
        job, lock, config = self.job, Lock(), get_config()
        n_rows, rank = folds.rows.n_rows, job.template.rank
        n_landmarks = n_rows if rank is None else min(rank, n_rows)
        template = clone(job.template).set_params(n_jobs=1)
        job_share = job._replace(template=template, memory=job.memory.share(at_once))
        share = job_share, folds._replace(rows=folds.rows.with_threads(1))

        def score(g: int, job: SearchJob, folds: Folds, cancel: CancelToken) -> None:
            if self.ending.cancelled and scores.decision.size:
                return
            scores.unfinished[g] = 0
            axes, choice = self.axes, self.choices[g]
            cells = None if tried is None else tried[:, g].T
            with told.kernel(g) as report:
                for result in solve_kernel(job, folds, axes.losses, axes.Cs, choice, report, cancel, cells):
                    with lock:
                        scores.record(result, g, folds, n_landmarks)
                        for j, values in zip(result.losses.tolist(), result.scores, strict=True):
                            told.cell((result.C_index, g, j), float(values.mean()), scores)
            with lock:
                if not cancel.cancelled:
                    self.stages.save(f"{prefix}gamma-{g}", scores.state(g))

        def score_in_thread(g: int, cancel: CancelToken) -> None:
            # scikit-learn's settings are those of a thread
            with config_context(**config):
                score(g, *share, cancel)

        cancel = CancelToken()
        run([partial(score_in_thread, g, cancel) for g in chosen if g in shared], at_once, cancel)
        with blas_threads(count_threads(job.template.n_jobs)):
            for g in chosen:
                if g not in shared:
                    score(g, job, folds, CancelToken())

    def _kernels_at_once(self, folds: Folds, n_choices: int) -> int:
        """Number of kernels that are solved at the same time: as many as there are threads and there is memory for."""
        template = self.job.template
        n_threads = count_threads(template.n_jobs)
        if n_threads > 2 * n_choices:
            # most threads would have nothing to do
            return 1
        at_once = min(n_threads, n_choices)
        shared, each = decision_bytes(folds)
        decisions = shared + max_cells(folds, len(self.axes.losses)) * each
        n_rows = folds.rows.n_rows
        rank = n_rows if template.rank is None else min(template.rank, n_rows)
        n_sampled = sample_size(n_rows, rank)
        return at_once if self.job.memory.fits_at_once(at_once, folds.rows, rank, n_sampled, decisions) else 1

    def halve(self) -> list[int]:
        """Indices of the kernels that are worth all rows: in each round the better half of those that are left."""
        job = self.job
        order = check_random_state(job.template.random_state).permutation(len(job.weights))
        left, n_rows = list(range(len(self.choices))), _FIRST_ROWS
        while len(left) > 1 and n_rows <= len(order) / 2:
            drawn = np.sort(order[:n_rows])
            if _has_all_splits(job, drawn):
                scores = self.score(left, drawn, prefix=f"{n_rows}-rows-")
                if self.ending.cancelled:
                    return self._left(left, scores)
                reached = np.nanmax(scores.values.mean(axis=-1)[:, left], axis=(0, 2))
                best = np.argsort(-reached, kind="stable")[: -(-len(left) // 2)]
                left = sorted(left[i] for i in best)
                names = ", ".join(f"{self.choices[g].kernel} with gamma={self.choices[g].gamma}" for g in left)
                self.report.say(f"{n_rows} rows leave {names}")
            n_rows *= _GROWTH
        return left


def _has_all_splits(job: SearchJob, rows: np.ndarray) -> bool:
    """Whether every split can be trained and scored on these rows."""
    inside = np.zeros(len(job.weights), dtype=bool)
    inside[rows] = job.weights[rows] > 0
    return all(inside[part].sum() >= _FEWEST_ROWS for split in job.splits for part in split)


def cv_results(scores: Scores, axes: Axes, choices: Sequence[KernelChoice]) -> dict[str, Any]:
    """Scores in the layout of GridSearchCV, with the kernel if there are several, and landmarks if these differ."""
    one_kernel = all(choice.kernel is choices[0].kernel for choice in choices)
    cells = [{"gamma": choice.gamma} | ({} if one_kernel else {"kernel": choice.kernel}) for choice in choices]
    params = [{"C": C, **cell, "loss": loss} for C in axes.Cs.tolist() for cell in cells for loss in axes.given_losses]
    values = scores.values.reshape(len(params), -1)
    mean, std = values.mean(axis=1), values.std(axis=1)
    results: dict[str, Any] = {}
    for name, seconds in (("fit", scores.fit_seconds), ("score", scores.score_seconds)):
        results[f"mean_{name}_time"] = seconds.ravel()
        results[f"std_{name}_time"] = np.zeros(len(params))
    for name in params[0]:
        column = [cell[name] for cell in params]
        plain = all(isinstance(entry, float) for entry in column)
        array = np.empty(len(params), dtype=float if plain else object)
        array[:] = column
        results[f"param_{name}"] = np.ma.MaskedArray(array, mask=False)
    results["params"] = params
    for k in range(values.shape[1]):
        results[f"split{k}_test_score"] = values[:, k]
    n_landmarks = scores.n_landmarks.ravel()
    results |= {"mean_test_score": mean, "std_test_score": std, "rank_test_score": _ranks(mean, n_landmarks)}
    if n_landmarks.min() < n_landmarks.max():
        results["n_landmarks"] = n_landmarks
    return results


def _ranks(mean: np.ndarray, n_landmarks: np.ndarray) -> np.ndarray:
    """Places of the cells: those of the last round of a search come first, and those that were not tried last."""
    ranks, n_before = np.zeros(len(mean), dtype=np.int32), 0
    for count in np.unique(n_landmarks)[::-1].tolist():
        of_round = n_landmarks == count
        lowest = np.where(np.isfinite(mean[of_round]), mean[of_round], -np.inf)
        ranks[of_round] = n_before + rankdata(-lowest, method="min")
        n_before += int(of_round.sum())
    return ranks
