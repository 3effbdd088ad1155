"""Models written to ONNX files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from unisvm._base import KernelEstimator
from unisvm._checks import is_integer, one_of
from unisvm._version import __version__
from unisvm.feature_selection.base import BaseSparseUniSVM
from unisvm.model_selection.base import BaseSearch
from unisvm.onnx_export.converter import ARITHMETICS, MIN_OPSET, register, require_skl2onnx
from unisvm.onnx_export.fitted import FittedModel, read_model
from unisvm.tables import TableEncoder
from unisvm.whole_files import replacing, temporary_beside

_OURS = (KernelEstimator, BaseSearch, BaseSparseUniSVM)
_DTYPES = ("float32", "float64")


def to_onnx(
    model: BaseEstimator,
    path: Any = None,
    *,
    dtype: Any = None,
    raw_scores: bool = False,
    arithmetic: str = "float64",
    target_opset: int = MIN_OPSET,
) -> Any:
    """The model as an ONNX graph, which is written to a file if there is a path.

    Its input is X, with any number of rows. Its outputs are ``label`` and ``probabilities``, or ``scores`` for
    classifiers without them, with a column for each class; for real targets ``variable``, with a column for each.

    Parameters
    ----------
    model : estimator
        A fitted estimator of unisvm; a pipeline that ends in one; or a fitted search, as `GridSearchCV`, over these.
    path : str or Path, optional
        Of the file. It is there as a whole or not at all.
    dtype : {"float32", "float64"} or numpy.dtype, optional
        Type of X and of the real outputs; that of the rows of the fit by default.
    raw_scores : bool, default=False
        Whether the second output of a classifier is ``scores`` even if it has probabilities. They are the decisions;
        for two classes, −f(x) and f(x).
    arithmetic : {"float64", "float32"}, default="float64"
        Precision of what is between. "float32" takes half the room and time or less, with errors of 1e-5 to 3e-4 in the
        scores; some devices have no other.
    target_opset : int, default=18
        Version of ONNX's operators, 18 or higher. Higher ones bring nothing, and older runtimes do not read them.

    Returns
    -------
    onnx_model : onnx.ModelProto

    Examples
    --------
    >>> import unisvm
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = unisvm.UniSVMClassifier(random_state=0).fit(X, y)
    >>> onnx_model = unisvm.to_onnx(model)
    >>> [output.name for output in onnx_model.graph.output]
    ['label', 'scores']
    """
    latest = require_skl2onnx().get_latest_tested_opset_version()
    one_of("arithmetic", arithmetic, ARITHMETICS)
    if dtype is not None:
        dtype = one_of("dtype", _name_of(dtype), _DTYPES)
    if not (is_integer(target_opset) and MIN_OPSET <= target_opset <= latest):
        raise ValueError(
            f"target_opset must be an integer from {MIN_OPSET} to {latest}, the latest one that the installed skl2onnx "
            f"was tested with; got {target_opset!r}."
        )
    file = None if path is None else _check_path(path)
    onnx_model = _converted(model, dtype, {"arithmetic": arithmetic}, bool(raw_scores), target_opset)
    if file is not None:
        with replacing(*temporary_beside(file)) as stream:
            stream.write(onnx_model.SerializeToString())
    return onnx_model


def _converted(
    model: BaseEstimator, dtype: str | None, options: dict[str, Any], raw_scores: bool, target_opset: int
) -> Any:
    """The ONNX model; `options` are those of the estimator of unisvm."""
    from onnx import checker, shape_inference
    from skl2onnx import convert_sklearn

    whole, last = _with_our_last_step(model)
    fitted = read_model(last)
    fitted.check_size(np.dtype(options["arithmetic"]))
    register(type(last))
    if is_classifier(last):
        options |= {"zipmap": False, "raw_scores": raw_scores}
    input_type = _input_type(dtype or _precision(fitted), whole)
    onnx_model = convert_sklearn(
        whole,
        name=type(last).__name__,
        initial_types=[("X", input_type)],
        target_opset=target_opset,
        options={id(last): options},
    )
    _describe(onnx_model, whole, last, fitted)
    try:
        checker.check_model(onnx_model, full_check=True)
    except (checker.ValidationError, shape_inference.InferenceError) as error:
        raise ValueError(
            f"skl2onnx made a graph of this model that is not valid: {error}. Some of its converters take no double "
            "precision: try dtype='float32'."
        ) from error
    return onnx_model


# ------------------------------------------------------------------ the model


def _with_our_last_step(model: BaseEstimator) -> tuple[BaseEstimator, BaseEstimator]:
    """The model without searches of scikit-learn around it, and the estimator of unisvm in it."""
    whole = model
    while not isinstance(whole, _OURS) and hasattr(whole, "best_estimator_"):
        whole = whole.best_estimator_
    last = whole.steps[-1][1] if isinstance(whole, Pipeline) else whole
    if not isinstance(last, _OURS) or type(last).__module__.partition(".")[0] != "unisvm":
        raise TypeError(
            f"to_onnx converts fitted estimators of unisvm, pipelines that end in one, and fitted searches over these; "
            f"got {model!r}. For other models that contain one, call unisvm.onnx_export.register() and then "
            "skl2onnx.to_onnx(model, X)."
        )
    check_is_fitted(whole)
    for name, step in whole.steps[:-1] if isinstance(whole, Pipeline) else []:
        if isinstance(step, TableEncoder):
            raise ValueError(
                f"The step {name!r} takes tables, and has no form in ONNX. Export the last step of the pipeline, "
                "to_onnx(pipeline[-1], path), for rows that the encoder has made."
            )
        if isinstance(step, _OURS):
            raise ValueError(
                f"The step {name!r} selects columns for the next one, which is not converted. Put a ColumnTransformer "
                "there that passes through the columns get_support(indices=True).tolist(), and fit the pipeline again."
            )
    return whole, last


def _precision(fitted: FittedModel) -> str:
    """Name of the precision of the rows that the model was fitted to."""
    points = fitted.functions.points
    dtype = getattr(points, "dtype", None)
    return "float32" if fitted.functions.dual_coef.dtype == np.float32 or dtype == np.float32 else "float64"


def _describe(onnx_model: Any, whole: BaseEstimator, last: BaseEstimator, fitted: FittedModel) -> None:
    """Give the ONNX model its producer and what a user of the file may want to know."""
    from onnx import helper

    functions = fitted.functions
    kernel = "linear, of the columns" if functions.points is None else " ".join(repr(functions.kernel).split())
    n_landmarks = 0 if functions.points is None else functions.points.shape[0]
    onnx_model.producer_name, onnx_model.producer_version = "unisvm", __version__
    onnx_model.domain, onnx_model.model_version = "unisvm", 1
    onnx_model.doc_string = f"{type(last).__name__} of unisvm {__version__}, {n_landmarks} landmarks, kernel {kernel}"
    properties = {"unisvm_version": __version__, "estimator": type(last).__name__, "kernel": kernel}
    if fitted.labels is not None:
        properties["classes"] = json.dumps(fitted.labels.tolist(), ensure_ascii=False)
    if hasattr(whole, "feature_names_in_"):
        properties["features"] = json.dumps(whole.feature_names_in_.tolist(), ensure_ascii=False)
    helper.set_model_props(onnx_model, properties)


# ------------------------------------------------------------------ parameters


def _name_of(dtype: Any) -> str:
    """Name of a type, if it is one."""
    try:
        return np.dtype(dtype).name
    except TypeError:
        return str(dtype)


def _input_type(dtype: str, whole: BaseEstimator) -> Any:
    """Type of the graph's input, as skl2onnx has it."""
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    n_features = getattr(whole, "n_features_in_", None)
    if n_features is None:
        raise ValueError(
            "The first step of the pipeline was not fitted to a matrix of numbers. Call unisvm.onnx_export.register(), "
            "and then skl2onnx.convert_sklearn with the types of the inputs as initial_types."
        )
    return (FloatTensorType if dtype == "float32" else DoubleTensorType)([None, n_features])


def _check_path(path: Any) -> Path:
    """The path of a file that can be written, as far as that can be told."""
    if not isinstance(path, str | os.PathLike) or not str(path):
        raise TypeError(f"path must be that of a file, or None for none; got {path!r}.")
    file = Path(path)
    if file.is_dir():
        raise IsADirectoryError(f"{str(file)!r} is a folder: give the path of a file in it.")
    if not file.parent.is_dir():
        raise FileNotFoundError(f"The folder {str(file.parent)!r} is not there: make it first.")
    return file
