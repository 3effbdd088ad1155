"""What `verbose` prints: lines in a pipe, a bar in a terminal, and nothing of either is left when the fit is over."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
from io import StringIO
from itertools import pairwise
from pathlib import Path
from time import monotonic, perf_counter, sleep

import pytest

from progress import slow
from unisvm import UniSVMClassifier, UniSVMClassifierCV
from unisvm.progress import display

TESTS = Path(__file__).resolve().parents[1]
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
UNDER_WAY = re.compile(r"\[unisvm\] solver: iteration \d+, objective \S+, stationarity \S+ for tol=1e-06, \d+ s so far")
BEGIN = "from progress import slow; slow.impatient(); X, y = slow.X, slow.y; "


@pytest.fixture
def impatient(monkeypatch):
    for name in ("_SECONDS_BEFORE", "_SECONDS_BETWEEN_UPDATES", "_SECONDS_BETWEEN_LINES"):
        monkeypatch.setattr(display, name, getattr(display, name))
    slow.impatient()


def environment(**more):
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path]), "PYTHONUNBUFFERED": "1"} | more


def in_pipe(code, **more):
    """Output of a fit in a process of its own, whose standard output is a pipe."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code], env=environment(**more), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def in_terminal(code, interrupt_at=None, **more):
    """Output and exit status of a fit in a terminal; it is interrupted when the output has this text."""
    pid, descriptor = pty.fork()
    if pid == 0:
        variables = {"TERM": "xterm-256color", "COLUMNS": "160", "LINES": "40"} | more
        os.execvpe(sys.executable, [sys.executable, "-c", BEGIN + code], environment(**variables))
    output, limit = b"", monotonic() + 60
    while monotonic() < limit:
        if not select.select([descriptor], [], [], 1)[0]:
            continue
        try:
            part = os.read(descriptor, 4096)
        except OSError:
            break
        if not part:
            break
        output += part
        if interrupt_at is not None and interrupt_at.encode() in output:
            interrupt_at = None
            os.kill(pid, signal.SIGINT)
    _, status = os.waitpid(pid, 0)
    os.close(descriptor)
    return output.decode(), os.waitstatus_to_exitcode(status)


def plain(output):
    return CONTROL.sub("", output)


# ---------------------------------------------------------------------- lines


def test_a_long_fit_in_a_pipe_prints_plain_lines():
    # also where colours are forced
    output = in_pipe("slow.model().fit(X, y)", FORCE_COLOR="1", TTY_COMPATIBLE="1")
    assert output.isascii()
    assert "\r" not in output
    lines = output.splitlines()
    assert all(line.startswith("[unisvm]") for line in lines)
    under_way = [line for line in lines if UNDER_WAY.match(line)]
    assert len(under_way) >= 2
    assert any(re.search(r"so far, about \d+ s left$", line) for line in under_way)
    # the lines of stages are there as ever, each after those of what was under way
    assert lines.index(under_way[-1]) < next(i for i, line in enumerate(lines) if line.startswith("[unisvm] solver   "))


def test_a_stage_without_iterations_is_told_of_while_it_is_under_way(capsys, impatient):
    slow.model(0.6, solver=slow.SlowToStart).fit(slow.X, slow.y)
    assert re.search(r"^\[unisvm\] solver, \d s so far$", capsys.readouterr().out, flags=re.M)


def test_without_rich_there_are_lines_in_a_terminal():
    output, status = in_terminal("import sys; sys.modules['rich'] = None; slow.model().fit(X, y)")
    assert status == 0
    assert not CONTROL.search(output)
    assert UNDER_WAY.search(output)


def test_a_dumb_terminal_has_lines():
    output, status = in_terminal("slow.model().fit(X, y)", TERM="dumb")
    assert status == 0
    assert not CONTROL.search(output)
    assert UNDER_WAY.search(output)


def test_lines_of_progress_keep_their_distance(monkeypatch, impatient):
    class Clocked(StringIO):
        moments = []

        def write(self, text):
            if UNDER_WAY.match(text):
                self.moments.append(perf_counter())
            return super().write(text)

    monkeypatch.setattr(display, "_SECONDS_BETWEEN_LINES", 0.4)
    monkeypatch.setattr(sys, "stdout", Clocked())
    slow.model(0.03).fit(slow.X, slow.y)
    assert len(Clocked.moments) >= 2
    assert min(after - before for before, after in pairwise(Clocked.moments)) > 0.39


@pytest.mark.parametrize("verbose", [1, 2])
def test_a_short_fit_has_no_line_of_progress(verbose, capsys):
    slow.model(0.0, verbose=verbose).fit(slow.X, slow.y)
    assert "so far" not in capsys.readouterr().out


