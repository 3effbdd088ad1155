"""Weights: a row of weight k is the row given k times, and a row of weight 0 is not there."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.utils.class_weight import compute_sample_weight

from unisvm import UniSVMClassifier, UniSVMRegressor

rng = np.random.RandomState(0)
X = rng.randn(60, 2)
X_NEW = rng.randn(40, 2)
y = (X[:, 0] * X[:, 1] > 0) ^ (rng.rand(60) < 0.1)
WAVE = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_t(2, size=60)
COUNTS = rng.randint(0, 4, size=60)
POINTS = rng.randn(15, 2)

CLASSIFIER_LOSSES = ["saturating", "least_squares", "squared_hinge", "hinge", "logistic", "feng", "log_saturating"]
REGRESSOR_LOSSES = ["huber", "least_squares", "welsch", "cauchy", "tukey", "expectile", "epsilon_insensitive"]
CASES = [(UniSVMClassifier, loss, y) for loss in CLASSIFIER_LOSSES]
CASES += [(UniSVMRegressor, loss, WAVE) for loss in REGRESSOR_LOSSES]
ALL_LOSSES = pytest.mark.parametrize(("cls", "loss", "target"), CASES, ids=[loss for _, loss, _ in CASES])
SOME_LOSSES = pytest.mark.parametrize(
    ("cls", "loss", "target"),
    [(UniSVMClassifier, "logistic", y), (UniSVMRegressor, "huber", WAVE)],
    ids=["classifier", "regressor"],
)


def values(model, rows=X_NEW):
    return model.decision_function(rows) if isinstance(model, UniSVMClassifier) else model.predict(rows)


@ALL_LOSSES
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no-intercept"])
@pytest.mark.parametrize("gamma", [0.7, "scale"])
def test_weights_are_repetitions(cls, loss, target, fit_intercept, gamma):
    # both take the same steps, so that they agree to more digits than either is from the minimum
    model = cls(loss, landmarks=POINTS, gamma=gamma, tol=1e-10, fit_intercept=fit_intercept)
    weighted = values(model.fit(X, target, sample_weight=COUNTS))
    objective = model.objective_
    repeated = values(model.fit(np.repeat(X, COUNTS, axis=0), np.repeat(target, COUNTS)))
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-6)
    assert objective == pytest.approx(model.objective_, rel=1e-9)
    # the weights matter
    assert abs(values(model.fit(X, target)) - repeated).max() > 1e-3


@SOME_LOSSES
@pytest.mark.parametrize("solver", ["lbfgs", "dca"])
def test_both_solvers_know_weights(cls, loss, target, solver):
    model = cls(loss, landmarks=POINTS, gamma=0.7, tol=1e-13, solver=solver, max_iter=5000)
    weighted = values(model.fit(X, target, sample_weight=COUNTS))
    repeated = values(model.fit(np.repeat(X, COUNTS, axis=0), np.repeat(target, COUNTS)))
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-5)


@SOME_LOSSES
def test_all_rows_as_landmarks(cls, loss, target):
    # the landmarks differ by their copies alone
    weighted = cls(loss, gamma=0.7, tol=1e-12).fit(X, target, sample_weight=COUNTS)
    repeated = cls(loss, gamma=0.7, tol=1e-12).fit(np.repeat(X, COUNTS, axis=0), np.repeat(target, COUNTS))
    assert weighted.rank_ == repeated.rank_ == (COUNTS > 0).sum()
    np.testing.assert_allclose(values(weighted), values(repeated), atol=1e-4)


@SOME_LOSSES
def test_multiple_columns(cls, loss, target):
    Y = np.stack([target, target[::-1]], axis=1)
    Y = Y.astype(int) if cls is UniSVMClassifier else Y
    model = cls(loss, landmarks=POINTS, tol=1e-13)
    weighted = values(model.fit(X, Y, sample_weight=COUNTS))
    repeated = values(model.fit(np.repeat(X, COUNTS, axis=0), np.repeat(Y, COUNTS, axis=0)))
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-5)


@ALL_LOSSES
def test_weight_zero_removes_a_row(cls, loss, target):
    keep = COUNTS > 0
    # rows that are left out may hold anything
    rows, wild = X.copy(), target.copy()
    rows[~keep] = 1e3
    if cls is UniSVMRegressor:
        wild[~keep] = -1e6
    left_out = cls(loss, tol=1e-10, random_state=0).fit(rows, wild, sample_weight=keep.astype(float))
    removed = cls(loss, tol=1e-10, random_state=0).fit(X[keep], target[keep])
    np.testing.assert_allclose(values(left_out), values(removed), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(left_out.landmark_vectors_, removed.landmark_vectors_)
    # row indices are those of the rows that were given
    np.testing.assert_array_equal(rows[left_out.landmarks_], left_out.landmark_vectors_)


@SOME_LOSSES
@pytest.mark.parametrize("rule", ["rpcholesky", "pivoted_cholesky", "uniform"])
def test_rows_of_weight_zero_are_no_landmarks(cls, loss, target, rule):
    weights = (COUNTS > 0).astype(float)
    model = cls(loss, rank=20, rank_tol=0.0, landmarks=rule, random_state=0).fit(X, target, sample_weight=weights)
    assert model.rank_ == 20
    assert (weights[model.landmarks_] > 0).all()


def test_a_class_of_weight_zero_is_gone():
    rows, labels = make_blobs(60, centers=3, random_state=0)
    weights = np.where(labels == 1, 0.0, 1.0)
    model = UniSVMClassifier().fit(rows, labels, sample_weight=weights)
    assert model.classes_.tolist() == [0, 2]
    assert model.decision_function(rows).ndim == 1
    assert set(model.predict(rows)) == {0, 2}


@SOME_LOSSES
@pytest.mark.parametrize("factor", [0.1, 0.3, 2.0, 1e3])
@pytest.mark.parametrize("varied", [False, True], ids=["equal", "varied"])
def test_scaling_weights_scales_C(cls, loss, target, factor, varied):
    weights = 1.0 + COUNTS if varied else np.ones(60)
    scaled = cls(loss, C=2.0, tol=1e-13, landmarks=POINTS).fit(X, target, sample_weight=factor * weights)
    plain = cls(loss, C=2.0 * factor, tol=1e-13, landmarks=POINTS).fit(X, target, sample_weight=weights)
    np.testing.assert_allclose(values(scaled), values(plain), rtol=1e-5, atol=1e-5)
    if cls is UniSVMRegressor:
        # medians of rows that weigh the same do not depend on what they weigh
        assert scaled.target_centre_ == pytest.approx(plain.target_centre_, rel=1e-12)
        assert scaled.target_scale_ == pytest.approx(plain.target_scale_, rel=1e-12)


@SOME_LOSSES
def test_weights_of_any_kind(cls, loss, target):
    expected = values(cls(loss).fit(X, target, sample_weight=COUNTS.astype(float)))
    for weights in (COUNTS, COUNTS.tolist(), COUNTS.astype(np.float32)):
        np.testing.assert_allclose(values(cls(loss).fit(X, target, sample_weight=weights)), expected, rtol=1e-9)
    # one number for all rows, as scikit-learn has it
    three = values(cls(loss).fit(X, target, sample_weight=3.0))
    np.testing.assert_allclose(three, values(cls(loss).fit(X, target, sample_weight=np.full(60, 3.0))), rtol=1e-12)


@SOME_LOSSES
def test_weights_with_sparse_rows(cls, loss, target):
    dense = cls(loss, tol=1e-12).fit(X, target, sample_weight=COUNTS)
    csr = cls(loss, tol=1e-12).fit(sparse.csr_array(X), target, sample_weight=COUNTS)
    np.testing.assert_allclose(values(csr), values(dense), atol=1e-4)


@SOME_LOSSES
def test_float32_weights(cls, loss, target):
    single = cls(loss).fit(X.astype(np.float32), target, sample_weight=COUNTS)
    assert single.dual_coef_.dtype == np.float32
    np.testing.assert_allclose(values(single), values(cls(loss).fit(X, target, sample_weight=COUNTS)), atol=0.05)


# ------------------------------------------------------------------ classes

ROWS3, LABELS3 = make_blobs([40, 15, 5], centers=[[0, 0], [2, 0], [0, 2]], random_state=0)
NAMES3 = np.array(["a", "b", "c"])[LABELS3]


@pytest.mark.parametrize("class_weight", [{"a": 0.5, "b": 2.0, "c": 7.0}, {"c": 7.0}, "balanced"], ids=str)
def test_class_weight_is_sample_weight(class_weight):
    expected = compute_sample_weight(class_weight, NAMES3)
    by_class = UniSVMClassifier("logistic", class_weight=class_weight).fit(ROWS3, NAMES3)
    by_row = UniSVMClassifier("logistic").fit(ROWS3, NAMES3, sample_weight=expected)
    np.testing.assert_allclose(by_class.decision_function(ROWS3), by_row.decision_function(ROWS3), rtol=1e-12)
    plain = UniSVMClassifier("logistic").fit(ROWS3, NAMES3)
    assert abs(by_class.decision_function(ROWS3) - plain.decision_function(ROWS3)).max() > 1e-2


def test_balanced_by_hand():
    # by definition n / (n_classes · count)
    weights = (60 / (3 * np.array([40, 15, 5])))[LABELS3]
    balanced = UniSVMClassifier(class_weight="balanced").fit(ROWS3, LABELS3)
    by_hand = UniSVMClassifier().fit(ROWS3, LABELS3, sample_weight=weights)
    np.testing.assert_allclose(balanced.decision_function(ROWS3), by_hand.decision_function(ROWS3), rtol=1e-9)
    # which is what lets a rare class be predicted
    rare = UniSVMClassifier().fit(ROWS3, LABELS3)
    assert (balanced.predict(ROWS3) == 2).sum() >= (rare.predict(ROWS3) == 2).sum()


def test_class_weight_multiplies_sample_weight():
    sample = 1.0 + np.arange(60) % 3
    both = UniSVMClassifier(class_weight={0: 2.0, 1: 1.0, 2: 5.0}).fit(ROWS3, LABELS3, sample_weight=sample)
    product = sample * np.array([2.0, 1.0, 5.0])[LABELS3]
    by_row = UniSVMClassifier().fit(ROWS3, LABELS3, sample_weight=product)
    np.testing.assert_allclose(both.decision_function(ROWS3), by_row.decision_function(ROWS3), rtol=1e-12)


def test_class_weight_of_boolean_labels():
    labels = LABELS3 > 0
    by_class = UniSVMClassifier(class_weight={True: 3.0, False: 1.0}).fit(ROWS3, labels)
    by_row = UniSVMClassifier().fit(ROWS3, labels, sample_weight=np.where(labels, 3.0, 1.0))
    np.testing.assert_allclose(by_class.decision_function(ROWS3), by_row.decision_function(ROWS3), rtol=1e-12)
