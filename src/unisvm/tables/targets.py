"""The target of a table: the column that is predicted, and the task that it asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from unisvm._checks import is_integer, one_of
from unisvm.io.table import Table, is_missing

#: names of a target that need not be given, in any case of letters
USUAL_NAMES = ("target", "label", "class", "y")
# whole numbers of more distinct values are no classes, nor are those of which each occurs in fewer rows
_MOST_CLASSES, _LEAST_ROWS_OF_A_CLASS = 20, 10
# text that is longer is no name of a class
_LONGEST_LABEL = 200


def split_target(table: Table, target: str | int | None = None, *, missing: str = "error") -> tuple[Table, np.ndarray]:
    """The table without its target, and the target.

    Parameters
    ----------
    table : Table
    target : str or int, optional
        The name of a column, "first" or "last"; without a header also the number of a column, from 1 on. When None, the
        column that is named target, label, class or y, in any case of letters.
    missing : {"error", "drop"}, default="error"
        Whether rows without a target are an error, or left out of both.

    Returns
    -------
    rest : Table
    y : ndarray of shape (n_rows,)
        Text; int64 if all are whole numbers; float64 for other numbers.

    Examples
    --------
    >>> import io
    >>> from unisvm.tables import read_table, split_target
    >>> table = read_table(io.BytesIO(b"size,label\\n1.5,red\\n2.5,blue\\n"))
    >>> rest, y = split_target(table)
    >>> rest.names, y
    (['size'], array(['red', 'blue'], dtype='<U4'))
    """
    one_of("value of missing", missing, ("error", "drop"))
    name = target_name(table, target)
    column = table[name]
    absent = is_missing(column)
    if absent.all():
        raise ValueError(f"The target {name!r} of {table.source} is missing in all {table.n_rows:,} rows.")
    if absent.any():
        if missing == "error":
            row, n_missing = int(absent.argmax()), int(absent.sum())
            raise ValueError(
                f"{table.place(row)}, column {name!r}: the target is missing, as in {n_missing:,} of "
                f"{table.n_rows:,} rows. Fill it in, or have such rows left out: missing='drop', on the command line "
                "--drop-unlabelled."
            )
        table = table.take_rows(~absent)
        column = table[name]
    rest = table.without([name])
    if not rest.names:
        raise ValueError(f"{table.source} has no columns beside the target {name!r}.")
    return rest, _target(table, name, column)


def usual_targets(names: list[str]) -> list[str]:
    """Those of the names that a target usually has."""
    return [name for name in names if name.lower() in USUAL_NAMES]


def target_name(table: Table, target: str | int | None) -> str:
    """The name of the target's column."""
    names = table.names
    if target is None:
        usual = usual_targets(names)
        if len(usual) == 1:
            return usual[0]
        reason = (
            f"has {len(usual)} columns named like one" if usual else "has no column named target, label, class or y"
        )
        ways = "its name" if table.has_header else "its number"
        raise ValueError(
            f"Say which column is the target, by {ways}, 'first' or 'last': {table.source} {reason}. Its columns are "
            f"{_list(names)}."
        )
    if isinstance(target, str) and target in names:
        return target
    if target == "first":
        return names[0]
    if target == "last":
        return names[-1]
    number = int(target) if is_integer(target) or (isinstance(target, str) and target.isdecimal()) else None
    if number is None:
        return one_of(f"column of {table.source}", str(target), names, ("first", "last"))
    if table.has_header:
        raise ValueError(
            f"The target {target!r} is no column of {table.source}, which has names: give one of {_list(names)}."
        )
    if not 1 <= number <= len(names):
        raise ValueError(f"The target is column {number}, but {table.source} has columns 1 to {len(names)}.")
    return names[number - 1]


def _target(table: Table, name: str, column: np.ndarray) -> np.ndarray:
    """Targets without missing ones: text, whole numbers, or numbers."""
    if column.dtype == object:
        longest = max(range(len(column)), key=lambda row: len(column[row]))
        if len(column[longest]) > _LONGEST_LABEL:
            raise ValueError(
                f"{table.place(longest)}, column {name!r}: a text of {len(column[longest]):,} characters is no name of "
                f"a class, which may have {_LONGEST_LABEL}. Is another column the target?"
            )
        return column.astype(str)
    is_whole = (column == np.floor(column)).all() and np.abs(column).max() < 2**53
    return column.astype(np.int64) if is_whole else column


def guess_task(y: Any) -> str:
    """The task that targets ask for: "classification" or "regression".

    Text and truth values are classes. So are two distinct whole numbers, and more of them if there are at most 20,
    and at least ten rows for each. Other numbers are real targets.

    Parameters
    ----------
    y : array-like of shape (n_rows,)

    Examples
    --------
    >>> from unisvm.tables import guess_task
    >>> guess_task(["yes", "no"]), guess_task([1.5, 2.25, 4.0])
    ('classification', 'regression')
    """
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(f"y must have one dimension; its shape is {y.shape}.")
    if y.dtype.kind not in "iuf":
        return "classification"
    distinct = np.unique(y)
    is_whole = bool((distinct == np.floor(distinct)).all())
    is_few = len(distinct) <= max(2, min(_MOST_CLASSES, len(y) / _LEAST_ROWS_OF_A_CLASS))
    return "classification" if is_whole and is_few else "regression"


def _list(names: list[str]) -> str:
    """The first names."""
    return ", ".join(map(repr, names[:20])) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
