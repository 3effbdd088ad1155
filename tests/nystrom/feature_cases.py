"""Kernels and feature maps that the tests of features and of their moments run over."""

import numpy as np
import pytest

from unisvm import kernels
from unisvm.nystrom.feature_map import FeatureMap

KERNELS = {
    "rbf": kernels.RBF(0.3),
    "laplacian": kernels.Laplacian(0.2),
    "poly": kernels.Polynomial(0.3, degree=2, coef0=1.0),
}
every_kernel = pytest.mark.parametrize("name", KERNELS)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
F64 = np.dtype(np.float64)


def feature_map(kernel, points, dtype=F64):
    """Feature map with these points as landmarks."""
    exact = points.astype(np.float64)
    return FeatureMap(kernel, points, kernel(exact, exact), np.dtype(dtype))


def orthonormal(features, X):
    """Features of rows in the orthonormal basis."""
    return features.from_values(features.block(X).T).T
