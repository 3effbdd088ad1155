"""What the partial Cholesky factorisation does: residuals, the law of random pivots, its cost, its end."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

import naive
from unisvm import kernels, landmarks
from unisvm.landmarks import PartialCholesky

every_rule = pytest.mark.parametrize("rule", landmarks.RULES)


class Counting(kernels.Kernel):
    """Counts the entries of another kernel, and gives up when it is asked for too many blocks of them."""

    def __init__(self, kernel, most_blocks=None):
        self.kernel = kernel
        self.most_blocks = most_blocks
        self.entries = self.blocks = 0

    def diagonal(self, X):
        return self.kernel.diagonal(X)

    def against(self, Z):
        block = self.kernel.against(Z)

        def counted(X):
            self.entries += X.shape[0] * Z.shape[0]
            self.blocks += 1
            if self.most_blocks is not None and self.blocks > self.most_blocks:
                pytest.fail("the choice goes round in circles")
            return block(X)

        return counted


def choose(rule, rows, kernel, rank, tolerance=0.0, seed=0):
    return landmarks.choose(rule, rows, kernel, rank, tolerance, np.random.RandomState(seed))


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


def test_greedy_pivots_have_the_largest_residual(store):
    X, kernel = np.random.RandomState(0).randn(60, 3), kernels.RBF(0.5)
    chosen = choose("pivoted_cholesky", store(X), kernel, 12)
    K = kernel(X, X)
    for n in range(1, len(chosen)):
        left = (K - naive.nystrom(K, chosen[:n])).diagonal()
        assert left[chosen[n]] == pytest.approx(left.max())


def law_of_random_pivots(K, weights):
    """Probability of each ordered pair: each pivot is drawn by weight times what the ones before have left."""
    law = {}
    for first, second in permutations(range(len(K)), 2):
        diagonal = weights * K.diagonal()
        left = weights * (K - naive.nystrom(K, [first])).diagonal().clip(0)
        left[first] = 0
        law[first, second] = diagonal[first] / diagonal.sum() * left[second] / left.sum()
    return law


@pytest.mark.parametrize("weights", [np.ones(5), np.array([4.0, 1.0, 1.0, 2.0, 0.5])], ids=["equal", "weighted"])
def test_random_pivots_are_as_if_drawn_one_after_the_other(store, weights):
    # two near points, one apart, one large: proposals made together must not favour the near pair
    X = np.array([[1.0, 0.0, 0.0], [1.0, 0.3, 0.0], [0.0, 1.0, 0.2], [0.5, 0.5, 2.0], [0.1, 0.2, 0.6]])
    law = law_of_random_pivots(X @ X.T, weights)
    rows, counts, n = store(X, weights=weights), dict.fromkeys(law, 0), 2000
    for seed in range(n):
        counts[tuple(choose("rpcholesky", rows, kernels.Linear(), 2, seed=seed).tolist())] += 1
    likely = [pair for pair in law if n * law[pair] >= 5]
    rest = n - sum(counts[pair] for pair in likely)
    expected = [n * law[pair] for pair in likely]
    observed = [counts[pair] for pair in likely]
    assert chisquare([*observed, rest], [*expected, n - sum(expected)]).pvalue > 1e-3


def test_second_random_pivot_is_in_the_other_cluster(store):
    # nine rows in ten are in one cluster; its own residual is nearly nothing once one of them is a pivot
    rng = np.random.RandomState(0)
    X = np.concatenate([0.02 * rng.randn(180, 2), 5 + 0.02 * rng.randn(20, 2)])
    rows = store(X)
    pairs = np.array([choose("rpcholesky", rows, kernels.RBF(1.0), 2, seed=seed) for seed in range(200)])
    small = pairs >= 180
    assert 0.04 < small[:, 0].mean() < 0.17
    assert (small[:, 0] != small[:, 1]).mean() > 0.95


@pytest.mark.parametrize(
    ("rule", "low", "high"), [("rpcholesky", 0, 0.2), ("uniform", 0, 0.2), ("pivoted_cholesky", 1, 1.05)]
)
def test_entries_that_are_looked_at(store, rule, low, high):
    m, rank = 20_000, 40
    kernel = Counting(kernels.RBF(20.0))
    chosen = choose(rule, store(np.random.RandomState(0).randn(m, 3)), kernel, rank)
    assert len(chosen) == rank
    assert low * m * rank <= kernel.entries <= high * m * rank


@pytest.mark.parametrize("rule", ["rpcholesky", "uniform"])
def test_cost_of_a_sample_does_not_grow_with_the_rows(store, rule):
    entries = []
    for m in (5_000, 40_000):
        kernel = Counting(kernels.RBF(20.0))
        choose(rule, store(np.random.RandomState(0).randn(m, 3)), kernel, 40)
        entries.append(kernel.entries)
    assert entries[1] < 1.3 * entries[0]


class Overstated(kernels.RBF):
    """Its diagonal is above that of its matrix, by what may well be rounding in single precision."""

    def diagonal(self, X):
        return np.full(X.shape[0], 1 + 1e-5)


@every_rule
def test_the_choice_ends_when_diagonal_and_matrix_differ_by_rounding(store, rule):
    X = np.ones((40, 2), dtype=np.float32)
    assert len(choose(rule, store(X), Counting(Overstated(1.0), most_blocks=500), 20)) == 1


@every_rule
@pytest.mark.parametrize(
    ("kernel", "m", "d", "offset", "rank"),
    [
        (kernels.RBF(0.1), 300, 3, 10.0, 200),
        (kernels.RBF(0.001), 300, 6, 0.0, 200),
        (kernels.Polynomial(0.5, 3, 1.0), 400, 3, 0.0, 300),
        (kernels.Linear(), 300, 2, 10.0, 200),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_choice_ends_at_the_numerical_rank(store, rule, kernel, m, d, offset, rank, dtype):
    # the spectrum falls to rounding error at about the rank or before it, and no tolerance ends the choice earlier
    for seed in range(6):
        X = (np.random.RandomState(seed).randn(m, d) + offset).astype(dtype)
        chosen = choose(rule, store(X), Counting(kernel, most_blocks=2000), rank, seed=seed)
        assert len(np.unique(chosen)) == len(chosen) <= rank
        K = kernel(X.astype(float), X.astype(float))
        # rows at random may miss the outermost ones
        assert naive.trace_left(K, chosen) < (1e-2 if rule == "uniform" else 1e-4)
