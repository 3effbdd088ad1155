"""Predictions for Dask collections: nothing is computed before it is asked for, and then they are those for arrays."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from dask.base import tokenize
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError

from unisvm import UniSVMClassifier, UniSVMRegressor

M = 300
X, y = make_moons(M, noise=0.3, random_state=0)
LABELS = np.array(["ham", "spam"])[y]
THREE = np.where(X[:, 0] > 1, "third", LABELS)
SEVERAL = np.column_stack([y, X[:, 0] > 0.5]).astype(int)
WAVE = np.sin(3 * X[:, 0]) + X[:, 1]
SETTINGS = {"rank": 30, "random_state": 0}
MODELS = {
    "two classes": (UniSVMClassifier(**SETTINGS), LABELS),
    "three classes": (UniSVMClassifier(**SETTINGS), THREE),
    "several labels": (UniSVMClassifier(**SETTINGS), SEVERAL),
    "one target": (UniSVMRegressor(**SETTINGS), WAVE),
    "two targets": (UniSVMRegressor("welsch", **SETTINGS), np.column_stack([WAVE, X[:, 1]])),
}


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"], scope="module")
def dtype(request):
    return request.param


@pytest.fixture(params=MODELS, scope="module")
def fitted(request, dtype):
    model, target = MODELS[request.param]
    return model.fit(X.astype(dtype), target), target


def methods(model):
    """Names of the methods that map rows to results."""
    return ["predict", "decision_function", "trust"] if hasattr(model, "decision_function") else ["predict", "trust"]


def same(lazy, expected):
    assert isinstance(lazy, da.Array)
    assert lazy.dtype == expected.dtype
    found = lazy.compute()
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rows_dtype", [np.float32, np.float64, np.int64])
def test_arrays(fitted, rows_dtype):
    model, target = fitted
    rows = (X if rows_dtype != np.int64 else np.round(X * 3)).astype(rows_dtype)
    lazy = da.from_array(rows, chunks=((100, 0, 150, 50), 2))
    for method in methods(model):
        given = (lazy, da.from_array(target, chunks=77)) if method == "trust" else (lazy,)
        result = getattr(model, method)(*given)
        assert result.chunks[0] == (100, 0, 150, 50)
        same(result, getattr(model, method)(rows, *([target] if method == "trust" else [])))
    same(model.trust(lazy, target), model.trust(rows, target))


def test_arrays_of_unknown_chunks(fitted):
    model, target = fitted
    order = np.argsort(X[:, 0])
    lazy = da.from_array(X[order], chunks=(60, 2))
    kept = lazy[:, 0] > 0.3
    rows, targets = X[order][X[order][:, 0] > 0.3], target[order][X[order][:, 0] > 0.3]
    for method in methods(model):
        asked, about = (
            ([lazy[kept]], [rows])
            if method != "trust"
            else (
                [lazy[kept], da.from_array(target[order], chunks=60)[kept]],
                [rows, targets],
            )
        )
        result = getattr(model, method)(*asked)
        assert np.isnan(result.shape[0])
        same(result, getattr(model, method)(*about))


def test_tables(dtype):
    table = pd.DataFrame(X.astype(dtype), columns=["width", "height"])
    model = UniSVMClassifier(**SETTINGS).fit(table, LABELS)
    table["label"] = LABELS
    lazy = dd.from_pandas(table.sort_values("width", ignore_index=True), npartitions=6)
    lazy = lazy[lazy["width"] > 0.3]
    chosen = lazy.compute()
    rows = ["width", "height"]
    same(model.predict(lazy[rows]), model.predict(chosen[rows]))
    same(model.decision_function(lazy[rows]), model.decision_function(chosen[rows]))
    same(model.trust(lazy[rows], lazy["label"]), model.trust(chosen[rows], chosen["label"]))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(lazy[["height", "width"]])


def _never(*args):
    raise AssertionError("computed")


def test_nothing_is_computed_before_it_is_asked_for():
    model = UniSVMClassifier(**SETTINGS).fit(X, y)
    rows = da.concatenate([da.from_delayed(delayed(_never)(), (50, 2), dtype=float) for _ in range(3)])
    target = da.from_delayed(delayed(_never)(), (150,), dtype=int)
    results = [model.predict(rows), model.decision_function(rows), model.trust(rows, target)]
    assert [result.shape for result in results] == [(150,)] * 3
    for result in results:
        with pytest.raises(AssertionError, match="computed"):
            result.compute()


def _holds(thing, model) -> bool:
    """Whether the model is inside a task."""
    if isinstance(thing, UniSVMClassifier):
        return True
    if isinstance(thing, list | tuple | set):
        return any(_holds(part, model) for part in thing)
    if isinstance(thing, dict):
        return any(_holds(part, model) for part in thing.values())
    parts = ("args", "kwargs", "value", "func", "content")
    return any(_holds(getattr(thing, name), model) for name in parts if hasattr(thing, name))


def test_the_model_is_in_one_task():
    model = UniSVMClassifier(**SETTINGS).fit(X, y)
    rows = da.from_array(X, chunks=(10, 2))
    for result in (model.predict(rows), model.decision_function(rows), model.trust(rows, da.from_array(y, chunks=10))):
        graph = dict(result.__dask_graph__())
        assert len(graph) >= 30
        assert sum(_holds(thing, model) for thing in graph.values()) == 1


def test_mistakes_are_refused_at_once():
    model = UniSVMClassifier(**SETTINGS)
    rows = da.from_array(X, chunks=(100, 2))
    with pytest.raises(NotFittedError):
        model.predict(rows)
    model.fit(X, y)
    with pytest.raises(ValueError, match="expecting 2 features"):
        model.predict(da.zeros((10, 3)))
    with pytest.raises(ValueError, match="1 dimension"):
        model.predict(rows[:, 0])
    with pytest.raises(ValueError, match="split over the columns"):
        model.decision_function(rows.rechunk((100, 1)))
    with pytest.raises(ValueError, match="y has 299 rows, but X has 300"):
        model.trust(rows, y[1:])
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        model.trust(rows[rows[:, 0] > 0], da.from_array(y, chunks=299))


def test_models_with_the_same_parameters_are_told_apart():
    """Dask takes tasks with the same token for one; that of a model knows its fit."""
    rows = da.from_array(X, chunks=(100, 2))
    models = [UniSVMClassifier(**SETTINGS).fit(X, labels) for labels in (y, 1 - y)]
    first, second = dask.compute(*(rows.map_blocks(model.predict, drop_axis=1, dtype=int) for model in models))
    np.testing.assert_array_equal(first, models[0].predict(X))
    np.testing.assert_array_equal(second, models[1].predict(X))
    assert tokenize(models[0]) == tokenize(models[0])


def test_a_collection_among_the_parameters():
    model = UniSVMClassifier(landmarks=da.from_array(X[:20], chunks=5), random_state=0).fit(X, y)
    rows = da.from_array(X, chunks=(100, 2))
    np.testing.assert_array_equal(model.predict(rows).compute(), model.predict(X))
