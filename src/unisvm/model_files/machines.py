"""Kernel machines in model files: the classifier, the regressor, and the comparators.

The fields are the parameters and what a fit sets, by the names of the attributes. Whatever a prediction reads is
checked: types, shapes that agree with each other, and indices in their range.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier

from unisvm import baselines
from unisvm._checks import check_n_jobs
from unisvm.class_pairs import class_pairs
from unisvm.classifier import UniSVMClassifier
from unisvm.fitted_attributes import set_attributes
from unisvm.kernels import Kernel
from unisvm.model_files.cells import check_cells
from unisvm.model_files.encoding import CannotSave
from unisvm.model_files.fields import Fields
from unisvm.model_files.parts import check_fitted_kernel, make
from unisvm.model_files.registry import PARAMETERS, FileType, NotSaved, Record, name_of
from unisvm.regressor import UniSVMRegressor

#: parameters that are folders of the machine that a model was fitted on
_FOLDERS = ("checkpoint", "scratch_dir")
#: set by `set_fit_request` and the like and by `set_callbacks` of scikit-learn; neither is part of a model
_OF_SCIKIT_LEARN = ("_metadata_request", "_skl_callbacks")


# ------------------------------------------------------------------ any estimator


def state_of(estimator: BaseEstimator) -> dict[str, Any]:
    """The parameters of an estimator, of which predictions need none, and its attributes."""
    parameters = estimator.get_params(deep=False)
    for name, value in parameters.items():
        if name in _FOLDERS or value is np.random:
            parameters[name] = None
    others = (*parameters, *_OF_SCIKIT_LEARN)
    return {PARAMETERS: Record(parameters)} | {
        name: value for name, value in vars(estimator).items() if name not in others
    }


def estimator_of(cls: type[BaseEstimator], fields: Fields) -> Any:
    """An estimator of the parameters among the fields, with the others for its attributes.

    Those of the others that nobody has taken are refused.
    """
    parameters = fields.of_type(PARAMETERS, dict)
    # a file may be forged, and a fit writes into these
    estimator = make(cls, parameters | {name: None for name in _FOLDERS if name in parameters})
    threads = getattr(estimator, "n_jobs", None)
    if not isinstance(threads, NotSaved):
        check_n_jobs(threads)
    attributes = fields.finish()
    set_attributes(estimator, {name: value for name, value in attributes.items() if name != PARAMETERS})
    return estimator


def check_features(fields: Fields) -> int:
    """Number of features. Their names are checked if there are any, and the least index in a LIBSVM file."""
    n_features = fields.integer("n_features_in_", 1)
    if "feature_names_in_" in fields:
        fields.texts("feature_names_in_", n_features)
    if "_index_base" in fields and fields.take("_index_base") is not None and fields.integer("_index_base") > 1:
        raise fields.refuse("_index_base", "None, 0 or 1")
    return n_features


def check_classes(fields: Fields, fewest: int = 2) -> int:
    """Number of classes, which rise and are labels of one type."""
    classes = fields.array("classes_", (None,), "biufUO")
    if classes.dtype.kind == "O":
        fields.texts("classes_", len(classes))
    if len(classes) < fewest or not (classes[:-1] < classes[1:]).all():
        raise fields.refuse("classes_", f"at least {fewest} labels in their order")
    return len(classes)


# ------------------------------------------------------------------ kernel machines


def check_expansion(fields: Fields, n_features: int) -> tuple[int, int]:
    """Numbers of columns and of landmarks of functions that can be evaluated on rows of so many features."""
    coefficients = fields.array("dual_coef_", (None, None))
    n_columns, n_points = coefficients.shape
    fields.array("intercept_", (n_columns,))
    kernel = fields.of_type("kernel_", Kernel)
    points = fields.take("landmark_vectors_")
    check_fitted_kernel(kernel, n_features, sparse_points=sparse.issparse(points))
    if n_columns == 0:
        raise fields.refuse("dual_coef_", "of at least one column")
    if points is None:
        if not kernel.is_linear or n_points != n_features:
            raise fields.refuse("landmark_vectors_", "there for a kernel that is not linear")
        n_points = 0
    elif kernel.points_are_indices:
        indices = fields.array("landmark_vectors_", (n_points,), "i")
        if n_points == 0 or indices.min() < 0 or indices.max() >= n_features:
            raise fields.refuse("landmark_vectors_", f"indices of {n_features} columns")
    elif fields.rows("landmark_vectors_", n_features).shape[0] != n_points:
        raise fields.refuse("landmark_vectors_", f"of {n_points} rows, as dual_coef_ has columns")
    return n_columns, n_points


def _check_fit(fields: Fields, n_columns: int, n_points: int) -> None:
    """Check what tells of a fit and has no part in predictions."""
    if fields.take("landmarks_") is not None:
        fields.array("landmarks_", (n_points,), "i")
    fields.integer("rank_")
    signature = fields.of_type("signature_", tuple)
    if len(signature) != 2 or not all(isinstance(count, int | np.integer) for count in signature):
        raise fields.refuse("signature_", "two whole numbers")
    fields.number("trace_error_")
    fields.number("C_", 0)
    scores = Fields("C_scores_", fields.of_type("C_scores_", dict))
    scores.array("error", scores.array("C", (None,)).shape, finite=False)
    scores.finish()
    for name in ("objective_", "stationarity_", "n_sweeps_"):
        fields.per_column(name, n_columns)
    fields.integer("n_iter_")
    check_history(fields, ("objective", "stationarity", "seconds"))


def check_history(fields: Fields, names: tuple[str, ...] = ()) -> None:
    """Check for lists by names, these among them."""
    history = fields.of_type("history_", dict)
    if not set(names) <= history.keys() or not all(isinstance(values, list) for values in history.values()):
        raise fields.refuse("history_", f"lists of {', '.join(names)}")


def _check_machine(fields: Fields, cls: type[BaseEstimator]) -> int:
    """Number of columns of a machine, of which what predictions read is checked, or of the machines of cells."""
    n_features = check_features(fields)
    for name in ("relevances_", "feature_importances_"):
        if name in fields and (fields.array(name, (n_features,)) < 0).any():
            raise fields.refuse(name, "no negative numbers")
    if "cells_" in fields:
        return check_cells(fields, cls, n_features)
    n_columns, n_points = check_expansion(fields, n_features)
    _check_fit(fields, n_columns, n_points)
    return n_columns


def _classifier_of(fields: Fields) -> UniSVMClassifier:
    n_columns = _check_machine(fields, UniSVMClassifier)
    multilabel = fields.flag("_multilabel")
    n_classes, pairs = check_classes(fields, 1 if multilabel else 2), fields.take("_pairs")
    if pairs is not None:
        expected = n_classes * (n_classes - 1) // 2
        # few classes have many pairs: their number is compared before they are made
        if multilabel or n_columns != expected or len(fields.array("_pairs", (expected, 2), "i")) == 0:
            raise fields.refuse("_pairs", f"the pairs of {n_classes} classes for {n_columns} columns")
        if not np.array_equal(pairs, class_pairs(n_classes)):
            raise fields.refuse("_pairs", "all pairs of classes in their order")
    elif n_columns != (1 if n_classes == 2 and not multilabel else n_classes):
        raise fields.refuse("dual_coef_", f"the coefficients of {n_classes} classes")
    return estimator_of(UniSVMClassifier, fields)


def _regressor_of(fields: Fields) -> UniSVMRegressor:
    n_columns = _check_machine(fields, UniSVMRegressor)
    fields.array("target_centre_", (n_columns,))
    if not (fields.array("target_scale_", (n_columns,)) > 0).all():
        raise fields.refuse("target_scale_", "positive")
    if fields.flag("_one_target") and n_columns > 1:
        raise fields.refuse("_one_target", f"False for {n_columns} targets")
    return estimator_of(UniSVMRegressor, fields)


def _comparator_of(cls: type[BaseEstimator], fields: Fields) -> BaseEstimator:
    n_columns, n_points = check_expansion(fields, check_features(fields))
    if n_columns != 1 or n_points == 0:
        raise fields.refuse("dual_coef_", "of one column, with landmarks")
    if is_classifier(cls()) and check_classes(fields) != 2:
        raise fields.refuse("classes_", "two labels")
    fields.array("support_", (n_points,), "i")
    fields.integer("rank_")
    if "n_iter_" in fields:
        fields.integer("n_iter_")
        check_history(fields)
    return estimator_of(cls, fields)


def check_kernel(kernel: Kernel) -> None:
    """Raise for a fitted kernel that is code of the user's."""
    if not type(kernel).__module__.startswith("unisvm.kernels") or kernel.get_params(deep=False).get("function"):
        raise CannotSave(
            f"its kernel, {name_of(getattr(kernel, 'function', kernel))}, is code of yours, which model files do not "
            "hold and predictions need. Use a kernel of unisvm.kernels, or kernel='precomputed' with matrices that you "
            "compute, or save the model with skops or joblib"
        )


def state_of_machine(estimator: BaseEstimator) -> dict[str, Any]:
    """The state of an estimator; raises for a kernel that is code of the user's."""
    check_kernel(vars(estimator)["kernel_"])
    return state_of(estimator)


FILE_TYPES = (
    FileType(UniSVMClassifier, "UniSVMClassifier", state_of_machine, _classifier_of, is_model=True),
    FileType(UniSVMRegressor, "UniSVMRegressor", state_of_machine, _regressor_of, is_model=True),
    *(
        FileType(cls, f"baselines.{cls.__name__}", state_of_machine, partial(_comparator_of, cls), is_model=True)
        for cls in (getattr(baselines, name) for name in baselines.__all__)
    ),
)
