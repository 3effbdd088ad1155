"""Searching estimators in model files, with their tables of scores, calibrations and best estimators."""

from __future__ import annotations

from typing import Any

import numpy as np

from unisvm.classifier import UniSVMClassifier
from unisvm.model_files.fields import Fields
from unisvm.model_files.machines import check_classes, check_features, estimator_of, state_of
from unisvm.model_files.registry import FileType, NotSaved, Record
from unisvm.model_selection import UniSVMClassifierCV, UniSVMRegressorCV
from unisvm.model_selection.base import BaseSearch, scorer_of
from unisvm.model_selection.calibration import Calibration, Isotonic, Sigmoid, Temperature
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
    if _check_search(fields) is not None:
        fields.of_type("best_estimator_", UniSVMRegressor)
    if np.ndim(fields.take("oof_decision_")) == 1:
        fields.array("oof_decision_", (None,), finite=False)
    else:
        fields.array("oof_decision_", (None, None), finite=False)
    return _search_of(UniSVMRegressorCV, fields)


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
    FileType(Calibration, "Calibration", lambda calibration: {"curves": calibration.curves}, _calibration_of),
    FileType(Sigmoid, "Calibration.sigmoid", Sigmoid.state, _sigmoid_of),
    FileType(Isotonic, "Calibration.isotonic", Isotonic.state, _isotonic_of),
    FileType(Temperature, "Calibration.temperature", Temperature.state, _temperature_of),
)
