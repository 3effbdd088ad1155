"""The fitted state of an encoder as numbers, text, lists of text and arrays, which a file may hold, and back."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from unisvm._checks import is_integer, is_number
from unisvm.scaling import SCALES
from unisvm.tables.column_encoding import DROPPED, NUMBER, TEXT, ColumnEncoding

_FORMAT = 1
_MOST_ROWS = 2**62


class State(NamedTuple):
    """What a state says: parameters, names of columns if they have any, rows of training, and encodings."""

    parameters: dict[str, Any]
    names: list[str] | None
    n_rows: int
    encodings: list[ColumnEncoding]


def to_state(
    parameters: dict[str, Any], names: list[str] | None, n_rows: int, encodings: list[ColumnEncoding]
) -> dict[str, Any]:
    """The state as a dictionary: entries are JSON's values, or arrays."""
    share = float(parameters["indicator_share"])
    return {
        "format": _FORMAT,
        "scale": parameters["scale"],
        "max_categories": int(parameters["max_categories"]),
        # JSON has no infinity
        "indicator_share": share if np.isfinite(share) else None,
        "sparse_output": parameters["sparse_output"],
        "names": names,
        "n_rows": n_rows,
        "kinds": [encoding.kind for encoding in encodings],
        "n_missing": np.array([encoding.n_missing for encoding in encodings], dtype=np.int64),
        "medians": np.array([encoding.median for encoding in encodings]),
        "has_missing_column": np.array([encoding.has_missing_column for encoding in encodings]),
        "categories": [list(encoding.categories) for encoding in encodings],
        "reasons": [encoding.reason for encoding in encodings],
        "centres": np.array([encoding.centre for encoding in encodings]),
        "divisors": np.array([encoding.divisor for encoding in encodings]),
    }


def from_state(state: Any) -> State:
    """What a state says, whatever file it comes from. Raises ValueError unless it is one that `to_state` may give."""
    entries = _check_entries(state)
    n_rows, kinds = entries["n_rows"], _texts(entries, "kinds")
    n_columns = len(kinds)
    _check(is_integer(n_rows) and 1 <= n_rows < _MOST_ROWS, "n_rows is no number of rows")
    names = None if entries["names"] is None else _texts(entries, "names")
    if names is not None:
        _check(len(names) == len(set(names)) == n_columns, "names are not one of its own for each column")
    n_missing = _array(entries, "n_missing", "iu", n_columns)
    medians = _array(entries, "medians", "f", n_columns)
    has_missing_column = _array(entries, "has_missing_column", "b", n_columns)
    centres, divisors = (_array(entries, name, "f", n_columns) for name in ("centres", "divisors"))
    categories, reasons = entries["categories"], _texts(entries, "reasons")
    _check(isinstance(categories, list) and len(categories) == n_columns, "categories are not a list for each column")
    _check(len(reasons) == n_columns, "reasons are not one for each column")
    for name, numbers in (("medians", medians), ("centres", centres), ("divisors", divisors)):
        _check(bool(np.isfinite(numbers).all()), f"{name} are not finite")
    _check(bool((divisors > 0).all()), "divisors are not positive")
    _check(bool(((n_missing >= 0) & (n_missing <= n_rows)).all()), "n_missing is not between 0 and n_rows")
    encodings = [
        _encoding(
            kinds[j], int(n_missing[j]), float(medians[j]), bool(has_missing_column[j]), categories[j], reasons[j]
        )._replace(centre=float(centres[j]), divisor=float(divisors[j]))
        for j in range(n_columns)
    ]
    _check(any(encoding.kind != DROPPED for encoding in encodings), "all columns are dropped")
    share = entries["indicator_share"]
    parameters = {
        "scale": entries["scale"],
        "max_categories": entries["max_categories"],
        "indicator_share": np.inf if share is None else share,
        "sparse_output": entries["sparse_output"],
    }
    return State(parameters, names, int(n_rows), encodings)


def _check_entries(state: Any) -> dict[str, Any]:
    """The state, with the parameters checked, and none of its entries missing or more."""
    expected = to_state(
        {"scale": None, "max_categories": 1, "indicator_share": 1, "sparse_output": "auto"}, None, 1, []
    ).keys()
    _check(isinstance(state, dict), "it is no dictionary")
    _check(state.keys() == expected, f"its entries are not {', '.join(expected)}")
    _check(is_integer(state["format"]) and state["format"] == _FORMAT, f"its format is not {_FORMAT}")
    most, share, sparse_output = state["max_categories"], state["indicator_share"], state["sparse_output"]
    scale = state["scale"]
    _check(scale is None or (isinstance(scale, str) and scale in SCALES), "scale is unknown")
    _check(is_integer(most) and most >= 1, "max_categories is no positive integer")
    _check(share is None or (is_number(share) and 0 < share <= 1), "indicator_share is not in (0, 1]")
    is_known = isinstance(sparse_output, bool) or (isinstance(sparse_output, str) and sparse_output == "auto")
    _check(is_known, "sparse_output is not true, false or 'auto'")
    return state


def _encoding(
    kind: str, n_missing: int, median: float, has_missing_column: bool, categories: Any, reason: str
) -> ColumnEncoding:
    _check(kind in (NUMBER, TEXT, DROPPED), f"a column is of the kind {kind!r}")
    _check(_are_texts(categories), "categories are not texts")
    _check(all(a < b for a, b in pairwise(categories)), "categories are not sorted")
    _check(bool(categories) == (kind == TEXT), "categories are those of another kind of column")
    _check(not (kind == DROPPED and has_missing_column), "a dropped column has a column for missing values")
    _check(bool(reason) == (kind == DROPPED), "a reason is given for a column that is not dropped, or none")
    return ColumnEncoding(kind, n_missing, median, has_missing_column, list(categories), reason)


def _are_texts(entries: Any) -> bool:
    return isinstance(entries, list) and all(isinstance(entry, str) for entry in entries)


def _texts(entries: dict[str, Any], name: str) -> list[str]:
    _check(_are_texts(entries[name]), f"{name} is no list of texts")
    return list(entries[name])


def _array(entries: dict[str, Any], name: str, kinds: str, length: int) -> np.ndarray:
    array = entries[name]
    is_right = isinstance(array, np.ndarray) and array.dtype.kind in kinds and array.shape == (length,)
    _check(is_right, f"{name} is no array of {length} entries of its type")
    return array


def _check(is_right: bool, reason: str) -> None:
    """Raise for a state that is not right."""
    if not is_right:
        raise ValueError(f"This is no state of a TableEncoder: {reason}.")
