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
