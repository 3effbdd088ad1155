"""What cannot be saved, what is left out, and what is no model file: errors that say what to do."""

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unisvm
from model_files.saved_models import TARGETS, WAVE, X, assert_same, plain
from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, kernels, losses, model_files
from unisvm.model_files import NotSaved

FLAG = TARGETS["two classes"]


def similarity(rows, points):
    return np.exp(-np.abs(rows[:, :1] - points[:, 0]))


class Halved(kernels.RBF):
    pass


class Evenly:
    def choose(self, rows, kernel, rank, tol, rng):
        return np.arange(0, rows.n_rows, 9)


class Subclass(UniSVMClassifier):
    pass


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.unisvm"


# ------------------------------------------------------------------ models


def test_a_model_that_is_not_fitted(path):
    for model in (UniSVMClassifier(), UniSVMClassifierCV(), make_pipeline(StandardScaler(), UniSVMRegressor())):
        with pytest.raises(NotFittedError, match="is not fitted: fit it before"):
            unisvm.save(model, path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (UniSVMClassifier, "must be a fitted estimator, got the class UniSVMClassifier"),
        (LogisticRegression(), "LogisticRegression objects cannot be saved. Model files hold fitted .*skops"),
        (losses.Feng(), "Feng objects cannot be saved"),
        (StandardScaler(), "StandardScaler objects cannot be saved"),
        (Subclass(), "Subclass objects cannot be saved"),
        ({"a": 1}, "dict objects cannot be saved"),
    ],
)
def test_other_objects(path, model, said):
    with pytest.raises(TypeError, match=said):
        unisvm.save(model, path)
    assert not path.exists()


def test_a_search_of_scikit_learn(path):
    search = GridSearchCV(plain("two classes"), {"C": [1.0]}, cv=2).fit(X, FLAG)
    with pytest.raises(TypeError, match="Save its best_estimator_"):
        unisvm.save(search, path)
    unisvm.save(search.best_estimator_, path)


@pytest.mark.parametrize("kernel", [similarity, Halved(gamma=0.5), kernels.Function(similarity)])
def test_kernels_that_are_code(path, kernel):
    model = UniSVMClassifier(kernel=kernel, rank=9, random_state=0).fit(X, FLAG)
    with pytest.raises(TypeError, match=r"its kernel, (similarity|Halved), is code of yours.*skops or joblib"):
        unisvm.save(model, path)
    assert not path.exists()


def test_a_scaled_kernel_that_is_code(path):
    kernel = kernels.Scaled(Halved(gamma=0.5), 0.0, 2.0)
    model = UniSVMClassifier(kernel=kernel, rank=9, random_state=0).fit(X, FLAG)
    with pytest.raises(TypeError, match=r"kernel_.kernel: Halved is no type of object"):
        unisvm.save(model, path)


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([PCA(2)], "its step 'pca' is a PCA. Model files hold .*StandardScaler"),
        ([SimpleImputer(add_indicator=True)], "add_indicator=True has no form"),
        ([SimpleImputer(strategy=np.nanmax)], r"steps\[0\]\[1\].strategy: nanmax is no type of object"),
    ],
)
def test_other_steps_of_a_pipeline(path, steps, said):
    model = make_pipeline(*steps, plain("two classes")).fit(X, FLAG)
    with pytest.raises(TypeError, match=said):
        unisvm.save(model, path)


def test_a_pipeline_with_another_estimator(path):
    with pytest.raises(TypeError, match="its step 'logisticregression' is a LogisticRegression"):
        unisvm.save(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, FLAG), path)


def test_a_pipeline_without_an_estimator(path):
    with pytest.raises(ValueError, match=r"could not be loaded again: Pipeline: steps must be .* a model at its end"):
        unisvm.save(make_pipeline(StandardScaler()).fit(X), path)


def test_attributes_that_the_user_added(path):
    model = plain("two classes").fit(X, FLAG)
    model.remark = "good"
    with pytest.raises(ValueError, match="there is no field remark"):
        unisvm.save(model, path)


