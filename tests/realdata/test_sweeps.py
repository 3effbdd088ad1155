"""The default solver reaches Algorithm 1's objective in a fraction of its sweeps.

`benchmarks/sweeps.py` prints the same for every loss; here are those that need most.
"""

import os

import pytest

import sweeps

needs_data = pytest.mark.skipif(not os.environ.get("UNISVM_DATA"), reason="set UNISVM_DATA to the folder with a9a.npz")


def check(problem, loss):
    iterations, ours, _ = sweeps.compare(problem, loss, seed=0)
    assert iterations >= 50
    assert ours is not None
    assert ours <= sweeps.allowed(iterations)


@needs_data
@pytest.mark.parametrize("loss", ["smooth_hinge", "quadratic_ramp", "softplus_ramp", "saturating"])
@pytest.mark.parametrize("name", ["adult", "flipped"])
def test_adult(name, loss):
    check(sweeps.problems(0)[name], loss)


@pytest.mark.parametrize("loss", ["saturating"])
def test_checkerboard(loss):
    check(sweeps.board(), loss)
