"""Sums over columns of a function of x − z, block by block of rows.

Matrix products cannot give Σ_j |x_j − z_j|. Element by element, all differences of n rows and r points of d columns
would take n × r × d numbers at once; a loop over blocks of rows keeps no more than one block of them.
"""

from __future__ import annotations

import numpy as np

from unisvm.onnx_export.graph import Graph, integers

# Differences of a block: 256 kB in double precision. For many rows, blocks of 2¹⁰ to 2¹⁹ numbers are about as fast. For
# a single row a whole block is computed: with 30 points of 2 columns in 0.2 ms, where blocks of 2¹⁹ take 2.4 ms.
_BLOCK_NUMBERS = 2**15


def manhattan(graph: Graph, x: str, points: np.ndarray) -> str:
    """Name of ‖x − z‖₁ of each row and point, of shape (n_rows, n_points)."""
    return _sums_of_differences(graph, x, points, squared=False)


def squared_euclidean(graph: Graph, x: str, points: np.ndarray) -> str:
    """Name of ‖x − z‖² of each row and point, of shape (n_rows, n_points), from the differences themselves."""
    return _sums_of_differences(graph, x, points, squared=True)


def _sums_of_differences(graph: Graph, x: str, points: np.ndarray, *, squared: bool) -> str:
    """Name of Σ_j |x_j − z_j|, or of Σ_j (x_j − z_j)²."""
    n_points, n_features = points.shape
    length = max(1, _BLOCK_NUMBERS // max(points.size, 1))
    n_rows, padded = _whole_blocks(graph, x, length)
    blocks = graph.add("Reshape", padded, integers(-1, length, n_features))

    body = graph.body()
    block = graph.unique_name("block")
    each = body.add("Unsqueeze", block, integers(1))
    differences = body.add("Sub", each, points)
    terms = body.add("Mul", differences, differences) if squared else body.add("Abs", differences)
    sums = body.add("ReduceSum", terms, integers(2), keepdims=0)
    loop = body.to_proto({block: [length, n_features]}, {sums: [length, n_points]})

    of_blocks = graph.add("Scan", blocks, body=loop, num_scan_inputs=1)
    of_rows = graph.add("Reshape", of_blocks, integers(-1, n_points))
    return graph.add("Slice", of_rows, integers(0), n_rows, integers(0))


def _whole_blocks(graph: Graph, x: str, length: int) -> tuple[str, str]:
    """Names of the number of rows, and of the rows with further ones of zeros: at least one block of that length."""
    n_rows = graph.add("Shape", x, start=0, end=1)
    missing = graph.add("Mod", graph.add("Neg", n_rows), integers(length))
    is_empty = graph.add("Equal", n_rows, integers(0))
    further = graph.add("Where", is_empty, integers(length), missing)
    pads = graph.add("Concat", integers(0, 0), further, integers(0), axis=0)
    return n_rows, graph.add("Pad", x, pads)
