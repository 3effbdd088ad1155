"""Fits in threads and processes give the same models, and leave the settings of the process as they were."""

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_info, threadpool_limits

from unisvm import UniSVMClassifier, compiled, kernels, losses, parallel

X, y = make_moons(120, noise=0.25, random_state=0)


@pytest.fixture(autouse=True)
def one_blas_thread():
    """The threads are left as they are, since these tests are about them."""


def test_parallel_search_equals_serial():
    grid = {"C": [0.1, 1.0, 10.0]}
    serial, parallel = (
        GridSearchCV(UniSVMClassifier(n_jobs=2), grid, cv=3, n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2)
    )
    np.testing.assert_allclose(parallel.cv_results_["mean_test_score"], serial.cv_results_["mean_test_score"])
    np.testing.assert_allclose(parallel.decision_function(X), serial.decision_function(X), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_fits_in_threads_equal_serial_fits(n_jobs):
    def fit(C):
        return UniSVMClassifier(C=C, rank=40, random_state=0, n_jobs=n_jobs).fit(X, y)

    grid = [0.1, 1.0, 10.0, 100.0]
    serial = [fit(C) for C in grid]
    with ThreadPoolExecutor(2) as pool:
        threaded = list(pool.map(fit, grid))
    for one, other in zip(serial, threaded, strict=True):
        np.testing.assert_array_equal(one.landmarks_, other.landmarks_)
        np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-6, atol=1e-8)


def test_number_of_threads_does_not_matter():
    rows = np.random.RandomState(0).randn(150_000, 2)  # several blocks of rows for each thread
    labels = rows[:, 0] * rows[:, 1] > 0
    models = [
        UniSVMClassifier(landmarks=rows[:10], n_jobs=n_jobs, random_state=0).fit(rows, labels) for n_jobs in (1, 2, -1)
    ]
    for model in models[1:]:
        np.testing.assert_allclose(
            model.decision_function(rows), models[0].decision_function(rows), rtol=1e-6, atol=1e-7
        )


def test_predictions_in_threads_equal_serial_predictions():
    model = UniSVMClassifier().fit(X, y)
    with ThreadPoolExecutor(4) as pool:
        for decision in pool.map(model.decision_function, [X] * 8):
            np.testing.assert_allclose(decision, model.decision_function(X), rtol=1e-12)


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_overlapping_fits_leave_the_matrix_products_their_threads():
    # The first fit starts first and ends first, the second starts and ends later: each must undo its own limit only.
    first_started, second_started, first_ended = (threading.Event() for _ in range(3))

    def first_kernel(A, B):
        first_started.set()
        assert second_started.wait(30)
        return rbf_kernel(A, B)

    def second_kernel(A, B):
        second_started.set()
        assert first_ended.wait(30)
        return rbf_kernel(A, B)

    def first_fit():
        UniSVMClassifier(kernel=first_kernel, n_jobs=1).fit(X, y)
        first_ended.set()

    def second_fit():
        assert first_started.wait(30)
        UniSVMClassifier(kernel=second_kernel, n_jobs=1).fit(X, y)

    # on one processor there is nothing to leave
    before = blas_threads()
    try:
        with ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(first_fit), pool.submit(second_fit)]:
                future.result()
        assert blas_threads() == before
    finally:
        # also after a failure, the other tests have their threads
        threadpool_limits(max(before), user_api="blas")


def subnormal_product():
    """A product below the least normal number of single precision."""
    return np.float32(1e-30) * np.float32(1e-10)


@pytest.mark.skipif(not getattr(compiled._sweeps, "FLUSHED", 0), reason="nothing is flushed on this processor")
@pytest.mark.parametrize("n_tasks", [1, 8])
def test_subnormal_numbers_are_zero_in_every_thread_of_a_fit_and_there_alone(n_tasks):
    def task():
        with parallel.blas_threads(1):
            pass
        # the other threads have work, too
        sleep(0.01)
        return subnormal_product(), threading.get_ident()

    results = parallel.run([task] * n_tasks, 2)
    assert [product for product, _ in results] == [0] * n_tasks
    assert len({thread for _, thread in results}) == min(n_tasks, 2)
    assert subnormal_product() > 0
    with pytest.raises(ZeroDivisionError):
        parallel.run([lambda: 1 // 0] * n_tasks, 2)
    assert subnormal_product() > 0


class Recorded:
    """Functions of a user's that note in which threads subnormal numbers are flushed."""

    def __init__(self):
        self.flushed, self.inside = {}, UniSVMClassifier(C=1.0, rank=5, random_state=0).fit(X, y)

    def note(self):
        flushed = np.float64(5e-324) * 1 == 0 or subnormal_product() == 0
        self.flushed.setdefault(threading.get_ident(), []).append(bool(flushed))
        if len(self.flushed) == 1:
            # the other threads have work, too
            sleep(1e-3)

    def value(self, u):
        self.note()
        return u**2 / (1 + u**2)

    def derivative(self, u):
        self.note()
        return 2 * u / (1 + u**2) ** 2

    def matrix(self, A, B):
        self.note()
        if len(A):
            # threads of ours in a function that is not
            self.inside.predict(A)
            self.note()
        return rbf_kernel(A, B)


class OwnLoss(losses.base.Loss):
    name, tasks, A = "own", losses.base.BOTH, 1.0

    def __init__(self, recorded):
        self.recorded = recorded

    def _value(self, u):
        return self.recorded.value(u)

    def _derivative(self, u):
        return self.recorded.derivative(u)


class OwnKernel(kernels.Kernel):
    def __init__(self, recorded):
        self.recorded = recorded

    def against(self, Z):
        self.recorded.note()

        def block(rows, out=None):
            return kernels.base.into(out, self.recorded.matrix(rows, Z))

        return block

    def diagonal(self, rows):
        self.recorded.note()
        return np.ones(len(rows))


USERS = {
    "custom loss": lambda recorded: {"loss": losses.custom(recorded.value, recorded.derivative, task="classification")},
    "loss object": lambda recorded: {"loss": OwnLoss(recorded)},
    "kernel function": lambda recorded: {"kernel": recorded.matrix},
    "kernel object": lambda recorded: {"kernel": OwnKernel(recorded)},
}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("parameters", USERS.values(), ids=USERS)
@pytest.mark.parametrize("solver", ["lbfgs", "dca"])
def test_subnormal_numbers_are_kept_in_functions_of_the_users(parameters, solver, monkeypatch):
    # threads are started anew, by one that flushes
    parallel._helpers.reset()
    monkeypatch.setattr(parallel, "cpu_count", lambda: 3)
    recorded = Recorded()
    model = UniSVMClassifier(**parameters(recorded), solver=solver, C=1.0, rank=20, n_jobs=3, random_state=0)
    model.fit(np.tile(X, (5, 1)), np.tile(y, 5)).predict(np.tile(X, (200, 1)))
    assert not any(map(any, recorded.flushed.values()))
    if solver == "lbfgs":
        assert len(recorded.flushed) > 1
    assert subnormal_product() > 0


def test_subnormal_numbers_are_kept_after_a_fit():
    with warnings.catch_warnings():
        # NumPy would warn, should it look for the least number in such a thread
        warnings.simplefilter("error", UserWarning)
        model = UniSVMClassifier(n_jobs=2, random_state=0).fit(X, y)
        model.predict(X)
    assert subnormal_product() > 0
