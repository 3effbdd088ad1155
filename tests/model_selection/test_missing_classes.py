"""Splits whose training rows lack some of the classes: scores as in GridSearchCV, and probabilities of all classes."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

from unisvm import UniSVMClassifier, UniSVMClassifierCV

RNG = np.random.RandomState(0)
CENTRES = 4 * RNG.randn(6, 3)
LABELS = np.concatenate([np.repeat(np.arange(4), 60), [4] * 12, [5] * 12])
X = CENTRES[LABELS] + 1.5 * RNG.randn(len(LABELS), 3)
NAMES = np.array(["a", "b", "c", "d", "e", "f"])
y = NAMES[LABELS]
POINTS = 4 * RNG.randn(30, 3)
# the first split has no rows of e and f to train on, the second none of e
RARE = [np.isin(y, ["e", "f"]), y == "e"]
SPLITS = [
    (np.flatnonzero(~rare & (np.arange(len(y)) % 3 != k)), np.flatnonzero(rare | (np.arange(len(y)) % 3 == k)))
    for k, rare in enumerate(RARE)
]


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "saturating"])
def test_scores_are_those_of_fits_without_the_class(multi_class, loss):
    options = {"gamma": 0.05, "landmarks": POINTS, "multi_class": multi_class, "tol": 1e-8, "max_iter": 3000}
    grid = GridSearchCV(UniSVMClassifier(loss, **options), {"C": [0.1, 3.0]}, cv=SPLITS, refit=False).fit(X, y)
    gammas = [options.pop("gamma")]
    search = UniSVMClassifierCV(loss, Cs=[0.1, 3.0], gammas=gammas, cv=SPLITS, **options).fit(X, y)
    for k in range(2):
        ours, theirs = (model.cv_results_[f"split{k}_test_score"] for model in (search, grid))
        # the intercept of a column without rows of one sign is not determined to the last digit
        np.testing.assert_allclose(ours, theirs, atol=0.011)
    assert search.classes_.tolist() == NAMES.tolist()
    assert set(search.predict(X)) == set(NAMES)


def test_a_class_that_a_split_does_not_know_is_not_its_prediction():
    search = UniSVMClassifierCV("squared_hinge", Cs=[1.0], gammas=[0.05], cv=SPLITS[:1], drop_suspects=False).fit(X, y)
    left_out = np.isfinite(search.oof_decision_[:, 0])
    assert not np.isin(NAMES[search.oof_decision_[left_out].argmax(axis=1)], ["e", "f"]).any()
    probabilities = search.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_default_search_with_a_class_of_two_rows():
    few = np.flatnonzero((LABELS < 4) | (np.arange(len(y)) % 12 == 0))
    assert (y[few] == "e").sum() < 5
    with warnings.catch_warnings():
        # of scikit-learn: the least populated class has fewer members than there are splits
        warnings.simplefilter("ignore", UserWarning)
        model = UniSVMClassifierCV(random_state=0).fit(X[few], y[few])
    assert model.score(X, y) > 0.85
    assert model.predict_proba(X).shape == (len(X), 6)


def test_sorted_rows_and_folds_without_shuffling():
    """Every fold lacks a class that it is scored on: the scores are low, the refit is not."""
    search = UniSVMClassifierCV("squared_hinge", Cs=[1.0], gammas=[0.05], cv=KFold(4), random_state=0).fit(X, y)
    assert search.best_score_ < 0.7
    assert search.score(X, y) > 0.8