def test_attributes_that_the_user_spoiled(path):
    model = plain("two classes").fit(X, FLAG)
    model.dual_coef_ = model.dual_coef_[:, 1:]
    with pytest.raises(ValueError, match="landmark_vectors_ must be of 11 rows, as dual_coef_ has"):
        unisvm.save(model, path)
    model.dual_coef_ = np.full((1, 12), np.nan)
    with pytest.raises(ValueError, match=r"dual_coef_ must be an array of kind 'f'.*finite"):
        unisvm.save(model, path)


# ------------------------------------------------------------------ code that predictions do not need


def test_a_solver_and_a_landmark_rule_are_named_and_not_saved(path):
    class Solver:
        def begin(self, objective, majoriser, start):
            return unisvm.solvers.LBFGS().begin(objective, majoriser, start)

    model = UniSVMClassifier(solver=Solver(), landmarks=Evenly(), C=1.0).fit(X, FLAG)
    unisvm.save(model, path)
    loaded = unisvm.load(path)
    assert_same(model.predict(X), loaded.predict(X))
    assert loaded.landmarks == NotSaved("Evenly")
    assert set(model_files.read_summary(path)["not_saved"]) == {"solver", "landmarks"}
    with pytest.raises(ValueError, match=r"solver must be 'lbfgs'.*NotSaved\('.*Solver'\)"):
        loaded.fit(X, FLAG)
    loaded.set_params(solver="lbfgs", landmarks="uniform").fit(X, FLAG)


def test_a_loss_of_functions(path):
    loss = losses.custom(lambda u: u**2 / 2, lambda u: u, task="both")
    model = UniSVMRegressor(loss, random_state=0, rank=9).fit(X, WAVE)
    unisvm.save(model, path)
    loaded = unisvm.load(path)
    assert_same(model.predict(X), loaded.predict(X))
    with pytest.raises(TypeError, match="loss must be a name"):
        loaded.trust(X, WAVE)


def test_a_scorer_of_the_user(path):
    def worst(estimator, rows, y):
        return -np.abs(estimator.predict(rows) - y).max()

    model = UniSVMClassifierCV(
        losses=["hinge", losses.custom(lambda u: u**2, lambda u: 2 * u, task="classification")],
        Cs=[1.0],
        gammas=[0.1],
        scoring=worst,
        rank=9,
        random_state=0,
    )
    unisvm.save(model.fit(X, FLAG), path)
    loaded = unisvm.load(path)
    assert_same(model.predict_proba(X), loaded.predict_proba(X))
    assert repr(loaded.cv_results_["param_loss"][1]) == "NotSaved('CustomLoss')"
    with pytest.raises(ValueError, match=r"worst was code of the user's, .* sklearn.metrics"):
        loaded.score(X, FLAG)


def test_a_search_among_kernels_that_are_code(path):
    model = UniSVMClassifierCV(["hinge"], Cs=[1.0], gammas=[0.1], kernel=[similarity, "rbf"], rank=9, random_state=0)
    y = TARGETS["three classes"]
    model.fit(X, y)
    assert model.kernel_ == "rbf"
    unisvm.save(model, path)
    loaded = unisvm.load(path)
    assert_same(model.predict(X), loaded.predict(X))
    assert loaded.kernel == [NotSaved("similarity"), "rbf"]


def test_folders_of_this_machine_are_left_out(path, tmp_path):
    model = plain("two classes", checkpoint=tmp_path / "stages", scratch_dir=str(tmp_path)).fit(X, FLAG)
    unisvm.save(model, path)
    assert str(tmp_path).encode() not in path.read_bytes()
    assert unisvm.load(path).checkpoint is None


def test_a_table_as_landmarks(path):
    model = UniSVMClassifier(landmarks=pd.DataFrame(X[::9]), random_state=0).fit(X, FLAG)
    unisvm.save(model, path)
    assert unisvm.load(path).landmarks == NotSaved("DataFrame")


