"""How probable each label is where some labels are wrong: a softmax of decisions with a floor.

For a row with decisions f_1 … f_K, which least squares makes of targets ±1,

    P(label = j) = (1 − Σ_i c_i) p_j + c_j,    p = softmax(z A + b),  z_j = f_j + f_j³,

where p_j is how probable class j is, and c_j the rate at which rows get the label j whatever they are. Where classes overlap,
p is in between; where a class is out of the question, its label still occurs at the rate c_j: that tells wrong labels from
overlap. (Least squares estimates f = 2 P − 1, whose log-odds are 2 artanh f = 2 (f + f³/3 + …).) A label j is wrong with
the probability

    c_j (1 − p_j) / P(label = j).

The parameters are those of the largest likelihood. The c_j are one number, unless the labels clearly say otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import log_softmax
from scipy.stats import chi2

# With more classes, A is a number in place of a matrix: 30² coefficients take as long as the predictions of 5,000 rows.
_MOST_CLASSES = 30
# The penalties (ridge/2)‖A − ā I‖² of a matrix about its mean diagonal, and (shrink/2) Σ (log c_j − mean)²
_RIDGE, _SHRINK = 1.0, 1.0
# Rates of their own for each class must raise the log-likelihood by so much, and as much again for each further class: with
# labels that are wrong evenly it rose by 0 to 4 on the sets of benchmarks/suspects_cleanlab.py.
_WORTH_OWN_RATES = 4.0
# total rates that the search for the largest likelihood starts at: from one alone, it ended elsewhere on a9a with 30 %
_STARTS = (0.02, 0.3)
_LEAST_LOG, _MOST_LOG = -16.0, 2.0
_FIRST_SLOPE, _MOST_STEPS = 3.0, 100
# How much more of the log-likelihood than by its theory the ends of an interval may lose, since the form of the softmax is
# not exact, and how exact the ends are in log rates.
_MISFIT, _SHIFT_TOL = 2.0, 0.02
# rows that the parameters are fitted to
_MOST_ROWS = 20_000


@dataclass(frozen=True)
class LabelNoise:
    """Probabilities of classes and labels, given decisions.

    Attributes
    ----------
    centre : ndarray of shape (n_classes,)
        Of z, and
    unit : float
        its scale: the softmax is that of (z − centre)/unit.
    slope : ndarray of shape (n_classes, n_classes), or (1,)
        A, or the number that stands for it.
    bias : ndarray of shape (n_classes,)
    rates : ndarray of shape (n_classes,)
        The c_j.
    """

    centre: np.ndarray
    unit: float
    slope: np.ndarray
    bias: np.ndarray
    rates: np.ndarray

    def classes(self, decision: np.ndarray) -> np.ndarray:
        """Probability p of each class, of shape (n_rows, n_classes)."""
        z = (expanded(decision) - self.centre) / self.unit
        logits = (z @ self.slope if self.slope.ndim == 2 else z * self.slope) + self.bias
        return np.exp(log_softmax(logits, axis=1))

    def of_given(self, decision: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Probability of the label that each row has, and the probability that it is wrong."""
        p, c = self.classes(decision)[np.arange(len(labels)), labels], self.rates[labels]
        probability = (1 - self.rates.sum()) * p + c
        return probability, c * (1 - p) / np.maximum(probability, np.finfo(float).tiny)


class FittedNoise(NamedTuple):
    """Probabilities by the parameters of the largest likelihood, and by the lowest and the highest rates beside them."""

    best: LabelNoise
    low: LabelNoise
    high: LabelNoise


def expanded(decision: np.ndarray) -> np.ndarray:
    """z = f + f³ for each class; one column of decisions is that of the second of two classes."""
    f = np.asarray(decision, dtype=np.float64)
    f = np.concatenate([-f, f], axis=1) if f.shape[1] == 1 else f
    return f + f**3


