"""Saturating penalties: their formulas, slopes and least-squares DC constants."""

import numpy as np
import pytest

from unisvm.feature_selection.penalties import PENALTIES

T = np.linspace(-3, 3, 6001)
FORMULAS = {
    "exponential": lambda t, b: 1 - np.exp(-(t**2) / b),
    "truncated": lambda t, b: np.where(np.abs(t) < np.sqrt(b), t**2 / b, 1.0),
}
every_penalty = pytest.mark.parametrize("name", PENALTIES)
every_width = pytest.mark.parametrize("width", [0.01, 0.5, 2.0])


@every_penalty
@every_width
def test_formula(name, width):
    np.testing.assert_allclose(PENALTIES[name](width).value(T), FORMULAS[name](T, width), atol=1e-15)


@every_penalty
@every_width
def test_derivative(name, width):
    penalty, step = PENALTIES[name](width), 1e-6
    t = T[np.abs(np.abs(T) - penalty.cutoff) > 1e-3]
    slope = (penalty.value(t + step) - penalty.value(t - step)) / (2 * step)
    np.testing.assert_allclose(penalty.derivative(t), slope, atol=1e-6 / width)


@every_penalty
@every_width
@pytest.mark.parametrize(("share", "is_convex"), [(1.0, True), (0.99, False)])
def test_constant_is_the_smallest(name, width, share, is_convex):
    penalty = PENALTIES[name](width)
    t = np.sqrt(width) * T
    curved = share * penalty.A * t**2 - penalty.value(t)
    bends = curved[2:] - 2 * curved[1:-1] + curved[:-2]
    assert (bends.min() > -1e-12) == is_convex


@every_penalty
@every_width
def test_slope_is_largest_at_the_cutoff(name, width):
    penalty = PENALTIES[name](width)
    slopes = penalty.derivative(np.sqrt(width) * T)
    assert penalty.steepest == pytest.approx(slopes.max(), rel=2e-3)
    below, above = penalty.derivative(penalty.cutoff * np.array([0.9, 1.1]))
    assert penalty.steepest > below
    assert penalty.steepest > above


@every_penalty
def test_widths_of_columns(name):
    widths = np.array([0.1, 1.0, 3.0])
    t = np.random.RandomState(0).randn(5, 3)
    together = PENALTIES[name](widths)
    for j, width in enumerate(widths):
        np.testing.assert_array_equal(together.value(t)[:, j], PENALTIES[name](width).value(t[:, j]))
    np.testing.assert_array_equal(together.take(np.array([2, 0])).width, [3.0, 0.1])
