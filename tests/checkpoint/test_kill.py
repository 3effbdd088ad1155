"""Processes that are killed and started again end with the model of one that was not."""

import os
import shutil
from time import sleep

import numpy as np

from checkpoint.interrupted import assert_same, finish, start

KILLED = -9
LONG = 6_000, {"rank": 120, "rank_tol": 0.0, "C": 10.0, "tol": 1e-7, "random_state": 0}
SHORT = 2400, {"rank": 40, "tol": 5e-3, "random_state": 0}


def fitted(path):
    with np.load(path) as arrays:
        return dict(arrays)


def test_ten_random_moments(tmp_path):
    assert finish(*LONG, tmp_path / "whole", tmp_path / "whole.npz", seconds_between=0.1) == 0
    whole = fitted(tmp_path / "whole.npz")
    rng, seconds, n_killed = np.random.RandomState(0), float(whole["seconds"]), 0
    while n_killed < 11:
        folder, out = tmp_path / str(n_killed), tmp_path / f"{n_killed}.npz"
        # ten at random, and one that is for certain in the midst of the iterations, all of which it keeps
        begun = folder if n_killed < 10 else folder / "unisvm-solver.ckpt"
        process = start(*LONG, folder, out, seconds_between=0.1 if n_killed < 10 else 0.0)
        while not begun.exists():
            assert process.is_alive()
            sleep(0.001)
        moment = rng.uniform(0, seconds) if n_killed < 10 else 0
        process.join(moment)
        process.kill()
        process.join()
        if process.exitcode != KILLED:
            # it was faster than the one before, as it is when the machine has less to do
            assert process.exitcode == 0
            seconds = moment
            shutil.rmtree(folder)
            continue
        n_killed += 1
        assert finish(*LONG, folder, out, seconds_between=0.1) == 0
        assert_same(whole, fitted(out))


def test_every_boundary(tmp_path):
    out = tmp_path / "model.npz"
    assert finish(*SHORT, tmp_path / "whole", out) == 0
    whole = fitted(out)
    out.unlink()
    n_iterations = len(whole["history"])
    assert n_iterations >= 3
    # begun, landmarks, gram, C, start, each iteration and result: half of each file is written, or all of it with
    # its name; in the end, files that are not needed any more are removed
    for survived in range(2 * (6 + n_iterations) + 1):
        each = tmp_path / str(survived)
        assert finish(*SHORT, each, out, kill_at=("fsync", survived)) == KILLED, survived
        assert finish(*SHORT, each, out) == 0
        assert_same(whole, fitted(out))
        assert sorted(os.listdir(each)) == sorted(os.listdir(tmp_path / "whole"))
        out.unlink()


def test_killed_over_and_over(tmp_path):
    whole, out, folder = tmp_path / "whole.npz", tmp_path / "model.npz", tmp_path / "folder"
    assert finish(*SHORT, tmp_path / "whole", whole) == 0
    n_runs = 1
    # each run saves two more files, and is killed before the next
    while finish(*SHORT, folder, out, kill_at=("replace", 2)) == KILLED:
        n_runs += 1
        assert n_runs < 100
    assert n_runs >= 4
    assert_same(fitted(whole), fitted(out))
