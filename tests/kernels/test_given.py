"""Kernels that the user brings: a function, or a matrix."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise

from kernels.kernel_cases import shifted
from unisvm import UniSVMClassifier, kernels

FORMS = [np.array, sparse.csr_matrix, sparse.csr_array]


def test_diagonal_of_a_function_asks_for_small_squares_only():
    asked = []

    def function(X, Z):
        asked.append((len(X), len(Z)))
        return X @ Z.T

    X = np.random.RandomState(0).randn(1000, 3)
    np.testing.assert_allclose(kernels.Function(function).diagonal(X), (X**2).sum(axis=1))
    assert sum(n * m for n, m in asked) <= 64 * len(X)


def test_kernel_params_reach_the_function():
    kernel = kernels.get(shifted, kernel_params={"shift": 3.0})
    np.testing.assert_allclose(kernel(np.eye(2), np.eye(2)), np.eye(2) + 3)


def test_a_function_of_the_wrong_shape():
    kernel = kernels.Function(lambda X, Z: np.ones((len(Z), len(X))))
    with pytest.raises(ValueError, match=r"expected shape \(4, 2\), got \(2, 4\)"):
        kernel(np.ones((4, 3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="must return a matrix"):
        kernels.Function(lambda X, Z: 1.0)(np.ones((4, 3)), np.ones((2, 3)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_function_that_returns_nan_or_infinity(problem, bad):
    def function(X, Z):
        matrix = X @ Z.T
        matrix[0, -1] = bad
        return matrix

    with pytest.raises(ValueError, match="kernel function returned NaN or infinity"):
        kernels.Function(function)(np.ones((4, 3)), np.ones((2, 3)))
    with pytest.raises(ValueError, match="kernel function returned NaN or infinity"):
        UniSVMClassifier(kernel=function).fit(*problem)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precomputed(form, dtype):
    rng = np.random.RandomState(0)
    K = pairwise.rbf_kernel(rng.randn(9, 2)).astype(dtype)
    columns = np.array([5, 0, 5])
    kernel = kernels.Precomputed()
    block = kernel(form(K), columns)
    assert type(block) is np.ndarray
    assert block.dtype == dtype
    np.testing.assert_array_equal(block, K[:, columns])
    np.testing.assert_array_equal(kernel.diagonal(form(K)), K.diagonal().astype(float))
    np.testing.assert_array_equal(kernel.diagonal_at(form(K), columns), K[columns, columns].astype(float))


@pytest.mark.parametrize("rule", ["rpcholesky", "pivoted_cholesky", "uniform"])
@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix])
def test_precomputed_fits_as_the_kernel_it_is_from(problem, rule, form):
    X, y = problem
    new = np.random.RandomState(1).randn(20, 3)
    options = {"rank": 40, "landmarks": rule, "random_state": 0}
    wanted = UniSVMClassifier(kernel="rbf", gamma=0.5, **options).fit(X, y)
    model = UniSVMClassifier(kernel="precomputed", **options).fit(form(pairwise.rbf_kernel(X, gamma=0.5)), y)
    np.testing.assert_array_equal(np.sort(model.landmarks_), np.sort(wanted.landmarks_))
    decision = model.decision_function(form(pairwise.rbf_kernel(new, X, gamma=0.5)))
    np.testing.assert_allclose(decision, wanted.decision_function(new), rtol=1e-3, atol=1e-3)
