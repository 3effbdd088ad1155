"""The RBF kernel in single precision: few digits are lost, wherever the rows are."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from kernels.kernel_cases import FORMS, every_dtype
from unisvm import kernels


def exact_rbf(X, Z, gamma):
    """From differences, so that nothing cancels."""
    differences = X.astype(np.float64)[:, None] - Z.astype(np.float64)[None]
    return np.exp(-gamma * (differences**2).sum(axis=2))


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e4])
def test_float32_rbf_far_from_the_origin(offset):
    # The rows are exact numbers and so are their differences: moving all of them must not cost digits.
    rng = np.random.RandomState(0)
    X = (rng.randn(200, 10) + offset).astype(np.float32)
    K = kernels.RBF(0.1)(X, X[:40])
    np.testing.assert_allclose(K, exact_rbf(X, X[:40], 0.1), atol=2e-6)
    np.testing.assert_allclose(K[:40], K[:40].T, atol=2e-6)


@pytest.mark.parametrize("form", ["csr_matrix", "csr_array"])
def test_float32_rbf_of_sparse_rows_far_from_the_origin(form):
    # sparse rows cannot be moved; what is left is the error of 1e-4 in the exponent that the kernel allows itself
    rng = np.random.RandomState(0)
    X = (rng.randn(100, 10) + 1e3).astype(np.float32)
    K = kernels.RBF(0.1)(FORMS[form](X), FORMS[form](X[:40]))
    np.testing.assert_allclose(K, exact_rbf(X, X[:40], 0.1), atol=5e-4)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("spread", "gamma"), [(1e3, 1.0), (30.0, 100.0), (1.0, 1e5)])
def test_float32_rbf_of_huge_exponents(form, spread, gamma):
    # γ‖x‖² is far beyond what single precision resolves, γ‖x − z‖² of near neighbours is not
    rng = np.random.RandomState(0)
    Z = (spread * rng.randn(40, 5)).astype(np.float32)
    X = (Z + 0.3 / np.sqrt(gamma) * rng.randn(40, 5)).astype(np.float32)
    for rows in (X, Z):
        K = kernels.RBF(gamma)(FORMS[form](rows), FORMS[form](Z))
        assert K.dtype == np.float32
        np.testing.assert_allclose(K, exact_rbf(rows, Z, gamma), atol=1e-4)


@every_dtype
def test_rbf_never_exceeds_one(dtype):
    X = np.repeat(np.random.RandomState(0).randn(30, 4).astype(dtype), 3, axis=0)
    assert kernels.RBF(5.0)(X, X).max() <= 1


@pytest.mark.parametrize("of_rows", [np.float32, np.float64])
def test_rows_and_points_of_different_precision_have_one_origin(of_rows):
    """An origin that is rounded for one of them would move it."""
    rng = np.random.RandomState(0)
    of_points = np.float64 if of_rows == np.float32 else np.float32
    X, Z = ((1000 + rng.uniform(size=(n, 6))).astype(dtype) for n, dtype in ((40, of_rows), (15, of_points)))
    exact = np.exp(-3 * cdist(X.astype(float), Z.astype(float), "sqeuclidean"))
    K = kernels.RBF(3.0)(X, Z)
    assert K.dtype == of_rows
    np.testing.assert_allclose(K, exact, rtol=1e-6)
