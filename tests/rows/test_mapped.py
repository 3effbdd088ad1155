"""Rows that stay in a file: copies of what is asked for, and pages that are given back."""

import numpy as np
import pytest
from scipy import sparse

from unisvm.rows import mapped
from unisvm.rows.mapped import DenseRows, MappedArray, Pages, SparseRows, take_rows
from unisvm.rows.scratch import Appended

rng = np.random.RandomState(0)
X = 10 * rng.randn(500, 18)


def mapped_csr(matrix, base=0):
    """Rows of a CSR matrix in files without names."""
    parts = []
    for array in (matrix.data, matrix.indices + base, matrix.indptr):
        file = Appended(array.dtype, None, "The rows")
        file.append(array)
        parts.append(file.mapped())
    return SparseRows(*parts, matrix.shape[1], base)


# ---------------------------------------------------------------------- attributes


@pytest.mark.parametrize(
    ("dtype", "read_as", "is_finite"),
    [
        (np.float32, np.float32, False),
        (np.float64, np.float64, False),
        (np.int16, np.float64, True),
        (bool, np.float64, True),
    ],
)
def test_attributes_of_dense_rows(as_map, dtype, read_as, is_finite):
    rows = DenseRows(as_map(X.astype(dtype)), names=[f"x{j}" for j in range(18)])
    assert (rows.shape, len(rows), rows.ndim, rows.entries_a_row) == ((500, 18), 500, 2, 18)
    assert rows.dtype == rows[:3].dtype == rows[np.array([4, 2])].dtype == read_as
    # whole numbers are
    assert rows.is_finite == is_finite
    some = rows.take(np.array([3, 1]))
    assert (some.shape, some.dtype, some.names, some.is_finite) == ((2, 18), read_as, rows.names, is_finite)


@pytest.mark.parametrize("base", [0, 1])
def test_attributes_of_sparse_rows(base):
    matrix = sparse.random(300, 50, density=0.1, format="csr", random_state=0, dtype=np.float32)
    rows = mapped_csr(matrix, base)
    assert (rows.shape, rows.dtype, rows.entries_a_row) == ((300, 50), np.float32, 5)
    assert rows.index_base == rows.take(np.array([7])).index_base == base
    part = rows[10:20]
    assert part.has_canonical_format
    assert part.indices.dtype == np.int32


# ---------------------------------------------------------------------- copies


@pytest.mark.usefixtures("small_reads")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_dense_rows_are_those_of_the_array(as_map, order, dtype):
    array = np.asarray(X, dtype=dtype, order=order)
    rows = DenseRows(as_map(array))
    expected = array.astype(np.float32 if dtype == np.float32 else np.float64)
    indices = np.random.RandomState(0).permutation(500)[:321]
    for part in (slice(0, 500), slice(17, 18), slice(490, 600), slice(5, 5), indices, np.arange(500), indices[:1]):
        np.testing.assert_array_equal(rows[part], expected[part])
        assert rows[part].dtype == expected.dtype
        assert Pages.of(rows[part]) is None
    np.testing.assert_array_equal(np.concatenate(list(rows.blocks())), expected)
    np.testing.assert_array_equal(rows[indices, indices % 18], expected[indices, indices % 18])
    chosen = np.sort(indices)
    some = rows.take(chosen)
    np.testing.assert_array_equal(some[100:200], expected[chosen][100:200])
    np.testing.assert_array_equal(some[np.array([5, 2, 300])], expected[chosen][[5, 2, 300]])


@pytest.mark.usefixtures("small_reads")
@pytest.mark.parametrize("base", [0, 1])
def test_sparse_rows_are_those_of_the_matrix(tmp_path, base):
    matrix = sparse.random(300, 50, density=0.1, format="csr", random_state=0)
    arrays = []
    for name, array in (("data", matrix.data), ("indices", matrix.indices + base), ("indptr", matrix.indptr)):
        np.save(tmp_path / f"{name}.npy", array)
        arrays.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    rows = SparseRows(*arrays, 50, base)
    indices = np.random.RandomState(0).randint(300, size=200)
    for part in (slice(0, 300), slice(17, 18), slice(290, 400), indices, indices[:1]):
        np.testing.assert_array_equal(rows[part].toarray(), matrix[part].toarray())
    np.testing.assert_array_equal(rows.take(indices)[3:100].toarray(), matrix[indices[3:100]].toarray())


