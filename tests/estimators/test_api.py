"""The two estimators from outside: signatures, fitted attributes, and parameters and arrays that `fit` leaves alone."""

import copy
import inspect
from numbers import Integral

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel

from unisvm import UniSVMClassifier, UniSVMRegressor, losses, solvers

SHARED_FIRST = {
    "loss_params": None,
    "C": "auto",
    "kernel": "rbf",
    "gamma": "scale",
    "degree": 3,
    "coef0": 0.0,
    "kernel_params": None,
    "scale": None,
    "rank": 1000,
    "rank_tol": 1e-3,
    "landmarks": "rpcholesky",
    "indefinite": "flip",
    "fit_intercept": True,
}
SHARED_LAST = {
    "cells": None,
    "partitions": 1,
    "relevance": None,
    "solver": "lbfgs",
    "tol": 1e-4,
    "max_iter": 1000,
    "warm_start": False,
    "memory_limit": None,
    "scratch_dir": None,
    "checkpoint": None,
    "n_jobs": None,
    "verbose": 0,
    "random_state": None,
}
FOR_CLASSES = {"class_weight": None, "multi_class": "auto"}
DEFAULTS = {
    UniSVMClassifier: {"loss": "feng", **SHARED_FIRST, **FOR_CLASSES, **SHARED_LAST},
    UniSVMRegressor: {"loss": "huber", **SHARED_FIRST, **SHARED_LAST},
}

X, blobs = make_blobs(120, n_features=3, centers=3, cluster_std=3.0, random_state=0)
WAVE = np.sin(X[:, 0]) + 0.1 * X[:, 1]

# estimator, target, number of columns, shape of a row of predictions
CASES = {
    "binary": (UniSVMClassifier, blobs == 1, 1, ()),
    "multiclass": (UniSVMClassifier, blobs, 3, ()),
    "multilabel": (UniSVMClassifier, np.stack([blobs == 0, X[:, 0] > 0], axis=1).astype(int), 2, (2,)),
    "multilabel-sparse": (UniSVMClassifier, sparse.csr_array(np.eye(3, dtype=int)[blobs]), 3, (3,)),
    "one-target": (UniSVMRegressor, WAVE, 1, ()),
    "one-column": (UniSVMRegressor, WAVE[:, None], 1, (1,)),
    "two-targets": (UniSVMRegressor, np.stack([WAVE, -3 * X[:, 1]], axis=1), 2, (2,)),
}


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request):
    return request.param


@pytest.fixture(params=["lbfgs", "dca"])
def fitted(case, request):
    cls, y, n_columns, _ = case
    model = cls(rank=40, random_state=0, solver=request.param)
    if cls is UniSVMClassifier:
        model.set_params(multi_class="ovr")
    return model.fit(X, y), n_columns


@pytest.mark.parametrize("cls", DEFAULTS)
def test_constructor_signature(cls):
    parameters = inspect.signature(cls).parameters
    assert set(parameters) == set(DEFAULTS[cls])
    # only the loss may be given by its place, so that the order of the others means nothing
    assert next(iter(parameters)) == "loss"
    kinds = [parameter.kind for parameter in parameters.values()]
    assert kinds[0] is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert set(kinds[1:]) == {inspect.Parameter.KEYWORD_ONLY}
    for name, default in DEFAULTS[cls].items():
        actual = parameters[name].default
        assert (type(actual), actual) == (type(default), default), name


@pytest.mark.parametrize("cls", DEFAULTS)
def test_constructor_stores_parameters_and_does_nothing_else(cls):
    parameters = {name: object() for name in DEFAULTS[cls]}
    assert vars(cls(**parameters)) == parameters


@pytest.mark.parametrize("cls", DEFAULTS)
def test_fit_signature_and_return(cls):
    parameters = inspect.signature(cls.fit).parameters
    assert list(parameters) == ["self", "X", "y", "sample_weight"]
    assert parameters["sample_weight"].default is None
    model = cls()
    assert model.fit(X, blobs) is model


def test_coefficients_and_landmarks(fitted):
    model, n_columns = fitted
    assert isinstance(model.rank_, int)
    assert 1 <= model.rank_ <= 40
    assert model.dual_coef_.shape == (n_columns, model.rank_)
    assert model.intercept_.shape == (n_columns,)
    assert model.landmarks_.shape == (model.rank_,)
    assert np.issubdtype(model.landmarks_.dtype, np.integer)
    assert len(set(model.landmarks_.tolist())) == model.rank_
    np.testing.assert_array_equal(model.landmark_vectors_, X[model.landmarks_])
    assert isinstance(model.trace_error_, float)
    assert 0 < model.trace_error_ < 1
    assert model.n_features_in_ == 3
    assert not hasattr(model, "feature_names_in_")


