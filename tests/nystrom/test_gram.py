"""Second moments of the features: over all rows, over a sample, with factors, in threads; and their trace error."""

import numpy as np
import pytest
from scipy import sparse

import naive
from nystrom.feature_cases import F64, KERNELS, every_dtype, every_kernel, feature_map, orthonormal
from unisvm import UniSVMClassifier, kernels, parallel
from unisvm.nystrom import gram as gram_module
from unisvm.nystrom.column_map import ColumnMap
from unisvm.nystrom.feature_map import FeatureMap
from unisvm.nystrom.gram import (
    Gram,
    diagonal_gram,
    gram_of_all,
    is_subsample,
    read_sample,
    sample_size,
    sampled_gram,
    second_moments,
    weighted_moments,
)
from unisvm.parallel import blas_threads


def full(gram):
    """The matrix of which the moments hold the lower triangle."""
    return np.tril(gram.matrix) + np.tril(gram.matrix, -1).T


def of_sample(rows, features, *args):
    return sampled_gram(rows, features, rows.build(features.block, features.rank), *args)


def of_all(rows, features):
    return gram_of_all(rows, features, rows.build(features.block, features.rank))


@every_kernel
@every_dtype
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_moments_of_all_rows(store, small_blocks, name, dtype, weighted, n_threads):
    rng = np.random.RandomState(0)
    X, kernel = rng.randn(300, 4).astype(dtype), KERNELS[name]
    weights = rng.uniform(0.1, 5, size=300).astype(dtype).astype(float) if weighted else np.ones(300)
    features = feature_map(kernel, X[:12], dtype)
    gram = of_all(store(X, weights=weights, n_threads=n_threads), features)
    exact = X.astype(float)
    P = orthonormal(features, exact)
    mean, matrix = naive.moments(P, weights)
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(gram.mean, mean, atol=tolerance)
    np.testing.assert_allclose(full(gram), matrix, atol=tolerance * matrix.max())
    assert gram.trace_error == pytest.approx(
        naive.trace_left(kernel(exact, exact), np.arange(12), weights), abs=tolerance
    )
    assert gram.sample is None
    assert len(gram.indices) == len(gram.weights) == 0
    # a sample of all rows is the same
    everything = of_sample(store(X, weights=weights), features, 300, rng)
    assert everything.sample.rows.n_rows == len(everything.indices) == 300
    np.testing.assert_allclose(full(everything), full(gram), atol=tolerance * matrix.max())


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_a_sample_are_close(store, weighted):
    rng = np.random.RandomState(0)
    X, kernel = rng.randn(4000, 3), kernels.RBF(0.3)
    # two kinds of rows, so that forgetting the weights would move the mean far more than chance does
    X[2000:] += 2
    weights = np.where(np.arange(4000) < 2000, 0.2, 1.8) if weighted else np.ones(4000)
    features = feature_map(kernel, X[1990:2010])
    gram = of_sample(store(X, weights=weights), features, 800, np.random.RandomState(1))
    mean, matrix = naive.moments(orthonormal(features, X), weights)
    assert 600 < gram.sample.rows.n_rows <= 800
    np.testing.assert_allclose(gram.mean, mean, atol=0.06)
    np.testing.assert_allclose(full(gram), matrix, atol=0.06)
    assert gram.trace_error == pytest.approx(1 - np.trace(matrix), abs=0.03)
    # without the sample they are the same moments
    assert gram.without_sample().sample is None
    assert gram.without_sample().matrix is gram.matrix


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_a_sample_with_factors(store, weighted, dtype):
    rng = np.random.RandomState(0)
    X = rng.randn(3000, 3).astype(dtype)
    weights = rng.uniform(0.1, 5, size=3000).astype(dtype).astype(float) if weighted else np.ones(3000)
    features = feature_map(kernels.RBF(0.3), X[:12], dtype)
    everything = of_sample(store(X, weights=weights), features, 3000, rng)
    # most rows have the least factor
    factors = np.maximum(rng.uniform(-2, 1, size=3000), 0.05)
    matrix, sums, total = everything.reweighted(everything.sample, factors)
    mean, expected = naive.moments(orthonormal(features, X.astype(float)), weights * factors)
    share = weights @ factors / weights.sum()
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    assert total == pytest.approx(share)
    np.testing.assert_allclose(sums, mean * share, atol=tolerance)
    np.testing.assert_allclose(np.tril(matrix), np.tril(expected * share), atol=tolerance)


