"""The searching estimators' common part: read the grid, split the rows, search, refit, and store the result."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from numbers import Real
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from unisvm._base import (
    BaseUniSVM,
    FitParameters,
    describe_estimator,
    read_settings,
    target_encoder,
)
from unisvm._checks import one_of
from unisvm._validation import (
    check_kernel_matrix,
    check_rows,
    check_rows_to_score,
    check_weights,
    is_precomputed,
    unchanged_on_failure,
)
from unisvm.checkpoint import fingerprint, open_stages
from unisvm.distributed.collections import is_dask
from unisvm.distributed.fit import draw
from unisvm.fitting import fit_estimator
from unisvm.kernel_expansion import KernelExpansion
from unisvm.kernels.base import as_rows
from unisvm.losses.base import CLASSIFICATION, Loss
from unisvm.memory_budget import MemoryBudget
from unisvm.model_selection.advice import warn_at_edge, warn_suspects, warn_unfinished
from unisvm.model_selection.axes import (
    Axes,
    GridParameters,
    KernelChoice,
    read_Cs,
    read_gammas,
    read_kernels,
    read_losses,
    search_method,
)
from unisvm.model_selection.cell_search import search_cells
from unisvm.model_selection.drawn_cells import draw_for
from unisvm.model_selection.folds import SearchJob, Splits, kernel_choices
from unisvm.model_selection.outcome import SearchOutcome, search_attributes
from unisvm.model_selection.scorers import make_scorer, route
from unisvm.model_selection.search import Scores, search_all
from unisvm.model_selection.splits import read_splits
from unisvm.model_selection.suspects import Cell, CleanRefit
from unisvm.parallel import count_threads
from unisvm.progress import Report
from unisvm.progress.callbacks import CallbackListener, callbacks_of
from unisvm.rows.mapped import take_rows
from unisvm.targets import Attributes

# of rows on Dask, so many are searched on
_SEARCHED_ROWS = 50_000
#: names of the ways to search a grid
SEARCHES = ("auto", "adaptive", "halving", "full")


class SearchStart(NamedTuple):
    """A search that has begun, with its callbacks if there are any."""

    axes: Axes
    report: Report
    called_back: CallbackListener | None


class BaseSearch(FitParameters, GridParameters):
    """Common part of the searching classifier and regressor."""

    _plain: ClassVar[type[BaseUniSVM]]
    _task: ClassVar[str]
    _default_losses: ClassVar[tuple[str, ...]]
    #: the default range of C
    _C_range: ClassVar[tuple[float, float]]
    _usable_scorings: ClassVar[tuple[str, ...]]
    #: parameters that are True or False
    _switches: ClassVar[tuple[str, ...]] = ("refit",)

    @abstractmethod
    def _validate(self, X, y, sample_weight) -> tuple[Any, np.ndarray, Any]:
        """X, y and weights as the plain estimators take them."""

    def _check_scoring(self, losses: Sequence[Loss]) -> None:
        """Raise when the scorer would judge fits of these losses by what they do not aim at."""

    def _check_splits(self, y: np.ndarray, weights: np.ndarray, splits: Splits) -> None:
        """Raise when a split cannot train a fit for this task."""

    def _refit_without_suspects(self, job: SearchJob, cell: Cell, scores: Scores, report: Report) -> CleanRefit | None:
        """The best cell without rows whose labels are doubtful, if that is better."""
        return None

    def _scorer(self):
        return make_scorer(self.scoring, self._plain(), self._usable_scorings)

    def get_metadata_routing(self):
        """Routing of metadata to `fit` itself, the splitter and the scorer.

        Returns
        -------
        routing : MetadataRouter
        """
        return (
            MetadataRouter(owner=type(self).__name__)
            .add_self_request(self)
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
            .add(scorer=self._scorer(), method_mapping=MethodMapping().add(caller="fit", callee="score"))
        )

    def _rows(self, X):
        """X as the best estimator takes it."""
        self._check_refitted()
        return X if is_dask(X) else check_rows(self, X)

    def _rows_to_score(self, X, y, sample_weight=None):
        """X, y and weights as the best estimator takes them."""
        self._check_refitted()
        return (X, y, sample_weight) if is_dask(X) else check_rows_to_score(self, X, y, sample_weight)

    def _check_refitted(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                f"The last fit of this {type(self).__name__} was with refit=False: there is nothing to predict with."
            )

    def predict(self, X):
        """Predictions of the best estimator.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        X = self._rows(X)
        return self.best_estimator_.predict(X)

    def trust(self, X, y=None):
        """Trust of the best estimator in each label or target, from 0 to 1.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), path of a .npy file, or name of a column
            As in `fit`.

        Returns
        -------
        trust : ndarray of shape (n_samples,)
        """
        X, y, _ = self._rows_to_score(X, y)
        return self.best_estimator_.trust(X, y)

    def score(self, X, y=None, **params):
        """Score of the best estimator on these rows, by the scorer of the search, as that of `GridSearchCV` is.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), path of a .npy file, or name of a column
            As in `fit`.
        **params : dict
            Further arguments of the scorer, such as sample_weight.

        Returns
        -------
        score : float
        """
        X, y, sample_weight = self._rows_to_score(X, y, params.get("sample_weight"))
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        return self.scorer_(self.best_estimator_, X, y, **params)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "cv_results_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        plain = self._plain(kernel=self.kernel).__sklearn_tags__()
        tags.input_tags, tags.target_tags = plain.input_tags, plain.target_tags
        tags.classifier_tags, tags.regressor_tags = plain.classifier_tags, plain.regressor_tags
        return tags


