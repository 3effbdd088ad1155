"""The encoder of tables: its matrix, compared with scikit-learn's transformers, its warnings and its refusals."""

import io
import logging
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from unisvm import FitWarning, UniSVMClassifier
from unisvm.tables import TableEncoder, read_table, split_target

TABLE = {"age": [38, None, 40, 52], "town": ["Ulm", "Bonn", None, "Ulm"], "is_new": [True, False, True, True]}
OUT = ["age", "age is missing", "town=Bonn", "town=Ulm", "town is missing", "is_new=false", "is_new=true"]
MATRIX = [[38, 0, 0, 1, 0, 0, 1], [40, 1, 1, 0, 0, 1, 0], [40, 0, 0, 0, 1, 0, 1], [52, 0, 0, 1, 0, 0, 1]]


@pytest.fixture
def encoder():
    return TableEncoder().fit(TABLE)


# ------------------------------------------------------------------ the matrix


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, lambda t: pd.DataFrame(t).astype(object)])
def test_the_matrix_of_a_small_table(make):
    encoder = TableEncoder().fit(make(TABLE))
    np.testing.assert_array_equal(encoder.transform(make(TABLE)), MATRIX)
    assert encoder.get_feature_names_out().tolist() == OUT
    assert encoder.n_features_in_ == 3
    assert encoder.feature_names_in_.tolist() == list(TABLE)


def test_a_file_and_a_data_frame_of_it_give_the_same_matrix(tmp_path):
    path = tmp_path / "table.csv"
    frame = pd.DataFrame(TABLE)
    frame.to_csv(path, index=False)
    table = read_table(path)
    for trained, other in [(table, frame), (frame, table), (table, pd.read_csv(path)), (table, pl.read_csv(path))]:
        np.testing.assert_array_equal(TableEncoder().fit(trained).transform(other), MATRIX)


COLUMNS = st.integers(3, 15).flatmap(
    lambda n: st.lists(
        st.one_of(
            st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-5, 5)), min_size=n, max_size=n),
            st.lists(st.sampled_from([None, "a", "b", "c", "dd"]), min_size=n, max_size=n),
        ),
        min_size=1,
        max_size=5,
    )
)


@settings(deadline=None, max_examples=150)
@given(COLUMNS, st.booleans())
def test_random_tables_are_encoded_as_scikit_learn_encodes_them(columns, is_sparse):
    columns = [column for column in columns if any(entry is not None for entry in column)]
    if not columns:
        return
    frame = pd.DataFrame({f"c{j}": column for j, column in enumerate(columns)})
    is_text = [any(isinstance(entry, str) for entry in column) for column in columns]
    steps = []
    for name, text in zip(frame, is_text, strict=True):
        if text:
            missing = SimpleImputer(strategy="constant", fill_value="~", missing_values=None)
            step = Pipeline([("missing", missing), ("codes", OneHotEncoder(sparse_output=False))])
            frame[name] = frame[name].astype(object).where(frame[name].notna(), None)
        else:
            frame[name] = frame[name].astype(float)
            # an indicator in all columns with missing values, behind the column
            step = SimpleImputer(strategy="median", add_indicator=True)
        steps.append((name, step, [name]))
    expected = ColumnTransformer(steps).fit_transform(frame)
    encoder = TableEncoder(indicator_share=1e-9, sparse_output=is_sparse)
    found = encoder.fit_transform(frame)
    assert sparse.issparse(found) == is_sparse
    np.testing.assert_allclose(found.toarray() if is_sparse else found, expected, rtol=1e-14)
    assert len(encoder.get_feature_names_out()) == expected.shape[1]


def test_missing_numbers_have_a_column_of_their_own_if_they_are_many():
    column = {"a": [None] * 4 + list(range(96))}
    for share, width in [(0.04, 2), (0.05, 1), (np.inf, 1)]:
        assert TableEncoder(indicator_share=share).fit_transform(column).shape == (100, width)


