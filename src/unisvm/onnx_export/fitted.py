"""What a graph needs of a fitted model, checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from unisvm._base import KernelEstimator
from unisvm.feature_selection.base import BaseSparseUniSVM
from unisvm.kernel_expansion import KernelExpansion
from unisvm.kernels import Linear
from unisvm.model_selection.base import BaseSearch
from unisvm.model_selection.calibration import Calibration, Temperature
from unisvm.onnx_export.kernels import check_kernel

# an ONNX file holds 2³¹ bytes; the rest is for the other steps of a pipeline and the names
_MAX_BYTES = 2**31 - 2**24


class FittedModel(NamedTuple):
    """A fitted model, ready to be written as a graph.

    Attributes
    ----------
    functions : KernelExpansion
    n_features : int
    labels : ndarray of int64 or str, or None
        Of the classes, or 0, 1, … for the columns of a multilabel y; None for real targets.
    pairs : ndarray of int of shape (n_columns, 2) or None
        The two classes of each function, if they are fitted in pairs.
    is_multilabel : bool
    calibration : Calibration, Temperature or None
        Curves from decisions to probabilities, or their temperature.
    """

    functions: KernelExpansion
    n_features: int
    labels: np.ndarray | None
    pairs: np.ndarray | None
    is_multilabel: bool
    calibration: Calibration | Temperature | None

    @property
    def n_scores(self) -> int:
        """Number of classes or labels, or of real targets."""
        return len(self.functions.dual_coef) if self.labels is None else len(self.labels)

    def check_size(self, dtype: np.dtype) -> None:
        """Raise when the constants in this precision are more than a file can hold."""
        points, coefficients = self.functions.points, self.functions.dual_coef
        n_numbers = coefficients.size + (0 if points is None else int(np.prod(points.shape)))
        if n_numbers * dtype.itemsize > _MAX_BYTES:
            shape = coefficients.shape if points is None else points.shape
            advice = "with arithmetic='float32'" if dtype == np.float64 else "of a fit with fewer landmarks, by rank="
            raise ValueError(
                f"Landmarks of shape {shape} take {n_numbers * dtype.itemsize / 2**30:.1f} GB in {dtype}, and an ONNX "
                f"file holds 2 GB: export the model {advice}, or use `unisvm.save`."
            )


def read_model(model: BaseEstimator) -> FittedModel:
    """What a graph needs of an estimator of unisvm; raises when it is not fitted, or no graph can hold it."""
    check_is_fitted(model)
    calibration = getattr(model, "calibration_", None)
    if isinstance(model, BaseSearch):
        if not hasattr(model, "best_estimator_"):
            raise ValueError(
                f"The last fit of this {type(model).__name__} was with refit=False: there is no model to export. "
                "Fit it with refit=True."
            )
        model = model.best_estimator_
    if hasattr(model, "cells_"):
        raise ValueError(
            f"This model has {len(model.cells_)} machines, one for each cell of its rows, which no graph is made of. "
            "Export a fit with cells=None, or use `unisvm.save`."
        )
    if isinstance(model, BaseSparseUniSVM):
        functions = KernelExpansion(Linear(), None, model.coef_, model.intercept_)
    elif isinstance(model, KernelEstimator):
        functions = KernelExpansion(model.kernel_, model.landmark_vectors_, model.dual_coef_, model.intercept_)
    else:
        raise TypeError(f"Only estimators of unisvm are converted by it, got {model!r}.")
    if functions.points is not None:
        check_kernel(functions.kernel)
    return FittedModel(
        functions,
        model.n_features_in_,
        labels_of(model.classes_) if is_classifier(model) else None,
        getattr(model, "pairs_", None),
        getattr(model, "multilabel_", False),
        calibration,
    )


def labels_of(classes: np.ndarray) -> np.ndarray:
    """The classes as ONNX has labels: int64, or strings.

    As in skl2onnx, False and True are 0 and 1, and whole numbers are integers.
    """
    values: Any = classes.tolist()
    if all(isinstance(value, str) for value in values):
        return np.array(values)
    is_number = classes.dtype.kind in "biufO" and all(isinstance(value, int | float) for value in values)
    if is_number and all(float(value).is_integer() and -(2**63) <= value < 2**63 for value in values):
        return np.array([int(value) for value in values], dtype=np.int64)
    raise ValueError(
        f"Labels in ONNX are integers or strings, but the model has the classes {values[:5]}. Fit it with labels of "
        "one of these types."
    )
