"""Tables with text columns, text labels and missing values."""

import csv
import io
import json
import re
import shlex

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
    unisvm("convert", training, f"again{ending}")
    unisvm("train", "-q", "--target", "income", f"again{ending}", "m")
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
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.normal(size=200), "w": rng.integers(0, 9, 200)})
    frame["target"] = np.where(frame["a"] + rng.normal(size=200) > 0, "yes", "no")
    frame.to_csv(tmp_path / "weighted.csv", index=False)
    frame.drop(columns="w").to_csv(tmp_path / "even.csv", index=False)
    unisvm("train", "-q", "--weights", "w", "-c", "1", "--scale", "none", "weighted.csv", "m")
    unisvm("train", "-q", "-c", "1", "--scale", "none", "even.csv", "even")
    X, y, w = frame[["a", "b"]].to_numpy(), frame["target"], frame["w"]
    expected = UniSVMClassifier(C=1.0, random_state=0).fit(X, y, w).decision_function(X)
    model = library.load(tmp_path / "m")
    assert list(model["columns"].feature_names_in_) == ["a", "b"]
    np.testing.assert_allclose(model.decision_function(frame[["a", "b"]]), expected, atol=1e-6)
    assert np.abs(library.load(tmp_path / "even").decision_function(frame[["a", "b"]]) - expected).max() > 0.1


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


def test_a_search_is_kept_with_its_score(unisvm, tmp_path, people):
    ended = unisvm("train", "--json", "--search", "--target", "income", people[0], "m")
    facts = json.loads(ended.out)
    assert 0.8 < facts["cross_validated_score"] <= 1
    assert library.load(tmp_path / "m")["machine"].best_score_ == facts["cross_validated_score"]


def test_rows_without_a_target_are_left_out_if_it_is_asked_for(unisvm, tmp_path, people):
    text = (tmp_path / people[0]).read_text(encoding="utf-8")
    (tmp_path / "holes.csv").write_text(text + "44,manager,Bonn,\n" * 5, encoding="utf-8")
    ended = unisvm("train", "--target", "income", "holes.csv", "m", code=1)
    assert "line 212" in ended.err
    assert "--drop-unlabelled" in ended.err
    ended = unisvm("train", "--json", "--drop-unlabelled", "--target", "income", "holes.csv", "m")
    assert json.loads(ended.out)["rows"] == 210


def test_codes_stay_text_in_new_rows(unisvm, tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.choice(["012", "12", "x7"], 120)
    frame = pd.DataFrame({"code": codes, "label": np.where(codes == "012", "yes", "no")})
    frame.to_csv(tmp_path / "codes.csv", index=False)
    unisvm("train", "-q", "codes.csv", "m")
    (tmp_path / "new.csv").write_text("code\n012\n12\n")
    assert predictions(unisvm("predict", "-q", "new.csv", "m").out) == ["yes", "no"]


def test_columns_that_are_passed_over_are_told_of(unisvm, tmp_path, people):
    unisvm("train", "-q", "--target", "income", people[0], "m")
    (tmp_path / "more.csv").write_text("age,job,city,shoe size\n44,manager,Bonn,42\n")
    assert "passed over: shoe size" in unisvm("predict", "more.csv", "m").err


def test_json_needs_a_file_for_the_predictions(unisvm, people):
    training, new = people
    unisvm("train", "-q", "--target", "income", training, "m")
    assert "give OUT" in unisvm("predict", "--json", new, "m", code=1).err
    facts = json.loads(unisvm("predict", "--json", new, "m", "out.csv").out)
    assert facts["rows"] == 3
    assert "Paris" in facts["warnings"][0]


def test_an_encoding_without_our_letters_is_no_error(unisvm, people):
    ended = unisvm("train", "--target", "income", people[0], "m", env={"PYTHONIOENCODING": "cp1252"})
    assert "the median" in ended.out


def test_losses_are_compared_by_cross_validation(unisvm, tmp_path, people):
    ended = unisvm("cv", "--json", "--losses", "hinge,feng", "--target", "income", people[0])
    cells = json.loads(ended.out)["cells"]
    assert {cell["options"].split()[1] for cell in cells} == {"hinge", "feng"}
    assert cells[0]["score"] >= cells[1]["score"]
    options = ["--target", "income", "--rank", "50", "--seed", "3", "-d", "2", "-t", "poly"]
    best = unisvm("cv", "--losses", "hinge", *options, people[0]).out.splitlines()[-1]
    words = shlex.split(best.removeprefix("The best: "))
    assert words[:2] == ["unisvm", "train"]
    assert words[-2:] == [people[0], "MODEL"]
    unisvm(*words[1:-1], "m")
    model = library.load(tmp_path / "m")["machine"]
    assert (model.kernel, model.degree, model.rank, model.random_state) == ("poly", 2, 50, 3)


def test_nothing_that_is_read_is_overwritten(unisvm, tmp_path, people):
    training, new = people
    before = (tmp_path / training).read_bytes()
    assert "overwritten" in unisvm("train", "--target", "income", training, f"./{training}", code=1).err
    unisvm("train", "-q", "--target", "income", training, "m")
    for words in (["predict", new, "m", "m"], ["predict", new, "m", new], ["convert", training, training]):
        assert "overwritten" in unisvm(*words, code=1).err
    assert (tmp_path / training).read_bytes() == before
    unisvm("info", "m")


def test_a_header_that_counts_the_columns(unisvm, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(90, 3)))
    frame["species"] = np.array(["se", "ve", "vi"])[np.arange(90) % 3]
    frame.to_csv(tmp_path / "counted.csv", index=False)
    facts = json.loads(unisvm("train", "--json", "--target", "species", "counted.csv", "m").out)
    assert (facts["rows"], set(facts["classes"])) == (90, {"se", "ve", "vi"})


