"""Fits that are killed in a process of their own, or broken off in this one, and how their models compare."""

import multiprocessing
import os
import signal
import stat
from time import perf_counter

import numpy as np
from sklearn.datasets import make_classification

from unisvm import UniSVMClassifier
from unisvm.checkpoint import stages

# children start from a process that has imported the library and done nothing else
CHILDREN = multiprocessing.get_context("forkserver")
CHILDREN.set_forkserver_preload(["unisvm"])


class Broken(BaseException):
    """The end of a run at a place of the test's choice."""


def model_arrays(model):
    """Fitted attributes of a model, but for the seconds."""
    points = model.landmark_vectors_
    return {
        "dual": model.dual_coef_,
        "intercept": model.intercept_,
        "landmarks": np.array(-1) if model.landmarks_ is None else model.landmarks_,
        "points": points.toarray() if hasattr(points, "toarray") else points,
        "C": np.array(model.C_),
        "C_errors": model.C_scores_["error"],
        "trace_error": np.array(model.trace_error_),
        "objective": model.objective_,
        "stationarity": model.stationarity_,
        "n_sweeps": model.n_sweeps_,
        "history": np.array(model.history_["objective"]),
        "n_seconds": np.array(len(model.history_["seconds"])),
        "gamma": np.array(str(model.kernel_)),
    }


def assert_same(model, other):
    """Equal to the last bit, but for the seconds."""
    for name in set(model) - {"seconds"}:
        np.testing.assert_array_equal(model[name], other[name], err_msg=name)


def rows(n_rows):
    """Rows of three classes, a tenth of them with a random label."""
    return make_classification(n_rows, 6, n_informative=5, n_redundant=0, n_classes=3, flip_y=0.1, random_state=0)


def fit(n_rows, settings, folder, out, kill_at=None, seconds_between=0.0):
    """Fit in this process and write the model; `kill_at` names a call of `os` and how many of them are survived."""
    stages._SECONDS_BETWEEN, stages._SHARE = seconds_between, 0
    if kill_at is not None:
        kill_before(*kill_at)
    X, y = rows(n_rows)
    started = perf_counter()
    model = UniSVMClassifier(checkpoint=folder, **settings).fit(X, y)
    np.savez(out, seconds=perf_counter() - started, **model_arrays(model))


def kill_before(name, n_survived):
    """Have this process killed in the call of `os.fsync` or `os.replace` after so many that are survived."""
    real, left = getattr(os, name), [n_survived]

    def call(first, *rest):
        if left[0] == 0:
            if name == "fsync" and stat.S_ISREG(os.fstat(first).st_mode):
                # half of the file has reached the disk
                os.truncate(first, os.fstat(first).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        return real(first, *rest)

    setattr(os, name, call)


def start(*args, **kwargs):
    """A process that has begun the fit of these arguments."""
    process = CHILDREN.Process(target=fit, args=args, kwargs=kwargs)
    process.start()
    return process


def finish(*args, **kwargs):
    """Exit code of a fit in a process of its own."""
    process = start(*args, **kwargs)
    process.join()
    return process.exitcode
