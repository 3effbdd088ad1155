"""Searches of rows on Dask: on a sample of them, with a refit on all."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs, make_moons

from unisvm import FitWarning, UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressorCV, datasets, model_selection

X, y = make_moons(600, noise=0.2, random_state=0)
LABELS = np.array(["left", "right"])[y]
SETTINGS = {"Cs": [0.1, 1.0], "gammas": [0.5, 2.0], "rank": 30, "random_state": 0}


def collections(*arrays, chunk=170):
    return [da.from_array(array, chunks=(chunk, *array.shape[1:])) for array in arrays]


def test_few_rows_are_searched_on_as_in_memory():
    weights = np.random.RandomState(0).uniform(0.5, 2, size=600)
    here = UniSVMClassifierCV("squared_hinge", **SETTINGS).fit(X, LABELS, weights)
    rows, labels, on_dask = collections(X, LABELS, weights)
    there = UniSVMClassifierCV("squared_hinge", **SETTINGS).fit(rows, labels, on_dask)
    assert len(there.suspects_) == 0
    np.testing.assert_array_equal(there.searched_rows_, np.arange(600))
    assert there.best_params_ == here.best_params_
    np.testing.assert_allclose(there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"])
    probabilities = there.predict_proba(rows)
    assert isinstance(probabilities, da.Array)
    np.testing.assert_allclose(probabilities.compute(), here.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(there.predict(rows).compute(), here.predict(X))
    np.testing.assert_allclose(there.decision_function(rows).compute(), here.decision_function(X), atol=1e-6)
    assert not hasattr(there.fit(X, LABELS), "searched_rows_")


def test_many_rows_are_sampled_and_all_are_refitted(monkeypatch):
    monkeypatch.setattr(model_selection.base, "_SEARCHED_ROWS", 200)
    rows, labels = collections(X, LABELS)
    search = UniSVMClassifierCV(["saturating", "hinge"], **SETTINGS).fit(rows, labels)
    assert len(np.unique(search.searched_rows_)) == 200
    assert len(search.oof_decision_) == 200
    alone = UniSVMClassifier(search.loss_, C=search.C_, gamma=search.gamma_, rank=30, random_state=0).fit(X, LABELS)
    assert search.best_estimator_.objective_ <= alone.objective_ + 1e-3
    assert search.score(X, LABELS) > 0.95


def test_rows_on_dask_are_never_suspects():
    rows, clean = make_blobs(600, centers=3, random_state=0)
    wrong, _ = datasets.flip_labels(clean, 0.3, random_state=0)
    model = UniSVMClassifierCV("squared_hinge", Cs=[1.0], gammas=[1.0], rank=30, random_state=0)
    with pytest.warns(FitWarning, match="rows are left out"):
        model.fit(rows, wrong)
    assert len(model.suspects_) > 0
    model.fit(*collections(rows, wrong))
    assert model.suspects_.tolist() == []
    assert model.best_estimator_.C == model.C_


def test_names_and_targets_of_a_frame():
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(t=np.sin(X[:, 0]) + X[:, 1])
    parts = dd.from_pandas(frame, npartitions=3)
    search = UniSVMRegressorCV("huber", **SETTINGS).fit(parts[["a", "b"]], parts["t"])
    assert list(search.feature_names_in_) == ["a", "b"]
    assert np.abs(search.predict(parts[["a", "b"]]).compute() - frame["t"]).median() < 0.05


def test_groups_are_refused():
    rows, labels = collections(X, LABELS)
    with pytest.raises(ValueError, match="groups: not for rows on Dask"):
        UniSVMClassifierCV("hinge", **SETTINGS).fit(rows, labels, groups=np.arange(600))
