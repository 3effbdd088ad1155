"""Tables with text columns, text labels and missing values."""

import csv
import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.pipeline import Pipeline

import unisvm as library
from unisvm import UniSVMClassifier, UniSVMRegressor
from unisvm.tables import TableEncoder, read_table


def predictions(text):
    return [row["prediction"] for row in csv.DictReader(io.StringIO(text))]


def test_the_model_is_that_of_the_python_api(unisvm, tmp_path, people):
    training, new = people
    unisvm("train", "--target", "income", training, "m")
    unisvm("predict", new, "m", "out.csv")
    table = read_table(tmp_path / training)
    steps = [("columns", TableEncoder(scale="standard")), ("machine", UniSVMClassifier(random_state=0))]
    model = Pipeline(steps).fit(table.without(["income"]), table["income"].astype(str))
    with pytest.warns(UserWarning, match="Paris"):
        expected = model.predict(read_table(tmp_path / new)).tolist()
    assert predictions((tmp_path / "out.csv").read_text()) == expected
    assert expected[:2] == ["high", "low"]


def test_the_summary_says_what_became_of_the_columns(unisvm, people):
    ended = unisvm("train", "--target", "income", people[0], "m")
    assert re.search(r"age: \d+ missing values → the median, 3[89]", ended.out)
    assert "job: 2 categories, and " in ended.out
    assert "city: 4 categories" in ended.out
    assert "210 rows of 3 columns, 9 once encoded" in ended.out
    assert "classes low (" in ended.out


def test_a_loaded_model_predicts_for_a_data_frame(unisvm, tmp_path, people):
    unisvm("train", "--target", "income", people[0], "m")
    frame = pd.DataFrame({"city": ["Bonn", "Ulm"], "job": ["manager", "clerk"], "age": [44, None]})
    assert library.load(tmp_path / "m").predict(frame).tolist() == ["high", "low"]


def test_unseen_categories_are_told_of(unisvm, people):
    training, new = people
    unisvm("train", "-q", "--target", "income", training, "m")
    ended = unisvm("predict", new, "m", "out.csv")
    assert "Paris" in ended.err


def test_predictions_go_to_standard_output_when_nothing_else_is_said(unisvm, people):
    training, new = people
    unisvm("train", "-q", "--target", "income", training, "m")
    ended = unisvm("predict", new, "m")
    assert len(predictions(ended.out)) == 3


def test_targets_in_the_data_are_scored(unisvm, people):
    training, _ = people
    unisvm("train", "-q", "--target", "income", training, "m")
    ended = unisvm("predict", training, "m", "out.csv")
    assert "Accuracy = " in ended.out
    assert "(classification)" in ended.out


def test_probabilities_have_a_column_for_each_class(unisvm, tmp_path, people):
    training, new = people
    unisvm("train", "-q", "--probabilities", "--target", "income", training, "m")
    unisvm("predict", "-q", "--probabilities", "--decisions", new, "m", "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    assert list(found) == ["prediction", "probability of high", "probability of low", "decision"]
    np.testing.assert_allclose(found.iloc[:, 1:3].sum(axis=1), 1)


def test_json_has_an_object_for_each_row(unisvm, people):
    training, new = people
    unisvm("train", "-q", "--probabilities", "--target", "income", training, "m")
    ended = unisvm("predict", "-q", "--to", "json", "--probabilities", new, "m")
    rows = [json.loads(line) for line in ended.out.splitlines()]
    assert [row["prediction"] for row in rows][:2] == ["high", "low"]
    assert sorted(rows[0]["probability"]) == ["high", "low"]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".csv.bz2", ".tsv", ".parquet"])
def test_the_form_of_the_table_makes_no_difference(unisvm, tmp_path, people, ending):
    training, new = people
    unisvm("convert", training, f"people{ending}")
    unisvm("train", "-q", "--target", "income", f"people{ending}", "m")
    unisvm("train", "-q", "--target", "income", training, "expected")
    unisvm("predict", "-q", new, "m", "out")
    unisvm("predict", "-q", new, "expected", "expected out")
    assert (tmp_path / "out").read_text() == (tmp_path / "expected out").read_text()


def test_standard_input_is_read(unisvm, tmp_path, people):
    training, new = people
    data = (tmp_path / training).read_bytes()
    unisvm("train", "-q", "--target", "income", "-", "m", stdin=data)
    ended = unisvm("predict", "-q", "-", "m", stdin=(tmp_path / new).read_bytes())
    assert predictions(ended.out)[:2] == ["high", "low"]


def test_a_table_without_a_header(unisvm, tmp_path, people):
    lines = (tmp_path / people[0]).read_text().splitlines(keepends=True)
    (tmp_path / "bare.csv").write_text("".join(lines[1:]))
    unisvm("train", "-q", "--no-header", "--target", "last", "bare.csv", "m")
    (tmp_path / "new.csv").write_text("44,manager,Bonn\n")
    ended = unisvm("predict", "-q", "--no-header", "new.csv", "m")
    assert predictions(ended.out) == ["high"]


def test_weights_are_those_of_a_column(unisvm, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200), "w": rng.integers(0, 3, 200)})
    frame["target"] = np.where(frame["a"] + frame["b"] > 0, "yes", "no")
    frame.to_csv(tmp_path / "weighted.csv", index=False)
    unisvm("train", "-q", "--weights", "w", "-c", "1", "weighted.csv", "m")
    copies = frame.loc[frame.index.repeat(frame["w"])].drop(columns="w")
    copies.to_csv(tmp_path / "copies.csv", index=False)
    model = library.load(tmp_path / "m")
    assert list(model["columns"].feature_names_in_) == ["a", "b"]
    assert model["machine"].score(model["columns"].transform(copies), copies["target"]) > 0.95


def test_real_targets(unisvm, tmp_path):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X.assign(progression=y + 0.5).to_csv(tmp_path / "diabetes.csv", index=False)
    ended = unisvm("train", "--json", "--target", "progression", "diabetes.csv", "m")
    facts = json.loads(ended.out)
    assert facts["task"] == "regression"
    unisvm("predict", "-q", "diabetes.csv", "m", "out.csv")
    scaled = (X - X.mean()) / X.std(ddof=0)
    expected = UniSVMRegressor(random_state=0).fit(scaled.to_numpy(), y + 0.5).predict(scaled.to_numpy())
    np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv")["prediction"], expected, rtol=1e-3)


def test_suspects_are_reported_by_a_search(unisvm, tmp_path, people):
    ended = unisvm("train", "--json", "--search", "--target", "income", people[0], "m")
    facts = json.loads(ended.out)
    assert 0.8 < facts["cross_validated_score"] <= 1
    assert hasattr(library.load(tmp_path / "m")["machine"], "best_params_")


def test_losses_are_compared_by_cross_validation(unisvm, people):
    ended = unisvm("cv", "--json", "--losses", "hinge,feng", "--target", "income", people[0])
    cells = json.loads(ended.out)["cells"]
    assert {cell["options"].split()[1] for cell in cells} == {"hinge", "feng"}
    assert cells[0]["score"] >= cells[1]["score"]
    unisvm("train", "-q", *cells[0]["options"].split(), "--target", "income", people[0], "m")
