"""Fits that keep every iteration, and runs that are broken off."""

import os

import pytest

from checkpoint.interrupted import Broken
from unisvm.checkpoint import stages


@pytest.fixture
def every_iteration(monkeypatch):
    """All iterations are kept, however short they are."""
    monkeypatch.setattr(stages, "_SECONDS_BETWEEN", 0)
    monkeypatch.setattr(stages, "_SHARE", 0)


@pytest.fixture
def break_after(monkeypatch):
    """Break off the run after so many files."""
    real = os.replace

    def at(n_files):
        left = [n_files]

        def replace(*paths):
            if left[0] == 0:
                raise Broken
            left[0] -= 1
            real(*paths)

        monkeypatch.setattr(os, "replace", replace)

    return at
