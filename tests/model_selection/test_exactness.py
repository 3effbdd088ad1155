"""With landmarks that are points, every cell of a search is what GridSearchCV over the plain estimator gives."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, StratifiedKFold, cross_val_predict

from unisvm import (
    UniSVMClassifier,
    UniSVMClassifierCV,
    UniSVMRegressor,
    UniSVMRegressorCV,
    kernels,
    losses,
    model_selection,
)
from unisvm.memory_budget import MemoryBudget
from unisvm.rows import MemoryRows

N = 2400
rng = np.random.RandomState(0)
X = rng.randn(N, 3)
SURFACE = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2])
y = (SURFACE + 0.5 * rng.randn(N) > 0).astype(int)
LEANING = (X[:, 0] + 0.5 * rng.randn(N) > 0.3).astype(int)
Y3 = np.array(["high", "low", "middle"])[np.digitize(SURFACE + 0.4 * rng.randn(N), [-0.6, 0.6])]
RARE = (SURFACE + 0.3 * rng.randn(N) > 1.2).astype(int)
LABELS = np.stack([y, LEANING], axis=1)
WAVE = SURFACE + 0.2 * rng.standard_t(3, size=N)
WAVES = np.stack([WAVE, 3 * X[:, 0] ** 2 + rng.randn(N)], axis=1)
COUNTS = rng.randint(1, 4, size=N).astype(float)
POINTS = rng.randn(40, 3)
SPARSE = sparse.csr_array(np.where(abs(X) > 0.4, X, 0.0))
SINGLE = X.astype(np.float32)
OVERLAPPING = ShuffleSplit(2, test_size=0.6, random_state=0)
# a finite dimension, so that any landmarks of sufficient number span the same functions
GRAM = X @ X.T
ANY_LANDMARKS = {"kernel": "precomputed", "landmarks": "rpcholesky", "rank": 10, "rank_tol": 0.0}
RMSE = "neg_root_mean_squared_error"

CLASSIFIERS = {
    "binary": (X, y, {"gammas": [0.5, 0.1]}),
    "three-classes": (X, Y3, {}),
    "multilabel": (X, LABELS, {}),
    "balanced": (X, RARE, {"class_weight": "balanced"}),
    "class-weights": (X, y, {"class_weight": {1: 3.0}}),
    "no-intercept": (X, y, {"fit_intercept": False}),
    "sparse": (SPARSE, y, {}),
    "single-precision": (SINGLE, y, {"tol": 1e-6}),
    "overlapping": (X, y, {"cv": OVERLAPPING}),
    "linear": (X, LEANING, {"kernel": "linear"}),
    "poly": (X, y, {"kernel": "poly", "degree": 2, "coef0": 1.0, "gammas": [0.1]}),
    "kernel-object": (X, y, {"kernel": kernels.Laplacian(gamma=0.3)}),
    "precomputed": (GRAM, LEANING, ANY_LANDMARKS),
}
REGRESSORS = {
    "one-target": (X, WAVE, {"gammas": [0.5, 0.1]}),
    "two-targets": (X, WAVES, {}),
    "no-intercept": (X, WAVE, {"fit_intercept": False}),
    "sparse": (SPARSE, WAVE, {}),
    "single-precision": (SINGLE, WAVE, {"tol": 1e-6}),
    "overlapping": (X, WAVE, {"cv": OVERLAPPING}),
    "linear": (X, WAVES, {"kernel": "linear"}),
    "precomputed": (GRAM, WAVES, ANY_LANDMARKS),
}
# a loss that is not convex has several minima once C is high
GRID = {"Cs": [0.003, 0.3], "gammas": [0.4]}


def searches(cls, used, *, cv, scoring=None, Cs, gammas, tol=1e-8, **params):
    """The search, and GridSearchCV over the same cells in the same order."""
    params = {"landmarks": POINTS, "random_state": 0, "tol": tol} | params
    search = cls(used, Cs=Cs, gammas=gammas, cv=cv, scoring=scoring, **params)
    with_gamma = params.get("kernel", "rbf") in ("rbf", "poly")
    grid = {"C": Cs, "gamma": gammas if with_gamma else ["scale"], "loss": used}
    return search, GridSearchCV(cls._plain(**params), grid, cv=cv, scoring=scoring)


def split_scores(model):
    results = model.cv_results_
    return np.stack([results[f"split{k}_test_score"] for k in range(model.n_splits_)], axis=1)


def fits(plain, cells, rows, target, splits, weights, score):
    """Weighted scores of each cell and split, a fit each."""
    table = np.empty((len(cells), len(splits)))
    for i, cell in enumerate(cells):
        for k, (train, test) in enumerate(splits):
            model = clone(plain).set_params(**cell).fit(rows[train], target[train], weights[train])
            table[i, k] = score(model, rows[test], target[test], weights[test])
    return table


@pytest.mark.parametrize("case", CLASSIFIERS.values(), ids=CLASSIFIERS.keys())
def test_accuracies(case):
    rows, target, params = case
    folds = KFold(2) if target.ndim == 2 else StratifiedKFold(2)
    search, grid = searches(UniSVMClassifierCV, ["squared_hinge", "saturating"], **(GRID | {"cv": folds} | params))
    search.fit(rows, target)
    grid.fit(rows, target)
    assert search.cv_results_["params"] == grid.cv_results_["params"]
    # one row of 1200 may change sides, two in single precision
    atol = 2e-3 if rows.dtype == np.float32 else 1e-3
    np.testing.assert_allclose(split_scores(search), split_scores(grid), rtol=0, atol=atol)
    # the cells are told apart by more than that
    assert np.ptp(split_scores(grid), axis=0).max() > 2 * atol


@pytest.mark.parametrize("case", REGRESSORS.values(), ids=REGRESSORS.keys())
def test_errors_of_regression(case):
    rows, target, params = case
    params = GRID | {"cv": KFold(2), "scoring": RMSE} | params
    search, grid = searches(UniSVMRegressorCV, ["huber", "welsch"], **params)
    search.fit(rows, target)
    grid.fit(rows, target)
    assert search.cv_results_["params"] == grid.cv_results_["params"]
    np.testing.assert_allclose(split_scores(search), split_scores(grid), rtol=1e-3)
    assert np.ptp(split_scores(grid), axis=0).max() > 5e-3 * abs(grid.best_score_)


@pytest.mark.filterwarnings("ignore:The best cell of the grid:unisvm.FitWarning")
@pytest.mark.parametrize("rows", [X, SINGLE], ids=["double", "single"])
@pytest.mark.parametrize(
    ("cls", "used", "target"),
    [
        (UniSVMClassifierCV, ["squared_hinge", "saturating"], Y3),
        (UniSVMClassifierCV, ["logistic"], LABELS),
        (UniSVMRegressorCV, ["huber", "welsch"], WAVES),
    ],
)
def test_features_transformed_into_the_basis_of_the_weights(monkeypatch, rows, cls, used, target):
    params = {"Cs": [0.1, 1.0, 10.0], "gammas": [0.1, 0.4], "cv": KFold(3), "rank": 60, "random_state": 0, "tol": 1e-6}
    if cls is UniSVMClassifierCV:
        params["multi_class"] = "ovr"
    transformed, transform = [], MemoryRows.transform
    monkeypatch.setattr(
        MemoryRows, "transform", lambda *given: transformed.append(transform(*given)) or transformed[-1]
    )

    def fitted(worth):
        monkeypatch.setattr(model_selection.solve, "_WORTH_TRANSFORMING", worth)
        return cls(used, **params).fit(rows, target)

    plain = fitted(0)
    assert transformed == []
    other = fitted(1000)
    assert len(transformed) >= 2
    assert all(transformed)
    atol = 1e-3 if rows is SINGLE else 1e-6
    np.testing.assert_allclose(split_scores(other), split_scores(plain), rtol=0, atol=2 * atol)
    assert other.best_params_ == plain.best_params_
    scale = np.abs(plain.oof_decision_).max()
    np.testing.assert_allclose(other.oof_decision_, plain.oof_decision_, rtol=0, atol=10 * atol * scale)


@pytest.mark.parametrize("columns", [1, 3], ids=["one-by-one", "two-by-two"])
def test_one_C_started_from_another(columns_at_once, columns):
    # so few columns at a time that the solutions for one C are where the next starts
    columns_at_once(columns)
    used, target = ["smooth_hinge"] if columns == 3 else ["smooth_hinge", "saturating"], y
    params = {"Cs": [0.5, 0.01, 1.0, 0.1], "gammas": [0.3], "cv": StratifiedKFold(2)}
    search, grid = searches(UniSVMClassifierCV, used, **params)
    search.fit(X, target)
    grid.fit(X, target)
    np.testing.assert_allclose(split_scores(search), split_scores(grid), rtol=0, atol=1e-3)


@pytest.mark.parametrize("beside", [[], ["logistic"], ["squared_hinge"]])
def test_rows_that_a_low_C_gives_up_come_back(columns_at_once, beside):
    # one C at a time
    columns_at_once(1)
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    used = [*beside, "truncated_squared_hinge", "quadratic_ramp", "saturating"]
    search, grid = searches(UniSVMClassifierCV, used, cv=cv, Cs=[0.003, 0.03, 0.3, 3.0], gammas=[0.4], tol=1e-6)
    for model in search, grid:
        model.fit(X, RARE)
    ours, theirs = (model.cv_results_["mean_test_score"] for model in (search, grid))
    assert ours.min() == pytest.approx(1 - RARE.mean(), abs=1e-3)
    # once C is high there are several minima, and those found are not worse
    np.testing.assert_array_less(theirs - ours, 1e-3)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-2)


@pytest.mark.parametrize(
    ("cls", "used", "target"),
    [(UniSVMClassifierCV, ["logistic", "saturating"], y), (UniSVMRegressorCV, ["huber", "welsch"], WAVE)],
    ids=["classifier", "regressor"],
)
def test_weights_are_for_training_and_scores(cls, used, target):
    score = (lambda model, *held_out: model.score(*held_out)) if cls is UniSVMClassifierCV else negative_rmse
    splits = list(KFold(2, shuffle=True, random_state=0).split(X))
    params = {"cv": splits, "scoring": None if cls is UniSVMClassifierCV else RMSE, "tol": 1e-8}
    search, grid = searches(cls, used, **(GRID | params))
    search.fit(X, target, sample_weight=COUNTS)
    expected = fits(grid.estimator, search.cv_results_["params"], X, target, splits, COUNTS, score)
    np.testing.assert_allclose(split_scores(search), expected, rtol=1e-3, atol=1e-3)
    # the weights have moved the fits
    moved = search.oof_decision_ - clone(search).fit(X, target).oof_decision_
    assert abs(moved).mean() > 1e-2


def negative_rmse(model, rows, target, weights):
    return -np.sqrt(np.average((model.predict(rows) - target) ** 2, weights=weights))


def test_rows_of_weight_zero_are_not_there():
    weights = np.where(rng.rand(N) < 0.3, 0.0, COUNTS)
    keep = np.flatnonzero(weights)
    wild = X.copy()
    wild[weights == 0] = 1e3
    splits = [(np.arange(N) % 2 == k).nonzero()[0] for k in range(2)]
    search, _ = searches(UniSVMClassifierCV, ["saturating"], **GRID, cv=[splits, splits[::-1]], tol=1e-6)
    search.fit(wild, y, sample_weight=weights)
    halves = [np.flatnonzero(keep % 2 == k) for k in range(2)]
    without, _ = searches(UniSVMClassifierCV, ["saturating"], **GRID, cv=[halves, halves[::-1]], tol=1e-6)
    without.fit(X[keep], y[keep], sample_weight=weights[keep])
    np.testing.assert_allclose(split_scores(search), split_scores(without), rtol=0, atol=1e-3)
    np.testing.assert_allclose(search.oof_decision_[keep], without.oof_decision_, atol=1e-2)
    assert np.isnan(search.oof_decision_[weights == 0]).all()


def test_rows_drawn_more_than_once():
    draws = [np.random.RandomState(k).randint(N, size=N) for k in range(2)]
    splits = [(drawn, np.setdiff1d(np.arange(N), drawn)) for drawn in draws]
    search, grid = searches(UniSVMRegressorCV, ["huber"], **GRID, cv=splits, scoring=RMSE)
    np.testing.assert_allclose(split_scores(search.fit(X, WAVE)), split_scores(grid.fit(X, WAVE)), rtol=1e-3)


def test_splits_as_masks():
    half = np.arange(N) % 2 == 0
    search, grid = searches(UniSVMClassifierCV, ["logistic"], **GRID, cv=[(half, ~half), (~half, half)])
    np.testing.assert_allclose(split_scores(search.fit(X, y)), split_scores(grid.fit(X, y)), rtol=0, atol=1e-3)


def test_losses_that_memory_does_not_hold_at_once():
    used = ["squared_hinge", "smooth_hinge", "logistic"]
    params = {"landmarks": POINTS[:5], "cv": StratifiedKFold(2), "tol": 1e-8}
    at_once, _ = searches(UniSVMClassifierCV, used, **(GRID | params))
    in_turn = clone(at_once).set_params(memory_limit="500KB")
    assert MemoryBudget.parse("500KB").cells_at_once(3, 5 * 8 * N, 8 * N) == 1
    np.testing.assert_allclose(split_scores(at_once.fit(X, y)), split_scores(in_turn.fit(X, y)), rtol=0, atol=1e-3)
    assert at_once.best_params_ == in_turn.best_params_


# ------------------------------------------------------------------ the best cell

CLEAR = {"Cs": [1e-4, 3.0], "gammas": [0.003, 0.4]}


@pytest.mark.parametrize(
    ("cls", "used", "target", "scoring"),
    [
        (UniSVMClassifierCV, ["squared_hinge"], y, None),
        (UniSVMClassifierCV, ["logistic"], Y3, "balanced_accuracy"),
        (UniSVMRegressorCV, ["huber"], WAVE, "neg_median_absolute_error"),
        (UniSVMRegressorCV, ["least_squares"], WAVES, "r2"),
    ],
    ids=["accuracy", "balanced-accuracy", "median-error", "r2"],
)
def test_same_winner_and_layout(cls, used, target, scoring):
    search, grid = searches(cls, used, **CLEAR, cv=KFold(2), scoring=scoring)
    search.fit(X, target)
    grid.fit(X, target)
    assert (search.best_index_, search.best_params_) == (grid.best_index_, grid.best_params_)
    assert (search.C_, search.gamma_, search.loss_) == tuple(grid.best_params_[name] for name in ("C", "gamma", "loss"))
    assert search.best_score_ == pytest.approx(grid.best_score_, abs=1e-3)
    assert search.best_score_ == search.cv_results_["mean_test_score"][search.best_index_]
    assert set(search.cv_results_) == set(grid.cv_results_)
    ours, theirs = (pd.DataFrame(model.cv_results_) for model in (search, grid))
    assert list(ours.columns) == list(theirs.columns)
    assert ours.dtypes.to_dict() == theirs.dtypes.to_dict()
    np.testing.assert_array_equal(ours["rank_test_score"], theirs["rank_test_score"])
    for name in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-3, atol=1e-3)


def test_of_equal_cells_the_first_wins():
    # a constant score, and Cs that are not solved in the order in which they are listed
    search, grid = searches(
        UniSVMClassifierCV, ["smooth_hinge", "logistic"], Cs=[3.0, 0.1], gammas=[0.5, 0.2], cv=2, scoring=constant
    )
    search.fit(X, y)
    grid.fit(X, y)
    assert search.best_index_ == grid.best_index_ == 0
    assert search.best_params_ == {"C": 3.0, "gamma": 0.5, "loss": "smooth_hinge"}
    np.testing.assert_array_equal(search.cv_results_["rank_test_score"], grid.cv_results_["rank_test_score"])
    best, _ = searches(UniSVMClassifierCV, ["smooth_hinge"], Cs=[3.0], gammas=[0.5], cv=2)
    np.testing.assert_allclose(search.oof_decision_, best.fit(X, y).oof_decision_, atol=1e-2)


def constant(model, rows, target):
    return 0.5


@pytest.mark.parametrize(
    ("cls", "used", "target"),
    [
        (UniSVMClassifierCV, ["squared_hinge", "saturating"], y),
        (UniSVMClassifierCV, ["squared_hinge"], Y3),
        (UniSVMClassifierCV, ["logistic"], LABELS),
        (UniSVMRegressorCV, ["huber", "welsch"], WAVE),
        (UniSVMRegressorCV, [losses.Welsch()], WAVES),
    ],
    ids=["binary", "three-classes", "multilabel", "one-target", "two-targets"],
)
def test_decisions_on_rows_left_out(cls, used, target):
    folds = KFold(2, shuffle=True, random_state=0)
    search, grid = searches(cls, used, Cs=[0.1, 1.0], gammas=[0.3], cv=folds, tol=1e-7)
    search.fit(X, target)
    best = clone(grid.estimator).set_params(**search.best_params_)
    method = "decision_function" if cls is UniSVMClassifierCV else "predict"
    expected = cross_val_predict(best, X, target, cv=folds, method=method)
    assert search.oof_decision_.shape == expected.shape
    np.testing.assert_allclose(search.oof_decision_, expected, rtol=0, atol=1e-2)


def test_decisions_of_overlapping_splits_are_means():
    splits = list(ShuffleSplit(3, test_size=0.4, random_state=1).split(X))
    search, grid = searches(UniSVMRegressorCV, ["huber"], Cs=[1.0], gammas=[0.3], cv=splits, tol=1e-7)
    search.fit(X, WAVE)
    predictions = np.full((3, N), np.nan)
    for row, (train, test) in zip(predictions, splits, strict=True):
        row[test] = clone(grid.estimator).set_params(**search.best_params_).fit(X[train], WAVE[train]).predict(X[test])
    seen = ~np.isnan(predictions).all(axis=0)
    assert 0 < seen.sum() < N
    np.testing.assert_allclose(search.oof_decision_[seen], np.nanmean(predictions[:, seen], axis=0), atol=1e-2)
    assert np.isnan(search.oof_decision_[~seen]).all()


@pytest.mark.parametrize("landmarks", [POINTS, np.arange(0, N, 60), "rpcholesky"], ids=["points", "numbers", "chosen"])
@pytest.mark.parametrize(("cls", "target"), [(UniSVMClassifierCV, y), (UniSVMRegressorCV, WAVE)])
def test_refit_is_a_plain_fit(cls, target, landmarks):
    search = cls(Cs=[0.1, 1.0], gammas=[0.3], cv=2, landmarks=landmarks, rank=40, tol=1e-8, random_state=3)
    search.fit(X, target, sample_weight=COUNTS)
    best = search.best_estimator_
    assert type(best) is cls._plain
    assert {name: best.get_params()[name] for name in search.best_params_} == search.best_params_
    plain = cls._plain(**search.best_params_, landmarks=best.landmark_vectors_, tol=1e-8)
    plain.fit(X, target, sample_weight=COUNTS)
    decide = "decision_function" if cls is UniSVMClassifierCV else "predict"
    np.testing.assert_allclose(getattr(best, decide)(X), getattr(plain, decide)(X), atol=2e-2)
    np.testing.assert_array_equal(getattr(search, decide)(X), getattr(best, decide)(X))
    np.testing.assert_array_equal(search.predict(X), best.predict(X))


def test_plain_estimators_are_the_public_ones():
    assert UniSVMClassifierCV._plain is UniSVMClassifier
    assert UniSVMRegressorCV._plain is UniSVMRegressor
