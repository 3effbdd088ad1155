"""`unisvm suspects`: the list, the report of all rows, and repaired data, as the Python API has them."""

import csv
import gzip
import io
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from unisvm import suspects
from wrong_label_cases import CLEAN, NAMES, WILD, WRONG, X_REAL, Y_WILD, X, Y

LINEAR = ("--kernel", "linear")
HEADER = ["row", "line", "given", "suggested", "score", "probability", "margin", "flagged"]


@pytest.fixture
def insects(tmp_path):
    """A table with numbers, text, missing entries and labels, a tenth of which are wrong: its name."""
    table = pd.DataFrame(X, columns=list("abcd"))
    table["leg, left"] = np.where(X[:, 0] > 0, "long, thin", "short")
    table.loc[::30, "b"] = np.nan
    table["kind"] = NAMES[Y]
    table.to_csv(tmp_path / "insects.csv", index=False)
    return "insects.csv"


@pytest.fixture
def prices(tmp_path):
    pd.DataFrame(X_REAL, columns=list("abc")).assign(target=Y_WILD).to_csv(tmp_path / "prices.csv", index=False)
    return "prices.csv"


@pytest.fixture
def numbers(tmp_path):
    dump_svmlight_file(X, Y, str(tmp_path / "rows.svm"), zero_based=False)
    return "rows.svm"


def by_python(path, y, **settings):
    settings = {"kernel": "linear", "random_state": 0} | settings
    return suspects(pd.read_csv(path), y, **settings)


def entries_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def refused(ended, *texts):
    assert ended.err.startswith("unisvm: error: ")
    assert ended.err.count("\n") == 1, ended.err
    for text in texts:
        assert text in ended.err, ended.err


# ------------------------------------------------------------------ labels


def test_a_list_a_report_and_repaired_data_by_one_command(unisvm, tmp_path, insects):
    before = (tmp_path / insects).read_bytes()
    ended = unisvm("suspects", "--target", "kind", "--rank", "60", insects, "--out", "all.csv", "--repair", "clean.csv")
    report = by_python(tmp_path / insects, "kind", kernel="auto", rank=60)
    assert report.flagged[WRONG].mean() > 0.7
    low, high = report.n_wrong_interval
    assert f"about {report.n_wrong} of 150 labels ({low} to {high} with 95 % confidence)" in ended.out
    assert f"{report.flagged.sum()} rows whose label is more likely wrong than right" in ended.out
    for label, count in report.by_class.items():
        assert f"{label}: about {count.n_wrong} of {count.n_rows} wrong, {count.n_flagged} flagged" in ended.out
    # lines of the file, from the heading on
    listed = ended.out[ended.out.index("right with probability") :].splitlines()[1 : 1 + report.flagged.sum()]
    assert [int(line.split()[0]) - 2 for line in listed] == report.ranking[: report.flagged.sum()].tolist()

    entries = entries_of((tmp_path / "all.csv").read_text())
    assert list(entries[0]) == HEADER
    assert [int(entry["row"]) for entry in entries] == report.ranking.tolist()
    for entry in entries:
        row = int(entry["row"])
        assert int(entry["line"]) == row + 2
        assert entry["given"] == report.given[row]
        assert entry["suggested"] == report.suggested[row]
        assert entry["flagged"] == str(bool(report.flagged[row]))
        assert float(entry["score"]) == pytest.approx(report.scores[row], rel=1e-3, abs=1e-6)
        assert float(entry["margin"]) == pytest.approx(report.margin[row], rel=1e-3, abs=1e-4)

    clean = pd.read_csv(tmp_path / "clean.csv")
    pd.testing.assert_frame_equal(clean, report.repair(), check_dtype=False)
    assert (tmp_path / insects).read_bytes() == before
    assert names_in(tmp_path) == ["all.csv", "clean.csv", insects]


@pytest.mark.parametrize("out", ["all.jsonl", "all.jsonl.gz", "all.csv.gz"])
def test_forms_of_the_report(unisvm, tmp_path, insects, out):
    unisvm("suspects", "-q", *LINEAR, "--target", "kind", insects, "--out", out)
    content = (tmp_path / out).read_bytes()
    text = (gzip.decompress(content) if out.endswith(".gz") else content).decode()
    report = by_python(tmp_path / insects, "kind")
    entries = entries_of(text) if "csv" in out else [json.loads(line) for line in text.splitlines()]
    assert list(entries[0]) == HEADER
    assert [int(entry["row"]) for entry in entries] == report.ranking.tolist()
    if "json" in out:
        first = entries[0]
        assert first["flagged"] is True
        assert first["suggested"] == report.suggested[first["row"]]


