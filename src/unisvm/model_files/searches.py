"""Searching estimators in model files, with their tables of scores, calibrations and best estimators."""

from __future__ import annotations

from typing import Any

import numpy as np

from unisvm.classifier import UniSVMClassifier
from unisvm.kernels import Kernel
from unisvm.model_files.fields import Fields
from unisvm.model_files.machines import (
    check_classes,
    check_expansion,
    check_features,
    check_kernel,
    estimator_of,
    state_of,
)
from unisvm.model_files.registry import FileType, NotSaved, Record
from unisvm.model_selection import UniSVMClassifierCV, UniSVMRegressorCV
from unisvm.model_selection.base import BaseSearch, scorer_of
from unisvm.model_selection.calibration import Calibration, Isotonic, Sigmoid, Temperature
from unisvm.model_selection.intervals import OF_EXPANSION, PredictionIntervals
from unisvm.regressor import UniSVMRegressor

# attributes that tell of the grid, in which losses, kernels and scorers may be code of the user's
_RECORDS = ("cv_results_", "best_params_", "gamma_", "loss_", "kernel_")


def _state_of_search(search: BaseSearch) -> dict[str, Any]:
    state = state_of(search)
    # it is made anew of the parameter
    del state["scorer_"]
    return {name: Record(value) if name in _RECORDS else value for name, value in state.items()}


def _check_search(fields: Fields) -> Any:
    """The best estimator, None if there is none, of a search whose other fields are checked."""
    n_features = check_features(fields)
    results, index = fields.of_type("cv_results_", dict), fields.integer("best_index_")
    cells = results.get("params")
    if not isinstance(cells, list) or index >= len(cells) or not all(isinstance(cell, dict) for cell in cells):
        raise fields.refuse("cv_results_", "a table with a row for the best cell")
    if any(name != "params" and np.shape(column) != (len(cells),) for name, column in results.items()):
        raise fields.refuse("cv_results_", f"columns of {len(cells)} cells")
    fields.of_type("best_params_", dict)
    fields.integer("n_splits_", 1)
    fields.number("best_score_")
    fields.number("C_", 0)
    for name in ("gamma_", "loss_", "kernel_"):
        fields.take(name)
    if "searched_rows_" in fields:
        fields.array("searched_rows_", (None,), "i")
    if "best_estimator_" not in fields:
        return None
    fields.number("refit_time_", 0, closed=True)
    fields.integer("n_iter_")
    best = fields.take("best_estimator_")
    if getattr(best, "n_features_in_", None) != n_features:
        raise fields.refuse("best_estimator_", f"an estimator of {n_features} features")
    return best


def _search_of(cls: type[BaseSearch], fields: Fields) -> BaseSearch:
    search = estimator_of(cls, fields)
    scoring = search.scoring
    search.scorer_ = scoring if isinstance(scoring, NotSaved) else scorer_of(search)
    return search


def _classifier_of(fields: Fields) -> BaseSearch:
    best = _check_search(fields)
    multilabel = fields.flag("_multilabel")
    n_classes = check_classes(fields, 1 if multilabel else 2)
    fields.array("suspects_", (None,), "i")
    n_columns = 1 if n_classes == 2 and not multilabel else n_classes
    is_flat = n_columns == 1 and not multilabel
    fields.array("oof_decision_", (None,) if is_flat else (None, n_columns), finite=False)
    calibration = fields.of_type("calibration_", Calibration, Temperature)
    if isinstance(calibration, Calibration) and len(calibration.curves) != n_columns:
        raise fields.refuse("calibration_", f"a curve for each of {n_columns} columns")
    if best is not None:
        fields.of_type("best_estimator_", UniSVMClassifier)
        same_classes = np.array_equal(best.classes_, fields.take("classes_"))
        if not same_classes or vars(best)["_multilabel"] != multilabel:
            raise fields.refuse("best_estimator_", "an estimator of the same classes")
    return _search_of(UniSVMClassifierCV, fields)


