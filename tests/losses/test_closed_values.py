"""Constants and values that can be checked by hand."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit

from unisvm import losses


@pytest.mark.parametrize(
    ("a", "b", "c", "M"), [(2, 2, 2, 2.0), (2, 2, 4, 4.5707), (2, 3, 4, 3.7319), (1, 1, 2, 2.0), (6, 2, 2, 6.0)]
)
def test_saturating_constant(a, b, c, M):
    constant = losses.get("saturating", a=a, b=b, c=c).A
    assert constant == pytest.approx(M / 2, abs=3e-5)


def test_saturating_and_log_saturating_scale():
    for name in ("saturating", "log_saturating"):
        base = losses.get(name, a=1.0, b=1.0, c=4.0).A
        # ψ(u; a, b) = a ψ(u b^(−1/c); 1, 1)
        scaled = losses.get(name, a=3.0, b=5.0, c=4.0).A
        assert scaled == pytest.approx(3 * base * 5 ** (-2 / 4), rel=1e-12)


def test_feng_is_saturating_with_c_of_two():
    u = np.linspace(-2, 5, 50)
    for a in (0.5, 2.0):
        feng, saturating = losses.get("feng", a=a), losses.get("saturating", a=a, b=a, c=2.0)
        assert np.array_equal(feng.value(u), saturating.value(u))
        assert feng.A == saturating.A == 1


def insensitive_curvature(u, epsilon, p):
    return p * sum(s * (1 - s) for s in (expit(p * (u - epsilon)), expit(-p * (u + epsilon))))


@pytest.mark.parametrize("epsilon", [0.0, 0.001, 0.05, 0.1, 0.13, 0.132, 0.15, 0.2, 0.3, 0.7, 5.0])
@pytest.mark.parametrize("p", [10.0, 100.0])
def test_epsilon_insensitive_constant_is_the_supremum(epsilon, p):
    # one peak at 0, or two near ±ε: a grid and then a search around its best point
    epsilon = epsilon * 10 / p
    u = np.linspace(0, epsilon + 3 / p, 20001)
    top = u[insensitive_curvature(u, epsilon, p).argmax()]
    peak = minimize_scalar(
        lambda v: -insensitive_curvature(v, epsilon, p), bounds=(top - 1e-2 / p, top + 1e-2 / p), method="bounded"
    )
    constant = losses.get("smooth_epsilon_insensitive", epsilon=epsilon, p=p).A
    assert constant == pytest.approx(max(-peak.fun, insensitive_curvature(top, epsilon, p)) / 2, rel=1e-9)


def test_epsilon_insensitive_constant_at_its_ends():
    def constant(epsilon, p):
        return losses.get("smooth_epsilon_insensitive", epsilon=epsilon, p=p).A

    assert constant(0.0, 100.0) == 25
    assert constant(1.0, 100.0) == pytest.approx(12.5, rel=1e-12)
    # pε this large must not overflow on the way
    assert constant(1e3, 1e4) == 1e4 / 8
    # without a tube it is the absolute loss
    u = np.linspace(-1, 1, 41)
    tubeless, absolute = losses.get("epsilon_insensitive", epsilon=0.0), losses.get("absolute")
    assert tubeless.value(u) == pytest.approx(absolute.value(u), rel=1e-12)
    assert tubeless.A == absolute.A


def test_softplus_ramp_constant_falls_below_the_hinges_for_a_short_ramp():
    def constant(a, p):
        return losses.get("softplus_ramp", a=a, p=p).A

    for p in (1.0, 10.0):
        assert constant(100.0, p) == pytest.approx(p / 8, rel=1e-9)
        # pa this large must not overflow on the way
        assert constant(1e6, p) == p / 8
        assert constant(0.5 / p, p) < 0.4 * p / 8


@pytest.mark.parametrize(
    ("delta", "a", "cut"), [(0.1, 2.0, 2.05), (1.0, 2.0, 2.5), (3.0, 0.5, np.sqrt(3)), (2.0, 1.0, 2.0)]
)
def test_truncated_huber_cut(delta, a, cut):
    loss, huber = losses.get("truncated_huber", delta=delta, a=a), losses.get("huber", delta=delta)
    assert loss.cut == pytest.approx(cut, rel=1e-12)
    assert huber.value(loss.cut) == pytest.approx(a, rel=1e-12)
    for sign in (-1, 1):
        assert loss.value(sign * (cut - 1e-6)) < a
        assert loss.derivative(sign * (cut - 1e-6)) == huber.derivative(sign * (cut - 1e-6)) != 0
        assert loss.value(sign * (cut + 1e-6)) == a
        assert loss.derivative(sign * (cut + 1e-6)) == 0


def test_logistic_is_logistic_regressions_loss():
    margin = np.linspace(-5, 5, 21)
    assert losses.get("logistic").value(1 - margin) == pytest.approx(np.log1p(np.exp(-margin)), rel=1e-12)


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.8])
def test_pinball_and_expectile_find_the_level_they_are_named_for(tau):
    y = np.random.default_rng(0).exponential(size=4001)

    def minimiser(loss):
        return brentq(lambda level: loss.derivative(y - level).mean(), 0, 10)

    quantile = minimiser(losses.get("pinball", tau=tau, p=1000.0))
    assert np.mean(y <= quantile) == pytest.approx(tau, abs=0.005)
    expectile = minimiser(losses.get("expectile", tau=tau))
    above, below = np.maximum(y - expectile, 0).sum(), np.maximum(expectile - y, 0).sum()
    assert tau * above == pytest.approx((1 - tau) * below, rel=1e-6)


def test_smoothings_approach_what_they_smooth():
    u = np.linspace(-3, 3, 601)
    plus = np.maximum(u, 0)
    p = 50.0
    for name, params, sharp in (
        ("hinge", {}, plus),
        ("softplus_ramp", {"a": 1.0}, np.minimum(plus, 1)),
        ("absolute", {}, np.abs(u)),
        ("epsilon_insensitive", {"epsilon": 0.5}, np.maximum(np.abs(u) - 0.5, 0)),
        ("pinball", {"tau": 0.7}, np.where(u > 0, 0.7 * u, -0.3 * u)),
    ):
        gap = np.abs(losses.get(name, p=p, **params).value(u) - sharp).max()
        assert 0 < gap <= 2 * np.log(2) / p * (1 + 1e-12), name
