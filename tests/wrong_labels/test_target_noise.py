"""The model of wrong real targets: its probabilities, and whether it finds the share that targets were drawn with."""

import numpy as np
import pytest
from scipy import integrate, stats

from unisvm.wrong_labels import target_noise
from unisvm.wrong_labels.target_noise import Residuals, TargetNoise, fit_target_noise

RANGE = 20.0


def draw(share, seed, n_rows=600, freedom=5.0, scale=0.3):
    """Residuals around predictions in the middle of the range, and which of them are of wrong targets."""
    rng = np.random.RandomState(seed)
    spread = np.exp(0.5 * rng.randn(n_rows))
    residual = scale * spread * rng.standard_t(freedom, size=n_rows)
    wrong = rng.rand(n_rows) < share
    residual[wrong] = rng.uniform(-RANGE / 2, RANGE / 2, wrong.sum())
    return Residuals(residual, spread, RANGE), wrong


def fit(given, weights=None, confidence=0.95):
    weights = np.ones(len(given.residual)) if weights is None else weights
    return fit_target_noise(given, weights, confidence, np.random.RandomState(0))


def share_of(noise):
    return 1 / (1 + np.exp(-noise.log_odds))


NOISE = TargetNoise(4.0, 0.7, -2.0)
GIVEN = Residuals(np.array([0.0, 1.0, -3.0, 9.0]), np.array([1.0, 0.5, 2.0, 1.0]), 15.0)


def test_probabilities_are_those_of_Bayes():
    epsilon, found = share_of(NOISE), NOISE.wrong(GIVEN)
    for i, (residual, spread) in enumerate(zip(GIVEN.residual, GIVEN.spread, strict=True)):
        right = (1 - epsilon) * stats.t(4, scale=0.7 * spread).pdf(residual)
        assert found[i] == pytest.approx(epsilon / 15 / (epsilon / 15 + right))


def test_right_targets_are_further_away_with_the_probability_of_both_tails():
    found = NOISE.further(GIVEN)
    assert found[0] == 1
    for i, (residual, spread) in enumerate(zip(GIVEN.residual, GIVEN.spread, strict=True)):
        tail = integrate.quad(stats.t(4, scale=0.7 * spread).pdf, abs(residual), np.inf)[0]
        assert found[i] == pytest.approx(2 * tail, rel=1e-6)


def test_the_likelihood_is_that_of_the_mixture():
    epsilon, weights = share_of(NOISE), np.array([1.0, 2.0, 0.5, 3.0])
    densities = (1 - epsilon) * stats.t(4, scale=0.7 * GIVEN.spread).pdf(GIVEN.residual) + epsilon / 15
    assert NOISE.log_likelihood(GIVEN, weights) == pytest.approx(weights @ np.log(densities))


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e9])
@pytest.mark.parametrize("share", [0.02, 0.1, 0.3])
def test_the_share_is_found_in_any_units(share, unit):
    given, wrong = draw(share, 0, n_rows=1500)
    given = Residuals(given.residual * unit, given.spread, given.target_range * unit)
    noise = fit(given).best
    assert share_of(noise) == pytest.approx(wrong.mean(), abs=0.03)
    assert noise.wrong(given).sum() == pytest.approx(wrong.sum(), abs=0.03 * 1500)
    assert noise.factor == pytest.approx(0.3 * unit, rel=0.15)
    flagged = noise.wrong(given) > 0.5
    assert wrong[flagged].mean() > 0.9
    assert flagged[wrong].mean() > 0.7


def test_light_and_heavy_tails_are_told_apart():
    light, heavy = (fit(draw(0.05, 0, 1500, freedom)[0]).best.freedom for freedom in (50.0, 2.5))
    assert heavy < 4 < 8 < light


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("freedom", [3.0, 30.0])
def test_without_wrong_targets_hardly_one_is_wrong(freedom, seed):
    given, _ = draw(0.0, seed, freedom=freedom)
    wrong = fit(given).best.wrong(given)
    assert wrong.sum() < 6
    assert (wrong > 0.5).sum() <= 3


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_the_interval_holds_the_share(share):
    held = []
    for seed in range(10):
        given, wrong = draw(share, seed, n_rows=300)
        fitted = fit(given)
        low, most_likely, high = (noise.wrong(given).sum() for noise in (fitted.low, fitted.best, fitted.high))
        assert low < most_likely < high
        held.append(low <= wrong.sum() <= high)
    assert sum(held) >= 9


def test_the_interval_shrinks_with_more_rows_and_less_confidence():
    widths = []
    for n_rows, confidence in ((200, 0.95), (2000, 0.95), (2000, 0.5)):
        fitted = fit(draw(0.1, 0, n_rows)[0], confidence=confidence)
        widths.append(share_of(fitted.high) - share_of(fitted.low))
    assert widths[0] > 1.5 * widths[1] > 2 * widths[2]


def test_weights_count_by_their_ratios_and_stand_for_copies(rng):
    given, _ = draw(0.1, 0, n_rows=200)
    counts = rng.randint(1, 4, size=200).astype(float)
    weighted, other = fit(given, counts), fit(given, 1024 * counts)
    assert weighted == other
    whole = counts.astype(int)
    repeated = fit(Residuals(np.repeat(given.residual, whole), np.repeat(given.spread, whole), RANGE))
    # the typical residual, in whose units τ is sought, is that of rows
    assert share_of(weighted.best) == pytest.approx(share_of(repeated.best), abs=2e-3)
    assert weighted.best.factor == pytest.approx(repeated.best.factor, rel=0.02)
    assert abs(share_of(fit(given).best) - share_of(repeated.best)) > 2e-3


def test_of_many_rows_some_are_drawn(monkeypatch):
    given, wrong = draw(0.1, 0, n_rows=1500)
    whole = fit(given).best
    monkeypatch.setattr(target_noise, "_MOST_ROWS", 700)
    noise = fit(given).best
    assert noise != whole
    assert noise.wrong(given).sum() == pytest.approx(wrong.sum(), abs=0.04 * 1500)
