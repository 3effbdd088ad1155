"""What every loss promises about ψ, ψ', A, the bound and convexity."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from losses.loss_cases import CASES, FORMULAS, PARAMETERS, difference_quotient, each_case, each_loss, random_case
from unisvm import losses

# dense enough for curvature that lives on an interval of 1/200
STEP = 1e-3
GRID = np.arange(-6000, 6001) * STEP
FINE = np.arange(-120_000, 120_001) * 5e-5
FAR = np.geomspace(6, 1e300, 500)[1:]
WIDE = np.concatenate([-FAR[::-1], GRID, FAR])


def second_differences(values):
    return values[2:] - 2 * values[1:-1] + values[:-2]


def rounding(values):
    return 8 * np.finfo(float).eps * np.abs(values).max()


def test_the_tables_know_every_loss():
    assert set(PARAMETERS) == set(FORMULAS) == set(losses.names())
    for name, sets in PARAMETERS.items():
        parameters = set(losses.get(name).get_params())
        assert len(sets) >= 2 or not parameters, name
        assert all(set(params) == parameters for params in sets), name


def test_the_parameter_sets_differ_from_the_defaults():
    for case in CASES:
        if case.loss.get_params() == losses.get(case.name).get_params():
            assert case.loss.get_params() == type(case.loss)().get_params()
    assert len({repr(case.loss) for case in CASES}) == len(CASES)


@each_case()
def test_value_is_the_formula(case):
    assert_allclose(case.loss.value(GRID), case.formula(GRID), rtol=1e-9, atol=1e-12)


@each_case()
def test_value_in_single_precision(case):
    u = GRID.astype(np.float32)
    expected = case.loss.value(u.astype(float))
    assert_allclose(case.loss.value(u), expected, rtol=2e-6, atol=2e-6)


@each_case()
def test_derivative_is_the_difference_quotient(case):
    u = case.away_from_kinks(np.random.default_rng(0).uniform(-6, 6, 2000))
    assert len(u) > 1800
    expected = difference_quotient(case.loss.value, u, 1e-3 / (1 + case.loss.A))
    assert_allclose(case.loss.derivative(u), expected, rtol=1e-8, atol=1e-8)


@each_case()
def test_derivative_in_single_precision(case):
    u = case.away_from_kinks(np.random.default_rng(1).uniform(-6, 6, 2000).astype(np.float32))
    assert len(u) > 1800
    expected = difference_quotient(case.loss.value, u.astype(float), 1e-3 / (1 + case.loss.A))
    assert_allclose(case.loss.derivative(u), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("case", [case for case in CASES if len(case.kinks)], ids=repr)
def test_derivative_at_a_kink_lies_between_its_sides(case):
    sides = [case.loss.derivative(case.kinks + shift) for shift in (-1e-7, 1e-7)]
    at, slack = case.loss.derivative(case.kinks), 4e-7 * case.loss.A
    assert (at >= np.min(sides, axis=0) - slack).all()
    assert (at <= np.max(sides, axis=0) + slack).all()


@each_case()
def test_a_makes_the_difference_convex(case):
    def difference(A):
        return A * GRID**2 - case.loss.value(GRID)

    values = difference(case.loss.A)
    assert second_differences(values).min() >= -rounding(values)
    # and no smaller constant does
    smaller = difference(0.98 * case.loss.A)
    assert second_differences(smaller).min() < -0.02 * case.loss.A * STEP**2


@each_case()
def test_a_is_half_the_steepest_rise_of_the_derivative(case):
    slopes = np.diff(case.loss.derivative(FINE)) / np.diff(FINE)
    assert slopes.max() / 2 == pytest.approx(case.loss.A, rel=1e-4)
    assert slopes.max() / 2 <= case.loss.A * (1 + 1e-8)


@each_case()
def test_a_holds_far_out(case):
    u = WIDE[np.abs(WIDE) < 1e9]
    slopes = np.diff(case.loss.derivative(u)) / np.diff(u)
    assert slopes.max() <= 2 * case.loss.A * (1 + 1e-8)


@each_loss()
def test_a_and_derivative_for_random_parameters(name):
    rng = np.random.default_rng(list(name.encode()))
    u = np.arange(-120_000, 120_001) * 2.5e-4
    for _ in range(8):
        case = random_case(name, rng)
        derivative = case.loss.derivative(u)
        rise = np.diff(derivative).max() / np.diff(u).mean()
        assert rise / 2 == pytest.approx(case.loss.A, rel=1e-3), case
        some = case.away_from_kinks(u[rng.integers(1000, len(u) - 1000, 300)])
        expected = difference_quotient(case.formula, some, 1e-3 / (1 + case.loss.A))
        assert_allclose(case.loss.derivative(some), expected, rtol=1e-6, atol=1e-6, err_msg=repr(case))


@each_case()
def test_value_lies_between_zero_and_the_bound(case):
    for dtype in (np.float64, np.float32):
        values = case.loss.value(WIDE[np.abs(WIDE) < 0.1 * np.finfo(dtype).max].astype(dtype))
        assert values.min() >= 0
        assert values.max() <= case.loss.bound * (1 + 4 * np.finfo(dtype).eps)


@each_case()
def test_the_bound_is_the_supremum(case):
    values = case.loss.value(WIDE)
    if np.isfinite(case.loss.bound):
        assert values.max() == pytest.approx(case.loss.bound, rel=1e-12)
    else:
        # twice the logarithm of u, so that even a logarithmic loss doubles
        levels = [max(case.loss.value([-u, u])) for u in (1e35, 1e70, 1e140)]
        assert levels[1] > 1.9 * levels[0]
        assert levels[2] > 1.9 * levels[1]


@each_loss()
def test_which_losses_are_bounded(name):
    bounded = {
        "truncated_least_squares",
        "truncated_squared_hinge",
        "quadratic_ramp",
        "softplus_ramp",
        "feng",
        "saturating",
        "truncated_huber",
        "welsch",
        "tukey",
    }
    assert np.isfinite(losses.get(name).bound) == (name in bounded)


@each_case()
def test_is_convex_agrees_with_second_differences(case):
    values = case.loss.value(GRID)
    bends = second_differences(values)
    if case.loss.is_convex:
        assert bends.min() >= -rounding(values)
    else:
        assert bends.min() < -100 * rounding(values)


@each_case()
def test_has_jumps_agrees_with_the_slopes(case):
    u = np.linspace(-10, 10, 2_000_001)
    steepest = np.abs(np.diff(case.loss.derivative(u))).max()
    assert (steepest > 0.05) == case.loss.has_jumps


@pytest.mark.parametrize("case", [case for case in CASES if case.loss.tasks == {"classification"}], ids=repr)
def test_classification_losses_never_fall(case):
    # u = 1 − y f: a row must not cost more for being further on the right side
    assert (np.diff(case.loss.value(GRID)) >= -rounding(case.loss.value(GRID))).all()
    assert (case.loss.derivative(GRID) >= 0).all()


@pytest.mark.parametrize("case", [case for case in CASES if "regression" in case.loss.tasks], ids=repr)
def test_regression_losses_grow_with_the_residual(case):
    lowest = case.loss.value(GRID).argmin()
    steps = np.diff(case.loss.value(GRID))
    assert (steps[:lowest] <= rounding(case.loss.value(GRID))).all()
    assert (steps[lowest:] >= -rounding(case.loss.value(GRID))).all()
    # only a quantile or an expectile may prefer one sign
    if case.name not in {"smooth_pinball", "expectile"}:
        assert_allclose(case.loss.value(-GRID), case.loss.value(GRID), rtol=1e-12)
        assert_allclose(case.loss.derivative(-GRID), -case.loss.derivative(GRID), rtol=1e-12, atol=1e-15)
