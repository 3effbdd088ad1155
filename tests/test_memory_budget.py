"""Memory limits as they are written, the bytes that a fit takes, and the fits that are refused."""

import numpy as np
import pytest

from unisvm import UniSVMClassifier, memory_budget
from unisvm.memory_budget import (
    MemoryBudget,
    check_room_for_kernel,
    column_bytes,
    feature_bytes,
    gram_bytes,
    parse_memory,
    per_thread_gram_bytes,
    readable,
)
from unisvm.rows import MemoryRows


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
    monkeypatch.setattr(memory_budget, "_physical_memory", lambda: 1000)
    assert parse_memory(None) == 1000
    assert parse_memory(0.25) == 250
    assert parse_memory(np.float32(0.5)) == 500
    # where the system does not tell, a share means nothing and None means no limit
    monkeypatch.setattr(memory_budget, "_physical_memory", lambda: None)
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
    if parse_memory(None) is None:
        pytest.skip("the system does not say how much")
    assert parse_memory(None) > 2**20
    assert parse_memory(0.5) == pytest.approx(parse_memory(None) / 2, abs=1)


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(12, "12 bytes"), (1500, "1.5 KB"), (2.5e6, "2.5 MB"), (3e9, "3 GB"), (4.2e13, "42 TB")]
)
def test_readable(n_bytes, text):
    assert readable(n_bytes) == text


# ---------------------------------------------------------------------- budgets

F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def rows_of(store, m=2000, dtype=np.float64, n_threads=1):
    return store(np.zeros((m, 3), dtype), n_threads=n_threads)


def test_bytes(store):
    assert feature_bytes(1000, 50, F32) == 200_000
    assert feature_bytes(1000, 50, F64) == 400_000
    assert per_thread_gram_bytes(50, F64, 2) == 2 * 2 * 50**2 * 8
    # threads share the bands of one matrix where matrices of their own would be too large
    many = gram_bytes(rows_of(store, n_threads=2), 10_000, 0)
    more = gram_bytes(rows_of(store, n_threads=64), 10_000, 0)
    assert many == more == 3 * 8 * 10_000**2
    # no more rows can be in a sample than there are
    assert gram_bytes(rows_of(store), 50, 10**9) == gram_bytes(rows_of(store), 50, 2000)
    assert gram_bytes(rows_of(store), 50, 500) - gram_bytes(rows_of(store), 50, 0) == feature_bytes(500, 50, F64)


def test_columns():
    assert column_bytes(10**6, 1) == 32 * 10**6
    assert column_bytes(10**6, 4) == 80 * 10**6
    MemoryBudget(None).check_columns(10**12, 4)
    MemoryBudget(32 * 10**6).check_columns(10**6, 1)
    with pytest.raises(MemoryError, match=r"1000001 columns need 32 MB even if they are empty, more than memory_limit"):
        MemoryBudget(32 * 10**6).check_columns(10**6 + 1, 1)


def test_room_for_features(store):
    rows = rows_of(store)
    assert MemoryBudget(None).room_for_features(rows, 50, 1000) == np.inf
    moments = gram_bytes(rows, 50, 1000)
    assert MemoryBudget(10**7).room_for_features(rows, 50, 1000) == 10**7 - moments
    assert MemoryBudget(10**7).room_for_features(rows, 50, 1000, reserved=1000) == 10**7 - moments - 1000
    # the features may be on disk, the moments not
    assert MemoryBudget(moments).room_for_features(rows, 50, 1000) == 0
    with pytest.raises(MemoryError, match=r"2000 rows and 50 landmarks in float64 need .* with the features on disk"):
        MemoryBudget(moments - 1).room_for_features(rows, 50, 1000)
    # a solver that copies the features has them in memory
    copies = 2 * feature_bytes(2000, 50, F64)
    assert MemoryBudget(moments + copies).room_for_features(rows, 50, 1000, copies_of_features=2) == np.inf
    with pytest.raises(MemoryError, match=r"more than memory_limit's 2\.06 MB\. Lower rank"):
        MemoryBudget(moments + copies - 1).room_for_features(rows, 50, 1000, copies_of_features=2)


def test_a_refusal_says_whose_limit_it_is(store, monkeypatch):
    monkeypatch.setattr(memory_budget, "_physical_memory", lambda: 1000)
    for limit, owner in ((None, "this machine's 1 KB"), (500, "memory_limit's 500 bytes")):
        with pytest.raises(MemoryError, match=owner):
            MemoryBudget.parse(limit).room_for_features(rows_of(store), 50, 1000)


def test_share():
    assert MemoryBudget(10**6).share(4).limit == 250_000
    assert MemoryBudget(None).share(4).limit is None


def test_cells_at_once():
    assert MemoryBudget(None).cells_at_once(7, 10**9, 10**9) == 7
    # a quarter of the memory is for them
    assert MemoryBudget(4000).cells_at_once(100, 200, 80) == 10
    assert MemoryBudget(4000).cells_at_once(5, 200, 80) == 5
    with pytest.raises(MemoryError, match=r"more than a quarter of the limit of 4 KB\. Use fewer splits"):
        MemoryBudget(4000).cells_at_once(5, 200, 801)


def test_fits_at_once(store):
    rows = rows_of(store)
    each = 1000 + feature_bytes(2000, 50, F64) + gram_bytes(rows, 50, 1000)
    assert MemoryBudget(3 * each).fits_at_once(3, rows, 50, 1000, 1000)
    assert not MemoryBudget(3 * each - 1).fits_at_once(3, rows, 50, 1000, 1000)
    assert MemoryBudget(None).fits_at_once(10**6, rows, 50, 1000, 1000)
    # decisions have no more than a quarter of the memory
    assert not MemoryBudget(8 * 10**8 - 1).fits_at_once(2, rows, 50, 1000, 10**8)
    assert MemoryBudget(8 * 10**8).fits_at_once(2, rows, 50, 1000, 10**8)


def test_kernel_matrix_of_all_rows(monkeypatch):
    monkeypatch.setattr(memory_budget, "_physical_memory", lambda: 8 * 100**2)
    check_room_for_kernel("BaselineSVM", 100, 1)
    with pytest.raises(MemoryError, match=r"BaselineSVM holds the kernel matrix of all 100 rows, which needs 160 KB"):
        check_room_for_kernel("BaselineSVM", 100, 2)


@pytest.mark.parametrize("solver", ["lbfgs", "dca"])
def test_a_fit_that_does_not_fit_is_refused_before_the_features_are_built(monkeypatch, solver):
    monkeypatch.setattr(MemoryRows, "build", lambda *args: pytest.fail("the features were built"))
    X = np.random.RandomState(0).randn(1000, 3)
    with pytest.raises(MemoryError, match="1000 rows and 100 landmarks in float64 need"):
        UniSVMClassifier(rank=100, rank_tol=0.0, memory_limit="100KB", solver=solver).fit(X, X[:, 0] > 0)
