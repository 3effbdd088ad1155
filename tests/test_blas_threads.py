"""The limit on the threads of BLAS, which is one for the whole process, when several threads set it."""

import threading

import pytest
from threadpoolctl import threadpool_limits

from blas import blas
from unisvm.parallel import blas_threads


def numbers():
    """Numbers of threads of the BLAS libraries."""
    return set(blas().values())


def test_the_least_limit_is_in_force():
    # or a fit in one thread would have products in two when another begins beside it, and another model
    with threadpool_limits(3, user_api="blas"):
        with blas_threads(1), blas_threads(2):
            assert numbers() == {1}
        with blas_threads(2):
            assert numbers() == {2}
        assert numbers() == {3}


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "after another"])
def test_any_thread_can_set_the_limit(is_first):
    # threadpoolctl lets one thread alone set the number of OpenBLAS, whose pool is that of the process
    inside, limited, go_on = [], threading.Event(), threading.Event()

    def limit():
        with blas_threads(1):
            inside.append(numbers())

    def hold():
        limit()
        limited.set()
        go_on.wait(30)

    with threadpool_limits(2, user_api="blas"):
        if not is_first:
            with blas_threads(1):
                pass
        thread = threading.Thread(target=hold)
        thread.start()
        assert limited.wait(30)
        assert inside == [{1}]
        assert numbers() == {2}
        # a thread that has ended its fit does not keep the others from it
        with threadpool_limits(1, user_api="blas"):
            assert numbers() == {1}
        limit()
        assert inside == [{1}] * 2
        assert numbers() == {2}
        go_on.set()
        thread.join()
