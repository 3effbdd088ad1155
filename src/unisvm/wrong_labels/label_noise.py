"""How probable each class and each label are where some labels are wrong.

For a row with decisions f_1 … f_K, which least squares makes of targets ±1,

    P(class = i) = p_i,    p = softmax(z A + b),  z_j = f_j + f_j³
    P(label = j) = Σ_i p_i T_ij

where T_ij is how often rows of class i have the label j, wherever they are. Where classes overlap, p is in between;
where a class is out of the question, its label still occurs at the rates T: that tells wrong labels from overlap.
(Least squares estimates f = 2 P − 1, whose log-odds are 2 artanh f = 2 (f + f³/3 + …).) A label j is wrong with the
probability

    1 − p_j T_jj / P(label = j).

The parameters are those of the largest penalised likelihood. With s_ij the log-odds of the label j against the right
one, T_ij = exp(s_ij) / (1 + Σ_l exp(s_il)): the s_ij are one number, unless the labels clearly ask for one number for
each label, or for each pair of a class and a label.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from unisvm.wrong_labels.profile_interval import profile_ends

# With more classes, A is a number in place of a matrix: 30² coefficients take as long as the predictions of 5,000 rows.
_MOST_CLASSES = 30
# Penalties (ridge/2)‖A − ā I‖² of a matrix about its mean diagonal ā, and ½ Σ (s − mean)². Beside rates for each pair,
# a free matrix would explain wrong labels as overlap.
_RIDGE, _RIDGE_BESIDE_PAIRS = 1.0, 30.0
# Where classes are far apart, a few labels that are wrong and a softmax that is never sure fit equally well. So much of
# log ā, between two bounds, is added to the log-likelihood while the share ε of wrong labels is small, so that these
# are the answer: six of 300 in four Gaussian clusters were missed with half of it, and found with it. Where hardly
# anything tells the labels, many wrong ones fit as well as overlap does: so much of log(1 − ε) speaks against them.
_TO_STEEP, _FLAT, _STEEP, _RARE, _TO_FEW = 2.0, 0.1, 50.0, 0.1, 10.0
# What the log-likelihood must gain by a rate for each label, a number and one more for each class beyond two, and by
# one for each pair of a class and a label, a share of their number, or, where few labels are wrong, a number and one
# half of theirs. Where wrong labels were drawn evenly it gained less on the sets of benchmarks/wrong_labels.py, and
# more where they were those of the next class.
_WORTH_OWN_RATES, _WORTH_PAIRS, _WORTH_FEW_PAIRS = 4.0, 0.8, 8.0
# total rates that the search for the largest likelihood starts at: from one alone, it ended elsewhere on a9a with 30 %
_STARTS = (0.02, 0.3)
# bounds of s: a wrong label is rarer than the right one
_LEAST_LOG, _MOST_LOG = -16.0, -0.05
_FIRST_SLOPE, _MOST_STEPS = 3.0, 100
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
    transitions : ndarray of shape (n_classes, n_classes)
        T.
    """

    centre: np.ndarray
    unit: float
    slope: np.ndarray
    bias: np.ndarray
    transitions: np.ndarray

    @classmethod
    def of_shares(cls, labels: np.ndarray, weights: np.ndarray, n_classes: int) -> LabelNoise:
        """Without a wrong label, and with classes that are as probable everywhere as they are frequent."""
        shares = np.bincount(labels, weights, minlength=n_classes) / weights.sum()
        return cls(np.zeros(n_classes), 1.0, np.zeros(1), np.log(shares), np.eye(n_classes))

    def classes(self, decision: np.ndarray) -> np.ndarray:
        """Probability of each class, of shape (n_rows, n_classes)."""
        z = (expanded(decision) - self.centre) / self.unit
        logits = (z @ self.slope if self.slope.ndim == 2 else z * self.slope) + self.bias
        return np.exp(log_softmax(logits, axis=1))

    def of_given(self, classes: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Probability of the label that each row has, and the probability that it is wrong, by those of the classes."""
        probability = (classes * self.transitions.T[labels]).sum(axis=1)
        right = classes[np.arange(len(labels)), labels] * self.transitions.diagonal()[labels]
        return probability, np.clip(1 - right / np.maximum(probability, np.finfo(float).tiny), 0, 1)


class FittedNoise(NamedTuple):
    """Probabilities by the parameters of the largest likelihood, and by the lowest and highest rates beside them."""

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
    likelihood = _Likelihood(expanded(decision), labels, weights)
    best = likelihood.maximise([likelihood.start(rate) for rate in _STARTS])
    by_label = likelihood.tied("labels")
    other = by_label.maximise(by_label.starts_from(best.x))
    n_classes = likelihood.n_classes
    if best.fun - other.fun > _WORTH_OWN_RATES + (n_classes - 2):
        likelihood, best = by_label, other
    if 2 < n_classes <= _MOST_CLASSES:
        without = likelihood.tied(likelihood.ties, _RIDGE_BESIDE_PAIRS).maximise([best.x])
        by_pair = likelihood.tied("pairs", _RIDGE_BESIDE_PAIRS)
        of_pairs = by_pair.maximise([*by_pair.starts_from(without.x), by_pair.start(_STARTS[1])])
        noise = likelihood.noise(best.x)
        n_wrong = float(noise.of_given(noise.classes(decision), labels)[1].sum())
        worth_it = min(_WORTH_PAIRS * n_classes * (n_classes - 1), _WORTH_FEW_PAIRS + n_wrong / 2)
        if without.fun - of_pairs.fun > worth_it:
            likelihood, best = by_pair, of_pairs
    low, high = likelihood.ends(best, confidence)
    return FittedNoise(likelihood.noise(best.x), low, high)


def _prior(steepness: float, share: float) -> tuple[float, float, float]:
    """Logarithm of the prior of ā and of the share ε of wrong labels, and its derivatives."""
    within = max(steepness, _FLAT)
    log_steep, is_rare = np.log(within / (1 + within / _STEEP)), np.exp(-((share / _RARE) ** 2))
    value = _TO_STEEP * is_rare * log_steep + _TO_FEW * np.log1p(-share)
    of_steepness = _TO_STEEP * is_rare / (within * (1 + within / _STEEP)) if steepness > _FLAT else 0.0
    of_share = -2 * share / _RARE**2 * _TO_STEEP * is_rare * log_steep - _TO_FEW / (1 - share)
    return float(value), float(of_steepness), float(of_share)


class _Likelihood:
    """Minus the log-likelihood of the labels, penalised, as a function of A, b and s, which follow each other.

    Parameters
    ----------
    z : ndarray of shape (n_rows, n_classes)
    labels : ndarray of int of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
    ties : {"one", "labels", "pairs"}
        Which of the s_ij are one number: all, those of each label j, or none.
    ridge : float
    """

    def __init__(
        self, z: np.ndarray, labels: np.ndarray, weights: np.ndarray, ties: str = "one", ridge: float = _RIDGE
    ):
        self.n_classes = K = z.shape[1]
        self.ties, self._ridge, self._given = ties, ridge, (z, labels, weights)
        self._centre, self._unit = z.mean(axis=0), max(float(z.std()), np.finfo(float).tiny)
        self._z = (z - self._centre) / self._unit
        # so many rows count as they are
        self._weights = weights / weights.mean()
        self._labels = labels
        self._one_hot = np.zeros((len(labels), K))
        self._one_hot[np.arange(len(labels)), labels] = 1
        self._n_slopes = 1 if K == 2 or K > _MOST_CLASSES else K**2
        #: which number s_ij is
        self._place = {
            "one": np.zeros((K, K), dtype=int),
            "labels": np.tile(np.arange(K), (K, 1)),
            "pairs": np.arange(K * K).reshape(K, K),
        }[ties]
        self._n_rates = int(self._place.max()) + 1

    def tied(self, ties: str, ridge: float = _RIDGE) -> _Likelihood:
        """The same with other ties."""
        return _Likelihood(*self._given, ties, ridge)

    def start(self, rate: float) -> np.ndarray:
        """Parameters with a share of wrong labels, and as probable classes as there are rows of them."""
        K = self.n_classes
        slope = _FIRST_SLOPE * np.eye(K).ravel() if self._n_slopes > 1 else np.full(1, _FIRST_SLOPE)
        shares = self._weights @ self._one_hot / self._weights.sum()
        log_odds = np.full(self._n_rates, np.log(rate / (1 - rate) / (K - 1)))
        return np.concatenate([slope, np.log(np.maximum(shares, 1 / len(self._labels))), log_odds])

    def starts_from(self, x: np.ndarray) -> list[np.ndarray]:
        """Parameters from those with fewer rates: as they are, and with a higher rate for one of two classes."""
        K = self.n_classes
        rest, log_odds = np.split(x, [self._n_slopes + K])
        highest = max(float(log_odds.max()), np.log(_STARTS[0] / K))
        starts = [np.full(self._n_rates, highest)]
        if K == 2:
            starts += [highest + np.array([2.0, -2.0]), highest + np.array([-2.0, 2.0])]
        return [np.concatenate([rest, np.minimum(each, _MOST_LOG)]) for each in starts]

    def maximise(self, starts: list[np.ndarray]) -> Any:
        """The best of the minima that are reached from some starts, as `scipy.optimize.minimize` returns it."""
        # A as a number is not negative
        free = [(0.0 if self._n_slopes == 1 else None, None)] + [(None, None)] * (len(starts[0]) - self._n_rates - 1)
        bounds = free + [(_LEAST_LOG, _MOST_LOG)] * self._n_rates
        options = {"maxiter": _MOST_STEPS}
        found = [minimize(self, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options) for start in starts]
        return min(found, key=lambda each: each.fun)

    def ends(self, best: Any, confidence: float) -> tuple[LabelNoise, LabelNoise]:
        """Probabilities with the lowest and the highest rates that the labels allow.

        All s rise and fall by one number, and b and a factor of A follow.
        """
        bias = slice(self._n_slopes, self._n_slopes + self.n_classes)

        @lru_cache
        def profile(shift: float) -> Any:
            return self._with_shift(best.x, bias, shift)

        log_odds = best.x[bias.stop :]
        bounds = _LEAST_LOG - float(log_odds.min()), _MOST_LOG - float(log_odds.max())
        found = []
        for shift in profile_ends(lambda shift: float(profile(shift).fun - best.fun), *bounds, confidence):
            x = best.x.copy()
            x[: bias.start] *= profile(shift).x[0]
            x[bias] = profile(shift).x[1:]
            x[bias.stop :] += shift
            found.append(self.noise(x))
        return found[0], found[1]

    def _with_shift(self, x: np.ndarray, bias: slice, shift: float) -> Any:
        """The minimum over b and a factor of A when a number is added to all s."""

        def value(part: np.ndarray) -> tuple[float, np.ndarray]:
            total, gradient = self(np.concatenate([part[0] * x[: bias.start], part[1:], x[bias.stop :] + shift]))
            return total, np.concatenate([[gradient[: bias.start] @ x[: bias.start]], gradient[bias]])

        start = np.concatenate([[1.0], x[bias]])
        bounds = [(0, None)] + [(None, None)] * self.n_classes
        return minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _MOST_STEPS})

    def noise(self, x: np.ndarray) -> LabelNoise:
        """The probabilities with these parameters."""
        return LabelNoise(self._centre, self._unit, *self._read(x))

    def _read(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A, b and T."""
        K, slope = self.n_classes, x[: self._n_slopes]
        odds = np.exp(x[self._n_slopes + K :])[self._place]
        np.fill_diagonal(odds, 1.0)
        transitions = odds / odds.sum(axis=1, keepdims=True)
        return slope.reshape(K, K) if len(slope) > 1 else slope, x[self._n_slopes : self._n_slopes + K], transitions

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and its gradient."""
        slope, bias, T = self._read(x)
        logits = (self._z @ slope if slope.ndim == 2 else self._z * slope) + bias
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        # how probable each class is with its label, and then given the label
        joint = p * T.T[self._labels]
        of_label = joint.sum(axis=1)
        value = -float(self._weights @ np.log(of_label))
        joint *= (self._weights / of_label)[:, None]
        # of the logits, and of s: expected numbers of class and label, less those by T
        of_logits = p * self._weights[:, None] - joint
        counts = joint.T @ self._one_hot
        of_odds = counts.sum(axis=1, keepdims=True) * T - counts
        np.fill_diagonal(of_odds, 0.0)
        of_slope = self._z.T @ of_logits if slope.ndim == 2 else np.array([np.vdot(self._z, of_logits)])
        steepness = np.trace(slope) / len(slope) if slope.ndim == 2 else float(slope[0])
        prior, of_steepness, of_share = _prior(steepness, 1 - float(T.diagonal().mean()))
        value -= prior
        off_diagonal = T * (T.diagonal()[:, None] / len(T))
        np.fill_diagonal(off_diagonal, 0.0)
        of_odds -= of_share * off_diagonal
        of_rates = np.bincount(self._place.ravel(), of_odds.ravel(), minlength=self._n_rates)
        if slope.ndim == 2:
            apart = slope - np.eye(len(slope)) * steepness
            value, of_slope = value + self._ridge / 2 * float(np.vdot(apart, apart)), of_slope + self._ridge * apart
            of_slope = of_slope - np.eye(len(slope)) * (of_steepness / len(slope))
        else:
            of_slope = of_slope - of_steepness
        if self._n_rates > 1:
            unequal = x[-self._n_rates :] - x[-self._n_rates :].mean()
            value, of_rates = value + float(unequal @ unequal) / 2, of_rates + unequal
        return value, np.concatenate([of_slope.ravel(), of_logits.sum(axis=0), of_rates])
