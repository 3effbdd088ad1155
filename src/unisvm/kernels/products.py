"""Kernels that are functions of the product x·z: linear, polynomial and sigmoid."""

from __future__ import annotations

from abc import abstractmethod
from math import comb

import numpy as np
from sklearn.utils.extmath import row_norms

from unisvm.kernels.base import Kernel
from unisvm.kernels.gradients import fewest_functions, weighted_points
from unisvm.kernels.points import Points


class _Dot(Kernel):
    """Kernels that are a function of x·z."""

    compares_columns = True
    has_gradients = True
    is_judged_by_trace = False

    @abstractmethod
    def _of_products(self, products: np.ndarray) -> np.ndarray:
        """The kernel from x·z; may write over its argument."""

    @abstractmethod
    def _slopes(self, products: np.ndarray) -> np.ndarray:
        """Derivative of the kernel by x·z; may write over its argument."""

    def against(self, Z):
        points = Points(Z)
        return lambda X, out=None: self._of_products(points.products(X, out))

    def diagonal(self, X):
        return self._of_products(row_norms(X, squared=True).astype(np.float64))

    def squared_gradients(self, X, Z, dual):
        X, Z = X.astype(np.float64), Z.astype(np.float64)
        slopes, sums = self._slopes(Points(Z).products(X)), np.zeros(X.shape)
        for coefficients in fewest_functions(dual):
            sums += weighted_points(slopes * coefficients, Z) ** 2
        return sums


class Linear(_Dot):
    """k(x, z) = x·z.

    Examples
    --------
    >>> from unisvm.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    is_linear = True

    def max_rank(self, n_features):
        return n_features

    def _of_products(self, products):
        return products

    def _slopes(self, products):
        return np.ones_like(products)


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

    def max_rank(self, n_features):
        # the monomials of this degree, and of lower ones unless coef0 is 0
        return comb(n_features + int(self.degree) - (self.coef0 == 0), int(self.degree))

    def _of_products(self, products):
        products *= float(self.gamma)
        products += float(self.coef0)
        return np.power(products, self.degree, out=products)

    def _slopes(self, products):
        products *= float(self.gamma)
        products += float(self.coef0)
        np.power(products, self.degree - 1, out=products)
        return np.multiply(products, float(self.gamma) * self.degree, out=products)


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

    def _slopes(self, products):
        values = self._of_products(products)
        return float(self.gamma) * (1 - values * values)