def test_nothing_is_printed_without_verbose(capsys, impatient):
    slow.model(verbose=0).fit(slow.X, slow.y)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_a_search_tells_of_its_kernels_and_the_best_score(capsys, monkeypatch, impatient):
    monkeypatch.setattr(display, "_SECONDS_BEFORE", 0.0)
    monkeypatch.setattr(display, "_SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(display, "_SHARE_BETWEEN_LINES", 0.0)

    def slow_score(estimator, rows, labels):
        sleep(0.02)
        return float((estimator.predict(rows) == labels).mean())

    search = UniSVMClassifierCV(
        ["hinge"], Cs=[0.1, 1.0], gammas=[0.5, 2.0], cv=3, scoring=slow_score, rank=20, verbose=1, n_jobs=1
    )
    search.fit(slow.X, slow.y)
    lines = capsys.readouterr().out.splitlines()
    under_way = [line for line in lines if line.startswith("[unisvm] search, grid: kernel ")]
    for number, gamma in ((1, 0.5), (2, 2)):
        assert any(f"kernel {number} of 2, rbf, gamma={gamma}" in line for line in under_way)
    assert any(re.search(r"best score 0\.\d+, \d+ s so far, about \d+ s left$", line) for line in under_way)
    assert any(line.startswith(f"[unisvm] grid: best score {search.best_score_:.6g} with C=") for line in lines)


# ---------------------------------------------------------------------- a bar


def test_a_long_fit_in_a_terminal_has_a_bar_that_is_gone_in_the_end():
    output, status = in_terminal("slow.model().fit(X, y); print('after')")
    assert status == 0
    shown = plain(output)
    assert re.search(r"solver: iteration \d+, objective \S+, stationarity \S+ for tol=1e-06 +[━╸╺]+ \d s so far", shown)
    assert re.search(r"about \d s left", shown)
    # the cursor is hidden while there is a bar, and shown again before whatever follows
    assert output.count("\x1b[?25l") == output.count("\x1b[?25h") == 1
    assert output.index("\x1b[?25h") < output.index("after")
    # the bar's line is erased, and lines above it stay whole
    assert output.rindex("\x1b[2K") < output.index("after")
    assert re.search(r"\[unisvm\] solver +\d\.\d{3} s", shown)


def test_a_short_fit_in_a_terminal_has_no_bar():
    output, status = in_terminal("slow.model(0.0).fit(X, y)")
    assert status == 0
    assert not CONTROL.search(output)


@pytest.mark.parametrize("end", ["interrupt", "exception"])
def test_a_fit_that_ends_early_leaves_the_terminal_as_it_was(end):
    fail_at, interrupt_at = (None, "iteration 20") if end == "interrupt" else (20, None)
    output, status = in_terminal(f"slow.fit_and_say_how_it_ended({fail_at})", interrupt_at)
    assert status == 0
    assert output.count("\x1b[?25l") == output.count("\x1b[?25h") == 1
    name = "KeyboardInterrupt" if end == "interrupt" else "RuntimeError"
    assert f"ended by {name} []" in plain(output)
    assert output.index("\x1b[?25h") < output.index("ended by")


def test_of_two_fits_at_the_same_time_one_has_the_bar():
    output, status = in_terminal("slow.two_fits_at_the_same_time()")
    assert status == 0
    assert output.count("\x1b[?25l") == output.count("\x1b[?25h") == 1
    assert "Traceback" not in output
    assert UNDER_WAY.search(plain(output))
    assert len(re.findall(r"\[unisvm\] whole fit +\d", plain(output))) == 2


# ---------------------------------------------------------------------- threads


def progress_threads():
    return [thread for thread in threading.enumerate() if thread.name == "unisvm-progress"]


def test_no_thread_is_left_running(impatient, capsys):
    seen = []

    class Watching(slow.SlowLBFGS):
        def begin(self, objective, majoriser, start):
            seen.append(len(progress_threads()))
            return super().begin(objective, majoriser, start)

    slow.model(0.0, solver=Watching).fit(slow.X, slow.y)
    assert seen == [1]
    assert progress_threads() == []

    class Failing(slow.SlowLBFGS):
        def begin(self, objective, majoriser, start):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        slow.model(solver=Failing).fit(slow.X, slow.y)
    assert progress_threads() == []


def test_without_verbose_there_is_no_thread():
    seen = []

    class Watching(slow.SlowLBFGS):
        def begin(self, objective, majoriser, start):
            seen.append(len(progress_threads()))
            return super().begin(objective, majoriser, start)

    slow.model(0.0, verbose=0, solver=Watching).fit(slow.X, slow.y)
    assert seen == [0]


def test_a_refused_parameter_is_refused_before_anything_is_shown(capsys):
    for estimator in (UniSVMClassifier, UniSVMClassifierCV):
        with pytest.raises(ValueError, match="verbose must be an integer, got 'loud'"):
            estimator(verbose="loud").fit(slow.X, slow.y)
        with pytest.raises(ValueError, match="rank must be a positive integer"):
            estimator(rank=0, verbose=1).fit(slow.X, slow.y)
    assert capsys.readouterr().out == ""
    assert progress_threads() == []


def test_a_reader_that_goes_away_ends_the_fit_and_nothing_hangs():
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN + "slow.model(0.1).fit(X, y)"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) != 0
    assert "BrokenPipeError" in said
    assert "Exception in thread" not in said
