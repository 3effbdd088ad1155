"""Damaged and hostile files: their rows, or a ValueError or OSError that names the file, and no code of theirs."""

import gzip
import json
import pickle
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hard.effort import HARD, SEED, effort
from unisvm import UniSVMClassifier
from unisvm.checkpoint import file_format
from unisvm.io import files

TESTS = Path(__file__).resolve().parents[1]
#: cases of the short part; all of the suite takes a minute for each reader
CASES = {"npy": 900, "parquet": 700, "libsvm": 500, "checkpoint": 100}
#: of memory that damaged files may take beside whole ones
MOST_MB = 150


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits on memory and files")
@pytest.mark.parametrize("reader", CASES)
def test_damaged_files(tmp_path, tried, reader):
    # a child, which a damaged file can end without ending the tests
    amount = ["--seconds", "60"] if HARD else ["--cases", str(CASES[reader])]
    ran = subprocess.run(
        [sys.executable, "-m", "hard.read_damaged", reader, str(tmp_path), str(SEED), *amount],
        cwd=TESTS,
        capture_output=True,
        text=True,
        timeout=300,
    )
    # the last case that began, when it is the one that ended the process
    assert ran.returncode == 0, f"seed {SEED}: {ran.stderr[-2000:]}"
    found = json.loads(ran.stdout.splitlines()[-1])
    tried.add(sum(found["counts"].values()) + len(found["failures"]))
    assert found["failures"] == [], f"seed {SEED}"
    assert found["unpickled"] == []
    assert found["MB"] < MOST_MB
    # most damage is noticed, and some is such that the file can still be read
    assert found["counts"]["refused"] > found["counts"]["read"] > 0
    assert found["counts"]["used"] > 0


# ------------------------------------------------------------------ code in files


class Hostile:
    """An object whose pickle makes a folder when it is read."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return Path.mkdir, (self.marker,)


@pytest.fixture
def hostile(tmp_path):
    """An object whose pickle must not be read, as the test makes sure that it was."""
    marker = tmp_path / "marker"
    pickle.loads(pickle.dumps(Hostile(marker)))
    assert marker.exists()
    marker.rmdir()
    yield Hostile(marker)
    assert not marker.exists()


def refused(path, y="label"):
    """Raise unless a fit and a prediction refuse a file by its name."""
    X = np.eye(4)
    model = UniSVMClassifier(random_state=0, rank=2).fit(X, [0, 1, 0, 1])
    for use in (lambda: UniSVMClassifier(random_state=0).fit(path, y), lambda: model.predict(path)):
        with pytest.raises(ValueError, match=path.name):
            use()


@pytest.mark.parametrize("suffix", ["npy", "parquet", "svm", "svm.gz", "pkl", "joblib", "npz", "ckpt"])
def test_pickles_by_any_name(tmp_path, tried, hostile, suffix):
    path = tmp_path / f"rows.{suffix}"
    data = pickle.dumps(hostile)
    path.write_bytes(gzip.compress(data) if suffix == "svm.gz" else data)
    refused(path, [0, 1])
    tried.add()


@pytest.mark.parametrize("kind", ["matrix", "targets", "records", "archive"])
def test_pickle_in_an_array(tmp_path, tried, hostile, kind):
    path = tmp_path / "rows.npy"
    array = np.array([[hostile, 1.0], [2.0, 3.0]], dtype=object)
    if kind == "archive":
        with open(path, "wb") as file:
            np.savez(file, array)
    else:
        array = np.array([(hostile, 1.0)] * 2, dtype="O,f8") if kind == "records" else array
        np.save(path, array[:, 0] if kind == "targets" else array, allow_pickle=True)
    if kind == "targets":
        with pytest.raises(ValueError, match=r"rows.npy is no .npy file"):
            UniSVMClassifier().fit(np.eye(2), path)
    else:
        refused(path, [0, 1])
    tried.add()


def test_pickle_in_a_table(tmp_path, tried, hostile):
    data = pickle.dumps(hostile)
    columns = {"a": np.arange(20.0), "b": [data] * 20}
    pd.DataFrame(columns | {"label": [0, 1] * 10}).to_parquet(tmp_path / "column.parquet")
    refused(tmp_path / "column.parquet")
    # an extension type of another library, with its own description
    kind = pa.binary()
    field = pa.field(
        "b", kind, metadata={"ARROW:extension:name": "arrow.py_extension_type"} | {"ARROW:extension:metadata": data}
    )
    table = pa.table([np.arange(20.0), [data] * 20], schema=pa.schema([("a", pa.float64()), field]))
    pq.write_table(table, tmp_path / "extension.parquet")
    refused(tmp_path / "extension.parquet", [0, 1] * 10)
    # in what pandas says of its table
    table = pa.table({"a": np.arange(20.0), "label": [0, 1] * 10}).replace_schema_metadata({"pandas": data, "x": data})
    pq.write_table(table, tmp_path / "said.parquet")
    refused(tmp_path / "said.parquet")
    # as labels
    pq.write_table(pa.table({"a": np.arange(20.0), "label": [data] * 20}), tmp_path / "labels.parquet")
    with pytest.raises(ValueError, match=r"labels.parquet: the column 'label'"):
        UniSVMClassifier().fit(tmp_path / "labels.parquet", "label")
    tried.add(4)


def test_pickle_in_a_checkpoint(tmp_path, tried, hostile):
    X, y = np.random.RandomState(0).randn(60, 3), np.arange(60) % 2
    settings = {"rank": 5, "C": 1.0, "random_state": 0, "checkpoint": tmp_path / "fit"}
    UniSVMClassifier(**settings).fit(X, y)
    for path in sorted((tmp_path / "fit").glob("*.ckpt")):
        good = path.read_bytes()
        with file_format.read_file(path) as archive:
            arrays = dict(archive)
        for name in [*arrays, "more"]:
            forged = arrays | {name: np.array([hostile], dtype=object)}
            file_format.write_file(path, forged)
            with pytest.raises(ValueError, match=f"{path.name}' is damaged.*Delete it"):
                UniSVMClassifier(**settings).fit(X, y)
            tried.add()
        path.write_bytes(pickle.dumps(hostile))
        with pytest.raises(ValueError, match=f"{path.name}' is damaged.*Delete it"):
            UniSVMClassifier(**settings).fit(X, y)
        path.write_bytes(good)


# ------------------------------------------------------------------ files that unpack to far more than they are

BOMBS = {"zeros": b"\0", "spaces": b" ", "digits": b"1", "comment": b"#", "returns": b"\r"}


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of the memory is Linux's")
@pytest.mark.parametrize("byte", BOMBS.values(), ids=BOMBS)
def test_one_line_that_unpacks_to_much(tmp_path, tried, byte):
    path = tmp_path / "line.svm.gz"
    with gzip.open(path, "wb", 1) as file:
        for _ in range(effort(200, 2000)):
            file.write(byte * 2**20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match=r"line.svm.gz, line 1: it"):
        files.open_rows(path)
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 600
    tried.add()
