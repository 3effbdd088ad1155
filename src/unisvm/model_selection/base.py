"""What the searching estimators share: the grid and its checks, the splits, the results and the refit."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable
from functools import partial
from inspect import signature
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from unisvm import _distributed, checkpoint, fingerprint, kernels, losses
from unisvm._checks import check_number, is_integer, one_of
from unisvm._estimator import BaseUniSVM, describe_estimator
from unisvm._inputs import check_rows
from unisvm._report import Report
from unisvm.kernels.base import as_rows
from unisvm.losses.base import CLASSIFICATION, Loss
from unisvm.model_selection.folds import Splits
from unisvm.model_selection.search import Scores, search
from unisvm.model_selection.suspects import Cell, Cleaned
from unisvm.model_selection.walk import Space, Task
from unisvm.rows import MemoryRows
from unisvm.rows.collections import is_dask
from unisvm.rows.threads import count_threads

# of rows on Dask, so many are searched on
_SEARCHED_ROWS = 50_000
# how many values of gamma there are by default, and how far apart
_GAMMAS, _GAMMA_FACTOR = 5, 4.0
# Smooth functions and ones that change along single columns, as trees do: which kind suits the rows is seldom known.
_KERNELS = ("rbf", "laplacian")


class Axes(NamedTuple):
    """What a grid is made of, read once: an axis may be given by a generator.

    Attributes
    ----------
    given : list
        The losses as they were given.
    losses : list of Loss
    costs : ndarray
    kernels : list
        As they were given.
    gammas : list or int
        The values, or how many in the range of each kernel.
    """

    given: list[Any]
    losses: list[Loss]
    costs: np.ndarray
    kernels: list[Any]
    gammas: list[Any] | int


class BaseSearch(BaseEstimator):
    """Common part of the searching classifier and regressor."""

    _plain: ClassVar[type[BaseUniSVM]]
    _default_losses: ClassVar[tuple[str, ...]]
    #: the default range of C
    _least_C: ClassVar[float]
    _most_C: ClassVar[float]
    _usable_scorings: ClassVar[tuple[str, ...]]
    #: parameters that are True or False
    _switches: ClassVar[tuple[str, ...]] = ("prune", "refit")

    # ------------------------------------------------------------------ the grid, checked before any work

    def _given_losses(self) -> list[Any]:
        given = self._default_losses if self.losses is None else self.losses
        if isinstance(given, str | Loss):
            return [given]
        if not isinstance(given, Iterable):
            raise TypeError(f"losses must be a loss or a sequence of losses, by name or as instances; got {given!r}.")
        return list(given)

    def _losses(self, given: list[Any]) -> list[Loss]:
        if not given:
            raise ValueError("losses is empty: give at least one loss.")
        found = []
        for i, entry in enumerate(given):
            try:
                loss = losses.get(entry)
            except (TypeError, ValueError) as error:
                raise type(error)(f"losses[{i}]: {error}") from None
            if self._plain._task not in loss.tasks:
                usable = ", ".join(map(repr, losses.names(self._plain._task)))
                raise ValueError(f"losses[{i}]: {entry!r} is not for {self._plain._task}. Use one of {usable}.")
            found.append(loss)
        return found

    def _costs(self) -> np.ndarray:
        if is_integer(self.Cs) and self.Cs >= 1:
            return np.geomspace(self._least_C, self._most_C, self.Cs)
        entries = _entries("Cs", self.Cs)
        for i, C in enumerate(entries):
            check_number(f"Cs[{i}]", C, 0, np.inf)
        return np.asarray(entries, dtype=np.float64)

    def _kernels(self) -> list[Any]:
        if isinstance(self.kernel, str) and self.kernel == "auto":
            # values of gamma that somebody has in mind are those of the kernel that the plain estimators have
            return list(_KERNELS) if self.gammas is None else ["rbf"]
        if isinstance(self.kernel, str) or callable(self.kernel) or not isinstance(self.kernel, Iterable):
            return [self.kernel]
        entries = _entries("kernel", self.kernel)
        for i, entry in enumerate(entries):
            try:
                kernel = kernels.get(entry)
            except ValueError as error:
                raise ValueError(f"kernel[{i}]: {error}") from None
            if len(entries) > 1 and kernel.points_are_numbers:
                raise ValueError(f"kernel[{i}]: a precomputed matrix has no other kernels beside it.")
        return entries

    def _gammas(self) -> list[Any] | int:
        if self.gammas is None:
            return _GAMMAS
        if is_integer(self.gammas) and self.gammas >= 1:
            return int(self.gammas)
        entries = [self.gammas] if isinstance(self.gammas, str) else _entries("gammas", self.gammas)
        for i, gamma in enumerate(entries):
            if isinstance(gamma, str):
                one_of(f"gammas[{i}]", gamma, ("scale", "auto"))
            else:
                check_number(f"gammas[{i}]", gamma, 0, np.inf)
        return entries

    def _estimator(self, loss: Any, C: float, space: Space, seed: int) -> BaseUniSVM:
        """A plain estimator with this one's parameters."""
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in self._plain().get_params(deep=False) if name in own}
        own_to_each = {"random_state": seed, "verbose": 0, "checkpoint": None}
        return self._plain(loss, C=C, **(shared | own_to_each | space._asdict()))

    def _check(self) -> Axes:
        given = self._given_losses()
        axes = Axes(given, self._losses(given), self._costs(), self._kernels(), self._gammas())
        one_of("search", self.search, ("full", "halving"))
        for name in self._switches:
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r}.")
        for kernel in axes.kernels:
            estimator = self._estimator(axes.losses[0], float(axes.costs[0]), Space(kernel, "scale"), 0)
            estimator.set_params(verbose=self.verbose, checkpoint=self.checkpoint)._check_parameters()
        return axes

    def _spaces(self, axes: Axes, X, weights: np.ndarray) -> list[Space]:
        """Every kernel with each of its values of gamma."""
        rows = MemoryRows(as_rows(X), np.empty((X.shape[0], 0)), weights)
        variance = rows.variance() if isinstance(axes.gammas, int) else 0.0
        spaces = []
        for given in axes.kernels:
            kernel = kernels.get(given) if isinstance(given, str) else None
            gammas = axes.gammas
            if kernel is None or "gamma" not in kernel.get_params():
                # it has none, or brings its own
                gammas = ["scale"]
            elif isinstance(gammas, int):
                powers = np.arange(gammas) - (gammas - 1) / 2
                gammas = (kernel.gamma_of_scale(X.shape[1], variance) * _GAMMA_FACTOR**powers).tolist()
            spaces += [Space(given, gamma) for gamma in gammas]
        return spaces

    def _check_splits(self, y: np.ndarray, weights: np.ndarray, splits: Splits, own: dict[str, Any]) -> None:
        """Raise when a split has nothing to train or to score on."""
        if not splits:
            raise ValueError("cv gives no splits.")
        for k, (train, test) in enumerate(splits):
            for rows, purpose in ((train, "train"), (test, "score")):
                if not weights[rows].any():
                    raise ValueError(f"cv: split {k} has no rows of positive weight to {purpose} on.")

    # ------------------------------------------------------------------ fit

    @abstractmethod
    def _validate(self, X, y) -> tuple[Any, np.ndarray]:
        """X and y as the plain estimators take them."""

    def _plan(
        self, axes: Axes, X, y: np.ndarray, sample_weight, params: dict[str, Any], splits: Splits | None = None
    ) -> Task:
        """What is to be searched on, with splits of its own or with those that are given. X and y are validated."""
        template = self._estimator(axes.losses[0], 1.0, Space(axes.kernels[0], "scale"), 0)
        weights = template._check_weights(sample_weight, X)
        template._check_rows(X)
        scorer = self._scorer()
        routed = self._route(scorer, sample_weight, params)
        if splits is None:
            splitter = check_cv(self.cv, y, classifier=self._plain._task == CLASSIFICATION)
            splits = [
                (_numbers(train), _numbers(test)) for train, test in splitter.split(X, y, **routed.splitter.split)
            ]
        _, own = template._specify(y, weights, X.dtype)
        self._check_splits(y, weights, splits, own)
        return Task(template, X, y, weights, own, splits, scorer, routed.scorer.score)

    def _fit(self, X, y, sample_weight, params: dict[str, Any]) -> tuple[Scores, Task, Cleaned | None]:
        """Search the grid and refit; the scores, what they are about, and what the refit did without."""
        axes = self._check()
        every_row = cleaned = None
        self.__dict__.pop("searched_rows_", None)
        if is_dask(X):
            if params:
                raise ValueError(f"{', '.join(params)}: not for rows on Dask, of which a sample is searched on.")
            if self.checkpoint is not None and (self.random_state is None or self.random_state is np.random):
                raise ValueError("A checkpoint of a search on Dask needs a random_state, to draw the same rows again.")
            every_row = X, y, sample_weight
            rng = check_random_state(self.random_state)
            self.searched_rows_, X, y, weights = _distributed.draw(*every_row, _SEARCHED_ROWS, rng)
            sample_weight = None if sample_weight is None else weights
        X, y = self._validate(X, y)
        task = self._plan(axes, X, y, sample_weight, params)
        spaces = self._spaces(axes, X, task.weights)
        report = Report(self.verbose)

        def identity() -> dict[str, str]:
            return self._identity(axes, spaces, task)

        with checkpoint.opened(self.checkpoint, identity, self.random_state) as saved:
            if saved.known:
                report.say(f"goes on from the checkpoint after: {', '.join(saved.known)}")
            task = task.seeded(saved.rng)
            halving = self.search == "halving"
            scores = search(
                task, axes.losses, axes.costs, spaces, halving=halving, prune=self.prune, report=report, saved=saved
            )
        if scores.best is None:
            raise ValueError("No cell of the grid has a finite score: look at the scorer and at y.")
        self._warn_of_unfinished(int(scores.unfinished.sum()), scores.values.size)
        self.cv_results_ = _results(scores, axes.costs, spaces, axes.given)
        self.n_splits_ = len(task.splits)
        self.scorer_ = task.scorer
        self.best_index_ = int(np.ravel_multi_index(scores.best, scores.fit_seconds.shape))
        self.best_params_ = self.cv_results_["params"][self.best_index_]
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.C_, self.gamma_, self.loss_ = (self.best_params_[name] for name in ("C", "gamma", "loss"))
        self.kernel_ = spaces[scores.best[1]].kernel
        for name in ("best_estimator_", "refit_time_", "n_iter_"):
            # not to be taken for this fit's
            self.__dict__.pop(name, None)
        if self.refit:
            started = perf_counter()
            higher = np.unique(axes.costs[axes.costs >= self.C_])
            cell = Cell(axes.losses[scores.best[2]], higher, spaces[scores.best[1]])
            if every_row is None:
                cleaned = self._without_suspects(task, cell, scores, report)
            if cleaned is not None:
                scores.decision, scores.model = cleaned.decision, cleaned.model
            self.best_estimator_ = self._refit(*(every_row or (X, y, sample_weight)), task, scores.model, cleaned)
            self.refit_time_ = perf_counter() - started
            self.n_iter_ = self.best_estimator_.n_iter_
        return scores, task, cleaned

    def _identity(self, axes: Axes, spaces: list[Space], task: Task) -> dict[str, str]:
        """What a checkpoint must have been made of for this search to go on from it."""
        describe = partial(fingerprint.describe, n_threads=count_threads(self.n_jobs))
        # the splits say all that cv does
        gammas = [space.gamma for space in spaces]
        own = {"losses": axes.given, "Cs": axes.costs, "kernel": axes.kernels, "gammas": gammas, "cv": None}
        return describe_estimator(self, **own) | {
            "X": describe(task.X),
            "y": describe(task.y),
            "the weights": describe(task.weights),
            "the splits": fingerprint.describe_together(rows for split in task.splits for rows in split),
            "what the scorer is given": describe(task.score_params),
        }

    def _warn_of_unfinished(self, count: int, of: int) -> None:
        if count:
            warnings.warn(
                f"{count} of {of} fits stopped after max_iter={self.max_iter} iterations. "
                "Raise max_iter, or raise tol, or leave out the highest C.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _without_suspects(self, task: Task, cell: Cell, scores: Scores, report: Report) -> Cleaned | None:
        """The best cell without rows whose labels are doubtful, if that is better."""
        return None

    def _refit(
        self, X, y: np.ndarray, sample_weight, task: Task, mean_model: dict[str, Any], cleaned: Cleaned | None
    ) -> BaseUniSVM:
        """The best cell fitted on all rows, or on those that are no suspects."""
        folder = None if self.checkpoint is None else Path(self.checkpoint) / "refit"
        best = self._estimator(self.loss_, self.C_, Space(self.kernel_, self.gamma_), task.template.random_state)
        best.set_params(verbose=self.verbose, checkpoint=folder)
        if cleaned is not None:
            best.set_params(C=cleaned.C)
            sample_weight = np.where(cleaned.suspects, 0, 1 if sample_weight is None else sample_weight)
        if not losses.get(self.loss_).is_convex:
            # from the mean of its splits' functions, to end where they were scored and not in another valley
            best.set_params(warm_start=True)
            best.__dict__.update(task.own, **mean_model, n_features_in_=X.shape[1])
        return best.fit(X, y, sample_weight).set_params(checkpoint=None, warm_start=False)

    def _scorer(self):
        if isinstance(self.scoring, list | tuple | set | dict):
            raise ValueError("scoring must be a single scorer: its name, a callable, or None.")
        plain, routing = self._plain(), get_config()["enable_metadata_routing"]
        if self.scoring is None and routing:
            plain.set_score_request(sample_weight=True)
        scorer = check_scoring(plain, scoring=self.scoring)
        methods = getattr(scorer, "_response_method", "predict")
        methods = [methods] if isinstance(methods, str) else methods
        if not any(hasattr(plain, method) for method in methods):
            has = [name for name in ("predict", "decision_function") if hasattr(plain, name)]
            raise ValueError(
                f"scoring={self.scoring!r} is about {' or '.join(methods)}, which the fits of a search do not have. "
                f"Use a scorer of {' or '.join(has)}, such as {', '.join(map(repr, self._usable_scorings))}."
            )
        if isinstance(self.scoring, str) and routing and _takes_weights(scorer):
            # whoever gives a name has no scorer to say it to
            scorer.set_score_request(sample_weight=True)
        return scorer

    def _route(self, scorer, sample_weight, params: dict[str, Any]) -> Bunch:
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", sample_weight=sample_weight, **params)
        unknown = sorted(set(params) - {"groups"})
        if unknown:
            raise TypeError(
                f"fit got unexpected arguments: {', '.join(unknown)}. Beside sample_weight it takes groups."
            )
        weighted = sample_weight is not None and (self.scoring is None or _takes_weights(scorer))
        score = {"sample_weight": sample_weight} if weighted else {}
        return Bunch(splitter=Bunch(split={"groups": params.get("groups")}), scorer=Bunch(score=score))

    def get_metadata_routing(self):
        """Who gets which metadata: `fit` itself, the splitter and the scorer.

        Returns
        -------
        routing : MetadataRouter
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
            .add(scorer=self._scorer(), method_mapping=MethodMapping().add(caller="fit", callee="score"))
        )

    # ------------------------------------------------------------------ use

    def _rows(self, X):
        """X as the best estimator takes it."""
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(
                f"{type(self).__name__} was fitted with refit=False: there is nothing to predict with."
            )
        return X if is_dask(X) else check_rows(self, X)

    def predict(self, X):
        """What the best estimator predicts.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        X = self._rows(X)
        return self.best_estimator_.predict(X)

    def trust(self, X, y):
        """How much the best estimator believes each label or target, from 0 to 1.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        trust : ndarray of shape (n_samples,)
        """
        X = self._rows(X)
        return self.best_estimator_.trust(X, y)

    def score(self, X, y, **params):
        """What the scorer says of the best estimator on these rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        **params : dict
            What the scorer takes beside them, such as sample_weight.

        Returns
        -------
        score : float
        """
        X = self._rows(X)
        return self.scorer_(self.best_estimator_, X, y, **params)

    def __sklearn_is_fitted__(self):
        return hasattr(self, "cv_results_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        plain = self._plain(kernel=self.kernel).__sklearn_tags__()
        tags.input_tags, tags.target_tags = plain.input_tags, plain.target_tags
        tags.classifier_tags, tags.regressor_tags = plain.classifier_tags, plain.regressor_tags
        return tags


def _entries(name: str, given: Any) -> list[Any]:
    """The entries of a grid's axis."""
    try:
        entries = list(given)
    except TypeError:
        raise ValueError(
            f"{name} must be a number of values of at least 1, or an array of them; got {given!r}."
        ) from None
    if not entries:
        raise ValueError(f"{name} is empty: give at least one value.")
    return [entry.item() if isinstance(entry, np.generic) else entry for entry in entries]


def _numbers(rows) -> np.ndarray:
    """Row numbers from row numbers or from a mask."""
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype == bool else rows


def _takes_weights(scorer) -> bool:
    """Whether a scorer is a function of weights as well."""
    try:
        return "sample_weight" in signature(getattr(scorer, "_score_func", scorer)).parameters
    except ValueError:
        # of something compiled
        return False


def _results(scores: Scores, costs: np.ndarray, spaces: list[Space], given: list[Any]) -> dict[str, Any]:
    """The layout of GridSearchCV, with the kernel if there are several."""
    one = all(space.kernel is spaces[0].kernel for space in spaces)
    cells = [({"gamma": space.gamma} if one else {"gamma": space.gamma, "kernel": space.kernel}) for space in spaces]
    params = [{"C": C, **cell, "loss": loss} for C in costs.tolist() for cell in cells for loss in given]
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
    # what was not tried comes last
    lowest = np.where(np.isfinite(mean), mean, -np.inf)
    results |= {"mean_test_score": mean, "std_test_score": std}
    results["rank_test_score"] = rankdata(-lowest, method="min").astype(np.int32)
    return results
