"""Squared derivatives of kernel expansions along the columns, against central differences."""

import numpy as np
import pytest

from kernels.kernel_cases import DTYPES, FORMS, KERNELS, rows_and_points
from unisvm import kernels

CASES = {name: kernel for name, (kernel, _) in KERNELS.items() if name != "function"} | {
    "scaled columns": kernels.Scaled(kernels.Laplacian(0.4), 0.0, [0.5, 2.0, 1.0, 3.0, 0.1, np.inf]),
    "scaled twice": kernels.Scaled(kernels.Scaled(kernels.Sigmoid(0.1, 0.2), 0.0, 2.0), 0.0, 0.7),
    "cubic": kernels.Polynomial(0.3, degree=3),
}
STEP = 1e-5


def functions(n_points, n_functions=3):
    return np.random.RandomState(1).randn(n_functions, n_points)


def by_differences(kernel, X, Z, dual):
    sums = np.zeros(X.shape)
    for j in range(X.shape[1]):
        step = np.zeros(X.shape[1])
        step[j] = STEP
        sums[:, j] = (((kernel(X + step, Z) - kernel(X - step, Z)) @ dual.T / (2 * STEP)) ** 2).sum(axis=1)
    return sums


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form_x", FORMS)
@pytest.mark.parametrize("form_z", FORMS)
@pytest.mark.parametrize("n_functions", [1, 3, 30])
def test_squares_of_central_differences(name, dtype, form_x, form_z, n_functions):
    kernel, (X, Z) = CASES[name], (rows.astype(dtype) for rows in rows_and_points())
    dual = functions(len(Z), n_functions)
    actual = kernel.squared_gradients(FORMS[form_x](X), FORMS[form_z](Z), dual)
    assert (actual.shape, actual.dtype) == (X.shape, np.float64)
    expected = by_differences(kernel, X.astype(float), Z.astype(float), dual)
    # where x_j = z_bj the Laplacian kernel has no derivative, and the difference of both sides is 0
    rtol = 1e-5 if dtype == np.float64 else 1e-3
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol * expected.max())


@pytest.mark.parametrize("form", FORMS)
def test_few_entries_in_a_column(form):
    rng = np.random.RandomState(0)
    X, Z = (rng.randn(n, 20) * (rng.uniform(size=(n, 20)) < 0.1) for n in (40, 30))
    kernel, dual = kernels.Laplacian(0.3), functions(30)
    np.testing.assert_allclose(
        kernel.squared_gradients(FORMS[form](X), FORMS[form](Z), dual), by_differences(kernel, X, Z, dual), rtol=1e-5
    )


def test_rows_far_from_the_origin_lose_no_digits():
    X, Z = rows_and_points()
    kernel, dual = kernels.RBF(0.3), functions(len(Z))
    far = kernel.squared_gradients(X + 1e6, Z + 1e6, dual)
    np.testing.assert_allclose(far, kernel.squared_gradients(X, Z, dual), rtol=1e-6, atol=1e-8)


def test_a_column_of_infinite_divisor_has_no_part():
    X, Z = rows_and_points()
    kernel = CASES["scaled columns"]
    assert (kernel.squared_gradients(X, Z, functions(len(Z)))[:, -1] == 0).all()
    np.testing.assert_array_equal(
        kernel(X, Z), kernels.Scaled(kernel.kernel, 0.0, kernel.divisor[:-1])(X[:, :-1], Z[:, :-1])
    )


@pytest.mark.parametrize(
    "kernel", [kernels.Precomputed(), KERNELS["function"][0]], ids=lambda each: type(each).__name__
)
def test_kernels_without_derivatives(kernel):
    assert not kernel.has_gradients
    assert not kernels.Scaled(kernel, 0.0, 1.0).has_gradients
    with pytest.raises(ValueError, match="has no derivatives along the columns of X"):
        kernel.squared_gradients(np.eye(2), np.eye(2), np.ones((1, 2)))
