"""Rows of a table of text, in batches, with the line that each begins in."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import NamedTuple

from unisvm.io.dialect import Dialect, is_blank, parse_rows
from unisvm.io.text_source import MAX_LINE_BYTES

# With more, the garbage collector goes through them again and again while they grow: of rows with one entry, the time
# was six times as long in batches of a chunk.
_MOST_ROWS = 300


class Batch(NamedTuple):
    """Rows, and the line that each begins in."""

    rows: list[list[str]]
    lines: list[int]


class _Lines:
    """Lines of chunks of text.

    Attributes
    ----------
    last : int
        Number of the last line of the chunk.
    n_characters : int
        Of the chunks that were begun since this was set to 0.
    """

    def __init__(self, chunks: Iterator[str]):
        self._chunks = chunks
        self.last = self.n_characters = 0

    def __iter__(self) -> Iterator[str]:
        for chunk in self._chunks:
            # not by other characters that end lines for Python
            lines = [line + "\n" for line in chunk.removesuffix("\n").split("\n")]
            self.last += len(lines)
            # of quoted line breaks, as no line alone is so long
            if self.n_characters > MAX_LINE_BYTES:
                raise csv.Error("field larger than field limit")
            self.n_characters += len(chunk)
            yield from lines


def read_batches(name: str, chunks: Iterator[str], dialect: Dialect) -> Iterator[Batch]:
    """Rows of the chunks, without blank ones."""
    lines = _Lines(chunks)
    reader = parse_rows(lines, dialect.delimiter, strict=True)
    batch, before = Batch([], []), 0
    try:
        for row in reader:
            if len(row) > 1 or not is_blank(row):
                batch.rows.append(row)
                batch.lines.append(before + 1)
            before = reader.line_num
            lines.n_characters = 0
            if len(batch.rows) >= _MOST_ROWS or (before == lines.last and batch.rows):
                yield batch
                batch = Batch([], [])
    except csv.Error as error:
        raise ValueError(f"{name}, line {before + 1}: {_explained(str(error))}") from None
    if batch.rows:
        yield batch


def _explained(reason: str) -> str:
    """Sentences about what csv finds wrong in a row, and what to do."""
    if "unexpected end of data" in reason:
        return 'a quote (") that is opened in this row is never closed. Close it, or write a quote within text twice.'
    if "field larger than field limit" in reason:
        most = f"{csv.field_size_limit():,} characters, or all of it more than {MAX_LINE_BYTES:,} bytes"
        return f'an entry of this row has more than {most}. Is a quote (") not closed?'
    if "new-line character" in reason:
        return "it has a carriage return (CR) without a line feed (LF). End the lines with LF or CRLF."
    if "expected after" in reason:
        return 'behind a closing quote (") in this row is more than a delimiter. Write a quote within text twice.'
    return f"{reason}."
