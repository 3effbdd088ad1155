import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from unisvm.rows import MemoryRows, memory


@pytest.fixture(autouse=True, scope="module")
def single_threaded_products():
    """On matrices as small as these, threads do nothing but wait for each other when the machine is busy."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture
def store():
    """Rows in memory; targets and weights are ones unless given."""

    def make(X, targets=None, weights=None, n_threads=1):
        targets = np.ones((X.shape[0], 1)) if targets is None else targets
        weights = np.ones(X.shape[0]) if weights is None else weights
        return MemoryRows(X, targets.astype(X.dtype), np.asarray(weights).astype(X.dtype), n_threads)

    return make


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks as short as they get: 64 rows."""
    monkeypatch.setattr(memory, "_BLOCK_BYTES", 1)
    monkeypatch.setattr(memory, "_WORTH_SHARING", 0)
