"""Products by SciPy's BLAS against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from unisvm.products import multiply


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(7, 5, 1), (7, 5, 3), (1, 5, 1), (7, 1, 1), (0, 5, 1), (7, 0, 2)])
def test_product(shape, order, dtype):
    n, k, q = shape
    rng = np.random.RandomState(0)
    A, B = np.asarray(rng.randn(n, k), dtype, order=order), rng.randn(k, q).astype(dtype)
    product = multiply(A, B)
    assert product.dtype == dtype
    np.testing.assert_allclose(product, A.astype(float) @ B, rtol=1e-4, atol=1e-5)


def test_nothing_is_changed_or_copied_back():
    A, B = np.eye(3)[:, :2].copy(), np.ones((2, 1))
    A.setflags(write=False)
    B.setflags(write=False)
    np.testing.assert_array_equal(multiply(A, B), [[1.0], [1.0], [0.0]])
