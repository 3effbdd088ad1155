"""Fixtures that tests in several folders share."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import StandardScaler
from threadpoolctl import ThreadpoolController

from unisvm import compiled
from unisvm.rows import MemoryRows, mapped, memory

_LIBRARIES = ThreadpoolController()


@pytest.fixture(autouse=True)
def one_blas_thread():
    """Matrix products have one thread: on so few rows, more of them only wait for each other on a busy machine.

    A test that is about threads asks for them by `n_jobs`, or has a fixture of this name that does nothing.
    """
    with _LIBRARIES.limit(limits=1, user_api="blas"):
        yield


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.fixture
def store():
    """Makes a row store in memory; targets and weights are ones unless they are given."""

    def make(X, targets=None, weights=None, n_threads=1, **options):
        targets = np.ones((X.shape[0], 1)) if targets is None else targets
        weights = np.ones(X.shape[0]) if weights is None else weights
        return MemoryRows(X, targets.astype(X.dtype), np.asarray(weights).astype(X.dtype), n_threads, **options)

    return make


@pytest.fixture
def small_blocks(monkeypatch):
    """Row stores in memory work on blocks as short as they get, 64 rows, and share them among all threads."""
    monkeypatch.setattr(memory, "_BLOCK_BYTES", 1)
    monkeypatch.setattr(memory, "_WORTH_SHARING", 0)


@pytest.fixture
def not_compiled(monkeypatch):
    """NumPy and SciPy do the work of the compiled code."""
    monkeypatch.setattr(compiled, "_sweeps", None)


@pytest.fixture(params=["compiled", "not compiled"])
def compiled_or_not(request):
    """The compiled code does its work, and then NumPy and SciPy do it."""
    if request.param == "not compiled":
        request.getfixturevalue("not_compiled")


@pytest.fixture
def small_reads(monkeypatch):
    """Rows in files are read a few at a time."""
    monkeypatch.setattr(mapped, "_READ_AT_ONCE", 2**10)


@pytest.fixture
def scratch(tmp_path):
    """A folder for scratch files, in which nothing may be left."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def threaded_dask():
    """Dask works in threads of this process."""
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@pytest.fixture(scope="session")
def labels():
    """Rows with two classes, scaled."""
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:300], y[:300]


@pytest.fixture(scope="session")
def real_targets():
    """Rows with real targets, scaled."""
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture
def as_map(tmp_path):
    """Makes a memory map of an array."""

    def make(array, mode="r"):
        np.save(tmp_path / "mapped.npy", array)
        return np.load(tmp_path / "mapped.npy", mmap_mode=mode)

    return make
