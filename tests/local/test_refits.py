"""Fits after fits: warm starts, parameters that change, fits that fail, copies in memory and in files."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError

import unisvm
from local.cell_cases import CLASSES, FLAG, LETTERS, NEW, WAVE, X, assert_same_model, classifier, regressor

pytestmark = pytest.mark.filterwarnings("ignore::unisvm.FitWarning")


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("y", [FLAG, LETTERS, WAVE], ids=["two", "many", "reals"])
def test_warm_starts_keep_the_cells_and_take_fewer_sweeps(y, partitions):
    make = regressor if y is WAVE else classifier
    settings = {"partitions": partitions, "tol": 1e-6, "loss": "huber" if y is WAVE else "logistic"}
    model = make(warm_start=True, **settings).fit(X, y)
    before, trees, predicted = model.n_sweeps_.sum(), list(model.partitions_), model.predict(NEW)
    fitted = model.predict(X)
    model.fit(X, y)
    assert all(tree is kept for tree, kept in zip(model.partitions_, trees, strict=True))
    assert model.n_sweeps_.sum() < before / 2
    if y is WAVE:
        np.testing.assert_allclose(model.predict(X), fitted, atol=0.05)
    else:
        assert np.mean(model.predict(NEW) == predicted) > 0.98


@pytest.mark.parametrize("change", [{"cells": 50}, {"partitions": 2}])
def test_warm_starts_of_other_cells_begin_anew(change):
    model = classifier(warm_start=True).fit(X, FLAG).set_params(**change).fit(X, FLAG)
    assert_same_model(model, classifier(**change).fit(X, FLAG))


@pytest.mark.parametrize("kept", ["some", "columns", "classes"])
def test_warm_starts_with_other_data(kept):
    model = classifier(warm_start=True).fit(X, CLASSES)
    if kept == "some":
        # of one cell there are no rows left, so that the cells are others
        rows = model.partitions_[0].cells_of(X) > 0
        model.fit(X[rows], CLASSES[rows])
        assert np.bincount(model.partitions_[0].cells_of(X[rows])).min() > 0
        assert_same_model(model, classifier().fit(X[rows], CLASSES[rows]))
    elif kept == "columns":
        model.fit(X[:, :2], CLASSES)
        assert model.partitions_[0].directions.shape[1] == 2
    else:
        model.fit(X, LETTERS)
        assert_same_model(model, classifier().fit(X, LETTERS))


def test_warm_starts_between_cells_and_one_machine():
    model = classifier(warm_start=True).fit(X, FLAG).set_params(cells=None).fit(X, FLAG)
    np.testing.assert_array_equal(model.dual_coef_, classifier(cells=None).fit(X, FLAG).dual_coef_)
    model.set_params(cells=40).fit(X, FLAG)
    assert_same_model(model, classifier().fit(X, FLAG))


@pytest.mark.parametrize("make", [classifier, regressor])
def test_refits_leave_nothing_of_the_other_kind(make):
    y = FLAG if make is classifier else WAVE
    of_cells, plain = make().fit(X, y), make(cells=None).fit(X, y)
    names = set(vars(of_cells)), set(vars(plain))
    assert {"cells_", "partitions_"} == names[0] - names[1]
    assert {"dual_coef_", "intercept_", "landmarks_", "landmark_vectors_", "signature_", "history_"} == (
        names[1] - names[0]
    )
    expected = of_cells.predict(NEW), plain.predict(NEW)
    of_cells.set_params(cells=None).fit(X, y)
    plain.set_params(cells=40).fit(X, y)
    assert (set(vars(plain)), set(vars(of_cells))) == names
    np.testing.assert_array_equal(plain.predict(NEW), expected[0])
    np.testing.assert_array_equal(of_cells.predict(NEW), expected[1])


def fails(A, B):
    raise RuntimeError("the kernel broke")


@pytest.mark.parametrize("change", [{"kernel": fails}, {"memory_limit": "1KB"}, {"landmarks": [0, 1]}])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_fits_that_fail_change_nothing(change, n_jobs):
    model = classifier(n_jobs=n_jobs)
    new = classifier(n_jobs=n_jobs, **change)
    with pytest.raises((RuntimeError, MemoryError, ValueError)):
        new.fit(X, FLAG)
    with pytest.raises(NotFittedError):
        new.predict(X)
    model.fit(X, FLAG)
    before, expected = dict(vars(model)), model.predict(NEW)
    with pytest.raises((RuntimeError, MemoryError, ValueError)):
        model.set_params(**change).fit(X[:, :2], LETTERS)
    changed = {name for name, value in vars(model).items() if value is not before[name]}
    assert changed == set(change)
    np.testing.assert_array_equal(model.predict(NEW), expected)


def test_parameters_are_left_alone():
    model = classifier(scale="standard", C="auto", gamma="scale", cells="auto")
    parameters = dict(model.get_params())
    model.fit(X, FLAG)
    assert model.get_params() == parameters


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies(copied):
    model = classifier(partitions=2, scale="standard").fit(X, LETTERS)
    assert_same_model(copied(model), model)


@pytest.mark.parametrize("settings", [{}, {"partitions": 2, "scale": "standard"}, {"kernel": "linear"}])
def test_files(tmp_path, settings):
    model = classifier(**settings).fit(X, LETTERS)
    unisvm.save(model, tmp_path / "model.unisvm")
    loaded = unisvm.load(tmp_path / "model.unisvm")
    assert_same_model(loaded, model)
    np.testing.assert_array_equal(loaded.decision_function(NEW), model.decision_function(NEW))
    # and it can be fitted again, from there
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded.set_params(warm_start=True).fit(X, LETTERS)
    assert all(map(type(loaded.partitions_[0]).is_same, loaded.partitions_, model.partitions_))


def test_a_warm_start_on_many_more_rows_grows_new_cells():
    few, many = make_moons(40, noise=0.2, random_state=0), make_moons(200, noise=0.2, random_state=1)
    model = classifier(cells=30, warm_start=True).fit(*few).fit(*many)
    assert np.bincount(model.partitions_[0].cells_of(many[0])).max() <= 30
