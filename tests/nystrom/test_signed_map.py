"""Nyström features of kernels that are not positive semidefinite, against eigenvalues of the whole matrix."""

import numpy as np
import pytest

from unisvm import kernels
from unisvm.nystrom.signed_map import SignedFeatureMap

rng = np.random.RandomState(0)
X = rng.randn(80, 4)
KERNEL = kernels.Sigmoid(0.5, coef0=-0.5)
K = KERNEL(X, X)
VALUES, VECTORS = np.linalg.eigh(K)
F64 = np.dtype(np.float64)


def signed(points=X, dtype=F64, **options):
    return SignedFeatureMap(KERNEL, points, KERNEL(points, points), np.dtype(dtype), **options)


def features_of(feature_map, rows):
    """P, of shape (n_rows, rank)."""
    return feature_map.from_values(feature_map.block(rows).T).T


@pytest.mark.parametrize("weighted", [False, True])
def test_nothing_is_left_out_of_the_whole_matrix(weighted):
    weights = rng.uniform(0.2, 3, len(X)) if weighted else None
    feature_map = signed(weights=weights)
    P = features_of(feature_map, X)
    np.testing.assert_allclose((P * feature_map.signs) @ P.T, K, atol=1e-9)
    assert feature_map.signature == ((VALUES > 0).sum(), (VALUES < 0).sum())
    np.testing.assert_allclose(feature_map.landmark_features, P, atol=1e-10)


def test_the_flipped_and_the_clipped_matrix():
    P = features_of(signed(), X)
    np.testing.assert_allclose(P @ P.T, (VECTORS * np.abs(VALUES)) @ VECTORS.T, atol=1e-9)
    P = features_of(signed(clip=True), X)
    np.testing.assert_allclose(P @ P.T, (VECTORS * np.maximum(VALUES, 0)) @ VECTORS.T, atol=1e-9)
    share = -VALUES[VALUES < 0].sum() / np.abs(VALUES).sum()
    assert signed().negative_share == pytest.approx(share)
    assert signed(clip=True).negative_share == 0


def test_weights_are_copies():
    """|K| of repeated rows is not |K| of the distinct ones, repeated."""
    weights = rng.randint(1, 4, len(X))
    copies = np.repeat(np.arange(len(X)), weights)
    flipped = features_of(signed(weights=weights), X)
    values, vectors = np.linalg.eigh(K[np.ix_(copies, copies)])
    whole = (vectors * np.abs(values)) @ vectors.T
    np.testing.assert_allclose((flipped @ flipped.T)[np.ix_(copies, copies)], whole, atol=1e-9)


def test_coefficients_there_and_back():
    feature_map = signed()
    W = rng.randn(len(X), 3)
    values = K @ feature_map.to_dual(W)
    np.testing.assert_allclose(features_of(feature_map, X) @ W, values, atol=1e-9)
    np.testing.assert_allclose(feature_map.of_function(values), W, atol=1e-7)
    points = rng.randn(7, 4)
    v = KERNEL(points, X).T
    # Tᵀ is the transpose of T
    np.testing.assert_allclose((W * feature_map.from_values(v)[:, :3]).sum(), (feature_map.to_dual(W) * v[:, :3]).sum())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rank", [None, 30])
@pytest.mark.parametrize("options", [{}, {"clip": True}, {"small_tol": 0.02}], ids=["flip", "clip", "small"])
def test_whitener_is_the_map_of_the_first_landmarks(dtype, rank, options):
    rows = rng.randn(1100, 4).astype(dtype)
    feature_map = signed(dtype=dtype, **options)
    of_first = feature_map if rank is None else signed(X[:rank], dtype, **options)
    values = np.ascontiguousarray(feature_map.block(rows)[:, :rank])
    expected = features_of(of_first, rows.astype(float))
    result = feature_map.whitener(np.dtype(dtype), rank)(values)
    assert result is values
    np.testing.assert_allclose(values, expected, atol=2e-2 if dtype == np.float32 else 1e-9)


def test_the_smallest_eigenvalues_are_left_out():
    feature_map = signed(small_tol=0.05)
    sizes = np.sort(np.abs(VALUES))
    n_left_out = (np.cumsum(sizes) <= 0.05 * sizes.sum()).sum()
    assert n_left_out > 5
    assert (feature_map.signs == 0).sum() == n_left_out
    assert not feature_map.transform[:, feature_map.signs == 0].any()


def test_few_landmarks_do_less_harm_without_the_smallest_eigenvalues(store):
    rows = store(X)
    points = X[:25]
    with_all, without = (signed(points, small_tol=tol).trace_error(rows, np.empty(0), float) for tol in (0.0, 0.02))
    assert without <= with_all


def test_trace_error(store):
    rows, unused = store(X), np.empty(0)
    assert signed().trace_error(rows, unused, float) < 1e-10
    share = -VALUES[VALUES < 0].sum() / np.abs(VALUES).sum()
    assert signed(clip=True).trace_error(rows, unused, float) == pytest.approx(share)
    weights = rng.randint(1, 4, len(X)).astype(float)
    copies = np.repeat(np.arange(len(X)), weights.astype(int))
    P = features_of(signed(X[:40]), X)[copies]
    whole = K[np.ix_(copies, copies)]
    left = np.linalg.eigvalsh(whole - (P * signed(X[:40]).signs) @ P.T)
    expected = min(np.abs(left).sum() / np.abs(np.linalg.eigvalsh(whole)).sum(), 1.0)
    assert signed(X[:40]).trace_error(store(X, weights=weights), unused, float) == pytest.approx(expected)


def test_it_is_restored_from_its_state():
    feature_map = signed(small_tol=0.02, weights=rng.uniform(0.2, 3, len(X)))
    state = feature_map.state()
    again = SignedFeatureMap.from_state(KERNEL, X, state)
    for name, array in state.items():
        np.testing.assert_array_equal(again.state()[name], array)
    block, same = rng.randn(10, len(X)), rng.randn(10, 4)
    np.testing.assert_array_equal(again.block(same), feature_map.block(same))
    whitened = (each.whitener(F64, 30)(block[:, :30].copy()) for each in (again, feature_map))
    np.testing.assert_array_equal(*whitened)
    # a finished model has no matrices
    small = {name: array for name, array in state.items() if name not in ("factor", "matrix")}
    light = SignedFeatureMap.from_state(KERNEL, X, small)
    assert (light.signature, light.negative_share) == (feature_map.signature, feature_map.negative_share)


def test_a_negative_matrix_has_nothing_left_when_clipped():
    """Not even by rounding error in sums of its eigenvalues."""
    for seed in range(20):
        A = np.random.RandomState(seed).randn(30, 30)
        with pytest.raises(ValueError, match="no positive eigenvalues"):
            SignedFeatureMap(kernels.Precomputed(), np.arange(30), -A @ A.T, F64, clip=True)
