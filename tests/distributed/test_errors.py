"""Collections that cannot be fitted are refused by a message that says what to do, before the work begins."""

import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from sklearn.datasets import make_moons

import unisvm
from unisvm import UniSVMClassifier, UniSVMRegressor
from unisvm.distributed.rows import DaskRows

X, y = make_moons(200, noise=0.2, random_state=0)
LAZY = da.from_array(X, chunks=(60, 2))
TARGET = da.from_array(y, chunks=60)


@pytest.fixture(autouse=True)
def nothing_is_built(monkeypatch):
    """Fails when features are built."""

    def build(*args, **kwargs):
        raise AssertionError("features were built")

    monkeypatch.setattr(DaskRows, "build", build)


def refused(match, rows=LAZY, target=TARGET, weights=None, error=ValueError, model=None):
    model = UniSVMClassifier(rank=20) if model is None else model
    with pytest.raises(error, match=match):
        model.fit(rows, target, weights)
    assert not hasattr(model, "dual_coef_")


def _never():
    raise AssertionError("read")


UNREAD = da.concatenate([da.from_delayed(delayed(_never)(), (100, 2), dtype=float)] * 2)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"kernel": "precomputed"}, "kernel='precomputed' needs all rows in one place"),
        ({"rank": None}, "rank=None needs all rows in one place.*Use a number"),
        ({"landmarks": "pivoted_cholesky"}, "landmarks='pivoted_cholesky' needs.*'rpcholesky'"),
        ({"solver": "dca"}, "solver='dca' needs.*'lbfgs'"),
        ({"C": -1.0}, "C must"),
    ],
)
def test_parameters(parameters, match):
    refused(match, rows=UNREAD, model=UniSVMClassifier(**parameters))


@pytest.mark.parametrize("known", [True, False])
def test_chunks_split_over_columns(known):
    rows = LAZY.rechunk((60, 1)) if known else LAZY.rechunk((60, 1))[da.from_array(X[:, 0], chunks=60) > 0]
    with pytest.raises(ValueError, match="split over the columns, 2 to a row") as error:
        UniSVMClassifier().fit(rows, TARGET)
    # the call in the message is the cure
    advice = str(error.value).split("each chunk: X")[1].rstrip(".")
    cured = eval("rows" + advice, {"rows": rows})
    assert cured.numblocks[1] == 1
    np.testing.assert_array_equal(cured.compute(), X if known else X[X[:, 0] > 0])


def test_lengths():
    refused("y has 199 rows, but X has 200", rows=UNREAD, target=y[1:])
    refused("y has 199 rows, but X has 200", rows=UNREAD, target=TARGET[1:])
    refused("sample_weight has 2 rows, but X has 200", rows=UNREAD, weights=[1, 2])
    unknown = LAZY[LAZY[:, 0] > -100]
    refused("y has 199 rows, but X has 200", rows=unknown, target=y[1:])
    refused("y has 199 rows, but X has 200", rows=unknown, target=TARGET[1:])
    table = dd.from_pandas(pd.DataFrame(X, columns=["a", "b"]), npartitions=3)
    refused("y has 199 rows, but X has 200", rows=table, target=TARGET[1:])
    refused("y is None", target=None)


def spoilt(values, value):
    values = np.array(values, dtype=object if isinstance(value, str) else float)
    values.flat[150] = value
    return values


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_in_one_block(value):
    refused("X contains", rows=da.from_array(spoilt(X, value), chunks=(60, 2)))
    refused("y contains", target=da.from_array(spoilt(y, value), chunks=60))
    refused("sample_weight contains", weights=spoilt(y, value))
    refused("y contains NaN", target=spoilt(y.astype(object), "x")[:150].tolist() + [np.nan] * 50)


def test_weights():
    refused("Negative values.*sample_weight", weights=spoilt(y, -1.0))
    refused("All sample weights are zero", weights=np.zeros(200))
    refused("All sample weights are zero", weights=np.zeros(200), model=UniSVMRegressor())
    refused("one dimension", weights=np.ones((200, 2)))


def test_targets():
    refused("at least two classes.*only one class", target=np.ones(200))
    refused("at least two classes", weights=(y == 1).astype(float))
    refused("at least two classes", model=UniSVMClassifier(class_weight={0: 0.0, 1: 1.0}))
    refused("continuous", target=X[:, 0])
    refused("continuous", target=da.from_array(np.where(np.arange(200) == 180, 0.5, y), chunks=60))
    # an indicator matrix in each block, but not in all of them together
    refused("several columns of classes", target=np.stack([y, np.where(np.arange(200) < 60, 1, 2)], axis=1))
    refused("multilabel", target=np.stack([y, 1 - y], axis=1), model=UniSVMClassifier(class_weight="balanced"))
    refused("class_weight must", model=UniSVMClassifier(class_weight={0: -1.0}))
    refused("could not convert", target=np.array(["a", "b"])[y], model=UniSVMRegressor())
    refused("y must have one or two dimensions", target=np.zeros((200, 2, 2)))
    ragged = [da.from_delayed(delayed(np.zeros)((100, width)), (100, 2), dtype=float) for width in (2, 3)]
    refused("blocks of y must have as many columns", target=da.concatenate(ragged))
    refused("blocks of X must have as many columns", rows=da.concatenate(ragged))


def test_rows():
    refused("X must have rows and columns, got 1 dimension", rows=LAZY[:, 0])
    refused("holds no rows", rows=LAZY[:0], target=TARGET[:0])
    refused("holds no rows", rows=LAZY[LAZY[:, 0] > 100], target=TARGET[:0])
    refused("Dask array or DataFrame, got", rows=db.from_sequence([1]), error=TypeError)
    refused("Dask array or DataFrame, got Delayed", rows=delayed(X), error=TypeError)
    numbers = np.array([0, 250])
    refused("row indices from 0 to 199", model=UniSVMClassifier(landmarks=numbers))
    silent = np.where(np.arange(200) == 7, 0.0, 1.0)
    refused("rows of positive weight", weights=silent, model=UniSVMClassifier(landmarks=np.array([7, 9])))


def test_a_path_needs_its_rows_here():
    with pytest.raises(TypeError, match=r"path cannot be computed for.*sample in memory"):
        unisvm.path(UNREAD, TARGET)


def test_an_error_in_a_block_of_the_user_is_his_own():
    refused("read", rows=UNREAD, error=AssertionError)


@pytest.mark.parametrize("name", ["y", "sample_weight"])
def test_names_of_columns(name):
    with pytest.raises(ValueError, match=f"{name} must be a Dask collection or an array, as X is on Dask; got 'b'"):
        UniSVMClassifier(rank=20).fit(dd.from_pandas(pd.DataFrame({"a": y, "b": y})), **{"y": TARGET, name: "b"})
