"""Fitted attributes of estimators, and the line that says how a fit ended."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from unisvm.bases import Basis
from unisvm.engine import Fitted
from unisvm.kernel_expansion import KernelExpansion
from unisvm.targets import Attributes

# attributes that one machine has and a fit with cells has not, or the other way round
_OF_ONE_MACHINE = ("landmarks_", "landmark_vectors_", "dual_coef_", "intercept_", "signature_", "history_")
_OF_CELLS = ("partitions_", "cells_")
_OF_RELEVANCE = ("relevances_", "feature_importances_")


def set_attributes(estimator: BaseEstimator, attributes: Attributes) -> None:
    """Give the estimator these fitted attributes."""
    for name, value in attributes.items():
        setattr(estimator, name, value)


def replace_attributes(estimator: BaseEstimator, attributes: Attributes) -> None:
    """Give the estimator these fitted attributes in place of those of an earlier fit, of one machine or of cells."""
    for name in (*_OF_ONE_MACHINE, *_OF_CELLS, *_OF_RELEVANCE):
        if hasattr(estimator, name) and name not in attributes:
            delattr(estimator, name)
    set_attributes(estimator, attributes)


def model_attributes(basis: Basis, trace_error: float, expansion: KernelExpansion) -> Attributes:
    """Fitted attributes of an estimator with these functions."""
    return {
        "kernel_": expansion.kernel,
        "landmarks_": basis.row_indices,
        "landmark_vectors_": expansion.points,
        "dual_coef_": expansion.dual_coef,
        "intercept_": expansion.intercept,
        "rank_": sum(basis.feature_map.signature),
        "signature_": basis.feature_map.signature,
        "trace_error_": trace_error,
    }


def fitted_attributes(fitted: Fitted) -> Attributes:
    """Attributes of the model and of the solver's end, as numbers for one column and as arrays for several."""
    result, choice = fitted.result, fitted.choice

    def per_column(array):
        return array[0] if len(result.objective) == 1 else array

    return model_attributes(fitted.basis, fitted.trace_error, fitted.expansion) | {
        "C_": choice.C,
        "C_scores_": {"C": choice.Cs, "error": choice.errors},
        "objective_": per_column(result.objective),
        "stationarity_": per_column(result.stationarity),
        "n_sweeps_": per_column(result.n_sweeps),
        "n_iter_": len(result.history),
        "history_": {
            "objective": list(map(per_column, result.history.objective)),
            "stationarity": list(map(per_column, result.history.stationarity)),
            "seconds": list(result.history.seconds),
            "n_sweeps": list(result.history.n_sweeps),
        },
    }


def certificate(fitted: Fitted) -> str:
    """How a fit ended, on one line."""
    result = fitted.result
    return (
        f"rank {sum(fitted.basis.feature_map.signature)}, trace left out {fitted.trace_error:.2e}; "
        f"{len(result.history)} iterations, objective {np.mean(result.objective):.8g}, "
        f"stationarity {np.max(result.stationarity):.2e}"
    )