@pytest.mark.parametrize("how", ["relabel", "drop"])
@pytest.mark.parametrize("out", ["clean.csv", "clean.csv.gz", "clean.tsv", "clean.parquet"])
def test_repaired_tables(unisvm, tmp_path, insects, out, how):
    unisvm("suspects", "-q", *LINEAR, "--target", "kind", insects, "--repair", out, "--how", how)
    expected = by_python(tmp_path / insects, "kind").repair(how).reset_index(drop=True)
    assert len(expected) < 150 if how == "drop" else (expected["kind"] != NAMES[Y]).sum() > 10
    path = tmp_path / out
    found = pd.read_parquet(path) if "parquet" in out else pd.read_csv(path, sep="\t" if "tsv" in out else ",")
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


@pytest.mark.parametrize("how", ["relabel", "drop"])
@pytest.mark.parametrize("out", ["clean.svm", "clean.svm.gz", "clean.npz", "clean.csv"])
def test_repaired_rows_of_LIBSVM(unisvm, tmp_path, numbers, out, how):
    unisvm("suspects", "-q", numbers, "--rank", "60", "--repair", out, "--how", how)
    given, labels = load_svmlight_file(str(tmp_path / numbers))
    report = suspects(given, labels, rank=60, random_state=0)
    assert report.flagged.sum() > 10
    rows, expected = report.repair(how)
    if "npz" in out:
        found = np.load(tmp_path / out)
        assert tuple(found["shape"]) == rows.shape
        y = found["y"]
    elif "csv" in out:
        table = pd.read_csv(tmp_path / out)
        np.testing.assert_allclose(table.iloc[:, :4], rows.toarray())
        y = table["target"]
    else:
        found, y = load_svmlight_file(str(tmp_path / out))
        np.testing.assert_allclose(found.toarray(), rows.toarray())
    np.testing.assert_array_equal(y, expected)


def test_one_object_of_JSON(unisvm, tmp_path, insects):
    ended = unisvm("suspects", "--json", *LINEAR, "--target", "kind", "--top", "3", insects)
    found, report = json.loads(ended.out), by_python(tmp_path / insects, "kind")
    assert found["data"] == insects
    assert (found["task"], found["rows"], found["confidence"]) == ("classification", 150, 0.95)
    assert (found["n_wrong"], found["n_wrong_interval"]) == (report.n_wrong, list(report.n_wrong_interval))
    assert found["flagged"] == report.flagged.sum()
    assert found["kernels"] == ["linear"]
    assert found["by_class"]["bee, or wasp"]["n_rows"] == (Y == 1).sum()
    assert [entry["row"] for entry in found["suspects"]] == report.ranking[:3].tolist()
    assert found["suspects"][0]["line"] == found["suspects"][0]["row"] + 2


def test_it_can_be_quiet(unisvm, insects):
    loud, quiet = (unisvm("suspects", *word, *LINEAR, "--target", "kind", insects) for word in ([], ["-q"]))
    assert quiet.err == ""
    # the list is what was asked for
    assert quiet.out == loud.out


@pytest.mark.parametrize("top", [0, 4, 100])
def test_so_many_are_listed(unisvm, tmp_path, insects, top):
    n_flagged = by_python(tmp_path / insects, "kind").flagged.sum()
    ended = unisvm("suspects", *LINEAR, "--target", "kind", "--top", top, insects)
    n_listed = min(top, n_flagged)
    if n_listed:
        at = ended.out.splitlines().index(next(line for line in ended.out.splitlines() if "right with" in line))
        listed = [line for line in ended.out.splitlines()[at + 1 :] if line.split()[0].isdigit()]
        assert len(listed) == n_listed
    assert ("--top lists more of them" in ended.out) == (0 < top < n_flagged)


def test_the_confidence_is_that_of_the_interval(unisvm, prices):
    found = [
        json.loads(unisvm("suspects", "--json", *LINEAR, "--confidence", share, prices).out) for share in (0.999, 0.2)
    ]
    (low, high), (inner_low, inner_high) = (each["n_wrong_interval"] for each in found)
    assert low <= inner_low <= found[0]["n_wrong"] <= inner_high <= high
    assert high - low > inner_high - inner_low
    assert found[0]["confidence"] == 0.999


def test_clean_data_have_no_list(unisvm, tmp_path):
    pd.DataFrame(X, columns=list("abcd")).assign(kind=NAMES[CLEAN]).to_csv(tmp_path / "clean.csv", index=False)
    ended = unisvm("suspects", *LINEAR, "--target", "kind", "clean.csv", "--repair", "same.csv")
    assert "0 rows whose label is more likely wrong than right" in ended.out
    assert "right with probability" not in ended.out
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "same.csv"), pd.read_csv(tmp_path / "clean.csv"))


# ------------------------------------------------------------------ real targets


