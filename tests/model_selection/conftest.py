"""Shared by the tests of the search."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def one_blas_thread():
    """On so few rows threads cost more than they gain; tests that are about threads ask for them."""
    with threadpool_limits(1, user_api="blas"):
        yield
