"""Which kernel a name, a function, a matrix or an object stands for, and what is refused."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import pairwise

from kernels.kernel_cases import shifted
from unisvm import UniSVMClassifier, UniSVMRegressor, kernels


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("linear", kernels.Linear()),
        ("rbf", kernels.RBF(gamma=0.5)),
        ("laplacian", kernels.Laplacian(gamma=0.5)),
        ("poly", kernels.Polynomial(gamma=0.5, degree=4, coef0=2.0)),
        ("sigmoid", kernels.Sigmoid(gamma=0.5, coef0=2.0)),
        ("precomputed", kernels.Precomputed()),
    ],
)
def test_names_and_their_parameters(name, wanted):
    kernel = kernels.get(name, gamma=0.5, degree=4, coef0=2.0)
    assert type(kernel) is type(wanted)
    assert kernel.get_params() == wanted.get_params()


@pytest.mark.parametrize(
    ("name", "hint"),
    [("rbff", "did you mean 'rbf'"), ("polynomial", "'poly'"), ("Linear", "'linear'"), ("xyz", "use one of 'linear'")],
)
def test_unknown_names_offer_the_nearest(name, hint):
    with pytest.raises(ValueError, match=f"Unknown kernel '{name}': .*{hint}"):
        kernels.get(name)
    with pytest.raises(ValueError, match=hint):
        UniSVMClassifier(kernel=name).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", kernels.RBF(1.0)])
def test_kernel_params_are_for_functions_only(kernel):
    with pytest.raises(ValueError, match="kernel_params"):
        kernels.get(kernel, kernel_params={"shift": 1.0})


def test_an_object_is_taken_as_it_is():
    kernel = kernels.RBF(0.3)
    assert kernels.get(kernel, gamma=9.0) is kernel


@pytest.mark.parametrize(
    ("kernel", "same"),
    [
        (kernels.RBF(0.4), {"kernel": "rbf", "gamma": 0.4}),
        (kernels.Polynomial(0.4, 2, 1.0), {"kernel": "poly", "gamma": 0.4, "degree": 2, "coef0": 1.0}),
        (pairwise.linear_kernel, {"kernel": "linear"}),
    ],
)
def test_estimators_take_objects_and_functions(problem, kernel, same):
    X, y = problem
    options = {"rank": 30, "C": 1.0, "tol": 1e-10, "random_state": 0}
    wanted = UniSVMRegressor(**same, **options).fit(X, y).predict(X)
    np.testing.assert_allclose(UniSVMRegressor(kernel=kernel, **options).fit(X, y).predict(X), wanted, atol=1e-6)


def test_parameters_of_a_kernel_object_can_be_set_from_the_estimator():
    model = clone(UniSVMClassifier(kernel=kernels.RBF(0.4))).set_params(kernel__gamma=2.0)
    assert model.kernel.gamma == 2.0


@pytest.mark.parametrize(
    ("kernel", "psd"),
    [
        (kernels.RBF(1.0), True),
        (kernels.Polynomial(1.0, 3, 0.0), True),
        (kernels.Polynomial(1.0, 3, -1.0), False),
        (kernels.Polynomial(1.0, 2.5, 1.0), False),
        (kernels.Polynomial(1.0, -1, 1.0), False),
        (kernels.Sigmoid(1.0), False),
        (kernels.Function(shifted), False),
    ],
)
def test_which_kernels_are_known_to_be_positive_semidefinite(kernel, psd):
    assert bool(kernel.is_psd) is psd
