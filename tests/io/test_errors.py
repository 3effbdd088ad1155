"""Files that cannot be used: the message names the file and the line or column, and no scratch file is left."""

import builtins
import errno
import gzip
import os
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unisvm import UniSVMClassifier, UniSVMRegressor
from unisvm.io import libsvm

GOOD = "".join(f"{i % 2} 1:{i / 7!r} 3:{i % 5}\n" for i in range(40))
COLUMNS = {"a": np.arange(20.0), "b": np.arange(20) % 3}
TARGET = np.arange(20) % 2


@pytest.fixture
def model(scratch):
    return UniSVMClassifier(random_state=0, scratch_dir=scratch)


# ------------------------------------------------------------------ LIBSVM's text

BROKEN = {
    "no colon": ("1 1:2 3", "is not '<label> <index>:<value>"),
    "index": ("1 one:2", "invalid literal"),
    "value": ("1 1:two", "could not convert"),
    "no value": ("1 1:", "could not convert"),
    "label": ("yes 1:2", "could not convert"),
    "several labels": ("1,2 1:2", "could not convert"),
    "order": ("1 3:2 1:2", "sorted and unique"),
    "twice": ("1 3:2 3:2", "sorted and unique"),
    "negative": ("1 -3:2", "Invalid index"),
    "huge": ("1 99999999999:2", "too large"),
    "nan": ("1 1:nan", "NaN or infinite"),
    "inf": ("1 1:1e999", "NaN or infinite"),
    "label nan": ("nan 1:2", "label is NaN or infinite"),
    "carriage return": ("1 1:2\r0 1:3", "carriage return .CR."),
    "carriage return in a comment": ("1 1:2 # a\r0 1:3", "carriage return .CR."),
    "zeros": ("1 1:2 3:\0", "byte of zeros"),
    "zeros in a comment": ("1 1:2 # \0", "byte of zeros"),
    "binary": ("\x93NUMPY\x01", "could not convert"),
}