def _regressor_of(fields: Fields) -> BaseSearch:
    best = _check_search(fields)
    if best is not None:
        fields.of_type("best_estimator_", UniSVMRegressor)
    if is_flat := np.ndim(fields.take("oof_decision_")) == 1:
        fields.array("oof_decision_", (None,), finite=False)
    else:
        fields.array("oof_decision_", (None, None), finite=False)
    # searches of versions without intervals have none
    if "intervals_" in fields:
        n_targets = len(fields.of_type("intervals_", PredictionIntervals).centre)
        widths = fields.take("intervals_").widths
        if best is None or n_targets != len(best.dual_coef_) or is_flat != vars(best)["_one_target"]:
            raise fields.refuse("intervals_", "of the targets of the best estimator")
        if widths is not None:
            of_widths = Fields("intervals_", dict(zip(OF_EXPANSION, widths.quantiles, strict=True)))
            check_expansion(of_widths, fields.integer("n_features_in_", 1))
    return _search_of(UniSVMRegressorCV, fields)


# ------------------------------------------------------------------ intervals


def _state_of_intervals(intervals: PredictionIntervals) -> dict[str, Any]:
    if intervals.widths is not None:
        check_kernel(intervals.widths.quantiles.kernel)
    return intervals.state()


def _intervals_of(fields: Fields) -> PredictionIntervals:
    """Intervals whose functions are checked with the number of features, by the search that has them."""
    n_targets = len(fields.array("centre", (None,)))
    scores = fields.array("scores", (None, n_targets))
    weights = fields.array("weights", scores.shape)
    if scores.size == 0 or (np.diff(scores, axis=0) < 0).any():
        raise fields.refuse("scores", "rising numbers for each target")
    # the weights of the rows are in another order for each target
    if not (weights > 0).all() or (np.sort(weights, axis=0) != np.sort(weights[:, :1], axis=0)).any():
        raise fields.refuse("weights", "the same positive numbers for each target")
    if "varies" in fields:
        fields.array("varies", (n_targets,), "b")
        if not (fields.array("least_width", (n_targets,)) > 0).all():
            raise fields.refuse("least_width", "positive")
        fields.of_type("kernel_", Kernel)
        fields.take("landmark_vectors_")
        coefficients = fields.array("dual_coef_", (2 * n_targets, None))
        fields.array("intercept_", (len(coefficients),))
    return PredictionIntervals.from_state(fields.finish())


# ------------------------------------------------------------------ calibration


def _calibration_of(fields: Fields) -> Calibration:
    curves = fields.of_type("curves", list)
    if not curves or not all(isinstance(curve, Sigmoid | Isotonic) for curve in curves):
        raise fields.refuse("curves", "a list of curves")
    return Calibration.from_curves(curves)


def _sigmoid_of(fields: Fields) -> Sigmoid:
    return Sigmoid.from_state({name: fields.number(name) for name in ("a", "b")})


def _isotonic_of(fields: Fields) -> Isotonic:
    decision = fields.array("decision", (None,))
    probability = fields.array("probability", decision.shape)
    is_curve = len(decision) > 0 and (np.diff(decision) > 0).all() and (np.diff(probability) >= 0).all()
    if not is_curve or probability[0] < 0 or probability[-1] > 1:
        raise fields.refuse("probability", "a rising curve of probabilities")
    return Isotonic.from_state({"decision": decision, "probability": probability})


def _temperature_of(fields: Fields) -> Temperature:
    return Temperature.from_state({"temperature": fields.number("temperature", 0)})


FILE_TYPES = (
    FileType(UniSVMClassifierCV, "UniSVMClassifierCV", _state_of_search, _classifier_of, is_model=True),
    FileType(UniSVMRegressorCV, "UniSVMRegressorCV", _state_of_search, _regressor_of, is_model=True),
    FileType(PredictionIntervals, "PredictionIntervals", _state_of_intervals, _intervals_of),
    FileType(Calibration, "Calibration", lambda calibration: {"curves": calibration.curves}, _calibration_of),
    FileType(Sigmoid, "Calibration.sigmoid", Sigmoid.state, _sigmoid_of),
    FileType(Isotonic, "Calibration.isotonic", Isotonic.state, _isotonic_of),
    FileType(Temperature, "Calibration.temperature", Temperature.state, _temperature_of),
)