def test_missing_values_that_training_did_not_have_become_the_median():
    assert TableEncoder().fit({"a": [1, 2, 9]}).transform({"a": [None]}).tolist() == [[2.0]]


@pytest.mark.parametrize(("scale", "scaler"), [("standard", StandardScaler()), ("minmax", MinMaxScaler())])
def test_columns_of_numbers_are_scaled_and_the_others_are_not(rng, scale, scaler):
    numbers = {"a": 1e6 + rng.randn(50), "b": rng.randn(50) * 1e-3, "c": np.full(50, 7.0), "d": rng.randn(50)}
    numbers["d"][::5] = np.nan
    texts = {"town": rng.choice(["Ulm", "Bonn"], 50)}
    encoder = TableEncoder(scale=scale, indicator_share=np.inf).fit(numbers | texts)
    filled = SimpleImputer(strategy="median").fit_transform(np.column_stack(list(numbers.values())))
    expected = scaler.fit_transform(filled)
    found = encoder.transform(numbers | texts)
    np.testing.assert_allclose(found[:, :4], expected, atol=1e-6)
    np.testing.assert_array_equal(found[:, 4:], np.stack([texts["town"] == "Bonn", texts["town"] == "Ulm"], axis=1))
    new = {"a": [1e6 + 3.0, None], "b": [0.1, 0.2], "c": [8.0, None], "d": [None, 2.0], "town": ["Ulm", "Ulm"]}
    medians = np.median(np.column_stack([*list(numbers.values())[:3], filled[:, 3]]), axis=0)
    rows = np.array([[1e6 + 3.0, 0.1, 8.0, medians[3]], [medians[0], 0.2, 7.0, 2.0]])
    np.testing.assert_allclose(encoder.transform(new)[:, :4], scaler.transform(rows), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_huge_and_tiny_numbers_are_scaled_to_finite_ones(scale):
    table = {"huge": [1e308, -1e308, 0.0], "tiny": [5e-324, 0.0, 1e-323], "far": [1e300, 1e300 * (1 + 1e-15), 1e300]}
    assert np.isfinite(TableEncoder(scale=scale).fit_transform(table)).all()


def test_numbers_far_from_0_keep_their_digits(rng):
    far = 1e15 + np.round(30 * rng.randn(200))
    encoded = TableEncoder(scale="standard").fit_transform({"far": far}).ravel()
    np.testing.assert_allclose(encoded, (far - far.mean()) / far.std(), atol=0.02)
    np.testing.assert_allclose(np.diff(encoded), np.diff(far) / far.std(), rtol=1e-3)


def test_medians_of_huge_numbers():
    assert TableEncoder().fit({"a": [1.7e308, 1.6e308, None]}).encodings_[0].median == pytest.approx(1.65e308)


@pytest.mark.parametrize(("n_texts", "is_sparse"), [(20, False), (40, True)])
def test_wide_matrices_that_are_nearly_empty_are_sparse(n_texts, is_sparse):
    columns = {f"c{j}": [f"text{i % n_texts}" for i in range(200)] for j in range(6)}
    columns["number"] = list(range(200))
    matrix = TableEncoder().fit_transform(columns)
    assert sparse.issparse(matrix) == is_sparse
    dense = TableEncoder(sparse_output=False).fit_transform(columns)
    np.testing.assert_array_equal(matrix.toarray() if is_sparse else matrix, dense)
    if is_sparse:
        assert matrix.format == "csr"
        assert matrix.has_canonical_format


def test_constant_columns_are_kept():
    assert TableEncoder().fit_transform({"a": [1, 1], "b": ["x", "x"]}).tolist() == [[1, 1], [1, 1]]


# ------------------------------------------------------------------ columns at a transformation


def test_columns_are_found_by_their_names(encoder, caplog):
    given = {"id": [1, 2, 3, 4], **{name: TABLE[name] for name in reversed(TABLE)}}
    with caplog.at_level(logging.INFO, logger="unisvm"):
        np.testing.assert_array_equal(encoder.transform(given), MATRIX)
    assert "Columns that training did not have are passed over: id" in caplog.text
    assert encoder.unused_columns(given) == ["id"]
    assert encoder.unused_columns(TABLE) == []


def test_columns_that_are_missing(encoder):
    with pytest.raises(ValueError, match=r"X lacks columns of training: 'town', 'is_new'. It has 'age'"):
        encoder.transform({"age": [1]})


def test_text_where_numbers_were(encoder):
    table = read_table(io.BytesIO(b"age,town,is_new\n1,Ulm,true\nunknown,Ulm,true\n"), name="new.csv", text=["age"])
    with pytest.raises(ValueError, match=r"new.csv, line 3, column 'age': 'unknown' is no number, but the column was"):
        encoder.transform(table)
    # numbers that are written as text are numbers
    assert encoder.transform({**TABLE, "age": ["38", "NA", " 40", "52"]}).tolist() == MATRIX


def test_numbers_where_text_was():
    encoder = TableEncoder().fit({"code": ["12", "13", "A", "1.5"]})
    np.testing.assert_array_equal(encoder.transform({"code": [12, 13.0, 1.5]}), np.eye(4)[[1, 2, 0]])


def test_categories_that_training_did_not_have_are_told_of(encoder):
    given = {"age": [1, 2], "town": ["Köln", "Ulm"], "is_new": [None, True]}
    said = r"all zeros: 'town' has 1 \('Köln' in row 0\), 'is_new' has 1 \(a missing value in row 0\)"
    with pytest.warns(UserWarning, match=said):
        matrix = encoder.transform(given)
    assert matrix[0, 2:].tolist() == [0, 0, 0, 0, 0]
    assert matrix[1, 2:].tolist() == [0, 1, 0, 0, 1]


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ([f"name {i}" for i in range(50)], r"'a' \(50 distinct texts in 50 entries\)"),
        ([f"name {i % 30}" for i in range(50)], r"'a' \(30 distinct texts in 50 entries\)"),
        ([None] * 50, r"'a' \(all of it is missing\)"),
        ([np.nan] * 50, r"'a' \(all of it is missing\)"),
    ],
)
def test_columns_that_are_left_out_are_told_of(column, reason):
    encoder = TableEncoder()
    with pytest.warns(FitWarning, match=rf"Columns are left out: {reason}"):
        encoder.fit({"a": column, "b": range(50)})
    # nor need they be there later
    assert encoder.transform({"b": [3]}).tolist() == [[3.0]]
    with pytest.raises(ValueError, match=rf"No column of X can be used: {reason}"):
        TableEncoder().fit({"a": column})


