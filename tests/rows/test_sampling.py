"""Rows that are drawn: by weight, distinct, the same for the same seed, also block by block."""

import numpy as np
import pytest
from scipy.stats import chisquare

from unisvm.rows import sampling

every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@every_dtype
def test_draw(store, dtype):
    weights = np.where(np.arange(400) < 40, 20.0, 1.0)
    rows = store(np.zeros((400, 1), dtype), weights=weights)
    drawn = rows.draw(30, np.random.RandomState(0))
    assert len(np.unique(drawn)) == 30
    np.testing.assert_array_equal(drawn, rows.draw(30, np.random.RandomState(0)))
    for n in (400, 1000):
        everything = rows.draw(n, np.random.RandomState(0))
        assert sorted(everything) == list(range(400))
        assert (everything != np.arange(400)).any()
    # 40 rows have 800 of 1160 in weight; five draws hardly exhaust them
    heavy = [np.mean(rows.draw(5, np.random.RandomState(seed)) < 40) for seed in range(200)]
    assert np.mean(heavy) == pytest.approx(800 / 1160, abs=0.06)
    equal = [np.mean(store(np.zeros((400, 1), dtype)).draw(5, np.random.RandomState(s)) < 40) for s in range(200)]
    assert np.mean(equal) == pytest.approx(0.1, abs=0.04)


@pytest.mark.parametrize("n", [50, 395, 400, 1000])
def test_weighted_subsample(store, n):
    # the share of the heavy rows is kept, even when nearly all rows are in the sample
    weights = np.where(np.arange(400) < 40, 20.0, 1.0)
    rows = store(np.zeros((400, 1)), weights=weights)
    shares = []
    for seed in range(200):
        indices, counts = rows.weighted_subsample(n, np.random.RandomState(seed))
        assert len(np.unique(indices)) == len(indices) <= min(n, 400)
        shares.append(counts[indices < 40].sum() / counts.sum())
    assert np.mean(shares) == pytest.approx(800 / 1160, abs=0.02)
    indices, counts = store(np.zeros((400, 1))).weighted_subsample(n, np.random.RandomState(0))
    assert len(np.unique(indices)) == min(n, 400)
    np.testing.assert_array_equal(counts, np.ones(min(n, 400)))


# ---------------------------------------------------------------------- indices


@pytest.mark.parametrize("n", [1, 5, 99, 100, 5000, 10_000])
def test_distinct(n):
    # a small share of the rows is drawn in another way
    drawn = sampling.distinct(10_000, n, np.random.RandomState(0))
    assert len(np.unique(drawn)) == len(drawn) == n
    assert 0 <= drawn.min() <= drawn.max() < 10_000
    np.testing.assert_array_equal(drawn, sampling.distinct(10_000, n, np.random.RandomState(0)))
    assert n == 10_000 or (np.sort(drawn) != np.sort(sampling.distinct(10_000, n, np.random.RandomState(1)))).any()


def test_by_weight():
    weights = np.array([1.0, 3.0, 0.0, 4.0])
    at = np.array([0.0, 0.124, 0.125, 0.499, 0.5, 0.999, 1.0])
    np.testing.assert_array_equal(sampling.by_weight(weights, at), [0, 0, 1, 1, 3, 3, 3])


@pytest.mark.parametrize("cuts", [[50], [1, 2, 99], [33, 66]])
def test_the_first_by_weight_are_the_same_in_blocks(cuts):
    weights = np.random.RandomState(0).uniform(0.1, 5, size=100)
    seed = sampling.seed(np.random.RandomState(3))
    expected, times = sampling.first_by_weight(weights, 12, seed, 0)
    assert (np.diff(times) > 0).all()
    found = []
    for low, high in zip([0, *cuts], [*cuts, 100], strict=True):
        local, of_block = sampling.first_by_weight(weights[low:high], 12, seed, low)
        found += zip(of_block.tolist(), (local + low).tolist(), strict=True)
    assert [index for _, index in sorted(found)[:12]] == expected.tolist()


def test_the_first_by_weight_are_drawn_one_after_the_other():
    weights = np.array([4.0, 1.0, 2.0, 1.0])
    n, share = 4000, weights / weights.sum()
    pairs = [tuple(sampling.first_by_weight(weights, 2, seed, 0)[0]) for seed in range(n)]
    law = {(i, j): share[i] * share[j] / (1 - share[i]) for i in range(4) for j in range(4) if i != j}
    assert chisquare([pairs.count(pair) for pair in law], [n * law[pair] for pair in law]).pvalue > 1e-3
