"""Tables of text: CSV, TSV and their like, read in one pass, or two where a column turns out to be text late."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from unisvm._checks import one_of
from unisvm._warnings import FitWarning, warn_caller
from unisvm.io.dialect import FEW_LINES, MAX_COLUMNS, Dialect, check_options, recognise
from unisvm.io.entries import parse_number
from unisvm.io.growing_columns import NumberColumn, TextColumn
from unisvm.io.row_batches import Batch, read_batches
from unisvm.io.table import Table
from unisvm.io.text_source import TextSource
from unisvm.memory_budget import parse_memory, readable

#: a column with a larger share of numbers, and some text, has wrong entries
_NUMBERS_BUT_FOR_SLIPS = 0.95
# of long lines, in which a dialect is recognised
_BEGINNING_CHARACTERS = 2**22


def read_table(
    source: Any,
    *,
    header: bool | str = "auto",
    delimiter: str = "auto",
    decimal: str = "auto",
    text: Sequence[str] = (),
    memory_limit: int | float | str | None = None,
    name: str | None = None,
) -> Table:
    """The columns of a table in a file of text (CSV, TSV), each of them numbers or text.

    Blanks around entries are taken away, and blank lines are passed over. An entry is missing if it is empty, "?", or
    one of pandas' words: NA, N/A, NaN, nan, null, NULL, None and the like. A column is numbers if all others of its
    entries are. If more than 95 % are, and some are not, the first of these is an error; with fewer numbers the column
    is text.

    Parameters
    ----------
    source : str, Path or binary stream
        UTF-8, or UTF-16 with its mark; plain or packed as .gz or .bz2, whatever its name. Standard input is
        ``sys.stdin.buffer``.
    header : bool or "auto", default="auto"
        Whether the first row has the names of the columns. When "auto", it does if it has text where a column has
        numbers below, or if all of the table is text.
    delimiter : str, default="auto"
        A character, or " " for blanks and tabs. When "auto", it is found in the first lines, among , ; | tab and
        blanks between numbers.
    decimal : {"auto", ".", ","}, default="auto"
        The decimal sign. When "auto", it is a comma if more numbers in the first lines have one, and the delimiter is
        another.
    text : sequence of str, default=()
        Names of columns that are text whatever they hold, such as codes.
    memory_limit : int, float, str or None, default=None
        Bytes that the table may take, or "4GB", or a share of the machine's memory; all of it when None.
    name : str, optional
        What messages call the source; its path when None.

    Returns
    -------
    table : Table
        Raises ValueError for what is none, naming the file, the line and the column.

    Examples
    --------
    >>> import io
    >>> from unisvm.tables import read_table
    >>> table = read_table(io.BytesIO(b"age;town\\n38,5;Ulm\\n;Bonn\\n"))
    >>> table["age"], table["town"]
    (array([38.5,  nan]), array(['Ulm', 'Bonn'], dtype=object))
    """
    check_options(header, delimiter, decimal)
    if isinstance(text, str):
        raise TypeError(f"text must be a list of names of columns, got {text!r}: give [{text!r}].")
    limit = parse_memory(memory_limit)
    with TextSource(source, name) as opened:
        return _read(opened, header, delimiter, decimal, list(text), limit)


def _read(
    source: TextSource, header: bool | str, delimiter: str, decimal: str, text: list[str], limit: int | None
) -> Table:
    """The table, by the checked parameters of `read_table`."""
    chunks = source.chunks()
    beginning = list(_beginning(chunks))
    dialect = recognise("".join(beginning), header, delimiter, decimal)
    reading = _Reading(source.name, dialect, text, limit)
    for batch in read_batches(source.name, chain(beginning, chunks), dialect):
        reading.take(batch)
    reading.finish()
    if late := reading.late_texts():
        for batch in read_batches(source.name, source.chunks(), dialect):
            reading.take_again(batch, late)
    return reading.table()


def _beginning(chunks: Iterator[str]) -> Iterator[str]:
    """The first chunks, in which a dialect can be recognised."""
    n_lines = n_characters = 0
    while n_lines < FEW_LINES and n_characters < _BEGINNING_CHARACTERS and (chunk := next(chunks, "")):
        n_lines += chunk.count("\n")
        n_characters += len(chunk)
        yield chunk


class _Reading:
    """Columns of a table while it is read."""

    def __init__(self, name: str, dialect: Dialect, text: list[str], limit: int | None):
        self._name, self._dialect, self._text, self._limit = name, dialect, text, limit
        self._names: list[str] = []
        self._columns: list[NumberColumn | TextColumn] = []
        self._lines = array("q")
        self._first_line = 0
        self._n_again, self._is_begun_again = 0, False

    def take(self, batch: Batch) -> None:
        """Take the next rows of the file, the header among them."""
        is_first = not self._names
        if is_first:
            self._begin(batch)
            batch = self._without_header(batch)
        if not batch.rows:
            return
        self._check_widths(batch)
        was_empty = not self._lines
        self._lines.extend(batch.lines)
        for j, entries in enumerate(zip(*batch.rows, strict=True)):
            self._columns[j].extend(entries, batch.lines)
            column = self._columns[j]
            if was_empty and isinstance(column, NumberColumn) and self._is_text(column):
                # its entries are at hand, so that the file need not be read again
                self._columns[j] = TextColumn()
                self._columns[j].extend(entries, batch.lines)
        self._check_memory()

    def _begin(self, batch: Batch) -> None:
        first, self._first_line = batch.rows[0], batch.lines[0]
        where = f"{self._name}, line {self._first_line}"
        if len(first) > MAX_COLUMNS:
            raise ValueError(
                f"{where}: {len(first):,} fields, at most {MAX_COLUMNS:,} are read. Is this a table with a row a "
                "line? For more columns give .npz or the text of LIBSVM."
            )
        given = [entry.strip() for entry in first] if self._dialect.has_header else [""] * len(first)
        self._names = [entry or f"column {j}" for j, entry in enumerate(given, start=1)]
        seen: dict[str, int] = {}
        for j, column in enumerate(self._names, start=1):
            if column in seen:
                raise ValueError(
                    f"{where}: columns {seen[column]} and {j} have the same name {column!r}. Rename one; if there are "
                    "no names in this line, say so: header=False."
                )
            seen[column] = j
        for column in self._text:
            one_of(f"column of {self._name}", column, self._names)
        self._columns = [
            TextColumn() if column in self._text else NumberColumn(self._dialect.decimal) for column in self._names
        ]

    def _without_header(self, batch: Batch) -> Batch:
        return Batch(batch.rows[1:], batch.lines[1:]) if self._dialect.has_header else batch

    def _check_widths(self, batch: Batch) -> None:
        width = len(self._names)
        if set(map(len, batch.rows)) == {width}:
            return
        line, row = next((n, row) for n, row in zip(batch.lines, batch.rows, strict=True) if len(row) != width)
        first = "the header" if self._dialect.has_header else f"line {self._first_line}"
        sign = {"\t": "tabs", " ": "blanks"}.get(self._dialect.delimiter, repr(self._dialect.delimiter))
        raise ValueError(
            f"{self._name}, line {line}: {len(row)} {'field' if len(row) == 1 else 'fields'}, but {first} has {width} "
            f'(separated by {sign}). Every row must have as many; put text that has the delimiter in quotes ("), or '
            "say which delimiter it is."
        )

    def _check_memory(self) -> None:
        needed = 8 * len(self._lines) + sum(column.n_bytes for column in self._columns)
        if self._limit is not None and needed > self._limit:
            raise MemoryError(
                f"{self._name}: the first {len(self._lines):,} rows take {readable(needed)}, more than the limit of "
                f"{readable(self._limit)}. Give fewer rows or columns, or a .npy or .parquet file, which need not fit "
                "into memory."
            )

    @staticmethod
    def _is_text(column: NumberColumn) -> bool:
        return column.n_texts > (1 - _NUMBERS_BUT_FOR_SLIPS) * (column.n_numbers + column.n_texts)

    def finish(self) -> None:
        """Raise unless there are rows, and each column is numbers or text."""
        if not self._names:
            raise ValueError(f"{self._name} is empty: a table with a row a line was expected.")
        if not self._lines:
            raise ValueError(
                f"{self._name} has a header in line {self._first_line}, and no rows below. If that line is a row, say "
                "so: header=False."
            )
        for name, column in zip(self._names, self._columns, strict=True):
            if isinstance(column, NumberColumn):
                n_numbers, n_texts, first = column.n_numbers, column.n_texts, column.first_text
            elif name in self._text:
                continue
            else:
                n_numbers, n_texts, row, entry = column.count_numbers(self._dialect.decimal)
                first = self._lines[row], entry
            self._judge(name, n_numbers, n_texts, first)
            if isinstance(column, NumberColumn) and n_texts == 0 and column.first_infinite is not None:
                line, entry = column.first_infinite
                raise ValueError(
                    f"{self._name}, line {line}, column {name!r}: {entry!r} is infinite, or too large. Write a number, "
                    "or NA for a missing value."
                )

    def _judge(self, name: str, n_numbers: int, n_texts: int, first: tuple[int, str] | None) -> None:
        """Raise for a column of numbers with wrong entries, and warn of one that may be such."""
        share = n_numbers / max(n_numbers + n_texts, 1)
        if first is None or n_texts == 0 or share <= 0.5:
            return
        line, entry = first
        other = "." if self._dialect.decimal == "," else ","
        has_other = parse_number(entry, other) is not None
        hint = f" If its decimal sign is {other!r}, say so: decimal={other!r}." if has_other else ""
        place = f"{self._name}, line {line}, column {name!r}: {entry!r} is no number, as"
        if share > _NUMBERS_BUT_FOR_SLIPS:
            raise ValueError(
                f"{place} {n_numbers:,} of the {n_numbers + n_texts:,} entries of this column are. Write NA for a "
                f"missing value, or have the column read as text: text=[{name!r}], on the command line --text {name}."
                f"{hint}"
            )
        warn_caller(
            f"{place} most entries of this column are ({n_numbers:,} of {n_numbers + n_texts:,}): the column is read "
            f"as text. Write NA for a missing value, or say that it is text, text=[{name!r}].{hint}",
            FitWarning,
        )

    def late_texts(self) -> list[int]:
        """Indices of columns that are text, and were read as numbers, which does not keep their entries."""
        found = [j for j, column in enumerate(self._columns) if isinstance(column, NumberColumn) and column.n_texts]
        for j in found:
            self._columns[j] = TextColumn()
        self._n_again, self._is_begun_again = 0, False
        return found

    def take_again(self, batch: Batch, columns: list[int]) -> None:
        """Take the entries of some columns, when the file is read for a second time."""
        if not self._is_begun_again:
            batch, self._is_begun_again = self._without_header(batch), True
        if not batch.rows:
            return
        self._check_widths(batch)
        self._n_again += len(batch.rows)
        if self._n_again > len(self._lines):
            raise ValueError(f"{self._name} was changed while it was read.")
        for j in columns:
            self._columns[j].extend([row[j] for row in batch.rows], batch.lines)
        self._check_memory()

    def table(self) -> Table:
        """What was read."""
        columns = [column.finished() for column in self._columns]
        n_rows = len(self._lines)
        if any(len(column) != n_rows for column in columns):
            raise ValueError(f"{self._name} was changed while it was read.")
        return Table(
            self._names, columns, n_rows, self._dialect.has_header, self._name, np.frombuffer(self._lines, np.int64)
        )
