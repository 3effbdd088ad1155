"""What is wrong is said in one line: where, what was expected, and nothing is half-written."""

import gzip
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from cli.conftest import PROGRAM


def refused(ended, *texts):
    assert ended.err.startswith("unisvm: error: ")
    assert ended.err.count("\n") == 1, ended.err
    for text in texts:
        assert text in ended.err, ended.err


BAD_TABLES = {
    "a ragged row": ("a,b,y\n1,2,0\n1,2\n", "bad.csv, line 3", "2 fields"),
    "an unclosed quote": ('a,b,y\n1,"2,0\n1,2,1\n', "bad.csv, line 2", "quote"),
    "no rows": ("a,b,y\n", "bad.csv"),
    "nothing": ("", "bad.csv"),
    "one name twice": ("a,a,y\n1,2,0\n2,1,1\n", "'a'"),
    "a NUL byte": ("a,b,y\n1,\0,0\n", "bad.csv, line 2"),
    "infinity": ("a,b,y\n1,inf,0\n2,1,1\n", "bad.csv, line 2", "'b'"),
    "one class": ("a,b,y\n1,2,x\n2,1,x\n", "a classifier needs two classes"),
    "a missing target": ("a,b,y\n1,2,u\n2,1,\n3,4,v\n", "bad.csv, line 3", "'y'"),
    "text among numbers": ("a,b,y\n" + "1,2,u\n2,1,v\n" * 30 + "x,1,u\n", "bad.csv, line 62", "'a'", "'x'"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_is_named_with_its_line(unisvm, tmp_path, name):
    text, *said = BAD_TABLES[name]
    (tmp_path / "bad.csv").write_text(text)
    refused(unisvm("train", "--target", "y", "bad.csv", "m", code=1), *said)
    assert not (tmp_path / "m").exists()


BAD_LIBSVM = {
    "a word": ("1 1:2\n1 one:2\n", "bad.svm, line 2"),
    "indices that fall": ("1 3:2 2:1\n", "bad.svm, line 1", "rise"),
    "infinity": ("1 1:2\n-1 1:inf\n", "bad.svm, line 2", "NaN or infinite"),
    "no rows": ("", "bad.svm has no rows"),
}


@pytest.mark.parametrize("name", BAD_LIBSVM)
def test_bad_libsvm_text_is_named_with_its_line(unisvm, tmp_path, name):
    text, *said = BAD_LIBSVM[name]
    (tmp_path / "bad.svm").write_text(text)
    refused(unisvm("train", "bad.svm", "m", code=1), *said)


@pytest.mark.parametrize("name", ["rows.csv.gz", "rows.svm.gz", "rows.parquet", "rows.npz", "rows.npy"])
def test_a_damaged_file_is_an_error(unisvm, tmp_path, name):
    content = gzip.compress(b"a,b,y\n" * 100)[:40] if name.endswith(".gz") else b"PAR1 and so on"
    (tmp_path / name).write_bytes(content)
    refused(unisvm("train", name, "m", code=1), name)


def test_what_is_not_there_is_named(unisvm, people):
    refused(unisvm("train", "nowhere.csv", "m", code=1), "no file 'nowhere.csv'")
    refused(unisvm("train", "--target", "pay", people[0], "m", code=1), "'pay'", "people.csv")
    refused(unisvm("train", people[0], "m", code=1), "target", "'income'")
    refused(unisvm("train", "--target", "income", "--weights", "weight", people[0], "m", code=1), "'weight'")
    refused(unisvm("predict", people[0], "nowhere", "out", code=1), "nowhere")
    refused(unisvm("train", "--target", "income", people[0], "nowhere/m", code=1), "no folder")
    refused(unisvm("train", "--target", "income", people[0], ".", code=1), "is a folder")


def test_targets_of_another_kind_are_refused(unisvm, people):
    refused(unisvm("train", "--task", "regression", "--target", "income", people[0], "m", code=1), "text")
    refused(unisvm("train", "--probabilities", "--target", "age", people[1], "m", code=1), "missing")


def test_columns_that_the_model_does_not_know(unisvm, tmp_path, people):
    unisvm("train", "-q", "--target", "income", people[0], "m")
    (tmp_path / "other.csv").write_text("age,town\n1,Bonn\n")
    refused(unisvm("predict", "other.csv", "m", "out", code=1), "city")
    (tmp_path / "text.csv").write_text("age,city,job\nold,Bonn,clerk\n")
    refused(unisvm("predict", "text.csv", "m", "out", code=1), "'age'", "'old'")
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_no_model(unisvm, tmp_path, people):
    refused(unisvm("predict", people[1], people[0], "out", code=1), "people.csv")
    unisvm("train", "-q", "--target", "income", people[0], "m")
    whole = (tmp_path / "m").read_bytes()
    (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
    refused(unisvm("predict", people[1], "cut", "out", code=1), "cut")
    refused(unisvm("info", "cut", code=1), "cut")


def test_more_indices_than_the_model_knows(unisvm, tmp_path, libsvm_files):
    unisvm("train", "-q", libsvm_files[0], "m")
    (tmp_path / "wide").write_text("1 1:1 77:1\n")
    refused(unisvm("predict", "wide", "m", "out", code=1), "index 77")


def test_a_wrong_command_line_has_a_code_of_its_own(unisvm):
    for words in (
        ["train"],
        ["train", "--nonsense", "x"],
        ["learn"],
        ["train", "x", "-c"],
        ["train", "--scale", "x", "d"],
    ):
        assert "Error: " in unisvm(*words, code=2).err


def test_an_old_model_stays_when_training_fails(unisvm, tmp_path, people):
    (tmp_path / "m").write_text("precious")
    unisvm("train", "--target", "income", "-c", "-1", people[0], "m", code=1)
    assert (tmp_path / "m").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "new.csv", "people.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_an_error(unisvm, people):
    unisvm("train", "-q", "--target", "income", people[0], "m")
    refused(unisvm("predict", "-q", people[1], "m", "/dev/full", code=1), "No space left")


@pytest.mark.skipif(sys.platform == "win32", reason="has other signals")
def test_an_interrupt_leaves_nothing_behind(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "rows.npz", X=rng.normal(size=(60_000, 10)), y=rng.integers(0, 2, 60_000))
    command = [PROGRAM, "train", "--rank", "6000", "rows.npz", "m"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE) as process:
        # the first line of its progress
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert first.startswith(b"training on rows.npz; stage ")
    assert process.returncode == 130
    assert err.decode().splitlines()[-1] == "unisvm: interrupted."
    assert [path.name for path in tmp_path.iterdir()] == ["rows.npz"]


def test_a_reader_that_has_enough_is_no_error(tmp_path, unisvm, people):
    unisvm("train", "-q", "--target", "income", people[0], "m")
    command = f"'{PROGRAM}' predict -q people.csv m | head -1"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, timeout=60)
    assert done.stdout == b"prediction\n"
    assert b"Traceback" not in done.stderr
