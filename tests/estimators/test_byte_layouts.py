"""Arrays in other layouts of bytes than NumPy's own: not aligned, or with the order of their bytes named or swapped."""

import io
import tempfile

import numpy as np
import pytest
from scipy import sparse
from scipy.io import loadmat, savemat

from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, kernels

rng = np.random.RandomState(0)
X = rng.randn(200, 10)
WEIGHTS = rng.uniform(0.1, 2.0, 200)
LABELS, REAL = rng.randint(3, size=200).astype(float), X[:, 0] + np.sin(2 * X[:, 1])


def unaligned(array):
    """A buffer with an odd offset."""
    return np.frombuffer(b"\0" + array.tobytes(), array.dtype, offset=1).reshape(array.shape)


def packed(array):
    """A field of records of an odd length."""
    records = np.empty(len(array), [("id", np.int8), ("numbers", array.dtype, array.shape[1:])])
    records["numbers"] = array
    return records["numbers"]


def little_endian(array):
    return array.astype("<" + array.dtype.str[1:]).view(array.dtype.newbyteorder("<"))


def big_endian(array):
    return array.astype(array.dtype.newbyteorder(">"))


def mapped(array):
    """A memory map with an odd offset, of numbers whose order of bytes is named."""
    with tempfile.TemporaryFile() as file:
        file.write(b"\0" + array.tobytes())
        file.flush()
        return np.memmap(file, array.dtype.newbyteorder("<"), "r", offset=1, shape=array.shape)


in_every_layout = pytest.mark.parametrize("layout", [unaligned, packed, little_endian, big_endian, mapped])
in_both_precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])
of_both_kinds = pytest.mark.parametrize(("cls", "targets"), [(UniSVMClassifier, LABELS), (UniSVMRegressor, REAL)])


def csr(dtype):
    return sparse.csr_matrix(np.where(rng.uniform(size=X.shape) < 0.5, X, 0).astype(dtype))


def with_arrays(matrix, layout, names=("data", "indices", "indptr")):
    """The matrix with some of its three arrays in this layout."""
    other = matrix.copy()
    for name in names:
        setattr(other, name, layout(getattr(matrix, name)))
    return other


def in_precision_of(rows, layout):
    """The rows in double precision if that is what is made of this layout: of swapped bytes, as in scikit-learn."""
    return rows.astype(np.float64) if layout is big_endian else rows


def decisions(model, rows):
    return (model.predict if isinstance(model, UniSVMRegressor) else model.decision_function)(rows)


@of_both_kinds
@in_every_layout
@in_both_precisions
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
def test_dense_rows_targets_and_weights(cls, targets, layout, dtype, kernel):
    rows, weights = X.astype(dtype), WEIGHTS.astype(dtype)
    model = cls(kernel=kernel, C=1.0, rank=30, random_state=0, solver="lbfgs").fit(rows, targets, weights)
    expected, same = decisions(model, rows), in_precision_of(rows, layout)
    np.testing.assert_array_equal(decisions(model, layout(rows)), decisions(model, same))
    for given in (rows, layout(targets), weights), (rows, targets, layout(weights)):
        np.testing.assert_array_equal(decisions(model.fit(*given), rows), expected)
    expected = decisions(model.fit(same, targets, weights), same)
    # rows in a file stay in their order, whatever their classes
    rtol = 1e-3 if layout is mapped else 0
    for given in (layout(rows), targets, weights), (layout(rows), layout(targets), layout(weights)):
        np.testing.assert_allclose(decisions(model.fit(*given), layout(rows)), expected, rtol=rtol, atol=rtol)


@of_both_kinds
@pytest.mark.parametrize("layout", [unaligned, little_endian, big_endian, mapped])
@in_both_precisions
@pytest.mark.parametrize("names", [["data"], ["indices"], ["indptr"], ["data", "indices", "indptr"]])
def test_sparse_rows(cls, targets, layout, dtype, names):
    rows = csr(dtype)
    other = with_arrays(rows, layout, names)
    for kernel in ("rbf", "laplacian"):
        model = cls(kernel=kernel, C=1.0, rank=30, random_state=0).fit(rows, targets, WEIGHTS)
        same = in_precision_of(rows, layout) if "data" in names else rows
        np.testing.assert_array_equal(decisions(model, other), decisions(model, same))
        expected = decisions(model.fit(same, targets, WEIGHTS), same)
        np.testing.assert_array_equal(decisions(model.fit(other, targets, WEIGHTS), other), expected)


@of_both_kinds
def test_numbers_of_a_matlab_file(cls, targets):
    file = io.BytesIO()
    savemat(file, {"X": X, "S": csr(float), "y": targets, "weights": WEIGHTS})
    # as CSC matrices, whatever the version of SciPy
    found = loadmat(file)
    found["S"] = sparse.csc_matrix(found["S"])
    assert found["X"].dtype.byteorder == "<"
    weights, y = found["weights"].ravel(), found["y"].ravel()
    for rows in (found["X"], found["S"], found["S"].tocsr()):
        ordinary = rows.toarray().astype(float) if sparse.issparse(rows) else X
        ordinary = sparse.csr_matrix(ordinary) if sparse.issparse(rows) else np.asfortranarray(ordinary)
        one = cls(random_state=0, rank=30).fit(rows, y, weights)
        other = cls(random_state=0, rank=30).fit(ordinary, targets, WEIGHTS)
        np.testing.assert_array_equal(decisions(one, rows), decisions(other, ordinary))


@in_every_layout
def test_landmarks_and_searches(layout):
    model = UniSVMRegressor(kernel="laplacian", landmarks=X[:20], C=1.0)
    expected = model.fit(X, REAL).predict(X)
    np.testing.assert_array_equal(model.set_params(landmarks=layout(X[:20])).fit(X, REAL).predict(X), expected)
    if layout is not mapped:
        search = UniSVMClassifierCV(Cs=2, gammas=2, cv=2, rank=20, random_state=0)
        expected = search.fit(X, LABELS, sample_weight=WEIGHTS).decision_function(X)
        search.fit(layout(X), layout(LABELS), sample_weight=layout(WEIGHTS))
        np.testing.assert_array_equal(search.decision_function(layout(X)), expected)


@in_every_layout
def test_what_a_kernel_function_returns(layout):
    def plain(A, B):
        return np.exp(-0.1 * ((A[:, None] - B) ** 2).sum(axis=2))

    model = UniSVMRegressor(kernel=plain, rank=20, random_state=0)
    expected = model.fit(X, REAL).predict(X)
    model.set_params(kernel=lambda A, B: layout(plain(A, B)))
    np.testing.assert_array_equal(model.fit(X, REAL).predict(X), expected)


@pytest.mark.usefixtures("compiled_or_not")
@in_every_layout
@pytest.mark.parametrize("kernel", [kernels.RBF(0.1), kernels.Laplacian(0.1), kernels.Linear()])
def test_kernels_take_them_directly(layout, kernel):
    np.testing.assert_allclose(kernel(layout(X), layout(X[:30])), kernel(X, X[:30]), rtol=1e-12, atol=1e-12)
    rows = csr(float)
    if layout is not packed:
        few, expected = rows[:30], kernel(rows, rows[:30])
        found = kernel(with_arrays(rows, layout), with_arrays(few, layout))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_ordinary_arrays_are_not_copied():
    rows = csr(float)
    assert kernels.base.as_rows(X) is X
    assert kernels.base.as_rows(rows) is rows
    named = little_endian(X)
    assert np.shares_memory(kernels.base.as_rows(named), named)
