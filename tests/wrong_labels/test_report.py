"""The report: repaired data of every kind, tables, the ranking, and what is printed."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from unisvm import suspects
from unisvm.tables import Table
from unisvm.wrong_labels import SuspectReport
from wrong_label_cases import CLEAN, NAMES, QUICK, WILD, WRONG, X_REAL, Y_REAL, Y_WILD, X, Y, righted

KEPT = np.delete(np.arange(len(Y)), WRONG)
FRAME = pd.DataFrame(X, columns=list("abcd"), index=[f"row {i}" for i in range(len(X))])


def quickly(X, y=None, **settings):
    report = suspects(X, y, **QUICK | settings)
    if report.task == "classification":
        assert np.flatnonzero(report.flagged).tolist() == WRONG.tolist()
    return report


# ------------------------------------------------------------------ repair


@pytest.mark.parametrize("labels", [Y, NAMES[Y], NAMES[Y].astype(object), Y.astype(np.int8), Y.astype(np.float32)])
def test_arrays(labels):
    rows, given = X.copy(), labels.copy()
    report = quickly(rows, given)
    same_rows, repaired = report.repair()
    assert same_rows is rows
    assert repaired.dtype == labels.dtype
    assert repaired.tolist() == righted(labels).tolist()
    fewer, rest = report.repair("drop")
    np.testing.assert_array_equal(fewer, X[KEPT])
    np.testing.assert_array_equal(rest, labels[KEPT])
    assert rest.dtype == labels.dtype
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(given, labels)


def test_lists():
    labels = NAMES[Y].tolist()
    _, repaired = quickly(X.tolist(), labels).repair()
    assert repaired.tolist() == NAMES[CLEAN].tolist()
    assert labels == NAMES[Y].tolist()


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows(container):
    rows = container(X)
    report = quickly(rows, Y, scale=None, gammas=[0.02])
    assert report.repair()[0] is rows
    fewer, rest = report.repair("drop")
    assert isinstance(fewer, container)
    np.testing.assert_array_equal(fewer.toarray(), X[KEPT])
    np.testing.assert_array_equal(rest, Y[KEPT])


@pytest.mark.parametrize("labels", [Y, NAMES[Y], Y.astype(np.int8), Y.astype(np.float32)], ids=str)
def test_a_column_of_a_DataFrame(labels):
    table = FRAME.assign(kind=labels)[["a", "kind", "b", "c", "d"]]
    before = table.copy()
    report = quickly(table, "kind")
    expected = before.copy()
    expected["kind"] = righted(labels)
    pd.testing.assert_frame_equal(report.repair(), expected)
    pd.testing.assert_frame_equal(report.repair("drop"), before.iloc[KEPT])
    pd.testing.assert_frame_equal(table, before)


def test_a_DataFrame_with_its_labels_beside_it():
    labels = pd.Series(NAMES[Y], index=FRAME.index)
    report = quickly(FRAME, labels)
    assert report.target is None
    same_rows, repaired = report.repair()
    assert same_rows is FRAME
    assert repaired.tolist() == NAMES[CLEAN].tolist()
    fewer, rest = report.repair("drop")
    pd.testing.assert_frame_equal(fewer, FRAME.iloc[KEPT])
    assert rest.tolist() == NAMES[Y[KEPT]].tolist()


@pytest.mark.parametrize("labels", [Y, NAMES[Y]], ids=["numbers", "text"])
def test_a_column_of_polars(labels):
    table = pl.DataFrame(dict(zip("abcd", X.T, strict=True)) | {"kind": labels.tolist(), "note": ["x"] * len(Y)})
    before = table.clone()
    report = quickly(table, "kind")
    repaired, fewer = report.repair(), report.repair("drop")
    assert repaired.schema == fewer.schema == table.schema
    values = CLEAN if labels is Y else NAMES[CLEAN]
    assert repaired["kind"].to_list() == values.tolist()
    assert repaired.drop("kind").equals(table.drop("kind"))
    assert fewer.equals(before[KEPT.tolist()])
    assert table.equals(before)
    rows, _ = quickly(table.drop("kind"), table["kind"]).repair("drop")
    assert rows.equals(before.drop("kind")[KEPT.tolist()])


def test_a_table():
    table = Table.of(dict(zip("abcd", X.T, strict=True)) | {"kind": NAMES[Y]}, "insects")
    report = quickly(table, "kind")
    repaired, fewer = report.repair(), report.repair("drop")
    assert repaired.names == fewer.names == table.names == [*"abcd", "kind"]
    assert repaired["kind"].tolist() == NAMES[CLEAN].tolist()
    assert fewer["kind"].tolist() == NAMES[Y[KEPT]].tolist()
    np.testing.assert_array_equal(fewer["b"], X[KEPT, 1])
    assert table["kind"].tolist() == NAMES[Y].tolist()


@pytest.mark.parametrize("kind_of_column", [np.asarray, list])
def test_a_dict_of_columns(kind_of_column):
    columns = {name: kind_of_column(column.tolist()) for name, column in zip("abcd", X.T, strict=True)}
    columns["kind"] = kind_of_column(NAMES[Y].tolist())
    report = quickly(columns, "kind")
    repaired, fewer = report.repair(), report.repair("drop")
    assert list(repaired) == list(fewer) == list(columns)
    assert list(repaired["kind"]) == NAMES[CLEAN].tolist()
    assert list(columns["kind"]) == NAMES[Y].tolist()
    np.testing.assert_array_equal(fewer["c"], X[KEPT, 2])


@pytest.mark.parametrize("form", ["npy", "parquet", "svm"])
def test_files_are_not_copied(tmp_path, form):
    path = str(tmp_path / f"rows.{form}")
    y: np.ndarray | str | None = Y
    if form == "npy":
        np.save(path, X)
    elif form == "svm":
        dump_svmlight_file(X, Y, path, zero_based=False)
        y = None
    else:
        FRAME.assign(kind=Y).to_parquet(path, index=False)
        y = "kind"
    report = quickly(path, y, scale="standard" if form != "svm" else None, gammas=[0.1 if form != "svm" else 0.02])
    rows, repaired = report.repair()
    assert rows == path
    np.testing.assert_array_equal(repaired, CLEAN)
    with pytest.raises(ValueError, match=r"rows are in files, which are not copied: .*sample_weight=~report.flagged"):
        report.repair("drop")


def test_a_memory_map_loses_rows_like_an_array(as_map):
    fewer, _ = quickly(as_map(X), Y).repair("drop")
    np.testing.assert_array_equal(fewer, X[KEPT])


def test_real_targets():
    report = quickly(X_REAL, Y_WILD)
    assert report.flagged[WILD].all()
    _, repaired = report.repair()
    np.testing.assert_array_equal(repaired[~report.flagged], Y_WILD[~report.flagged])
    np.testing.assert_array_equal(repaired[report.flagged], report.suggested[report.flagged])
    assert np.abs(repaired - Y_REAL)[WILD].mean() < 0.5
    fewer, rest = report.repair("drop")
    np.testing.assert_array_equal(fewer, X_REAL[~report.flagged])
    np.testing.assert_array_equal(rest, Y_WILD[~report.flagged])


def test_other_ways_are_refused():
    with pytest.raises(ValueError, match="Unknown way to repair 'remove': use one of 'relabel', 'drop'"):
        quickly(X, Y).repair("remove")


# ------------------------------------------------------------------ what is shown


def test_a_DataFrame_of_all_rows():
    report = quickly(FRAME, NAMES[Y])
    table = report.to_pandas()
    assert list(table) == ["given", "suggested", "score", "probability", "margin", "flagged"]
    assert table.index.equals(FRAME.index)
    assert table["given"].tolist() == NAMES[Y].tolist()
    assert table["suggested"].tolist() == NAMES[CLEAN].tolist()
    np.testing.assert_array_equal(table["score"], report.scores)
    np.testing.assert_array_equal(table["probability"], report.probability)
    np.testing.assert_array_equal(table["margin"], report.margin)
    assert table["flagged"].dtype == bool
    assert quickly(X, Y).to_pandas().index.equals(pd.RangeIndex(len(Y)))


def test_the_ranking_begins_with_the_most_suspicious():
    weights = np.ones(len(Y))
    weights[[1, 7]] = 0
    report = quickly(X, Y, sample_weight=weights)
    assert sorted(report.ranking.tolist()) == [i for i in range(len(Y)) if i not in (1, 7)]
    assert (np.diff(report.scores[report.ranking]) >= 0).all()
    assert set(report.ranking[: len(WRONG)].tolist()) == set(WRONG.tolist())


def test_counts_of_classes_add_up():
    report = quickly(X, NAMES[Y])
    counts = report.by_class
    assert list(counts) == NAMES.tolist()
    assert [count.n_rows for count in counts.values()] == np.bincount(Y).tolist()
    assert [count.n_flagged for count in counts.values()] == np.bincount(Y[WRONG], minlength=3).tolist()
    assert sum(count.n_wrong for count in counts.values()) == pytest.approx(report.n_wrong, abs=2)
    for count in [*counts.values(), report]:
        low, high = count.n_wrong_interval
        assert 0 <= low <= count.n_wrong <= high <= len(Y)
        assert isinstance(low, int)
        assert isinstance(count.n_wrong, int)


def test_what_is_printed():
    lines = repr(quickly(X, NAMES[Y])).splitlines()
    low, high = quickly(X, Y).n_wrong_interval
    assert lines[0] == f"150 rows: about 15 wrong labels ({low} to {high}), 15 flagged"
    assert sum("wrong, " in line and "flagged" in line for line in lines[1:]) == 3
    listed = [line for line in lines if line.startswith("  row ")]
    assert len(listed) == 10
    row = int(listed[0].split()[1].rstrip(":"))
    assert f"row {row}: {NAMES[Y[row]]}, suggested {NAMES[CLEAN[row]]}, right with probability" in listed[0]
    assert "wrong targets" in repr(quickly(X_REAL, Y_WILD)).splitlines()[0]


def test_a_report_without_suspects_is_one_line_and_its_classes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = suspects(X, CLEAN, **QUICK)
    lines = repr(report).splitlines()
    assert lines[0].startswith("150 rows: about 0 wrong labels (0 to ")
    assert len(lines) == 4
    np.testing.assert_array_equal(report.repair()[1], CLEAN)
    np.testing.assert_array_equal(report.repair("drop")[0], X)


def test_a_report_is_not_changed():
    report = quickly(X, Y)
    assert isinstance(report, SuspectReport)
    assert report.confidence == 0.95
    with pytest.raises(AttributeError):
        report.n_wrong = 3
