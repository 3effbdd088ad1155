"""Rows in memory: blocks, samples, the variance; how much memory; how many threads."""

import threading
from functools import partial
from itertools import pairwise
from time import perf_counter

import numpy as np
import pytest
from joblib import cpu_count
from scipy import sparse
from threadpoolctl import threadpool_info, threadpool_limits

from unisvm import UniSVMClassifier, UniSVMRegressor, kernels
from unisvm.rows import MemoryRows, budget, memory
from unisvm.rows.budget import parse_memory, readable
from unisvm.rows.threads import Stop, blas_threads, count_threads, in_threads, run

FORMS = [np.array, sparse.csr_matrix, sparse.csr_array]
every_form = pytest.mark.parametrize("form", FORMS)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
# below, at and above the ends of blocks of 64 rows
SIZES = [1, 2, 63, 64, 65, 128, 129, 500]


def entries(rng, m, d=5):
    """Rows with zeros in them."""
    return rng.randn(m, d) * (rng.uniform(size=(m, d)) < 0.7)


# ---------------------------------------------------------------------- blocks


@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_every_row_is_visited_once_and_no_block_is_empty(store, small_blocks, m, n_threads):
    rows, visited, lock = store(np.zeros((m, 3)), n_threads=n_threads), [], threading.Lock()

    def note(low, high):
        with lock:
            visited.append((low, high))

    rows._visit(note, 3)
    visited.sort()
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
        highs = []
        store(np.zeros((20 * length - 3, 2)))._visit(lambda low, high, seen=highs: seen.append(high), width)
        assert highs[0] == length


@pytest.mark.parametrize(("m", "once", "length"), [(10**4, False, 125), (10**4, True, 500), (1500, True, 150)])
def test_blocks_that_are_read_once_are_longer_but_leave_shares_for_every_thread(store, monkeypatch, m, once, length):
    monkeypatch.setattr(memory, "_BLOCK_BYTES", 2**14)
    monkeypatch.setattr(memory, "_WORTH_SHARING", 0)
    seen = []

    def block(features, targets, weights):
        seen.append(len(features))
        return (features.sum(axis=0),)

    features = np.random.RandomState(0).randn(m, 16)
    (total,) = store(np.zeros((m, 2)), n_threads=2).reduce(block, features, read_once=once)
    np.testing.assert_allclose(total, features.sum(axis=0))
    assert set(seen) == {length}


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


def test_what_a_block_returns_is_not_written_to(store, small_blocks):
    shared = np.ones(2)
    (total,) = store(np.zeros((200, 1))).reduce(lambda *block: (shared,), np.zeros((200, 1)))
    np.testing.assert_array_equal(total, [4, 4])
    np.testing.assert_array_equal(shared, [1, 1])


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


# ---------------------------------------------------------------------- samples


@every_dtype
def test_draw(store, dtype):
    weights = np.where(np.arange(400) < 40, 20.0, 1.0)
    rows = store(np.zeros((400, 1), dtype), weights=weights)
    drawn = rows.draw(30, np.random.RandomState(0))
    assert len(np.unique(drawn)) == 30
    np.testing.assert_array_equal(drawn, rows.draw(30, np.random.RandomState(0)))
    for n in (400, 1000):
        everything = rows.draw(n, np.random.RandomState(0))
        assert sorted(everything) == list(range(400))
        assert (everything != np.arange(400)).any()
    # 40 rows have 800 of 1160 in weight; five draws hardly exhaust them
    heavy = [np.mean(rows.draw(5, np.random.RandomState(seed)) < 40) for seed in range(200)]
    assert np.mean(heavy) == pytest.approx(800 / 1160, abs=0.06)
    equal = [np.mean(store(np.zeros((400, 1), dtype)).draw(5, np.random.RandomState(s)) < 40) for s in range(200)]
    assert np.mean(equal) == pytest.approx(0.1, abs=0.04)


@pytest.mark.parametrize("n", [50, 395, 400, 1000])
def test_represent(store, n):
    # the share of the heavy rows is kept, even when nearly all rows are in the sample
    weights = np.where(np.arange(400) < 40, 20.0, 1.0)
    rows = store(np.zeros((400, 1)), weights=weights)
    shares = []
    for seed in range(200):
        indices, counts = rows.represent(n, np.random.RandomState(seed))
        assert len(np.unique(indices)) == len(indices) <= min(n, 400)
        shares.append(counts[indices < 40].sum() / counts.sum())
    assert np.mean(shares) == pytest.approx(800 / 1160, abs=0.02)
    indices, counts = store(np.zeros((400, 1))).represent(n, np.random.RandomState(0))
    assert len(np.unique(indices)) == min(n, 400)
    np.testing.assert_array_equal(counts, np.ones(min(n, 400)))