def fit_label_noise(
    decision: np.ndarray, labels: np.ndarray, weights: np.ndarray, confidence: float, rng: np.random.RandomState
) -> FittedNoise:
    """The parameters of the largest likelihood, and those at the ends of an interval of the rates.

    Parameters
    ----------
    decision : ndarray of shape (n_rows, n_classes), or (n_rows, 1) for two classes
        Of rows that were left out.
    labels : ndarray of int of shape (n_rows,)
        Indices of the labels.
    weights : ndarray of shape (n_rows,)
    confidence : float
    rng : RandomState
        Draws the rows where they are many.
    """
    if len(labels) > _MOST_ROWS:
        drawn = rng.permutation(len(labels))[:_MOST_ROWS]
        decision, labels, weights = decision[drawn], labels[drawn], weights[drawn]
    z = expanded(decision)
    likelihood = _Likelihood(z, labels, weights, own_rates=False)
    best = likelihood.maximise([likelihood.start(rate) for rate in _STARTS])
    own = _Likelihood(z, labels, weights, own_rates=True)
    other = own.maximise(own.starts_from(best.x))
    if best.fun - other.fun > _WORTH_OWN_RATES + (z.shape[1] - 2):
        likelihood, best = own, other
    low, high = likelihood.ends(best, _MISFIT * chi2.ppf(confidence, 1) / 2)
    return FittedNoise(likelihood.noise(best.x), low, high)


