"""Many fits, one after the other, in threads, in processes and within each other: memory, threads and models."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from joblib import cpu_count

from hard.effort import effort

TESTS = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


def run(part, folder, *amounts):
    """The summary of a part in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-m", "hard.load", part, str(folder), *map(str, amounts)],
        cwd=TESTS,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    # as a process says when a thread of it is in the way of its end
    assert "terminate called" not in ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_one_after_the_other(tmp_path, tried):
    found = run("one_after_the_other", tmp_path, effort(30, 200), effort(1000, 20_000))
    start, *later = found["used"]
    for used in later:
        assert used["KB"] < 1.05 * start["KB"]
        assert used["threads"] == start["threads"]
        assert used["files"] == start["files"]
    # features and rows have been on disk, before and after
    assert min(found["scratch files"]) > 0
    tried.add(found["cases"])


def test_in_threads(tmp_path, tried):
    found = run("in_threads", tmp_path, effort(1, 5))
    assert found["differ"] == []
    assert found["error"] < 1e-3
    tried.add(found["cases"])


def test_in_processes(tmp_path, tried):
    found = run("in_processes", tmp_path, effort(1, 6))
    assert {"fork", "forkserver", "spawn"} <= set(found["differ"])
    assert not any(found["differ"].values())
    tried.add(found["cases"])


def test_nested(tmp_path, tried):
    found = run("nested", tmp_path, effort(1, 5))
    assert found["differ"] == []
    assert found["scores differ"] < 0.01
    # To the threads that a worker has when it has imported the library come the library's own, one less than there are
    # processors, for the caller is one of them, and as many of each BLAS library.
    assert found["at rest"] <= 3
    assert found["BLAS libraries"] >= 1
    most = found["at rest"] + (cpu_count() - 1) * (1 + found["BLAS libraries"])
    assert 1 < found["most"] <= most
    assert found["workers"] >= 2
    # and those of BLAS that are at work are no more than the fit was told
    assert found["BLAS in fits"] == [1, min(2, cpu_count())]
    tried.add(found["cases"])
