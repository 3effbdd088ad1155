"""How a table is written as text: its delimiter, its decimal sign, and whether it has a header."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from unisvm.io.entries import MISSING, parse_number

#: any number of blanks and tabs
BLANKS = " "
# those that are rarer in text come first, as the first of equals is taken
_DELIMITERS = ("\t", "|", ",", ";", BLANKS)
_TAKEN = set("\"\r\n.+-_'")
# a dialect is recognised by so many lines,
_LINES = 200
# fewer if they have more characters,
_CHARACTERS = 2**16
#: but at least so many
FEW_LINES = 3
#: of a table
MAX_COLUMNS = 2**18
# of them, those that are held against each delimiter
_ENTRIES = 2000


@dataclass(frozen=True)
class Dialect:
    """How a table is written.

    Attributes
    ----------
    delimiter : str
        `BLANKS` for any number of blanks and tabs.
    decimal : {".", ","}
    has_header : bool
    """

    delimiter: str
    decimal: str
    has_header: bool


def parse_rows(lines: Iterable[str], delimiter: str, *, strict: bool) -> Any:
    """Rows of lines, as lists of str; `line_num` of the iterator is the number of lines read."""
    if delimiter == BLANKS:
        lines = _with_single_blanks(lines)
    return csv.reader(lines, delimiter=delimiter, strict=strict, skipinitialspace=delimiter != BLANKS)


def _with_single_blanks(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        line = line.rstrip("\r\n")
        if "\r" in line:
            # blanks would hide it from csv
            raise csv.Error("new-line character seen in unquoted field")
        yield " ".join(line.split()) + "\n"


def is_blank(row: list[str]) -> bool:
    """Whether the line of a row has nothing but blanks."""
    return not row or (len(row) == 1 and not row[0].strip())


def check_options(header: object, delimiter: object, decimal: object) -> None:
    """Raise for parameters of `recognise` that it does not know."""
    if not (isinstance(header, bool) or header == "auto"):
        raise ValueError(f"header must be True, False or 'auto', got {header!r}.")
    is_delimiter = isinstance(delimiter, str) and len(delimiter) == 1 and not delimiter.isalnum()
    if delimiter != "auto" and (not is_delimiter or delimiter in _TAKEN):
        raise ValueError(
            f"delimiter must be 'auto' or a character such as ',', ';', '|', '\\t', or ' ' for blanks and tabs; got "
            f"{delimiter!r}."
        )
    if decimal not in ("auto", ".", ","):
        raise ValueError(f"decimal must be '.', ',' or 'auto', got {decimal!r}.")
    if decimal == delimiter == ",":
        raise ValueError("delimiter and decimal cannot both be ','.")


def recognise(text: str, header: bool | str, delimiter: str, decimal: str) -> Dialect:
    """The dialect of a table by the first of its lines; what is not "auto" is kept."""
    lines = list(_sample(text))
    if delimiter == "auto":
        delimiter = _delimiter(lines, decimal)
    rows = _rows(lines, delimiter)
    if decimal == "auto":
        decimal = "." if delimiter == "," else _decimal(rows)
    if header == "auto":
        header = _has_header(rows, decimal)
    return Dialect(delimiter, decimal, bool(header))


def _sample(text: str) -> Iterator[str]:
    n_characters = 0
    for number, line in enumerate(islice(io.StringIO(text, newline="\n"), _LINES)):
        if number >= FEW_LINES and n_characters > _CHARACTERS:
            return
        n_characters += len(line)
        yield line


def _rows(lines: list[str], delimiter: str) -> list[list[str]]:
    """Rows of the sample, but for those after one that cannot be read."""
    rows: list[list[str]] = []
    parsed = parse_rows(lines, delimiter, strict=False)
    with suppress(csv.Error):
        rows.extend([entry.strip() for entry in row[:MAX_COLUMNS]] for row in parsed if not is_blank(row))
    return rows


def _delimiter(lines: list[str], decimal: str) -> str:
    """The delimiter by which most lines have the same number of fields, more than one; then most numbers."""
    best, chosen = (0.0, 0.0), ","
    for delimiter in _DELIMITERS:
        if delimiter == decimal:
            continue
        rows = _rows(lines, delimiter)
        width, n_agreeing = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
        if width < 2:
            continue
        decimals = (".",) if delimiter == "," else (".", ",") if decimal == "auto" else (decimal,)
        share = max(_share_of_numbers(rows[1:] or rows, sign) for sign in decimals)
        # text has blanks, too
        if delimiter == BLANKS and share < 0.5:
            continue
        # one by which all lines agree goes before one by which nearly all do
        score = (round(n_agreeing / len(rows), 1) + (n_agreeing == len(rows)), round(share, 3))
        if score > best:
            best, chosen = score, delimiter
    return chosen


def _share_of_numbers(rows: list[list[str]], decimal: str) -> float:
    of_a_row = _ENTRIES // len(rows) + 1
    present = [entry for row in rows for entry in row[:of_a_row] if entry not in MISSING]
    return sum(parse_number(entry, decimal) is not None for entry in present) / max(len(present), 1)


def _decimal(rows: list[list[str]]) -> str:
    """The sign that more numbers have, a point where there are as many."""
    counts = {
        sign: sum(sign in entry and parse_number(entry, sign) is not None for row in rows for entry in row)
        for sign in ".,"
    }
    return "," if counts[","] > counts["."] else "."


def _has_header(rows: list[list[str]], decimal: str) -> bool:
    """Whether the first row has text above numbers, or all is text, of more than one row."""
    if not rows:
        return False
    first, *others = rows
    is_text = [parse_number(entry, decimal) is None and entry not in MISSING for entry in first]
    columns = [[row[j] for row in others if j < len(row) and row[j] not in MISSING] for j in range(len(first))]
    are_numbers = [_share_of_numbers([column], decimal) > 0.5 for column in columns]
    if any(text and below for text, below in zip(is_text, are_numbers, strict=True)):
        return True
    numbers = [entry for entry, text in zip(first, is_text, strict=True) if not text]
    if numbers in ([str(j) for j in range(len(numbers))], [str(j + 1) for j in range(len(numbers))]):
        # names that count the columns, as pandas gives them, beside one that is no entry of its column
        texts = [(entry, column) for entry, text, column in zip(first, is_text, columns, strict=True) if text]
        if texts and all(entry not in column and 2 * len(set(column)) <= len(column) for entry, column in texts):
            return True
    return all(text or entry in MISSING for text, entry in zip(is_text, first, strict=True)) and not any(are_numbers)
