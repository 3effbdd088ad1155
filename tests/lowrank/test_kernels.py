"""Kernel values, diagonals and precision."""

import tracemalloc
from functools import partial

import cloudpickle
import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics import pairwise

from unisvm import UniSVMClassifier, compiled, kernels
from unisvm.kernels.base import as_rows


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
    "function": (kernels.Function(cosine_like, {"power": 3}), partial(cosine_like, power=3)),
}
FORMS = {"dense": np.array, "csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
DTYPES = [np.float32, np.float64]

every_kernel = pytest.mark.parametrize("name", KERNELS)
every_dtype = pytest.mark.parametrize("dtype", DTYPES)


@pytest.fixture
def data():
    """Rows and points with zeros in them, a few of the points among the rows."""
    rng = np.random.RandomState(0)
    X = rng.randn(70, 6) * (rng.uniform(size=(70, 6)) < 0.6)
    X[:, 0] += 1  # no row is zero
    return X, np.concatenate([X[:5], rng.randn(8, 6)])


def tolerance(dtype):
    return {"rtol": 1e-5, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-10, "atol": 1e-12}


@every_kernel
@every_dtype
@pytest.mark.parametrize("form_x", FORMS)
@pytest.mark.parametrize("form_z", FORMS)
def test_values_are_those_of_scikit_learn(data, name, dtype, form_x, form_z):
    kernel, reference = KERNELS[name]
    X, Z = (rows.astype(dtype) for rows in data)
    K = kernel(FORMS[form_x](X), FORMS[form_z](Z))
    assert type(K) is np.ndarray
    assert K.dtype == dtype
    np.testing.assert_allclose(K, reference(X.astype(float), Z.astype(float)), **tolerance(dtype))


@every_kernel
def test_precision_is_that_of_the_rows(data, name):
    kernel, reference = KERNELS[name]
    X, Z = data
    assert kernel(X.astype(np.float32), Z).dtype == np.float32
    K = kernel(X, Z.astype(np.float32))
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, reference(X, Z.astype(np.float32).astype(float)), **tolerance(np.float32))


@pytest.mark.parametrize("name", ["linear", "rbf", "laplacian"])
@pytest.mark.parametrize("form", FORMS)
def test_rows_of_more_than_double_precision(data, name, form):
    kernel, reference = KERNELS[name]
    X, Z = (FORMS[form](rows.astype(np.longdouble)) for rows in data)
    K = kernel(X, Z)
    assert K.dtype == np.longdouble
    np.testing.assert_allclose(K.astype(float), reference(*data), rtol=1e-10, atol=1e-12)


@every_kernel
def test_lists_are_accepted(name):
    kernel, reference = KERNELS[name]
    X, Z = [[1.0, 2.0], [0.5, -1.0]], [[3.0, 0.5]]
    np.testing.assert_allclose(kernel(X, Z), reference(np.array(X), np.array(Z)))


@every_kernel
@pytest.mark.parametrize("form", FORMS)
def test_integers_are_numbers_too(name, form):
    # a kernel of whole numbers is not whole itself
    kernel, reference = KERNELS[name]
    X, Z = np.array([[1, 2], [0, -1]]), np.array([[3, 0], [1, 2]])
    K = kernel(FORMS[form](X), FORMS[form](Z))
    assert K.dtype == np.float64
    np.testing.assert_allclose(K, reference(X.astype(float), Z.astype(float)))
    np.testing.assert_allclose(kernel.diagonal(FORMS[form](X)), reference(X.astype(float), X.astype(float)).diagonal())


@every_kernel
@every_dtype
@pytest.mark.parametrize("form", FORMS)
def test_diagonal(data, name, dtype, form):
    kernel, reference = KERNELS[name]
    X = data[0].astype(dtype)
    diagonal = kernel.diagonal(FORMS[form](X))
    assert diagonal.dtype == np.float64
    np.testing.assert_allclose(diagonal, reference(X.astype(float), X.astype(float)).diagonal(), **tolerance(dtype))
    some = np.array([7, 2, 2])
    np.testing.assert_array_equal(kernel.diagonal_at(FORMS[form](X), some), kernel.diagonal(FORMS[form](X[some])))


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "function"])
def test_diagonal_needs_no_matrix(data, monkeypatch, name):
    kernel, _ = KERNELS[name]
    monkeypatch.setattr(type(kernel), "against", lambda self, Z: pytest.fail("the matrix was formed"))
    assert kernel.diagonal(data[0]).shape == (70,)


def test_diagonal_of_a_function_asks_for_small_squares_only():
    asked = []

    def function(X, Z):
        asked.append((len(X), len(Z)))
        return X @ Z.T

    X = np.random.RandomState(0).randn(1000, 3)
    np.testing.assert_allclose(kernels.Function(function).diagonal(X), (X**2).sum(axis=1))
    assert sum(n * m for n, m in asked) <= 64 * len(X)


