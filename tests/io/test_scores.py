"""Scores, trust and weights from files are those of the same arrays."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, UniSVMRegressorCV

rng = np.random.RandomState(0)
X = np.round(rng.randn(300, 3), 3)
y = (X[:, 0] * X[:, 1] > 0).astype(float)
y[:30] = 1 - y[:30]
WAVE = np.sin(X[:, 0]) + 0.3 * rng.randn(300)
WEIGHTS = rng.uniform(0.5, 2, 300)
SETTINGS = {"rank": 40, "random_state": 0}
GRID = {"Cs": [1.0], "gammas": [0.5], "cv": 2, **SETTINGS}

MODELS = {
    "classifier": (UniSVMClassifier(C=1.0, **SETTINGS), y),
    "regressor": (UniSVMRegressor(C=1.0, **SETTINGS), WAVE),
    "searching classifier": (UniSVMClassifierCV(["hinge", "feng"], **GRID), y),
    "searching regressor": (UniSVMRegressorCV(["huber", "welsch"], **GRID), WAVE),
}

pytestmark = pytest.mark.usefixtures("small_reads")


@pytest.fixture(params=MODELS, autouse=True)
def case(request, scratch):
    """An unfitted model that leaves no scratch file, and its targets."""
    model, target = MODELS[request.param]
    return model.set_params(scratch_dir=scratch), target


@pytest.fixture
def table(tmp_path, case):
    """A Parquet file of the rows with their targets and weights, whose columns are in another order."""
    path = tmp_path / "rows.parquet"
    frame = pd.DataFrame(X, columns=list("abc")).assign(target=case[1], weight=WEIGHTS)
    frame[["target", "b", "a", "weight", "c"]].to_parquet(path)
    return path


def in_order(model):
    """The rows with the columns in the model's order."""
    return pd.DataFrame(X, columns=list("abc"))[list(model.feature_names_in_)]


def test_columns_of_a_parquet_file(case, table):
    model, target = case
    model.fit(table, "target", sample_weight="weight")
    assert sorted(model.feature_names_in_) == ["a", "b", "c"]
    rows, path = in_order(model), str(table)
    assert model.score(path, "target") == pytest.approx(model.score(rows, target))
    weighted = model.score(path, "target", sample_weight="weight")
    assert weighted == pytest.approx(model.score(rows, target, sample_weight=WEIGHTS))
    assert weighted != model.score(path, "target")
    np.testing.assert_allclose(model.trust(path, "target"), model.trust(rows, target), rtol=1e-7, atol=1e-12)


def test_a_model_of_arrays_scores_a_parquet_file(case, tmp_path):
    model, target = case
    model.fit(X, target)
    frame = pd.DataFrame(X, columns=list("abc")).assign(target=target, weight=WEIGHTS)
    frame.to_parquet(tmp_path / "rows.parquet")
    score = model.score(tmp_path / "rows.parquet", "target", sample_weight="weight")
    assert score == pytest.approx(model.score(X, target, sample_weight=WEIGHTS))


def test_targets_of_a_libsvm_file(case, tmp_path):
    model, target = case
    dump_svmlight_file(X, target, str(tmp_path / "rows.svm"), zero_based=False)
    model.fit(tmp_path / "rows.svm")
    assert model.score(tmp_path / "rows.svm") == pytest.approx(model.score(X, target))
    np.testing.assert_allclose(model.trust(tmp_path / "rows.svm"), model.trust(X, target), rtol=1e-7, atol=1e-12)
    # labels that are given come before those in the file
    assert model.score(tmp_path / "rows.svm", target[::-1]) != model.score(tmp_path / "rows.svm")


def test_arrays_in_files(case, tmp_path):
    model, target = case
    for name, array in (("X", X), ("y", target), ("weight", WEIGHTS)):
        np.save(tmp_path / f"{name}.npy", array)
    files = [tmp_path / f"{name}.npy" for name in ("X", "y", "weight")]
    model.fit(*files)
    predicted = model.predict(X)
    np.testing.assert_allclose(model.fit(X, target, WEIGHTS).predict(X), predicted)
    weighted = model.score(*files[:2], sample_weight=files[2])
    assert weighted == pytest.approx(model.score(X, target, sample_weight=WEIGHTS))
    np.testing.assert_allclose(model.trust(*files[:2]), model.trust(X, target), rtol=1e-7, atol=1e-12)


def test_weights_of_a_column_are_those_of_the_fit(case, table):
    model, target = case
    filed = model.fit(table, "target", sample_weight="weight").predict(table)
    rows = in_order(model)
    np.testing.assert_allclose(filed, model.fit(rows, target, WEIGHTS).predict(rows), rtol=1e-7, atol=1e-12)
    decide = getattr(model, "decision_function", model.predict)
    assert not np.allclose(decide(rows), getattr(model.fit(rows, target), "decision_function", model.predict)(rows))


@pytest.mark.parametrize(
    ("y", "sample_weight", "error"),
    [
        ("targett", None, "Unknown column of "),
        ("target", "weigth", "did you mean 'weight'?"),
        ("target", "a", "the model was fitted on the column 'a', so that it cannot be sample_weight."),
        ("a", None, "the model was fitted on the column 'a', so that it cannot be y."),
        (None, None, "y is None. It may be left out only where X is a file of LIBSVM"),
    ],
)
def test_columns_that_cannot_be_scored(case, table, y, sample_weight, error):
    model = case[0].fit(table, "target", sample_weight="weight")
    with pytest.raises(ValueError, match=re.escape(error)):
        model.score(table, y, sample_weight=sample_weight)


def test_weights_that_are_no_numbers(case, tmp_path):
    frame = pd.DataFrame(X, columns=list("abc")).assign(target=case[1], weight="heavy")
    frame.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="the column 'weight' of sample_weight does not hold numbers but"):
        case[0].fit(tmp_path / "rows.parquet", "target", sample_weight="weight")


def test_names_of_columns_where_there_are_none(case, tmp_path):
    model, target = case
    np.save(tmp_path / "rows.npy", X)
    frame = pd.DataFrame(X, columns=list("abc"))
    for rows in (X, frame, tmp_path / "rows.npy"):
        with pytest.raises(ValueError, match=r"^sample_weight must be an array, .* where X is a Parquet file"):
            model.fit(rows, target, sample_weight="a")
        with pytest.raises(ValueError, match=r"^y must be an array, .* where X is a Parquet file"):
            model.fit(rows, "a")
    model.fit(X, target)
    with pytest.raises(ValueError, match="sample_weight must be an array"):
        model.score(X, target, sample_weight="a")
    with pytest.raises(ValueError, match="y must be an array"):
        model.trust(X, "a")