def test_columns_of_many_texts_are_left_out():
    column = {"a": [f"{i % 30}" for i in range(100)], "b": range(100)}
    assert TableEncoder(max_categories=30).fit_transform(column).shape[1] == 31
    with pytest.warns(FitWarning, match="30 distinct texts in 100 entries"):
        assert TableEncoder(max_categories=29).fit_transform(column).shape[1] == 1


def test_small_tables_may_have_a_text_for_each_row():
    assert TableEncoder().fit_transform({"a": list("abc")}).tolist() == np.eye(3).tolist()


def test_the_summary(encoder):
    with pytest.warns(FitWarning):
        encoder = TableEncoder().fit(
            {
                "age": [None, *range(59)],
                "size": range(60),
                "town": ["Ulm", "Bonn", None] * 20,
                "kind": ["x"] * 60,
                "name": [f"name {i}" for i in range(60)],
            }
        )
    assert encoder.summary() == [
        "age: 1 missing value → the median, 29",
        "town: 2 categories, and 20 missing values → one of their own",
        "kind: 1 category",
        "name: left out, 60 distinct texts in 60 entries",
    ]


# ------------------------------------------------------------------ as an estimator


def test_scikit_learns_checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(TableEncoder(), on_fail=None)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []
    assert len(results) > 40


