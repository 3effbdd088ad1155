"""Rows and targets in .npz archives."""

import io
import struct
import zipfile

import numpy as np
import pytest
from scipy import sparse

from unisvm.io.npz import read_npz

X, Y = np.arange(12.0).reshape(4, 3), np.array([0, 1, 0, 1])


@pytest.fixture
def save(tmp_path):
    """Writes arrays into an archive, and gives its path."""

    def write(compressed=False, **arrays):
        (np.savez_compressed if compressed else np.savez)(tmp_path / "rows.npz", **arrays)
        return tmp_path / "rows.npz"

    return write


def refused(path, match):
    with pytest.raises(ValueError, match=match) as caught:
        read_npz(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("names", [("X", "y"), ("data", "target"), ("X_train", "y_train")])
@pytest.mark.parametrize("compressed", [False, True])
def test_rows_and_targets_by_their_names(save, names, compressed):
    found, targets = read_npz(save(compressed, **{names[0]: X, names[1]: Y, "other": X[:1]}))
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(targets, Y)


@pytest.mark.parametrize("array", [np.asfortranarray(X), X.astype(">f4"), X > 3, X.astype("u1"), X[:0]])
def test_arrays_of_any_layout(save, array):
    found, targets = read_npz(save(X=array))
    np.testing.assert_array_equal(found, array)
    assert found.dtype == array.dtype
    assert targets is None


def test_targets_that_are_text(save):
    assert read_npz(save(X=X, y=["a", "b", "c", "a"]))[1].tolist() == ["a", "b", "c", "a"]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_matrices_of_scipy(tmp_path, make, compressed):
    sparse.save_npz(tmp_path / "rows.npz", make(X), compressed=compressed)
    found, targets = read_npz(tmp_path / "rows.npz")
    assert found.format == "csr"
    np.testing.assert_array_equal(found.toarray(), X)
    assert targets is None


@pytest.mark.parametrize(
    ("arrays", "match"),
    [
        ({"a": X}, "it has no array X, data, X_train, but a"),
        ({"X": X[0]}, r"X must have 2 dimensions; its shape is \(3,\)"),
        ({"X": X.astype(str)}, "X must hold numbers; its type is <U32"),
        ({"X": X.astype(complex)}, "X must hold numbers; its type is complex128"),
        ({"X": np.array([[None]])}, "X must hold numbers; its type is object"),
        ({"X": X, "y": np.array([None] * 4)}, "y must hold numbers or text; its type is object"),
        ({"X": X, "y": Y[:3]}, "it has 4 rows, but 3 targets"),
        ({"X": X, "y": np.zeros((4, 1, 1))}, r"y must have 1 or 2 dimensions; its shape is \(4, 1, 1\)"),
        ({}, "it has no array X, data, X_train, but none at all"),
    ],
)
def test_archives_of_other_arrays(save, arrays, match):
    refused(save(**arrays), match)


def test_formats_of_sparse_matrices_that_are_not_of_rows(tmp_path):
    sparse.save_npz(tmp_path / "rows.npz", sparse.csc_array(X))
    refused(tmp_path / "rows.npz", r"in the format 'csc', but rows are read from CSR: save X.tocsr\(\)")


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("indices", np.array([0, 1, 9]), "indices are from 0 to 9, of 3 columns"),
        ("indices", np.array([0, -1, 2]), "indices are from -1 to 2, of 3 columns"),
        ("indices", np.array([0, 1]), "2 bounds of rows|2 indices and 3 entries"),
        ("indptr", np.array([0, 2, 1, 3]), "do not rise"),
        ("indptr", np.array([0, 1, 2, 2]), "do not rise from 0 to the 3 entries"),
        ("indptr", np.array([0, 3]), "3 rows has 2 bounds of rows"),
        ("shape", np.array([3, -3]), r"has the shape \[3, -3\]"),
        ("shape", np.array([3, 3, 3]), r"has the shape \[3, 3, 3\]"),
        ("data", np.array(["a", "b", "c"]), "data must hold numbers"),
    ],
)
def test_sparse_matrices_that_are_none(save, name, value, match):
    good = {"data": np.ones(3), "indices": np.arange(3), "indptr": np.arange(4), "shape": np.array([3, 3])}
    np.testing.assert_array_equal(read_npz(save(format=b"csr", **good))[0].toarray(), np.eye(3))
    refused(save(format=b"csr", **(good | {name: value})), match)


def test_a_header_that_claims_more_than_there_is(tmp_path):
    held = io.BytesIO()
    np.save(held, X)
    claimed = held.getvalue().replace(b"(4, 3)", b"(9, 3)")
    with zipfile.ZipFile(tmp_path / "rows.npz", "w") as archive:
        archive.writestr("X.npy", claimed)
    refused(tmp_path / "rows.npz", r"but its header says float64 of shape \(9, 3\)")


def test_parts_that_claim_to_unpack_to_more_than_they_can(tmp_path, save):
    path = save(True, X=X)
    data = path.read_bytes()
    directory = data.rindex(b"PK\x01\x02")
    path.write_bytes(data[: directory + 24] + struct.pack("<I", 2**31) + data[directory + 28 :])
    refused(path, "X cannot unpack from [0-9]+ to 2147483648 bytes")


def test_arrays_larger_than_the_limit(save):
    path = save(True, X=np.zeros((1000, 1000)), y=np.zeros(1000))
    with pytest.raises(MemoryError, match=r"rows.npz: X takes 8 MB, more than the 1 MB that are left of the limit"):
        read_npz(path, "1MB")
    # what one array takes is not left for the next
    with pytest.raises(MemoryError, match=r"rows.npz: y takes 8 KB, more than the 1 KB"):
        read_npz(path, 8_001_000)
    assert read_npz(path, 8_010_000)[0].shape == (1000, 1000)


def test_files_that_are_no_archives(tmp_path):
    path = tmp_path / "rows.npz"
    with pytest.raises(FileNotFoundError, match=r"There is no file '.*rows.npz'"):
        read_npz(path)
    path.write_text("a,b\n1,2\n")
    refused(path, "is no .npz file of rows and targets, or it is damaged: File is not a zip file")


def test_two_arrays_of_the_same_name(tmp_path):
    held = io.BytesIO()
    np.save(held, X)
    with zipfile.ZipFile(tmp_path / "rows.npz", "w") as archive:
        archive.writestr("X.npy", held.getvalue())
        archive.writestr("X", held.getvalue())
    refused(tmp_path / "rows.npz", "it has two arrays of the same name")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archives_that_numpy_does_not_write(tmp_path, method):
    held = io.BytesIO()
    np.save(held, X)
    with zipfile.ZipFile(tmp_path / "rows.npz", "w", method) as archive:
        archive.writestr("X.npy", held.getvalue())
    refused(tmp_path / "rows.npz", "X is packed or encrypted as NumPy does not do it")


def test_sparse_matrices_of_half_precision(tmp_path):
    X = sparse.random(9, 4, 0.5, format="csr", random_state=0)
    arrays = {"data": X.data.astype(np.float16), "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
    np.savez(tmp_path / "half.npz", format=np.array("csr"), **arrays)
    found, _ = read_npz(tmp_path / "half.npz")
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.toarray(), X.toarray(), atol=1e-3)
