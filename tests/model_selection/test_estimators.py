"""The searching estimators from outside: parameters, grids, scorers, splits, results, and use inside scikit-learn."""

import inspect
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning, UnsetMetadataPassedError
from sklearn.metrics import accuracy_score, fbeta_score, make_scorer, mean_pinball_loss, r2_score, roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, UniSVMRegressorCV, kernels, losses

X, y = make_moons(150, noise=0.25, random_state=0)
WAVE = np.sin(3 * X[:, 0]) + X[:, 1]
WEIGHTS = np.where(np.arange(150) % 3 == 0, 5.0, 0.2)
POINTS = X[::5].copy()
SMALL = {"Cs": [0.1, 1.0], "gammas": [0.5, 2.0], "cv": 3, "random_state": 0}
ONE_CELL = {"Cs": [1.0], "gammas": [0.5], "cv": 3, "random_state": 0}
ESTIMATORS = pytest.mark.parametrize(
    ("cls", "target"), [(UniSVMClassifierCV, y), (UniSVMRegressorCV, WAVE)], ids=["classifier", "regressor"]
)


def tried(model, name):
    """The values of a parameter in the order of the grid."""
    return list(dict.fromkeys(model.cv_results_[f"param_{name}"].tolist()))


def split_scores(model):
    return np.stack([model.cv_results_[f"split{k}_test_score"] for k in range(model.n_splits_)], axis=1)


# ------------------------------------------------------------------ the grid


@pytest.mark.parametrize(
    ("cls", "own", "scoring"),
    [
        (UniSVMClassifierCV, {"calibration": "sigmoid", "drop_suspects": True}, None),
        (UniSVMRegressorCV, {"intervals": "auto"}, "neg_median_absolute_error"),
    ],
)
def test_parameters(cls, own, scoring):
    own = own | {"losses": None, "Cs": 10, "gammas": None, "cv": None, "scoring": scoring, "refit": True}
    own |= {"search": "auto", "kernel": "auto"}
    plain = cls._plain().get_params(deep=False)
    of_one_fit = {"loss", "loss_params", "C", "gamma", "solver", "warm_start", "relevance"}
    shared = {name: plain[name] for name in plain if name not in of_one_fit}
    assert cls().get_params() == shared | own
    kinds = [parameter.kind for parameter in inspect.signature(cls).parameters.values()]
    assert kinds[0] is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert set(kinds[1:]) == {inspect.Parameter.KEYWORD_ONLY}
    parameters = {name: object() for name in own | shared}
    assert vars(cls(**parameters)) == parameters


@pytest.mark.parametrize(
    ("cls", "target", "least", "most", "used"),
    [
        (UniSVMClassifierCV, y, 1e-2, 1e2, ["squared_hinge", "smooth_hinge", "saturating"]),
        (UniSVMRegressorCV, WAVE, 1e-1, 1e3, ["huber", "welsch", "truncated_huber"]),
    ],
    ids=["classifier", "regressor"],
)
def test_default_grid(cls, target, least, most, used):
    model = cls(search="full", tol=1e-2, rank=20).fit(X, target)
    np.testing.assert_allclose(tried(model, "C"), least * (most / least) ** (np.arange(10) / 9), rtol=1e-12)
    around = 4.0 ** np.arange(-2, 3)
    np.testing.assert_allclose(
        tried(model, "gamma"), np.concatenate([around / (2 * X.var()), around / (2 * X.std())]), rtol=1e-12
    )
    assert tried(model, "kernel") == ["rbf", "laplacian"]
    assert tried(model, "loss") == used
    assert model.n_splits_ == 5
    assert len(model.cv_results_["params"]) == 300
    assert np.isfinite(split_scores(model)).all()
    assert (is_classifier(model), is_regressor(model)) == (cls is UniSVMClassifierCV, cls is UniSVMRegressorCV)


def test_number_of_values():
    model = UniSVMClassifierCV(["logistic"], Cs=3, gammas=2, cv=2).fit(X, y)
    np.testing.assert_allclose(tried(model, "C"), [0.01, 1.0, 100.0])
    np.testing.assert_allclose(tried(model, "gamma"), np.array([0.5, 2.0]) / (2 * X.var()))
    single = UniSVMClassifierCV(["logistic"], Cs=[2.0], gammas=np.int64(1), cv=2).fit(X, y)
    assert single.gamma_ == pytest.approx(1 / (2 * X.var()))


