"""The kernels as operators: k(x, z) of each row and landmark, of shape (n_rows, n_landmarks)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from unisvm.kernels import RBF, Kernel, Laplacian, Linear, Polynomial, Precomputed, Scaled, Sigmoid
from unisvm.onnx_export.distances import manhattan, squared_euclidean
from unisvm.onnx_export.graph import Graph, integers

# most error that γ(‖x‖² + ‖z‖²) − 2γ x·z may have near the landmarks; differences are taken beyond it, as in RBF
_MAX_EXPONENT_ERROR = 1e-4


def check_kernel(kernel: Kernel) -> None:
    """Raise when a kernel has no formula that a graph could hold."""
    while type(kernel) is Scaled:
        kernel = kernel.kernel
    if type(kernel) not in _FORMULAS:
        raise ValueError(
            f"{kernel!r} is a kernel of your own, which ONNX has no operators for. Use a kernel of unisvm.kernels; or "
            "fit with kernel='precomputed', and have the program that runs the graph compute the kernel's values."
        )


def kernel_matrix(graph: Graph, x: str, kernel: Any, landmarks: Any) -> str:
    """Name of k(x, z) of each row and landmark.

    Parameters
    ----------
    graph : Graph
    x : str
        Name of the rows; for a precomputed kernel, of rows of the kernel matrix.
    kernel : Kernel
    landmarks : ndarray or CSR matrix of shape (n_landmarks, n_features)
        Or indices of columns, of shape (n_landmarks,), for a precomputed kernel.
    """
    while type(kernel) is Scaled:
        x = _scaled(graph, x, kernel, landmarks.shape[1])
        landmarks, kernel = kernel.scaled(landmarks), kernel.kernel
    dense = landmarks.toarray() if sparse.issparse(landmarks) else landmarks
    return _FORMULAS[type(kernel)](
        graph, x, kernel, dense.astype(np.int64 if kernel.points_are_indices else np.float64)
    )


def _scaled(graph: Graph, x: str, kernel: Scaled, n_features: int) -> str:
    centre = np.broadcast_to(np.asarray(kernel.centre, dtype=np.float64), n_features)
    factors = np.broadcast_to(1 / np.asarray(kernel.divisor, dtype=np.float64), n_features)
    shifted = graph.add("Sub", x, centre) if centre.any() else x
    return graph.add("Mul", shifted, factors)


def _precomputed(graph: Graph, x: str, kernel: Precomputed, columns: np.ndarray) -> str:
    return graph.add("Gather", x, columns, axis=1)


def _linear(graph: Graph, x: str, kernel: Linear, landmarks: np.ndarray) -> str:
    return graph.add("MatMul", x, landmarks.T)


def _of_products(graph: Graph, x: str, kernel: Polynomial | Sigmoid, landmarks: np.ndarray) -> str:
    """Name of γ x·z + coef0."""
    return graph.affine(x, float(kernel.gamma) * landmarks.T, np.array([float(kernel.coef0)]))


def _polynomial(graph: Graph, x: str, kernel: Polynomial, landmarks: np.ndarray) -> str:
    # runtimes take a logarithm and an exponential for Pow where a few products will do
    square, degree, power = _of_products(graph, x, kernel, landmarks), int(kernel.degree), None
    while True:
        if degree % 2:
            power = square if power is None else graph.add("Mul", power, square)
        degree //= 2
        if not degree:
            return str(power)
        square = graph.add("Mul", square, square)


def _sigmoid(graph: Graph, x: str, kernel: Sigmoid, landmarks: np.ndarray) -> str:
    return graph.add("Tanh", _of_products(graph, x, kernel, landmarks))


def _laplacian(graph: Graph, x: str, kernel: Laplacian, landmarks: np.ndarray) -> str:
    exponents = graph.add("Mul", manhattan(graph, x, landmarks), np.array(-float(kernel.gamma)))
    return graph.add("Exp", exponents)


def _rbf(graph: Graph, x: str, kernel: RBF, landmarks: np.ndarray) -> str:
    """Name of exp(2γ x·z − γ‖x‖² − γ‖z‖²), with x and z from the middle of the landmarks.

    Rows that are far from all landmarks lose digits of an exponent of which nothing is left.
    """
    gamma = float(kernel.gamma)
    # a number that both sides can subtract exactly
    origin = landmarks.mean(axis=0).astype(graph.dtype).astype(np.float64)
    moved = landmarks - origin
    squares = gamma * row_norms(moved, squared=True)
    if not 2 * squares.max(initial=0.0) * np.finfo(graph.dtype).eps <= _MAX_EXPONENT_ERROR:
        exponents = graph.add("Mul", squared_euclidean(graph, x, landmarks), np.array(-gamma))
        return graph.add("Exp", exponents)
    rows = graph.add("Sub", x, origin)
    row_squares = graph.add("ReduceSum", graph.add("Mul", rows, rows), integers(1), keepdims=1)
    # the norms are a further column of the product, which spares two visits of all its entries
    wide = graph.add("Concat", rows, row_squares, axis=1)
    matrix = np.concatenate([2 * gamma * moved.T, np.full((1, len(moved)), -gamma)])
    exponents = graph.affine(wide, matrix, -squares)
    return graph.add("Exp", graph.add("Min", exponents, np.array(0.0)))


#: the kernels that a graph can hold
_FORMULAS: dict[type[Kernel], Callable[..., str]] = {
    Laplacian: _laplacian,
    Linear: _linear,
    Polynomial: _polynomial,
    Precomputed: _precomputed,
    RBF: _rbf,
    Sigmoid: _sigmoid,
}
