"""The encoder of tables with columns of numbers and of text."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from unisvm._checks import check_positive_integer, is_number, one_of
from unisvm._validation import unchanged_on_failure
from unisvm._warnings import FitWarning, warn_caller
from unisvm.distributed.collections import is_dask
from unisvm.io.files import is_path
from unisvm.scaling import SCALES
from unisvm.tables import encoder_state
from unisvm.tables.column_encoding import DROPPED, NUMBER, ColumnEncoding, Slot, Unseen, encode, learn
from unisvm.tables.columns import Columns, array_columns, is_named, named_columns

logger = logging.getLogger(__name__)

# fits to 10,000 rows of CSR with ten entries take as long as to arrays of 100 columns, and a third of the time of 1000
_WIDE, _SPARSE = 200, 0.1
# columns that a warning names
_TOLD = 5


class TableEncoder(TransformerMixin, BaseEstimator):
    """Matrix of floats from a table of columns that are numbers or text.

    A column of numbers stays one, with the median of training where an entry is missing. If at least a share
    `indicator_share` of its training entries is missing, a column of zeros and ones beside says where. A column of
    text, categories or truth values becomes a column of zeros and ones for each category of training, in sorted order,
    and one for missing entries if training had any. A category that training did not have is all zeros, with a warning.

    Columns are found by their names: their order may be another than in training, and others are passed over.
    Blanks around text, and the words for missing values that `read_table` knows, mean the same here.

    Parameters
    ----------
    max_categories : int, default=1000
        A column of more distinct texts is left out with a warning. So is one of more than 20 in which more than half
        of the texts are distinct, such as names, identifiers and dates.
    scale : {"standard", "minmax"} or None, default=None
        Bring columns of numbers to mean 0 and variance 1, or to the range from 0 to 1, by the entries of training.
        Columns of zeros and ones stay as they are: two rows of other categories are as far apart then as rows of a
        scaled column of numbers are on average.
    indicator_share : float, default=0.05
        In (0, 1], or inf for no columns that say where numbers are missing.
    sparse_output : bool or "auto", default="auto"
        Whether the matrix is CSR rather than an array. When "auto", it is with at least 200 columns if at most a tenth
        of a row is not 0.

    Attributes
    ----------
    encodings_ : list of ColumnEncoding
        `kind` ("number", "text" or "dropped"), `n_missing`, `median`, `has_missing_column`, `categories` and `reason`
        of each column.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns in training; arrays have none.
    n_features_in_ : int
    n_rows_ : int
        Of training.

    Examples
    --------
    >>> from unisvm.tables import TableEncoder
    >>> encoder = TableEncoder().fit({"age": [38, None, 40], "town": ["Ulm", "Bonn", "Ulm"]})
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age is missing', 'town=Bonn', 'town=Ulm']
    >>> encoder.transform({"town": ["Bonn", "Ulm"], "age": [20.5, None]})
    array([[20.5,  0. ,  1. ,  0. ],
           [39. ,  1. ,  0. ,  1. ]])
    >>> encoder.summary()
    ['age: 1 missing value → the median, 39', 'town: 2 categories']
    """

    def __init__(
        self,
        *,
        scale: str | None = None,
        max_categories: int = 1000,
        indicator_share: float = 0.05,
        sparse_output: bool | str = "auto",
    ):
        self.scale = scale
        self.max_categories = max_categories
        self.indicator_share = indicator_share
        self.sparse_output = sparse_output

    def fit(self, X: Any, y: Any = None) -> TableEncoder:
        """The encoder, with medians and categories of a table.

        Parameters
        ----------
        X : Table, DataFrame, dict of columns, or array-like of shape (n_rows, n_columns)
        y : None
            Not used.
        """
        self._check_parameters()
        with unchanged_on_failure(self):
            columns = self._columns(X, is_fit=True)
            encodings = [
                learn(columns.get(j), self.max_categories, self.indicator_share, self.scale)
                for j in range(len(columns.names))
            ]
            _tell_dropped(columns.names, encodings)
            self.encodings_, self.n_rows_ = encodings, columns.n_rows
        return self

    def transform(self, X: Any) -> Any:
        """Matrix of a table, of shape (n_rows, n_columns_out): an array, or CSR.

        Parameters
        ----------
        X : Table, DataFrame, dict of columns, or array-like of shape (n_rows, n_columns)
        """
        check_is_fitted(self)
        columns = self._columns(X, is_fit=False)
        slots: list[Slot] = []
        unseen: dict[str, Unseen] = {}
        start = 0
        for j, name, encoding in self._used(columns):
            found, not_seen = encode(name, columns.get(j), encoding, start, columns.place)
            slots += found
            start += encoding.width
            if not_seen is not None:
                unseen[name] = not_seen
        if unseen:
            _tell_unseen(unseen, columns)
        if self._is_sparse():
            return _sparse_matrix(slots, columns.n_rows, start)
        return _dense_matrix(slots, columns.n_rows, start)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of the matrix, such as "age", "age is missing" and "town=Ulm".

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns of an array; of a table, only those that it has.
        """
        check_is_fitted(self)
        names = self._names()
        if input_features is not None:
            given = [str(name) for name in input_features]
            if hasattr(self, "feature_names_in_") and given != names:
                raise ValueError(f"input_features is not equal to feature_names_in_: {names[:10]}.")
            if len(given) != len(names):
                raise ValueError(
                    f"input_features should have length equal to number of features ({len(names)}), got {len(given)}."
                )
            names = given
        out = [new for name, encoding in zip(names, self.encodings_, strict=True) for new in encoding.names(name)]
        return np.array(out, dtype=object)

    def summary(self) -> list[str]:
        """A line for each column of training that did not go in as it was: missing values, categories, dropped."""
        check_is_fitted(self)
        pairs = zip(self._names(), self.encodings_, strict=True)
        return [f"{name}: {said}" for name, encoding in pairs if (said := _described(encoding))]

    def unused_columns(self, X: Any) -> list[str]:
        """Names of the columns of a table that `transform` passes over, as training did not have them.

        Parameters
        ----------
        X : Table, DataFrame, or dict of columns
        """
        check_is_fitted(self)
        known = set(self._names())
        return [name for name in named_columns(X).names if name not in known] if is_named(X) else []

    def to_state(self) -> dict[str, Any]:
        """The parameters and what was fitted: numbers, text, lists of text, and arrays, for a file of a model."""
        check_is_fitted(self)
        names = self._names() if hasattr(self, "feature_names_in_") else None
        return encoder_state.to_state(self.get_params(), names, self.n_rows_, self.encodings_)

    @classmethod
    def from_state(cls, state: Any) -> TableEncoder:
        """The encoder that `to_state` was called of. Raises ValueError for what is no such state.

        Parameters
        ----------
        state : dict
        """
        parameters, names, n_rows, encodings = encoder_state.from_state(state)
        encoder = cls(**parameters)
        encoder._check_parameters()
        encoder.encodings_, encoder.n_rows_, encoder.n_features_in_ = encodings, n_rows, len(encodings)
        if names is not None:
            encoder.feature_names_in_ = np.array(names, dtype=object)
        return encoder

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _check_parameters(self) -> None:
        if self.scale is not None:
            one_of("scale", self.scale, SCALES)
        check_positive_integer("max_categories", self.max_categories)
        share = self.indicator_share
        if share != np.inf and not (is_number(share) and 0 < share <= 1):
            raise ValueError(f"indicator_share must be a number in (0, 1], or inf; got {share!r}.")
        if not (isinstance(self.sparse_output, bool) or self.sparse_output == "auto"):
            raise ValueError(f"sparse_output must be True, False or 'auto', got {self.sparse_output!r}.")

    def _columns(self, X: Any, *, is_fit: bool) -> Columns:
        """The columns of X, whose number and names a fit remembers."""
        if is_dask(X):
            raise TypeError("X is a Dask collection, which TableEncoder does not take: give X.compute().")
        if is_path(X):
            raise TypeError(f"X is a path: give the table that is there, read_table({str(X)!r}).")
        if is_named(X):
            columns = named_columns(X)
            if is_fit:
                self.n_features_in_ = len(columns.names)
                self.feature_names_in_ = np.array(columns.names, dtype=object)
            elif not hasattr(self, "feature_names_in_"):
                raise ValueError("The encoder was fitted on an array, whose columns have no names: give an array.")
            return columns
        if isinstance(X, list):
            # numbers beside text would be text in an array of NumPy's choice
            X = np.array(X, dtype=object)
        X = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=is_fit)
        return array_columns(X, self._names())

    def _names(self) -> list[str]:
        if hasattr(self, "feature_names_in_"):
            return self.feature_names_in_.tolist()
        return [f"x{j}" for j in range(self.n_features_in_)]

    def _used(self, columns: Columns) -> Iterator[tuple[int, str, ColumnEncoding]]:
        """Index among the given columns, name and encoding of each column that is not dropped."""
        index = {name: j for j, name in enumerate(columns.names)}
        used = [pair for pair in zip(self._names(), self.encodings_, strict=True) if pair[1].kind != DROPPED]
        missing = [name for name, _ in used if name not in index]
        if missing:
            raise ValueError(
                f"X lacks columns of training: {', '.join(map(repr, missing[:10]))}. It has "
                f"{', '.join(map(repr, columns.names[:10]))}."
            )
        further = index.keys() - set(self._names())
        if further:
            logger.info("Columns that training did not have are passed over: %s", ", ".join(sorted(further)))
        for name, encoding in used:
            yield index[name], name, encoding

    def _is_sparse(self) -> bool:
        if isinstance(self.sparse_output, bool):
            return self.sparse_output
        width = sum(encoding.width for encoding in self.encodings_)
        return width >= _WIDE and sum(encoding.filled for encoding in self.encodings_) <= _SPARSE * width


