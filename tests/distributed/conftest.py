"""Dask works in threads of this process, unless a test has a cluster."""

import pytest


@pytest.fixture(autouse=True)
def dask_at_work(threaded_dask):
    """A module with a cluster has a fixture `threaded_dask` that does nothing."""
