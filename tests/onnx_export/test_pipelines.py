"""Pipelines and other models around unisvm's, as skl2onnx and `to_onnx` convert them."""

import numpy as np
import onnx
import onnxruntime
import pytest
import skl2onnx
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier, StackingRegressor, VotingRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler

import unisvm
from onnx_export.models import check, rows
from unisvm import (
    UniSVMClassifier,
    UniSVMClassifierCV,
    UniSVMRegressor,
    UniSVMRegressorCV,
    baselines,
    onnx_export,
)
from unisvm.feature_selection import SparseUniSVMClassifier, SparseUniSVMRegressor
from unisvm.tables import TableEncoder

pytestmark = pytest.mark.filterwarnings("ignore::unisvm.FitWarning", "ignore::sklearn.exceptions.ConvergenceWarning")

single_and_double = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["single", "double"])
SEARCH = {"Cs": [1.0], "gammas": [0.2], "cv": 3, "rank": 40, "random_state": 0}
PLAIN = {"C": 1.0, "rank": 40, "random_state": 0}
ESTIMATORS = {
    "classifier": UniSVMClassifier(**PLAIN),
    "regressor": UniSVMRegressor(**PLAIN),
    "search over classifiers": UniSVMClassifierCV(["feng"], **SEARCH),
    "search over regressors": UniSVMRegressorCV(["huber"], **SEARCH),
    "classifier that selects": SparseUniSVMClassifier(alpha=0.01, width=0.01),
    "regressor that selects": SparseUniSVMRegressor(alpha=0.01, width=0.01),
}


@pytest.fixture(autouse=True)
def registered():
    onnx_export.register()


@single_and_double
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_pipeline_by_skl2onnx(run, estimator, dtype):
    X, y = rows(dtype)
    model = make_pipeline(StandardScaler(), ESTIMATORS[estimator]).fit(X[:300], y[:300])
    onnx_model = skl2onnx.to_onnx(model, X)
    onnx.checker.check_model(onnx_model, full_check=True)
    outputs = run(onnx_model, X[300:])
    # the scaled rows of a pipeline in single precision are in single precision themselves
    check(outputs, model, X[300:], 1e-5 if dtype is np.float32 else 1e-10)


def test_pipeline_by_convert_sklearn(run):
    X, y = rows()
    model = make_pipeline(MinMaxScaler(), UniSVMClassifier(**PLAIN)).fit(X, y)
    types = [("rows", skl2onnx.common.data_types.DoubleTensorType([None, 6]))]
    check(run(skl2onnx.convert_sklearn(model, initial_types=types), X), model, X)


def test_rows_of_integers(run):
    X, y = rows()
    X = np.round(4 * X).astype(np.int64)
    model = UniSVMClassifier(**PLAIN).fit(X, y)
    outputs = run(skl2onnx.to_onnx(model, X), X)
    np.testing.assert_array_equal(outputs["label"], model.predict(X))
    np.testing.assert_allclose(outputs["scores"], model.decision_function(X), rtol=1e-5, atol=1e-5)


def test_options_of_skl2onnx(run):
    X, y = rows()
    model = ESTIMATORS["search over classifiers"].fit(X, y)
    options = {id(model): {"raw_scores": True, "arithmetic": "float32", "zipmap": False}}
    onnx_model = skl2onnx.to_onnx(model, X, options=options)
    scores = run(onnx_model, X)["scores"]
    assert 0 < np.abs(scores - model.decision_function(X)).max() < 1e-3
    with pytest.raises(ValueError, match="columns"):
        skl2onnx.to_onnx(model, X, options={id(model): {"zipmap": "columns"}})


# ------------------------------------------------------------------ by to_onnx