def test_a_pipeline_from_a_file_to_predictions(tmp_path, rng):
    size, colour = rng.randn(200), rng.choice(["red", "blue"], 200)
    frame = pd.DataFrame(
        {"size": size, "colour": colour, "label": np.where((size > 0) == (colour == "red"), "in", "out")}
    )
    frame.to_csv(tmp_path / "train.csv", index=False)
    table, y = split_target(read_table(tmp_path / "train.csv"))
    model = Pipeline([("columns", TableEncoder()), ("model", UniSVMClassifier(random_state=0))]).fit(table, y)
    assert model.score(frame.drop(columns="label"), y) > 0.95
    np.testing.assert_array_equal(model.predict(frame), model.predict(table))


def test_arrays_have_columns_by_their_places():
    X = np.array([[1.0, np.nan], [3.0, 4.0]])
    encoder = TableEncoder().fit(X)
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1", "x1 is missing"]
    assert encoder.get_feature_names_out(["a", "b"]).tolist() == ["a", "b", "b is missing"]
    assert encoder.transform(X.tolist()).tolist() == [[1, 4, 1], [3, 4, 0]]
    with pytest.raises(ValueError, match="fitted on an array, whose columns have no names"):
        encoder.transform({"a": [1], "b": [2]})
    with pytest.raises(ValueError, match=r"features \(2\), got 1"):
        encoder.get_feature_names_out(["a"])


def test_lists_of_rows_keep_numbers_beside_text():
    assert TableEncoder().fit_transform([[1, "a"], [4, "b"]]).tolist() == [[1, 1, 0], [4, 0, 1]]


def test_paths_are_to_be_read_first():
    with pytest.raises(TypeError, match=r"X is a path: give the table that is there, read_table\('a.csv'\)"):
        TableEncoder().fit("a.csv")


def test_names_are_those_of_training(encoder):
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        encoder.get_feature_names_out(["a", "b", "c"])
    encoder.fit(np.eye(3))
    assert not hasattr(encoder, "feature_names_in_")


def test_a_fit_that_fails_leaves_the_encoder_as_it_was(encoder):
    before = dict(vars(encoder))
    with pytest.raises(ValueError, match="infinity"):
        encoder.fit({"other": [np.inf]})
    assert vars(encoder) == before


def test_copies(encoder):
    for copy in (pickle.loads(pickle.dumps(encoder)), clone(encoder).fit(TABLE)):
        np.testing.assert_array_equal(copy.transform(TABLE), MATRIX)


def test_data_frames_as_output(encoder):
    encoder.set_output(transform="pandas")
    assert encoder.transform(TABLE).columns.tolist() == OUT


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"max_categories": 0}, "max_categories must be a positive integer, got 0"),
        ({"indicator_share": 0}, r"indicator_share must be a number in \(0, 1\], or inf; got 0"),
        ({"indicator_share": np.nan}, "indicator_share must be"),
        ({"scale": "robust"}, "Unknown scale 'robust'"),
        ({"sparse_output": "yes"}, "sparse_output must be True, False or 'auto', got 'yes'"),
    ],
)
def test_parameters(parameters, match):
    with pytest.raises(ValueError, match=match):
        TableEncoder(**parameters).fit(TABLE)


def test_an_encoder_that_is_not_fitted():
    for use in (lambda e: e.transform(TABLE), TableEncoder.summary, TableEncoder.to_state):
        with pytest.raises(NotFittedError):
            use(TableEncoder())


def test_dask_collections_are_refused():
    dataframe = pytest.importorskip("dask.dataframe")
    with pytest.raises(TypeError, match=r"give X.compute\(\)"):
        TableEncoder().fit(dataframe.from_pandas(pd.DataFrame(TABLE), npartitions=1))
