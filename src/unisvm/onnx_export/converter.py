"""unisvm's estimators as skl2onnx converts them, alone and as parts of other models."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from unisvm.classifier import UniSVMClassifier
from unisvm.feature_selection import SparseUniSVMClassifier, SparseUniSVMRegressor
from unisvm.model_selection import UniSVMClassifierCV, UniSVMRegressorCV
from unisvm.onnx_export.fitted import FittedModel, read_model
from unisvm.onnx_export.graph import Graph, tensor_type
from unisvm.onnx_export.outputs import class_scores, predicted_labels, probabilities, values
from unisvm.regressor import UniSVMRegressor

#: precisions that a graph may compute in
ARITHMETICS = ("float64", "float32")
#: the oldest version of ONNX's operators that graphs are made of
MIN_OPSET = 18

_ESTIMATORS: tuple[type[BaseEstimator], ...] = (
    UniSVMClassifier,
    UniSVMRegressor,
    UniSVMClassifierCV,
    UniSVMRegressorCV,
    SparseUniSVMClassifier,
    SparseUniSVMRegressor,
)


def register(*classes: type[BaseEstimator]) -> None:
    """Make unisvm's estimators known to skl2onnx.

    Then ``skl2onnx.to_onnx`` and ``skl2onnx.convert_sklearn`` convert pipelines and other models that contain them.

    Parameters
    ----------
    *classes : type
        Further ones, such as those of ``unisvm.baselines``.

    Examples
    --------
    >>> import skl2onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from unisvm import UniSVMClassifier, onnx_export
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), UniSVMClassifier()).fit(X, y)
    >>> onnx_export.register()
    >>> onnx_model = skl2onnx.to_onnx(pipeline, X)
    >>> [output.name for output in onnx_model.graph.output]
    ['label', 'scores']
    """
    skl2onnx = require_skl2onnx()
    # pipelines ask for zipmap, unless they are told otherwise; our outputs are arrays in any case
    of_classifiers = {"zipmap": [True, False], "raw_scores": [True, False]}
    for each in (*_ESTIMATORS, *classes):
        skl2onnx.update_registered_converter(
            each,
            f"UniSVM{each.__name__}",
            _set_output_types,
            _convert,
            parser=_declare_outputs,
            options={"arithmetic": list(ARITHMETICS)} | (of_classifiers if issubclass(each, ClassifierMixin) else {}),
        )


def require_skl2onnx() -> Any:
    """The package skl2onnx, which needs onnx; raises with what to install."""
    try:
        import onnx  # noqa: F401
        import skl2onnx
    except ImportError as error:
        raise ImportError("Exporting to ONNX needs onnx and skl2onnx: pip install 'unisvm[onnx]'.") from error
    return skl2onnx


# ------------------------------------------------------------------ what skl2onnx calls


def _declare_outputs(scope: Any, model: BaseEstimator, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    """The outputs of a model's operator, which is declared; their types follow."""
    from skl2onnx import get_model_alias
    from skl2onnx.common.data_types import Int64TensorType, guess_tensor_type

    operator = scope.declare_local_operator(get_model_alias(type(model)), model)
    operator.inputs = inputs
    real = guess_tensor_type(inputs[0].type)
    fitted = read_model(model)
    if fitted.labels is None:
        operator.outputs.append(scope.declare_local_variable("variable", real))
        return list(operator.outputs)
    raw_scores = scope.get_options(model, {"raw_scores": False})["raw_scores"]
    second = "scores" if fitted.calibration is None or raw_scores else "probabilities"
    operator.outputs.append(scope.declare_local_variable("label", Int64TensorType()))
    operator.outputs.append(scope.declare_local_variable(second, real))
    return list(operator.outputs)


def _set_output_types(operator: Any) -> None:
    """Set the types and shapes of an operator's outputs."""
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType, guess_tensor_type

    fitted = read_model(operator.raw_operator)
    _check_inputs(operator, fitted)
    n_rows = operator.inputs[0].get_first_dimension()
    real = guess_tensor_type(operator.inputs[0].type)
    real.shape = [n_rows, fitted.n_scores]
    operator.outputs[-1].set_type(real)
    if fitted.labels is not None:
        kind = StringTensorType if fitted.labels.dtype.kind == "U" else Int64TensorType
        operator.outputs[0].set_type(kind([n_rows, fitted.n_scores] if fitted.is_multilabel else [n_rows]))


def _check_inputs(operator: Any, fitted: FittedModel) -> None:
    name, inputs = type(operator.raw_operator).__name__, operator.inputs
    if len(inputs) != 1:
        raise ValueError(
            f"{name} takes one input, the matrix X, but gets {len(inputs)}: "
            f"{', '.join(variable.onnx_name for variable in inputs)}. Give skl2onnx an array in place of a table. If a "
            "step before selects columns by a model, put a ColumnTransformer in its place that passes them through."
        )
    n_columns = inputs[0].get_second_dimension()
    if n_columns is not None and n_columns != fitted.n_features:
        raise ValueError(f"{name} was fitted with {fitted.n_features} columns, but its input has {n_columns}.")


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add an operator's nodes and constants to the container."""
    from skl2onnx.common.data_types import guess_numpy_type

    model = operator.raw_operator
    options = container.get_options(model, {"arithmetic": ARITHMETICS[0]})
    if container.target_opset_onnx < MIN_OPSET:
        raise ValueError(f"target_opset must be {MIN_OPSET} or higher, got {container.target_opset_onnx}.")
    fitted, dtype = read_model(model), np.dtype(options["arithmetic"])
    fitted.check_size(dtype)
    given = guess_numpy_type(operator.inputs[0].type)
    graph = Graph(scope.get_unique_variable_name, dtype)
    x = operator.inputs[0].full_name
    names = [variable.full_name for variable in operator.outputs]
    result = values(graph, x if given == dtype else graph.cast(x, dtype), fitted.functions)
    if fitted.labels is not None:
        result = class_scores(graph, result, fitted)
        predicted_labels(graph, result, fitted, names[0])
        if fitted.calibration is not None and not options.get("raw_scores"):
            result = probabilities(graph, result, fitted)
    graph.cast(result, np.float64 if given == np.float64 else np.float32, names[-1])
    _add_to(container, graph, scope)


def _add_to(container: Any, graph: Graph, scope: Any) -> None:
    """Add the nodes and constants of a graph to the container."""
    from onnx import numpy_helper

    for name, constant in graph.constants.items():
        is_text = constant.dtype.kind == "U"
        content = [text.encode() for text in constant.tolist()] if is_text else numpy_helper.from_array(constant, name)
        container.add_initializer(name, tensor_type(constant.dtype), constant.shape, content)
    for node in graph.nodes:
        container.add_node(
            node.operator,
            node.inputs,
            node.output,
            # of all nodes the same, so that those in bodies of loops have it, too
            op_version=container.target_opset_onnx,
            name=scope.get_unique_operator_name(node.operator),
            **node.attributes,
        )
