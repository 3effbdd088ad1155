"""The named rules: where they stop, which rows they prefer, what they cost; and landmarks that are given as arrays."""

from itertools import permutations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chisquare

import naive
from unisvm import UniSVMClassifier, kernels
from unisvm.nystrom.landmarks import RULES, choose_landmarks

KERNELS = {
    "rbf": kernels.RBF(0.2),
    "linear": kernels.Linear(),
    "laplacian": kernels.Laplacian(0.05),
    "poly": kernels.Polynomial(0.5, degree=2, coef0=1.0),
}

every_rule = pytest.mark.parametrize("rule", RULES)
every_kernel = pytest.mark.parametrize("name", KERNELS)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def rows_of(dtype, m=250, d=6, seed=0):
    return np.random.RandomState(seed).randn(m, d).astype(dtype)


def choose(rule, rows, kernel, rank, tol=0.0, seed=0):
    """Store indices of the landmarks."""
    return choose_landmarks(rule, rows, kernel, rank, tol, np.random.RandomState(seed)).store_indices


def matrix(kernel, X):
    """The kernel matrix whose trace the tolerance is about: where lengths differ, each row is judged by its own."""
    K = kernel(X.astype(np.float64), X.astype(np.float64))
    lengths = np.ones(len(K)) if kernel.is_judged_by_trace else np.sqrt(np.diagonal(K))
    return K / np.outer(lengths, lengths)


@pytest.mark.parametrize("rule", ["rpcholesky", "pivoted_cholesky"])
@every_kernel
@every_dtype
@pytest.mark.parametrize("tolerance", [0.3, 0.05])
@pytest.mark.parametrize("weighted", [False, True])
def test_stops_at_the_tolerance_and_not_later(store, rule, name, dtype, tolerance, weighted):
    X, kernel = rows_of(dtype), KERNELS[name]
    weights = np.random.RandomState(1).randint(1, 20, size=len(X)) if weighted else None
    # fewer rows than the least number of candidates: the trace is taken over all of them
    chosen = choose(rule, store(X, weights=weights), kernel, rank=200, tol=tolerance)
    assert len(chosen) < 200
    K = matrix(kernel, X)
    assert naive.trace_left(K, chosen, weights) <= tolerance * (1 + 1e-4)
    assert naive.trace_left(K, chosen[:-1], weights) > tolerance * (1 - 1e-4)


@every_kernel
@every_dtype
def test_uniform_stops_at_the_tolerance(store, name, dtype):
    X, kernel, tolerance = rows_of(dtype), KERNELS[name], 0.3
    chosen = choose("uniform", store(X), kernel, rank=150, tol=tolerance)
    assert len(chosen) < 150
    order = store(X).draw(150, np.random.RandomState(0))
    np.testing.assert_array_equal(chosen, order[: len(chosen)])
    K = matrix(kernel, X)
    assert naive.trace_left(K, chosen) <= tolerance * (1 + 1e-4)
    assert naive.trace_left(K, chosen[:-1]) > tolerance * (1 - 1e-4)


def test_unknown_rule():
    with pytest.raises(ValueError, match="Unknown landmark rule 'rpcholeski': did you mean 'rpcholesky'"):
        UniSVMClassifier(landmarks="rpcholeski").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("rule", "m"), [("uniform", 300), ("uniform", 4000), ("rpcholesky", 300), ("rpcholesky", 2100)]
)
def test_heavy_rows_are_chosen_more_often(store, rule, m):
    # a tenth of the rows has 50/59 of the weight, whether all rows are candidates or a sample of them
    weights = np.where(np.arange(m) < m // 10, 50.0, 1.0)
    rows, kernel = store(rows_of(np.float64, m=m, d=2), weights=weights), kernels.Laplacian(50.0)
    chosen = np.concatenate([choose(rule, rows, kernel, 5, 0.0, seed) for seed in range(30)])
    assert 0.7 < np.mean(chosen < m // 10) < 0.97


# ---------------------------------------------------------------------- pivots


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
    # two near points, one apart, two others: proposals made together must not favour the near pair
    X = np.array([[1.0, 0.0, 0.0], [1.0, 0.3, 0.0], [0.0, 1.0, 0.2], [0.5, 0.5, 2.0], [0.1, 0.2, 0.6]])
    law = law_of_random_pivots(matrix(kernels.Linear(), X), weights)
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


# ---------------------------------------------------------------------- given as arrays


@pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_row_indices_and_points_give_the_same_model(form):
    # arrays have a method `choose`, and are no rules
    X = rows_of(np.float64, d=2)
    y, given = (X[:, 0] > 0).astype(int), np.array([30, 7, 7, 200])
    options = {"gamma": 0.5, "rank": 2, "tol": 1e-8}
    by_index = UniSVMClassifier(landmarks=given, **options).fit(form(X), y)
    by_point = UniSVMClassifier(landmarks=form(X)[np.unique(given)], **options).fit(form(X), y)
    assert set(by_index.landmarks_) == {7, 30, 200}
    assert by_point.landmarks_ is None
    np.testing.assert_allclose(by_point.decision_function(X), by_index.decision_function(X), rtol=1e-9)


def test_rows_of_weight_0_can_be_landmarks():
    X = rows_of(np.float64, d=2)
    y, weights = (X[:, 0] > 0).astype(int), (np.arange(250) > 5).astype(float)
    model = UniSVMClassifier(landmarks=[2, 100, 200], gamma=0.5).fit(X, y, weights)
    assert set(model.landmarks_) == {2, 100, 200}
    points = UniSVMClassifier(landmarks=X[[2, 100, 200]], gamma=0.5).fit(X[6:], y[6:])
    np.testing.assert_allclose(model.decision_function(X), points.decision_function(X), rtol=1e-6)


@every_rule
def test_rows_that_are_not_zero_are_found_among_many_that_are(store, rule):
    X = np.zeros((400, 2))
    X[7, 0] = X[300, 1] = 0.1
    assert set(choose(rule, store(X), kernels.Linear(), 3)) == {7, 300}


def test_points_are_offered_only_to_kernels_of_points(store):
    X = rows_of(np.float64, m=9, d=9)
    for kernel, offered in ((kernels.Precomputed(), ""), (kernels.RBF(0.2), r" or points \(2-D\)")):
        with pytest.raises(ValueError, match=rf"an array of row indices \(1-D integers\){offered}; got an array"):
            choose_landmarks(X[0], store(X), kernel, 3, 0.0, np.random.RandomState(0))
