"""Losses made of u²: least squares, the squared hinge, their truncations, the expectile."""

from __future__ import annotations

import numpy as np

from unisvm.losses.base import BOTH, FRACTION, ONLY_CLASSIFICATION, ONLY_REGRESSION, POSITIVE, Loss, parabolas


class LeastSquares(Loss):
    """ψ(u) = u².

    Examples
    --------
    >>> from unisvm.losses import LeastSquares
    >>> LeastSquares().value(3.0)
    np.float64(9.0)
    """

    name = "least_squares"
    tasks = BOTH
    is_convex = True
    is_quadratic = True
    A = 1.0

    @property
    def form(self):
        return parabolas((-np.inf, 0, 0, 1))

    def _value(self, u):
        return u * u

    def _derivative(self, u):
        return 2 * u


class TruncatedLeastSquares(Loss):
    """ψ(u) = min(u², a).

    Parameters
    ----------
    a : float, default=2.0
        Where the loss stops growing, and so the most that one row can cost.

    Examples
    --------
    >>> from unisvm.losses import TruncatedLeastSquares
    >>> TruncatedLeastSquares(a=2.0).value([1.0, 10.0])
    array([1., 2.])
    """

    name = "truncated_least_squares"
    tasks = BOTH
    ranges = {"a": POSITIVE}
    A = 1.0
    has_jumps = True

    def __init__(self, a: float = 2.0):
        self.a = a
        self.validate()

    @property
    def bound(self):
        return float(self.a)

    @property
    def form(self):
        a, cut = float(self.a), float(self.a) ** 0.5
        # at the cuts themselves the slope is 0
        return parabolas((-np.inf, a, 0, 0), (np.nextafter(-cut, 0), 0, 0, 1), (cut, a, 0, 0))

    def _value(self, u):
        return np.minimum(u * u, float(self.a))

    def _derivative(self, u):
        cut = float(self.a) ** 0.5
        # a product with what is true or false is several times faster than a choice
        return 2 * np.clip(u, -cut, cut) * (np.abs(u) < cut)


class SquaredHinge(Loss):
    """ψ(u) = max(u, 0)².

    Examples
    --------
    >>> from unisvm.losses import SquaredHinge
    >>> SquaredHinge().value([-1.0, 2.0])
    array([0., 4.])
    """

    name = "squared_hinge"
    tasks = ONLY_CLASSIFICATION
    is_convex = True
    seeds_nonconvex = True
    A = 1.0

    @property
    def form(self):
        return parabolas((-np.inf, 0, 0, 0), (0, 0, 0, 1))

    def _value(self, u):
        return np.maximum(u, 0) ** 2

    def _derivative(self, u):
        return 2 * np.maximum(u, 0)

    def _value_and_derivative(self, u):
        positive = np.maximum(u, 0)
        value = positive * positive
        positive *= 2
        return value, positive


class TruncatedSquaredHinge(Loss):
    """ψ(u) = min(max(u, 0)², a).

    Parameters
    ----------
    a : float, default=2.0
        Where the loss stops growing, and so the most that one row can cost.

    Examples
    --------
    >>> from unisvm.losses import TruncatedSquaredHinge
    >>> TruncatedSquaredHinge(a=2.0).value([-1.0, 1.0, 10.0])
    array([0., 1., 2.])
    """

    name = "truncated_squared_hinge"
    tasks = ONLY_CLASSIFICATION
    ranges = {"a": POSITIVE}
    A = 1.0
    has_jumps = True

    def __init__(self, a: float = 2.0):
        self.a = a
        self.validate()

    @property
    def bound(self):
        return float(self.a)

    @property
    def form(self):
        a = float(self.a)
        return parabolas((-np.inf, 0, 0, 0), (0, 0, 0, 1), (a**0.5, a, 0, 0))

    def _value(self, u):
        return np.minimum(np.maximum(u, 0) ** 2, float(self.a))

    def _derivative(self, u):
        cut = float(self.a) ** 0.5
        return 2 * np.clip(u, 0, cut) * (u < cut)


class Expectile(Loss):
    """ψ(u) = |τ − 1[u < 0]| u², whose minimiser is the τ-expectile of the target.

    Parameters
    ----------
    tau : float, default=0.5
        The level, between 0 and 1; 0.5 is half the least-squares loss.

    Examples
    --------
    >>> from unisvm.losses import Expectile
    >>> Expectile(tau=0.75).value([-2.0, 2.0])
    array([1., 3.])
    """

    name = "expectile"
    tasks = ONLY_REGRESSION
    ranges = {"tau": FRACTION}
    is_convex = True

    def __init__(self, tau: float = 0.5):
        self.tau = tau
        self.validate()

    @property
    def A(self):
        return float(max(self.tau, 1 - self.tau))

    @property
    def form(self):
        tau = float(self.tau)
        return parabolas((-np.inf, 0, 0, 1 - tau), (0, 0, 0, tau))

    def _weighted(self, u):
        tau = float(self.tau)
        return tau * np.maximum(u, 0) + (1 - tau) * np.minimum(u, 0)

    def _value(self, u):
        return self._weighted(u) * u

    def _derivative(self, u):
        return 2 * self._weighted(u)

    def _value_and_derivative(self, u):
        weighted = self._weighted(u)
        return weighted * u, 2 * weighted