@every_form
@every_dtype
def test_sample_and_take(store, form, dtype):
    rng = np.random.RandomState(0)
    X, y, indices = entries(rng, 30).astype(dtype), rng.randn(30, 2).astype(dtype), np.array([9, 3, 20])
    sample = store(form(X), y, rng.uniform(1, 2, size=30), n_threads=2).sample(indices, np.array([1.0, 4.0, 2.0]))
    assert isinstance(sample, MemoryRows)
    np.testing.assert_array_equal(sample.X.toarray() if sparse.issparse(sample.X) else sample.X, X[indices])
    np.testing.assert_array_equal(sample.targets, y[indices])
    np.testing.assert_array_equal(sample.weights, [1, 4, 2])
    assert (sample.n_rows, sample.dtype, sample.total_weight, sample.n_threads) == (3, dtype, 7.0, 2)
    taken = store(form(X)).take(indices)
    np.testing.assert_array_equal(taken.toarray() if sparse.issparse(taken) else taken, X[indices])


def test_total_weight_is_summed_in_double_precision(store):
    weights = np.concatenate([[2.0**24], np.ones(101)])
    assert store(np.zeros((102, 1), np.float32), weights=weights).total_weight == 2**24 + 101


# ---------------------------------------------------------------------- the variance


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


# ---------------------------------------------------------------------- memory


@pytest.mark.parametrize(
    ("limit", "n_bytes"),
    [
        (1, 1),
        (10**9, 10**9),
        (np.int64(5000), 5000),
        ("123", 123),
        ("4GB", 4 * 10**9),
        ("4gb", 4 * 10**9),
        (" 1.5 M ", 1_500_000),
        ("2K", 2000),
        ("2KB", 2000),
        ("1T", 10**12),
        ("7B", 7),
    ],
)
def test_memory_limits(limit, n_bytes):
    assert parse_memory(limit) == n_bytes
    assert type(parse_memory(limit)) is int


def test_memory_limits_relative_to_the_machine(monkeypatch):
    monkeypatch.setattr(budget, "_physical_memory", lambda: 1000)
    assert parse_memory(None) == 1000
    assert parse_memory(0.25) == 250
    assert parse_memory(np.float32(0.5)) == 500
    # where the system does not tell, a share means nothing and None means no limit
    monkeypatch.setattr(budget, "_physical_memory", lambda: None)
    assert parse_memory(None) is None
    with pytest.raises(ValueError, match="memory_limit"):
        parse_memory(0.25)


@pytest.mark.parametrize(
    "limit", [0, -1, 0.0, 1.0, 1.5, -0.5, np.nan, np.inf, True, "", "GB", "4XB", "-4GB", "0GB", "4 G B", [1], "4GBB"]
)
def test_invalid_memory_limits(limit):
    with pytest.raises(ValueError, match="memory_limit must be"):
        parse_memory(limit)


def test_this_machine_has_memory():
    assert parse_memory(None) is None or parse_memory(None) > 2**20


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(12, "12 bytes"), (1500, "1.5 KB"), (2.5e6, "2.5 MB"), (3e9, "3 GB"), (4.2e13, "42 TB")]
)
def test_readable(n_bytes, text):
    assert readable(n_bytes) == text


# ---------------------------------------------------------------------- threads


