"""The partial Cholesky factorisation: residuals, and a tolerance for rows that are no candidates."""

import numpy as np
import pytest
from scipy.linalg.lapack import dpstrf

import naive
from unisvm import kernels
from unisvm.nystrom.cholesky import PartialCholesky


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_residual_follows_the_pivots(store, dtype):
    rng = np.random.RandomState(0)
    X, kernel = rng.randn(80, 3).astype(dtype), kernels.RBF(0.3)
    candidates, weights = rng.permutation(80)[:50], rng.uniform(1, 5, size=50)
    cholesky = PartialCholesky(kernel, store(X), candidates, weights, 20, sampled=False)
    K = kernel(X[candidates].astype(float), X[candidates].astype(float))
    for positions in ([4], [7, 30, 2], [30, 11], []):  # 30 comes twice and is spanned by then
        assert not cholesky.add(np.array(positions, dtype=int), 0.0)
        left = K - naive.nystrom(K, cholesky.pivots)
        np.testing.assert_allclose(cholesky.residual, left.diagonal(), atol=1e-5)
        assert cholesky.residual.min() >= 0
        np.testing.assert_allclose(cholesky.entries(np.arange(50)), left, atol=1e-5)
        np.testing.assert_allclose(cholesky.entries(np.array([3, 9])), left[np.ix_([3, 9], [3, 9])], atol=1e-5)
    assert cholesky.pivots == [4, 7, 30, 2, 11]


def test_tolerance_holds_for_the_rows_that_are_not_candidates(store):
    # a tenth of the candidates become landmarks, leave nothing out, and would hide what the other rows do
    kernel = kernels.RBF(0.3)

    def error(seed, sampled):
        rng = np.random.RandomState(seed)
        X = rng.randn(3000, 3)
        candidates = rng.permutation(3000)[:600]
        cholesky = PartialCholesky(kernel, store(X), candidates, np.ones(600), 200, sampled=sampled)
        while not cholesky.add(np.array([rng.choice(600, p=cholesky.residual / cholesky.residual.sum())]), 0.05):
            pass
        pivots = candidates[cholesky.pivots]
        factor = np.linalg.solve(np.linalg.cholesky(kernel(X[pivots], X[pivots])), kernel(X[pivots], X))
        return 1 - (factor**2).sum() / 3000

    assert (
        np.mean([error(seed, True) for seed in range(20)]) < 0.055 < np.mean([error(seed, False) for seed in range(20)])
    )


def test_pivots_that_are_spanned_already_end_nothing(store):
    X, kernel = np.random.RandomState(0).randn(40, 3), kernels.RBF(0.3)
    cholesky = PartialCholesky(kernel, store(X), np.arange(40), np.ones(40), 5, sampled=False)
    for positions, expected in (([0, 1], [0, 1]), ([1, 0], [0, 1]), ([2], [0, 1, 2])):
        assert not cholesky.add(np.array(positions), 0.0)
        assert cholesky.pivots == expected


def test_a_diagonal_that_falls_below_zero_is_told_of(store):
    def eliminate(entry):
        K = np.array([[1.0, entry], [entry, 1.0]])
        rows = store(K)
        PartialCholesky(kernels.Precomputed(), rows, np.arange(2), np.ones(2), 2, sampled=False).add(np.array([0]), 0.0)

    # 1 − k² is left, here no more than rounding may leave
    eliminate(1.00001)
    with pytest.raises(ValueError, match=r"not positive semidefinite: -3 is left of k\(x, x\) in one of 2 rows"):
        eliminate(2.0)


@pytest.mark.parametrize("scale", [0.01, 100.0])
def test_a_negative_remainder_is_told_by_its_share_of_the_diagonal(store, scale):
    def eliminate(entry):
        rows = store(scale * np.array([[1.0, entry], [entry, 1.0]]))
        PartialCholesky(kernels.Precomputed(), rows, np.arange(2), np.ones(2), 2, sampled=False).add(np.array([0]), 0.0)

    eliminate(1.00001)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        eliminate(1.001)


def test_a_kernel_that_is_zero_on_all_rows_is_refused(store):
    with pytest.raises(ValueError, match="is zero on the rows of X"):
        PartialCholesky(kernels.Linear(), store(np.zeros((5, 2))), np.arange(5), np.ones(5), 2, sampled=False)


def test_a_negative_remainder_is_told_of_when_the_first_pivots_leave_none(store):
    K = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 2.0, 1.0]])
    cholesky = PartialCholesky(kernels.Precomputed(), store(K), np.arange(3), np.ones(3), 3, sampled=False)
    assert not cholesky.add(np.array([0]), 0.0)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        cholesky.add(np.array([1]), 0.0)


@pytest.mark.parametrize("n_rows", [90, 3000])
@pytest.mark.parametrize("gamma", [0.05, 2.0])
def test_greedy_pivots_are_those_of_lapack(store, n_rows, gamma):
    # LAPACK takes the largest of the whole diagonal at each pivot; weights that differ leave no ties
    rng = np.random.RandomState(0)
    X, scales = rng.randn(n_rows, 3), rng.uniform(0.5, 1.5, n_rows)
    K = kernels.RBF(gamma)(X, X) * np.outer(scales, scales)
    cholesky = PartialCholesky(kernels.Precomputed(), store(K), np.arange(n_rows), np.ones(n_rows), 60, sampled=False)
    blocks = []
    while len(cholesky.pivots) < 60:
        blocks.append(cholesky.greedy_pivots())
        if cholesky.add(blocks[-1], 0.0):
            break
    _, pivots, rank, _ = dpstrf(K, lower=1)
    assert rank >= 60
    assert cholesky.pivots == (pivots[:60] - 1).tolist()
    # most are found together
    assert len(blocks) < 30


def test_the_first_of_equal_residuals_is_the_pivot(store):
    X = np.repeat(np.arange(600.0)[:, None], 2, axis=0)
    cholesky = PartialCholesky(kernels.RBF(50.0), store(X), np.arange(1200), np.ones(1200), 1200, sampled=False)
    while not cholesky.add(cholesky.greedy_pivots(), 0.0):
        if cholesky.residual.max() == 0:
            break
    assert cholesky.pivots == np.arange(0, 1200, 2).tolist()


def test_blocks_end_where_the_rank_does(store):
    X = np.random.RandomState(0).randn(700, 3)
    cholesky = PartialCholesky(kernels.RBF(5.0), store(X), np.arange(700), np.ones(700), 7, sampled=False)
    assert len(cholesky.greedy_pivots()) <= 7
    assert cholesky.add(np.arange(20), 0.0)
    assert cholesky.pivots == list(range(7))
