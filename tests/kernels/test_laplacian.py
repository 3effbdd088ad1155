"""The Laplacian kernel where rows and points are near each other and far from the origin."""

import numpy as np
import pytest
from sklearn.metrics import pairwise

from kernels.kernel_cases import FORMS, every_dtype
from unisvm import kernels


@every_dtype
@pytest.mark.parametrize("form", FORMS)
def test_laplacian_of_near_rows_far_from_the_origin(compiled_or_not, dtype, form):
    rng = np.random.RandomState(0)
    Z = (rng.randn(30, 10) + 1e3).astype(dtype)
    X = (Z + 0.01 * rng.randn(30, 10)).astype(dtype)
    expected = pairwise.laplacian_kernel(X.astype(float), Z.astype(float), gamma=1.0)
    np.testing.assert_allclose(kernels.Laplacian(1.0)(FORMS[form](X), FORMS[form](Z)), expected, atol=1e-6)