def test_dual_coefficients_give_the_function(fitted):
    model, _ = fitted
    gamma = 1 / (3 * X.var())
    distances = ((X[:, None] - model.landmark_vectors_) ** 2).sum(axis=2)
    by_hand = np.exp(-gamma * distances) @ model.dual_coef_.T + model.intercept_
    decide = model.decision_function if isinstance(model, UniSVMClassifier) else model.predict
    np.testing.assert_allclose(decide(X), by_hand.reshape(decide(X).shape), rtol=1e-9, atol=1e-9)


def test_certificate(fitted):
    model, n_columns = fitted
    for name in ("objective_", "stationarity_", "n_sweeps_"):
        value = getattr(model, name)
        assert np.shape(value) == (() if n_columns == 1 else (n_columns,)), name
    if n_columns == 1:
        assert isinstance(model.objective_, float)
        assert isinstance(model.stationarity_, float)
        assert isinstance(model.n_sweeps_, Integral)
    assert np.issubdtype(np.asarray(model.n_sweeps_).dtype, np.integer)
    assert np.all(model.objective_ > 0)
    assert np.all((model.stationarity_ >= 0) & (model.stationarity_ <= model.tol))
    # the column that ran longest was swept in every iteration
    assert isinstance(model.n_iter_, int)
    assert np.max(model.n_sweeps_) >= model.n_iter_ >= 1


def test_history(fitted):
    model, n_columns = fitted
    assert set(model.history_) == {"objective", "stationarity", "seconds", "n_sweeps"}
    for entries in model.history_.values():
        assert isinstance(entries, list)
        assert len(entries) == model.n_iter_
    objective = np.array(model.history_["objective"])
    assert objective.shape == ((model.n_iter_,) if n_columns == 1 else (model.n_iter_, n_columns))
    assert np.array(model.history_["stationarity"]).shape == objective.shape
    np.testing.assert_array_equal(objective[-1], model.objective_)
    np.testing.assert_array_equal(model.history_["stationarity"][-1], model.stationarity_)
    # rounding alone may lift it
    assert (np.diff(objective, axis=0) <= 1e-12 * objective[:-1]).all()
    assert (np.diff(model.history_["seconds"]) >= 0).all()
    assert (np.diff(model.history_["n_sweeps"]) >= 1).all()
    assert model.history_["n_sweeps"][-1] <= np.max(model.n_sweeps_)


@pytest.mark.parametrize("loss", ["feng", "hinge", "logistic", "squared_hinge", "saturating"])
@pytest.mark.parametrize("n_rows", [200, 2000])
def test_every_entry_of_the_history_is_another_state(loss, n_rows):
    # the first steps of some of these are too long, and are tried again
    rows, labels = make_moons(n_rows, noise=0.2, random_state=0)
    model = UniSVMClassifier(loss, rank=100, tol=1e-3, random_state=0).fit(rows, labels)
    assert (np.diff(model.history_["objective"]) < 0).all()
    assert model.history_["n_sweeps"][-1] - model.history_["n_sweeps"][0] >= model.n_iter_ - 1
    for k in (1, 2, 5):
        with pytest.warns(ConvergenceWarning):
            stopped = UniSVMClassifier(loss, rank=100, tol=1e-3, random_state=0, max_iter=k).fit(rows, labels)
        assert stopped.n_iter_ == k
        assert stopped.objective_ == model.history_["objective"][k - 1]


@pytest.mark.parametrize("loss", ["saturating", "truncated_squared_hinge", "hinge"])
@pytest.mark.parametrize("solver", ["lbfgs", "dca"])
def test_objective_never_rises_on_the_way_to_a_sharp_optimum(loss, solver):
    model = UniSVMClassifier(loss, C=10.0, solver=solver, tol=1e-6, max_iter=5000).fit(X, blobs)
    objective = np.array(model.history_["objective"])
    assert len(objective) > 5
    assert (np.diff(objective, axis=0) <= 1e-12 * objective[:-1]).all()


def test_classes():
    assert UniSVMClassifier().fit(X, blobs == 1).classes_.tolist() == [False, True]
    assert UniSVMClassifier().fit(X, blobs).classes_.tolist() == [0, 1, 2]
    multilabel = UniSVMClassifier().fit(X, CASES["multilabel"][1])
    assert multilabel.classes_.tolist() == [0, 1]
    assert not hasattr(UniSVMRegressor().fit(X, WAVE), "classes_")