def test_wild_targets(unisvm, tmp_path, prices):
    ended = unisvm("suspects", "--json", "--rank", "60", prices, "--out", "all.csv", "--repair", "tame.csv")
    report = by_python(tmp_path / prices, "target", kernel="auto", rank=60)
    found = json.loads(ended.out)
    assert found["task"] == "regression"
    assert found["by_class"] == {}
    assert found["n_wrong"] == report.n_wrong
    assert report.flagged[WILD].mean() > 0.8
    assert {entry["row"] for entry in found["suspects"]} == set(np.flatnonzero(report.flagged).tolist())
    entries = entries_of((tmp_path / "all.csv").read_text())
    assert len(entries) == 200
    for entry in entries[:20]:
        assert float(entry["given"]) == pytest.approx(Y_WILD[int(entry["row"])])
        assert float(entry["suggested"]) == pytest.approx(report.suggested[int(entry["row"])], abs=1e-3)
    tame = pd.read_csv(tmp_path / "tame.csv")
    np.testing.assert_allclose(tame["target"], report.repair()["target"], atol=1e-3)
    np.testing.assert_allclose(tame[list("abc")], X_REAL)
    assert "targets (" in unisvm("suspects", "--rank", "60", prices).out


# ------------------------------------------------------------------ groups, weights, rows without a label


def test_groups_are_a_column(unisvm, tmp_path):
    table = pd.DataFrame(np.repeat(X, 2, axis=0), columns=list("abcd"))
    table["who"], table["kind"] = [f"p{i}" for i in np.repeat(np.arange(150), 2)], NAMES[np.repeat(Y, 2)]
    table.to_csv(tmp_path / "twice.csv", index=False)
    arguments = ["suspects", "--json", *LINEAR, "--target", "kind", "twice.csv", "--top", "100"]
    found = json.loads(unisvm(*arguments, "--groups", "who").out)
    rest = table.drop(columns="who")
    report = suspects(rest, "kind", groups=table["who"], kernel="linear", random_state=0)
    assert report.flagged.sum() > 10
    assert sorted(entry["row"] for entry in found["suspects"]) == np.flatnonzero(report.flagged).tolist()
    unisvm(*arguments, "--groups", "who", "--repair", "clean.csv")
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "clean.csv"), report.repair().assign(who=table["who"])[list(table)], check_dtype=False
    )


def test_weights_are_a_column(unisvm, tmp_path):
    weights = np.where(np.arange(150) % 5 == 3, 0.0, 1.0)
    assert weights[WRONG].min() == 0
    table = pd.DataFrame(X, columns=list("abcd")).assign(often=weights, kind=NAMES[Y])
    table.to_csv(tmp_path / "rows.csv", index=False)
    arguments = ["suspects", "--json", *LINEAR, "--target", "kind", "--weights", "often", "rows.csv"]
    found = json.loads(unisvm(*arguments, "--out", "all.csv", "--repair", "clean.csv").out)
    report = suspects(table.drop(columns="often"), "kind", sample_weight=weights, kernel="linear", random_state=0)
    assert sorted(entry["row"] for entry in found["suspects"]) == np.flatnonzero(report.flagged).tolist()
    # rows of weight 0 are the last, without a score
    last = entries_of((tmp_path / "all.csv").read_text())[-30:]
    assert {int(entry["row"]) for entry in last} == set(np.flatnonzero(weights == 0).tolist())
    assert {entry["score"] for entry in last} == {""}
    clean = pd.read_csv(tmp_path / "clean.csv")
    assert clean["often"].tolist() == weights.tolist()
    assert clean["kind"].tolist() == report.repair()["kind"].tolist()


@pytest.mark.parametrize("how", ["relabel", "drop"])
def test_rows_without_a_label_stay_as_they_are(unisvm, tmp_path, how):
    table = pd.DataFrame(X, columns=list("abcd")).assign(kind=NAMES[Y])
    unlabelled = np.array([0, 4, 60, 149])
    table.loc[unlabelled, "kind"] = None
    table.to_csv(tmp_path / "some.csv", index=False)
    arguments = ["suspects", "--json", *LINEAR, "--target", "kind", "some.csv", "--repair", "clean.csv", "--how", how]
    refused(unisvm(*arguments, code=1), "some.csv, line 2", "--drop-unlabelled")
    found = json.loads(unisvm(*arguments, "--drop-unlabelled", "--out", "all.csv").out)
    kept = np.setdiff1d(np.arange(150), unlabelled)
    report = suspects(X[kept], NAMES[Y[kept]], kernel="linear", random_state=0)
    flagged = kept[report.flagged]
    assert sorted(entry["row"] for entry in found["suspects"]) == flagged.tolist()
    assert all(entry["line"] == entry["row"] + 2 for entry in found["suspects"])
    assert len(entries_of((tmp_path / "all.csv").read_text())) == 146
    expected = table.copy()
    if how == "drop":
        expected = table.drop(index=flagged).reset_index(drop=True)
    else:
        expected.loc[flagged, "kind"] = report.suggested[report.flagged]
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "clean.csv"), expected, check_dtype=False)


