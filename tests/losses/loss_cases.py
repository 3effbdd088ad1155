"""Every registered loss: its formula in textbook form, its kinks, and the parameters that the tests give it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from unisvm import losses


def plus(u):
    return np.maximum(u, 0)


def softplus(x):
    return np.logaddexp(0, x)


def huber(u, delta):
    return np.where(np.abs(u) < delta, u**2 / (2 * delta), np.abs(u) - delta / 2)


#: ψ as written in the literature, without any care for overflow
FORMULAS = {
    "least_squares": lambda u: u**2,
    "truncated_least_squares": lambda u, a: np.minimum(u**2, a),
    "squared_hinge": lambda u: plus(u) ** 2,
    "truncated_squared_hinge": lambda u, a: np.minimum(plus(u) ** 2, a),
    "smooth_hinge": lambda u, p: softplus(p * u) / p,
    "quadratic_ramp": lambda u, a: np.where(u <= a / 2, 2 / a * plus(u) ** 2, a - 2 / a * plus(a - u) ** 2),
    "softplus_ramp": lambda u, a, p: (softplus(p * u) - softplus(p * (u - a))) / p,
    "feng": lambda u, a: a * (1 - np.exp(-(plus(u) ** 2) / a)),
    "saturating": lambda u, a, b, c: a * (1 - np.exp(-(plus(u) ** c) / b)),
    "logistic": lambda u: np.log(1 + np.exp(u - 1)),
    "smooth_epsilon_insensitive": lambda u, epsilon, p: (
        (softplus(-p * (u + epsilon)) + softplus(p * (u - epsilon))) / p
    ),
    "huber": huber,
    "truncated_huber": lambda u, delta, a: np.minimum(huber(u, delta), a),
    "smooth_absolute": lambda u, p: (softplus(p * u) + softplus(-p * u)) / p,
    "smooth_pinball": lambda u, tau, p: (tau * softplus(p * u) + (1 - tau) * softplus(-p * u)) / p,
    "expectile": lambda u, tau: np.abs(tau - (u < 0)) * u**2,
    "welsch": lambda u, a, b: a * (1 - np.exp(-(u**2) / b)),
    "cauchy": lambda u, a: a * np.log(1 + u**2 / a),
    "tukey": lambda u, c: c**2 / 6 * (1 - plus(1 - u**2 / c**2) ** 3),
    "log_saturating": lambda u, a, b, c: a * np.log(1 + plus(u) ** c / b),
}

#: where ψ or one of its first derivatives jumps, so that difference quotients say nothing
KINKS = {
    "truncated_least_squares": lambda a: (-np.sqrt(a), np.sqrt(a)),
    "squared_hinge": lambda: (0,),
    "truncated_squared_hinge": lambda a: (0, np.sqrt(a)),
    "quadratic_ramp": lambda a: (0, a / 2, a),
    "feng": lambda a: (0,),
    "saturating": lambda a, b, c: (0,),
    "huber": lambda delta: (-delta, delta),
    "truncated_huber": lambda delta, a: (
        -delta,
        delta,
        *((-a - delta / 2, a + delta / 2) if a > delta / 2 else (-np.sqrt(2 * delta * a), np.sqrt(2 * delta * a))),
    ),
    "expectile": lambda tau: (0,),
    "tukey": lambda c: (-c, c),
    "log_saturating": lambda a, b, c: (0,),
}

#: besides the defaults
PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "least_squares": [],
    "truncated_least_squares": [{"a": 0.3}, {"a": 9.0}],
    "squared_hinge": [],
    "truncated_squared_hinge": [{"a": 0.3}, {"a": 9.0}],
    "smooth_hinge": [{"p": 0.5}, {"p": 200.0}],
    "quadratic_ramp": [{"a": 0.25}, {"a": 5.0}],
    "softplus_ramp": [{"a": 0.1, "p": 3.0}, {"a": 1.0, "p": 200.0}, {"a": 4.0, "p": 0.7}],
    "feng": [{"a": 0.2}, {"a": 7.0}],
    "saturating": [{"a": 2.0, "b": 3.0, "c": 2.0}, {"a": 0.5, "b": 0.3, "c": 2.5}, {"a": 3.0, "b": 5.0, "c": 9.0}],
    "logistic": [],
    "smooth_epsilon_insensitive": [
        {"epsilon": 0.0, "p": 20.0},
        {"epsilon": 0.05, "p": 10.0},
        {"epsilon": 1.0, "p": 4.0},
    ],
    "huber": [{"delta": 0.02}, {"delta": 3.0}],
    "truncated_huber": [{"delta": 0.02, "a": 1.0}, {"delta": 3.0, "a": 0.5}, {"delta": 1.0, "a": 2.0}],
    "smooth_absolute": [{"p": 1.5}, {"p": 200.0}],
    "smooth_pinball": [{"tau": 0.9, "p": 10.0}, {"tau": 0.05, "p": 100.0}],
    "expectile": [{"tau": 0.9}, {"tau": 0.2}],
    "welsch": [{"a": 1.0, "b": 0.1}, {"a": 0.4, "b": 6.0}],
    "cauchy": [{"a": 0.01}, {"a": 8.0}],
    "tukey": [{"c": 0.5}, {"c": 1.7}],
    "log_saturating": [{"a": 1.0, "b": 0.5, "c": 2.0}, {"a": 0.3, "b": 4.0, "c": 2.5}, {"a": 2.0, "b": 1.0, "c": 8.0}],
}


@dataclass(frozen=True)
class Case:
    """A loss with its parameters, its formula and its kinks."""

    name: str
    loss: losses.Loss

    @classmethod
    def of(cls, name: str, params: dict[str, Any]) -> "Case":
        return cls(name, losses.get(name, **params))

    def formula(self, u):
        return FORMULAS[self.name](u, **self.loss.get_params())

    @property
    def kinks(self) -> np.ndarray:
        kinks = KINKS[self.name](**self.loss.get_params()) if self.name in KINKS else ()
        return np.array(kinks, dtype=float)

    def away_from_kinks(self, u):
        return u[(np.abs(u[:, None] - self.kinks) > 0.01).all(axis=1)]


CASES = [Case.of(name, params) for name, sets in PARAMETERS.items() for params in ({}, *sets)]


def each_case():
    """Parametrise a test over every loss and all of its parameter sets."""
    return pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case.loss).replace(" ", ""))


def each_loss():
    """Parametrise a test over every loss with its default parameters."""
    return pytest.mark.parametrize("name", list(PARAMETERS))


def difference_quotient(function, u, h):
    """The central difference of fourth order."""
    near = function(u + h) - function(u - h)
    far = function(u + 2 * h) - function(u - 2 * h)
    return (8 * near - far) / (12 * h)


def random_case(name: str, rng: np.random.Generator) -> Case:
    """A loss with parameters drawn over three orders of magnitude."""
    draw = {
        "tau": lambda: rng.uniform(0.02, 0.98),
        "c": lambda: rng.uniform(2, 10),
    }
    parameters = losses.get(name).get_params()
    return Case.of(name, {key: draw.get(key, lambda: 10 ** rng.uniform(-1.3, 1.3))() for key in parameters})
