"""Files of every kind, packed or not, and standard input."""

import bz2
import gzip
import json
import os
import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from unisvm import UniSVMClassifier
from unisvm.cli.sources import format_of, open_source


@pytest.fixture
def expected(cancer):
    X, y = cancer
    return UniSVMClassifier(scale="standard", random_state=0).fit(X[:400], y[:400]).predict(X[400:])


def predicted(unisvm, tmp_path, train, test, *options):
    unisvm("train", "-q", *options, train, "m")
    unisvm("predict", "-q", "--to", "npy", test, "m", "out.npy")
    return np.load(tmp_path / "out.npy")


def test_npz_with_rows_and_targets(unisvm, tmp_path, cancer, expected):
    X, y = cancer
    np.savez(tmp_path / "train.npz", X=X[:400], y=y[:400])
    np.savez(tmp_path / "test.npz", X=X[400:])
    np.testing.assert_array_equal(predicted(unisvm, tmp_path, "train.npz", "test.npz"), expected)


def test_npy_with_targets_in_a_file_of_their_own(unisvm, tmp_path, cancer, expected):
    X, y = cancer
    np.save(tmp_path / "train.npy", X[:400])
    np.save(tmp_path / "y.npy", y[:400])
    np.save(tmp_path / "test.npy", X[400:])
    found = predicted(unisvm, tmp_path, "train.npy", "test.npy", "--target", str(tmp_path / "y.npy"))
    np.testing.assert_array_equal(found, expected)


def test_parquet_of_numbers_is_read_by_blocks(unisvm, tmp_path, cancer, expected):
    X, y = cancer
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(30)]).assign(label=y)
    frame[:400].to_parquet(tmp_path / "train.parquet")
    frame[400:].to_parquet(tmp_path / "test.parquet")
    found = predicted(unisvm, tmp_path, "train.parquet", "test.parquet")
    np.testing.assert_array_equal(found, expected)
    frame[400:].drop(columns="label").iloc[:, ::-1].to_csv(tmp_path / "test.csv", index=False)
    unisvm("predict", "-q", "--to", "npy", "test.csv", "m", "out.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress], ids=["gz", "bz2"])
def test_packed_text_and_packed_standard_input(unisvm, tmp_path, libsvm_files, pack):
    train, test = libsvm_files
    unisvm("train", "-q", train, "m")
    unisvm("predict", "-q", test, "m", "expected")
    packed = pack((tmp_path / train).read_bytes())
    ending = {gzip.compress: ".gz", bz2.compress: ".bz2"}[pack]
    (tmp_path / f"train{ending}").write_bytes(packed)
    unisvm("train", "-q", f"train{ending}", "packed")
    unisvm("train", "-q", "-", "piped", stdin=packed)
    for model in ("packed", "piped"):
        ended = unisvm("predict", "-q", "-", model, stdin=(tmp_path / test).read_bytes())
        assert ended.out == (tmp_path / "expected").read_text()


def test_standard_input_needs_the_name_of_the_model(unisvm):
    assert "Give the name of the model" in unisvm("train", "-", code=1, stdin=b"1 1:2\n").err


def test_output_is_packed_by_its_name(unisvm, tmp_path, libsvm_files):
    train, test = libsvm_files
    unisvm("train", "-q", train, "m")
    unisvm("predict", "-q", test, "m", "out")
    unisvm("predict", "-q", test, "m", "out.gz")
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()) == (tmp_path / "out").read_bytes()


def test_a_matrix_goes_to_a_model_of_a_table(unisvm, tmp_path, cancer):
    X, y = cancer
    names = [f"c{i}" for i in range(30)]
    pd.DataFrame(X[:400], columns=names).assign(label=y[:400]).to_csv(tmp_path / "train.csv", index=False)
    pd.DataFrame(X[400:], columns=names).to_csv(tmp_path / "test.csv", index=False)
    np.savez(tmp_path / "test.npz", X=X[400:])
    dump_svmlight_file(X[400:], y[400:], str(tmp_path / "test.svm"), zero_based=False)
    unisvm("train", "-q", "train.csv", "m")
    for name in ("test.csv", "test.npz", "test.svm"):
        unisvm("predict", "-q", "--to", "npy", name, "m", f"{name}.npy")
    expected = np.load(tmp_path / "test.csv.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "test.npz.npy"), expected)
    np.testing.assert_array_equal(np.load(tmp_path / "test.svm.npy"), expected)
    np.savez(tmp_path / "narrow.npz", X=X[:, :7])
    assert "has 7 columns" in unisvm("predict", "narrow.npz", "m", "out", code=1).err


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (b"1 1:0.5 7:2\n-1 2:1\n", "libsvm"),
        (b"+1 1:0.5\n-1\n", "libsvm"),
        (b"# a comment\n1 1:0.5 # another\n", "libsvm"),
        (b"3 qid:1 1:0.5\n", "libsvm"),
        (b"1:30,clerk,2\n1:45,clerk,3\n", "csv"),
        (b"a b c\n1 2 3\n", "csv"),
        (b"a,b\n1,2\n", "csv"),
        (b"", "csv"),
        (b"1 " + b"1:0.5 " * 20_000, "libsvm"),
        (b"# a comment\n" * 30 + b"1 1:0.5\n", "libsvm"),
        (b"# a comment\n" * 9_000, "csv"),
    ],
)
def test_the_kind_of_text_is_found_out(tmp_path, text, kind):
    (tmp_path / "data").write_bytes(text)
    (tmp_path / "data.gz").write_bytes(gzip.compress(text))
    assert format_of(tmp_path / "data") == format_of(tmp_path / "data.gz") == kind


