"""Every point of a path is a plain fit, its scores are those of a search, and its objectives hang together."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, StratifiedKFold

import unisvm
from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, UniSVMRegressorCV, losses

rng = np.random.RandomState(0)
X = rng.randn(500, 3)
SURFACE = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2])
y = np.array(["no", "yes"])[(SURFACE + 0.4 * rng.randn(500) > 0).astype(int)]
Y3 = np.digitize(SURFACE + 0.4 * rng.randn(500), [-0.6, 0.6])
LABELS = np.stack([SURFACE > 0, X[:, 0] > 0.5], axis=1).astype(int)
WAVE = 5.0 + 3 * SURFACE + 0.2 * rng.standard_t(3, size=500)
WAVES = np.stack([WAVE, X[:, 0] ** 2], axis=1)
WEIGHTS = rng.randint(1, 4, size=500).astype(float)
POINTS = rng.randn(25, 3)
CS = [0.02, 0.3, 5.0]
TIGHT = {"gamma": 0.3, "landmarks": POINTS, "tol": 1e-10, "random_state": 0}
CONVEX = {"classification": ["logistic", "squared_hinge"], "regression": ["huber", "least_squares"]}

# target, task, further arguments
CASES = {
    "binary": (X, y, "classification", {}),
    "three-classes": (X, Y3, "classification", {}),
    "multilabel": (X, LABELS, "classification", {}),
    "balanced": (X, Y3, "classification", {"class_weight": "balanced"}),
    "no-intercept": (X, y, "classification", {"fit_intercept": False}),
    "sparse": (sparse.csr_array(X), y, "classification", {}),
    "linear": (X, y, "classification", {"kernel": "linear"}),
    "one-target": (X, WAVE, "regression", {}),
    "two-targets": (X, WAVES, "regression", {}),
    "target-no-intercept": (X, WAVE, "regression", {"fit_intercept": False}),
}


def decide(model, rows=X):
    return model.decision_function(rows) if isinstance(model, UniSVMClassifier) else model.predict(rows)


def check_against_plain_fits(path, rows, target, params, weights=None, atol=2e-3):
    plain = UniSVMClassifier if isinstance(path.estimators[0][0], UniSVMClassifier) else UniSVMRegressor
    unit = 1.0 if plain is UniSVMClassifier else np.std(target)
    for i, loss in enumerate(path.losses):
        for j, C in enumerate(path.Cs):
            model = plain(loss, C=C, **params).fit(rows, target, sample_weight=weights)
            on_path = path.estimators[i][j]
            np.testing.assert_allclose(decide(on_path, rows), decide(model, rows), rtol=0, atol=atol * unit)
            np.testing.assert_allclose(path.objective[i, j], np.atleast_1d(model.objective_), rtol=1e-4)
            assert path.train_scores[i, j] == pytest.approx(model.score(rows, target, weights), abs=5e-3)
            assert type(on_path) is plain
            assert (on_path.loss, on_path.C, on_path.kernel_.get_params()) == (loss, C, model.kernel_.get_params())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_points_are_plain_fits(case):
    rows, target, task, params = case
    params = TIGHT | params
    path = unisvm.path(rows, target, losses=CONVEX[task], Cs=CS, **params)
    check_against_plain_fits(path, rows, target, params)
    n_columns = 3 if target is Y3 else target[:1].size
    rank = path.estimators[0][0].rank_
    assert path.dual_coef.shape == (2, 3, n_columns, rank)
    assert path.intercept.shape == path.objective.shape == (2, 3, n_columns)
    assert path.train_scores.shape == (2, 3)
    assert path.test_scores.shape == (2, 3, 0)


def test_weights():
    path = unisvm.path(X, y, losses="logistic", Cs=CS, sample_weight=WEIGHTS, **TIGHT)
    check_against_plain_fits(path, X, y, TIGHT, WEIGHTS)
    without = unisvm.path(X, y, losses="logistic", Cs=CS, **TIGHT)
    assert (abs(path.objective - without.objective) > 1e-3 * path.objective).all()


def test_losses_that_are_not_convex():
    path = unisvm.path(X, y, losses=["saturating", losses.Feng(a=2.0)], Cs=[0.003, 0.03, 0.3], **TIGHT)
    check_against_plain_fits(path, X, y, TIGHT)


def test_one_C_started_from_another(columns_at_once):
    columns_at_once(1)
    path = unisvm.path(X, WAVE, losses=["huber", "welsch"], Cs=CS, **TIGHT)
    check_against_plain_fits(path, X, WAVE, TIGHT)


def test_coefficients_give_the_function():
    path = unisvm.path(X, Y3, losses=["logistic", "hinge"], Cs=CS, gamma=0.3, landmarks=POINTS, multi_class="ovr")
    landmarks = path.estimators[0][0].landmark_vectors_
    kernel = np.exp(-0.3 * ((X[:, None] - landmarks) ** 2).sum(axis=2))
    for i in range(2):
        for j in range(3):
            by_hand = kernel @ path.dual_coef[i, j].T + path.intercept[i, j]
            np.testing.assert_allclose(path.estimators[i][j].decision_function(X), by_hand, rtol=1e-9, atol=1e-9)


def test_chosen_landmarks_are_shared():
    path = unisvm.path(X, WAVE, Cs=CS, rank=20, random_state=3)
    first = path.estimators[0][0]
    assert first.rank_ <= 20
    for models in path.estimators:
        for model in models:
            np.testing.assert_array_equal(model.landmark_vectors_, first.landmark_vectors_)
    np.testing.assert_array_equal(X[first.landmarks_], first.landmark_vectors_)
    again = unisvm.path(X, WAVE, Cs=CS, rank=20, random_state=3)
    np.testing.assert_array_equal(again.dual_coef, path.dual_coef)


# ------------------------------------------------------------------ along C


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_objective_along_C(task):
    """F(C) = min R(f) + |f|²/(2 C m) is a minimum of functions that are linear in 1/C."""
    target = y if task == "classification" else WAVE
    Cs = np.geomspace(0.01, 100, 9)
    path = unisvm.path(X, target, losses=CONVEX[task], Cs=Cs, **TIGHT)
    landmarks = path.estimators[0][0].landmark_vectors_
    kernel = np.exp(-0.3 * ((landmarks[:, None] - landmarks) ** 2).sum(axis=2))
    for i, models in enumerate(path.estimators):
        objective = path.objective[i, :, 0]
        assert (np.diff(objective) < 0).all()
        slope = np.diff(objective) / np.diff(1 / Cs)
        assert (np.diff(slope) > 0).all()
        # each slope lies between the squared norms at its ends, which are its derivatives
        unit = np.array([getattr(model, "target_scale_", np.ones(1))[0] for model in models])
        dual = path.dual_coef[i, :, 0] / unit[:, None]
        norms = np.einsum("ck,kl,cl->c", dual, kernel, dual) / (2 * 500)
        assert (np.diff(norms) > 0).all()
        assert (slope >= norms[:-1] * (1 - 1e-3)).all()
        assert (slope <= norms[1:] * (1 + 1e-3)).all()


def test_C_is_sorted():
    shuffled, rising = (
        unisvm.path(X, y, losses=["logistic"], Cs=Cs, gamma=0.3, landmarks=POINTS) for Cs in ([5.0, 0.02, 0.3], CS)
    )
    assert shuffled.Cs.tolist() == CS
    np.testing.assert_array_equal(shuffled.dual_coef, rising.dual_coef)
    assert [model.C for model in shuffled.estimators[0]] == CS


def test_number_of_C():
    params = {"gamma": 0.3, "landmarks": POINTS}
    np.testing.assert_allclose(unisvm.path(X, y, losses="logistic", Cs=3, **params).Cs, [0.01, 1.0, 100.0])
    np.testing.assert_allclose(unisvm.path(X, WAVE, losses="huber", Cs=3, **params).Cs, [0.1, 10.0, 1000.0])


# ------------------------------------------------------------------ scores


@pytest.mark.parametrize(
    ("cls", "target", "used", "scoring", "folds"),
    [
        (UniSVMClassifierCV, y, ["logistic", "saturating"], None, StratifiedKFold(4)),
        (UniSVMClassifierCV, y, ["logistic"], "roc_auc", KFold(3, shuffle=True, random_state=0)),
        (UniSVMRegressorCV, WAVE, ["huber", "welsch"], None, KFold(3)),
        (UniSVMRegressorCV, WAVE, ["huber"], "neg_median_absolute_error", 3),
    ],
    ids=["accuracy", "auc", "r2", "median-error"],
)
def test_scores_are_those_of_a_search(cls, target, used, scoring, folds):
    params = {"landmarks": POINTS, "tol": 1e-9, "random_state": 0}
    path = unisvm.path(X, target, losses=used, Cs=CS[:2], gamma=0.3, cv=folds, scoring=scoring, **params)
    search = cls(used, Cs=CS[:2], gammas=[0.3], cv=folds, scoring=scoring, **params).fit(X, target)
    results = search.cv_results_
    expected = np.stack([results[f"split{k}_test_score"] for k in range(search.n_splits_)], axis=1)
    expected = expected.reshape(2, len(used), -1).transpose(1, 0, 2)
    assert path.test_scores.shape == expected.shape
    # one row of a fold may change sides
    np.testing.assert_allclose(path.test_scores, expected, atol=0.01)
    for i in range(len(used)):
        for j in range(2):
            model = path.estimators[i][j]
            on_training = search.scorer_(model, X, target)
            assert path.train_scores[i, j] == pytest.approx(on_training, rel=1e-9)


def test_splits_do_not_change_the_fits():
    params = {"losses": ["logistic"], "Cs": CS} | TIGHT
    alone, beside = unisvm.path(X, y, **params), unisvm.path(X, y, cv=3, **params)
    np.testing.assert_allclose(alone.objective, beside.objective, rtol=1e-6)
    for j in range(3):
        np.testing.assert_allclose(decide(alone.estimators[0][j]), decide(beside.estimators[0][j]), atol=2e-3)


# ------------------------------------------------------------------ classification or regression


def test_task_is_told_from_the_targets():
    params = {"Cs": [1.0], "gamma": 0.3, "landmarks": POINTS}
    for target, cls in ((y, UniSVMClassifier), (Y3, UniSVMClassifier), (LABELS, UniSVMClassifier)):
        assert isinstance(unisvm.path(X, target, **params).estimators[0][0], cls)
    for target in (WAVE, WAVES, WAVE.tolist()):
        assert isinstance(unisvm.path(X, target, **params).estimators[0][0], UniSVMRegressor)
    # counts are labels unless it is said that they are not
    assert isinstance(unisvm.path(X, Y3, task="regression", **params).estimators[0][0], UniSVMRegressor)


@pytest.mark.parametrize(
    ("target", "used"),
    [(y, ["squared_hinge", "smooth_hinge", "saturating"]), (WAVE, ["huber", "welsch", "truncated_huber"])],
    ids=["classification", "regression"],
)
def test_default_losses(target, used):
    assert list(unisvm.path(X, target, Cs=[0.1], gamma=0.3, landmarks=POINTS).losses) == used


@pytest.mark.parametrize(
    ("params", "exception", "fragments"),
    [
        ({"task": "classify"}, ValueError, ["task", "'classify'", "'classification'"]),
        ({"task": "ranking"}, ValueError, ["task", "'ranking'"]),
        ({"losses": ["hinge", "huber"]}, ValueError, ["losses[1]", "'huber'"]),
        ({"losses": []}, ValueError, ["losses is empty"]),
        ({"Cs": [1.0, -1.0]}, ValueError, ["Cs[1]", "-1.0"]),
        ({"gamma": -1.0}, ValueError, ["gamma", "-1.0"]),
        ({"gamma": "scal"}, ValueError, ["gamma", "'scal'"]),
        ({"cv": KFold(2)}, ValueError, ["split 1", "one class only, 'no'"]),
        ({"cv": []}, ValueError, ["cv gives no splits"]),
        ({"rank": 0}, ValueError, ["rank must"]),
        ({"solver": "dca"}, TypeError, ["solver"]),
    ],
    ids=str,
)
def test_mistakes(params, exception, fragments):
    order = np.argsort(y, kind="stable")
    with pytest.raises(exception) as error:
        unisvm.path(X[order], y[order], **params)
    for fragment in fragments:
        assert fragment in str(error.value)
