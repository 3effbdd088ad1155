"""The estimators inside scikit-learn's tools, and on disk."""

import pickle

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs, make_moons
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.multiclass import OneVsOneClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from unisvm import FitWarning, UniSVMClassifier, UniSVMRegressor, kernels, losses, solvers

X, y = make_moons(120, noise=0.25, random_state=0)
X3, y3 = make_blobs(120, centers=3, cluster_std=1.2, random_state=0)
WAVE = np.sin(3 * X[:, 0]) + X[:, 1]

MODELS = {
    "binary": (UniSVMClassifier(random_state=0, rank=30), y),
    "strings": (UniSVMClassifier(random_state=0, rank=30), np.array(["no", "yes"])[y]),
    "multiclass": (UniSVMClassifier(losses.Feng(a=3.0), kernel=kernels.Laplacian(gamma=1.0)), y3),
    "multilabel": (UniSVMClassifier(landmarks=np.arange(0, 120, 5)), np.stack([y, y3 == 1], axis=1).astype(int)),
    "regression": (UniSVMRegressor("welsch", solver=solvers.DCA(form="woodbury")), WAVE),
    "two-targets": (UniSVMRegressor(landmarks=X[::5]), np.stack([WAVE, X[:, 0]], axis=1)),
}


@pytest.fixture(params=MODELS.values(), ids=MODELS.keys())
def model_and_target(request):
    model, target = request.param
    return clone(model), target


def test_clone(model_and_target):
    model, target = model_and_target
    model.fit(X, target)
    copy = clone(model)
    assert not hasattr(copy, "dual_coef_")
    assert repr(copy) == repr(model)
    np.testing.assert_array_equal(copy.fit(X, target).predict(X), model.predict(X))


def test_pickle(model_and_target):
    model, target = model_and_target
    model.fit(X, target)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    np.testing.assert_array_equal(copy.trust(X, target), model.trust(X, target))


def test_joblib(model_and_target, tmp_path):
    model, target = model_and_target
    model.fit(X, target)
    joblib.dump(model, tmp_path / "model.joblib")
    # mapped from the file, and so read-only
    for mode in (None, "r"):
        copy = joblib.load(tmp_path / "model.joblib", mmap_mode=mode)
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))


def test_unfitted_pickle_and_warm_start_after_loading():
    model = pickle.loads(pickle.dumps(UniSVMClassifier(C=3.0, warm_start=True))).fit(X, y)
    again = pickle.loads(pickle.dumps(model)).fit(X, y)
    assert again.n_iter_ <= 3 < model.n_iter_


def test_model_holds_landmarks_not_training_rows():
    rows = np.random.RandomState(0).randn(20_000, 20)
    model = UniSVMClassifier(kernel="linear", rank=20).fit(rows, rows[:, 0] > 0)
    assert len(pickle.dumps(model)) < rows.nbytes / 20


def test_html_repr(model_and_target):
    model, target = model_and_target
    assert type(model).__name__ in model._repr_html_()
    assert "<span>Not fitted</span>" in model._repr_html_()
    assert "<span>Fitted</span>" in model.fit(X, target)._repr_html_()
    assert "StandardScaler" in make_pipeline(StandardScaler(), model)._repr_html_()


# ------------------------------------------------------------------ searches and wrappers


def test_grid_search_over_everything():
    grid = {"C": [0.1, 10.0], "gamma": [0.1, "scale"], "loss__a": [0.5, 5.0]}
    model = UniSVMClassifier(losses.TruncatedSquaredHinge(a=2.0))
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    # the cap reached the fit, and the caller's loss was not touched
    assert search.best_estimator_.loss.a == search.best_params_["loss__a"]
    assert model.loss.a == 2.0
    by_hand = UniSVMClassifier(
        losses.TruncatedSquaredHinge(a=search.best_params_["loss__a"]),
        C=search.best_params_["C"],
        gamma=search.best_params_["gamma"],
    ).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), by_hand.predict(X))


def test_loss_parameter_changes_the_fit():
    model = UniSVMClassifier(losses.TruncatedSquaredHinge(a=2.0), tol=1e-8).fit(X, y)
    small = clone(model).set_params(loss__a=0.1).fit(X, y)
    assert small.objective_ < model.objective_
    with pytest.raises(ValueError, match="a must be a number"):
        clone(model).set_params(loss__a=-1.0).fit(X, y)


