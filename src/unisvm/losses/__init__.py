"""Least-squares DC losses: pointwise ψ(u), ψ'(u) and the constant A.

Examples
--------
>>> from unisvm import losses
>>> loss = losses.get("truncated_squared_hinge", a=2.0)
>>> loss.value([-1.0, 1.0, 9.0]), loss.derivative([-1.0, 1.0, 9.0])
(array([0., 1., 2.]), array([0., 2., 0.]))
"""

from unisvm.losses.base import Loss
from unisvm.losses.custom import CustomLoss, custom
from unisvm.losses.piecewise import Huber, QuadraticRamp, TruncatedHuber, Tukey
from unisvm.losses.registry import ALIASES, get, names
from unisvm.losses.saturating import Cauchy, Feng, LogSaturating, Saturating, Welsch
from unisvm.losses.softplus import (
    Logistic,
    SmoothAbsolute,
    SmoothEpsilonInsensitive,
    SmoothHinge,
    SmoothPinball,
    SoftplusRamp,
)
from unisvm.losses.squared import (
    Expectile,
    LeastSquares,
    SquaredHinge,
    TruncatedLeastSquares,
    TruncatedSquaredHinge,
)

__all__ = [
    "ALIASES",
    "Cauchy",
    "CustomLoss",
    "Expectile",
    "Feng",
    "Huber",
    "LeastSquares",
    "LogSaturating",
    "Logistic",
    "Loss",
    "QuadraticRamp",
    "Saturating",
    "SmoothAbsolute",
    "SmoothEpsilonInsensitive",
    "SmoothHinge",
    "SmoothPinball",
    "SoftplusRamp",
    "SquaredHinge",
    "TruncatedHuber",
    "TruncatedLeastSquares",
    "TruncatedSquaredHinge",
    "Tukey",
    "Welsch",
    "custom",
    "get",
    "names",
]


def __dir__() -> list[str]:
    return sorted(__all__)
