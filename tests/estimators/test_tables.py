"""Tables of pandas, polars and pyarrow: those of numbers are fitted, and errors about others name the column."""

import datetime
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from unisvm import UniSVMClassifier, UniSVMClassifierCV
from unisvm.feature_selection import SparseUniSVMClassifier

rng = np.random.RandomState(0)
A, B = rng.randn(2, 60)
y = (A > 0).astype(int)
COLOURS = np.where(B > 0, "red", "green")
FRAME = pd.DataFrame({"a": A, "b": B})

OF_NUMBERS = {
    "pandas": FRAME,
    "pandas nullable": FRAME.astype("Float64"),
    "pandas of arrow": FRAME.astype("float64[pyarrow]"),
    "pandas objects": FRAME.astype(object),
    "polars": pl.DataFrame({"a": A, "b": B}),
    "pyarrow": pa.table({"a": A, "b": B}),
}
WITH_TEXT = {
    "pandas": FRAME.assign(colour=COLOURS),
    "pandas string": FRAME.assign(colour=pd.array(COLOURS, dtype="string")),
    "pandas categorical": FRAME.assign(colour=pd.Categorical(COLOURS)),
    "polars": pl.DataFrame({"a": A, "b": B, "colour": COLOURS}),
    "polars categorical": pl.DataFrame({"a": A, "b": B, "colour": pl.Series(COLOURS, dtype=pl.Categorical)}),
    "pyarrow": pa.table({"a": A, "b": B, "colour": COLOURS}),
}


@pytest.fixture
def model():
    return UniSVMClassifier(C=1.0, random_state=0)


@pytest.mark.parametrize("table", OF_NUMBERS.values(), ids=OF_NUMBERS)
def test_a_table_of_numbers_is_the_array(model, table):
    held = model.fit(FRAME, y).decision_function(FRAME)
    model.fit(table, y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    np.testing.assert_allclose(model.decision_function(table), held)


def test_columns_of_categories_that_are_numbers_and_of_truth(model):
    table = FRAME.assign(kind=pd.Categorical(y), large=pd.array(B > 1, dtype="boolean"), n=pd.array(y, dtype="Int64"))
    expected = model.fit(table.astype(float), y).predict(table.astype(float))
    np.testing.assert_array_equal(model.fit(table, y).predict(table), expected)


@pytest.mark.parametrize("table", WITH_TEXT.values(), ids=WITH_TEXT)
def test_a_column_of_text_is_named(model, table):
    said = re.escape(f"The column 'colour' of X does not hold numbers: {str(COLOURS[0])!r} is one of its values.")
    for estimator in (model, UniSVMClassifierCV(), SparseUniSVMClassifier()):
        with pytest.raises(ValueError, match=rf"{said} .*OneHotEncoder"):
            estimator.fit(table, y)
    model.fit(FRAME.assign(colour=B), y)
    with pytest.raises(ValueError, match=said):
        model.predict(table)


@pytest.mark.parametrize(
    "when", [pd.date_range("2020-01-01", periods=60), [datetime.date(2020, 1, 1)] * 60], ids=["times", "dates"]
)
def test_a_column_of_dates_is_named(model, when):
    with pytest.raises(ValueError, match="The column 'when' of X does not hold numbers: '2020-01-01"):
        model.fit(FRAME.assign(when=when), y)


def test_a_column_of_an_array_has_an_index(model):
    with pytest.raises(ValueError, match="The column 2 of X does not hold numbers: 'green' is one of its values"):
        model.fit(np.column_stack([A, B, COLOURS]), y)


def test_text_that_is_a_number_is_one(model):
    held = model.fit(FRAME, y).predict(FRAME)
    np.testing.assert_array_equal(model.fit(FRAME.astype(str).astype(object), y).predict(FRAME), held)


def test_other_errors_are_as_they_were(model):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(FRAME.astype(object), y[:5])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(FRAME.assign(a=pd.array([None, *A[1:]], dtype="Float64")), y)


def test_a_table_that_is_not_computed_yet(model):
    lazy = pl.DataFrame({"a": A, "b": B}).lazy()
    with pytest.raises(TypeError, match=r"X is a polars LazyFrame, which holds no numbers yet. Give X.collect\(\)"):
        model.fit(lazy, y)
    with pytest.raises(TypeError, match=r"Give y.collect\(\)"):
        model.fit(lazy.collect(), lazy)
    model.fit(lazy.collect(), y)
    for use in (model.predict, model.score):
        with pytest.raises(TypeError, match=r"Give X.collect\(\)"):
            use(lazy)