class _Likelihood:
    """Minus the log-likelihood of the labels, penalised, as a function of A, b and logarithms of the rates.

    The rates are c_j = g_j / (1 + Σ g) of g = exp(s_j), so that they sum to less than 1. The first parameters are A, then
    follow b, and then s: one for all classes, or one for each.

    Parameters
    ----------
    z : ndarray of shape (n_rows, n_classes)
    labels : ndarray of int of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
    own_rates : bool
        Whether each class has its own.
    """

    def __init__(self, z: np.ndarray, labels: np.ndarray, weights: np.ndarray, *, own_rates: bool):
        self._centre, self._unit = z.mean(axis=0), max(float(z.std()), np.finfo(float).tiny)
        self._z = (z - self._centre) / self._unit
        self._labels, self._own_rates = labels, own_rates
        # so many rows count as they are
        self._weights = weights / weights.mean()
        self._n_classes = n_classes = z.shape[1]
        self._n_slopes = 1 if n_classes == 2 or n_classes > _MOST_CLASSES else n_classes**2

    def start(self, rate: float) -> np.ndarray:
        """Parameters with a total rate, and as probable classes as there are rows of them."""
        K = self._n_classes
        slope = _FIRST_SLOPE * np.eye(K).ravel() if self._n_slopes > 1 else np.full(1, _FIRST_SLOPE)
        shares = np.bincount(self._labels, self._weights, minlength=K) / self._weights.sum()
        log_rates = np.full(K if self._own_rates else 1, np.log(rate / (1 - rate) / K))
        return np.concatenate([slope, np.log(np.maximum(shares, 1 / len(self._labels))), log_rates])

    def starts_from(self, x: np.ndarray) -> list[np.ndarray]:
        """Parameters with rates of each class, from those with one rate: as it is, and higher for one of two classes."""
        K, log_rate = self._n_classes, float(x[-1])
        rest, log_rate = x[:-1], max(log_rate, np.log(_STARTS[0] / K))
        starts = [np.full(K, log_rate)]
        if K == 2:
            starts += [log_rate + np.array([2.0, -2.0]), log_rate + np.array([-2.0, 2.0])]
        return [np.concatenate([rest, each]) for each in starts]

    def maximise(self, starts: list[np.ndarray]):
        """The best of the minima that are reached from some starts, as `scipy.optimize.minimize` returns it."""
        bounds = [(None, None)] * (len(starts[0]) - self._n_rates) + [(_LEAST_LOG, _MOST_LOG)] * self._n_rates
        found = [
            minimize(self, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _MOST_STEPS})
            for start in starts
        ]
        return min(found, key=lambda each: each.fun)

    def ends(self, best: Any, least_loss: float) -> tuple[LabelNoise, LabelNoise]:
        """Probabilities with the lowest and the highest rates that lose no more than this of the log-likelihood.

        All rates rise and fall by one factor, and b and a factor of A follow.
        """

        @lru_cache
        def profile(shift: float) -> Any:
            return self._with_shift(best.x, shift)

        def loss(shift: float) -> float:
            return float(profile(shift).fun - best.fun - least_loss)

        log_rates = best.x[-self._n_rates :]
        found = []
        for end in _LEAST_LOG - float(log_rates.min()), _MOST_LOG - float(log_rates.max()):
            if loss(end) > 0:
                end = float(brentq(loss, 0.0, end, xtol=_SHIFT_TOL))
            x = best.x.copy()
            x[: self._n_slopes] *= profile(end).x[0]
            x[self._n_slopes : self._n_slopes + self._n_classes] = profile(end).x[1:]
            x[-self._n_rates :] += end
            found.append(self.noise(x))
        return found[0], found[1]

    def _with_shift(self, x: np.ndarray, shift: float) -> Any:
        """The minimum over b and a factor of A when a number is added to the logarithms of the rates."""
        slopes, bias = slice(0, self._n_slopes), slice(self._n_slopes, self._n_slopes + self._n_classes)

        def value(part: np.ndarray) -> tuple[float, np.ndarray]:
            whole = np.concatenate([part[0] * x[slopes], part[1:], x[bias.stop :] + shift])
            total, gradient = self(whole)
            return total, np.concatenate([[gradient[slopes] @ x[slopes]], gradient[bias]])

        start = np.concatenate([[1.0], x[bias]])
        return minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": _MOST_STEPS})

    def noise(self, x: np.ndarray) -> LabelNoise:
        """The probabilities with these parameters."""
        slope, bias, rates = self._read(x)
        return LabelNoise(self._centre, self._unit, slope, bias, rates)

    @property
    def _n_rates(self) -> int:
        return self._n_classes if self._own_rates else 1

    def _read(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A, b and the rates."""
        K, slope = self._n_classes, x[: self._n_slopes]
        g = np.exp(np.broadcast_to(x[self._n_slopes + K :], K))
        return slope.reshape(K, K) if len(slope) > 1 else slope, x[self._n_slopes : self._n_slopes + K], g / (1 + g.sum())

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and its gradient."""
        slope, bias, rates = self._read(x)
        rows = np.arange(len(self._labels))
        logits = (self._z @ slope if slope.ndim == 2 else self._z * slope) + bias
        logits -= logits.max(axis=1, keepdims=True)
        p = np.exp(logits, out=logits)
        p /= p.sum(axis=1, keepdims=True)
        of_class = p[rows, self._labels]
        of_label = (1 - rates.sum()) * of_class + rates[self._labels]
        value = -float(self._weights @ np.log(of_label))
        # how much of each label is that of its class
        share = self._weights * (1 - rates.sum()) * of_class / of_label
        p *= share[:, None]
        p[rows, self._labels] -= share
        inverse = self._weights / of_label
        of_rates = inverse @ of_class - np.bincount(self._labels, inverse, minlength=self._n_classes)
        of_logs = rates * (of_rates - of_rates @ rates)
        of_slope = self._z.T @ p if slope.ndim == 2 else np.array([np.vdot(self._z, p)])
        if slope.ndim == 2:
            off = slope - np.eye(len(slope)) * np.trace(slope) / len(slope)
            value, of_slope = value + _RIDGE / 2 * float(np.vdot(off, off)), of_slope + _RIDGE * off
        if self._own_rates:
            apart = x[-self._n_classes :] - x[-self._n_classes :].mean()
            value, of_logs = value + _SHRINK / 2 * float(apart @ apart), of_logs + _SHRINK * apart
        else:
            of_logs = of_logs.sum(keepdims=True)
        return value, np.concatenate([of_slope.ravel(), p.sum(axis=0), of_logs])
