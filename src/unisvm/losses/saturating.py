"""Smooth losses that stop listening to a row, or nearly so, once its residual is large."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from unisvm.losses._log1p import log1p
from unisvm.losses.base import AT_LEAST_TWO, ONLY_CLASSIFICATION, ONLY_REGRESSION, POSITIVE, Form, Loss

# e^−t is 0 in double precision beyond this, so that powers of larger residuals need not be formed
_EXP_UNDERFLOW = 750.0


def _power(u: np.ndarray, exponent: float) -> np.ndarray:
    """u to a power, by multiplication for the small whole ones, which is many times faster."""
    match exponent:
        case 1:
            return u
        case 2:
            return u * u
        case 3:
            return u * u * u
        case 4:
            square = u * u
            return square * square
        case _:
            return u**exponent


def _saturated(u: np.ndarray, a: float, b: float, c: float) -> tuple[np.ndarray, np.ndarray]:
    """a (1 − exp(−uᶜ/b)) and its derivative, from one exponential; u is written over."""
    if c == 4:
        slope = u * u
        left = slope * slope
        slope *= u
    else:
        slope = _power(u, c - 1)
        left = slope * u
    left *= -1 / b
    np.exp(left, out=left)
    slope *= left
    slope *= a * c / b
    left *= -a
    left += a
    return left, slope


class Saturating(Loss):
    """ψ(u) = a (1 − exp(−max(u, 0)ᶜ/b)).

    Parameters
    ----------
    a : float, default=2.0
        The most that one row can cost.
    b : float, default=2.0
        How large a residual must be to saturate.
    c : float, default=4.0
        How flat the loss is near 0 and how sharply it rises, at least 2.

    Examples
    --------
    >>> from unisvm.losses import Saturating
    >>> Saturating(a=2.0, b=2.0, c=4.0).value([0.0, 5.0])
    array([0., 2.])
    """

    name = "saturating"
    tasks = ONLY_CLASSIFICATION
    ranges = {"a": POSITIVE, "b": POSITIVE, "c": AT_LEAST_TWO}

    def __init__(self, a: float = 2.0, b: float = 2.0, c: float = 4.0):
        self.a = a
        self.b = b
        self.c = c
        self.validate()

    @property
    def A(self):
        a, b, c = float(self.a), float(self.b), float(self.c)
        # ψ'' is largest at uᶜ = b h
        h = (3 * (c - 1) - np.sqrt(5 * c * c - 6 * c + 1)) / (2 * c)
        return float(a * c / b ** (2 / c) * ((c - 1) * h ** (1 - 2 / c) - c * h ** (2 - 2 / c)) * np.exp(-h) / 2)

    @property
    def bound(self):
        return float(self.a)

    @property
    def form(self):
        return Form("saturating", (float(self.a), float(self.b), float(self.c), 0.0))

    def _clipped(self, u):
        # in less time than np.clip
        return np.minimum(np.maximum(u, 0), float(_EXP_UNDERFLOW * self.b) ** (1 / float(self.c)))

    def _value(self, u):
        a, b, c = float(self.a), float(self.b), float(self.c)
        return -a * np.expm1(-_power(self._clipped(u), c) / b)

    def _derivative(self, u):
        a, b, c = float(self.a), float(self.b), float(self.c)
        u = self._clipped(u)
        return (a * c / b) * _power(u, c - 1) * np.exp(-_power(u, c) / b)

    def _value_and_derivative(self, u):
        return _saturated(self._clipped(u), float(self.a), float(self.b), float(self.c))


class Feng(Loss):
    """ψ(u) = a (1 − exp(−max(u, 0)²/a)), the smooth truncated squared hinge of Feng et al.

    Parameters
    ----------
    a : float, default=2.0
        The most that one row can cost.

    Examples
    --------
    >>> from unisvm.losses import Feng
    >>> Feng(a=2.0).A
    1.0
    """

    name = "feng"
    tasks = ONLY_CLASSIFICATION
    ranges = {"a": POSITIVE}
    A = 1.0

    def __init__(self, a: float = 2.0):
        self.a = a
        self.validate()

    @property
    def bound(self):
        return float(self.a)

    @property
    def form(self):
        return self._saturating().form

    def _saturating(self) -> Saturating:
        return Saturating(a=self.a, b=self.a, c=2.0)

    def _value(self, u):
        return self._saturating()._value(u)

    def _derivative(self, u):
        return self._saturating()._derivative(u)

    def _value_and_derivative(self, u):
        return self._saturating()._value_and_derivative(u)


class LogSaturating(Loss):
    """ψ(u) = a log(1 + max(u, 0)ᶜ/b): grows for ever, but ever more slowly.

    Parameters
    ----------
    a : float, default=2.0
    b : float, default=2.0
    c : float, default=4.0
        At least 2.

    Examples
    --------
    >>> from unisvm.losses import LogSaturating
    >>> LogSaturating().value(-1.0)
    np.float64(0.0)
    """

    name = "log_saturating"
    tasks = ONLY_CLASSIFICATION
    ranges = {"a": POSITIVE, "b": POSITIVE, "c": AT_LEAST_TWO}

    def __init__(self, a: float = 2.0, b: float = 2.0, c: float = 4.0):
        self.a = a
        self.b = b
        self.c = c
        self.validate()

    @property
    def A(self):
        a, b, c = float(self.a), float(self.b), float(self.c)
        # ψ'' = a c b^(−2/c) t^(1−2/c) (c − 1 − t)/(1 + t)² with t = uᶜ/b, largest at the smaller root of
        # 2t² − (c + 4)(c − 1) t + (c − 2)(c − 1) = 0
        half = (c + 4) * (c - 1) / 2
        t = (c - 2) * (c - 1) / (half + np.sqrt(half**2 - 2 * (c - 2) * (c - 1)))
        return float(a * c / b ** (2 / c) * t ** (1 - 2 / c) * (c - 1 - t) / (1 + t) ** 2 / 2)

    @property
    def form(self):
        return Form("logarithm", (float(self.a), float(self.b), float(self.c), 0.0))

    def _value_and_derivative(self, u):
        a, b, c = float(self.a), float(self.b), float(self.c)
        if u.size and not u.max() < float(np.finfo(u.dtype).max * min(b, 1)) ** (0.5 / c):
            # powers of it may overflow
            return super()._value_and_derivative(u)
        u = np.maximum(u, 0)
        slope = _power(u, c - 1)
        ratio = slope * u
        ratio *= 1 / b
        value = log1p(ratio)
        value *= a
        slope *= a * c / b
        ratio += 1
        slope /= ratio
        return value, slope

    def _log_ratio(self, u):
        """log(uᶜ/b), −∞ where u ≤ 0."""
        with np.errstate(divide="ignore"):
            return float(self.c) * np.log(np.maximum(u, 0)) - float(np.log(float(self.b)))

    def _value(self, u):
        return float(self.a) * np.logaddexp(0, self._log_ratio(u)).astype(u.dtype, copy=False)

    def _derivative(self, u):
        slope = float(self.a) * float(self.c) * expit(self._log_ratio(u))
        return np.divide(slope, u, out=np.zeros_like(u), where=u > 0)


class Welsch(Loss):
    """ψ(u) = a (1 − exp(−u²/b)), the saturating loss for both signs of the residual.

    Parameters
    ----------
    a : float, default=2.0
        The most that one row can cost.
    b : float, default=2.0
        How large a squared residual must be to saturate.

    Examples
    --------
    >>> from unisvm.losses import Welsch
    >>> Welsch().value([0.0, -20.0, 20.0])
    array([0., 2., 2.])
    """

    name = "welsch"
    tasks = ONLY_REGRESSION
    ranges = {"a": POSITIVE, "b": POSITIVE}

    def __init__(self, a: float = 2.0, b: float = 2.0):
        self.a = a
        self.b = b
        self.validate()

    @property
    def A(self):
        return float(self.a) / float(self.b)

    @property
    def bound(self):
        return float(self.a)

    @property
    def form(self):
        return Form("saturating", (float(self.a), float(self.b), 2.0, 1.0))

    def _clipped(self, u):
        largest = float(np.sqrt(_EXP_UNDERFLOW * float(self.b)))
        return np.minimum(np.maximum(u, -largest), largest)

    def _value(self, u):
        return -float(self.a) * np.expm1(-(self._clipped(u) ** 2) / float(self.b))

    def _derivative(self, u):
        u = self._clipped(u)
        return (2 * float(self.a) / float(self.b)) * u * np.exp(-(u**2) / float(self.b))

    def _value_and_derivative(self, u):
        return _saturated(self._clipped(u), float(self.a), float(self.b), 2.0)


class Cauchy(Loss):
    """ψ(u) = a log(1 + u²/a).

    Parameters
    ----------
    a : float, default=2.0
        The squared residual beyond which the loss turns from quadratic to logarithmic.

    Examples
    --------
    >>> from unisvm.losses import Cauchy
    >>> Cauchy(a=1.0).derivative([-1.0, 0.0, 1.0])
    array([-1.,  0.,  1.])
    """

    name = "cauchy"
    tasks = ONLY_REGRESSION
    ranges = {"a": POSITIVE}
    A = 1.0

    def __init__(self, a: float = 2.0):
        self.a = a
        self.validate()

    @property
    def form(self):
        return Form("logarithm", (float(self.a), float(self.a), 2.0, 1.0))

    def _split(self, u):
        """√a, the larger of |u| and √a, and the smaller over the larger: nothing below overflows."""
        root = float(self.a) ** 0.5
        size = np.abs(u)
        larger = np.maximum(size, root)
        return root, larger, np.minimum(size, root) / larger

    def _value(self, u):
        root, larger, ratio = self._split(u)
        return float(self.a) * (np.log1p(ratio * ratio) + 2 * (np.log(larger) - float(np.log(root))))

    def _derivative(self, u):
        root, _, ratio = self._split(u)
        return np.sign(u) * (2 * root * ratio / (1 + ratio * ratio))

    def _value_and_derivative(self, u):
        a = float(self.a)
        ratio = u * u
        if not ratio.max(initial=0) < float(np.finfo(u.dtype).max * min(a, 1)) ** 0.5:
            # squares of it may overflow
            return super()._value_and_derivative(u)
        ratio *= 1 / a
        value = log1p(ratio)
        value *= a
        ratio += 1
        return value, 2 * u / ratio
