"""Fits along C: how the coefficients, the objective and the scores of each loss change with the regularisation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from unisvm._checks import one_of
from unisvm.distributed.collections import refuse_collections
from unisvm.fitted_attributes import set_attributes
from unisvm.losses.base import CLASSIFICATION, REGRESSION, TASKS
from unisvm.model_selection.advice import warn_unfinished
from unisvm.model_selection.axes import Axes, KernelChoice
from unisvm.model_selection.base import BaseSearch, plain_estimator, plan, read_axes
from unisvm.model_selection.classifier_search import UniSVMClassifierCV
from unisvm.model_selection.folds import SearchJob, fold
from unisvm.model_selection.held_out import solve_kernel, split_attributes
from unisvm.model_selection.regressor_search import UniSVMRegressorCV
from unisvm.parallel import blas_threads, count_threads
from unisvm.progress import Report


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
    refuse_collections(X, "a path cannot be computed for")
    if task is None:
        task = REGRESSION if type_of_target(y, input_name="y").startswith("continuous") else CLASSIFICATION
    one_of("task", task, TASKS)
    for name in ("search", "refit", "calibration", "gammas"):
        if name in params:
            raise TypeError(f"path has no parameter {name!r}: it fits every C and loss, for one gamma.")
    searcher = UniSVMClassifierCV if task == CLASSIFICATION else UniSVMRegressorCV
    search = searcher(losses, Cs=Cs, gammas=[gamma], cv=cv, scoring=scoring, **params)
    axes = read_axes(search)
    if len(axes.kernels) > 1:
        raise ValueError("path fits with one kernel: give kernel as a name, a kernel object or a function.")
    axes = axes._replace(Cs=np.sort(axes.Cs))
    job = plan(search, axes, X, y, sample_weight, {}, whole=True).seeded(check_random_state(search.random_state))
    return _solve_path(search, axes, job, KernelChoice(axes.kernels[0], gamma))


def _solve_path(search: BaseSearch, axes: Axes, job: SearchJob, choice: KernelChoice) -> Path:
    """Path of a job whose first split is all rows."""
    folds = fold(job)
    shape = (len(axes.losses), len(axes.Cs))
    scores = np.empty((*shape, len(job.splits)))
    objective = np.empty((*shape, folds.columns.n_outputs))
    estimators: list[list[Any]] = [[None] * shape[1] for _ in range(shape[0])]
    n_unfinished = 0
    validated = {
        name: getattr(search, name) for name in ("n_features_in_", "feature_names_in_") if hasattr(search, name)
    }
    with Report(search.verbose) as report, blas_threads(count_threads(job.template.n_jobs)):
        for result in solve_kernel(job, folds, axes.losses, axes.Cs, choice, report):
            c, batch = result.C_index, result.batch
            scores[result.losses, c] = result.scores
            objective[result.losses, c] = batch.objective[:, result.place, 0]
            n_unfinished += int((~batch.converged[:, result.place]).sum())
            for position, j in enumerate(result.losses):
                seed = job.template.random_state
                model = plain_estimator(search, axes.given_losses[j], float(axes.Cs[c]), choice, seed)
                fitted = split_attributes(folds, result.nystrom, batch, (position, result.place, 0))
                set_attributes(model, fitted | validated)
                estimators[j][c] = model
    warn_unfinished(search.max_iter, n_unfinished, scores.size)
    return Path(axes.given_losses, axes.Cs, estimators, objective, scores[..., 0], scores[..., 1:])
