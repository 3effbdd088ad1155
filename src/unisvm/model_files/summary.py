"""What a model file says of its model in a few lines of JSON, for people and for `read_summary`."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline

from unisvm.kernels import Kernel, Scaled

# classes or columns beyond these are counted, and not listed
_MOST_LISTED = 100


def summarise(model: BaseEstimator, not_saved: dict[str, str]) -> dict[str, Any]:
    """The kind of a fitted model, what it was fitted with and how the fit ended, as JSON has it."""
    summary: dict[str, Any] = {"estimator": type(model).__name__}
    last = model
    while isinstance(last, Pipeline):
        last = last[-1]
    if last is not model:
        summary["steps"] = [type(step).__name__ for _, step in model.steps if step not in (None, "passthrough")]
    summary["task"] = "classification" if is_classifier(last) else "regression"
    summary |= {name: value for name, value in _of_estimator(last).items() if value is not None}
    return summary | {
        "not_saved": not_saved,
        "versions": {library.__name__: library.__version__ for library in (np, scipy, sklearn)},
    }


def _of_estimator(estimator: BaseEstimator) -> dict[str, Any]:
    """Entries that may be None."""
    best = getattr(estimator, "best_estimator_", estimator)
    cells = getattr(best, "cells_", None)
    kernel, points = getattr(best, "kernel_", None), getattr(best, "landmark_vectors_", None)
    coefficients = getattr(best if cells is None else cells[0], "dual_coef_", None)
    if coefficients is None:
        coefficients = getattr(best, "coef_", None)
    classes = getattr(estimator, "classes_", None)
    return {
        "n_features": estimator.n_features_in_,
        "n_classes": None if classes is None else len(classes),
        "classes": None if classes is None or len(classes) > _MOST_LISTED else classes.tolist(),
        "loss": _text(getattr(best, "loss", None)),
        "C": _numbers(getattr(best, "C_", getattr(best, "C", None))),
        "kernel": _describe(kernel) if isinstance(kernel, Kernel) else None,
        "n_landmarks": None if points is None else int(points.shape[0]),
        "n_cells": None if cells is None else len(cells),
        "rank": getattr(best, "rank_", None) if cells is None else int(best.rank_.max()),
        "trace_left_out": _numbers(getattr(best, "trace_error_", None)),
        "n_columns": None if coefficients is None else len(coefficients),
        "precision": None if coefficients is None else str(coefficients.dtype),
        "n_iter": getattr(best, "n_iter_", None),
        "objective": _numbers(getattr(best, "objective_", None)),
        "stationarity": _numbers(getattr(best, "stationarity_", None)),
        "best_score": _numbers(getattr(estimator, "best_score_", None)),
        "scoring": _text(getattr(estimator, "scoring", None)),
        "alpha": _numbers(getattr(best, "alpha_", None)),
    }


def _describe(kernel: Kernel) -> dict[str, Any]:
    """Name and parameters of a kernel; of a scaled one those of the kernel inside."""
    if isinstance(kernel, Scaled):
        return {"scaled": True} | _describe(kernel.kernel)
    parameters = kernel.get_params(deep=False)
    return {"name": type(kernel).__name__} | {name: _numbers(value) for name, value in parameters.items()}


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _numbers(value: Any) -> Any:
    """A number or a list of them, None for too many; those that are not finite are texts, since JSON has none."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, Real | np.ndarray):
        # a parameter that only training needs may be anything
        return None
    array = np.asarray(value)
    if array.size > _MOST_LISTED or array.dtype.kind not in "fiu":
        return None
    numbers = [number if np.isfinite(number) else str(number) for number in array.ravel().tolist()]
    return numbers if array.ndim else numbers[0]
