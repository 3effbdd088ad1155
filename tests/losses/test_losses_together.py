"""The value and the derivative in one go are those one by one."""

import numpy as np
import pytest

from losses.loss_cases import each_case
from unisvm import losses


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


@pytest.mark.parametrize("loss", [losses.SmoothHinge(), losses.Logistic(), losses.SmoothAbsolute()], ids=str)
def test_small_values_keep_their_digits_in_single_precision(loss):
    u = np.linspace(-8, 8, 501).astype(np.float32)
    value, slope = loss.value_and_derivative(u)
    np.testing.assert_allclose(value, loss.value(u.astype(np.float64)), rtol=2e-5)
    np.testing.assert_allclose(slope, loss.derivative(u.astype(np.float64)), rtol=2e-5, atol=1e-37)