@every_dtype
@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("some", [False, True])
def test_moments_in_bands(monkeypatch, some, n_threads, dtype):
    """Where threads have no room for moments of their own, they share the bands of one triangle."""
    monkeypatch.setattr(gram_module, "PER_THREAD_GRAM_LIMIT", 0)
    monkeypatch.setattr(parallel, "_WORTH_WAKING", 0)
    monkeypatch.setattr(gram_module, "_MOMENTS_BLOCK", 32)
    rng = np.random.RandomState(0)
    P, rows = rng.randn(150, 37).astype(dtype), rng.permutation(150)[:101] if some else None
    weights = rng.uniform(size=101 if some else 150)
    with blas_threads(n_threads):
        matrix, sums = weighted_moments(P, weights, rows)
    P = P.astype(np.float64)[slice(None) if rows is None else rows]
    precision = {"rtol": 1e-5, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(np.tril(matrix), np.tril((P.T * weights) @ P), **precision)
    np.testing.assert_allclose(sums, P.T @ weights, **precision)


@pytest.mark.parametrize("weighted", [False, True])
def test_landmarks_are_in_every_sample(store, weighted):
    rng = np.random.RandomState(0)
    X, kernel = rng.randn(3000, 2), kernels.RBF(0.5)
    # a row of its own kind, which a sample of 200 rows hardly ever holds
    X[1234] = 50.0
    weights = rng.randint(1, 4, size=3000).astype(float) if weighted else np.ones(3000)
    landmarks = np.array([3, 1234, 77, 2000])
    features = feature_map(kernel, X[landmarks])
    rows, landmarks = store(X, weights=weights), landmarks[features.kept]
    mean, matrix = naive.moments(orthonormal(features, X), weights)
    grams = [of_sample(rows, features, 200, np.random.RandomState(seed), landmarks) for seed in range(60)]
    alone = int(np.flatnonzero(landmarks == 1234)[0])
    for gram in grams:
        assert gram.matrix[alone, alone] == pytest.approx(matrix[alone, alone], rel=1e-6)
    # nothing is counted twice
    np.testing.assert_allclose(np.mean([full(gram) for gram in grams], axis=0), matrix, atol=0.01)
    np.testing.assert_allclose(np.mean([gram.mean for gram in grams], axis=0), mean, atol=0.01)
    assert np.mean([gram.trace_error for gram in grams]) == pytest.approx(1 - np.trace(matrix), abs=0.01)


def test_sample_of_landmarks_only(store):
    # one row has all the weight but a trace of it, so that nothing else is drawn
    X = np.random.RandomState(0).randn(50, 2)
    weights = np.full(50, 1e-12)
    weights[7] = 1.0
    features = feature_map(kernels.RBF(0.5), X[[7]])
    gram = of_sample(store(X, weights=weights), features, 10, np.random.RandomState(0), np.array([7]))
    np.testing.assert_allclose(full(gram), [[1.0]], rtol=1e-6)


def test_full_kernel_leaves_nothing_out(store):
    X = np.random.RandomState(0).randn(40, 3)
    gram = of_all(store(X), feature_map(kernels.RBF(1.0), X))
    assert 0 <= gram.trace_error < 1e-10


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("n_sampled", [None, 40])
def test_moments_of_a_precomputed_kernel(store, form, n_sampled):
    # a sample of its rows still has all columns
    X = np.random.RandomState(0).randn(60, 3)
    K = kernels.RBF(0.3)(X, X)
    chosen = np.arange(0, 60, 6)
    precomputed, rng = kernels.Precomputed(), np.random.RandomState(0)
    features = FeatureMap(precomputed, chosen, K[np.ix_(chosen, chosen)], F64)
    rows = store(form(K))
    gram = of_all(rows, features) if n_sampled is None else of_sample(rows, features, n_sampled, rng)
    indices = np.arange(60) if n_sampled is None else rows.draw(n_sampled, np.random.RandomState(0))
    P = naive.orthonormal_features(K[:, chosen[features.kept]], K[np.ix_(*[chosen[features.kept]] * 2)])[indices]
    np.testing.assert_allclose(full(gram), P.T @ P / len(indices), atol=1e-9)
    assert gram.trace_error == pytest.approx(1 - (P**2).sum() / len(indices), abs=1e-9)


def test_state_and_back(store):
    X = np.random.RandomState(0).randn(3000, 3)
    features, rows = feature_map(kernels.RBF(0.3), X[:12]), store(X)
    gram = of_sample(rows, features, 500, np.random.RandomState(1), features.kept)
    other = Gram.from_state(gram.state())
    for name in ("mean", "matrix", "indices", "weights", "trace_error"):
        np.testing.assert_array_equal(getattr(other, name), getattr(gram, name))
    # the sample can be read again
    assert other.sample is None
    built = rows.build(features.block, features.rank)
    sample = read_sample(rows, features, built, other.indices, other.weights, features.rank)
    np.testing.assert_array_equal(sample.features, gram.sample.features)
    np.testing.assert_array_equal(sample.rows.X, gram.sample.rows.X)
    np.testing.assert_array_equal(sample.rows.weights, gram.sample.rows.weights)


# ---------------------------------------------------------------------- all rows or a sample


@pytest.mark.parametrize(
    ("m", "options", "sampled"),
    [
        (1500, {}, False),
        (6000, {}, True),
        (6000, {"quadratic": True}, False),
        (6000, {"exact": True}, False),
        (1500, {"keep_sample": True}, True),
        (6000, {"exact": True, "keep_sample": True}, True),
    ],
)
def test_which_moments_are_taken(store, m, options, sampled):
    X = np.random.RandomState(0).randn(m, 3)
    features, rows = feature_map(kernels.RBF(0.3), X[:12]), store(X)
    built = rows.build(features.block, features.rank)
    gram = second_moments(rows, features, built, np.random.RandomState(0), features.kept, **options)
    assert (gram.sample is not None) == (len(gram.indices) > 0) == sampled
    if sampled:
        # the landmarks come first
        np.testing.assert_array_equal(gram.indices[: features.rank], features.kept)
        assert len(gram.indices) <= sample_size(m, features.rank) + features.rank


def test_many_rows_and_landmarks_are_not_swept_for_moments(store, monkeypatch):
    monkeypatch.setattr(gram_module, "_EXACT_GRAM_COST", 0)
    X = np.random.RandomState(0).randn(1500, 3)
    features, rows = feature_map(kernels.RBF(0.3), X[:12]), store(X)
    built = rows.build(features.block, features.rank)
    assert second_moments(rows, features, built, np.random.RandomState(0), features.kept).sample is not None


@pytest.mark.parametrize("rank", [10, 500, 2000, 2001, 10_000])
def test_size_of_a_sample(rank):
    sizes = [sample_size(n_rows, rank) for n_rows in (10**4, 10**5, 10**6, 10**7)]
    # more rows are worth a larger sample, of 4 to 20 rows a landmark
    assert sizes == sorted(sizes)
    assert max(1000, 4 * rank) <= sizes[0]
    assert sizes[-1] <= max(1000, 20 * rank)
    assert is_subsample(sizes[-1], 10**7)
    assert not is_subsample(sizes[-1], sizes[-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["least_squares", "squared_hinge"])
def test_a_sampled_majoriser_serves_as_well(monkeypatch, loss, dtype):
    # heavy tails: many landmarks are the only rows of their kind, and a tiny λ leaves their directions nearly flat
    rng = np.random.default_rng(0)
    X = rng.standard_t(1.5, size=(20000, 4)).clip(-50, 50).astype(dtype)
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(len(X)) > 0
    options = {"C": 100.0, "gamma": 0.1, "rank": 300, "rank_tol": 0.0, "random_state": 0}
    # no sample is solved first, so that only the majoriser differs
    monkeypatch.setattr(gram_module, "_MAX_SUBSAMPLE_SHARE", 0)
    exact = UniSVMClassifier(loss, **options).fit(X, y)
    monkeypatch.setattr(gram_module, "_EXACT_GRAM_COST", 0)
    sampled = UniSVMClassifier(loss, **options).fit(X, y)
    assert sampled.trace_error_ != exact.trace_error_
    assert sampled.stationarity_ < 1e-4
    assert sampled.n_sweeps_ < 2 * exact.n_sweeps_ + 20
    assert sampled.objective_ == pytest.approx(exact.objective_, rel=2e-3)


@pytest.mark.parametrize(
    ("n_rows", "rank", "size"),
    [
        # never fewer than 1000 rows, nor more than 20 a landmark
        (10**4, 10, 1000),
        (10**6, 500, 10_000),
        # in between, 100 m/r
        (10**5, 1000, 10_000),
        (10**6, 4000, 25_000),
        # never fewer than five a landmark, and of many landmarks from four to six by how many rows there are
        (10**4, 2000, 10_000),
        (10**4, 4000, 16_000),
        (320_000, 4000, 20_000),
        (10**6, 8000, 48_000),
    ],
)
def test_size_of_a_sample_by_hand(n_rows, rank, size):
    assert sample_size(n_rows, rank) == size


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_columns(store, small_blocks, form, weighted):
    rng = np.random.RandomState(0)
    X, centre = rng.randn(300, 5) + 3, np.zeros(5) if form is sparse.csr_array else np.full(5, 2.5)
    weights = rng.uniform(0.1, 5, size=300) if weighted else np.ones(300)
    rows, columns = store(form(X), weights=weights), ColumnMap(kernels.Linear(), centre)
    features = columns.build(rows)
    mean, matrix = naive.moments(X - centre, weights)
    wide = diagonal_gram(rows, columns, features)
    assert wide.is_diagonal
    np.testing.assert_allclose(wide.matrix, matrix.diagonal())
    np.testing.assert_allclose(wide.mean, mean)
    for gram in (gram_of_all(rows, columns, features), sampled_gram(rows, columns, features, 300, rng)):
        np.testing.assert_allclose(full(gram), matrix)
        np.testing.assert_allclose(gram.mean, mean)
        # the columns leave out nothing of the kernel
        assert gram.trace_error == 0