def test_columns_that_are_ignored_stay_in_the_repaired_file(unisvm, tmp_path, insects):
    ignoring = ("--ignore", "leg, left", "--repair", "clean.csv")
    unisvm("suspects", "-q", *LINEAR, "--target", "kind", insects, *ignoring)
    assert list(pd.read_csv(tmp_path / "clean.csv")) == list(pd.read_csv(tmp_path / insects))


def test_from_standard_input(unisvm, tmp_path, insects):
    stdin = (tmp_path / insects).read_bytes()
    ended = unisvm("suspects", "--json", *LINEAR, "--target", "kind", "-", "--repair", "clean.csv", stdin=stdin)
    assert json.loads(ended.out)["flagged"] == by_python(tmp_path / insects, "kind").flagged.sum()
    assert len(pd.read_csv(tmp_path / "clean.csv")) == 150


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--out", "folder"), "folder is a folder: give the name of a file"),
        (("--repair", "folder"), "folder is a folder: give the name of a file"),
        (("--repair", "insects.csv"), "insects.csv is what is read: it would be overwritten"),
        (("--out", "insects.csv"), "insects.csv is what is read: it would be overwritten"),
        (("--out", "all.csv", "--repair", "all.csv"), "all.csv cannot be both the report and the repaired data"),
        (("--out", "all.xls"), "all.xls: a report ends in .csv, .json"),
        (("--out", "all"), "all: a report ends in .csv, .json"),
        (("--repair", "all.xls"), "all.xls: the ending must be one of"),
        (("--repair", "all.onnx"), "all.onnx: the ending must be one of"),
        (("--out", "-"), "Standard output has the list of suspects"),
        (("--repair", "-"), "Standard output has the list of suspects"),
        (("--out", "nowhere/all.csv"), "There is no folder"),
        (("--how", "remove"), "Unknown way to repair 'remove': use one of 'relabel', 'drop'"),
        (("--groups", "patient"), "'patient'"),
        (("--weights", "often"), "'often'"),
        (("--weights", "leg, left"), "must hold weights, but it holds text"),
        (("--confidence", "95"), "confidence must be a number in (0, 1)"),
        (("--task", "regression"), "text"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_wrong_is_said_before_anything_is_written(unisvm, tmp_path, insects, options, said):
    (tmp_path / "folder").mkdir()
    before = (tmp_path / insects).read_bytes()
    refused(unisvm("suspects", "--target", "kind", *LINEAR, *options, insects, code=1), said)
    assert names_in(tmp_path) == ["folder", insects]
    assert (tmp_path / insects).read_bytes() == before


def test_an_unknown_target_is_named(unisvm, tmp_path, insects):
    refused(unisvm("suspects", "--target", "species", insects, "--out", "all.csv", code=1), "'species'", insects)
    refused(unisvm("suspects", "nowhere.csv", "--out", "all.csv", code=1), "no file 'nowhere.csv'")
    assert names_in(tmp_path) == [insects]


def test_matrices_have_no_columns_of_groups(unisvm, tmp_path, numbers):
    refused(unisvm("suspects", "--groups", "who", numbers, code=1), "--groups names a column of a table")
    np.save(tmp_path / "rows.npy", X)
    refused(unisvm("suspects", "rows.npy", code=1), "rows.npy has no targets", "--target")


def test_targets_of_a_matrix_may_be_in_a_file(unisvm, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "labels.npy", Y)
    found = json.loads(unisvm("suspects", "--json", *LINEAR, "--target", "labels.npy", "rows.npy").out)
    report = suspects(X, Y, kernel="linear", random_state=0)
    assert report.flagged.sum() > 10
    assert [entry["row"] for entry in found["suspects"]] == report.ranking[: min(20, report.flagged.sum())].tolist()
    assert {entry["line"] for entry in found["suspects"]} == {None}


def test_an_old_file_stays_when_the_search_fails(unisvm, tmp_path):
    (tmp_path / "few.csv").write_text("a,label\n1,x\n2,y\n3,x\n")
    (tmp_path / "all.csv").write_text("precious")
    refused(unisvm("suspects", "few.csv", "--out", "all.csv", "--repair", "clean.csv", code=1), "too few")
    (tmp_path / "one.csv").write_text("a,label\n" + "1,x\n2,x\n" * 10)
    refused(unisvm("suspects", "one.csv", "--out", "all.csv", code=1), "one.csv", "two classes")
    assert (tmp_path / "all.csv").read_text() == "precious"
    assert names_in(tmp_path) == ["all.csv", "few.csv", "one.csv"]
