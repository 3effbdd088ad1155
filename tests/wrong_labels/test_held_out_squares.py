"""Predictions of least squares for rows that were left out, against refits without them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from nystrom.feature_cases import feature_map, orthonormal
from unisvm import kernels
from unisvm.leave_one_out import LeaveOneOut
from unisvm.nystrom.column_map import ColumnMap
from unisvm.wrong_labels.held_out_squares import HeldOutSquares

N_ROWS = 60
CS = np.array([0.01, 0.5, 30.0])
FOLDS = np.random.RandomState(3).permutation(np.arange(N_ROWS) % 4)


@pytest.fixture
def X(rng):
    return rng.randn(N_ROWS, 3)


@pytest.fixture
def Y(X, rng):
    return np.column_stack([np.sign(X[:, 0] + 0.5 * rng.randn(N_ROWS)), 5 + X[:, 1] ** 2])


@pytest.fixture
def weights(rng):
    return rng.uniform(0.2, 3, size=N_ROWS)


def landmarks_of(X, dtype=np.float64):
    return feature_map(kernels.RBF(0.3), X[:12].astype(dtype), dtype)


def refits(P, Y, weights, folds=None):
    """What ridge regression predicts for each row without it, or without its fold."""
    folds = np.arange(len(P)) if folds is None else folds
    found = np.empty((len(CS), *Y.shape))
    for c, C in enumerate(CS):
        for k in np.unique(folds):
            kept = folds != k
            model = Ridge(alpha=1 / (2 * C), solver="cholesky").fit(P[kept], Y[kept], sample_weight=weights[kept])
            found[c, ~kept] = model.predict(P[~kept])
    return found


def found_by(rows, features_of, Y, folds=None, room=np.inf):
    features = features_of.build(rows, room)
    return HeldOutSquares(rows, features_of, features, CS, folds).predictions(Y)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("folds", [None, FOLDS], ids=["rows", "folds"])
@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_are_those_of_refits(small_blocks, store, X, Y, weights, weighted, folds, n_threads):
    features_of = landmarks_of(X)
    weights = weights if weighted else np.ones(N_ROWS)
    found = found_by(store(X, weights=weights, n_threads=n_threads), features_of, Y, folds)
    assert found.shape == (3, N_ROWS, 2)
    np.testing.assert_allclose(found, refits(orthonormal(features_of, X), Y, weights, folds), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("folds", [None, FOLDS], ids=["rows", "folds"])
def test_single_precision(store, X, Y, weights, folds):
    features_of = landmarks_of(X, np.float32)
    rows = store(X.astype(np.float32), weights=weights)
    P = orthonormal(landmarks_of(X), X)
    found = found_by(rows, features_of, Y, folds)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, refits(P, Y, weights, folds), rtol=5e-3, atol=5e-3)


@pytest.mark.parametrize("folds", [None, FOLDS], ids=["rows", "folds"])
def test_features_in_a_file(scratch, store, X, Y, weights, folds):
    features_of = landmarks_of(X)
    rows = store(X, weights=weights, scratch_dir=scratch)
    features = features_of.build(rows, room=0)
    assert rows.location(features) == "on disk"
    found = HeldOutSquares(rows, features_of, features, CS, folds).predictions(Y)
    np.testing.assert_allclose(found, found_by(rows, features_of, Y, folds), rtol=1e-10, atol=1e-12)
    del features


@pytest.mark.parametrize("folds", [None, FOLDS], ids=["rows", "folds"])
def test_the_order_in_which_features_are_kept_does_not_matter(small_blocks, store, X, Y, weights, rng, folds):
    features_of = landmarks_of(X)
    in_order = store(X, weights=weights, order=rng.permutation(N_ROWS))
    expected = found_by(store(X, weights=weights), features_of, Y, folds)
    np.testing.assert_allclose(found_by(in_order, features_of, Y, folds), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("folds", [None, FOLDS], ids=["rows", "folds"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("divisor", [None, np.array([0.5, 2.0, 30.0])], ids=["as they are", "scaled"])
def test_columns_as_features(store, X, Y, weights, container, divisor, folds):
    X = np.where(np.abs(X) < 0.4, 0, X)
    centre = np.zeros(3) if container is sparse.csr_array else np.array([0.1, -0.2, 0.0])
    found = found_by(store(container(X), weights=weights), ColumnMap(kernels.Linear(), centre, divisor), Y, folds)
    P = X if divisor is None else X / divisor
    np.testing.assert_allclose(found, refits(P, Y, weights, folds), rtol=1e-8, atol=1e-8)


def test_those_of_single_rows_are_as_in_the_choice_of_C(store, X, Y, weights):
    features_of = landmarks_of(X)
    expected = LeaveOneOut(orthonormal(features_of, X), weights, CS, True).predictions(Y)
    np.testing.assert_allclose(found_by(store(X, weights=weights), features_of, Y), expected, rtol=1e-8, atol=1e-9)


def test_single_rows_are_folds_of_one_row(store, X, Y, weights):
    features_of, rows = landmarks_of(X), store(X, weights=weights)
    found = found_by(rows, features_of, Y, np.arange(N_ROWS))
    np.testing.assert_allclose(found_by(rows, features_of, Y), found, rtol=1e-7, atol=1e-8)


def test_some_of_the_C(store, X, Y):
    rows, features_of = store(X), landmarks_of(X)
    held_out = HeldOutSquares(rows, features_of, features_of.build(rows), CS, None)
    np.testing.assert_allclose(held_out.predictions(Y, slice(1, 2)), held_out.predictions(Y)[1:2], rtol=1e-10)


def test_the_targets_of_a_row_have_no_part_in_its_prediction(store, X, Y, weights):
    rows, features_of = store(X, weights=weights), landmarks_of(X)
    for folds in (None, FOLDS):
        held_out = HeldOutSquares(rows, features_of, features_of.build(rows), CS, folds)
        other = Y.copy()
        other[7] += 100
        before, after = held_out.predictions(Y), held_out.predictions(other)
        np.testing.assert_allclose(after[:, 7], before[:, 7], rtol=1e-7, atol=1e-7)
        assert np.abs(after - before).max() > 0.1


def test_a_row_that_the_fit_follows_all_the_way_has_a_finite_prediction(store, X, Y, weights):
    X[0] = 1e4
    weights[0] = 1e9
    found = found_by(store(X, weights=weights), ColumnMap(kernels.Linear(), np.zeros(3)), Y)
    assert np.isfinite(found).all()


def test_constant_features_predict_the_mean_of_the_other_rows(store, Y):
    found = found_by(store(np.ones((N_ROWS, 2))), ColumnMap(kernels.Linear(), np.zeros(2)), Y)
    np.testing.assert_allclose(found[1], (Y.sum(axis=0) - Y) / (N_ROWS - 1))


def test_features_that_overflow_are_refused(store, Y):
    rows = store(np.full((N_ROWS, 2), 1e200) * np.array([1.0, -1.0]))
    features_of = ColumnMap(kernels.Linear(), np.zeros(2))
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="overflow: scale the columns of X"):
        HeldOutSquares(rows, features_of, features_of.build(rows), CS, None)
