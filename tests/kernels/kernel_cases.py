"""Every kernel that has parameters, with a function of scikit-learn that computes the same."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise

from unisvm import kernels


def cosine_like(X, Z, power=1):
    return np.asarray(pairwise.cosine_similarity(X, Z)) ** power


KERNELS = {
    "linear": (kernels.Linear(), pairwise.linear_kernel),
    "rbf": (kernels.RBF(0.3), partial(pairwise.rbf_kernel, gamma=0.3)),
    "laplacian": (kernels.Laplacian(0.2), partial(pairwise.laplacian_kernel, gamma=0.2)),
    "poly": (
        kernels.Polynomial(0.5, degree=2, coef0=0.7),
        partial(pairwise.polynomial_kernel, gamma=0.5, degree=2, coef0=0.7),
    ),
    "sigmoid": (kernels.Sigmoid(0.1, coef0=-0.4), partial(pairwise.sigmoid_kernel, gamma=0.1, coef0=-0.4)),
    "scaled": (
        kernels.Scaled(kernels.RBF(0.3), 0.0, 1.7),
        lambda X, Z: pairwise.rbf_kernel(X / 1.7, Z / 1.7, gamma=0.3),
    ),
    "function": (kernels.Function(cosine_like, {"power": 3}), partial(cosine_like, power=3)),
}
FORMS = {"dense": np.array, "csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
DTYPES = [np.float32, np.float64]

every_kernel = pytest.mark.parametrize("name", KERNELS)
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


def rows_and_points():
    """Rows and points with zeros in them, a few of the points among the rows."""
    rng = np.random.RandomState(0)
    X = rng.randn(70, 6) * (rng.uniform(size=(70, 6)) < 0.6)
    X[:, 0] += 1  # no row is zero
    return X, np.concatenate([X[:5], rng.randn(8, 6)])


def tolerance(dtype):
    return {"rtol": 1e-5, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-10, "atol": 1e-12}


def shifted(X, Z, shift=0.0):
    """A kernel function of a user's."""
    return X @ Z.T + shift