@pytest.mark.parametrize(
    "empty", [slice(5, 5), slice(400, 3), np.array([], dtype=int)], ids=["slice", "backwards", "indices"]
)
def test_no_rows_at_all(as_map, empty):
    assert DenseRows(as_map(X))[empty].shape == (0, 18)
    matrix = sparse.random(500, 50, density=0.1, format="csr", random_state=0)
    assert mapped_csr(matrix)[empty].shape == (0, 50)


def test_copies_are_in_memory_and_writeable(as_map):
    rows = DenseRows(as_map(X))
    for key in (slice(2, 9), np.array([4, 2])):
        copy = rows[key]
        assert Pages.of(copy) is None
        copy[:] = 0
        np.testing.assert_array_equal(rows[key], X[key])


@pytest.mark.parametrize("order", ["C", "F"])
def test_few_rows_that_are_far_apart_are_read_at_a_time(as_map, monkeypatch, order):
    monkeypatch.setattr(mapped, "_READ_AT_ONCE", 20 * 18 * 8)
    asked, some = [], DenseRows._some
    monkeypatch.setattr(DenseRows, "_some", lambda self, indices: asked.append(len(indices)) or some(self, indices))
    rows = DenseRows(as_map(np.asarray(X, order=order)))
    near, far = np.arange(100, 140)[::-1], np.linspace(0, 499, 40).astype(int)
    np.testing.assert_array_equal(rows[near], X[near])
    assert asked == [20, 20]
    asked.clear()
    np.testing.assert_array_equal(rows[far], X[far])
    assert max(asked) == mapped._FAR_APART
    assert sum(asked) == 40


def test_entries(as_map, small_reads):
    rows, columns = rng.randint(500, size=77), rng.randint(18, size=77)
    np.testing.assert_array_equal(DenseRows(as_map(X))[rows, columns], X[rows, columns])
    matrix = sparse.random(500, 18, density=0.3, format="csr", random_state=0)
    np.testing.assert_array_equal(mapped_csr(matrix)[rows, columns], matrix.toarray()[rows, columns])


def test_rows_of_rows(as_map, small_reads):
    rows, chosen = DenseRows(as_map(X)), rng.permutation(500)[:200]
    some = rows.take(chosen).take(np.array([9, 0, 150]))
    np.testing.assert_array_equal(some[:], X[chosen[[9, 0, 150]]])
    assert take_rows(rows, chosen).shape == (200, 18)
    np.testing.assert_array_equal(take_rows(rows, chosen)[5:7], X[chosen[5:7]])
    np.testing.assert_array_equal(take_rows(X, chosen), X[chosen])


# ---------------------------------------------------------------------- pages


def test_pages_are_those_of_maps_and_their_views(as_map):
    array = as_map(X)
    for view in (array, array[3:90], array[:, 2], array.T, np.asarray(array)[5:], array.reshape(-1)):
        assert Pages.of(view) is not None
    for copy in (X, X[3:90], array.copy(), array + 0.0, np.array(array)):
        assert Pages.of(copy) is None


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_what_was_written_outlives_its_pages(as_map, mode):
    array = as_map(np.tile(X, (50, 1)), mode)
    if mode != "r":
        array[:40] = -7
    expected = np.array(array)
    pages = Pages.of(array)
    for part in (array, array[:1], array[100:3000], array[:, 3], array[:0]):
        pages.give_back(part)
        np.testing.assert_array_equal(array, expected)
    np.testing.assert_array_equal(MappedArray(array)[10:60], expected[10:60])


def test_copies_of_another_type(as_map):
    array = MappedArray(as_map((100 * X).astype(np.int32)), np.dtype(np.float32))
    assert array[3:5].dtype == array[np.array([400, 1])].dtype == np.float32
    np.testing.assert_array_equal(array[np.array([400, 1])], (100 * X).astype(np.int32)[[400, 1]])
