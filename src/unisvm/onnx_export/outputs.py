"""From rows to scores, labels, probabilities and real targets."""

from __future__ import annotations

import numpy as np

from unisvm.kernel_expansion import KernelExpansion
from unisvm.model_selection.calibration import Calibration, Isotonic, Sigmoid, Temperature
from unisvm.onnx_export.fitted import FittedModel
from unisvm.onnx_export.graph import Graph, integers
from unisvm.onnx_export.kernels import kernel_matrix


def values(graph: Graph, x: str, functions: KernelExpansion) -> str:
    """Name of f(x) of each row and column, of shape (n_rows, n_columns)."""
    features = x if functions.points is None else kernel_matrix(graph, x, functions.kernel, functions.points)
    return graph.affine(features, functions.dual_coef.T, functions.intercept)


def class_scores(graph: Graph, decision: str, model: FittedModel) -> str:
    """Name of the decisions about each class or label, of shape (n_rows, n_classes): −f(x) and f(x) for two classes."""
    if model.pairs is not None:
        return _scores_of_pairs(graph, decision, model.pairs)
    if model.n_scores == 2 and not model.is_multilabel:
        return graph.add("Concat", graph.add("Neg", decision), decision, axis=1)
    return decision


def _scores_of_pairs(graph: Graph, decision: str, pairs: np.ndarray) -> str:
    """Name of the margin of each class against the class that does best against it, as `class_pairs` has it."""
    n_classes = int(pairs.max()) + 1
    order = np.argsort(np.concatenate([pairs[:, 0], pairs[:, 1]]), kind="stable")
    of_class = graph.add("Gather", decision, order % len(pairs), axis=1)
    margins = graph.add("Mul", of_class, np.where(order < len(pairs), -1.0, 1.0))
    by_class = graph.add("Reshape", margins, integers(0, n_classes, n_classes - 1))
    return graph.add("ReduceMin", by_class, integers(2), keepdims=0)


def predicted_labels(graph: Graph, scores: str, model: FittedModel, output: str) -> None:
    """Add the label of the largest score of each row, or 0 and 1 for each label of several, as this output."""
    assert model.labels is not None
    if model.is_multilabel:
        graph.cast(graph.add("Greater", scores, np.array(0.0)), np.int64, output)
        return
    graph.add("Gather", model.labels, graph.add("ArgMax", scores, axis=1, keepdims=0), output=output)


def probabilities(graph: Graph, scores: str, model: FittedModel) -> str:
    """Name of the probabilities of each class or label, of shape (n_rows, n_classes), as its calibration has them."""
    assert model.calibration is not None
    is_binary = model.n_scores == 2 and not model.is_multilabel
    if isinstance(model.calibration, Temperature):
        if is_binary:
            # −f and f are twice as far apart as 0 and f
            scores = graph.add("Div", scores, np.array(2.0))
        z = graph.add("Div", scores, np.array(model.calibration.temperature_))
        return graph.add("Sigmoid", z) if model.is_multilabel else graph.add("Softmax", z, axis=1)
    columns = [1] if is_binary else range(model.n_scores)
    found = [
        _curve(graph, graph.add("Gather", scores, integers(column), axis=1), model.calibration, place)
        for place, column in enumerate(columns)
    ]
    if is_binary:
        return graph.add("Concat", graph.add("Sub", np.array(1.0), found[0]), found[0], axis=1)
    of_each = graph.add("Concat", *found, axis=1)
    if model.is_multilabel:
        return of_each
    total = graph.add("ReduceSum", of_each, integers(1), keepdims=1)
    shares = graph.add("Div", of_each, graph.add("Max", total, np.array(np.finfo(graph.dtype).tiny)))
    # no class at all is likely: they are all equally so
    return graph.add("Where", graph.add("Greater", total, np.array(0.0)), shares, np.array(1 / model.n_scores))


def _curve(graph: Graph, decision: str, calibration: Calibration, place: int) -> str:
    """Name of the probabilities that the curve of a column gives, of shape (n_rows, 1)."""
    curve = calibration.curves[place]
    if isinstance(curve, Sigmoid):
        exponent = graph.add("Add", graph.add("Mul", decision, np.array(-curve.a_)), np.array(-curve.b_))
        return graph.add("Sigmoid", exponent)
    return _isotonic(graph, decision, curve)


def _isotonic(graph: Graph, decision: str, curve: Isotonic) -> str:
    """Name of the curve's interpolation at the decisions, by the number of thresholds that they reach."""
    thresholds, heights = curve.thresholds
    if len(thresholds) == 1:
        thresholds, heights = np.repeat(thresholds, 2), np.repeat(heights, 2)
    rises, widths = np.diff(heights), np.diff(thresholds)
    slopes = np.divide(rises, widths, out=np.zeros_like(rises), where=widths > 0)
    inside = graph.add("Max", graph.add("Min", decision, np.array(thresholds[-1])), np.array(thresholds[0]))
    # of the last one nothing is interpolated
    reached = graph.cast(graph.add("GreaterOrEqual", inside, thresholds[None, 1:-1]), np.int64)
    piece = graph.add("ReduceSum", reached, integers(1), keepdims=1)
    from_threshold = graph.add("Sub", inside, graph.add("Gather", thresholds, piece))
    rise = graph.add("Mul", from_threshold, graph.add("Gather", slopes, piece))
    return graph.add("Add", rise, graph.add("Gather", heights, piece))
