"""Threads over blocks of rows, limits on the threads of BLAS, cancellation, and nothing locked after a fork."""

from __future__ import annotations

import functools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache, partial
from itertools import pairwise
from queue import SimpleQueue
from threading import Lock, Thread, get_ident
from typing import Any, TypeVar

import numpy as np
from joblib import cpu_count, effective_n_jobs
from threadpoolctl import ThreadpoolController

from unisvm import compiled

T = TypeVar("T")

# multiplications that are over before another thread has woken
_WORTH_WAKING = 2e8

# NumPy looks up the smallest numbers once, and would not find subnormal ones while they are flushed to 0
for _precision in (np.half, np.single, np.double, np.longdouble):
    np.finfo(_precision)


@cache
def _blas() -> list[Any]:
    return ThreadpoolController().select(user_api="blas").lib_controllers


def count_threads(n_jobs: int | None) -> int:
    """Number of threads for `n_jobs`, at most one a processor; None means as many as BLAS is set to use."""
    if n_jobs is None:
        n_threads = max((library.num_threads for library in _blas()), default=1)
    else:
        n_threads = effective_n_jobs(n_jobs)
    return min(n_threads, cpu_count())


# held while threadpoolctl holds a lock of its own, so that no fork leaves that one locked
_setting = Lock()


def _set_blas_threads(library: Any, n_threads: int) -> None:
    """Set the number of threads of a BLAS library.

    Since version 3.8 of threadpoolctl, one thread alone can set that of OpenBLAS, and the others do nothing, until all
    are told that it is done. Here fits in any thread set it, one at a time.
    """
    release = getattr(library, "clear_controlling_thread", lambda force: None)
    release(force=True)
    library.set_num_threads(n_threads)
    release(force=True)


class _BlasLimit:
    """Number of BLAS threads, which all fits of the process share.

    The limit in force is the least of those whose blocks have not ended, so that a fit in one thread gives the same
    model beside others as alone. The last block to end restores the numbers that the first one found, in whatever
    order blocks in different threads end.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        #: by the thread of a block, and an object of its own
        self._limits: dict[tuple[int, object], int] = {}
        #: numbers to restore; none outside of all blocks
        self._found: list[int] = []
        #: limit in force; None outside of all blocks
        self.current: int | None = None

    def enter(self, n_threads: int) -> tuple[int, object]:
        with self._lock:
            if not self._found:
                self._found = [library.num_threads for library in _blas()]
            key = get_ident(), object()
            self._limits[key] = n_threads
            self._update()
            return key

    def leave(self, key: tuple[int, object]) -> None:
        with self._lock:
            # in a child process it may be forgotten
            self._limits.pop(key, None)
            self._update()

    def reset(self) -> None:
        """Forget the blocks of other threads, which may have held the lock: a child process does not have them."""
        self._lock = Lock()
        self._limits = {key: limit for key, limit in self._limits.items() if key[0] == get_ident()}
        if self._found:
            self._apply(self._least())

    def _least(self) -> int | None:
        return min(self._limits.values(), default=None)

    def _update(self) -> None:
        """Apply the least limit, if it is another one: a fit enters and leaves blocks many times."""
        least = self._least()
        if least != self.current:
            self._apply(least)

    def _apply(self, limit: int | None) -> None:
        with _setting:
            for library, found in zip(_blas(), self._found, strict=True):
                _set_blas_threads(library, found if limit is None else limit)
        self.current = limit
        if limit is None:
            self._found = []


_limit = _BlasLimit()


@contextmanager
def blas_threads(n_threads: int) -> Iterator[None]:
    """Limit the matrix products inside to `n_threads`, and flush subnormal numbers to 0."""
    key = _limit.enter(n_threads)
    try:
        with compiled.flush_subnormals():
            yield
    finally:
        _limit.leave(key)


def single_thread_if_small(n_multiplications: float) -> AbstractContextManager[None]:
    """Limit the matrix products inside to one thread if they are over before another has woken."""
    return blas_threads(1) if n_multiplications < _WORTH_WAKING else nullcontext()


class cached_property(functools.cached_property[T]):
    """A cached property without the lock of Python 3.11, which all instances share, and a fork may leave locked.

    Threads that ask for it at the same time may all compute it.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        super().__init__(function)
        self.lock = nullcontext()