def test_scale_is_that_of_the_rows_of_positive_weight():
    wild = np.where(np.arange(150)[:, None] < 10, 1e3, X)
    weights = (np.arange(150) >= 10).astype(float)
    model = UniSVMClassifierCV(["logistic"], Cs=[1.0], gammas=1, cv=2).fit(wild, y, sample_weight=weights)
    assert model.gamma_ == pytest.approx(1 / (2 * X[10:].var()))


@pytest.mark.parametrize("gammas", ["scale", ["scale", 0.5, "auto"], np.array([0.5, 2.0]), (0.1,)], ids=str)
def test_values_themselves(gammas):
    model = UniSVMClassifierCV("logistic", Cs=np.array([10.0, 0.1]), gammas=gammas, cv=2).fit(X, y)
    assert tried(model, "C") == [10.0, 0.1]
    assert tried(model, "gamma") == (["scale"] if isinstance(gammas, str) else list(gammas))
    assert tried(model, "loss") == ["logistic"]
    assert model.best_estimator_.gamma == model.best_params_["gamma"]


def test_names_of_gamma_are_its_values():
    named = UniSVMClassifierCV("logistic", **(ONE_CELL | {"gammas": ["scale", "auto"]})).fit(X, y)
    numbers = UniSVMClassifierCV("logistic", **(ONE_CELL | {"gammas": [1 / (2 * X.var()), 0.5]})).fit(X, y)
    np.testing.assert_array_equal(split_scores(named), split_scores(numbers))


@pytest.mark.parametrize(
    "kernel", ["linear", kernels.RBF(2.0), lambda A, B: A @ B.T], ids=["name", "object", "function"]
)
def test_kernels_without_a_gamma_to_set(kernel):
    model = UniSVMClassifierCV("logistic", Cs=[0.1, 1.0], gammas=7, cv=2, kernel=kernel).fit(X, y)
    assert tried(model, "gamma") == ["scale"]
    assert len(model.cv_results_["params"]) == 2


def test_instances_of_losses():
    used = [losses.TruncatedSquaredHinge(a=0.5), losses.TruncatedSquaredHinge(a=5.0), "hinge"]
    model = UniSVMClassifierCV(used, **SMALL).fit(X, y)
    assert model.losses is used
    assert all(cell["loss"] is used[i % 3] for i, cell in enumerate(model.cv_results_["params"]))
    scores = split_scores(model).reshape(-1, 3, 3)
    assert not np.array_equal(scores[:, 0], scores[:, 1])
    alone = UniSVMClassifierCV(losses.TruncatedSquaredHinge(a=0.5), **SMALL).fit(X, y)
    np.testing.assert_allclose(split_scores(alone), scores[:, 0], atol=0.021)


# ------------------------------------------------------------------ scorers


def test_scorers_of_any_kind():
    def by_hand(model, rows, labels):
        return np.mean(model.predict(rows) == labels)

    def elsewhere(model, rows, labels):
        # rows that are not known beforehand
        return np.mean(model.predict(rows.copy()) == labels)

    expected = split_scores(UniSVMClassifierCV(["logistic"], **SMALL).fit(X, y))
    for scoring in ("accuracy", by_hand, elsewhere, make_scorer(accuracy_score)):
        model = UniSVMClassifierCV(["logistic"], **SMALL, scoring=scoring).fit(X, y)
        np.testing.assert_allclose(split_scores(model), expected, rtol=1e-12)
        assert model.score(X, y) == pytest.approx(np.mean(model.predict(X) == y), rel=1e-12)


@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision", "f1", make_scorer(fbeta_score, beta=2)], ids=str)
def test_scores_other_than_the_accuracy(scoring):
    model = UniSVMClassifierCV(["logistic"], **SMALL, scoring=scoring, landmarks=POINTS, tol=1e-8).fit(X, y)
    grid = {"C": SMALL["Cs"], "gamma": SMALL["gammas"]}
    plain = UniSVMClassifier("logistic", landmarks=POINTS, tol=1e-8)
    expected = GridSearchCV(plain, grid, cv=3, scoring=scoring).fit(X, y)
    np.testing.assert_allclose(split_scores(model), split_scores(expected), atol=0.02)


