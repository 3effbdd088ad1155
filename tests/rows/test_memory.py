"""Rows in memory: blocks and their sums, features, subsets, the variance."""

import threading
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from unisvm import kernels
from unisvm.rows import MemoryRows, memory

FORMS = [np.array, sparse.csr_matrix, sparse.csr_array]
every_form = pytest.mark.parametrize("form", FORMS)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
# below, at and above the ends of blocks of 64 rows
SIZES = [1, 2, 63, 64, 65, 128, 129, 500]


def entries(rng, m, d=5):
    """Rows with zeros in them."""
    return rng.randn(m, d) * (rng.uniform(size=(m, d)) < 0.7)


def blocks_of(rows, width, **options):
    """First row and end of each block of a sweep over features of this width, in their order."""
    features = np.repeat(np.arange(rows.n_rows)[:, None], width, axis=1).astype(rows.dtype)
    visited, lock = [], threading.Lock()

    def block(features, targets, weights):
        with lock:
            visited.append((int(features[0, 0]), int(features[-1, 0]) + 1))
        return (features.sum(axis=0),)

    (total,) = rows.reduce(block, features, **options)
    np.testing.assert_array_equal(total, features.sum(axis=0))
    return sorted(visited)


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_every_row_is_visited_once_and_no_block_is_empty(store, small_blocks, m, n_threads):
    visited = blocks_of(store(np.zeros((m, 3)), n_threads=n_threads), 3)
    assert all(low < high for low, high in visited)
    assert visited[0][0] == 0
    assert visited[-1][1] == m
    assert all(one[1] == other[0] for one, other in pairwise(visited))
    lengths = [high - low for low, high in visited]
    assert max(lengths) <= 64
    assert len(set(lengths[:-1])) <= 1
    # every thread has as many
    assert len(visited) <= n_threads * -(-m // (n_threads * 64))


def test_blocks_hold_about_the_same_bytes_whatever_their_width(store, monkeypatch):
    monkeypatch.setattr(memory, "_BLOCK_BYTES", 2**14)
    for width, length in ((4, 512), (16, 128)):
        assert blocks_of(store(np.zeros((20 * length - 3, 2))), width)[0] == (0, length)


@pytest.mark.parametrize(("m", "once", "length"), [(10**4, False, 125), (10**4, True, 500), (1500, True, 150)])
def test_blocks_that_are_read_once_are_longer_but_leave_shares_for_every_thread(store, monkeypatch, m, once, length):
    monkeypatch.setattr(memory, "_BLOCK_BYTES", 2**14)
    monkeypatch.setattr(memory, "_WORTH_SHARING", 0)
    visited = blocks_of(store(np.zeros((m, 2)), n_threads=2), 16, read_once=once)
    assert {high - low for low, high in visited} == {length}


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("n_threads", [1, 2, 5])
@every_dtype
def test_sums_over_blocks_are_sums_over_rows(store, small_blocks, m, n_threads, dtype):
    rng = np.random.RandomState(0)
    targets, weights, features = rng.randn(m, 2), rng.uniform(1, 2, size=m), rng.randn(m, 4).astype(dtype)
    rows = store(rng.randn(m, 3).astype(dtype), targets, weights, n_threads)

    def block(features, targets, weights):
        assert len(features) == len(targets) == len(weights) <= 64
        return features.T @ (weights * targets), weights.sum(), (weights * targets).sum(axis=0)

    product, total, sums = rows.reduce(block, features)
    exact = features.astype(float)
    assert product.dtype == total.dtype == np.float64
    tolerance = {"rtol": 1e-4, "atol": 1e-3} if dtype == np.float32 else {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(product, exact.T @ (weights[:, None] * targets), **tolerance)
    np.testing.assert_allclose(total, weights.sum(), **tolerance)
    np.testing.assert_allclose(sums, weights @ targets, **tolerance)


def test_sums_accumulate_in_double_precision(store, small_blocks):
    # in single precision, adding 1 to 2²⁴ changes nothing
    features = np.zeros((64 * 5, 1), dtype=np.float32)
    features[::64] = 1
    features[0] = 2**24
    (total,) = store(features).reduce(lambda features, targets, weights: (features.sum(axis=0),), features, n_columns=1)
    assert total[0] == 2**24 + 4


@pytest.mark.parametrize("n_threads", [1, 2])
def test_sums_are_those_of_the_arrays_that_the_blocks_returned(store, small_blocks, n_threads):
    # the store may write over them, so that they are noted before
    returned, lock = [], threading.Lock()

    def block(features, targets, weights):
        sums = features.sum(axis=0)
        with lock:
            returned.append(sums.copy())
        return (sums,)

    features = np.random.RandomState(0).randint(100, size=(64 * 20, 2)).astype(float)
    (total,) = store(np.zeros((64 * 20, 1)), n_threads=n_threads).reduce(block, features)
    assert len(returned) == 20
    np.testing.assert_array_equal(total, np.sum(returned, axis=0))


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("n_threads", [1, 2])
@every_form
@every_dtype
def test_features_of_all_rows(store, small_blocks, m, n_threads, form, dtype):
    X = entries(np.random.RandomState(0), m).astype(dtype)
    kernel = kernels.RBF(0.3)
    features = store(form(X), n_threads=n_threads).build(kernel.against(X[:7]), len(X[:7]))
    assert features.dtype == dtype
    np.testing.assert_allclose(features, kernel(X, X[:7]), atol=1e-5 if dtype == np.float32 else 1e-12)


def test_an_error_in_a_block_reaches_the_caller(store, small_blocks):
    def block(features, targets, weights):
        raise ZeroDivisionError("in a block")

    for n_threads in (1, 2):
        with pytest.raises(ZeroDivisionError, match="in a block"):
            store(np.zeros((300, 1)), n_threads=n_threads).reduce(block, np.zeros((300, 1)))


@every_form
@every_dtype
def test_subset_and_take(store, form, dtype):
    rng = np.random.RandomState(0)
    X, y, indices = entries(rng, 30).astype(dtype), rng.randn(30, 2).astype(dtype), np.array([9, 3, 20])
    subset = store(form(X), y, rng.uniform(1, 2, size=30), n_threads=2).subset(indices, np.array([1.0, 4.0, 2.0]))
    assert isinstance(subset, MemoryRows)
    np.testing.assert_array_equal(subset.X.toarray() if sparse.issparse(subset.X) else subset.X, X[indices])
    np.testing.assert_array_equal(subset.targets, y[indices])
    np.testing.assert_array_equal(subset.weights, [1, 4, 2])
    assert (subset.n_rows, subset.dtype, subset.total_weight, subset.n_threads) == (3, dtype, 7.0, 2)
    taken = store(form(X)).take(indices)
    np.testing.assert_array_equal(taken.toarray() if sparse.issparse(taken) else taken, X[indices])


def test_total_weight_is_summed_in_double_precision(store):
    weights = np.concatenate([[2.0**24], np.ones(101)])
    assert store(np.zeros((102, 1), np.float32), weights=weights).total_weight == 2**24 + 101


@every_form
@every_dtype
@pytest.mark.parametrize("n_threads", [1, 2])
def test_variance(store, small_blocks, form, dtype, n_threads):
    rng = np.random.RandomState(0)
    X = (entries(rng, 200) + 0.5).astype(dtype)
    counts = rng.randint(1, 5, size=200)
    assert store(form(X), n_threads=n_threads).variance() == pytest.approx(X.astype(float).var(), rel=1e-5)
    weighted = store(form(X), weights=counts, n_threads=n_threads).variance()
    assert weighted == pytest.approx(np.repeat(X, counts, axis=0).astype(float).var(), rel=1e-5)


@pytest.mark.parametrize(("dtype", "offset"), [(np.float32, 1e4), (np.float64, 1e7)])
def test_variance_far_from_zero(store, dtype, offset):
    X = (np.random.RandomState(0).randn(300, 4) + offset).astype(dtype)
    assert store(X).variance() == pytest.approx((X.astype(float) - offset).var(), rel=1e-6)


@every_form
def test_variance_of_constant_rows_is_zero(store, form):
    assert store(form(np.full((50, 3), 0.1))).variance() == pytest.approx(0, abs=1e-15)
