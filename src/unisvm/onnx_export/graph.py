"""The nodes and constants of a graph, before they are those of an ONNX model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Node(NamedTuple):
    """An operator, the names of the values that it reads and of the one that it computes, and its attributes."""

    operator: str
    inputs: list[str]
    output: str
    attributes: dict[str, Any]


class Graph:
    """Nodes and constants of a graph, or of the body of a loop in it.

    Parameters
    ----------
    unique_name : callable
        Maps a word to a name that nothing else in the model has.
    dtype : numpy.dtype
        Precision of the real numbers.

    Attributes
    ----------
    nodes : list of Node
        Each after those that it reads.
    constants : dict of ndarray
        By name.
    """

    def __init__(self, unique_name: Callable[[str], str], dtype: np.dtype):
        self.unique_name = unique_name
        self.dtype = dtype
        self.nodes: list[Node] = []
        self.constants: dict[str, np.ndarray] = {}

    def add(self, operator: str, *inputs: str | np.ndarray, output: str | None = None, **attributes: Any) -> str:
        """Name of the value that an operator computes; arrays among its inputs become constants."""
        names = [self.constant(value) if isinstance(value, np.ndarray) else value for value in inputs]
        name = self.unique_name(operator.lower()) if output is None else output
        self.nodes.append(Node(operator, names, name, attributes))
        return name

    def constant(self, values: np.ndarray) -> str:
        """Name of a constant; real numbers are rounded to the graph's precision."""
        name = self.unique_name("constant")
        is_real = np.issubdtype(values.dtype, np.floating)
        self.constants[name] = values.astype(self.dtype, copy=False) if is_real else values
        return name

    def affine(self, x: str, matrix: np.ndarray, offset: np.ndarray) -> str:
        """Name of x @ matrix + offset, for a matrix x."""
        return self.add("Gemm", x, matrix, offset)

    def cast(self, x: str, dtype: Any, output: str | None = None) -> str:
        """Name of x in another type."""
        return self.add("Cast", x, to=tensor_type(dtype), output=output)

    def body(self) -> Graph:
        """An empty graph for the body of a loop in this one."""
        return Graph(self.unique_name, self.dtype)

    def to_proto(self, inputs: dict[str, list[int]], outputs: dict[str, list[int]]) -> Any:
        """The graph as a GraphProto, as the body of a loop is stored, with real inputs and outputs of these shapes."""
        from onnx import helper, numpy_helper

        element = tensor_type(self.dtype)
        return helper.make_graph(
            [helper.make_node(each.operator, each.inputs, [each.output], **each.attributes) for each in self.nodes],
            self.unique_name("body"),
            [helper.make_tensor_value_info(name, element, shape) for name, shape in inputs.items()],
            [helper.make_tensor_value_info(name, element, shape) for name, shape in outputs.items()],
            [numpy_helper.from_array(values, name) for name, values in self.constants.items()],
        )


def tensor_type(dtype: Any) -> int:
    """ONNX's number of a type of entries."""
    from onnx import TensorProto, helper

    dtype = np.dtype(dtype)
    return int(TensorProto.STRING if dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(dtype))


def integers(*values: int) -> np.ndarray:
    """A constant of indices, shapes or axes."""
    return np.array(values, dtype=np.int64)
