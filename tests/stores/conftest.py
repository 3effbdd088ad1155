import dask
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from unisvm.rows import memory


@pytest.fixture(autouse=True, scope="session")
def single_threaded_products():
    """On matrices as small as these, threads do nothing but wait for each other when the machine is busy."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(autouse=True)
def threaded_dask():
    """Dask works in threads of this process, unless a test has a cluster."""
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks as short as they get: 64 rows."""
    monkeypatch.setattr(memory, "_BLOCK_BYTES", 1)
    monkeypatch.setattr(memory, "_WORTH_SHARING", 0)


@pytest.fixture
def rng():
    return np.random.RandomState(0)
