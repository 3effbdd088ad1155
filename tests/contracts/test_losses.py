"""The contract of a loss: ψ, ψ', A, the bound, convexity, arrays of any type and shape, and parameters."""

import inspect
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from losses.loss_cases import CASES, FORMULAS, PARAMETERS, difference_quotient, each_case, each_loss, random_case
from unisvm import losses

# dense enough for curvature that lives on an interval of 1/200
STEP = 1e-3
GRID = np.arange(-6000, 6001) * STEP
FINE = np.arange(-120_000, 120_001) * 5e-5
FAR = np.geomspace(6, 1e300, 500)[1:]
WIDE = np.concatenate([-FAR[::-1], GRID, FAR])
HUGE = {np.float64: 1e300, np.float32: 1e38}

GROWS_AS_A_SQUARE = {"least_squares", "squared_hinge", "expectile"}

each_dtype = pytest.mark.parametrize("dtype", [np.float64, np.float32])


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
    for name, sets in PARAMETERS.items():
        default = losses.get(name)
        assert all(params != default.get_params() for params in sets), name
        assert [case.loss.get_params() for case in CASES if case.name == name] == [default.get_params(), *sets]
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
def test_is_quadratic_agrees_with_the_value(case):
    is_parabola = np.allclose(case.loss.value(GRID), case.loss.A * GRID**2, rtol=1e-12)
    # an expectile of one half is a parabola too, and iterates all the same
    assert case.loss.is_quadratic == (is_parabola and case.name != "expectile")


@each_case()
def test_only_convex_losses_of_labels_seed_others(case):
    # their solution must not depend on a start
    assert not case.loss.seeds_nonconvex or (case.loss.is_convex and "classification" in case.loss.tasks)


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


# ---------------------------------------------------------------------- arrays


def far(dtype):
    sizes = np.geomspace(1, HUGE[dtype], 60).astype(dtype)
    return np.concatenate([-sizes, sizes])


@each_case()
@each_dtype
def test_derivative_is_finite_everywhere(case, dtype):
    u = far(dtype)
    # nor does anything but harmless overflow and underflow happen inside
    with np.errstate(all="raise"):
        derivative = case.loss.derivative(u)
    assert np.isfinite(derivative).all()
    # ψ'(u) lies within its Lipschitz constant of ψ'(0)
    limit = abs(case.loss.derivative(0.0)) + 2 * case.loss.A * np.abs(u).astype(float)
    assert (np.abs(derivative) <= limit * (1 + 1e-5)).all()


@each_case()
@each_dtype
def test_value_is_finite_where_it_can_be_represented(case, dtype):
    u = far(dtype)
    with np.errstate(all="raise"):
        values = case.loss.value(u)
    assert not np.isnan(values).any()
    largest = np.sqrt(np.finfo(dtype).max) if case.name in GROWS_AS_A_SQUARE else np.inf
    assert np.isfinite(values[np.abs(u) < largest]).all()


@each_case()
def test_precision_is_kept(case):
    for dtype in (np.float64, np.float32):
        u = np.linspace(-3, 3, 12, dtype=dtype)
        for function in (case.loss.value, case.loss.derivative):
            assert function(u).dtype == dtype
            assert function(u[0]).dtype == dtype
            assert function(np.array(0.5, dtype)).dtype == dtype


@each_case()
def test_parameters_may_be_numpy_numbers(case):
    # as they come out of a grid such as np.logspace
    u = np.linspace(-3, 3, 12, dtype=np.float32)
    for number in (np.float64, np.float32):
        loss = losses.get(case.name, **{key: number(value) for key, value in case.loss.get_params().items()})
        for function, plain in ((loss.value, case.loss.value), (loss.derivative, case.loss.derivative)):
            for argument in (u, u.reshape(3, 4), u[0]):
                assert function(argument).dtype == np.float32
            np.testing.assert_allclose(function(u), plain(u), rtol=1e-4, atol=1e-5)
        for constant, plain in ((loss.A, case.loss.A), (loss.bound, case.loss.bound)):
            assert isinstance(constant, float)
            assert constant == pytest.approx(plain, rel=1e-5)


@each_loss()
def test_integers_become_doubles(name):
    loss = losses.get(name)
    for u in ([-2, 0, 1, 3], np.array([-2, 0, 1, 3], np.int8), np.array([False, True])):
        for function in (loss.value, loss.derivative):
            assert function(u).dtype == np.float64
            np.testing.assert_array_equal(function(u), function(np.asarray(u, float)))


@each_loss()
def test_a_plain_number_is_enough(name):
    loss = losses.get(name)
    for function in (loss.value, loss.derivative):
        assert function(2).dtype == np.float64
        assert function(2) == function(np.array([2.0]))[0]


