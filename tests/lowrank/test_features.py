"""The low-rank kernel: its factor, its moments, what it leaves out, and kernels that are not kernels."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import solve_triangular

import naive
from unisvm import UniSVMClassifier, kernels
from unisvm import features as lowrank
from unisvm.features import FeatureMap, Whitener, check_positive_semidefinite, gram_of_all, gram_sample
from unisvm.rows import threads
from unisvm.rows.threads import blas_threads

KERNELS = {
    "rbf": kernels.RBF(0.3),
    "laplacian": kernels.Laplacian(0.2),
    "poly": kernels.Polynomial(0.3, degree=2, coef0=1.0),
}
every_kernel = pytest.mark.parametrize("name", KERNELS)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)


def feature_map(kernel, points, dtype=F64):
    exact = points.astype(np.float64)
    return FeatureMap(kernel, points, kernel(exact, exact), np.dtype(dtype))


def orthonormal(features, X):
    return features.from_values(features.block(X).T).T


def difference_of_products(X, Z):
    """Indefinite: the first column counts negatively."""
    return X[:, 1:] @ Z[:, 1:].T - np.outer(X[:, 0], Z[:, 0])


@every_dtype
@pytest.mark.parametrize(("n_rows", "rank"), [(1, 1), (700, 127), (513, 300), (0, 5)])
def test_whitened_rows_solve_the_triangular_system(dtype, n_rows, rank):
    # several panels, and blocks of rows that are not full
    rng = np.random.RandomState(0)
    factor = np.asfortranarray(np.tril(rng.randn(rank, rank)) / 10 + np.eye(rank))
    rows = rng.randn(n_rows, rank).astype(dtype)
    whitened = rows.copy()
    assert Whitener(factor, np.dtype(dtype))(whitened) is whitened
    scale = np.abs(whitened).max(initial=1.0)
    np.testing.assert_allclose(
        whitened,
        solve_triangular(factor, rows.T.astype(float), lower=True).T,
        atol=(1e-3 if dtype == np.float32 else 1e-11) * scale,
    )


@every_kernel
@every_dtype
def test_features_give_the_nystrom_approximation(name, dtype):
    X, kernel = np.random.RandomState(0).randn(60, 4).astype(dtype), KERNELS[name]
    features = feature_map(kernel, X[:12], dtype)
    K = kernel(X.astype(float), X.astype(float))
    assert features.rank == 12
    P = orthonormal(features, X.astype(float))
    tolerance = 1e-4 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(P @ P.T, naive.nystrom(K, np.arange(12)), atol=tolerance * K.max())
    # the order of the landmarks is the factor's own; up to it this is the textbook's formula
    B = features.kept
    np.testing.assert_allclose(P, naive.orthonormal_features(K[:, B], K[np.ix_(B, B)]), atol=tolerance * K.max())
    assert features.block(X).dtype == dtype


@every_kernel
def test_kept_points_and_factor_belong_together(name):
    X, kernel = np.random.RandomState(0).randn(15, 4), KERNELS[name]
    for form in (np.array, sparse.csr_matrix):
        features = FeatureMap(kernel, form(X), kernel(X, X), F64)
        assert sorted(features.kept) == list(range(15))
        points = features.points.toarray() if sparse.issparse(features.points) else features.points
        np.testing.assert_array_equal(points, X[features.kept])
        np.testing.assert_array_equal(features.factor, np.tril(features.factor))
        np.testing.assert_allclose(features.factor @ features.factor.T, kernel(points, points), rtol=1e-10, atol=1e-10)


@every_kernel
@every_dtype
@pytest.mark.parametrize("apart", [0.0, 1e-9])
def test_repeated_landmarks_are_dropped(name, dtype, apart):
    rng = np.random.RandomState(0)
    distinct = rng.randn(8, 3)
    points = (np.repeat(distinct, 3, axis=0) + apart * rng.randn(24, 3)).astype(dtype)
    kernel = KERNELS[name]
    matrix = kernel(points.astype(float), points.astype(float))
    features = FeatureMap(kernel, points, matrix.copy(), np.dtype(dtype))
    if dtype == np.float32 or apart == 0.0:
        assert sorted(features.kept // 3) == list(range(8))
    assert 8 <= features.rank <= 24
    P = orthonormal(features, points.astype(float))
    np.testing.assert_allclose(P @ P.T, matrix, atol=2e-4 if dtype == np.float32 else 1e-8)


@every_dtype
def test_no_pivot_is_rounding_error(dtype):
    # a smooth kernel has far more landmarks than numerical rank; coefficients must stay bounded all the same
    X = np.random.RandomState(0).uniform(size=(200, 2)).astype(dtype)
    features = feature_map(kernels.RBF(0.1), X, dtype)
    assert features.rank < 60
    assert features.factor.diagonal().min() ** 2 > (2e-5 if dtype == np.float32 else 1e-14)


@every_kernel
def test_dual_coefficients_and_values(name):
    rng = np.random.RandomState(0)
    X, kernel = rng.randn(50, 4), KERNELS[name]
    features = feature_map(kernel, X[:10])
    W = rng.randn(features.rank, 3)
    P = orthonormal(features, X)
    np.testing.assert_allclose(features.block(X) @ features.to_dual(W), P @ W, rtol=1e-7, atol=1e-8)
    values_at_landmarks = P[features.kept] @ W
    np.testing.assert_allclose(features.from_values(values_at_landmarks), W, rtol=1e-7, atol=1e-8)
    # the norm of f is that of W: the basis is orthonormal in the kernel's space
    dual = features.to_dual(W[:, 0])
    assert dual @ kernel(features.points, features.points) @ dual == pytest.approx(W[:, 0] @ W[:, 0])


def full(sample):
    """The Gram matrix of which a sample holds the lower triangle."""
    return np.tril(sample.gram) + np.tril(sample.gram, -1).T


def of_sample(rows, features, *args):
    return gram_sample(rows, features, rows.build(features.block, features.rank), *args)


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
    sample = of_all(store(X, weights=weights, n_threads=n_threads), features)
    exact = X.astype(float)
    P = orthonormal(features, exact)
    mean, gram = naive.moments(P, weights)
    tolerance = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(sample.mean, mean, atol=tolerance)
    np.testing.assert_allclose(full(sample), gram, atol=tolerance * gram.max())
    assert sample.trace_error == pytest.approx(
        naive.trace_left(kernel(exact, exact), np.arange(12), weights), abs=tolerance
    )
    assert sample.rows is None
    # a sample of all rows is the same
    everything = of_sample(store(X, weights=weights), features, 300, rng)
    assert everything.rows.n_rows == 300
    np.testing.assert_allclose(full(everything), full(sample), atol=tolerance * gram.max())


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_a_sample_are_close(store, weighted):
    rng = np.random.RandomState(0)
    X, kernel = rng.randn(4000, 3), kernels.RBF(0.3)
    # two kinds of rows, so that forgetting the weights would move the mean far more than chance does
    X[2000:] += 2
    weights = np.where(np.arange(4000) < 2000, 0.2, 1.8) if weighted else np.ones(4000)
    features = feature_map(kernel, X[1990:2010])
    sample = of_sample(store(X, weights=weights), features, 800, np.random.RandomState(1))
    mean, gram = naive.moments(orthonormal(features, X), weights)
    assert 600 < sample.rows.n_rows <= 800
    np.testing.assert_allclose(sample.mean, mean, atol=0.06)
    np.testing.assert_allclose(full(sample), gram, atol=0.06)
    assert sample.trace_error == pytest.approx(1 - np.trace(gram), abs=0.03)


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
    gram, sums, total = everything.moments(factors)
    mean, expected = naive.moments(orthonormal(features, X.astype(float)), weights * factors)
    share = weights @ factors / weights.sum()
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    assert total == pytest.approx(share)
    np.testing.assert_allclose(sums, mean * share, atol=tolerance)
    np.testing.assert_allclose(np.tril(gram), np.tril(expected * share), atol=tolerance)


@every_dtype
@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("some", [False, True])
def test_moments_in_bands(monkeypatch, some, n_threads, dtype):
    """Where threads have no room for moments of their own, they share one triangle."""
    monkeypatch.setattr(lowrank, "MOST_APART", 0)
    monkeypatch.setattr(threads, "_WORTH_WAKING", 0)
    monkeypatch.setattr(lowrank, "_MOMENTS_BLOCK", 32)
    rng = np.random.RandomState(0)
    P, rows = rng.randn(150, 37).astype(dtype), rng.permutation(150)[:101] if some else None
    weights = rng.uniform(size=101 if some else 150)
    with blas_threads(n_threads):
        gram, sums = lowrank._moments(P, weights, rows)
    own = P.astype(np.float64)[slice(None) if rows is None else rows]
    precision = {"rtol": 1e-5, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(np.tril(gram), np.tril((own.T * weights) @ own), **precision)
    np.testing.assert_allclose(sums, own.T @ weights, **precision)


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
    mean, gram = naive.moments(orthonormal(features, X), weights)
    samples = [of_sample(rows, features, 200, np.random.RandomState(seed), landmarks) for seed in range(60)]
    alone = int(np.flatnonzero(landmarks == 1234)[0])
    for sample in samples:
        assert sample.gram[alone, alone] == pytest.approx(gram[alone, alone], rel=1e-6)
    # nothing is counted twice
    np.testing.assert_allclose(np.mean([full(sample) for sample in samples], axis=0), gram, atol=0.01)
    np.testing.assert_allclose(np.mean([sample.mean for sample in samples], axis=0), mean, atol=0.01)
    assert np.mean([sample.trace_error for sample in samples]) == pytest.approx(1 - np.trace(gram), abs=0.01)


def test_sample_of_landmarks_only(store):
    # one row has all the weight but a trace of it, so that nothing else is drawn
    X = np.random.RandomState(0).randn(50, 2)
    weights = np.full(50, 1e-12)
    weights[7] = 1.0
    features = feature_map(kernels.RBF(0.5), X[[7]])
    sample = of_sample(store(X, weights=weights), features, 10, np.random.RandomState(0), np.array([7]))
    np.testing.assert_allclose(full(sample), [[1.0]], rtol=1e-6)


def test_full_kernel_leaves_nothing_out(store):
    X = np.random.RandomState(0).randn(40, 3)
    sample = of_all(store(X), feature_map(kernels.RBF(1.0), X))
    assert 0 <= sample.trace_error < 1e-10


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
    sample = of_all(rows, features) if n_sampled is None else of_sample(rows, features, n_sampled, rng)
    indices = np.arange(60) if n_sampled is None else rows.draw(n_sampled, np.random.RandomState(0))
    P = naive.orthonormal_features(K[:, chosen[features.kept]], K[np.ix_(*[chosen[features.kept]] * 2)])[indices]
    np.testing.assert_allclose(full(sample), P.T @ P / len(indices), atol=1e-9)
    assert sample.trace_error == pytest.approx(1 - (P**2).sum() / len(indices), abs=1e-9)


# ---------------------------------------------------------------------- kernels that are not positive semidefinite


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix])
def test_indefinite_precomputed_matrix_is_refused(form):
    rng = np.random.RandomState(0)
    X, y = rng.randn(30, 4), rng.randint(2, size=30)
    K = difference_of_products(X, X)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        UniSVMClassifier(kernel="precomputed").fit(form(K), y)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        FeatureMap(kernels.Precomputed(), np.arange(30), K, F64)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_indefinite_function_is_warned_of():
    rng = np.random.RandomState(0)
    X, y = rng.randn(30, 4), rng.randint(2, size=30)
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        model = UniSVMClassifier(kernel=difference_of_products).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        FeatureMap(kernels.Sigmoid(1.0, coef0=-1.0), X, kernels.Sigmoid(1.0, coef0=-1.0)(X, X), F64)


def test_positive_semidefinite_function_is_not_warned_of():
    # rounding leaves eigenvalues of either sign about 0; warnings are errors here
    X = np.random.RandomState(0).randn(40, 2)
    assert feature_map(kernels.Function(lambda X, Z: X @ Z.T), X).rank == 2


def test_rounding_is_told_from_a_negative_eigenvalue():
    check_positive_semidefinite(np.diag([1.0, -1e-7]), refuse=True)
    with pytest.raises(ValueError, match=r"smallest eigenvalue is -0\.01"):
        check_positive_semidefinite(np.diag([1.0, -0.01]), refuse=True)


def test_a_kernel_that_is_zero_on_all_landmarks():
    with pytest.raises(ValueError, match="zero on all landmarks"):
        feature_map(kernels.Linear(), np.zeros((5, 2)))
    with pytest.raises(ValueError, match="zero on all landmarks"):
        UniSVMClassifier(kernel="linear").fit(np.zeros((6, 2)), [0, 1] * 3)
