"""The outcome of a search, and the fitted attributes that tell of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from unisvm.fitted_attributes import set_attributes
from unisvm.model_selection.axes import Axes, KernelChoice
from unisvm.model_selection.folds import SearchJob
from unisvm.model_selection.search import Scores, cv_results
from unisvm.model_selection.suspects import CleanRefit
from unisvm.targets import Attributes

# attributes that not every fit has
_OPTIONAL_ATTRIBUTES = ("best_estimator_", "refit_time_", "n_iter_", "searched_rows_", "intervals_")


class SearchOutcome(NamedTuple):
    """A finished search: its job, scores and fitted attributes, and the refit without suspects if there was one."""

    job: SearchJob
    scores: Scores
    attributes: Attributes
    clean_refit: CleanRefit | None


def search_attributes(job: SearchJob, axes: Axes, choices: list[KernelChoice], scores: Scores) -> Attributes:
    """Fitted attributes of a search, but for those of its refit."""
    assert scores.best is not None
    results = cv_results(scores, axes, choices)
    index = int(np.ravel_multi_index(scores.best, scores.fit_seconds.shape))
    params = results["params"][index]
    return {
        "cv_results_": results,
        "n_splits_": len(job.splits),
        "scorer_": job.scorer,
        "best_index_": index,
        "best_params_": params,
        "best_score_": float(results["mean_test_score"][index]),
        "C_": params["C"],
        "gamma_": params["gamma"],
        "loss_": params["loss"],
        "kernel_": choices[scores.best[1]].kernel,
    }


def store_outcome(search: BaseEstimator, attributes: Attributes) -> None:
    """Give the estimator its fitted attributes; those of an earlier fit that this one lacks are removed."""
    for name in _OPTIONAL_ATTRIBUTES:
        if hasattr(search, name):
            delattr(search, name)
    set_attributes(search, attributes)
