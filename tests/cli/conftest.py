"""The installed program, and small files to give to it."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_breast_cancer
from sklearn.preprocessing import MaxAbsScaler

PROGRAM = Path(sys.executable).with_name("unisvm")


class Ended(NamedTuple):
    """A program that has ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def unisvm(tmp_path):
    """Runs the installed program in a folder of its own, and checks its exit code."""

    def run(*arguments, code=0, stdin=None, cwd=tmp_path, **options):
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)], input=stdin, capture_output=True, cwd=cwd, timeout=120, **options
        )
        ended = Ended(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert ended.code == code, ended
        assert "Traceback" not in ended.err, ended.err
        return ended

    return run


@pytest.fixture(scope="session")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return MaxAbsScaler().fit_transform(X), np.where(y == 1, 1, -1)


@pytest.fixture
def libsvm_files(tmp_path, cancer):
    """Training and test rows in the form of LIBSVM: the names of the files."""
    X, y = cancer
    dump_svmlight_file(X[:400], y[:400], str(tmp_path / "train"), zero_based=False)
    dump_svmlight_file(X[400:], y[400:], str(tmp_path / "test"), zero_based=False)
    return "train", "test"


PEOPLE = """age,job,city,income
39,clerk,"Ulm, Donau",low
50,manager,Bonn,high
38,,Bonn,low
NA,clerk,Ulm,low
28,manager,Köln,high
37,manager,Bonn,high
49,clerk,Köln,low
"""


@pytest.fixture
def people(tmp_path):
    """A table with text columns, text labels and missing values: the names of the files of training and of new rows."""
    rng = np.random.default_rng(0)
    lines = PEOPLE.splitlines()
    rows = [lines[1 + i] for i in rng.integers(0, len(lines) - 1, 210)]
    (tmp_path / "people.csv").write_text("\n".join([lines[0], *rows]) + "\n", encoding="utf-8")
    (tmp_path / "new.csv").write_text("city,job,age\nBonn,manager,44\nUlm,clerk,\nParis,clerk,30\n", encoding="utf-8")
    return "people.csv", "new.csv"
