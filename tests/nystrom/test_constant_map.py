"""Features with a constant before them, whatever the others are."""

import numpy as np
import pytest
from scipy import sparse

from nystrom.feature_cases import KERNELS, every_dtype, feature_map
from unisvm import kernels
from unisvm.nystrom.column_map import ColumnMap
from unisvm.nystrom.constant_map import WithConstant
from unisvm.nystrom.gram import diagonal_gram, gram_of_all, sampled_gram
from unisvm.nystrom.signed_map import SignedFeatureMap

rng = np.random.RandomState(0)
X = rng.randn(90, 4)
SIGMOID = kernels.Sigmoid(0.5, coef0=-0.5)


def maps(dtype):
    points = X[:20].astype(dtype)
    return {
        **{name: feature_map(kernel, points, dtype) for name, kernel in KERNELS.items()},
        "columns": ColumnMap(kernels.Linear(), X[0].astype(dtype)),
        "sigmoid": SignedFeatureMap(SIGMOID, points, SIGMOID(X[:20], X[:20]), np.dtype(dtype)),
    }


every_map = pytest.mark.parametrize("name", [*KERNELS, "columns", "sigmoid"])


@every_map
@every_dtype
def test_features(store, name, dtype):
    inner = maps(dtype)[name]
    outer, rows = WithConstant(inner), X.astype(dtype)
    expected = np.insert(inner.block(rows), 0, 1, axis=1)
    assert outer.rank == inner.rank + 1
    for values in (
        outer.block(rows),
        outer.block(rows, out=np.empty((90, outer.rank), dtype)),
        outer.build(store(rows)),
    ):
        assert values.dtype == dtype
        # kernels that are compiled write to rows that follow each other only; others round otherwise
        np.testing.assert_allclose(values, expected, rtol=1e-5 if dtype == np.float32 else 1e-14)
    p = outer.from_values(expected.T.astype(float)).T
    np.testing.assert_array_equal(p[:, 0], 1)
    np.testing.assert_array_equal(p[:, 1:], inner.from_values(expected[:, 1:].T.astype(float)).T)
    whitened = outer.whitener(np.dtype(dtype))(expected.copy())
    np.testing.assert_allclose(whitened, p, atol=2e-2 if dtype == np.float32 else 1e-9)
    assert outer.signature == inner.signature
    np.testing.assert_array_equal(outer.signs, np.append(1, inner.signs))


@every_map
def test_coefficients(name):
    inner = maps(np.float64)[name]
    outer, W = WithConstant(inner), rng.randn(inner.rank + 1, 3)
    f = outer.block(X) @ outer.to_dual(W)
    np.testing.assert_allclose(f, W[0] + inner.block(X) @ inner.to_dual(W[1:]), atol=1e-10)
    p = outer.from_values(outer.block(X).T).T
    np.testing.assert_allclose(p @ W, f, atol=1e-9)


@pytest.mark.parametrize("name", [*KERNELS, "sigmoid"])
def test_features_of_the_landmarks(name):
    outer = WithConstant(maps(np.float64)[name])
    p = outer.from_values(outer.block(outer.inner.points).T).T
    np.testing.assert_allclose(outer.landmark_features, p, atol=1e-8)


@every_map
def test_moments(store, name):
    inner = maps(np.float64)[name]
    outer, rows = WithConstant(inner), store(X)
    gram = gram_of_all(rows, outer, outer.build(rows))
    alone = gram_of_all(rows, inner, inner.build(rows))
    assert gram.mean[0] == pytest.approx(1)
    assert gram.matrix[0, 0] == pytest.approx(1)
    np.testing.assert_allclose(gram.matrix[1:, 0], alone.mean, atol=1e-12)
    assert gram.trace_error == pytest.approx(alone.trace_error, abs=1e-12)
    sampled = sampled_gram(rows, outer, outer.build(rows), 200, np.random.RandomState(0))
    np.testing.assert_allclose(np.tril(sampled.matrix), np.tril(gram.matrix), atol=1e-8)


def test_sparse_columns_stay_sparse(store):
    rows = store(sparse.csr_array(X * (rng.rand(90, 4) < 0.3)))
    outer = WithConstant(ColumnMap(kernels.Linear(), np.zeros(4)))
    features = outer.build(rows)
    assert sparse.issparse(features)
    np.testing.assert_array_equal(features.toarray(), np.insert(rows.X.toarray(), 0, 1, axis=1))
    gram = diagonal_gram(rows, outer, features)
    np.testing.assert_allclose(gram.matrix, (features.toarray() ** 2).mean(axis=0))
