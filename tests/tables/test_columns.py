"""Columns of tables, DataFrames, dictionaries and arrays are numbers, or codes of texts."""

from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unisvm.tables.columns import TextColumn, named_columns, read_column


def place(row):
    return f"row {row}"


def entries(column):
    """Entries of a column as a list: numbers, or texts."""
    if isinstance(column, TextColumn):
        return [column.texts[code] for code in column.codes]
    return [None if np.isnan(number) else number for number in column.tolist()]


NUMBERS, TEXTS, TRUTHS = [1.0, None, 2.5], ["b", None, "a"], ["true", None, "false"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([1, None, 2.5], NUMBERS),
        ([Decimal(1), np.nan, Fraction(5, 2)], NUMBERS),
        (np.array([1, 2], dtype=np.uint8), [1.0, 2.0]),
        (np.array([1, np.nan], dtype=np.float32), [1.0, None]),
        (pd.Series([1, None, 2.5]), NUMBERS),
        (pd.Series([1, None, 3], dtype="Int64"), [1.0, None, 3.0]),
        (pl.Series([1.0, None, 2.5]), NUMBERS),
        (pl.Series([1, None, 3]), [1.0, None, 3.0]),
        (pa.chunked_array([[1, None, 3]]), [1.0, None, 3.0]),
        ([None, None], [None, None]),
        (["b", None, "a"], TEXTS),
        ([" b", "NA", "a "], TEXTS),
        (["b", float("nan"), "a"], TEXTS),
        (np.array(["b", "", "a"]), TEXTS),
        (pd.Series(["b", None, "a"]), TEXTS),
        (pd.Series(["b", None, "a"], dtype=object), TEXTS),
        (pd.Series(["b", None, "a"], dtype="category"), TEXTS),
        (pl.Series(["b", None, "a"]), TEXTS),
        (pl.Series(["b", None, "a"], dtype=pl.Categorical), TEXTS),
        (pa.chunked_array([["b", None], ["a"]]), TEXTS),
        (pd.Series([1, None, 2], dtype="Int64").astype("category"), ["1", None, "2"]),
        ([True, None, False], TRUTHS),
        (["TRUE", "", "False"], TRUTHS),
        (np.array([True, False]), ["true", "false"]),
        (pd.Series([True, None, False], dtype="boolean"), TRUTHS),
        (pd.Series([True, False]), ["true", "false"]),
        (pl.Series([True, None, False]), TRUTHS),
        (pd.Series(pd.to_datetime(["2020-01-31", None])).astype("datetime64[s]"), ["2020-01-31T00:00:00", None]),
        (pl.Series([date(2020, 1, 31), None]), ["2020-01-31", None]),
    ],
    ids=lambda given: f"{type(given).__module__}.{getattr(given, 'dtype', type(given).__name__)}",
)
def test_columns_of_any_library(given, expected):
    assert entries(read_column("a", given, place)) == expected


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ([1.0, np.inf], "row 1, column 'a': inf is infinity"),
        ([1, "x"], "The column 'a' has a number in row 0 and a text in row 1. Make all of it"),
        ([None, True, 1], "The column 'a' has a truth value in row 1 and a number in row 2"),
        ([1, [2]], "row 1, column 'a': the entry is of the type list; numbers or text were expected"),
        ([b"x"], "row 0, column 'a': the entry is of the type bytes"),
        (np.array([1j]), "The column 'a' has entries of the type complex128"),
        (np.ones((2, 2)), r"The column 'a' must have one dimension; its shape is \(2, 2\)"),
        ([10**400], "The column 'a' has a number that is too large"),
    ],
)
def test_columns_that_are_neither(given, match):
    with pytest.raises(ValueError, match=match):
        read_column("a", given, place)


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_tables_of_any_library(make):
    columns = named_columns(make({"a": [1, 2], "b": ["x", "y"]}))
    assert (columns.names, columns.n_rows) == (["a", "b"], 2)
    assert [entries(columns.get(j)) for j in range(2)] == [[1.0, 2.0], ["x", "y"]]


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "X has more than one column of the name 'a'"),
        ({"a": [1, 2], "b": [1]}, r"columns of X must have the same length, got \[1, 2\]"),
        ({}, "X must have at least one row and one column; it has 0 and 0"),
        (pd.DataFrame({"a": []}), "X must have at least one row and one column; it has 0 and 1"),
    ],
)
def test_tables_that_are_none(X, match):
    with pytest.raises(ValueError, match=match):
        named_columns(X)
