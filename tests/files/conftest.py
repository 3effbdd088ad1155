"""Shared by the tests of rows in files."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file
from threadpoolctl import threadpool_limits

from unisvm.rows import stored


@pytest.fixture(autouse=True)
def one_blas_thread():
    """On so few rows threads cost more than they gain."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture
def small_reads(monkeypatch):
    """Files are read by a few rows at a time."""
    monkeypatch.setattr(stored, "_READ_AT_ONCE", 2**10)


@pytest.fixture
def scratch(tmp_path):
    """A folder for scratch files, in which nothing may be left."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []


@pytest.fixture
def write(tmp_path):
    """Writes an array as a file of some kind, and gives its path."""

    def as_file(kind, X, y=None):
        y = np.zeros(len(X)) if y is None else y
        path = tmp_path / f"rows.{kind}"
        if kind == "npy":
            np.save(path, X)
        elif kind == "parquet":
            pq.write_table(table(X), path, row_group_size=130)
        elif kind == "folder":
            path.mkdir()
            for i, part in enumerate(np.array_split(X, 3)):
                pq.write_table(table(part), path / f"part-{i}.parquet")
        elif kind in ("svm", "libsvm", "txt", "scale"):
            dump_svmlight_file(X, y, str(path), zero_based=False)
        return path

    def table(X):
        return pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])})

    return as_file
