"""Ctrl-C in a real process: it ends soon, and leaves nothing in the scratch folder."""

import os
import signal
import subprocess
import sys
from time import perf_counter

import pytest

FIT = """
import sys
import numpy as np
from unisvm import UniSVMClassifier, datasets

X, y = datasets.make_checkerboard(1000, dtype=np.float32)
UniSVMClassifier(
    rank=100, rank_tol=0.0, gamma=16.0, tol=1e-12, max_iter=100_000, memory_limit="40MB", scratch_dir=sys.argv[1],
    n_jobs=2, verbose=2, random_state=0,
).fit(X, y)
"""


@pytest.mark.parametrize("after", ["landmarks", "features", "     3"], ids=["landmarks", "features", "iterations"])
def test_leaves_nothing_and_ends_soon(tmp_path, after):
    process = subprocess.Popen(
        [sys.executable, "-c", FIT, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for line in process.stdout:
        if line.startswith(f"[unisvm] {after}"):
            break
    # the file is there, and has no name
    assert os.listdir(tmp_path) == []
    process.send_signal(signal.SIGINT)
    started = perf_counter()
    _, said = process.communicate(timeout=60)
    assert perf_counter() - started < 20
    assert process.returncode == -signal.SIGINT
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert os.listdir(tmp_path) == []


THREADS = """
import random, signal
from functools import cache
from threading import Thread
from time import sleep
from unisvm.rows import threads

def interrupt(*_):
    raise KeyboardInterrupt

random.seed(0)
signal.signal(signal.SIGALRM, interrupt)
interrupted, running, kept = 0, [], []

def task():
    running.append(1)
    try:
        sleep(2e-4)
    finally:
        running.pop()

def spin():
    while interrupted < 100:
        pass

threads.run([task] * 4, 2)
# a thread is long in starting beside it
Thread(target=spin, daemon=True).start()
for _ in range(100):
    # helpers are started anew, and the former ones stay
    kept.append(threads._helpers)
    threads._helpers = cache(threads._Helpers)
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-4, 1e-2))
        threads.run([task] * 4, 2)
        sleep(1)
    except KeyboardInterrupt:
        interrupted += 1
    assert not running
print(interrupted)
"""


def test_a_process_interrupted_while_it_starts_threads_ends():
    # Ctrl-C in the executor of the standard library left a thread that the end of the process waits for
    ended = subprocess.run([sys.executable, "-c", THREADS], timeout=60, capture_output=True, text=True)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("100\n", "", 0)
