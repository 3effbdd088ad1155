"""Medians and scales of targets in blocks are those of the same targets in one array."""

import dask.array as da
import numpy as np
import pytest

from unisvm import robust_scale
from unisvm.distributed.collections import Blocks
from unisvm.robust_scale import as_columns, location_and_scale, location_and_scale_of_blocks

pytestmark = pytest.mark.usefixtures("threaded_dask")

M = 1001
rng = np.random.RandomState(0)
NORMAL = rng.randn(M)
TARGETS = {
    "normal": NORMAL,
    "even number": NORMAL[:1000],
    "few values": rng.randint(0, 4, M),
    "two values, as often": np.repeat([-1.0, 1.0], 500),
    "constant": np.full(M, 0.1),
    "zero": np.zeros(M),
    "nearly constant": np.where(np.arange(M) % 10 == 0, NORMAL, 7.0),
    "both zeros": np.where(np.arange(M) % 2 == 0, 0.0, -0.0),
    "far off": NORMAL + 1e9,
    "heavy tails": rng.standard_cauchy(M) * 1e3,
    "huge range": np.sign(NORMAL) * 10.0 ** (NORMAL * 30),
    "one wild": np.where(np.arange(M) == 5, 1e150, NORMAL),
    "tiny": NORMAL * 5e-310,
    "whole numbers": rng.randint(-(10**9), 10**9, M),
    "single precision": NORMAL.astype(np.float32),
    "sorted": np.sort(NORMAL),
    "several": np.column_stack([NORMAL, rng.standard_cauchy(M), np.ones(M)]),
    "one row": NORMAL[:1],
    "two rows": NORMAL[:2],
}
WEIGHTS = {
    "alike": lambda m: np.ones(m),
    "weighted": lambda m: np.random.RandomState(1).uniform(size=m),
    "some of weight 0": lambda m: np.where(np.arange(m) // 7 % 3 == 0, 0.0, 2.0) + (m < 8),
    "all on one row": lambda m: (np.arange(m) == m // 2).astype(float),
}


@pytest.mark.parametrize("few", [100_000, 3])
@pytest.mark.parametrize("weighting", WEIGHTS)
@pytest.mark.parametrize("name", TARGETS)
def test_blocks_are_as_one_array(name, weighting, few, monkeypatch):
    monkeypatch.setattr(robust_scale, "_FEW", few)
    y = TARGETS[name]
    weights = WEIGHTS[weighting](len(y))
    expected = location_and_scale(as_columns(y), weights)
    blocks = Blocks(da.zeros((len(y), 1), chunks=(113, 1)), y, weights)
    median, scale = location_and_scale_of_blocks(blocks)
    np.testing.assert_array_equal(median, expected[0])
    np.testing.assert_allclose(scale, expected[1], rtol=1e-9)


def test_medians_against_numpy():
    y = TARGETS["several"]
    blocks = Blocks(da.zeros((M, 1), chunks=(90, 1)), y)
    median, scale = location_and_scale_of_blocks(blocks)
    np.testing.assert_array_equal(median, np.median(y, axis=0))
    np.testing.assert_allclose(scale[:2], 1.4826 * np.median(np.abs(y - median), axis=0)[:2])
    # weights that are whole numbers count rows
    counts = rng.randint(0, 4, M)
    median, _ = location_and_scale_of_blocks(Blocks(da.zeros((M, 1), chunks=(90, 1)), y, counts))
    np.testing.assert_array_equal(median, np.median(np.repeat(y, counts, axis=0), axis=0))


def test_few_passes_whatever_the_range(monkeypatch):
    monkeypatch.setattr(robust_scale, "_FEW", 1)
    blocks = Blocks(da.zeros((M, 1), chunks=(90, 1)), TARGETS["huge range"])
    functions = []
    ask = blocks.map_targets
    monkeypatch.setattr(
        blocks, "map_targets", lambda function, *args: (functions.append(function), ask(function, *args))[1]
    )
    location_and_scale_of_blocks(blocks)
    assert functions.count(robust_scale._histogram) <= 2 * 7
