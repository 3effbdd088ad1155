"""Decisions on landmarks that are left out are those of functions projected on the span of the others."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from unisvm import UniSVMClassifier, UniSVMClassifierCV, kernels
from unisvm.class_pairs import class_scores
from unisvm.kernel_expansion import KernelExpansion
from unisvm.model_selection.split_functions import SplitFunctions

rng = np.random.RandomState(0)
X = rng.randn(60, 3)
LANDMARKS = np.array([3, 50, 20, 7, 41, 12])
SPLITS = list(KFold(3).split(X))


def functions(kernel, n_columns=1, points=None):
    points = X[LANDMARKS] if points is None else points
    return [KernelExpansion(kernel, points, rng.randn(n_columns, 6), rng.randn(n_columns)) for _ in SPLITS]


def projected(kernel, function, left_out, row):
    """Value at a row of the projection of a function on the span of the other landmarks, by least squares."""
    K = kernel(X[LANDMARKS], X[LANDMARKS])
    L = np.linalg.cholesky(K)
    others = np.delete(L, left_out, axis=0)
    w = L.T @ function.dual_coef.T
    kept = others.T @ np.linalg.lstsq(others.T, w, rcond=None)[0]
    return (np.linalg.solve(L, kernel(X[LANDMARKS], X[[row]])).T @ kept)[0] + function.intercept


@pytest.mark.parametrize("kernel", [kernels.RBF(0.1), kernels.Laplacian(0.5)])
def test_landmarks_are_projected_out_one_by_one(kernel):
    found = SplitFunctions(functions(kernel), LANDMARKS, None)
    decision = rng.randn(60, 1)
    as_new = found.decide_as_new(X, SPLITS, decision)
    others = np.setdiff1d(np.arange(60), LANDMARKS)
    np.testing.assert_array_equal(as_new[others], decision[others])
    for place, row in enumerate(LANDMARKS):
        (k,) = (k for k, (_, test) in enumerate(SPLITS) if row in test)
        np.testing.assert_allclose(as_new[row], projected(kernel, found.functions[k], place, row), rtol=1e-8)


def test_pairs_of_classes_and_rows_that_several_splits_leave_out():
    kernel, pairs = kernels.RBF(0.1), np.array([[0, 1], [0, 2], [1, 2]])
    splits = [(np.arange(30), np.arange(30, 60)), (np.arange(15), np.arange(15, 60))]
    found = SplitFunctions(functions(kernel, 3)[:2], LANDMARKS, pairs)
    decision = rng.randn(60, 3)
    as_new = found.decide_as_new(X, splits, decision)
    both, one, none = 41, 20, 7
    values = [class_scores(projected(kernel, f, 4, both), pairs) for f in found.functions]
    np.testing.assert_allclose(as_new[both], np.mean(values, axis=0), rtol=1e-8)
    np.testing.assert_allclose(as_new[one], class_scores(projected(kernel, found.functions[1], 2, one), pairs))
    np.testing.assert_array_equal(as_new[none], decision[none])


def test_precomputed_kernel():
    found = SplitFunctions(functions(kernels.RBF(0.1)), LANDMARKS, None)
    given = [each._replace(kernel=kernels.Precomputed(), points=LANDMARKS) for each in found.functions]
    decision = rng.randn(60, 1)
    np.testing.assert_allclose(
        SplitFunctions(given, LANDMARKS, None).decide_as_new(kernels.RBF(0.1)(X, X), SPLITS, decision),
        found.decide_as_new(X, SPLITS, decision),
    )


def test_landmarks_that_are_no_rows_and_kernels_that_are_indefinite():
    decision = rng.randn(60, 1)
    given = SplitFunctions(functions(kernels.RBF(0.1)), None, None)
    assert given.decide_as_new(X, SPLITS, decision) is decision
    indefinite = SplitFunctions(functions(kernels.Function(lambda A, B: -(A @ B.T))), LANDMARKS, None)
    assert indefinite.decide_as_new(X, SPLITS, decision) is decision


def test_calibration_is_to_decisions_as_on_new_rows():
    y = X[:, 0] * X[:, 1] > 0
    model = UniSVMClassifierCV(["hinge"], Cs=[1.0], gammas=[1.0], cv=SPLITS, rank=12, tol=1e-8, random_state=0)
    model.set_params(calibration="temperature").fit(X, y)
    best = model.best_estimator_
    decision = model.oof_decision_.copy()
    # the function of a split is that of a fit with the same landmarks
    for train, test in SPLITS:
        one = UniSVMClassifier(**model.best_params_, landmarks=best.landmark_vectors_, tol=1e-8).fit(X[train], y[train])
        points = one.landmark_vectors_
        for row in np.intersect1d(best.landmarks_, test):
            place = int(np.flatnonzero((points == X[row]).all(axis=1))[0])
            K = one.kernel_(points, points)
            decision[row] -= one.dual_coef_[0, place] / np.linalg.inv(K)[place, place]
    assert abs(decision - model.oof_decision_)[best.landmarks_].min() > 0
    other = type(model.calibration_)().fit(decision[:, None], y[:, None], np.ones(60), exclusive=True)
    assert model.calibration_.temperature_ == pytest.approx(other.temperature_, rel=1e-4)
    plain = type(other)().fit(model.oof_decision_[:, None], y[:, None], np.ones(60), exclusive=True)
    assert plain.temperature_ != pytest.approx(other.temperature_, rel=0.01)


def test_copies_of_a_landmark_are_as_new_as_the_landmark():
    """A row that is there twice counts as one of weight two, wherever its copies are left out."""
    kernel = kernels.RBF(0.1)
    found = SplitFunctions(functions(kernel), LANDMARKS, None)
    twice = np.concatenate([X, X[[50]]])
    splits = [(train, test) if 50 not in test else (train, np.append(test, 60)) for train, test in SPLITS]
    as_new = found.decide_as_new(twice, splits, rng.randn(61, 1))
    np.testing.assert_array_equal(as_new[60], as_new[50])
    elsewhere = [(train, np.append(test, 60) if k == 0 else test) for k, (train, test) in enumerate(SPLITS)]
    as_new = found.decide_as_new(twice, elsewhere, rng.randn(61, 1))
    np.testing.assert_allclose(as_new[60], projected(kernel, found.functions[0], 1, 50), rtol=1e-8)


def test_rows_of_weight_0_have_no_decision():
    found = SplitFunctions(functions(kernels.RBF(0.1)), LANDMARKS, None)
    decision = rng.randn(60, 1)
    decision[3] = np.nan
    assert np.isnan(found.decide_as_new(X, SPLITS, decision)[:, 0]).nonzero()[0].tolist() == [3]
