"""The contract of a kernel: values, precision, diagonals, blocks, sparse rows, and nothing written to."""

import pickle

import cloudpickle
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from kernels.kernel_cases import FORMS, KERNELS, every_dtype, every_kernel, rows_and_points, tolerance
from unisvm import kernels


@pytest.fixture
def data():
    return rows_and_points()


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


@every_kernel
@every_dtype
@pytest.mark.parametrize("form", FORMS)
def test_columns_in_which_all_points_are_zero(compiled_or_not, name, dtype, form):
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


@every_kernel
def test_sparse_rows_with_64_bit_indices(data, compiled_or_not, name):
    kernel, reference = KERNELS[name]
    X, Z = map(sparse.csr_array, data)
    for rows in (X, Z):
        rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    np.testing.assert_allclose(kernel(X, Z), reference(*data), rtol=1e-10, atol=1e-12)


@every_kernel
@pytest.mark.parametrize("form", FORMS)
def test_a_block_function_can_be_pickled(data, name, form):
    # it travels to the workers of a cluster, also after it was used
    kernel, _ = KERNELS[name]
    X, Z = data
    block = kernel.against(FORMS[form](Z))
    before = block(FORMS[form](X))
    np.testing.assert_array_equal(cloudpickle.loads(cloudpickle.dumps(block))(FORMS[form](X)), before)


OBJECTS = [*(kernel for kernel, _ in KERNELS.values()), kernels.Laplacian("auto"), kernels.Precomputed()]


@pytest.mark.parametrize("kernel", OBJECTS, ids=lambda kernel: type(kernel).__name__)
def test_pickle_and_clone(kernel):
    for copy in (pickle.loads(pickle.dumps(kernel)), clone(kernel)):
        assert type(copy) is type(kernel)
        assert repr(copy) == repr(kernel)
