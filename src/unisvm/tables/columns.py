"""The columns of a table, a DataFrame, a dictionary or an array, as numbers and as codes of texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from unisvm.io.entries import TextCodes
from unisvm.io.table import Table

# what a DataFrame has in place of a missing value, by the name of its type, as the library may not be there
_MISSING_TYPES = {"NoneType", "NAType", "NaTType"}
_TRUTH_VALUES = ("false", "true")


class TextColumn(NamedTuple):
    """Entries that are text, each text once.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,)
        0 where the entry is missing.
    texts : list of str or None
        The text of each code; None is the first. True and false are in small letters, so that they may be there twice.
    """

    codes: np.ndarray
    texts: list[str | None]


#: numbers in float64 with NaN for missing values, or text
Column = np.ndarray | TextColumn


class Columns(NamedTuple):
    """Columns by their names.

    Attributes
    ----------
    names : list of str
    n_rows : int
    get : callable
        The column of an index. Raises ValueError if it is neither numbers nor text.
    place : callable
        Name of a row in messages, by its index.
    """

    names: list[str]
    n_rows: int
    get: Callable[[int], Column]
    place: Callable[[int], str]


def is_named(X: Any) -> bool:
    """Whether it has columns with names: a table, a DataFrame, or a dictionary of columns."""
    return isinstance(X, Table | dict) or (hasattr(X, "columns") and hasattr(X, "__getitem__"))


def named_columns(X: Any) -> Columns:
    """The columns of a table, a DataFrame of pandas or polars, or a dictionary."""
    if isinstance(X, Table):
        names, n_rows, given = X.names, X.n_rows, X.columns
    else:
        keys = list(X) if isinstance(X, dict) else list(X.columns)
        if any(hasattr(key, "to_numpy") for key in keys):
            # the columns themselves, of pyarrow
            keys = list(X.column_names)
        names = [str(key) for key in keys]
        twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if twice:
            raise ValueError(f"X has more than one column of the name {twice[0]!r}.")
        given = [X[key] for key in keys]
        lengths = {len(column) for column in given}
        if len(lengths) > 1:
            raise ValueError(f"The columns of X must have the same length, got {sorted(lengths)}.")
        n_rows = lengths.pop() if lengths else 0
    if n_rows == 0 or not names:
        raise ValueError(f"X must have at least one row and one column; it has {n_rows} and {len(names)}.")
    place = X.place if isinstance(X, Table) else _row
    return Columns(names, n_rows, lambda j: read_column(names[j], given[j], place), place)


def array_columns(X: np.ndarray, names: list[str]) -> Columns:
    """The columns of an array of two dimensions."""
    return Columns(names, len(X), lambda j: read_column(names[j], X[:, j], _row), _row)


def _row(row: int) -> str:
    return f"row {row}"


def read_column(name: str, column: Any, place: Callable[[int], str]) -> Column:
    """A column of any library as numbers, or as text; truth values and categories are text."""
    entries = _entries(name, column)
    if entries.dtype.kind in "iuf":
        values = entries.astype(np.float64)
        infinite = np.isinf(values)
        if infinite.any():
            row = int(infinite.argmax())
            raise ValueError(
                f"{place(row)}, column {name!r}: {entries[row]} is infinity, a finite number was expected."
            )
        return values
    if entries.dtype.kind == "b":
        return TextColumn(entries.astype(np.int32) + 1, [None, "false", "true"])
    if entries.dtype.kind in "Mm":
        texts = np.where(np.isnat(entries), "", entries.astype(str))
        return _texts(texts.tolist())
    if entries.dtype.kind == "U":
        return _texts(entries.tolist())
    if entries.dtype.kind in "OT":
        return _objects(name, entries.tolist(), place)
    raise ValueError(f"The column {name!r} has entries of the type {entries.dtype}; numbers or text were expected.")


def _entries(name: str, column: Any) -> np.ndarray:
    """The entries of a column as an array of one dimension; a list as objects."""
    kind = str(getattr(column, "dtype", ""))
    if kind == "category" and hasattr(column, "astype"):
        # numbers that are categories are not to be reckoned with
        column = np.array([None if _is_missing(entry) else str(entry) for entry in column.astype(object)], dtype=object)
    elif hasattr(column, "to_numpy"):
        column = column.to_numpy()
    elif not isinstance(column, np.ndarray):
        given = list(column)
        column = np.empty(len(given), dtype=object)
        column[:] = given
    entries = np.asarray(column)
    if entries.ndim != 1:
        raise ValueError(f"The column {name!r} must have one dimension; its shape is {entries.shape}.")
    return entries


def _texts(entries: Sequence[Any]) -> TextColumn:
    codes = TextCodes()
    numbers = codes.encode(entries)
    texts = codes.texts
    return TextColumn(numbers, [text.lower() if text and text.lower() in _TRUTH_VALUES else text for text in texts])


def _objects(name: str, entries: list[Any], place: Callable[[int], str]) -> Column:
    """A column of Python's objects, which must be of one kind beside missing ones."""
    # of few types, however many entries there are
    kinds = {kind: _kind(kind) for kind in set(map(type, entries))}
    if kinds.keys() <= {str, type(None)} and str in kinds:
        return _texts(entries)
    unknown = [kind for kind, known in kinds.items() if known == ""]
    if unknown:
        row = next(i for i, entry in enumerate(entries) if type(entry) is unknown[0])
        raise ValueError(
            f"{place(row)}, column {name!r}: the entry is of the type {unknown[0].__name__}; numbers or text were "
            "expected."
        )
    present = [None if _is_missing(entry) else entry for entry in entries]
    first: dict[str, int] = {}
    for row, entry in enumerate(present):
        if entry is not None:
            first.setdefault(kinds[type(entry)], row)
    if len(first) > 1:
        described = " and ".join(f"a {kind} in {place(row)}" for kind, row in first.items())
        raise ValueError(f"The column {name!r} has {described}. Make all of it numbers, or all of it text.")
    if first.keys() == {"text"}:
        return _texts(present)
    if first.keys() == {"truth value"}:
        return _texts([None if entry is None else str(entry) for entry in present])
    try:
        values = np.array([np.nan if entry is None else float(entry) for entry in present])
    except OverflowError:
        raise ValueError(f"The column {name!r} has a number that is too large.") from None
    return read_column(name, values, place)


def _is_missing(entry: Any) -> bool:
    return type(entry).__name__ in _MISSING_TYPES or entry != entry


def _kind(kind: type) -> str:
    """The kind of entries of a type; empty for what no column may have."""
    if kind.__name__ in _MISSING_TYPES:
        return "missing"
    if issubclass(kind, bool | np.bool_):
        return "truth value"
    if issubclass(kind, str):
        return "text"
    return "number" if issubclass(kind, Real | Decimal) else ""