def test_the_kind_that_is_asked_for_goes_first(tmp_path):
    (tmp_path / "data.csv").write_text("1 1:2\n")
    with open_source(str(tmp_path / "data.csv"), "libsvm") as source:
        assert source.format == "libsvm"
    with pytest.raises(ValueError, match="Unknown format"), open_source(str(tmp_path / "data.csv"), "arff"):
        pass


def test_sparse_npz(unisvm, tmp_path, cancer):
    X, y = cancer
    sparse_rows = sparse.csr_array(np.where(X > 0.5, X, 0))
    sparse.save_npz(tmp_path / "rows.npz", sparse_rows)
    np.save(tmp_path / "y.npy", y)
    unisvm("train", "-q", "--target", str(tmp_path / "y.npy"), "rows.npz", "m")
    unisvm("predict", "-q", "--to", "npy", "rows.npz", "m", "out.npy")
    expected = UniSVMClassifier(scale="minmax", random_state=0).fit(sparse_rows, y).predict(sparse_rows)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


@pytest.fixture
def every_kind(tmp_path, cancer):
    """The same rows and labels in files of every kind, by their kinds."""
    X, y = cancer
    frame = pd.DataFrame(X[:120], columns=[f"c{i}" for i in range(30)]).assign(label=y[:120])
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_csv(tmp_path / "rows.tsv", index=False, sep="\t")
    dump_svmlight_file(X[:120], y[:120], str(tmp_path / "rows.svm"), zero_based=False)
    np.savez(tmp_path / "rows.npz", X=X[:120], y=y[:120])
    return {"parquet": "rows.parquet", "csv": "rows.csv", "tsv": "rows.tsv", "libsvm": "rows.svm", "npz": "rows.npz"}


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "libsvm", "npz"])
def test_every_kind_is_read_from_standard_input_and_under_another_name(unisvm, tmp_path, every_kind, kind):
    path = tmp_path / every_kind[kind]
    content = path.read_bytes()
    (tmp_path / "nameless").write_bytes(content)
    (tmp_path / "rows.json").write_bytes(content)
    unisvm("train", "-q", "--scale", "standard", path, "expected")
    unisvm("train", "-q", "--scale", "standard", "--format", kind, "-", "piped", stdin=content)
    unisvm("train", "-q", "--scale", "standard", "--format", kind, "rows.json", "renamed")
    models = ["piped", "renamed"]
    if kind != "tsv":
        unisvm("train", "-q", "--scale", "standard", "nameless", "found")
        models.append("found")
    for model in ("expected", *models):
        unisvm("predict", "-q", "--to", "npy", path, model, f"{model}.npy")
    for model in models:
        np.testing.assert_array_equal(np.load(tmp_path / f"{model}.npy"), np.load(tmp_path / "expected.npy"))


@pytest.mark.parametrize("kind", ["libsvm", "csv"])
def test_a_named_pipe_is_read_whole(unisvm, tmp_path, every_kind, kind):
    # more than what is read to find out its kind
    lines = (tmp_path / every_kind[kind]).read_text().splitlines(keepends=True)
    content = "".join([lines[0], *lines[1:] * 12])
    (tmp_path / "large").write_text(content)
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(content))
    writer.start()
    facts = json.loads(unisvm("train", "--json", "pipe", "m").out)
    writer.join()
    assert facts["rows"] == json.loads(unisvm("train", "--json", "large", "n").out)["rows"]
    assert facts["classes"].keys() == {"-1", "1"}


def test_targets_of_parquet_in_a_file_of_their_own(unisvm, tmp_path, cancer):
    X, y = cancer
    pd.DataFrame(X, columns=[f"c{i}" for i in range(30)]).to_parquet(tmp_path / "rows.parquet")
    np.save(tmp_path / "y.npy", y)
    unisvm("train", "-q", "--target", "y.npy", "rows.parquet", "m")
    assert "Accuracy = 9" in unisvm("predict", "--target", "y.npy", "rows.parquet", "m", "out").out


def test_options_of_tables_are_refused_for_matrices(unisvm, libsvm_files):
    for option in (["--text", "a"], ["--drop-unlabelled"], ["--no-header"], ["--delimiter", ";"]):
        assert f"{option[0]} is for tables" in unisvm("train", *option, libsvm_files[0], code=1).err


def test_sparse_rows_go_to_a_model_of_dense_ones(unisvm, tmp_path, cancer):
    X, y = cancer
    np.savez(tmp_path / "dense.npz", X=X, y=y)
    dump_svmlight_file(X, y, str(tmp_path / "sparse.svm"), zero_based=False)
    unisvm("train", "-q", "dense.npz", "m")
    for name in ("dense.npz", "sparse.svm"):
        unisvm("predict", "-q", "--to", "npy", name, "m", f"{name}.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "dense.npz.npy"), np.load(tmp_path / "sparse.svm.npy"))


@pytest.mark.parametrize("name", ["rows.npz", "rows.npy"])
def test_missing_entries_of_matrices_are_named(unisvm, tmp_path, name):
    X = np.ones((30, 3))
    X[7, 2] = np.nan
    np.save(tmp_path / "y.npy", np.arange(30) % 2)
    if name.endswith(".npy"):
        np.save(tmp_path / name, X)
    else:
        np.savez(tmp_path / name, X=X)
    assert "row 7, column 2 is missing or infinite" in unisvm("train", "--target", "y.npy", name, "m", code=1).err
