"""A loaded model is the one that was saved: parameters, attributes and answers to the last bit."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.metrics import make_scorer, mean_pinball_loss
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

import unisvm
from model_files.saved_models import (
    KERNELS,
    NAMES,
    TARGETS,
    WAVE,
    X,
    answers,
    assert_same,
    plain,
    rows_for,
    small_models,
)
from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, UniSVMRegressorCV, baselines, losses, solvers
from unisvm.feature_selection import SparseUniSVMClassifier

FORMS = {"dense": np.asarray, "csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}


def again(model, tmp_path):
    unisvm.save(model, tmp_path / "model.unisvm")
    return unisvm.load(tmp_path / "model.unisvm")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_target_precision_and_form(tmp_path, kernel, target, dtype, form):
    rows, y = rows_for(kernel, dtype, FORMS[form]), TARGETS[target]
    model = plain(target, kernel).fit(rows, y)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    assert_same(answers(model, rows, y), answers(loaded, rows, y))


@pytest.mark.parametrize("kind", ["ovr", "ovo"])
def test_pairs_and_each_class_against_the_rest(tmp_path, kind):
    y = TARGETS["three classes"]
    model = plain("three classes", multi_class=kind).fit(X, y)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    assert_same(answers(model, X, y), answers(loaded, X, y))


@pytest.fixture(scope="module")
def models():
    return small_models()


@pytest.mark.parametrize("name", NAMES)
def test_every_estimator(tmp_path, models, name):
    model, rows, y = models[name]
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    assert_same(answers(model, rows, y), answers(loaded, rows, y))


@pytest.mark.parametrize("name", NAMES)
def test_a_model_saved_twice_is_the_same_file(tmp_path, models, name):
    model, _, _ = models[name]
    unisvm.save(model, tmp_path / "one")
    unisvm.save(unisvm.load(tmp_path / "one"), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("name", baselines.__all__)
def test_comparators(tmp_path, name):
    cls = getattr(baselines, name)
    y = TARGETS["two classes"] if hasattr(cls, "decision_function") else WAVE
    model = cls().fit(X, y)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    assert_same(model.predict(X), loaded.predict(X))


LABELS = {
    "ints": np.array([-3, 0, 7]),
    "small ints": np.array([1, 2, 3], dtype=np.int8),
    "unsigned": np.array([1, 2, 2**63], dtype=np.uint64),
    "floats": np.array([-1.0, 0.0, 2.0]),
    "texts": np.array(["", "Ω and more", "�"]),
    "objects": np.array(["a", "b\0", "\ud800"], dtype=object),
    "empty text": np.array(["", "b", "c"], dtype=object),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_many_types(tmp_path, kind):
    y = LABELS[kind][np.searchsorted(["ant", "bee", "zebu"], TARGETS["three classes"])]
    model = plain("three classes").fit(X, y)
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    assert_same(model.predict(X), loaded.predict(X))


def test_truth_values_are_labels(tmp_path):
    model = plain("two classes").fit(X, TARGETS["two classes"] > 0)
    assert again(model, tmp_path).predict(X).dtype == bool


def test_names_of_columns(tmp_path):
    table = pd.DataFrame(X, columns=["größe", "b", "c"])
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), plain("two classes"))
    model.fit(table, TARGETS["two classes"])
    loaded = again(model, tmp_path)
    assert_same(model.predict(table), loaded.predict(table))
    assert loaded.feature_names_in_.tolist() == ["größe", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(table[["b", "größe", "c"]])


@pytest.mark.parametrize(
    "parameters",
    [
        {"C": np.float64(3.0), "gamma": np.float32(0.5), "rank": np.int64(9)},
        {"loss": losses.TruncatedSquaredHinge(a=3), "class_weight": {0: 2.0, 1: 1.0}},
        {"loss": "hinge", "class_weight": "balanced", "indefinite": "clip", "n_jobs": 2},
        {"solver": solvers.DCA(form="woodbury", A=5.0), "landmarks": np.arange(0, 90, 9)},
        {"solver": solvers.LBFGS(memory=4), "landmarks": X[::9], "memory_limit": "1GB"},
        {"fit_intercept": "penalised", "landmarks": X[::9].tolist(), "C": "auto", "tol": np.inf},
        {"random_state": np.random.RandomState(5), "scale": "standard"},
        {"fit_intercept": False, "kernel_params": None, "verbose": 0, "warm_start": True, "scale": "minmax"},
    ],
    ids=lambda parameters: " ".join(parameters),
)
def test_parameters(tmp_path, parameters):
    parameters = {"tol": 1e-2, "rank": 9, "random_state": 0} | parameters
    if parameters["tol"] == np.inf:
        model = UniSVMClassifier(**parameters | {"tol": 1e-2}).fit(X, TARGETS["two classes"]).set_params(tol=np.inf)
    else:
        model = UniSVMClassifier(**parameters).fit(X, TARGETS["two classes"])
    loaded = again(model, tmp_path)
    assert_same(model.get_params(), loaded.get_params())
    assert_same(model.predict(X), loaded.predict(X))


@pytest.mark.parametrize(
    "splitter",
    [
        4,
        KFold(3, shuffle=True, random_state=1),
        StratifiedKFold(3, shuffle=True, random_state=0),
        ShuffleSplit(2, test_size=0.25, random_state=np.random.RandomState(0)),
        [(np.arange(60), np.arange(60, 90)), (np.arange(30, 90), np.arange(30))],
    ],
    ids=lambda splitter: type(splitter).__name__,
)
def test_splitters(tmp_path, splitter):
    model = UniSVMClassifierCV(Cs=[1.0], gammas=[0.1], cv=splitter, rank=9, random_state=0)
    model.fit(X, TARGETS["two classes"])
    assert_same(model.cv, again(model, tmp_path).cv)


def test_groups_of_a_splitter(tmp_path):
    model = UniSVMRegressorCV(Cs=[1.0], gammas=[0.1], cv=GroupKFold(3), rank=9, random_state=0)
    model.fit(X, WAVE, groups=np.arange(90) // 5)
    assert_same(model.cv, again(model, tmp_path).cv)


def test_a_scorer_of_scikit_learn(tmp_path):
    scorer = make_scorer(mean_pinball_loss, alpha=0.1, greater_is_better=False)
    grid = {"losses": [losses.SmoothPinball(tau=0.1)], "Cs": [1.0], "gammas": [0.1], "rank": 9, "random_state": 0}
    model = UniSVMRegressorCV(scoring=scorer, **grid).fit(X, WAVE)
    assert model.score(X, WAVE) == again(model, tmp_path).score(X, WAVE) < 0


@pytest.mark.parametrize("scaler", [MinMaxScaler((0, 2), clip=True), MaxAbsScaler(), RobustScaler(), StandardScaler()])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scalers(tmp_path, scaler, dtype):
    rows = X.astype(dtype)
    model = make_pipeline(clone(scaler), plain("three classes")).fit(rows, TARGETS["three classes"])
    loaded = again(model, tmp_path)
    assert_same(model, loaded)
    assert_same(model.decision_function(rows * 3), loaded.decision_function(rows * 3))


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        StandardScaler(with_mean=False, with_std=False),
        RobustScaler(with_centering=False, with_scaling=False),
    ],
)
def test_scalers_that_do_half_of_it(tmp_path, scaler):
    model = make_pipeline(clone(scaler), plain("target")).fit(X, WAVE)
    assert_same(model, again(model, tmp_path))


def test_pipelines_in_pipelines(tmp_path):
    model = make_pipeline(MaxAbsScaler(), "passthrough", make_pipeline(StandardScaler(), plain("target"))).fit(X, WAVE)
    loaded = again(model, tmp_path)
    assert_same(model.predict(X), loaded.predict(X))
    assert repr(model) == repr(loaded)


# ------------------------------------------------------------------ what comes after


def test_a_warm_start_goes_on_from_a_loaded_model(tmp_path):
    model = UniSVMClassifier(warm_start=True, rank=20, random_state=0).fit(X, TARGETS["two classes"])
    n_iter = model.n_iter_
    loaded = again(model, tmp_path).fit(X, TARGETS["two classes"])
    model.fit(X, TARGETS["two classes"])
    assert loaded.n_iter_ == model.n_iter_ < n_iter
    assert_same(model.dual_coef_, loaded.dual_coef_)


def test_a_loaded_model_is_fitted_again_and_cloned(tmp_path, models):
    for name in ("classifier", "search", "selection", "pipeline"):
        model, rows, y = models[name]
        loaded = again(model, tmp_path)
        copy = clone(loaded).fit(rows, y)
        assert_same(copy.decision_function(rows), model.decision_function(rows))
        assert_same(loaded.fit(rows, y).decision_function(rows), model.decision_function(rows))


def test_a_loaded_model_is_pickled_and_written_to(tmp_path, models):
    model, rows, _ = models["classifier"]
    loaded = pickle.loads(pickle.dumps(again(model, tmp_path)))
    assert_same(model.predict(rows), loaded.predict(rows))
    assert loaded.dual_coef_.flags.writeable


def test_a_search_without_refit(tmp_path):
    model = UniSVMClassifierCV(Cs=[1.0], gammas=[0.1], refit=False, rank=9, random_state=0).fit(X, TARGETS["labels"])
    loaded = again(model, tmp_path)
    assert_same(model.cv_results_, loaded.cv_results_)
    with pytest.raises(AttributeError, match="refit=False"):
        loaded.predict(X)


def test_an_adaptive_search(tmp_path):
    model = UniSVMClassifierCV(Cs=5, gammas=5, rank=9, random_state=0).fit(X, TARGETS["two classes"])
    assert np.isnan(model.cv_results_["mean_test_score"]).any()
    assert_same(model, again(model, tmp_path))


def test_columns_are_selected_by_a_loaded_model(tmp_path):
    model = SparseUniSVMClassifier(random_state=0, n_alphas=4).fit(X, TARGETS["two classes"])
    loaded = again(model, tmp_path)
    assert_same(model.transform(X), loaded.transform(X))


def test_rows_in_a_libsvm_file_mean_the_same_columns(tmp_path):
    (tmp_path / "rows.svm").write_text("".join(f"{i % 2} 1:{i % 2 + i / 50} 3:{i / 9}\n" for i in range(40)))
    model = UniSVMRegressor(random_state=0, rank=9).fit(tmp_path / "rows.svm")
    (tmp_path / "few.svm").write_text("0 1:1\n1 2:1\n")
    assert_same(model.predict(tmp_path / "few.svm"), again(model, tmp_path).predict(tmp_path / "few.svm"))


def test_a_file_is_not_larger_than_a_pickle_by_much(tmp_path):
    model = UniSVMClassifier(random_state=0, rank=90).fit(np.random.RandomState(0).randn(200, 200), np.arange(200) % 2)
    unisvm.save(model, tmp_path / "model.unisvm")
    assert (tmp_path / "model.unisvm").stat().st_size < len(pickle.dumps(model)) + 10_000


@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(strategy="median"),
        SimpleImputer(strategy="most_frequent", keep_empty_features=True),
        SimpleImputer(strategy="constant", fill_value=3.0),
        SimpleImputer(missing_values=-1.0),
    ],
    ids=lambda imputer: imputer.strategy,
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_imputers(tmp_path, imputer, dtype):
    rows = X.astype(dtype)
    if imputer.missing_values == -1:
        rows[::5, 0] = -1
    else:
        rows[::5, 0] = rows[:, 1] = np.nan
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Skipping features without any observed values")
        model = make_pipeline(clone(imputer), StandardScaler(), plain("target")).fit(rows, WAVE)
        loaded = again(model, tmp_path)
        assert_same(model, loaded)
        assert_same(model.predict(rows), loaded.predict(rows))
