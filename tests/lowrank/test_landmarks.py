"""Every landmark rule, on every kind of kernel: which rows, how many, how good."""

import numpy as np
import pytest

import naive
from unisvm import UniSVMClassifier, kernels, landmarks
from unisvm.features import FeatureMap

KERNELS = {
    "rbf": kernels.RBF(0.2),
    "linear": kernels.Linear(),
    "laplacian": kernels.Laplacian(0.05),
    "poly": kernels.Polynomial(0.5, degree=2, coef0=1.0),
}
RANK = 60

every_rule = pytest.mark.parametrize("rule", landmarks.RULES)
every_kernel = pytest.mark.parametrize("name", KERNELS)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def rows_of(dtype, m=250, d=6, seed=0):
    return np.random.RandomState(seed).randn(m, d).astype(dtype)


def choose(rule, rows, kernel, rank=RANK, tolerance=0.05, seed=0):
    return landmarks.choose(rule, rows, kernel, rank, tolerance, np.random.RandomState(seed))


def matrix(kernel, X):
    return kernel(X.astype(np.float64), X.astype(np.float64))


@every_rule
@every_kernel
@every_dtype
def test_chosen_rows(store, rule, name, dtype):
    X, kernel = rows_of(dtype), KERNELS[name]
    chosen = choose(rule, store(X), kernel)
    assert np.issubdtype(chosen.dtype, np.integer)
    assert 0 < len(chosen) <= RANK
    assert len(np.unique(chosen)) == len(chosen)
    assert chosen.min() >= 0
    assert chosen.max() < len(X)
    # they are independent of each other, so that none is dropped and the features are exact in their columns
    K = matrix(kernel, X)
    features = FeatureMap(kernel, X[chosen], K[np.ix_(chosen, chosen)], X.dtype)
    assert features.rank == len(chosen)
    P = features.from_values(features.block(X.astype(np.float64)).T).T
    scale = K.diagonal().max()
    np.testing.assert_allclose((P @ P.T)[:, chosen], K[:, chosen], atol=1e-5 * scale)
    assert (K - P @ P.T).diagonal().min() >= -1e-5 * scale


@every_rule
@every_kernel
def test_the_seed_alone_decides(store, rule, name):
    rows, kernel = store(rows_of(np.float64)), KERNELS[name]
    first = choose(rule, rows, kernel, seed=3)
    np.testing.assert_array_equal(first, choose(rule, rows, kernel, seed=3))
    others = [set(choose(rule, rows, kernel, seed=seed)) for seed in range(4, 8)]
    if rule == "pivoted_cholesky" and name in ("linear", "poly"):
        # the largest diagonal entry comes first whatever the order, and so do all that follow
        assert all(other == set(first) for other in others)
    else:
        assert any(other != set(first) for other in others)


@pytest.mark.parametrize("rule", ["rpcholesky", "pivoted_cholesky"])
@every_kernel
@every_dtype
@pytest.mark.parametrize("tolerance", [0.3, 0.05])
@pytest.mark.parametrize("weighted", [False, True])
def test_stops_at_the_tolerance_and_not_later(store, rule, name, dtype, tolerance, weighted):
    X, kernel = rows_of(dtype), KERNELS[name]
    weights = np.random.RandomState(1).randint(1, 20, size=len(X)) if weighted else None
    # fewer rows than the least number of candidates: the trace is taken over all of them
    chosen = choose(rule, store(X, weights=weights), kernel, rank=200, tolerance=tolerance)
    assert len(chosen) < 200
    K = matrix(kernel, X)
    assert naive.trace_left(K, chosen, weights) <= tolerance * (1 + 1e-4)
    assert naive.trace_left(K, chosen[:-1], weights) > tolerance * (1 - 1e-4)


@every_kernel
@every_dtype
def test_uniform_stops_at_the_tolerance(store, name, dtype):
    X, kernel, tolerance = rows_of(dtype), KERNELS[name], 0.3
    chosen = choose("uniform", store(X), kernel, rank=150, tolerance=tolerance)
    assert len(chosen) < 150
    order = store(X).draw(150, np.random.RandomState(0))
    np.testing.assert_array_equal(chosen, order[: len(chosen)])
    K = matrix(kernel, X)
    assert naive.trace_left(K, chosen) <= tolerance * (1 + 1e-4)
    assert naive.trace_left(K, chosen[:-1]) > tolerance * (1 - 1e-4)


