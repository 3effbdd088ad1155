"""Losses, info, convert, demo, help and completion."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_svmlight_file

from unisvm import __version__, losses


def test_losses_are_listed_with_their_parameters(unisvm):
    ended = unisvm("losses", "--task", "regression")
    assert [line.split()[0] for line in ended.out.splitlines()[1:-2]] == losses.names("regression")
    assert re.search(r"^huber +regression +no +yes +delta=0\.1$", ended.out, flags=re.M)
    found = json.loads(unisvm("losses", "--json").out)["losses"]
    assert {entry["name"] for entry in found} == set(losses.names())


def test_info_says_what_is_in_a_model(unisvm, people):
    unisvm("train", "-q", "--target", "income", people[0], "m")
    ended = unisvm("info", "m")
    for text in ("high, low", "feng", __version__, "income"):
        assert text in ended.out, ended.out
    assert json.loads(unisvm("info", "--json", "m").out)["extra"]["target"] == "income"


def test_libsvm_text_becomes_a_table_and_comes_back(unisvm, tmp_path, libsvm_files):
    for form in ("rows.csv", "rows.parquet", "rows.npz", "rows.tsv.gz"):
        unisvm("convert", libsvm_files[0], form)
        unisvm("convert", form, "again.svm")
        X, y = load_svmlight_file(str(tmp_path / "again.svm"))
        expected, labels = load_svmlight_file(str(tmp_path / libsvm_files[0]))
        np.testing.assert_allclose(X.toarray(), expected.toarray())
        np.testing.assert_array_equal(y, labels)


def test_tables_keep_their_names_and_texts(unisvm, tmp_path, people):
    unisvm("convert", people[0], "people.parquet")
    frame, expected = pd.read_parquet(tmp_path / "people.parquet"), pd.read_csv(tmp_path / people[0])
    assert list(frame) == list(expected)
    assert frame["city"].tolist() == expected["city"].tolist()
    np.testing.assert_array_equal(frame["age"], expected["age"])


def test_text_has_no_place_in_numbers(unisvm, tmp_path, people):
    ended = unisvm("convert", "--target", "income", people[0], "rows.svm", code=1)
    assert "'job'" in ended.err
    assert not (tmp_path / "rows.svm").exists()
    assert "the ending must be one of" in unisvm("convert", people[0], "rows.xls", code=1).err


def test_a_model_becomes_onnx(unisvm, tmp_path, libsvm_files):
    runtime = pytest.importorskip("onnxruntime")
    unisvm("train", "-q", libsvm_files[0], "m")
    unisvm("convert", "m", "m.onnx")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"))
    X, _ = load_svmlight_file(str(tmp_path / libsvm_files[1]), n_features=30)
    unisvm("predict", "-q", "--to", "npy", libsvm_files[1], "m", "out.npy")
    found = session.run(["label"], {session.get_inputs()[0].name: X.toarray()})[0]
    np.testing.assert_array_equal(found, np.load(tmp_path / "out.npy"))


@pytest.mark.parametrize("command", ["train", "predict", "cv", "suspects", "losses", "info", "convert", "demo"])
def test_every_command_has_help_with_an_example(unisvm, command):
    for word in ("--help", "-h"):
        assert f"Example: unisvm {command}" in unisvm(command, word).out


def test_the_version_is_printed(unisvm):
    assert unisvm("--version").out == f"unisvm {__version__}\n"


def test_the_program_says_what_it_can_do(unisvm):
    ended = unisvm("--help")
    for command in ("train", "predict", "cv", "suspects", "losses", "info", "convert", "demo"):
        assert command in ended.out


def test_whole_numbers_of_tables_are_written_as_they_are(unisvm, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b,label\n1e300,-0.0,x\n3,0.5,y\n")
    unisvm("convert", "rows.csv", "again.csv")
    assert (tmp_path / "again.csv").read_text() == "a,b,label\n1e+300,-0.0,x\n3,0.5,y\n"


def test_only_text_is_packed(unisvm, libsvm_files):
    assert "the ending must be one of" in unisvm("convert", libsvm_files[0], "rows.parquet.gz", code=1).err


def test_training_and_comparing_have_the_same_options_of_data_and_machine(unisvm):
    named = {
        command: set(re.findall(r"--[a-z-]+|--C", unisvm(command, "--help", env={"COLUMNS": "200"}).out))
        for command in ("train", "cv")
    }
    of_one_machine = {"--loss", "--loss-param", "--search", "--probabilities", "--svm-type", "--epsilon"}
    assert named["train"] - named["cv"] == of_one_machine
    assert named["cv"] - named["train"] == {"--losses"}


def test_numbers_keep_all_their_digits_in_LIBSVMs_form(unisvm, tmp_path):
    values = [51.257302210933936, 0.1, 1e-300, 12345678.9]
    (tmp_path / "rows.csv").write_text("a,label\n" + "".join(f"{value!r},{i % 2}\n" for i, value in enumerate(values)))
    unisvm("convert", "rows.csv", "rows.svm")
    assert [float(line.split(":")[1]) for line in (tmp_path / "rows.svm").read_text().splitlines()] == values


def test_numbers_that_are_rounded_are_told_of_and_kept_as_text(unisvm, tmp_path):
    content = "id,zip,label\n1152921504606846977,01234,0\n1152921504606846978,01235,1\n"
    (tmp_path / "ids.csv").write_text(content)
    assert "--text id" in unisvm("convert", "ids.csv", "again.csv").err
    unisvm("convert", "--text", "id", "--text", "zip", "ids.csv", "again.csv")
    assert (tmp_path / "again.csv").read_text() == content