def test_truth_values_are_the_same_labels_in_every_form(unisvm, tmp_path):
    rng = np.random.default_rng(0)
    a = rng.normal(size=80)
    frame = pd.DataFrame({"a": a, "b": rng.normal(size=80), "label": a > 0})
    frame.to_csv(tmp_path / "truth.csv", index=False)
    frame.to_parquet(tmp_path / "truth.parquet")
    unisvm("train", "-q", "truth.parquet", "m")
    for name in ("truth.csv", "truth.parquet"):
        assert re.search(r"Accuracy = (9\d|100)", unisvm("predict", name, "m", "out").out)


def test_labels_that_the_model_does_not_know_are_told_of(unisvm, tmp_path, people):
    unisvm("train", "-q", "--target", "income", people[0], "m")
    (tmp_path / "other.csv").write_text("age,job,city,income\n44,manager,Bonn,riches\n39,clerk,Ulm,\n")
    ended = unisvm("predict", "other.csv", "m", "out")
    assert "riches" in ended.err
    assert "1 rows have no target" in ended.err
    assert "Accuracy = 0% (0/1)" in ended.out


def test_rows_of_parquet_without_a_target_are_left_out(unisvm, tmp_path):
    frame = pd.DataFrame({"a": np.arange(60) % 7, "label": pd.array([0, 1, None] * 20, dtype="Int64")})
    frame.to_parquet(tmp_path / "holes.parquet")
    facts = json.loads(unisvm("train", "--json", "--drop-unlabelled", "holes.parquet", "m").out)
    assert (facts["rows"], facts["classes"]) == (40, {"0": 20, "1": 20})


def test_columns_that_count_the_rows_are_told_of_and_left_out(unisvm, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "label": rng.integers(0, 2, 60)})
    frame.to_csv(tmp_path / "indexed.csv")
    ended = unisvm("train", "indexed.csv", "m")
    assert "only counts the rows" in ended.err
    assert "60 rows of 2 columns" in ended.out
    name = shlex.split(re.search(r"--ignore ('.*?'|\S+),", ended.err)[1])[0]
    ended = unisvm("train", "--ignore", name, "indexed.csv", "m")
    assert ended.err == ""
    assert "60 rows of 1 column;" in ended.out


def test_two_fractional_targets_are_real(unisvm, tmp_path):
    (tmp_path / "two.csv").write_text("a,y\n1,0.5\n2,1.5\n3,0.5\n4,1.5\n")
    assert json.loads(unisvm("train", "--json", "two.csv", "m").out)["task"] == "regression"


def test_the_ending_of_the_output_says_its_form(unisvm, tmp_path, people):
    training, new = people
    unisvm("train", "-q", "--target", "income", training, "m")
    unisvm("predict", "-q", new, "m", "out.json")
    assert json.loads((tmp_path / "out.json").read_text().splitlines()[0])["prediction"] == "high"
    assert "--to" in unisvm("predict", new, "m", "out.parquet", code=1).err


@pytest.mark.parametrize("given", ["\\t", "tab", "\t"])
def test_a_tab_can_be_written_as_people_do(unisvm, tmp_path, people, given):
    text = (tmp_path / people[0]).read_text(encoding="utf-8").replace("Ulm, Donau", "Donau").replace(",", "\t")
    (tmp_path / "tabs.txt").write_text(text, encoding="utf-8")
    facts = json.loads(unisvm("train", "--json", "--delimiter", given, "--target", "income", "tabs.txt", "m").out)
    assert (facts["rows"], facts["columns"]) == (210, 3)


def test_several_targets_have_a_column_each(unisvm, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model = UniSVMRegressor(random_state=0).fit(X, np.stack([X[:, 0], 3 * X[:, 1]], axis=1))
    library.save(model, tmp_path / "m")
    np.savez(tmp_path / "rows.npz", X=X)
    unisvm("predict", "-q", "rows.npz", "m", "out.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    assert list(found) == ["prediction 1", "prediction 2"]
    np.testing.assert_allclose(found, model.predict(X))
    assert "use --to csv" in unisvm("predict", "--to", "libsvm", "rows.npz", "m", "out", code=1).err


def test_an_answer_is_printed_also_when_the_rest_is_quiet(unisvm, people):
    assert unisvm("train", "-q", "-v", "3", "--target", "income", people[0]).out.startswith("Cross Validation Accuracy")


def test_constant_columns_are_told_of(unisvm, tmp_path):
    (tmp_path / "flat.csv").write_text("a,label\n" + "1,u\n1,v\n" * 20)
    assert "are the same" in unisvm("train", "flat.csv", "m").err
