"""A table of columns that are numbers or text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unisvm._checks import one_of


def is_missing(column: np.ndarray) -> np.ndarray:
    """Whether each entry of a column of numbers or objects is missing."""
    return np.array([entry is None for entry in column], dtype=bool) if column.dtype == object else np.isnan(column)


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Columns of numbers and of text, by their names.

    Attributes
    ----------
    names : list of str
        "column 1", "column 2", … where the file has no header.
    columns : list of ndarray of shape (n_rows,)
        float64 with NaN for missing values, or objects: str, with None for missing values.
    n_rows : int
    has_header : bool
    source : str
        Where the table is from, for messages.
    lines : sequence of int
        Line of the file that each row begins in.
    unit : str
        What `lines` counts: rows where a file has no lines.

    Examples
    --------
    >>> import io
    >>> from unisvm.tables import read_table
    >>> table = read_table(io.BytesIO(b"size,colour\\n1.5,red\\nNA,blue\\n"))
    >>> table.names, table["size"], table["colour"]
    (['size', 'colour'], array([1.5, nan]), array(['red', 'blue'], dtype=object))
    """

    names: list[str]
    columns: list[np.ndarray]
    n_rows: int
    has_header: bool
    source: str
    lines: Sequence[int] | np.ndarray
    unit: str = "line"

    @classmethod
    def of(cls, columns: dict[str, np.ndarray], source: str) -> Table:
        """Table of these columns of numbers or objects, which are no text of a file."""
        n_rows = len(next(iter(columns.values())))
        return cls(list(columns), list(columns.values()), n_rows, True, source, range(n_rows), unit="row")

    def __repr__(self) -> str:
        return f"<Table of {self.n_rows} rows and {len(self.names)} columns from {self.source}>"

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, name: str) -> np.ndarray:
        """The column of that name."""
        one_of(f"column of {self.source}", name, self.names)
        return self.columns[self.names.index(name)]

    def without(self, names: Collection[str]) -> Table:
        """The table without some columns."""
        for name in names:
            one_of(f"column of {self.source}", name, self.names)
        kept = [i for i, name in enumerate(self.names) if name not in names]
        return replace(self, names=[self.names[i] for i in kept], columns=[self.columns[i] for i in kept])

    def take_rows(self, rows: np.ndarray) -> Table:
        """The table of some rows, by their indices or a mask."""
        columns, lines = [column[rows] for column in self.columns], np.asarray(self.lines)[rows]
        return replace(self, columns=columns, lines=lines, n_rows=len(lines))

    def with_column(self, name: str, values: np.ndarray) -> Table:
        """The table with other entries in a column, which stays where it is."""
        one_of(f"column of {self.source}", name, self.names)
        columns = list(self.columns)
        columns[self.names.index(name)] = values
        return replace(self, columns=columns)

    def place(self, row: int) -> str:
        """Name of a row in messages: its line in the file."""
        return f"{self.source}, {self.unit} {self.lines[row]}"
