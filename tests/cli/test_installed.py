"""The installed program itself: every command, started as a shell starts it."""

import json
import os
import subprocess
import sys

import numpy as np

from cli.conftest import PROGRAM
from unisvm import UniSVMClassifier


def test_a_libsvm_file_is_trained_on_and_predicted(installed, tmp_path, libsvm_files, cancer):
    train, test = libsvm_files
    assert "accuracy" in installed("train", "-s", "0", "-c", "10", train).out
    assert "(classification)" in installed("predict", test, "train.model", "out").out
    X, y = cancer
    model = UniSVMClassifier("hinge", C=10.0, scale="minmax", random_state=0).fit(X[:400], y[:400])
    assert (np.loadtxt(tmp_path / "out") != model.predict(X[400:])).sum() <= 1


def test_a_table_is_trained_on_and_predicted(installed, tmp_path, people):
    training, new = people
    installed("train", "-q", "--target", "income", "-", "m", stdin=(tmp_path / training).read_bytes())
    assert installed("predict", new, "m").out.splitlines()[:3] == ["prediction", "high", "low"]
    assert "income" in installed("info", "m").out
    assert json.loads(installed("cv", "--json", "--losses", "hinge", "--target", "income", training).out)["cells"]
    installed("convert", training, "people.parquet")


def test_errors_have_exit_codes(installed, people):
    assert installed("train", "nowhere", code=1).err == "unisvm: error: There is no file 'nowhere'.\n"
    assert "Usage: unisvm" in installed("train", code=2).err
    (installed("losses"), installed("--version"))


def test_the_demo_fits_a_terminal_of_80_columns(installed):
    ended = installed("demo", env={"COLUMNS": "80"})
    assert "SVC (LIBSVM)" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


def test_losses_are_completed_in_a_shell(installed):
    environment = {"_UNISVM_COMPLETE": "complete_bash", "COMP_WORDS": "unisvm train --loss trunc", "COMP_CWORD": "3"}
    assert "truncated_least_squares" in installed(env=environment).out


def test_the_module_is_the_program(libsvm_files, tmp_path):
    done = subprocess.run([sys.executable, "-m", "unisvm", "losses"], capture_output=True, cwd=tmp_path, timeout=60)
    assert done.returncode == 0
    assert b"smooth_hinge" in done.stdout


def test_without_its_packages_it_says_what_to_install(tmp_path):
    (tmp_path / "typer.py").write_text("raise ModuleNotFoundError(\"No module named 'typer'\", name='typer')")
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([PROGRAM, "losses"], capture_output=True, env=environment, timeout=60)
    assert done.returncode == 1
    assert done.stderr == b"unisvm: error: the command line needs typer: pip install 'unisvm[cli]'.\n"
