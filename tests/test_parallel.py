"""Threads over blocks of rows, the limit on those of BLAS, cancellation, and Ctrl-C in a real process."""

import os
import signal
import subprocess
import sys
import threading
from functools import partial
from time import perf_counter

import numpy as np
import pytest
from joblib import cpu_count
from threadpoolctl import threadpool_limits

from blas import blas
from unisvm import UniSVMClassifier, UniSVMRegressor
from unisvm.parallel import CancelToken, blas_threads, count_threads, in_threads, run


def test_count_threads():
    assert count_threads(1) == 1
    assert count_threads(-1) == cpu_count()
    # more threads than processors would only wait for each other
    for n_jobs in (2, 3, 64, 100_000):
        assert count_threads(n_jobs) == min(n_jobs, cpu_count())
    # None follows the matrix products' own setting
    with threadpool_limits(1, user_api="blas"):
        assert count_threads(None) == 1
    with threadpool_limits(2, user_api="blas"):
        assert count_threads(None) == min(2, cpu_count())


@pytest.mark.parametrize(("n_tasks", "n_threads"), [(4, 2), (4, 1), (1, 2)])
def test_products_inside_tasks_do_not_take_threads_from_other_tasks(n_tasks, n_threads):
    with threadpool_limits(2, user_api="blas"):
        inside = run([blas] * n_tasks, n_threads)
        assert set(blas().values()) == {2}
    assert [set(threads.values()) for threads in inside] == [{1}] * n_tasks


def test_results_of_tasks_are_in_order():
    assert run([lambda i=i: i for i in range(20)], 3) == list(range(20))


def test_the_caller_is_one_of_the_threads():
    both = threading.Barrier(2, timeout=10)

    def name():
        # none can take both
        both.wait()
        return threading.current_thread().name

    assert len({*run([name] * 2, 2), threading.current_thread().name}) == 2


@pytest.mark.parametrize("fails_in", ["caller", "helper"])
def test_a_task_that_fails_ends_the_others(fails_in):
    cancel, both, begun = CancelToken(), threading.Barrier(2, timeout=10), []

    def task():
        begun.append(1)
        both.wait()
        is_caller = threading.current_thread() is threading.main_thread()
        if is_caller == (fails_in == "caller"):
            raise ZeroDivisionError
        # the other one looks at it
        deadline = perf_counter() + 10
        while not cancel.cancelled:
            assert perf_counter() < deadline

    with pytest.raises(ZeroDivisionError):
        run([task] * 6, 2, cancel)
    assert len(begun) == 2


def test_tasks_within_tasks_end():
    # all threads of the pool are busy with the outer ones
    def outer(i):
        return sum(run([lambda j=j: i * j for j in range(8)], 2))

    assert run([partial(outer, i) for i in range(8)], 2) == [28 * i for i in range(8)]


@pytest.mark.parametrize(("n_multiplications", "n_slices"), [(1e12, 3), (10, 1)])
def test_slices_for_threads(n_multiplications, n_slices):
    with blas_threads(3):
        slices = in_threads(lambda part: part, 10, n_multiplications)
    assert [i for part in slices for i in range(10)[part]] == list(range(10))
    assert len(slices) == n_slices


def test_blas_threads_are_restored_after_an_error():
    inside = []

    def failing():
        with blas_threads(1):
            inside.append(blas())
            raise ZeroDivisionError

    with threadpool_limits(2, user_api="blas"):
        with pytest.raises(ZeroDivisionError):
            failing()
        assert set(inside[0].values()) == {1}
        assert set(blas().values()) == {2}


@pytest.mark.parametrize("first_to_leave", [0, 1])
def test_blas_threads_are_restored_whoever_leaves_last(first_to_leave):
    # fits in different threads do not end in the order in which they began
    with threadpool_limits(2, user_api="blas"):
        limits = [blas_threads(1), blas_threads(1)]
        for limit in limits:
            limit.__enter__()
        limits[first_to_leave].__exit__(None, None, None)
        assert set(blas().values()) == {1}
        limits[1 - first_to_leave].__exit__(None, None, None)
        assert set(blas().values()) == {2}


@pytest.mark.parametrize("n_jobs", [None, 1, 2, -1])
@pytest.mark.parametrize("estimator", [UniSVMClassifier, UniSVMRegressor])
def test_fit_restores_blas_threads(small_blocks, n_jobs, estimator):
    rng = np.random.RandomState(0)
    X, y = rng.randn(300, 3), rng.randint(2, size=300)
    for limit in (1, 2):
        with threadpool_limits(limit, user_api="blas"):
            before = blas()
            estimator(rank=20, n_jobs=n_jobs, random_state=0).fit(X, y).predict(X)
            assert blas() == before


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
@pytest.mark.parametrize("calls", [0, 2, 3, 8])
def test_a_fit_that_fails_restores_blas_threads(small_blocks, n_jobs, calls):
    # the function fails in K(B, B), in the second or the last block of the features, at the end of the diagonal
    lock, count = threading.Lock(), [0]

    def failing(X, Z):
        with lock:
            count[0] += 1
            if count[0] > calls:
                raise ZeroDivisionError
        return X @ Z.T

    rng = np.random.RandomState(0)
    X, y = rng.randn(130, 3), rng.randint(2, size=130)
    with threadpool_limits(2, user_api="blas"):
        before = blas()
        with pytest.raises(ZeroDivisionError):
            UniSVMClassifier(kernel=failing, rank=130, n_jobs=n_jobs).fit(X, y)
        assert blas() == before


def test_the_number_of_threads_does_not_change_the_answer(small_blocks):
    rng = np.random.RandomState(0)
    X = rng.randn(400, 3)
    y = (X[:, 0] > 0).astype(int)
    one, two = (UniSVMClassifier(C=1.0, rank=30, n_jobs=n, tol=1e-8, random_state=0).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.landmarks_, two.landmarks_)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-3)