@single_and_double
@pytest.mark.parametrize(
    "scaler", [StandardScaler(), RobustScaler(), MinMaxScaler()], ids=lambda each: type(each).__name__
)
def test_pipeline_of_columns_far_from_the_origin(run, scaler, dtype):
    # scalers of scikit-learn round means to single precision, and so do their graphs
    X, y = rows()
    X = np.round(X * 1024) / 1024 + 2.0**13
    model = make_pipeline(scaler, UniSVMClassifier(**PLAIN)).fit(X[:300].astype(dtype), y[:300])
    new = X[300:].astype(dtype)
    outputs = run(unisvm.to_onnx(model), new)
    np.testing.assert_allclose(outputs["scores"], model.decision_function(new), rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(outputs["label"], model.predict(new))


def test_searches_of_scikit_learn(run):
    X, y = rows()
    pipeline = make_pipeline(StandardScaler(), UniSVMClassifier(**PLAIN))
    model = GridSearchCV(pipeline, {"unisvmclassifier__gamma": [0.01, 0.1]}, cv=3).fit(X[:300], y[:300])
    for onnx_model in (unisvm.to_onnx(model), skl2onnx.to_onnx(model, X)):
        check(run(onnx_model, X), model, X)


def test_transformers_of_columns(run):
    X, y = rows()
    first = ColumnTransformer([("some", StandardScaler(), [0, 2]), ("others", "passthrough", [1, 4])])
    model = make_pipeline(first, UniSVMRegressor(**PLAIN)).fit(X, y)
    check(run(unisvm.to_onnx(model), X), model, X)


def test_steps_that_skl2onnx_converts_in_single_precision_only(run):
    X, y = rows()
    model = make_pipeline(PolynomialFeatures(2), UniSVMRegressor(**PLAIN)).fit(X, y)
    with pytest.raises(ValueError, match=r"skl2onnx made a graph of this model that is not valid.*try dtype='float32'"):
        unisvm.to_onnx(model)
    single = X.astype(np.float32)
    check(run(unisvm.to_onnx(model, dtype="float32"), single), model, single)


def test_columns_that_a_model_selected(run):
    X, y = rows()
    selected = SparseUniSVMClassifier(alpha=0.01, width=0.01).fit(X, y).get_support(indices=True).tolist()
    assert 0 < len(selected) < 6
    first = ColumnTransformer([("selected", "passthrough", selected)])
    model = make_pipeline(first, UniSVMClassifier(**PLAIN)).fit(X, y)
    check(run(unisvm.to_onnx(model), X), model, X)


def test_pipeline_that_ends_in_a_comparator(run):
    X, y = rows()
    model = make_pipeline(StandardScaler(), baselines.L2SVM()).fit(X[:200], y[:200] > 0)
    check(run(unisvm.to_onnx(model), X), model, X)


# ------------------------------------------------------------------ models of models


# of two classes, skl2onnx compares the decisions of OneVsRestClassifier with 0.5, also those of LinearSVC
@pytest.mark.parametrize(
    ("model", "n_classes"),
    [
        (StackingClassifier([("a", UniSVMClassifierCV(["feng"], **SEARCH))], cv=2), 2),
        (StackingClassifier([("a", UniSVMClassifierCV(["feng"], **SEARCH))], cv=2), 3),
        (CalibratedClassifierCV(UniSVMClassifier(**PLAIN), cv=3), 2),
        (CalibratedClassifierCV(UniSVMClassifier(**PLAIN), cv=3), 3),
        (OneVsRestClassifier(UniSVMClassifier(**PLAIN)), 3),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else type(value).__name__,
)
def test_classifiers_of_classifiers(run, model, n_classes):
    X, y = rows()
    y = np.minimum(y, n_classes - 1)
    model.fit(X[:300], y[:300])
    label, *others = run(skl2onnx.to_onnx(model, X, options={id(model): {"zipmap": False}}), X).values()
    np.testing.assert_array_equal(label, model.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(others[0], model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("ensemble", [StackingRegressor, VotingRegressor])
def test_regressors_of_regressors(run, ensemble):
    X, y = rows()
    model = ensemble([("a", UniSVMRegressor(**PLAIN)), ("b", SparseUniSVMRegressor(alpha=0.01, width=0.01))])
    model.fit(X[:300], y[:300])
    np.testing.assert_allclose(run(skl2onnx.to_onnx(model, X), X)["variable"][:, 0], model.predict(X), atol=1e-6)


def test_pipelines_of_tables_are_refused_with_advice():
    table = {"a": [1.0, 2.0, 3.0, 4.0] * 5, "b": list("xxyy") * 5}
    pipeline = make_pipeline(TableEncoder(), UniSVMClassifier(C=1.0, random_state=0)).fit(table, [0, 0, 1, 1] * 5)
    with pytest.raises(ValueError, match=r"to_onnx\(pipeline\[-1\], path\)"):
        unisvm.to_onnx(pipeline)
    onnx_model = unisvm.to_onnx(pipeline[-1])
    session = onnxruntime.InferenceSession(onnx_model.SerializeToString())
    rows = pipeline[0].transform(table)
    np.testing.assert_array_equal(session.run(["label"], {"X": rows})[0], pipeline.predict(table))