class CancelToken:
    """Flag that tasks look at to end early."""

    cancelled = False


class _Helpers:
    """Threads that wait for work of any caller; starting them anew takes longer than a sweep over few rows.

    Not an executor of the standard library: a Ctrl-C while that starts a thread leaves one that the end of the process
    waits for forever, and one while it waits can leave a lock behind. Here a helper that does not come is not missed.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin without threads: a child process has none of those of its parent."""
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._starting = Lock()
        self._n_threads = 0

    def start(self, n_threads: int) -> None:
        """Have at least so many threads."""
        if self._n_threads >= n_threads:
            return
        # a thread begins with the processor's settings of the one that starts it
        with self._starting, compiled.keep_subnormals():
            while self._n_threads < n_threads:
                name = f"unisvm-{self._n_threads}"
                Thread(target=_serve, args=(self._work,), name=name, daemon=True).start()
                self._n_threads += 1

    def ask(self, work: Callable[[], None]) -> None:
        self._work.put(work)


def _serve(work: SimpleQueue[Callable[[], None]]) -> None:
    with compiled.flush_subnormals(), np.errstate(all="ignore"):
        while True:
            work.get()()


_helpers = _Helpers()

if hasattr(os, "register_at_fork"):
    # the first that is registered is the last before a fork, and the first after it
    os.register_at_fork(before=_setting.acquire, after_in_parent=_setting.release, after_in_child=_setting.release)
    os.register_at_fork(after_in_child=_limit.reset)
    os.register_at_fork(after_in_child=_helpers.reset)


def run(tasks: Iterable[Callable[[], T]], n_threads: int, cancel: CancelToken | None = None) -> list[T]:
    """Results of the tasks, in order; each task has one thread for its matrix products.

    The caller is one of the threads. When a task fails, or the user interrupts, the others are not left running behind
    the caller's back: those that have not begun are left out, `cancel` is set for those that look at it, and they are
    waited for.
    """
    tasks = list(tasks)
    if n_threads == 1 or len(tasks) == 1:
        with blas_threads(1):
            return [task() for task in tasks]
    left = deque(enumerate(tasks))
    results: dict[int, T] = {}
    errors: list[BaseException] = []
    # a thread that helps holds one of these
    helping = [Lock() for _ in range(min(n_threads, len(tasks)) - 1)]

    def end() -> None:
        left.clear()
        if cancel is not None:
            cancel.cancelled = True

    def work() -> None:
        while True:
            try:
                i, task = left.popleft()
            except IndexError:
                return
            results[i] = task()

    def help_out(lock: Lock) -> None:
        with lock:
            try:
                work()
            except BaseException as error:
                end()
                errors.append(error)

    def wait() -> None:
        # one who comes after this finds nothing left to do
        for lock in helping:
            with lock:
                pass

    with blas_threads(1):
        try:
            _helpers.start(len(helping))
            for lock in helping:
                # a thread that is woken by the caller while the caller goes on is put on another processor at once
                _helpers.ask(partial(help_out, lock))
            work()
            wait()
        finally:
            end()
            wait()
    if errors:
        raise errors.pop()
    # a helper that comes late still knows of the dictionary
    return [results.pop(i) for i in range(len(tasks))]


def threads_for(n_multiplications: float) -> int:
    """Number of threads for so many multiplications: one if they are over before another thread has woken."""
    n_threads = count_threads(None) if _limit.current is None else _limit.current
    return n_threads if n_multiplications >= _WORTH_WAKING else 1


def in_threads(part: Callable[[slice], T], length: int, n_multiplications: float) -> list[T]:
    """Results of `part` for consecutive slices of a range, one for each thread that matrix products may use here.

    It is often faster than BLAS with so many threads, which spin on for 100 ms into whatever follows.
    """
    n_threads = threads_for(n_multiplications)
    bounds = [length * k // n_threads for k in range(n_threads + 1)]
    return run([partial(part, slice(*ends)) for ends in pairwise(bounds)], n_threads)
