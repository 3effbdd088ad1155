"""The value and the derivative in one go are those one by one."""

import numpy as np
import pytest

from losses.loss_cases import each_case


@each_case()
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_value_and_derivative_together(case, dtype):
    near = np.linspace(-6, 6, 1001)
    u = np.concatenate([near, [-1e30, 1e30]]).astype(dtype).reshape(-1, 1)
    u.flags.writeable = False
    with np.errstate(all="raise"):
        value, derivative = case.loss.value_and_derivative(u)
    assert value.dtype == derivative.dtype == dtype
    assert value.shape == derivative.shape == u.shape
    rounding = 20 * np.finfo(dtype).eps * max(1.0, case.loss.A)
    finite = np.isfinite(case.loss.value(u))
    np.testing.assert_allclose(value[finite], case.loss.value(u)[finite], rtol=rounding, atol=rounding)
    np.testing.assert_allclose(derivative, case.loss.derivative(u), rtol=rounding, atol=rounding)