@every_kernel
@every_dtype
@pytest.mark.parametrize("length", [1, 13, 70])
def test_against_equals_the_call_block_by_block(data, name, dtype, length):
    kernel, _ = KERNELS[name]
    X, Z = (rows.astype(dtype) for rows in data)
    block = kernel.against(Z)
    blocks = [block(X[low : low + length]) for low in range(0, len(X), length)]
    np.testing.assert_allclose(np.concatenate(blocks), kernel(X, Z), **tolerance(dtype))


@every_kernel
def test_against_serves_blocks_of_all_kinds_in_turn(data, name):
    # what is prepared for one kind of block must not be taken for another's
    kernel, reference = KERNELS[name]
    X, Z = data
    block, expected = kernel.against(Z), reference(X, Z)
    for form, dtype in [(np.array, np.float32), (sparse.csr_array, np.float64), (np.array, np.float64)] * 2:
        K = block(form(X.astype(dtype)))
        assert K.dtype == dtype
        np.testing.assert_allclose(K, expected, **tolerance(dtype))


@every_kernel
@every_dtype
def test_dense_inputs_are_not_written_to(data, name, dtype):
    X, Z = (rows.astype(dtype) for rows in data)
    X.flags.writeable = Z.flags.writeable = False  # writing would raise
    kernel, _ = KERNELS[name]
    kernel(X, Z)
    kernel.diagonal(X)


@every_kernel
def test_sparse_inputs_are_not_written_to(data, name):
    kernel, _ = KERNELS[name]
    X, Z = map(sparse.csr_array, data)
    before = [array.copy() for rows in (X, Z) for array in (rows.data, rows.indices, rows.indptr)]
    kernel(X, Z)
    kernel.diagonal(X)
    after = [array for rows in (X, Z) for array in (rows.data, rows.indices, rows.indptr)]
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("name", ["rbf", "linear", "laplacian", "poly"])
def test_sparse_rows_with_an_entry_stored_twice(name):
    # legal CSR: entries at the same place add up
    rng = np.random.RandomState(0)
    X, y = rng.randn(60, 4), rng.randint(2, size=60)
    twice = sparse.csr_matrix(
        (np.repeat(X.ravel() / 2, 2), np.tile(np.repeat(np.arange(4), 2), 60), np.arange(0, 481, 8)), shape=X.shape
    )
    model = UniSVMClassifier(kernel=name, gamma=0.3, rank=20, random_state=0)
    dense = clone(model).fit(X, y)
    model.fit(twice, y)
    np.testing.assert_array_equal(model.landmarks_, dense.landmarks_)
    assert model.trace_error_ == pytest.approx(dense.trace_error_, abs=1e-8)
    np.testing.assert_allclose(model.decision_function(twice), dense.decision_function(X), rtol=1e-3, atol=1e-3)
    assert twice.nnz == 480


# ---------------------------------------------------------------------- the RBF in single precision


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


# ---------------------------------------------------------------------- gamma

WITH_GAMMA = ["rbf", "laplacian", "poly", "sigmoid"]


@pytest.mark.parametrize("name", WITH_GAMMA)
def test_gamma(name):
    kernel = kernels.get(name, gamma="scale")
    assert kernel.resolve(5, lambda: 4.0).gamma == pytest.approx(1 / 10 if name == "laplacian" else 1 / 20)
    assert kernel.resolve(5, lambda: 0.0).gamma == 1.0  # constant data, as in scikit-learn
    assert kernel.gamma == "scale"
    assert kernels.get(name, gamma="auto").resolve(5, lambda: pytest.fail("not needed")).gamma == pytest.approx(0.2)
    assert kernels.get(name, gamma=0.7).resolve(5, lambda: pytest.fail("not needed")).gamma == 0.7


def test_resolve_keeps_the_other_parameters():
    kernel = kernels.Polynomial("auto", degree=4, coef0=0.5).resolve(2, lambda: 1.0)
    assert kernel.get_params() == {"gamma": 0.5, "degree": 4, "coef0": 0.5}


@pytest.mark.parametrize("name", WITH_GAMMA)
@pytest.mark.parametrize("gamma", [0, -1.0, np.nan, np.inf, None, [1.0], "1"])
def test_invalid_gamma(name, gamma):
    with pytest.raises((TypeError, ValueError), match="gamma"):
        kernels.get(name, gamma=gamma).resolve(2, lambda: 1.0)


def test_misspelt_gamma_offers_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'scale'"):
        kernels.RBF("scael").resolve(2, lambda: 1.0)