@pytest.mark.parametrize(("line", "reason"), BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("before", [0, 1, 40])
@pytest.mark.parametrize("chunk", [50, 2**22])
def test_broken_line(tmp_path, model, monkeypatch, line, reason, before, chunk):
    monkeypatch.setattr(libsvm, "_CHUNK_BYTES", chunk)
    lines = GOOD.splitlines()
    path = tmp_path / "broken.svm"
    text = "# comment\n\n" + "\n".join([*lines[:before], line, *lines[before:]]) + "\n"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(ValueError, match=reason) as caught:
        model.fit(path)
    assert str(caught.value).startswith(f"{path}, line {before + 3}: ")


@pytest.mark.parametrize("text", ["", "\n# nothing\n"])
def test_no_lines(tmp_path, model, text):
    (tmp_path / "empty.svm").write_text(text)
    with pytest.raises(ValueError, match=r"empty.svm has no rows"):
        model.fit(tmp_path / "empty.svm")


@pytest.mark.parametrize("chunk", [50, 2**22])
@pytest.mark.parametrize("start", ["", "# comment\r", "1 1:2 # comment\r"])
def test_lines_that_end_in_a_carriage_return(tmp_path, model, monkeypatch, chunk, start):
    monkeypatch.setattr(libsvm, "_CHUNK_BYTES", chunk)
    path = tmp_path / "mac.svm"
    path.write_text(start + GOOD, newline="\r")
    with pytest.raises(ValueError, match=r"mac.svm, line 1: .* \(CR\) .* end the lines with LF or CRLF"):
        model.fit(path)
    path.write_text(GOOD, newline="\r\n")
    assert model.fit(path).n_features_in_ == 3


@pytest.mark.parametrize("character", ["1", " ", "#", "\0"])
def test_line_without_an_end(tmp_path, model, monkeypatch, character):
    # a hole of zeros in a file took 24 times its memory, and minutes
    monkeypatch.setattr(libsvm, "_CHUNK_BYTES", 50)
    monkeypatch.setattr(libsvm, "_MAX_LINE_BYTES", 1000)
    path = tmp_path / "long.svm.gz"
    path.write_bytes(gzip.compress(b"1 1:2\n0 1:3 2:" + character.encode() * 5000 + b"\n1 1:2\n"))
    said = "byte of zeros" if character == "\0" else "does not end within 1000 bytes"
    with pytest.raises(ValueError, match=rf"long.svm.gz, line 2: it .*{said}"):
        model.fit(path)
    path.write_bytes(gzip.compress(GOOD.encode() + b"1 1:" + b"0" * 800 + b"3\n"))
    assert model.fit(path).n_features_in_ == 3


def test_cut_off_archive(tmp_path, model):
    path = tmp_path / "cut.svm.gz"
    path.write_bytes(gzip.compress(GOOD.encode())[:-20])
    with pytest.raises(ValueError, match=r"cut.svm.gz cannot be unpacked"):
        model.fit(path)
    path.write_text("not packed")
    with pytest.raises(ValueError, match=r"cut.svm.gz cannot be unpacked"):
        model.fit(path)


def test_larger_index_than_in_training(tmp_path, model):
    train, test = tmp_path / "train.svm", tmp_path / "test.svm"
    train.write_text(GOOD)
    test.write_text("0 1:1\n0 2:1 4:1\n")
    model.fit(train)
    with pytest.raises(
        ValueError, match=r"test.svm, line 2: it has the index 4, but the model was fitted on 3 features"
    ):
        model.predict(test)
    test.write_text("0 1:1\n0 0:1\n")
    with pytest.raises(
        ValueError, match=r"line 2: it has the index 0, but in the file of the fit indices count from 1"
    ):
        model.predict(test)
    # a model that never saw a file can tell only in the end from where indices count
    model.fit(np.eye(3), [0, 1, 1])
    test.write_text("0 0:1\n0 3:1\n")
    with pytest.raises(ValueError, match=r"the index 3, and indices that count from 0, .* fitted on 3 features"):
        model.predict(test)


# ------------------------------------------------------------------ Parquet


def test_column_of_text(tmp_path, model):
    pq.write_table(pa.table(COLUMNS | {"name": ["x"] * 20}), tmp_path / "text.parquet")
    with pytest.raises(ValueError, match=r"text.parquet: the column 'name' does not hold numbers but string"):
        model.fit(tmp_path / "text.parquet", TARGET)


@pytest.mark.parametrize("name", ["b", "label"])
def test_column_with_nulls(tmp_path, model, name):
    columns = COLUMNS | {"label": TARGET}
    columns[name] = pa.array([None if i == 7 else i % 2 for i in range(20)])
    pq.write_table(pa.table(columns), tmp_path / "nulls.parquet")
    with pytest.raises(ValueError, match=rf"nulls.parquet: the column '{name}' has nulls"):
        model.fit(tmp_path / "nulls.parquet", "label")


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([b"a", b"b"] * 10), "binary"),
        (pa.array([b"a", b"b"] * 10).dictionary_encode(), "binary"),
        (pa.array([b"ab", b"cd"] * 10, pa.binary(2)), "fixed_size_binary"),
        (pa.array([{"u": 1}, {"u": 2}] * 10), "struct<u: int64>"),
        (pa.array([[1], [2]] * 10), "list<.*: int64>"),
        (pa.array([1, 2] * 10, pa.time32("s")), "time32"),
    ],
    ids=["bytes", "categories of bytes", "bytes of one length", "records", "lists", "times of day"],
)
@pytest.mark.parametrize("cls", [UniSVMClassifier, UniSVMRegressor])
def test_column_of_targets_of_a_wrong_kind(tmp_path, cls, column, kind):
    pq.write_table(pa.table(COLUMNS | {"label": column}), tmp_path / "rows.parquet")
    with pytest.raises(
        ValueError, match=rf"rows.parquet: the column 'label' .* does not hold numbers or text but {kind}"
    ):
        cls().fit(tmp_path / "rows.parquet", "label")


