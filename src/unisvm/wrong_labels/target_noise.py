"""How probable it is that a real target is wrong: a mixture of right targets near their prediction and of any targets.

For a row with the held-out prediction f, the spread σ of residuals around there, and the target y,

    p(y) = (1 − ε) t_ν((y − f)/(τ σ)) / (τ σ) + ε / range

where t_ν is the density of Student's distribution, whose tails are as heavy as the residuals ask for; wrong targets lie
anywhere in the range of all targets. A target is wrong with the probability (ε / range) / p(y). ε, ν and τ are those of
the largest likelihood.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from scipy.stats import t as student

from unisvm.wrong_labels.profile_interval import profile_ends

# bounds of ν and of τ in units of the typical residual, and shares of wrong targets that the search starts at
_FREEDOM, _FACTOR, _STARTS = (2.0, 100.0), (0.05, 20.0), (0.01, 0.2)
# bounds of the log-odds of ε
_LEAST_LOGIT, _MOST_LOGIT = -16.0, 0.0
# residuals that the parameters are fitted to
_MOST_ROWS = 20_000


class Residuals(NamedTuple):
    """Residuals of held-out predictions and their spread, arrays of shape (n_rows,), and the range of the targets."""

    residual: np.ndarray
    spread: np.ndarray
    target_range: float


class TargetNoise(NamedTuple):
    """Probability that a target is wrong.

    Attributes
    ----------
    freedom, factor, log_odds : float
        ν, τ and log ε/(1 − ε).
    """

    freedom: float
    factor: float
    log_odds: float

    def wrong(self, given: Residuals) -> np.ndarray:
        """Probability that each target is wrong."""
        right, wrong = self._log_densities(given)
        return np.asarray(expit(self.log_odds + wrong - right))

    def further(self, given: Residuals) -> np.ndarray:
        """Probability that a right target is at least as far from its prediction as each target is."""
        return np.asarray(2 * student.sf(np.abs(given.residual) / (self.factor * given.spread), self.freedom))

    def log_likelihood(self, given: Residuals, weights: np.ndarray) -> float:
        """Of the residuals."""
        right, wrong = self._log_densities(given)
        return float(weights @ np.logaddexp(log_expit(-self.log_odds) + right, log_expit(self.log_odds) + wrong))

    def _log_densities(self, given: Residuals) -> tuple[np.ndarray, float]:
        """Of right and of wrong targets."""
        scale = self.factor * given.spread
        return student.logpdf(given.residual / scale, self.freedom) - np.log(scale), -np.log(given.target_range)


class FittedNoise(NamedTuple):
    """The noise of the largest likelihood, and that with the lowest and highest share of wrong targets beside it."""

    best: TargetNoise
    low: TargetNoise
    high: TargetNoise


def fit_target_noise(
    given: Residuals, weights: np.ndarray, confidence: float, rng: np.random.RandomState
) -> FittedNoise:
    """The parameters of the largest likelihood, and those at the ends of an interval of ε.

    Parameters
    ----------
    given : Residuals
    weights : ndarray of shape (n_rows,)
    confidence : float
    rng : RandomState
        Draws the rows where they are many.
    """
    if len(weights) > _MOST_ROWS:
        drawn = rng.permutation(len(weights))[:_MOST_ROWS]
        given, weights = given._replace(residual=given.residual[drawn], spread=given.spread[drawn]), weights[drawn]
    weights = weights / weights.mean()
    typical = max(float(np.median(np.abs(given.residual) / given.spread)), np.finfo(float).tiny)

    def noise(x: np.ndarray) -> TargetNoise:
        return TargetNoise(float(np.exp(x[0])), float(np.exp(x[1])) * typical, float(x[2]))

    def minimum(x: np.ndarray, log_odds: tuple[float, float]) -> Any:
        bounds = [np.log(_FREEDOM), np.log(_FACTOR), log_odds]
        return minimize(lambda x: -noise(x).log_likelihood(given, weights), x, method="L-BFGS-B", bounds=bounds)

    starts = [np.array([np.log(5.0), 0.0, np.log(share / (1 - share))]) for share in _STARTS]
    best = min((minimum(start, (_LEAST_LOGIT, _MOST_LOGIT)) for start in starts), key=lambda each: each.fun)

    @lru_cache
    def profile(shift: float) -> Any:
        log_odds = float(best.x[2]) + shift
        return minimum(np.array([*best.x[:2], log_odds]), (log_odds, log_odds))

    bounds = _LEAST_LOGIT - float(best.x[2]), _MOST_LOGIT - float(best.x[2])
    low, high = profile_ends(lambda shift: float(profile(shift).fun - best.fun), *bounds, confidence)
    return FittedNoise(noise(best.x), noise(profile(low).x), noise(profile(high).x))