def _tell_dropped(names: list[str], encodings: list[ColumnEncoding]) -> None:
    """Warn of columns that are left out. Raises if all are."""
    dropped = [
        f"{name!r} ({encoding.reason})"
        for name, encoding in zip(names, encodings, strict=True)
        if encoding.kind == DROPPED
    ]
    if len(dropped) == len(encodings):
        raise ValueError(f"No column of X can be used: {_first(dropped)}.")
    if dropped:
        warn_caller(
            f"Columns are left out: {_first(dropped)}. Texts of which most are distinct, such as names, identifiers "
            "and dates, are no categories: make numbers of them, or leave them out of the table.",
            FitWarning,
        )


def _tell_unseen(unseen: dict[str, Unseen], columns: Columns) -> None:
    """Warn of entries that become zeros."""
    described = [
        f"{name!r} has {n_entries:,} ({'a missing value' if text is None else repr(text)} in {columns.place(row)})"
        for name, (n_entries, text, row) in unseen.items()
    ]
    warn_caller(
        f"Entries of categories that training did not have are all zeros: {_first(described)}.",
        UserWarning,
    )


def _first(described: list[str]) -> str:
    more = len(described) - _TOLD
    return ", ".join(described[:_TOLD]) + (f" and {more} more" if more > 0 else "")