# ---------------------------------------------------------------------- how many threads there are

COUNTS = """
import threading
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from joblib import cpu_count
from unisvm import UniSVMClassifier, UniSVMClassifierCV, parallel

def fit(n_jobs):
    model = UniSVMClassifier(gamma=0.02, rank=20, C=1.0, n_jobs=n_jobs, random_state=0).fit(X, y)
    return model.decision_function(X)

def n_helpers():
    return sum(thread.name.startswith("unisvm-") for thread in threading.enumerate())

def n_threads():
    # with those of BLAS
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Threads:"))

rng = np.random.RandomState(0)
X = rng.randn(3000, 4)
y = X[:, 0] * X[:, 1] > 0
expected = fit(-1)
UniSVMClassifierCV(Cs=2, gammas=[0.01, 0.02], cv=2, rank=20, n_jobs=-1, random_state=0).fit(X[:300], y[:300])
before, helpers = n_threads(), n_helpers()
assert helpers <= cpu_count() - 1
for n_jobs in (2, 3, 5, 64, 100_000):
    decision = fit(n_jobs)
    assert n_jobs < cpu_count() or (decision == expected).all()
    UniSVMClassifierCV(Cs=2, gammas=[0.01, 0.02], cv=2, rank=20, n_jobs=n_jobs, random_state=0).fit(X[:300], y[:300])
    assert n_helpers() == helpers
assert n_threads() <= before
with ThreadPoolExecutor(8) as pool:
    list(pool.map(fit, [2, 3, 64] * 4))
assert n_helpers() == helpers
# one caller and one helper are all that two tasks have a use for
parallel._helpers.reset()
started = threading.active_count()
parallel.run([int] * 2, 50)
parallel.run([int] * 50, 2)
assert threading.active_count() == started + 1
parallel.run([int] * 50, 4)
assert threading.active_count() == started + 3
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the system does not tell of its threads")
def test_there_are_no_more_threads_than_processors():
    ended = subprocess.run([sys.executable, "-c", COUNTS], timeout=120, capture_output=True, text=True)
    assert (ended.stderr, ended.returncode) == ("", 0)


# ---------------------------------------------------------------------- forks

BESIDE_FITS = """
import os, signal
from threading import Event, Thread
from time import sleep
import numpy as np
from unisvm import UniSVMClassifier

rng = np.random.RandomState(0)
X = rng.randn(200, 4)
y = X[:, 0] > 0

def fit():
    return UniSVMClassifier(gamma=0.02, rank=20, C=1.0, n_jobs=2, random_state=0).fit(X, y).decision_function(X)

ended = Event()

def fit_in_a_loop():
    while not ended.is_set():
        fit()

expected = fit()
thread = Thread(target=fit_in_a_loop, daemon=True)
thread.start()
for _ in range(20):
    sleep(0.01)
    child = os.fork()
    if child == 0:
        # ends a child that hangs
        signal.alarm(30)
        os._exit(not np.allclose(fit(), expected))
    assert os.waitpid(child, 0)[1] == 0
# a thread that the end of the process finds in NumPy's C++ code would abort it
ended.set()
thread.join()
"""

HELD = """
import os, signal
from threading import Event, Thread
from threadpoolctl import threadpool_info, threadpool_limits
from unisvm import parallel

def blas():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

def forked(check):
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(not check())
    assert os.waitpid(child, 0)[1] == 0

def beside(work, check):
    # fork while another thread is in the midst of this work
    arrived, go_on = Event(), Event()
    thread = Thread(target=work, args=(lambda: arrived.set() or go_on.wait(),))
    thread.start()
    arrived.wait()
    forked(check)
    go_on.set()
    thread.join()

def limited():
    with parallel.blas_threads(1):
        inside = blas()
    return inside == {1} and blas() == {2} and parallel._limit.current is None

class Computed:
    def __init__(self, wait):
        self.wait = wait

    @parallel.cached_property
    def number(self):
        self.wait()
        return 1

def in_a_block(wait):
    with parallel.blas_threads(1):
        wait()

def holding(lock):
    def work(wait):
        with lock:
            wait()
    return work

threadpool_limits(2, user_api="blas")
parallel.run([int] * 4, 2)
beside(in_a_block, lambda: blas() == {2} and limited())
beside(holding(parallel._limit._lock), limited)
beside(holding(parallel._helpers._starting), lambda: parallel.run([int] * 4, 3) == [0] * 4)
beside(lambda wait: Computed(wait).number, lambda: Computed(int).number == 1)
with parallel.blas_threads(1):
    # the block is that of the thread that goes on in the child
    forked(lambda: parallel._limit.current == 1 and blas() == {1})
assert limited()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("program", [BESIDE_FITS, HELD], ids=["fits", "locks"])
def test_a_child_that_was_forked_beside_a_fit_does_not_hang(program):
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"} if program is BESIDE_FITS else None
    ended = subprocess.run(
        [sys.executable, "-c", program], timeout=120, capture_output=True, text=True, env=environment
    )
    assert (ended.stderr, ended.returncode) == ("", 0)


# ---------------------------------------------------------------------- Ctrl-C

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
from threading import Thread
from time import sleep
from unisvm import parallel

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

parallel.run([task] * 4, 2)
# a thread is long in starting beside it
Thread(target=spin, daemon=True).start()
for _ in range(100):
    # helpers are started anew, and the former ones stay
    kept.append(parallel._helpers)
    parallel._helpers = parallel._Helpers()
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-4, 1e-2))
        parallel.run([task] * 4, 2)
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
