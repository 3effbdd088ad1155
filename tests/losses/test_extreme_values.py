"""Losses of residuals as large or as small as they get, and digits that must not be lost."""

import numpy as np
import pytest

from unisvm import losses

HUGE = {np.float64: 1e300, np.float32: 1e38}

each_dtype = pytest.mark.parametrize("dtype", [np.float64, np.float32])


@each_dtype
def test_linear_losses_are_linear_far_out(dtype):
    u = np.array([-1, 1], dtype) * dtype(HUGE[dtype])
    huge = float(u[1])
    for name, params, left, right in (
        ("smooth_hinge", {"p": 200.0}, 0, 1),
        ("logistic", {}, 0, 1),
        ("smooth_epsilon_insensitive", {"p": 200.0}, 1, 1),
        ("smooth_absolute", {"p": 200.0}, 1, 1),
        ("smooth_pinball", {"tau": 0.9, "p": 200.0}, 0.1, 0.9),
        ("huber", {"delta": 0.02}, 1, 1),
    ):
        loss = losses.get(name, **params)
        assert loss.value(u) / huge == pytest.approx([left, right], rel=1e-6), name
        assert loss.derivative(u) == pytest.approx([-left, right], rel=1e-6), name


@each_dtype
@pytest.mark.parametrize("a", [0.01, 2.0])
def test_cauchy_far_out(a, dtype):
    loss = losses.get("cauchy", a=a)
    u = np.array([-1e30, 1e30], dtype)
    assert loss.value(u) == pytest.approx(a * (2 * np.log(1e30) - np.log(a)), rel=1e-6)
    assert loss.derivative(u) == pytest.approx([-2 * a / 1e30, 2 * a / 1e30], rel=1e-5, abs=0)
    assert loss.value(dtype(HUGE[dtype])) == pytest.approx(a * (2 * np.log(HUGE[dtype]) - np.log(a)), rel=1e-6)


@each_dtype
def test_log_saturating_far_out(dtype):
    loss = losses.get("log_saturating", a=2.0, b=3.0, c=4.0)
    u = np.array([-1e30, 1e30], dtype)
    assert loss.value(u) == pytest.approx([0, 2 * (4 * np.log(1e30) - np.log(3))], rel=1e-6)
    assert loss.derivative(u) == pytest.approx([0, 8e-30], rel=1e-5, abs=0)


@each_dtype
@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("smooth_hinge", {"p": 10.0}, [np.exp(-50) / 10, np.exp(-50)]),
        ("feng", {"a": 2.0}, [0, 0]),
        ("logistic", {}, [np.exp(-6), np.exp(-6)]),
    ],
)
def test_small_values_keep_their_digits(name, params, expected, dtype):
    # a rounding of 1 + tiny would make these 0
    loss, u = losses.get(name, **params), dtype(-5)
    found = [loss.value(u), loss.derivative(u)]
    assert found == pytest.approx(expected, rel=3e-3, abs=0)


@pytest.mark.parametrize("name", ["welsch", "saturating", "tukey", "cauchy", "huber", "feng"])
def test_small_residuals_keep_their_digits(name):
    # ψ behaves like A₀ u² (or u⁴) at 0: quotients of neighbours tell whether digits were lost
    loss = losses.get(name)
    ratio = loss.value(2e-9) / loss.value(1e-9)
    assert ratio == pytest.approx(16 if name == "saturating" else 4, rel=1e-12)


@pytest.mark.parametrize("loss", [losses.SmoothHinge(), losses.Logistic(), losses.SmoothAbsolute()], ids=str)
def test_small_values_keep_their_digits_in_single_precision(loss):
    u = np.linspace(-8, 8, 501).astype(np.float32)
    value, slope = loss.value_and_derivative(u)
    np.testing.assert_allclose(value, loss.value(u.astype(np.float64)), rtol=2e-5)
    np.testing.assert_allclose(slope, loss.derivative(u.astype(np.float64)), rtol=2e-5, atol=1e-37)
