"""What goes in and comes out of the losses: types, shapes, and numbers as large as they get."""

import numpy as np
import pytest

from losses.loss_cases import each_case, each_loss
from unisvm import losses

HUGE = {np.float64: 1e300, np.float32: 1e38}
QUADRATIC = {"least_squares", "squared_hinge", "expectile"}

each_dtype = pytest.mark.parametrize("dtype", [np.float64, np.float32])


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
    representable = np.abs(u) < np.sqrt(np.finfo(dtype).max) if case.name in QUADRATIC else np.full(u.shape, True)
    assert np.isfinite(values[representable]).all()


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
