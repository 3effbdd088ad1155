"""The machines that select columns of X in model files, with the candidates of their path."""

from __future__ import annotations

from functools import partial

from unisvm.feature_selection import SparseUniSVMClassifier, SparseUniSVMRegressor
from unisvm.feature_selection.base import BaseSparseUniSVM
from unisvm.feature_selection.choice import SelectionPath
from unisvm.model_files.fields import Fields
from unisvm.model_files.machines import check_classes, check_features, estimator_of, state_of
from unisvm.model_files.registry import FileType


def _path_of(fields: Fields) -> SelectionPath:
    coefficients = fields.array("coef", (None, None, None))
    n, n_columns, n_features = coefficients.shape
    return SelectionPath(
        fields.array("width", (n,)),
        fields.array("alpha", (n,)),
        fields.array("support", (n, n_features), "b"),
        coefficients,
        fields.array("intercept", (n, n_columns)),
        fields.array("objective", (n, n_columns), finite=False),
        fields.array("held_out_loss", (n, None), finite=False),
    )


def _machine_of(cls: type[BaseSparseUniSVM], fields: Fields) -> BaseSparseUniSVM:
    n_features = check_features(fields)
    if cls is SparseUniSVMClassifier:
        n_classes = check_classes(fields)
        n_columns = 1 if n_classes == 2 else n_classes
    else:
        n_columns = 1
        fields.array("target_centre_", (1,))
        if not (fields.array("target_scale_", (1,)) > 0).all():
            raise fields.refuse("target_scale_", "positive")
    fields.array("coef_", (n_columns, n_features))
    fields.array("intercept_", (n_columns,))
    fields.array("support_", (n_features,), "b")
    for name in ("alpha_", "width_"):
        fields.number(name, 0)
    for name in ("objective_", "stationarity_"):
        fields.per_column(name, n_columns)
    fields.integer("n_iter_")
    if fields.of_type("path_", SelectionPath).coef.shape[1:] != (n_columns, n_features):
        raise fields.refuse("path_", f"candidates of {n_columns} columns and {n_features} features")
    return estimator_of(cls, fields)


FILE_TYPES = (
    *(
        FileType(cls, f"feature_selection.{cls.__name__}", state_of, partial(_machine_of, cls), is_model=True)
        for cls in (SparseUniSVMClassifier, SparseUniSVMRegressor)
    ),
    FileType(SelectionPath, "feature_selection.SelectionPath", SelectionPath._asdict, _path_of),
)