@each_case()
def test_shape_is_kept(case):
    u = np.linspace(-3, 3, 24)
    for function in (case.loss.value, case.loss.derivative):
        flat = function(u)
        assert np.shape(function(np.array(u[7]))) == ()
        assert function(np.array(u[7])) == flat[7]
        assert function(u[:0]).shape == (0,)
        for shape in ((4, 6), (24, 1), (2, 3, 4)):
            np.testing.assert_array_equal(function(u.reshape(shape)), flat.reshape(shape))
        # memory in another order
        np.testing.assert_array_equal(function(u.reshape(4, 6).T), flat.reshape(4, 6).T)
        np.testing.assert_array_equal(function(u[::-2]), flat[::-2])


@each_case()
def test_arguments_are_not_written_to(case):
    for dtype in (np.float64, np.float32):
        u = np.linspace(-9, 9, 50, dtype=dtype)
        before = u.copy()
        u.flags.writeable = False
        results = [case.loss.value(u), case.loss.derivative(u)]
        np.testing.assert_array_equal(u, before)
        # nor is the result a view of the argument, which a caller could spoil by writing to it
        assert not any(np.shares_memory(result, u) for result in results)
        assert all(result.flags.writeable for result in results)


@each_case()
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("far", [[], [-1e30, 1e30], [1e4], [1e10]], ids=["near", "both ways", "far", "farther"])
def test_value_and_derivative_together(case, dtype, far):
    near = np.linspace(-6, 6, 1001)
    u = np.concatenate([near, [-0.0], far]).astype(dtype).reshape(-1, 1)
    u.flags.writeable = False
    with np.errstate(all="raise"):
        value, derivative = case.loss.value_and_derivative(u)
    assert value.dtype == derivative.dtype == dtype
    assert value.shape == derivative.shape == u.shape
    rounding = 20 * np.finfo(dtype).eps * max(1.0, case.loss.A)
    finite = np.isfinite(case.loss.value(u))
    np.testing.assert_allclose(value[finite], case.loss.value(u)[finite], rtol=rounding, atol=rounding)
    np.testing.assert_allclose(derivative, case.loss.derivative(u), rtol=rounding, atol=rounding)


@each_case()
def test_of_a_number(case):
    value, derivative = case.loss.value_and_derivative(0.5)
    assert (value, derivative) == (case.loss.value(0.5), case.loss.derivative(0.5))


@each_case()
def test_symmetry(case):
    assert case.loss.is_symmetric == np.allclose(case.formula(GRID), case.formula(-GRID))


@pytest.mark.parametrize("name", ["smooth_pinball", "expectile"])
def test_level_of_a_symmetric_loss(name):
    # the default is 0.5
    assert losses.get(name).is_symmetric
    for tau in (0.05, 0.49, 0.501, 0.95):
        assert not losses.get(name, tau=tau).is_symmetric
        assert not losses.get(name).set_params(tau=tau).is_symmetric


# ---------------------------------------------------------------------- parameters


@each_case()
def test_parameters_survive_copies(case):
    loss = case.loss
    u = np.linspace(-5, 5, 101)
    for copy in (clone(loss), pickle.loads(pickle.dumps(loss)), type(loss)(**loss.get_params())):
        assert copy is not loss
        assert type(copy) is type(loss)
        assert copy.get_params() == loss.get_params()
        assert (copy.A, copy.bound, copy.is_convex, copy.tasks) == (loss.A, loss.bound, loss.is_convex, loss.tasks)
        np.testing.assert_array_equal(copy.value(u), loss.value(u))
        np.testing.assert_array_equal(copy.derivative(u), loss.derivative(u))


@each_case()
def test_set_params_changes_everything_that_depends_on_them(case):
    # a default loss told to be this one must become it, constants included
    loss = type(case.loss)().set_params(**case.loss.get_params())
    u = np.linspace(-5, 5, 101)
    assert (loss.A, loss.bound) == (case.loss.A, case.loss.bound)
    np.testing.assert_array_equal(loss.value(u), case.loss.value(u))
    np.testing.assert_array_equal(loss.derivative(u), case.loss.derivative(u))


@each_loss()
def test_parameters_are_stored_as_given(name):
    # scikit-learn's clone compares them by identity
    loss = losses.get(name)
    for parameter, value in loss.get_params().items():
        assert value is inspect.signature(type(loss)).parameters[parameter].default
        given = np.float64(0.75) if parameter == "tau" else np.float64(3.25)
        assert type(loss)(**{parameter: given}).get_params()[parameter] is given


@each_loss()
def test_unknown_parameters_are_refused(name):
    with pytest.raises(TypeError, match=r"has no parameter 'nonsense'\. It"):
        losses.get(name, nonsense=1.0)
    with pytest.raises(ValueError, match="nonsense"):
        losses.get(name).set_params(nonsense=1.0)