def test_shapes_of_predictions(case):
    cls, y, n_columns, row = case
    model = cls(rank=40, random_state=0).fit(X, y)
    new = X[:7] + 0.5
    assert model.predict(new).shape == (7, *row)
    assert model.trust(X, y).shape == (120,)
    if cls is UniSVMClassifier:
        assert model.decision_function(new).shape == ((7,) if n_columns == 1 else (7, n_columns))


def test_binary_predicts_the_sign():
    model = UniSVMClassifier().fit(X, np.where(blobs == 1, "yes", "no"))
    decision = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), np.where(decision > 0, "yes", "no"))
    # both signs occur, and the second class is the positive one
    assert model.score(X, np.where(blobs == 1, "yes", "no")) > 0.8


def test_multiclass_predicts_the_largest():
    labels = np.array(["a", "b", "c"])[blobs]
    model = UniSVMClassifier().fit(X, labels)
    decision = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[decision.argmax(axis=1)])
    assert model.score(X, labels) > 0.7


def test_multilabel_predicts_each_sign():
    y = CASES["multilabel"][1]
    model = UniSVMClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    assert (model.predict(X) == y).mean() > 0.8


def test_several_columns_are_separate_fits():
    together = UniSVMClassifier(C=1.0, multi_class="ovr", tol=1e-10).fit(X, blobs)
    for k in range(3):
        alone = UniSVMClassifier(C=1.0, tol=1e-10).fit(X, blobs == k)
        np.testing.assert_allclose(together.decision_function(X)[:, k], alone.decision_function(X), atol=1e-4)
        assert together.objective_[k] == pytest.approx(alone.objective_, rel=1e-6)


def test_two_targets_are_separate_fits():
    Y = CASES["two-targets"][1]
    together = UniSVMRegressor(C=1.0, tol=1e-10).fit(X, Y)
    for k in range(2):
        alone = UniSVMRegressor(C=1.0, tol=1e-10).fit(X, Y[:, k])
        np.testing.assert_allclose(together.predict(X)[:, k], alone.predict(X), atol=1e-4)


def _power(A, B, degree):
    return polynomial_kernel(A, B, degree=degree)


@pytest.mark.parametrize("cls", DEFAULTS)
@pytest.mark.parametrize(
    "parameters",
    [
        {"landmarks": np.arange(0, 120, 4)},
        {"landmarks": X[::4].copy()},
        {"kernel": _power, "kernel_params": {"degree": 2}},
        {"loss": losses.TruncatedLeastSquares(a=3.0), "solver": solvers.DCA(form="woodbury")},
        {"random_state": 3, "rank": 20, "memory_limit": "1GB", "n_jobs": 2, "warm_start": True},
        {"rank": None, "gamma": "auto", "random_state": None},
    ],
    ids=lambda parameters: "-".join(parameters),
)
def test_fit_keeps_constructor_parameters(cls, parameters):
    model = cls(**parameters)
    before = model.get_params(deep=False)
    values = {name: repr(value) for name, value in model.get_params(deep=True).items()}
    contents = copy.deepcopy({name: before[name] for name in ("landmarks", "kernel_params")})
    model.fit(X, blobs)
    after = model.get_params(deep=False)
    for name, value in before.items():
        assert after[name] is value, name
    assert {name: repr(value) for name, value in model.get_params(deep=True).items()} == values
    for name, content in contents.items():
        np.testing.assert_array_equal(after[name], content)


@pytest.mark.parametrize("class_weight", [{0: 1.0, 1: 2.0, 2: 3.0}, "balanced"], ids=str)
def test_fit_keeps_class_weight(class_weight):
    before = copy.deepcopy(class_weight)
    model = UniSVMClassifier(class_weight=class_weight).fit(X, blobs)
    assert model.class_weight is class_weight
    assert class_weight == before


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fit_does_not_write_to_its_arguments(case, kind, dtype):
    cls, y, _, _ = case
    rows = X.astype(dtype)
    rows = sparse.csr_array(rows) if kind == "csr" else rows
    target = y.copy()
    # a zero, so that rows are left out as well
    weights = np.linspace(0.0, 2.0, 120)
    points = X[::6].astype(dtype)
    arrays = [weights, points]
    for container in (rows, target):
        arrays += [container.data, container.indices, container.indptr] if sparse.issparse(container) else [container]
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=False)
    model = cls(landmarks=points).fit(rows, target, sample_weight=weights)
    model.predict(rows)
    model.trust(rows, target)
    for array, original in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, original)
