"""How many threads, and who uses them: blocks of rows, or the matrix products inside one block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from joblib import cpu_count, effective_n_jobs
from threadpoolctl import ThreadpoolController

T = TypeVar("T")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def count_threads(n_jobs: int | None) -> int:
    """The number of threads for `n_jobs`; None means as many as the matrix products are set to use."""
    if n_jobs is not None:
        return effective_n_jobs(n_jobs)
    blas = [library["num_threads"] for library in _controller().select(user_api="blas").info()]
    return min(max(blas, default=1), cpu_count())


@contextmanager
def blas_threads(n_threads: int) -> Iterator[None]:
    """Limit the matrix products inside to `n_threads`."""
    with _controller().limit(limits=n_threads, user_api="blas"):
        yield


def run(tasks: Iterable[Callable[[], T]], n_threads: int) -> list[T]:
    """Results of the tasks, in order, each run with single-threaded matrix products."""
    tasks = list(tasks)
    if n_threads == 1 or len(tasks) == 1:
        with blas_threads(n_threads):
            return [task() for task in tasks]
    with blas_threads(1), ThreadPoolExecutor(n_threads) as pool:
        return [future.result() for future in [pool.submit(task) for task in tasks]]
