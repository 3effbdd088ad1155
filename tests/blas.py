"""Threads of the BLAS libraries of a process, for tests."""

from threadpoolctl import threadpool_info, threadpool_limits


def _of_all():
    return {
        library["filepath"]: library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


# other packages bring libraries that were built for one thread
with threadpool_limits(2, user_api="blas"):
    _OF_SEVERAL_THREADS = {path for path, n_threads in _of_all().items() if n_threads == 2}


def blas():
    """Numbers of threads by library."""
    return {path: n_threads for path, n_threads in _of_all().items() if path in _OF_SEVERAL_THREADS}
