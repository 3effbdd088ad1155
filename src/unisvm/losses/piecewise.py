"""Losses glued together from polynomials: the ramp, Huber's, its truncation, Tukey's biweight."""

from __future__ import annotations

import numpy as np

from unisvm.losses.base import ONLY_CLASSIFICATION, ONLY_REGRESSION, POSITIVE, Form, Loss, parabolas


class QuadraticRamp(Loss):
    """The ramp min(max(u, 0), a) smoothed by two parabolas that meet at u = a/2.

    Parameters
    ----------
    a : float, default=2.0
        The height and the length of the ramp.

    Examples
    --------
    >>> from unisvm.losses import QuadraticRamp
    >>> QuadraticRamp(a=2.0).value([-1.0, 1.0, 3.0])
    array([0., 1., 2.])
    """

    name = "quadratic_ramp"
    tasks = ONLY_CLASSIFICATION
    ranges = {"a": POSITIVE}

    def __init__(self, a: float = 2.0):
        self.a = a
        self.validate()

    @property
    def A(self):
        return 2 / float(self.a)

    @property
    def bound(self):
        return float(self.a)

    @property
    def form(self):
        a = float(self.a)
        # on the second half a − 2 (a − u)²/a
        rise, fall = (0, 0, 0, 2 / a), (a / 2, -a, 4, -2 / a)
        return parabolas((-np.inf, 0, 0, 0), rise, fall, (a, a, 0, 0))

    def _value(self, u):
        return self._value_and_derivative(u)[0]

    def _derivative(self, u):
        a = float(self.a)
        u = np.clip(u, 0, a)
        return (4 / a) * np.minimum(u, a - u)

    def _value_and_derivative(self, u):
        a = float(self.a)
        u = np.clip(u, 0, a)
        # how far it is to the nearer end: 2 d²/a on the first half, where u = d, and a − 2 d²/a on the second
        near = np.minimum(u, a - u)
        value = (u - near) * (1 + (2 / a) * near)
        value += (2 / a) * near * near
        return value, (4 / a) * near


class Huber(Loss):
    """ψ(u) = u²/(2δ) for |u| < δ and |u| − δ/2 beyond.

    Parameters
    ----------
    delta : float, default=0.1
        Where the loss turns from quadratic to linear, in units of the target's robust scale.

    Examples
    --------
    >>> from unisvm.losses import Huber
    >>> Huber(delta=1.0).value([0.5, 2.0])
    array([0.125, 1.5  ])
    """

    name = "huber"
    tasks = ONLY_REGRESSION
    ranges = {"delta": POSITIVE}
    is_convex = True

    def __init__(self, delta: float = 0.1):
        self.delta = delta
        self.validate()

    @property
    def A(self):
        return 1 / (2 * float(self.delta))

    @property
    def form(self):
        delta = float(self.delta)
        left, right = (-np.inf, -delta / 2, -1, 0), (delta, -delta / 2, 1, 0)
        return parabolas(left, (-delta, 0, 0, 0.5 / delta), right)

    def _value(self, u):
        delta, size = float(self.delta), np.abs(u)
        inside = np.minimum(size, delta)
        return inside**2 / (2 * delta) + (size - inside)

    def _derivative(self, u):
        return np.clip(u / float(self.delta), -1, 1)


class TruncatedHuber(Huber):
    """ψ(u) = min(Huber(u), a).

    Parameters
    ----------
    delta : float, default=0.1
        Where the loss turns from quadratic to linear, in units of the target's robust scale.
    a : float, default=2.0
        The most that one row can cost.

    Examples
    --------
    >>> from unisvm.losses import TruncatedHuber
    >>> TruncatedHuber(delta=1.0, a=2.0).value([0.5, 2.0, 100.0])
    array([0.125, 1.5  , 2.   ])
    """

    name = "truncated_huber"
    ranges = {"delta": POSITIVE, "a": POSITIVE}
    is_convex = False
    has_jumps = True

    def __init__(self, delta: float = 0.1, a: float = 2.0):
        self.delta = delta
        self.a = a
        self.validate()

    @property
    def bound(self):
        return float(self.a)

    @property
    def cut(self) -> float:
        """The |u| at which Huber's loss reaches a."""
        delta, a = float(self.delta), float(self.a)
        return a + delta / 2 if a > delta / 2 else float(np.sqrt(2 * delta * a))

    @property
    def form(self):
        delta, a, cut = float(self.delta), float(self.a), self.cut
        within: list[tuple[float, float, float, float]] = [(-delta, 0, 0, 0.5 / delta)]
        if cut > delta:
            within = [(-cut, -delta / 2, -1, 0), *within, (delta, -delta / 2, 1, 0)]
        # at the cuts themselves the slope is 0
        within[0] = (np.nextafter(-cut, 0), *within[0][1:])
        return parabolas((-np.inf, a, 0, 0), *within, (cut, a, 0, 0))

    def _value(self, u):
        return np.minimum(super()._value(u), float(self.a))

    def _derivative(self, u):
        return super()._derivative(u) * (np.abs(u) < self.cut)


class Tukey(Loss):
    """Tukey's biweight, ψ(u) = (c²/6)(1 − max(1 − u²/c², 0)³).

    Parameters
    ----------
    c : float, default=4.685
        The |u| beyond which the gradient of a row is 0, in units of the target's robust scale.

    Examples
    --------
    >>> from unisvm.losses import Tukey
    >>> Tukey(c=1.0).derivative([0.5, 2.0])
    array([0.28125, 0.     ])
    """

    name = "tukey"
    tasks = ONLY_REGRESSION
    ranges = {"c": POSITIVE}
    A = 0.5

    def __init__(self, c: float = 4.685):
        self.c = c
        self.validate()

    @property
    def bound(self):
        return float(self.c) ** 2 / 6

    @property
    def form(self):
        return Form("biweight", (float(self.c),))

    def _value(self, u):
        return self._value_and_derivative(u)[0]

    def _derivative(self, u):
        return self._value_and_derivative(u)[1]

    def _value_and_derivative(self, u):
        c = float(self.c)
        u = np.clip(u, -c, c)
        t = u * (1 / c)
        t *= t
        # 1 − (1 − t)³ = t (3 − 3t + t²) keeps its digits for small t
        return self.bound * (t * (3 - 3 * t + t * t)), u * (1 - t) ** 2