# ------------------------------------------------------------------ extra and the summary


def test_extra_comes_back_with_the_summary(path):
    model = plain("three classes").fit(X, TARGETS["three classes"])
    extra = {"columns": ["a", "ü", None], "n": 3, "share": 0.1, "nested": {"": [True, []]}}
    unisvm.save(model, path, extra=extra)
    summary = model_files.read_summary(path)
    assert summary["extra"] == extra
    assert summary["classes"] == ["ant", "bee", "zebu"]
    assert summary["kernel"] == {"name": "RBF", "gamma": model.kernel_.gamma}
    assert (summary["rank"], summary["n_features"], summary["n_columns"]) == (12, 3, 3)
    assert summary["objective"] == model.objective_.tolist()
    assert (summary["task"], summary["loss"], summary["format"]) == ("classification", "feng", 1)
    assert summary["unisvm"] == unisvm.__version__


@pytest.mark.parametrize("extra", [[], {"a": np.nan}, {"a": {1, 2}}, {1: 2}, {"a": (1, 2)}, "text"])
def test_extra_that_is_no_json(path, extra):
    with pytest.raises(ValueError, match="extra must be a dict of JSON values"):
        unisvm.save(plain("two classes").fit(X, FLAG), path, extra=extra)
    assert not path.exists()


def test_a_class_of_ones_own():
    class Celsius:
        def __init__(self, degrees):
            self.degrees = degrees

    def to_fields(value):
        return {"degrees": value.degrees}

    model_files.register(Celsius, "tests.Celsius", to_fields, lambda fields: Celsius(fields.number("degrees", -273.15)))
    with pytest.raises(ValueError, match=r"tests.Celsius.* is registered already"):
        model_files.register(Celsius, "tests.Celsius", to_fields, Celsius)


# ------------------------------------------------------------------ paths and other files


def test_paths_that_cannot_be_written_to(tmp_path):
    model = plain("two classes").fit(X, FLAG)
    with pytest.raises(FileNotFoundError, match=r"There is no folder .* make it first"):
        unisvm.save(model, tmp_path / "nowhere" / "model.unisvm")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        unisvm.save(model, tmp_path)
    for wrong in (None, "", 3, model):
        with pytest.raises(TypeError, match="path must be the path of a file"):
            unisvm.save(model, wrong)


def test_paths_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.unisvm"):
        unisvm.load(tmp_path / "nowhere.unisvm")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        unisvm.load(tmp_path)
    with pytest.raises(TypeError, match="path must be the path"):
        unisvm.load(None)


@pytest.mark.parametrize("read", [unisvm.load, model_files.read_summary])
def test_files_of_other_kinds(path, read):
    joblib.dump(plain("two classes").fit(X, FLAG), path)
    with pytest.raises(ValueError, match=r"model.unisvm' is no model file of unisvm. It may be of pickle, joblib"):
        read(path)
    path.write_bytes(b"unisvm checkpoint 1 " + b"0" * 64)
    with pytest.raises(ValueError, match="It is the checkpoint of a fit"):
        read(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"no model file of unisvm. unisvm.save writes"):
        read(path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="no model file"):
        read(path)


@pytest.mark.parametrize("read", [unisvm.load, model_files.read_summary])
def test_a_file_of_a_newer_format(path, read):
    unisvm.save(plain("two classes").fit(X, FLAG), path)
    path.write_bytes(path.read_bytes().replace(b"model 1 ", b"model 12 ", 1))
    with pytest.raises(ValueError, match=r"is of format 12, and unisvm .* reads format 1: upgrade unisvm"):
        read(path)


def test_callbacks_and_requests_of_scikit_learn_are_no_part_of_a_model(path):
    model = plain("two classes")
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True)
    callbacks = pytest.importorskip("sklearn.callback", exc_type=ImportError)
    model.set_callbacks(callbacks.ProgressBar())
    unisvm.save(model.fit(X, FLAG), path)
    assert_same(unisvm.load(path).predict(X), model.predict(X))