def blas():
    return {
        library["filepath"]: library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_count_threads():
    assert count_threads(1) == 1
    assert count_threads(3) == 3
    assert count_threads(-1) == cpu_count()
    # None follows the matrix products' own setting
    with threadpool_limits(1, user_api="blas"):
        assert count_threads(None) == 1
    with threadpool_limits(2, user_api="blas"):
        assert count_threads(None) == min(2, cpu_count())


@pytest.mark.parametrize(("n_tasks", "n_threads"), [(4, 2), (4, 1), (1, 2)])
def test_products_inside_tasks_do_not_take_threads_from_other_tasks(n_tasks, n_threads):
    with threadpool_limits(2, user_api="blas"):
        inside = run([blas] * n_tasks, n_threads)
        assert set(blas().values()) == {2}
    assert [set(threads.values()) for threads in inside] == [{1}] * n_tasks


def test_results_of_tasks_are_in_order():
    assert run([lambda i=i: i for i in range(20)], 3) == list(range(20))


def test_the_caller_is_one_of_the_threads():
    both = threading.Barrier(2, timeout=10)

    def name():
        # none can take both
        both.wait()
        return threading.current_thread().name

    assert len({*run([name] * 2, 2), threading.current_thread().name}) == 2


@pytest.mark.parametrize("fails_in", ["caller", "helper"])
def test_a_task_that_fails_ends_the_others(fails_in):
    stop, both, begun = Stop(), threading.Barrier(2, timeout=10), []

    def task():
        begun.append(1)
        both.wait()
        is_caller = threading.current_thread() is threading.main_thread()
        if is_caller == (fails_in == "caller"):
            raise ZeroDivisionError
        # the other one looks at it
        deadline = perf_counter() + 10
        while not stop.asked:
            assert perf_counter() < deadline

    with pytest.raises(ZeroDivisionError):
        run([task] * 6, 2, stop)
    assert len(begun) == 2


def test_tasks_within_tasks_end():
    # all threads of the pool are busy with the outer ones
    def outer(i):
        return sum(run([lambda j=j: i * j for j in range(8)], 2))

    assert run([partial(outer, i) for i in range(8)], 2) == [28 * i for i in range(8)]


@pytest.mark.parametrize(("n_multiplications", "n_slices"), [(1e12, 3), (10, 1)])
def test_slices_for_threads(n_multiplications, n_slices):
    with blas_threads(3):
        slices = in_threads(lambda part: part, 10, n_multiplications)
    assert [i for part in slices for i in range(10)[part]] == list(range(10))
    assert len(slices) == n_slices


def test_blas_threads_are_restored_after_an_error():
    inside = []

    def failing():
        with blas_threads(1):
            inside.append(blas())
            raise ZeroDivisionError

    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ZeroDivisionError):
            failing()
        assert set(inside[0].values()) == {1}
        assert set(blas().values()) == {2}


@pytest.mark.parametrize("first_to_leave", [0, 1])
def test_blas_threads_are_restored_whoever_leaves_last(first_to_leave):
    # fits in different threads do not end in the order in which they began
    with threadpool_limits(2, user_api="blas"):
        limits = [blas_threads(1), blas_threads(1)]
        for limit in limits:
            limit.__enter__()
        limits[first_to_leave].__exit__(None, None, None)
        assert set(blas().values()) == {1}
        limits[1 - first_to_leave].__exit__(None, None, None)
        assert set(blas().values()) == {2}


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
@pytest.mark.parametrize("estimator", [UniSVMClassifier, UniSVMRegressor])
def test_fit_restores_blas_threads(small_blocks, n_jobs, estimator):
    rng = np.random.RandomState(0)
    X, y = rng.randn(300, 3), rng.randint(2, size=300)
    for limit in (1, 2):
        with threadpool_limits(limit, user_api="blas"):
            before = blas()
            estimator(rank=20, n_jobs=n_jobs, random_state=0).fit(X, y).predict(X)
            assert blas() == before


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
@pytest.mark.parametrize("calls", [0, 2, 3, 8])
def test_a_fit_that_fails_restores_blas_threads(small_blocks, n_jobs, calls):
    # the function fails in K(B, B), in the second or the last block of the features, at the end of the diagonal
    lock, count = threading.Lock(), [0]

    def failing(X, Z):
        with lock:
            count[0] += 1
            if count[0] > calls:
                raise ZeroDivisionError
        return X @ Z.T

    rng = np.random.RandomState(0)
    X, y = rng.randn(130, 3), rng.randint(2, size=130)
    with threadpool_limits(2, user_api="blas"):
        before = blas()
        with pytest.raises(ZeroDivisionError):
            UniSVMClassifier(kernel=failing, rank=130, n_jobs=n_jobs).fit(X, y)
        assert blas() == before


def test_the_number_of_threads_does_not_change_the_answer(small_blocks):
    rng = np.random.RandomState(0)
    X = rng.randn(400, 3)
    y = (X[:, 0] > 0).astype(int)
    one, two = (UniSVMClassifier(rank=30, n_jobs=n, tol=1e-8, random_state=0).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.landmarks_, two.landmarks_)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-3)
