"""Fits along C: how the coefficients, the objective and the scores of each loss change with the regularisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from unisvm._checks import one_of
from unisvm._distributed import refuse_collections
from unisvm._report import Report
from unisvm.losses.base import CLASSIFICATION, REGRESSION, TASKS
from unisvm.model_selection.estimators import UniSVMClassifierCV, UniSVMRegressorCV
from unisvm.model_selection.folds import attributes, fold
from unisvm.model_selection.walk import Space, walk
from unisvm.rows.threads import blas_threads, count_threads


@dataclass(frozen=True)
class Path:
    """Fits for several losses and C over the same landmarks.

    Attributes
    ----------
    losses : list
        As they were given.
    Cs : ndarray of shape (n_C,)
        Rising.
    estimators : list of lists
        The fitted estimator of each loss and C.
    objective : ndarray of shape (n_losses, n_C, n_columns)
    train_scores : ndarray of shape (n_losses, n_C)
        Scores on the rows that were fitted.
    test_scores : ndarray of shape (n_losses, n_C, n_splits)
        Scores on the rows that the splits left out; there are none without `cv`.
    """

    losses: list[Any]
    Cs: np.ndarray
    estimators: list[list[Any]]
    objective: np.ndarray
    train_scores: np.ndarray
    test_scores: np.ndarray

    @property
    def dual_coef(self) -> np.ndarray:
        """Coefficients of the landmarks, of shape (n_losses, n_C, n_columns, rank)."""
        return np.array([[model.dual_coef_ for model in models] for models in self.estimators])

    @property
    def intercept(self) -> np.ndarray:
        """Of shape (n_losses, n_C, n_columns)."""
        return np.array([[model.intercept_ for model in models] for models in self.estimators])


def path(
    X, y, *, losses=None, Cs=10, gamma="scale", cv=None, scoring=None, task=None, sample_weight=None, **params
) -> Path:
    """Fit along C, for one or many losses at once.

    The landmarks and the features are made once. Every loss and fold is a column of one batched solve, started from the
    solution for the C before, or from that of the squared hinge.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    losses : str, Loss or a sequence of them, optional
        Those of `UniSVMClassifierCV` or `UniSVMRegressorCV` if not given.
    Cs : int or array-like, default=10
        So many values in the range of the estimators that search, or the values themselves.
    gamma : float, "scale" or "auto", default="scale"
    cv : int, splitter or iterable, optional
        With it, the fits are also scored on the rows that its splits leave out.
    scoring : str, callable or None, default=None
        Any scorer of scikit-learn; None is the accuracy or R².
    task : {"classification", "regression"}, optional
        Told from y if not given: real numbers are for regression.
    sample_weight : array-like of shape (n_samples,), optional
    **params
        Further parameters of the estimators, such as ``rank`` or ``landmarks``.

    Returns
    -------
    path : Path

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> import unisvm
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> path = unisvm.path(X, y, losses=["hinge", "saturating"], Cs=[0.1, 1.0, 10.0], cv=5, random_state=0)
    >>> path.train_scores.shape, path.test_scores.shape
    ((2, 3), (2, 3, 5))
    >>> bool(path.estimators[1][2].score(X, y) == path.train_scores[1, 2])
    True
    """
    refuse_collections(X)
    if task is None:
        task = REGRESSION if type_of_target(y, input_name="y").startswith("continuous") else CLASSIFICATION
    one_of("task", task, TASKS)
    for name in ("search", "prune", "refit", "calibration", "gammas"):
        if name in params:
            raise TypeError(f"path has no parameter {name!r}: it fits every C and loss, for one gamma.")
    searcher = UniSVMClassifierCV if task == CLASSIFICATION else UniSVMRegressorCV
    search = searcher(losses, Cs=Cs, gammas=[gamma], cv=cv, scoring=scoring, **params)
    axes = search._check()
    if len(axes.kernels) > 1:
        raise ValueError("path fits with one kernel: give kernel as a name, a kernel object or a function.")
    space = Space(axes.kernels[0], gamma)
    given, found, costs = axes.given, axes.losses, np.sort(axes.costs)
    X, y = search._validate(X, y)
    everything = (np.arange(X.shape[0]),) * 2
    job = search._plan(axes, X, y, sample_weight, {}, [everything] if cv is None else None)
    job = job.seeded(check_random_state(search.random_state))
    if cv is not None:
        job = job._replace(splits=[everything, *job.splits])

    folds = fold(job.template, X, y, job.weights, job.splits)
    scores = np.empty((len(found), len(costs), len(job.splits)))
    objective = np.empty((len(found), len(costs), folds.layout.n_outputs))
    estimators: list[list[Any]] = [[None] * len(costs) for _ in found]
    unfinished = 0
    seen = {name: value for name, value in vars(search).items() if name in ("n_features_in_", "feature_names_in_")}
    with blas_threads(count_threads(job.template.n_jobs)):
        for step in walk(job, folds, found, costs, space, prune=False, report=Report(search.verbose)):
            scores[step.losses, step.c] = step.scores
            objective[step.losses, step.c] = step.stage.objective[:, step.place, 0]
            unfinished += int((~step.stage.finished[:, step.place]).sum())
            for position, j in enumerate(step.losses):
                model = search._estimator(given[j], float(costs[step.c]), space, job.template.random_state)
                fitted = attributes(folds, step.prepared, step.stage, (position, step.place, 0))
                model.__dict__.update(fitted, **seen)
                estimators[j][step.c] = model
    search._warn_of_unfinished(unfinished, scores.size)
    return Path(given, costs, estimators, objective, scores[..., 0], scores[..., 1:])
