"""Kernels that are made of products x·z: linear, polynomial, sigmoid, and RBF."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from unisvm.kernels.base import Kernel, decay, into
from unisvm.kernels.points import Points


class _Dot(Kernel):
    """Kernels that are a function of x·z."""

    @abstractmethod
    def _of_products(self, products: np.ndarray) -> np.ndarray:
        """The kernel from x·z; may write over its argument."""

    def against(self, Z):
        points = Points(Z)
        return lambda X, out=None: self._of_products(points.products(X, out))

    def diagonal(self, X):
        return self._of_products(row_norms(X, squared=True).astype(np.float64))


class Linear(_Dot):
    """k(x, z) = x·z.

    Examples
    --------
    >>> from unisvm.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def _of_products(self, products):
        return products


class Polynomial(_Dot):
    """k(x, z) = (γ x·z + coef0)^degree.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
    degree : float, default=3
    coef0 : float, default=0.0

    Examples
    --------
    >>> from unisvm.kernels import Polynomial
    >>> Polynomial(gamma=1.0, degree=2, coef0=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    def __init__(self, gamma: float | str = "scale", degree: float = 3, coef0: float = 0.0):
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    @property
    def is_psd(self):
        return self.coef0 >= 0 and self.degree >= 1 and float(self.degree).is_integer()

    def _of_products(self, products):
        products *= float(self.gamma)
        products += float(self.coef0)
        return np.power(products, self.degree, out=products)


class Sigmoid(_Dot):
    """k(x, z) = tanh(γ x·z + coef0), which is positive semidefinite for few choices of its parameters.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
    coef0 : float, default=0.0

    Examples
    --------
    >>> from unisvm.kernels import Sigmoid
    >>> Sigmoid(gamma=1.0)([[0.0, 0.0]], [[3.0, 4.0]])
    array([[0.]])
    """

    is_psd = False

    def __init__(self, gamma: float | str = "scale", coef0: float = 0.0):
        self.gamma = gamma
        self.coef0 = coef0

    def _of_products(self, products):
        products *= float(self.gamma)
        products += float(self.coef0)
        return np.tanh(products, out=products)


class RBF(Kernel):
    """k(x, z) = exp(−γ ‖x − z‖²).

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"

    Examples
    --------
    >>> from unisvm.kernels import RBF
    >>> RBF(gamma=0.5)([[1.0, 2.0]], [[1.0, 2.0], [1.0, 20.0]]).round(3)
    array([[1., 0.]])
    """

    def __init__(self, gamma: float | str = "scale"):
        self.gamma = gamma

    def diagonal(self, X):
        return np.ones(X.shape[0])

    def against(self, Z):
        gamma = float(self.gamma)
        points = Points(Z)
        # Distances do not change when the origin moves to the middle of Z, but far fewer digits cancel.
        # Sparse rows stay where they are: moving them would fill in their zeros.
        # The origin is a number that both sides can subtract exactly.
        origin = 0 if sparse.issparse(Z) else np.mean(Z, axis=0, dtype=np.float64).astype(Z.dtype)
        moved: dict[np.dtype, tuple[np.ndarray, float]] = {}

        def prepare(dtype: np.dtype) -> tuple[np.ndarray, float]:
            """Points from the origin, times 2γ, and what their norms add to the exponent at most."""
            if dtype not in moved:
                own = Z.astype(np.float64) - origin
                norms = gamma * row_norms(own, squared=True)
                # the norms are two further columns of the product, which spares two visits of all its entries
                wide = np.column_stack([own * (2 * gamma), np.full(len(own), -gamma), -norms])
                moved[dtype] = wide.astype(dtype), norms.max()
            return moved[dtype]

        def widened(X: np.ndarray, dtype: np.dtype) -> np.ndarray:
            """Rows from the origin, with their squared norms and ones as two further columns."""
            wide = np.empty((len(X), X.shape[1] + 2), dtype)
            rows = np.subtract(X, origin, out=wide[:, :-2], dtype=dtype)
            wide[:, -2] = row_norms(rows, squared=True)
            wide[:, -1] = 1
            return wide

        def is_rounded_off(dtype: np.dtype, row_squares: np.ndarray, of_points: float) -> bool:
            """Whether this precision would leave an error of 1e-4 in an exponent, which is a difference of numbers as
            large as γ(‖x‖² + ‖z‖²)."""
            largest = gamma * row_squares.max(initial=0.0) + of_points
            return dtype != np.float64 and not largest * np.finfo(dtype).eps <= 1e-4

        def of_dense(X: np.ndarray, out: np.ndarray | None) -> np.ndarray:
            # in the precision of both, since either is exact
            dtype = np.result_type(X, Z)
            wide = widened(X, dtype)
            if is_rounded_off(dtype, wide[:, -2], prepare(dtype)[1]):
                wide = widened(X, np.dtype(np.float64))
            return np.matmul(wide, prepare(wide.dtype)[0].T, out=out if wide.dtype == X.dtype else None)

        def of_sparse(X, out: np.ndarray | None) -> np.ndarray:
            row_squares = row_norms(X, squared=True)
            if is_rounded_off(X.dtype, row_squares, gamma * points.squares.max()):
                X, out = X.astype(np.float64), None
                row_squares = row_norms(X, squared=True)
            exponent = points.products(X, out)
            exponent *= 2 * gamma
            exponent -= (gamma * row_squares)[:, None]
            exponent -= (gamma * points.squares).astype(X.dtype)
            return exponent

        def block(X, out=None):
            exponent = of_sparse(X, out) if points.meet_sparsely(X) else of_dense(X, out)
            return into(out, decay(exponent).astype(X.dtype, copy=False))

        return block
