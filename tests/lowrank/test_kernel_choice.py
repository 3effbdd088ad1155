"""Which kernel a name, a function, a matrix or an object stands for, and what is refused."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import pairwise

from unisvm import UniSVMClassifier, UniSVMRegressor, kernels


def shifted(X, Z, shift=0.0):
    return X @ Z.T + shift


OBJECTS = [
    kernels.Linear(),
    kernels.RBF(0.3),
    kernels.Laplacian("auto"),
    kernels.Polynomial(0.5, degree=2, coef0=0.7),
    kernels.Sigmoid(0.1, coef0=-0.4),
    kernels.Precomputed(),
    kernels.Function(shifted, {"shift": 2.0}),
]
FORMS = [np.array, sparse.csr_matrix, sparse.csr_array]


@pytest.fixture
def problem():
    rng = np.random.RandomState(0)
    X = rng.randn(120, 3)
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


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
    assert name in kernels.NAMES


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


def test_kernel_params_reach_the_function():
    kernel = kernels.get(shifted, kernel_params={"shift": 3.0})
    np.testing.assert_allclose(kernel(np.eye(2), np.eye(2)), np.eye(2) + 3)


def test_an_object_is_taken_as_it_is():
    kernel = kernels.RBF(0.3)
    assert kernels.get(kernel, gamma=9.0) is kernel


@pytest.mark.parametrize("kernel", OBJECTS, ids=lambda kernel: type(kernel).__name__)
def test_pickle_and_clone(kernel):
    for copy in (pickle.loads(pickle.dumps(kernel)), clone(kernel)):
        assert type(copy) is type(kernel)
        assert copy.get_params() == kernel.get_params()


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
    options = {"rank": 30, "random_state": 0}
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