def test_kernel_parameter_in_a_grid():
    model = UniSVMRegressor(kernel=kernels.RBF())
    search = GridSearchCV(model, {"kernel__gamma": [1e-4, 1.0]}, cv=3).fit(X, WAVE)
    assert search.best_estimator_.kernel_.gamma == 1.0


def test_pipeline():
    far = X * [1e-3, 1e3] + [0.0, 1e4]
    pipeline = make_pipeline(StandardScaler(), UniSVMClassifier()).fit(far, y)
    by_hand = UniSVMClassifier().fit(StandardScaler().fit_transform(far), y)
    np.testing.assert_array_equal(pipeline.predict(far), by_hand.predict(StandardScaler().fit_transform(far)))
    with pytest.warns(FitWarning, match="The scales of the columns of X differ"):
        unscaled = UniSVMClassifier().fit(far, y)
    # without the scaler the small column cannot be seen
    assert pipeline.score(far, y) > unscaled.score(far, y) + 0.05


def test_calibration():
    model = CalibratedClassifierCV(UniSVMClassifier(), cv=3).fit(X, y)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert model.score(X, y) > 0.85
    decision = UniSVMClassifier().fit(X, y).decision_function(X)
    assert np.corrcoef(probability[:, 1], decision)[0, 1] > 0.8


def test_stacking():
    classifiers = [("robust", UniSVMClassifier()), ("hinge", UniSVMClassifier("hinge", kernel="linear"))]
    model = StackingClassifier(classifiers, LogisticRegression(), cv=3).fit(X, y)
    assert model.transform(X).shape == (120, 2)
    assert model.score(X, y) > 0.85
    regressors = [("robust", UniSVMRegressor("welsch")), ("median", UniSVMRegressor("absolute"))]
    assert StackingRegressor(regressors, Ridge(), cv=3).fit(X, WAVE).score(X, WAVE) > 0.8


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_cross_val_predict(method):
    out_of_fold = cross_val_predict(UniSVMClassifier(), X3, y3, cv=4, method=method)
    labels = out_of_fold if method == "predict" else out_of_fold.argmax(axis=1)
    assert (labels == y3).mean() > 0.7


def test_one_versus_one():
    model = OneVsOneClassifier(UniSVMClassifier()).fit(X3, y3)
    assert len(model.estimators_) == 3
    assert model.score(X3, y3) > 0.75


def test_multi_output_classifier():
    Y = np.stack([np.array(["no", "yes"])[y], np.array(["a", "b", "c"])[y3]], axis=1)
    rows = np.hstack([X, X3])
    model = MultiOutputClassifier(UniSVMClassifier()).fit(rows, Y)
    for column in range(2):
        alone = UniSVMClassifier().fit(rows, Y[:, column])
        np.testing.assert_array_equal(model.predict(rows)[:, column], alone.predict(rows))


# ------------------------------------------------------------------ metadata routing


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


WEIGHTS = np.where(np.arange(120) % 3 == 0, 5.0, 0.2)


def _weighted(estimator):
    return estimator.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(("cls", "target"), [(UniSVMClassifier, y), (UniSVMRegressor, WAVE)])
def test_weights_through_a_pipeline(cls, target):
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipeline = Pipeline([("scale", scaler), ("svm", _weighted(cls()))]).fit(X, target, sample_weight=WEIGHTS)
    Z = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(pipeline.predict(X), cls().fit(Z, target, sample_weight=WEIGHTS).predict(Z))
    unweighted = cls().fit(Z, target)
    assert not np.array_equal(pipeline["svm"].dual_coef_, unweighted.dual_coef_)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize(("cls", "target"), [(UniSVMClassifier, y), (UniSVMRegressor, WAVE)])
def test_weights_through_a_search(cls, target):
    grid = {"C": [0.1, 10.0]}
    search = GridSearchCV(_weighted(cls()), grid, cv=3).fit(X, target, sample_weight=WEIGHTS)
    by_hand = cls(**search.best_params_).fit(X, target, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(search.best_estimator_.dual_coef_, by_hand.dual_coef_)
    ignored = cls().set_fit_request(sample_weight=False).set_score_request(sample_weight=False)
    assert "sample_weight" not in ignored.get_metadata_routing().consumes("fit", ["sample_weight"])


@pytest.mark.usefixtures("routing")
def test_weights_that_nobody_asked_for():
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        GridSearchCV(UniSVMClassifier(), {"C": [1.0]}, cv=3).fit(X, y, sample_weight=WEIGHTS)