@every_rule
@pytest.mark.parametrize("rank", [1, 2, 9, 10, 11, 37])
def test_never_more_than_rank(store, rule, rank):
    # 0 cannot be met before the rank is
    assert len(choose(rule, store(rows_of(np.float64)), kernels.Laplacian(1.0), rank, tolerance=0.0)) == rank


@every_rule
@every_dtype
@pytest.mark.parametrize("d", [1, 3, 7])
def test_linear_kernel_stops_at_the_number_of_columns(store, rule, dtype, d):
    chosen = choose(rule, store(rows_of(dtype, d=d)), kernels.Linear(), rank=40, tolerance=1e-6)
    assert len(chosen) == d


def degenerate():
    rng = np.random.RandomState(0)
    distinct = rng.randn(7, 3)
    yield "duplicates", distinct[rng.randint(7, size=60)], 7
    yield "constant columns", np.c_[np.ones((60, 2)), np.repeat(np.arange(6.0), 10)], 6
    yield "one point", np.tile(distinct[:1], (60, 1)), 1
    for m in (1, 2, 3):
        yield f"{m} rows", distinct[:m], m


@every_rule
@every_kernel
@every_dtype
@pytest.mark.parametrize(("X", "n_distinct"), [case[1:] for case in degenerate()], ids=[c[0] for c in degenerate()])
def test_degenerate_rows(store, rule, name, dtype, X, n_distinct):
    X, kernel = X.astype(dtype), KERNELS[name]
    K = matrix(kernel, X)
    for rank in (1, 2, 20):
        chosen = choose(rule, store(X), kernel, rank, tolerance=1e-4)
        assert 1 <= len(chosen) <= rank
        assert len(np.unique(chosen)) == len(chosen)
        if len(X) > rank:  # otherwise all rows are landmarks, and the features drop those that repeat
            assert len(chosen) <= n_distinct
        features = FeatureMap(kernel, X[chosen], K[np.ix_(chosen, chosen)], X.dtype)
        assert features.rank <= n_distinct
        assert np.isfinite(features.factor).all()
        if rank >= n_distinct:
            assert naive.trace_left(K, chosen) <= 1e-3


@every_rule
@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
@pytest.mark.parametrize("m", [2, 3, 40])
def test_fit_on_few_or_equal_rows(rule, kernel, m):
    X = np.tile([[1.0, 2.0]], (m, 1)) if m > 3 else np.arange(2.0 * m).reshape(m, 2) + 1
    X = X @ X.T if kernel == "precomputed" else X
    for rank in (1, 10):
        model = UniSVMClassifier(kernel=kernel, rank=rank, landmarks=rule, random_state=0).fit(X, np.arange(m) % 2)
        assert np.isfinite(model.decision_function(X)).all()
        assert 0 <= model.trace_error_ <= 1


def test_unknown_rule(store):
    with pytest.raises(ValueError, match="Unknown landmark rule 'rpcholeski': did you mean 'rpcholesky'"):
        choose("rpcholeski", store(rows_of(np.float64)), kernels.RBF(1.0))


@every_rule
@every_kernel
def test_rows_of_no_weight_are_as_if_they_were_not_there(rule, name):
    X = rows_of(np.float64, m=150)
    y = (X[:, 0] > 0).astype(int)
    weights = np.random.RandomState(2).randint(3, size=len(X)).astype(float)
    present = np.flatnonzero(weights)
    model = UniSVMClassifier(kernel=name, rank=30, landmarks=rule, random_state=0).fit(X, y, weights)
    assert (weights[model.landmarks_] > 0).all()
    alone = UniSVMClassifier(kernel=name, rank=30, landmarks=rule, random_state=0)
    alone.fit(X[present], y[present], weights[present])
    np.testing.assert_array_equal(model.landmarks_, present[alone.landmarks_])
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("rule", "m"), [("uniform", 300), ("uniform", 4000), ("rpcholesky", 300), ("rpcholesky", 2100)]
)
def test_heavy_rows_are_chosen_more_often(store, rule, m):
    # a tenth of the rows has 50/59 of the weight, whether all rows are candidates or a sample of them
    weights = np.where(np.arange(m) < m // 10, 50.0, 1.0)
    rows, kernel = store(rows_of(np.float64, m=m, d=2), weights=weights), kernels.Laplacian(50.0)
    chosen = np.concatenate([choose(rule, rows, kernel, 5, 0.0, seed) for seed in range(30)])
    assert 0.7 < np.mean(chosen < m // 10) < 0.97
