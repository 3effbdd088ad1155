"""The partial Cholesky factorisation: residuals, and a tolerance for rows that are no candidates."""

import numpy as np
import pytest

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
