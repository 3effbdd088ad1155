"""Files of rows."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file


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