@pytest.mark.parametrize("value", [np.nan, -np.inf])
def test_column_that_is_not_finite(tmp_path, model, value):
    column = np.arange(20.0)
    column[13] = value
    folder = tmp_path / "parts"
    folder.mkdir()
    pq.write_table(pa.table(COLUMNS), folder / "0.parquet")
    pq.write_table(pa.table(COLUMNS | {"a": column}), folder / "1.parquet")
    with pytest.raises(ValueError, match=r"1.parquet: the column 'a' has NaN or infinity in row 13"):
        model.fit(folder, np.tile(TARGET, 2))


@pytest.mark.parametrize(
    ("second", "said"),
    [
        ({"a": COLUMNS["a"]}, "missing: 'b'"),
        (COLUMNS | {"c": COLUMNS["a"]}, "more: 'c'"),
        ({"a": COLUMNS["a"], "B": COLUMNS["b"]}, "missing: 'b'; more: 'B'"),
    ],
)
def test_files_of_different_widths(tmp_path, model, second, said):
    for i, columns in enumerate((COLUMNS, second)):
        pq.write_table(pa.table(columns), tmp_path / f"{i}.parquet")
    with pytest.raises(ValueError, match=rf"The columns of .*1.parquet are not those of .*0.parquet; {said}"):
        model.fit(tmp_path, np.tile(TARGET, 2))


def test_unknown_column(tmp_path, model):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(COLUMNS | {"label": TARGET}), path)
    with pytest.raises(ValueError, match="did you mean 'label'"):
        model.fit(path, "lable")
    model.fit(path, "label")
    pq.write_table(pa.table({"a": COLUMNS["a"], "c": COLUMNS["a"]}), path)
    with pytest.raises(ValueError, match=r"not those that the model was fitted on; missing: 'b'"):
        model.predict(path)


def test_folders(tmp_path, model):
    with pytest.raises(ValueError, match=r"has no .parquet files"):
        model.fit(tmp_path, TARGET)
    (tmp_path / "year=2020").mkdir()
    pq.write_table(pa.table(COLUMNS), tmp_path / "year=2020" / "0.parquet")
    with pytest.raises(ValueError, match="in folders of its own"):
        model.fit(tmp_path, TARGET)


def test_files_that_are_no_tables_of_rows(tmp_path, model):
    (tmp_path / "fake.parquet").write_text(GOOD)
    with pytest.raises(ValueError, match=r"fake.parquet is no Parquet file"):
        model.fit(tmp_path / "fake.parquet", TARGET)
    pq.write_table(pa.table({"label": TARGET}), tmp_path / "narrow.parquet")
    with pytest.raises(ValueError, match="no columns for X"):
        model.fit(tmp_path / "narrow.parquet", "label")
    pq.write_table(pa.table({"a": np.empty(0)}), tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match="has no rows"):
        model.fit(tmp_path / "empty.parquet", [])
    twice = pa.table([COLUMNS["a"], COLUMNS["a"]], names=["a", "a"])
    pq.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(ValueError, match="more than one column of the name 'a'"):
        model.fit(tmp_path / "twice.parquet", TARGET)


def test_without_pyarrow(tmp_path, model, monkeypatch):
    pq.write_table(pa.table(COLUMNS), tmp_path / "rows.parquet")
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'unisvm\[parquet\]'"):
        model.fit(tmp_path / "rows.parquet", TARGET)


# ------------------------------------------------------------------ any file


@pytest.mark.parametrize("name", ["rows.npy", "rows.parquet", "rows.svm", "rows"])
def test_no_file(tmp_path, model, name):
    with pytest.raises(FileNotFoundError, match=name):
        model.fit(tmp_path / name, TARGET)
    with pytest.raises(FileNotFoundError, match=name):
        model.fit(np.eye(3), [0, 1, 0]).predict(str(tmp_path / name))