def _described(encoding: ColumnEncoding) -> str:
    n_missing = encoding.n_missing
    missing = f"{n_missing:,} missing {'value' if n_missing == 1 else 'values'}"
    if encoding.kind == DROPPED:
        return f"left out, {encoding.reason}"
    if encoding.kind == NUMBER:
        return f"{missing} → the median, {encoding.median:g}" if n_missing else ""
    n_categories = len(encoding.categories)
    described = f"{n_categories:,} {'category' if n_categories == 1 else 'categories'}"
    return f"{described}, and {missing} → one of their own" if n_missing else described


def _dense_matrix(slots: list[Slot], n_rows: int, width: int) -> np.ndarray:
    matrix = np.zeros((n_rows, width))
    for columns, values in slots:
        if isinstance(columns, int):
            matrix[:, columns] = values
        else:
            rows = np.flatnonzero(values)
            matrix[rows, columns[rows]] = values[rows]
    return matrix


def _sparse_matrix(slots: list[Slot], n_rows: int, width: int) -> sparse.csr_array:
    # the columns of later slots are larger, so that the indices of a row rise
    values = np.column_stack([slot.values for slot in slots])
    indices = np.column_stack([np.broadcast_to(slot.columns, n_rows) for slot in slots]).astype(np.int32)
    filled = values != 0
    bounds = np.concatenate([[0], np.cumsum(filled.sum(axis=1))])
    return sparse.csr_array((values[filled], indices[filled], bounds), shape=(n_rows, width))
