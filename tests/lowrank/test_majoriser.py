"""The one matrix of the method where rounding got at it."""

import numpy as np
import pytest

from unisvm.features import GramSample
from unisvm.majoriser import Majoriser


@pytest.mark.parametrize("wrong_by", [0.0, 1e-11, 1e-9, 1e-7])
def test_moments_that_rounding_made_indefinite(wrong_by):
    # in single precision the least eigenvalue of second moments can fall below 0 by 1e-7 of the largest
    rng = np.random.RandomState(0)
    vectors, _ = np.linalg.qr(rng.randn(30, 30))
    values = np.geomspace(1, 1e-6, 30)
    values[-1] = -wrong_by
    gram = vectors * values @ vectors.T
    majoriser = Majoriser(GramSample(np.zeros(30), gram, 0.0), 1e-14, 1.0, intercept=False)
    Z = majoriser.from_weights(vectors)
    # it still is the matrix where that means something
    curvature = np.einsum("ij,ij->j", Z, Z)
    np.testing.assert_allclose(curvature[:10], 2 * values[:10], rtol=1e-3)
    assert (curvature > 0).all()