@pytest.mark.parametrize("suffix", ["csv", "npz", "csv.gz", "npy.gz", "parquet.bz2", "JSON"])
def test_wrong_suffix(tmp_path, model, suffix):
    path = tmp_path / f"rows.{suffix}"
    path.touch()
    with pytest.raises(ValueError, match=rf"rows.{suffix}: files of this kind are not read. Give .npy, .parquet"):
        model.fit(path, TARGET)


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (np.arange(20.0), "two dimensions"),
        (np.array([["a"] * 2] * 20), "must hold numbers"),
        (np.ones((20, 2), complex), "must hold numbers"),
        (np.empty((0, 2)), "at least one row"),
        (np.empty((20, 0)), "one column"),
    ],
)
def test_array_of_a_wrong_kind(tmp_path, model, array, said):
    np.save(tmp_path / "rows.npy", array)
    with pytest.raises(ValueError, match=said):
        model.fit(tmp_path / "rows.npy", np.arange(len(array)) % 2)


def test_array_of_objects_and_fake(tmp_path, model):
    np.save(tmp_path / "rows.npy", np.array([[1, "a"]], dtype=object))
    with pytest.raises(ValueError, match=r"rows.npy is no .npy file of numbers"):
        model.fit(tmp_path / "rows.npy", TARGET)
    (tmp_path / "rows.npy").write_text(GOOD)
    with pytest.raises(ValueError, match=r"rows.npy is no .npy file of numbers"):
        model.fit(tmp_path / "rows.npy", TARGET)


@pytest.mark.parametrize("kind", ["npy", "parquet", "svm"])
def test_targets_of_another_length(write, model, kind):
    path = write(kind, np.arange(40.0).reshape(20, 2))
    with pytest.raises(ValueError, match=r"20.*19|20, 19"):
        model.fit(path, TARGET[:19])
    with pytest.raises(ValueError, match="y"):
        model.fit(write("npy", np.eye(5)))


def test_targets_in_a_wrong_file(write, tmp_path, model):
    path = write("npy", np.eye(5))
    with pytest.raises(ValueError, match=r"y must be an array, the path of a .npy file"):
        model.fit(path, "labels.csv")
    with pytest.raises(FileNotFoundError, match=r"labels.npy"):
        model.fit(path, tmp_path / "labels.npy")


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.array(1), "must have one dimension, or two; its shape is ()"),
        (np.ones((20, 1, 1)), "must have one dimension, or two; its shape is (20, 1, 1)"),
        (np.array([b"a", b"b"] * 10), "must hold numbers, text or times; its type is |S1"),
        (np.ones(20, complex), "must hold numbers, text or times; its type is complex128"),
        (np.ones(20, "f8,f8"), "must hold numbers, text or times; its type is [('f0', '<f8'), ('f1', '<f8')]"),
    ],
    ids=["scalar", "three dimensions", "bytes", "complex", "records"],
)
def test_targets_of_a_wrong_kind(tmp_path, model, y, said):
    np.save(tmp_path / "y.npy", y)
    with pytest.raises(ValueError, match=rf"y.npy: y {re.escape(said)}\.$"):
        model.fit(np.arange(40.0).reshape(20, 2), tmp_path / "y.npy")


@pytest.mark.parametrize("kind", ["parquet", "svm"])
def test_no_room(write, scratch, monkeypatch, kind):
    path = write(kind, np.arange(4000.0).reshape(2000, 2) + 1)
    model = UniSVMRegressor(scratch_dir=scratch, random_state=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=10_000))
    with pytest.raises(
        OSError, match=r"The rows of .* need .* in the scratch folder .* are free.*scratch_dir"
    ) as caught:
        model.fit(path, np.arange(2000.0))
    assert caught.value.errno == errno.ENOSPC
    assert str(scratch) in str(caught.value)


@pytest.mark.parametrize("kind", ["parquet", "svm"])
def test_scratch_files_have_no_names_and_are_closed(write, scratch, kind):
    seen = []

    def kernel(A, B):
        seen.append((os.listdir(scratch), len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0))
        if len(seen) > 3:
            raise KeyboardInterrupt
        return np.asarray((A @ B.T).todense() if kind == "svm" else A @ B.T)

    path = write(kind, np.random.RandomState(0).randn(300, 3))
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    with pytest.raises(KeyboardInterrupt):
        UniSVMRegressor(kernel=kernel, rank=5, scratch_dir=scratch, random_state=0).fit(path, np.arange(300.0))
    assert all(names == [] for names, _ in seen)
    if before:
        assert len(os.listdir("/proc/self/fd")) == before