def scorer_of(search: BaseSearch) -> Any:
    """The scorer of a search, made of its parameter `scoring`."""
    return search._scorer()


# ------------------------------------------------------------------ the grid and the job


def plain_estimator(search: BaseSearch, loss: Any, C: float, choice: KernelChoice, seed: int) -> BaseUniSVM:
    """A plain estimator with the parameters of a searching one and those of a cell."""
    params = search.get_params(deep=False)
    shared = {name: params[name] for name in search._plain().get_params(deep=False) if name in params}
    of_each = {"random_state": seed, "verbose": 0, "checkpoint": None}
    return search._plain(loss, C=C, **(shared | of_each | choice._asdict()))


def read_axes(search: BaseSearch) -> Axes:
    """The axes of an estimator's grid; raises when one of its parameters is out of range, whatever the data."""
    given, losses = read_losses(search.losses, search._default_losses, search._task)
    Cs, kernels = read_Cs(search.Cs, *search._C_range), read_kernels(search.kernel, search.gammas)
    axes = Axes(given, losses, Cs, kernels, read_gammas(search.gammas))
    one_of("search", search.search, SEARCHES)
    if search.indefinite == "krein":
        raise ValueError(
            "indefinite='krein' is for the estimators of one C: not every loss and C of a grid has a minimum with it. "
            "Use 'flip' or 'clip' in a search."
        )
    for name in search._switches:
        if not isinstance(getattr(search, name), bool | np.bool_):
            raise ValueError(f"{name} must be True or False, got {getattr(search, name)!r}.")
    for kernel in kernels:
        estimator = plain_estimator(search, losses[0], float(Cs[0]), KernelChoice(kernel, "scale"), 0)
        read_settings(estimator.set_params(verbose=search.verbose, checkpoint=search.checkpoint))
    return axes


def plan(
    search: BaseSearch, axes: Axes, X, y, sample_weight, params: dict[str, Any], *, whole: bool = False
) -> SearchJob:
    """The job of a search over these rows, which are validated.

    With `whole`, the first split is all rows, trained and scored on; splits by ``cv`` follow only if that is given.
    """
    X, y, sample_weight = search._validate(X, y, sample_weight)
    X = as_rows(X)
    template = plain_estimator(search, axes.losses[0], 1.0, KernelChoice(axes.kernels[0], "scale"), 0)
    if len(axes.kernels) > 1 and template.get_params().get("multi_class") == "auto":
        # pairs for one kernel are pairs for all
        template.set_params(multi_class="ovo")
    weights = check_weights(sample_weight, X)
    if isinstance(sample_weight, Real):
        # a scorer has an entry for each row
        sample_weight = np.full(len(weights), sample_weight)
    if is_precomputed(template.kernel):
        check_kernel_matrix(X)
    drawn = None if whole else draw_for(search, template, X, y, weights)
    if drawn is not None:
        params = {name: drawn.take_argument(value, len(weights)) for name, value in params.items()}
        X, y, weights = take_rows(X, drawn.row_indices), y[drawn.row_indices], weights[drawn.row_indices]
        sample_weight = None if sample_weight is None else weights
    scorer = search._scorer()
    routed = route(search, scorer, sample_weight, params)
    splits = everything = [(np.arange(X.shape[0]),) * 2]
    if search.cv is not None or not whole:
        splitter = check_cv(search.cv, y, classifier=search._task == CLASSIFICATION)
        splits = read_splits(splitter.split(X, y, **routed.splitter.split), weights)
    _, attributes = target_encoder(template, X.shape[1]).encode(y, weights, X.dtype)
    search._check_splits(y, weights, splits)
    if whole and splits is not everything:
        splits = everything + splits
    if drawn is not None:
        drawn = drawn.with_splits(splits)
    memory = MemoryBudget.parse(search.memory_limit)
    return SearchJob(template, X, y, weights, attributes, splits, scorer, routed.scorer.score, memory, drawn)


# ------------------------------------------------------------------ search and refit


@contextmanager
def begin_search(search: BaseSearch, X, y, sample_weight) -> Iterator[SearchStart]:
    """Context of a fit, in which the outcome is stored. If it fails, the estimator is as before."""
    with np.errstate(all="ignore"):
        axes = read_axes(search)
        search._check_scoring(axes.losses)
    with (
        Report(search.verbose) as report,
        callbacks_of(search, report, X, y, sample_weight) as called_back,
        unchanged_on_failure(search),
        np.errstate(all="ignore"),
    ):
        yield SearchStart(axes, report, called_back)


