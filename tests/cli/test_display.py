"""Progress: drawn on a terminal, lines in a pipe, nothing when it is not wanted."""

import os
import re
import struct
import subprocess

import numpy as np
import pytest

from cli.conftest import PROGRAM

fcntl = pytest.importorskip("fcntl")
pty = pytest.importorskip("pty")
termios = pytest.importorskip("termios")


@pytest.fixture
def rows(tmp_path):
    """Rows whose fit takes some seconds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 10))
    np.savez(tmp_path / "rows.npz", X=X, y=np.sign(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=len(X))).astype(int))
    return "rows.npz"


def in_terminal(arguments, cwd, columns=100):
    """What a program draws on a terminal of so many columns, and its exit code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = os.environ | {"TERM": "xterm-256color"}
    process = subprocess.Popen(
        [PROGRAM, *arguments], cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    drawn = b""
    while True:
        try:
            block = os.read(ours, 2**16)
        except OSError:
            break
        if not block:
            break
        drawn += block
    os.close(ours)
    return drawn.decode(), process.wait(timeout=60)


def test_a_terminal_shows_the_fit_while_it_runs(tmp_path, rows):
    drawn, code = in_terminal(["train", "--tol", "1e-10", rows, "m"], tmp_path)
    assert code == 0
    for word in ("stage", "sweeps", "objective", "stationarity", "memory", "in use", "time"):
        assert word in drawn, drawn
    # the cursor is there again, and the summary stays
    assert drawn.rindex("\x1b[?25h") > drawn.rindex("\x1b[?25l")
    assert "accuracy" in drawn.rpartition("\x1b[?25h")[2]


def test_lines_fit_a_narrow_terminal(tmp_path, rows):
    drawn, code = in_terminal(["train", rows, "m"], tmp_path, columns=60)
    assert code == 0
    live = drawn.rpartition("\x1b[?25h")[0]
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", live).split("\r\n")
    assert max(len(line.split("\r")[-1]) for line in lines) <= 60


def test_a_quiet_terminal_shows_nothing(tmp_path, rows):
    assert in_terminal(["train", "-q", rows, "m"], tmp_path) == ("", 0)


def test_a_pipe_has_plain_lines(unisvm, rows):
    ended = unisvm("train", rows, "m")
    assert "\x1b" not in ended.out + ended.err
    assert "accuracy" in ended.out


def test_long_work_in_a_pipe_is_told_of_from_time_to_time(tmp_path, rows):
    # a line a hundredth of a second, as if the work were long
    program = (
        "import unisvm.cli.display as display; display._SECONDS_BETWEEN_LINES = 0.05;"
        "from unisvm.cli import main; raise SystemExit(main())"
    )
    command = [os.path.join(os.path.dirname(PROGRAM), "python"), "-c", program, "train", rows, "m"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120)
    lines = done.stderr.decode().splitlines()
    assert len(lines) > 3
    assert any("stationarity" in line and "sweeps" in line for line in lines)
    assert all("MB in use" in line or "GB in use" in line for line in lines)


def test_json_is_all_there_is(unisvm, rows):
    ended = unisvm("train", "--json", rows, "m")
    assert ended.out.count("\n") == 1
    assert ended.err == ""