def test_score_is_that_of_the_scorer():
    model = UniSVMClassifierCV(["logistic"], **SMALL, scoring="roc_auc").fit(X, y)
    assert model.score(X, y) == pytest.approx(roc_auc_score(y, model.decision_function(X)))
    pinball = make_scorer(mean_pinball_loss, alpha=0.9, greater_is_better=False)
    model = UniSVMRegressorCV(["huber"], **SMALL, scoring=pinball).fit(X, WAVE)
    assert model.best_score_ == split_scores(model).mean(axis=1).max()
    assert model.score(X, WAVE) == pytest.approx(-mean_pinball_loss(WAVE, model.predict(X), alpha=0.9))
    weighted = mean_pinball_loss(WAVE, model.predict(X), alpha=0.9, sample_weight=WEIGHTS)
    assert model.score(X, WAVE, sample_weight=WEIGHTS) == pytest.approx(-weighted)
    r2 = UniSVMRegressorCV(["huber"], **SMALL, scoring=None).fit(X, WAVE)
    assert r2.score(X, WAVE) == pytest.approx(r2_score(WAVE, r2.predict(X)))
    default = UniSVMRegressorCV(["huber"], **SMALL).fit(X, WAVE)
    assert default.score(X, WAVE) == pytest.approx(-np.median(abs(WAVE - default.predict(X))))


def skewed(n_rows, seed):
    """Rows and targets whose noise is larger on the right."""
    rng = np.random.RandomState(seed)
    rows = rng.uniform(-2, 2, size=(n_rows, 2))
    return rows, np.sin(2 * rows[:, 0]) + rows[:, 1] + (1 + (rows[:, 0] > 0)) * rng.standard_exponential(n_rows)


@pytest.mark.parametrize("tau", [0.05, 0.8])
def test_share_below_a_quantile(tau):
    loss, scorer = losses.get("pinball", tau=tau), make_scorer(mean_pinball_loss, alpha=tau, greater_is_better=False)
    model = UniSVMRegressorCV(loss, scoring=scorer, Cs=6, gammas=2, kernel="rbf", rank=100, random_state=0)
    model.fit(*skewed(2000, 0))
    rows, target = skewed(20_000, 1)
    assert np.mean(target < model.predict(rows)) == pytest.approx(tau, abs=0.02)


def test_level_of_an_expectile():
    """Errors above weigh τ and those below 1 − τ, in all as much, also on new rows but for the mean of the others."""
    loss = losses.get("expectile", tau=0.8)
    scorer = make_scorer(lambda target, predicted: loss.value(target - predicted).mean(), greater_is_better=False)
    model = UniSVMRegressorCV(loss, scoring=scorer, Cs=6, gammas=2, kernel="rbf", rank=100, random_state=0)
    model.fit(*skewed(2000, 0))
    rows, target = skewed(20_000, 1)
    residual = target - model.predict(rows)
    above, below = np.maximum(residual, 0).sum(), np.maximum(-residual, 0).sum()
    assert below / (above + below) == pytest.approx(0.8, abs=0.04)


def test_scorer_sees_the_cell():
    seen = []

    def note(model, rows, labels):
        seen.append((type(model).__name__, model.get_params()["loss"].name, model.C, model.gamma, model.n_features_in_))
        return 0.0

    UniSVMClassifierCV(["logistic", "squared_hinge"], Cs=[2.0], gammas=[0.5], cv=2, scoring=note).fit(X, y)
    assert sorted(set(seen)) == [("UniSVMClassifier", name, 2.0, 0.5, 2) for name in ("logistic", "squared_hinge")]
    assert len(seen) == 4


# ------------------------------------------------------------------ splits and metadata

GROUPS = np.arange(150) // 10


@pytest.mark.parametrize("routing", [False, True])
def test_groups(routing):
    folds = GroupKFold(3)
    splits = list(folds.split(X, y, GROUPS))
    expected = UniSVMClassifierCV(["logistic"], **(SMALL | {"cv": splits})).fit(X, y)
    with sklearn.config_context(enable_metadata_routing=routing):
        model = UniSVMClassifierCV(["logistic"], **(SMALL | {"cv": folds})).fit(X, y, groups=GROUPS)
    np.testing.assert_array_equal(split_scores(model), split_scores(expected))
    assert not np.array_equal(split_scores(model), split_scores(clone(model).set_params(cv=3).fit(X, y)))


