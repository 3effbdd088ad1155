"""Grids, splits and data that cannot work are refused before any features are built, by a message that says why."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError
from sklearn.metrics import brier_score_loss, get_scorer, make_scorer, mean_pinball_loss
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from unisvm import UniSVMClassifierCV, UniSVMRegressorCV, losses, model_selection

X, y = make_moons(60, noise=0.2, random_state=0)
WAVE = np.sin(3 * X[:, 0]) + X[:, 1]
SMALL = {"Cs": [1.0], "gammas": [0.5], "cv": 3}
ESTIMATORS = pytest.mark.parametrize(
    ("cls", "target"), [(UniSVMClassifierCV, y), (UniSVMRegressorCV, WAVE)], ids=["classifier", "regressor"]
)


@pytest.fixture(autouse=True)
def no_work(monkeypatch):
    """Fails when the features of a kernel are about to be built."""

    def solve_kernel(*args, **kwargs):
        pytest.fail("A kernel is solved.")

    monkeypatch.setattr(model_selection.search, "solve_kernel", solve_kernel)


def refused(model, exception, fragments, rows=X, target=y, **params):
    """Fitting raises, the message holds the fragments, and nothing was learned."""
    with pytest.raises(exception) as error:
        model.fit(rows, target, **params)
    for fragment in fragments:
        assert fragment in str(error.value)
    learned = {name for name in vars(model) if name.endswith("_")} - {"n_features_in_", "feature_names_in_"}
    assert learned == set()


@ESTIMATORS
def test_a_grid_that_can_work_is_solved(cls, target):
    with pytest.raises(pytest.fail.Exception, match="A kernel is solved"):
        cls(**SMALL).fit(X, target)


GRIDS = [
    ({"Cs": []}, ["Cs is empty"]),
    ({"Cs": np.array([])}, ["Cs is empty"]),
    ({"Cs": [1.0, -2.0]}, ["Cs[1]", "-2.0"]),
    ({"Cs": [1.0, 2.0, np.nan]}, ["Cs[2]", "nan"]),
    ({"Cs": [np.inf]}, ["Cs[0]", "inf"]),
    ({"Cs": [1.0, 0.0]}, ["Cs[1]", "0.0"]),
    ({"Cs": [1.0, "2"]}, ["Cs[1]", "'2'"]),
    ({"Cs": [True]}, ["Cs[0]", "True"]),
    ({"Cs": np.ones((2, 2))}, ["Cs[0]", "array"]),
    *(({"Cs": value}, ["Cs must", "at least 1", "array", repr(value)]) for value in (0, -3, 1.0, True, None)),
    ({"gammas": []}, ["gammas is empty"]),
    ({"gammas": [0.5, -1.0]}, ["gammas[1]", "-1.0"]),
    ({"gammas": [np.nan]}, ["gammas[0]", "nan"]),
    ({"gammas": [0.5, None]}, ["gammas[1]", "None"]),
    ({"gammas": ["scale", "aut"]}, ["gammas[1]", "'aut'", "did you mean 'auto'"]),
    ({"gammas": "scal"}, ["gammas[0]", "'scal'", "did you mean 'scale'"]),
    *(({"gammas": value}, ["gammas must", "at least 1", "array", repr(value)]) for value in (0, -3, 0.5, False)),
    ({"kernel": []}, ["kernel is empty"]),
    ({"kernel": ["rbf", "laplacain"]}, ["kernel[1]", "did you mean 'laplacian'"]),
    ({"kernel": ["rbf", "precomputed"]}, ["kernel[1]", "precomputed"]),
    ({"kernel": "aut"}, ["kernel", "'aut'"]),
]


@ESTIMATORS
@pytest.mark.parametrize(
    ("params", "fragments"), GRIDS, ids=[f"{name}={value}" for p, _ in GRIDS for name, value in p.items()]
)
def test_grid(cls, target, params, fragments):
    refused(cls(**(SMALL | params)), ValueError, fragments, target=target)


LOSSES = [
    (UniSVMClassifierCV, [], ValueError, ["losses is empty"]),
    (UniSVMClassifierCV, ["hinge", "saturatin"], ValueError, ["losses[1]", "'saturatin'", "'saturating'"]),
    (UniSVMClassifierCV, "hing", ValueError, ["losses[0]", "'hing'", "'hinge'"]),
    (UniSVMClassifierCV, ["hinge", "huber"], ValueError, ["losses[1]", "'huber'", "classification", "'saturating'"]),
    (UniSVMClassifierCV, ["hinge", 3], TypeError, ["losses[1]", "int", "losses.custom"]),
    (UniSVMClassifierCV, 3, TypeError, ["losses", "3"]),
    (UniSVMClassifierCV, [losses.LeastSquares], TypeError, ["losses[0]", "instance"]),
    (UniSVMRegressorCV, ["huber", "hinge"], ValueError, ["losses[1]", "'hinge'", "regression", "'huber'"]),
    (UniSVMRegressorCV, ["welsh"], ValueError, ["losses[0]", "'welsh'", "'welsch'"]),
    (UniSVMRegressorCV, [losses.Saturating()], ValueError, ["losses[0]", "Saturating()", "regression"]),
]


@pytest.mark.parametrize(("cls", "used", "exception", "fragments"), LOSSES, ids=[str(case[1]) for case in LOSSES])
def test_losses(cls, used, exception, fragments):
    refused(cls(used, **SMALL), exception, fragments, target=y if cls is UniSVMClassifierCV else WAVE)


def test_loss_with_a_bad_parameter():
    bad = losses.TruncatedLeastSquares().set_params(a=-1.0)
    refused(UniSVMClassifierCV(["hinge", bad], **SMALL), ValueError, ["losses[1]", "TruncatedLeastSquares", "-1.0"])


PARAMETERS = [
    ({"search": "halve"}, ValueError, ["search", "'halve'", "'halving'"]),
    ({"search": None}, ValueError, ["search", "None", "'full'"]),
    ({"refit": "yes"}, ValueError, ["refit", "True or False", "'yes'"]),
    ({"refit": "accuracy"}, ValueError, ["refit", "True or False"]),
    ({"scoring": ["r2"]}, ValueError, ["scoring", "single"]),
    ({"scoring": {"a": "r2"}}, ValueError, ["scoring", "single"]),
    ({"scoring": "accurracy"}, ValueError, ["scoring", "'accurracy'"]),
    ({"scoring": "neg_log_loss"}, ValueError, ["scoring='neg_log_loss'", "predict_proba", "Use a scorer of predict"]),
    ({"cv": "five"}, ValueError, ["cv", "five"]),
    ({"cv": 1}, ValueError, ["n_splits=1"]),
    ({"cv": []}, ValueError, ["cv gives no splits"]),
    ({"cv": GroupKFold(3)}, ValueError, ["groups"]),
    # of the plain estimators
    ({"kernel": "rbff"}, ValueError, ["kernel", "'rbff'", "did you mean 'rbf'"]),
    ({"rank": 0}, ValueError, ["rank must", "0"]),
    ({"rank_tol": 2.0}, ValueError, ["rank_tol must", "2.0"]),
    ({"tol": -1.0}, ValueError, ["tol must", "-1.0"]),
    ({"max_iter": 0}, ValueError, ["max_iter must", "0"]),
    ({"n_jobs": 0}, ValueError, ["n_jobs must", "0"]),
    ({"verbose": "loud"}, ValueError, ["verbose", "'loud'"]),
    ({"landmarks": "kmeans"}, ValueError, ["landmark", "'kmeans'", "'uniform'"]),
    ({"memory_limit": "4 bananas"}, ValueError, ["memory_limit must", "'4 bananas'"]),
]


@ESTIMATORS
@pytest.mark.parametrize(("params", "exception", "fragments"), PARAMETERS, ids=[str(case[0]) for case in PARAMETERS])
def test_parameters(cls, target, params, exception, fragments):
    refused(cls(**(SMALL | params)), exception, fragments, target=target)


def test_scoring_says_what_can_be_used():
    proper = make_scorer(brier_score_loss, greater_is_better=False, response_method="predict_proba")
    refused(UniSVMClassifierCV(**SMALL, scoring=proper), ValueError, ["'roc_auc'", "decision_function"])
    # which is about either of two methods
    refused(UniSVMRegressorCV(**SMALL, scoring="roc_auc"), ValueError, ["'neg_mean_absolute_error'"], target=WAVE)


LEAN = losses.custom(
    lambda u: np.where(u > 0, 3.0, 1.0) * u**2, lambda u: np.where(u > 0, 6.0, 2.0) * u, task="regression"
)


@pytest.mark.parametrize(
    "loss",
    [losses.get("pinball", tau=0.05), losses.get("expectile", tau=0.9), LEAN],
    ids=lambda loss: type(loss).__name__,
)
def test_default_scoring_is_for_losses_that_aim_at_the_middle(loss):
    fragments = ["neg_median_absolute_error", "losses[1]", repr(loss), "make_scorer(mean_pinball_loss, alpha=tau"]
    refused(UniSVMRegressorCV(["huber", loss], **SMALL), ValueError, fragments, target=WAVE)
    # the user's own choice is as good as any
    pinball = make_scorer(mean_pinball_loss, alpha=0.05, greater_is_better=False)
    for scoring in (None, "neg_mean_absolute_error", get_scorer("neg_median_absolute_error"), pinball):
        with pytest.raises(pytest.fail.Exception, match="A kernel is solved"):
            UniSVMRegressorCV(["huber", loss], **SMALL, scoring=scoring).fit(X, WAVE)
    symmetric = [losses.get("pinball"), losses.get("expectile", tau=0.5), *losses.names("regression")]
    with pytest.raises(pytest.fail.Exception, match="A kernel is solved"):
        UniSVMRegressorCV(symmetric, **SMALL).fit(X, WAVE)


def test_calibration():
    refused(UniSVMClassifierCV(**SMALL, calibration="platt"), ValueError, ["calibration", "'platt'", "'sigmoid'"])
    refused(UniSVMClassifierCV(**SMALL, calibration="isotonik"), ValueError, ["did you mean 'isotonic'"])
    refused(UniSVMClassifierCV(**SMALL, calibration=None), ValueError, ["calibration", "None"])


# ------------------------------------------------------------------ splits


def test_fold_of_one_class():
    order = np.argsort(y, kind="stable")
    names = np.array(["left", "right"])[y]
    fragments = ["split 0", "one class only, 'right'", "stratified"]
    refused(UniSVMClassifierCV(**(SMALL | {"cv": KFold(2)})), ValueError, fragments, X[order], names[order])
    # a class that is there, but on rows of weight 0
    splits = list(StratifiedKFold(2).split(X, y))
    weights = np.ones(60)
    weights[np.intersect1d(splits[1][0], np.flatnonzero(y == 1))] = 0.0
    model = UniSVMClassifierCV(**(SMALL | {"cv": splits}))
    refused(model, ValueError, ["split 1", "one class only, 'left'"], X, names, sample_weight=weights)


NOTHING = np.array([], dtype=int)


@ESTIMATORS
def test_split_with_nothing_in_it(cls, target):
    half, other = np.arange(30), np.arange(30, 60)
    model = cls(**(SMALL | {"cv": [(half, other), (NOTHING, other)]}))
    refused(model, ValueError, ["split 1", "train"], target=target)
    model = cls(**(SMALL | {"cv": [(half, NOTHING)]}))
    refused(model, ValueError, ["split 0", "score"], target=target)
    # rows of weight 0 are as good as none
    weights = (np.arange(60) < 30).astype(float)
    model = cls(**(SMALL | {"cv": [(half, other)]}))
    refused(model, ValueError, ["split 0", "positive weight", "score"], target=target, sample_weight=weights)


ROWS = np.arange(30)
NO_SPLITS = [
    (ROWS.astype(float), ROWS + 30, ["training rows of split 1", "integers", "float64"]),
    (ROWS, ["a", "b"], ["test rows of split 1", "integers", "such as a"]),
    (ROWS, ROWS - 60, ["test rows of split 1", "from 0 to 59, got -60"]),
    (ROWS + 31, ROWS, ["training rows of split 1", "from 0 to 59, got 60"]),
    (np.ones(40, dtype=bool), ROWS, ["training rows of split 1", "each of the 60 rows, but has 40"]),
    (ROWS, np.ones(61, dtype=bool), ["test rows of split 1", "each of the 60 rows, but has 61"]),
    (ROWS.reshape(5, 6), ROWS, ["training rows of split 1", "one dimension", "(5, 6)"]),
    (ROWS, 5, ["test rows of split 1", "one dimension"]),
    ([], ROWS, ["split 1", "no rows", "train"]),
]


@ESTIMATORS
@pytest.mark.parametrize(("train", "test", "fragments"), NO_SPLITS, ids=[" ".join(case[2]) for case in NO_SPLITS])
def test_splits_that_are_no_rows(cls, target, train, test, fragments):
    splits = [(ROWS, ROWS + 30), (train, test)]
    for cv in (splits, iter(splits)):
        refused(cls(**(SMALL | {"cv": cv})), ValueError, fragments, target=target)


# ------------------------------------------------------------------ data


def test_one_class():
    refused(UniSVMClassifierCV(**SMALL), ValueError, ["two classes", "only one class, 1. "], target=np.ones(60, int))


@ESTIMATORS
def test_rows_and_weights(cls, target):
    hole = X.copy()
    hole[3, 1] = np.nan
    refused(cls(**SMALL), ValueError, ["X contains NaN"], hole, target)
    refused(cls(**SMALL), ValueError, ["inconsistent numbers of samples"], X, target[:50])
    for weights, fragment in ((-np.ones(60), "sample_weight"), (np.zeros(60), "zero"), (np.ones(7), "(60,)")):
        refused(cls(**SMALL), ValueError, [fragment], X, target, sample_weight=weights)
    refused(cls(**SMALL, kernel="precomputed"), ValueError, ["square", "(60, 2)"], X, target)


def test_real_targets_are_no_labels():
    refused(UniSVMClassifierCV(**SMALL), ValueError, ["continuous"], target=WAVE)


@ESTIMATORS
def test_arguments_that_nobody_takes(cls, target):
    refused(cls(**SMALL), TypeError, ["group", "groups"], target=target, group=np.arange(60))


@ESTIMATORS
def test_before_a_fit(cls, target):
    calls = [lambda model: model.predict(X), lambda model: model.score(X, target), lambda model: model.trust(X, target)]
    if cls is UniSVMClassifierCV:
        calls += [lambda model: model.decision_function(X), lambda model: model.predict_proba(X)]
    for call in calls:
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call(cls())


# ------------------------------------------------------------------ once the work has begun


@ESTIMATORS
def test_memory(cls, target, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(model_selection.held_out, "GridSolver", lambda *given: pytest.fail("A grid is solved."))
    with pytest.raises(MemoryError, match=r"splits.*limit of 1 KB.*Use fewer splits.*float32"):
        cls(**SMALL, memory_limit="1KB").fit(X, target)
    # enough for the targets, but not for the features
    with pytest.raises(MemoryError, match=r"60 rows and 60 landmarks.*Lower rank"):
        cls(**SMALL, memory_limit="30KB", rank_tol=0.0).fit(X, target)


@ESTIMATORS
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_no_finite_score(cls, target, monkeypatch):
    monkeypatch.undo()
    model = cls(**SMALL, scoring=lambda model, rows, target: np.nan)
    refused(model, ValueError, ["finite score", "scorer"], target=target)


def test_scorer_that_fails_is_heard(monkeypatch):
    monkeypatch.undo()

    def broken(model, rows, target):
        raise ZeroDivisionError("by the scorer")

    refused(UniSVMClassifierCV(**SMALL, scoring=broken), ZeroDivisionError, ["by the scorer"])