def fit_search(search: BaseSearch, start: SearchStart, X, y, sample_weight, params: dict[str, Any]) -> SearchOutcome:
    """The outcome of a search, refit included. The estimator is not changed but for what validation notes of X."""
    axes, report, attributes = start.axes, start.report, Attributes()
    refit_rows, on_dask = (X, y, sample_weight), is_dask(X)
    if on_dask:
        if search.cells is not None:
            raise ValueError("cells is for rows in memory or in files: use cells=None for rows on Dask.")
        attributes["searched_rows_"], X, y, weights = _draw(search, *refit_rows, params)
        sample_weight = None if sample_weight is None else weights
    job = plan(search, axes, X, y, sample_weight, params)
    choices = kernel_choices(axes, job)
    with open_stages(search.checkpoint, partial(_identity, search, axes, choices, job), search.random_state) as stages:
        if stages.finished:
            report.say(f"resumes from the checkpoint after: {', '.join(stages.finished)}")
        job = job.seeded(stages.rng)
        search_grid = search_all if job.drawn is None else search_cells
        scores = search_grid(job, axes, choices, method=search_method(search), report=report, stages=stages)
    if scores.best is None:
        raise ValueError("No cell of the grid has a finite score: look at the scorer and at y.")
    warn_unfinished(search.max_iter, int(scores.unfinished.sum()), int(np.isfinite(scores.values).sum()))
    warn_at_edge(axes, choices, scores)
    attributes |= search_attributes(job, axes, choices, scores)
    if not search.refit:
        return SearchOutcome(job, scores, attributes, None)
    started, clean = perf_counter(), None
    if job.drawn is not None:
        attributes["searched_rows_"] = job.drawn.row_indices
    elif not on_dask:
        refit_rows = job.X, job.y, None if sample_weight is None else job.weights
        C, choice, loss = scores.best
        higher = np.unique(axes.Cs[axes.Cs >= axes.Cs[C]])
        cell = Cell(axes.losses[loss], higher, choices[choice])
        clean = search._refit_without_suspects(job, cell, scores, report)
        if clean is not None:
            warn_suspects(clean.suspects, job.y)
    functions = scores.functions if clean is None else clean.functions
    function = None if functions is None else functions.mean()
    best = _refit(search, start, *refit_rows, job, attributes, function, clean)
    attributes |= {"best_estimator_": best, "refit_time_": perf_counter() - started, "n_iter_": best.n_iter_}
    return SearchOutcome(job, scores, attributes, clean)


def _draw(search: BaseSearch, X, y, sample_weight, params: dict[str, Any]):
    """A sample of the rows on Dask, as `distributed.fit.draw` returns it."""
    if params:
        raise ValueError(f"{', '.join(params)}: not for rows on Dask, of which a sample is searched on.")
    if search.checkpoint is not None and (search.random_state is None or search.random_state is np.random):
        raise ValueError("A checkpoint of a search on Dask needs a random_state, to draw the same rows again.")
    return draw(X, y, sample_weight, _SEARCHED_ROWS, check_random_state(search.random_state))


def _identity(search: BaseSearch, axes: Axes, choices: list[KernelChoice], job: SearchJob) -> dict[str, str]:
    """Descriptions of a search, by which a checkpoint knows it."""
    describe = partial(fingerprint.describe, n_threads=count_threads(search.n_jobs))
    gammas = [choice.gamma for choice in choices]
    # the splits say all that cv does
    grid = {"losses": axes.given_losses, "Cs": axes.Cs, "kernel": axes.kernels, "gammas": gammas, "cv": None}
    return describe_estimator(search, **grid) | {
        "X": describe(job.X),
        "y": describe(job.y),
        "the weights": describe(job.weights),
        "the splits": fingerprint.describe_together(rows for split in job.splits for rows in split),
        "the scorer's arguments": describe(job.score_params),
    }


def _refit(
    search: BaseSearch,
    start: SearchStart,
    X,
    y,
    sample_weight,
    job: SearchJob,
    attributes: Attributes,
    function: KernelExpansion | None,
    clean: CleanRefit | None,
) -> BaseUniSVM:
    """The best cell fitted on all rows, or on those that are no suspects."""
    choice = KernelChoice(attributes["kernel_"], attributes["gamma_"])
    C = attributes["C_"] if clean is None else clean.C
    best = plain_estimator(search, attributes["loss_"], C, choice, job.template.random_state)
    if search._task == CLASSIFICATION:
        best.set_params(multi_class=job.template.multi_class)
    folder = None if search.checkpoint is None else Path(search.checkpoint) / "refit"
    settings = read_settings(best.set_params(verbose=search.verbose, checkpoint=folder))
    if clean is not None:
        sample_weight = np.where(clean.suspects, 0, 1 if sample_weight is None else sample_weight)
    # a nonconvex loss starts from the mean of its splits' functions, to end at the stationary point that was scored
    init = None if settings.loss.is_convex or is_precomputed(best.kernel) else function
    with nullcontext() if start.called_back is None else start.called_back.refit(best):
        fit_estimator(best, X, y, sample_weight, init, start.report)
    return best.set_params(checkpoint=None)