@ESTIMATORS
def test_scores_have_the_weights_that_a_scorer_takes(cls, target):
    splits = list(KFold(3).split(X))
    params = ONE_CELL | {"cv": splits}
    measure = accuracy_score if cls is UniSVMClassifierCV else r2_score
    for scoring in (None, make_scorer(measure), "accuracy" if cls is UniSVMClassifierCV else "r2"):
        model = cls(**params, scoring=scoring).fit(X, target, sample_weight=WEIGHTS)
        decision = model.oof_decision_
        predicted = (decision > 0).astype(int) if cls is UniSVMClassifierCV else decision
        expected = [measure(target[test], predicted[test], sample_weight=WEIGHTS[test]) for _, test in splits]
        plain = [measure(target[test], predicted[test]) for _, test in splits]
        found = split_scores(model)[model.best_index_]
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert abs(found - plain).max() > 1e-3
    # which does not take any
    model = cls(**params, scoring=lambda model, rows, truth: measure(truth, model.predict(rows)))
    model.fit(X, target, sample_weight=WEIGHTS)
    np.testing.assert_allclose(split_scores(model)[model.best_index_], plain, atol=1e-6)


@ESTIMATORS
@pytest.mark.parametrize("scoring", [None, "neg_median_absolute_error"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_routing_needs_no_request_for_scorers_by_name(cls, target, scoring, n_jobs):
    model = cls(**SMALL, scoring=scoring, n_jobs=n_jobs)
    expected = clone(model).fit(X, target, sample_weight=WEIGHTS)
    with sklearn.config_context(enable_metadata_routing=True):
        model.fit(X, target, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(split_scores(model), split_scores(expected))


@pytest.mark.skipif(parse_version(sklearn.__version__) < parse_version("1.9"), reason="earlier ones do not ask")
def test_routing_asks_for_a_decision_about_a_scorer_that_is_given():
    scorer = make_scorer(accuracy_score)
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            UniSVMClassifierCV(**ONE_CELL, scoring=scorer).fit(X, y, sample_weight=WEIGHTS)
        scorer.set_score_request(sample_weight=False)
        model = UniSVMClassifierCV(**ONE_CELL, scoring=scorer).fit(X, y, sample_weight=WEIGHTS)
    assert model.best_score_ != UniSVMClassifierCV(**ONE_CELL).fit(X, y, sample_weight=WEIGHTS).best_score_


def test_scores_with_routed_weights():
    scorer = make_scorer(accuracy_score)
    splits = list(StratifiedKFold(3).split(X, y))
    with sklearn.config_context(enable_metadata_routing=True):
        scorer.set_score_request(sample_weight=True)
        model = UniSVMClassifierCV(["logistic"], **(ONE_CELL | {"cv": splits}), scoring=scorer)
        model.fit(X, y, sample_weight=WEIGHTS)
    for k, (_, test) in enumerate(splits):
        right = (model.oof_decision_[test] > 0) == y[test]
        expected = np.average(right, weights=WEIGHTS[test])
        assert model.cv_results_[f"split{k}_test_score"][0] == pytest.approx(expected)
        assert right.mean() != pytest.approx(expected, abs=1e-3)
    # and they are weights of the training as well
    alone = UniSVMClassifierCV(["logistic"], **(ONE_CELL | {"cv": splits})).fit(X, y, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(model.oof_decision_, alone.oof_decision_)


@ESTIMATORS
@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("weight", [2, 0.5, np.float32(3)])
def test_a_weight_for_all_rows(cls, target, routing, weight):
    for scoring in (None, "accuracy" if cls is UniSVMClassifierCV else "neg_median_absolute_error"):
        model = cls(**SMALL, scoring=scoring)
        expected = clone(model).fit(X, target, sample_weight=np.full(150, weight))
        with sklearn.config_context(enable_metadata_routing=routing):
            model.fit(X, target, sample_weight=weight)
        np.testing.assert_array_equal(split_scores(model), split_scores(expected))
        np.testing.assert_array_equal(model.predict(X), expected.predict(X))


def test_splitters_and_iterables_are_the_same():
    splitter = KFold(4, shuffle=True, random_state=0)
    expected = split_scores(UniSVMRegressorCV(["huber"], **(SMALL | {"cv": splitter})).fit(X, WAVE))
    lists = [(train.tolist(), test.tolist()) for train, test in splitter.split(X)]
    masks = [(np.isin(np.arange(150), train), np.isin(np.arange(150), test)) for train, test in lists]
    unsigned = [(train.astype(np.uint64), test.astype(np.uint8)) for train, test in splitter.split(X)]
    for cv in (list(splitter.split(X)), splitter.split(X), lists, masks, unsigned):
        model = UniSVMRegressorCV(["huber"], **(SMALL | {"cv": cv})).fit(X, WAVE)
        np.testing.assert_array_equal(split_scores(model), expected)
    with sklearn.config_context(enable_metadata_routing=True):
        model = UniSVMRegressorCV(["huber"], **(SMALL | {"cv": splitter.split(X)})).fit(X, WAVE)
    np.testing.assert_array_equal(split_scores(model), expected)


@ESTIMATORS
def test_axes_may_be_generators(cls, target):
    names = ["least_squares", "logistic" if cls is UniSVMClassifierCV else "huber"]
    axes = {"losses": names, "Cs": SMALL["Cs"], "gammas": SMALL["gammas"]}
    generators = {name: (value for value in values) for name, values in axes.items()}
    model = cls(**(SMALL | generators)).fit(X, target)
    expected = cls(**(SMALL | axes)).fit(X, target)
    assert model.cv_results_["params"] == expected.cv_results_["params"]
    np.testing.assert_array_equal(split_scores(model), split_scores(expected))
    assert all(getattr(model, name) is generator for name, generator in generators.items())


# ------------------------------------------------------------------ fitted attributes


@ESTIMATORS
def test_without_a_refit(cls, target):
    model = cls(**SMALL, refit=False).fit(X, target)
    full = cls(**SMALL).fit(X, target)
    assert model.best_params_ == full.best_params_
    np.testing.assert_array_equal(model.oof_decision_, full.oof_decision_)
    np.testing.assert_array_equal(split_scores(model), split_scores(full))
    assert not hasattr(model, "best_estimator_")
    assert not hasattr(model, "refit_time_")
    for call in (model.predict, lambda rows: model.score(rows, target), lambda rows: model.trust(rows, target)):
        with pytest.raises(AttributeError, match="refit=False"):
            call(X)


@ESTIMATORS
def test_a_search_without_a_refit_leaves_no_model_of_another(cls, target):
    model = cls(**SMALL).fit(X, target)
    model.set_params(refit=False).fit(X[::-1], target)
    assert not hasattr(model, "best_estimator_")
    with pytest.raises(AttributeError, match="refit=False"):
        model.predict(X)


@ESTIMATORS
def test_best_estimator(cls, target):
    model = cls(**SMALL).fit(X, target)
    best = model.best_estimator_
    assert isinstance(best, UniSVMClassifier if cls is UniSVMClassifierCV else UniSVMRegressor)
    assert (best.C, best.gamma, best.loss) == (model.C_, model.gamma_, model.loss_)
    assert model.best_params_ == {"C": model.C_, "gamma": model.gamma_, "loss": model.loss_}
    np.testing.assert_array_equal(model.trust(X, target), best.trust(X, target))
    assert model.refit_time_ > 0
    assert model.n_iter_ == best.n_iter_


@pytest.mark.parametrize(
    ("cls", "target", "loss"), [(UniSVMClassifierCV, y, "hinge"), (UniSVMRegressorCV, WAVE, "huber")]
)
def test_refit_of_a_convex_loss_is_a_plain_fit(cls, target, loss):
    model = cls(loss, **SMALL).fit(X, target)
    again = clone(model.best_estimator_).fit(X, target)
    np.testing.assert_array_equal(again.dual_coef_, model.best_estimator_.dual_coef_)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@ESTIMATORS
def test_seed_decides_everything(cls, target):
    params = {"Cs": [0.1, 1.0], "gammas": [0.5], "cv": 3, "rank": 10}
    first, second, other = (cls(**params, random_state=seed).fit(X, target) for seed in (0, 0, 1))
    np.testing.assert_array_equal(split_scores(first), split_scores(second))
    np.testing.assert_array_equal(first.oof_decision_, second.oof_decision_)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    assert not np.array_equal(first.oof_decision_, other.oof_decision_)
    # the search has the landmarks of the refit
    points = first.best_estimator_.landmark_vectors_
    given = cls(**params, landmarks=points, random_state=0).fit(X, target)
    np.testing.assert_allclose(given.oof_decision_, first.oof_decision_, atol=0.05)


@ESTIMATORS
def test_threads_change_nothing_but_rounding(cls, target):
    # both threads for the only kernel, and one for each of two kernels
    for grid in (ONE_CELL, SMALL):
        one, two = (cls(**grid, tol=1e-8, n_jobs=n_jobs).fit(X, target) for n_jobs in (1, 2))
        assert one.best_params_ == two.best_params_
        np.testing.assert_allclose(split_scores(one), split_scores(two), atol=1e-3)
        np.testing.assert_allclose(one.oof_decision_, two.oof_decision_, atol=1e-3)


@ESTIMATORS
def test_clone_parameters_and_pickle(cls, target):
    model = cls([losses.LeastSquares()], **SMALL, rank=20).fit(X, target)
    copy = clone(model)
    assert not hasattr(copy, "cv_results_")
    np.testing.assert_array_equal(copy.fit(X, target).oof_decision_, model.oof_decision_)
    assert copy.set_params(Cs=[3.0], rank=7).fit(X, target).C_ == 3.0
    assert copy.best_estimator_.rank_ <= 7
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.score(X, target) == model.score(X, target)
    assert loaded.best_params_["C"] == model.best_params_["C"]
    if cls is UniSVMClassifierCV:
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))


@ESTIMATORS
def test_names_of_columns(cls, target):
    table = pd.DataFrame(X, columns=["east", "north"])
    model = cls(**SMALL).fit(table, pd.Series(target))
    assert model.feature_names_in_.tolist() == ["east", "north"]
    np.testing.assert_array_equal(model.predict(table), cls(**SMALL).fit(X, target).predict(X))
    assert model.score(table, target) == pytest.approx(cls(**SMALL).fit(X, target).score(X, target))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table.rename(columns={"north": "south"}))
    with pytest.raises(ValueError, match=r"has 1 features.*expecting 2"):
        cls(**SMALL).fit(X, target).predict(X[:, :1])


def test_in_a_pipeline_and_in_an_outer_validation():
    far = X * [1e-3, 1e3] + [0.0, 1e4]
    model = make_pipeline(StandardScaler(), UniSVMClassifierCV(["logistic"], **SMALL)).fit(far, y)
    Z = StandardScaler().fit_transform(far)
    np.testing.assert_array_equal(
        model.predict_proba(far), UniSVMClassifierCV(["logistic"], **SMALL).fit(Z, y).predict_proba(Z)
    )
    assert cross_val_score(model, far, y, cv=3).mean() > 0.85


def test_too_few_iterations():
    with pytest.warns(ConvergenceWarning, match="6 of 6 fits.*max_iter=2") as caught:
        UniSVMClassifierCV(["logistic"], Cs=[10.0, 100.0], gammas=[1.0], cv=3, max_iter=2, tol=1e-9, refit=False).fit(
            X, y
        )
    (warning,) = caught
    assert "Raise max_iter" in str(warning.message)


@pytest.mark.parametrize("losses", [["saturating"], ["squared_hinge", "logistic", "saturating"]])
def test_memory_does_not_grow_with_the_grid(losses):
    rng = np.random.RandomState(0)
    rows = rng.randn(20_000, 3)
    labels = (rows[:, 0] * rows[:, 1] + 0.5 * rng.randn(20_000) > 0).astype(int)

    def peak(n_Cs):
        tracemalloc.start()
        try:
            params = {"Cs": n_Cs, "gammas": [0.3], "rank": 20, "cv": 3, "max_iter": 3, "refit": False}
            UniSVMClassifierCV(losses, random_state=0, **params).fit(rows, labels)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    with pytest.warns(ConvergenceWarning):
        # with fewer there are not yet as many columns at a time as there may be
        few, many = peak(40), peak(160)
    assert many < 1.2 * few


def test_refit_of_a_nonconvex_loss_starts_from_what_was_scored():
    loss = "saturating"
    splits = list(StratifiedKFold(4).split(X, y))
    model = UniSVMClassifierCV(loss, Cs=[1.0], gammas=[2.0], cv=splits, rank=40, tol=1e-8, random_state=0).fit(X, y)
    best = model.best_estimator_
    assert not best.warm_start
    plain = UniSVMClassifier(loss, C=1.0, gamma=2.0, landmarks=best.landmark_vectors_, tol=1e-8)
    fits = [clone(plain).fit(X[train], y[train]) for train, _ in splits]
    f = np.mean([fit.decision_function(X) for fit in fits], axis=0)
    dual = np.mean([fit.dual_coef_ for fit in fits], axis=0)
    norm = dual @ rbf_kernel(best.landmark_vectors_, gamma=2.0) @ dual.T
    objective = np.mean(losses.get(loss).value(1 - (2 * y - 1) * f)) + norm.item() / (2 * len(X))
    assert best.history_["objective"][0] == pytest.approx(objective, rel=1e-3)
    assert best.objective_ < objective
    # the start is no attribute: the estimator is as after a fit of its own
    assert set(vars(best)) == set(vars(fits[0]))
    assert best.get_params(deep=False).keys() == vars(plain).keys()