@pytest.mark.parametrize("form", FORMS)
def test_estimator_scales_gamma_as_scikit_learn_does(data, form):
    X = data[0]
    model = UniSVMClassifier().fit(FORMS[form](X), np.arange(70) % 2)
    assert model.kernel_.gamma == pytest.approx(1 / (6 * X.var()))
    assert model.gamma == "scale"


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_units_do_not_matter(data, name):
    X, y = data[0], np.arange(70) % 2
    # powers of two round alike
    one, other = (UniSVMClassifier(kernel=name, random_state=0).fit(X * unit, y) for unit in (1.0, 2.0**10))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X * 2.0**10), rtol=1e-6)


# ---------------------------------------------------------------------- sparse points


@pytest.fixture(params=["compiled", "by SciPy"])
def either_way(request, monkeypatch):
    if request.param == "by SciPy":
        monkeypatch.setattr(compiled, "_sweeps", None)


@every_kernel
@every_dtype
@pytest.mark.parametrize("form", FORMS)
def test_columns_in_which_all_points_are_zero(either_way, name, dtype, form):
    rng = np.random.RandomState(0)
    X = (rng.randn(50, 30) * (rng.uniform(size=(50, 30)) < 0.3)).astype(dtype)
    Z = np.zeros((9, 30), dtype=dtype)
    Z[:, [3, 4, 11, 29]] = rng.randn(9, 4)
    Z[2] = 0
    X[4], X[5] = 0, Z[1]
    kernel, reference = KERNELS[name]
    expected = reference(X.astype(float), Z.astype(float))
    for z in (sparse.csr_matrix, sparse.csr_array):
        block = kernel.against(z(Z))
        out = np.full((50, 9), np.nan, dtype=dtype)
        assert block(FORMS[form](X), out=out) is out
        np.testing.assert_allclose(out, expected, **tolerance(dtype))
        np.testing.assert_allclose(block(FORMS[form](X)), expected, **tolerance(dtype))


@pytest.mark.parametrize("form", FORMS)
def test_points_that_are_all_zero(either_way, form):
    X, Z = FORMS[form](np.eye(4)), sparse.csr_array(np.zeros((3, 4)))
    np.testing.assert_allclose(kernels.Laplacian(1.0)(X, Z), np.full((4, 3), np.exp(-1)))
    np.testing.assert_allclose(kernels.RBF(1.0)(X, Z), np.full((4, 3), np.exp(-1)))
    np.testing.assert_array_equal(kernels.Linear()(X, Z), np.zeros((4, 3)))


@every_kernel
def test_sparse_rows_with_long_numbers_of_columns(data, either_way, name):
    kernel, reference = KERNELS[name]
    X, Z = map(sparse.csr_array, data)
    for rows in (X, Z):
        rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    np.testing.assert_allclose(kernel(X, Z), reference(*data), rtol=1e-10, atol=1e-12)


@every_dtype
@pytest.mark.parametrize("form", FORMS)
def test_laplacian_of_near_rows_far_from_the_origin(either_way, dtype, form):
    rng = np.random.RandomState(0)
    Z = (rng.randn(30, 10) + 1e3).astype(dtype)
    X = (Z + 0.01 * rng.randn(30, 10)).astype(dtype)
    expected = pairwise.laplacian_kernel(X.astype(float), Z.astype(float), gamma=1.0)
    np.testing.assert_allclose(kernels.Laplacian(1.0)(FORMS[form](X), FORMS[form](Z)), expected, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_points_are_sent_without_what_was_made_of_them(form):
    rng = np.random.RandomState(0)
    X, Z = rng.randn(30, 500), sparse.random(20, 500, 0.01, format="csr", random_state=0)
    for kernel in (kernels.Linear(), kernels.Laplacian(0.1)):
        block = kernel.against(Z)
        before = block(FORMS[form](X))
        sent = cloudpickle.dumps(block)
        assert len(sent) < 10_000
        np.testing.assert_array_equal(cloudpickle.loads(sent)(FORMS[form](X)), before)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["linear", "rbf", "laplacian"])
def test_sparse_points_are_never_made_dense(either_way, name, form):
    rng = np.random.RandomState(0)
    columns = np.sort(rng.randint(200_000, size=(300, 20)), axis=1)
    Z = as_rows(sparse.csr_matrix((rng.randn(6000), columns.ravel(), np.arange(0, 6001, 20)), shape=(300, 200_000)))
    X = Z[:3].toarray()
    kernel, reference = KERNELS[name]
    tracemalloc.start()
    try:
        K = kernel(FORMS[form](X), Z)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100e6  # dense they would take 480 MB
    np.testing.assert_allclose(K[:, :10], reference(X, Z[:10].toarray()), rtol=1e-10, atol=1e-12)


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
