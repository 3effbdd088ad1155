"""Losses smoothed by softplus(x) = log(1 + eˣ), the smooth stand-in for max(x, 0).

Every softplus is written as max(x, 0) + log(1 + e^−|x|), which never overflows and keeps ψ finite
wherever it is representable.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from unisvm.losses._log1p import log1p
from unisvm.losses.base import (
    FRACTION,
    NON_NEGATIVE,
    ONLY_CLASSIFICATION,
    ONLY_REGRESSION,
    POSITIVE,
    Form,
    Loss,
)


def _tail(u, p):
    """softplus(p u)/p − max(u, 0)."""
    return log1p(np.exp(-p * np.abs(u))) / p


def _tail_and_slope(u, p):
    """`_tail` of an array, and the derivative of softplus(p u)/p, from one exponential."""
    e = np.abs(u)
    e *= -p
    np.exp(e, out=e)
    slope = 1 + e
    np.divide(e, slope, out=slope)
    tail = log1p(e)
    tail *= 1 / p
    # so far the slope is that at −|u|; where u is positive it is 1 less that
    np.greater_equal(u, 0, out=e, casting="unsafe")
    slope -= e
    return tail, np.abs(slope, out=slope)


def _softplus(u, p):
    """softplus(p u)/p of an array and its derivative."""
    value, slope = _tail_and_slope(u, p)
    value += np.maximum(u, 0)
    return value, slope


def _form(p: float, *terms: tuple[float, float], linear: float = 0.0, constant: float = 0.0) -> Form:
    """A constant, a multiple of u, and one or two a softplus(p(u − s))/p, given as (s, a)."""
    (first, height), (second, other) = (*terms, (0.0, 0.0))[:2]
    return Form("softplus", (p, first, height, second, other, linear, constant))


def _inverse_cosh(x: float) -> float:
    """1/cosh(x), which is 0 rather than an overflow for large x."""
    return 2 * np.exp(-abs(x)) / (1 + np.exp(-2 * abs(x)))


class SmoothHinge(Loss):
    """ψ(u) = softplus(p u)/p, the hinge loss max(u, 0) made smooth.

    Parameters
    ----------
    p : float, default=10.0
        Sharpness: ψ is at most log(2)/p above the hinge.

    Examples
    --------
    >>> from unisvm.losses import SmoothHinge
    >>> SmoothHinge(p=10.0).value(1.0).round(4)
    np.float64(1.0)
    """

    name = "smooth_hinge"
    tasks = ONLY_CLASSIFICATION
    ranges = {"p": POSITIVE}
    is_convex = True

    def __init__(self, p: float = 10.0):
        self.p = p
        self.validate()

    @property
    def A(self):
        return float(self.p) / 8

    @property
    def form(self):
        return _form(float(self.p), (0, 1))

    def _value(self, u):
        return np.maximum(u, 0) + _tail(u, float(self.p))

    def _derivative(self, u):
        return expit(float(self.p) * u)

    def _value_and_derivative(self, u):
        return _softplus(u, float(self.p))


class Logistic(Loss):
    """ψ(u) = softplus(u − 1), which is log(1 + exp(−y f)): logistic regression's loss.

    Examples
    --------
    >>> from unisvm.losses import Logistic
    >>> Logistic().derivative(1.0)
    np.float64(0.5)
    """

    name = "logistic"
    tasks = ONLY_CLASSIFICATION
    is_convex = True
    A = 1 / 8

    @property
    def form(self):
        return _form(1.0, (1, 1))

    def _value(self, u):
        return np.maximum(u - 1, 0) + _tail(u - 1, 1.0)

    def _derivative(self, u):
        return expit(u - 1)

    def _value_and_derivative(self, u):
        return _softplus(u - 1, 1.0)


class SoftplusRamp(Loss):
    """ψ(u) = (softplus(p u) − softplus(p (u − a)))/p, the ramp min(max(u, 0), a) made smooth.

    Parameters
    ----------
    a : float, default=2.0
        The height of the ramp.
    p : float, default=10.0
        Sharpness.

    Examples
    --------
    >>> from unisvm.losses import SoftplusRamp
    >>> SoftplusRamp(a=2.0).value(1e300)
    np.float64(2.0)
    """

    name = "softplus_ramp"
    tasks = ONLY_CLASSIFICATION
    ranges = {"a": POSITIVE, "p": POSITIVE}

    def __init__(self, a: float = 2.0, p: float = 10.0):
        self.a = a
        self.p = p
        self.validate()

    @property
    def A(self):
        # With C = cosh(pa/2) and c = cosh(p(u − a/2)): ψ'' = p sinh(pa/2) √(c² − 1)/(c + C)² on the rising side,
        # largest where c² − C c − 2 = 0. Everything is divided by C, so that a sharp ramp does not overflow.
        p, half_width = float(self.p), float(self.p) * float(self.a) / 2
        inverse = _inverse_cosh(half_width)
        ratio = (1 + np.sqrt(1 + 8 * inverse**2)) / 2
        steepest = np.tanh(half_width) * np.sqrt(ratio**2 - inverse**2) / (ratio + 1) ** 2
        return float(p * steepest / 2)

    @property
    def bound(self):
        return float(self.a)

    @property
    def form(self):
        return _form(float(self.p), (0, 1), (float(self.a), -1))

    def _value(self, u):
        a, p = float(self.a), float(self.p)
        return np.clip(u, 0, a) + (_tail(u, p) - _tail(u - a, p))

    def _derivative(self, u):
        a, p = float(self.a), float(self.p)
        return expit(p * u) - expit(p * (u - a))

    def _value_and_derivative(self, u):
        a, p = float(self.a), float(self.p)
        value, slope = _tail_and_slope(u, p)
        tail, less = _tail_and_slope(u - a, p)
        value -= tail
        value += np.clip(u, 0, a)
        slope -= less
        return value, slope


class SmoothEpsilonInsensitive(Loss):
    """ψ(u) = (softplus(−p(u + ε)) + softplus(p(u − ε)))/p, SVR's loss max(|u| − ε, 0) made smooth.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half the width of the tube, in units of the target's robust scale.
    p : float, default=100.0
        Sharpness.

    Examples
    --------
    >>> from unisvm.losses import SmoothEpsilonInsensitive
    >>> SmoothEpsilonInsensitive(epsilon=0.5).value([0.0, 1.5]).round(6)
    array([0., 1.])
    """

    name = "smooth_epsilon_insensitive"
    tasks = ONLY_REGRESSION
    ranges = {"epsilon": NON_NEGATIVE, "p": POSITIVE}
    is_convex = True

    def __init__(self, epsilon: float = 0.1, p: float = 100.0):
        self.epsilon = epsilon
        self.p = p
        self.validate()

    @property
    def A(self):
        # With C = cosh(pε) and c = cosh(pu): ψ'' = p (1 + C c)/(c + C)², largest at c = C − 2/C when that is
        # at least 1, else at u = 0.
        inverse = _inverse_cosh(float(self.p) * float(self.epsilon))
        steepest = 1 / (4 * (1 - inverse**2)) if inverse <= 0.5 else inverse / (1 + inverse)
        return float(float(self.p) * steepest / 2)

    @property
    def form(self):
        epsilon = float(self.epsilon)
        # softplus(−x) = softplus(x) − x
        return _form(float(self.p), (-epsilon, 1), (epsilon, 1), linear=-1, constant=-epsilon)

    def _value(self, u):
        epsilon, p = float(self.epsilon), float(self.p)
        outside = np.maximum(np.abs(u) - epsilon, 0)
        return outside + (_tail(u + epsilon, p) + _tail(u - epsilon, p))

    def _derivative(self, u):
        epsilon, p = float(self.epsilon), float(self.p)
        return expit(p * (u - epsilon)) - expit(-p * (u + epsilon))

    def _value_and_derivative(self, u):
        epsilon, p = float(self.epsilon), float(self.p)
        value, slope = _softplus(u - epsilon, p)
        below, less = _softplus(-epsilon - u, p)
        value += below
        slope -= less
        return value, slope


class SmoothAbsolute(Loss):
    """ψ(u) = (softplus(p u) + softplus(−p u))/p, the absolute loss made smooth.

    Parameters
    ----------
    p : float, default=100.0
        Sharpness.

    Examples
    --------
    >>> from unisvm.losses import SmoothAbsolute
    >>> SmoothAbsolute().value([-3.0, 3.0])
    array([3., 3.])
    """

    name = "smooth_absolute"
    tasks = ONLY_REGRESSION
    ranges = {"p": POSITIVE}
    is_convex = True

    def __init__(self, p: float = 100.0):
        self.p = p
        self.validate()

    @property
    def A(self):
        return float(self.p) / 4

    @property
    def form(self):
        return _form(float(self.p), (0, 2), linear=-1)

    def _value(self, u):
        return np.abs(u) + 2 * _tail(u, float(self.p))

    def _derivative(self, u):
        return np.tanh(float(self.p) / 2 * u)

    def _value_and_derivative(self, u):
        value, slope = _tail_and_slope(u, float(self.p))
        value *= 2
        value += np.abs(u)
        slope *= 2
        slope -= 1
        return value, slope


class SmoothPinball(Loss):
    """ψ(u) = (τ softplus(p u) + (1 − τ) softplus(−p u))/p, whose minimiser is nearly the τ-quantile.

    Parameters
    ----------
    tau : float, default=0.5
        The quantile's level, between 0 and 1.
    p : float, default=100.0
        Sharpness.

    Examples
    --------
    >>> from unisvm.losses import SmoothPinball
    >>> SmoothPinball(tau=0.9).value([-10.0, 10.0])
    array([1., 9.])
    """

    name = "smooth_pinball"
    tasks = ONLY_REGRESSION
    ranges = {"tau": FRACTION, "p": POSITIVE}
    is_convex = True

    def __init__(self, tau: float = 0.5, p: float = 100.0):
        self.tau = tau
        self.p = p
        self.validate()

    @property
    def A(self):
        return float(self.p) / 8

    @property
    def form(self):
        return _form(float(self.p), (0, 1), linear=float(self.tau) - 1)

    def _value(self, u):
        tau = float(self.tau)
        return tau * np.maximum(u, 0) + (1 - tau) * np.maximum(-u, 0) + _tail(u, float(self.p))

    def _derivative(self, u):
        return expit(float(self.p) * u) - (1 - float(self.tau))

    def _value_and_derivative(self, u):
        tau = float(self.tau)
        value, slope = _softplus(u, float(self.p))
        value -= (1 - tau) * u
        slope -= 1 - tau
        return value, slope
