"""The installed program, and small files to give to it."""

import json
import os
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


def ended_well(ended, code):
    """The program, if it has ended with this code."""
    assert ended.code == code, ended
    assert "Traceback" not in ended.err, ended.err
    return ended


@pytest.fixture
def installed(tmp_path):
    """Runs the installed program in a folder of its own, and checks its exit code."""

    def run(*arguments, code=0, stdin=None, env=None):
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            cwd=tmp_path,
            timeout=120,
            env=os.environ | (env or {}),
        )
        return ended_well(Ended(done.returncode, done.stdout.decode(), done.stderr.decode()), code)

    return run


@pytest.fixture(scope="session")
def forking():
    """A process that has imported the program, and forks to run it."""
    command = [sys.executable, str(Path(__file__).with_name("forking.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def unisvm(forking, tmp_path, tmp_path_factory):
    """Runs the program in a process of its own and a folder of its own, and checks its exit code."""
    streams = tmp_path_factory.mktemp("streams")

    def run(*arguments, code=0, stdin=b"", env=None):
        (streams / "stdin").write_bytes(stdin)
        request = {name: str(streams / name) for name in ("stdin", "stdout", "stderr")}
        request |= {"arguments": list(map(str, arguments)), "cwd": str(tmp_path), "env": env or {}}
        forking.stdin.write(json.dumps(request) + "\n")
        forking.stdin.flush()
        found = int(forking.stdout.readline())
        out, err = ((streams / name).read_bytes().decode() for name in ("stdout", "stderr"))
        return ended_well(Ended(found, out, err), code)

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
