"""Columns of a table while it is read: numbers, or codes of texts."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np

from unisvm.io.entries import TextCodes, parse_number, parse_numbers

# bytes of a text that occurs: an object of Python's and two places in tables, beside its characters
_TEXT_BYTES = 150


class NumberColumn:
    """Entries as numbers, as far as they are; the first that is text, and the first that is infinite, with its line."""

    def __init__(self, decimal: str):
        self._decimal = decimal
        self.values = array("d")
        self.n_numbers = self.n_texts = 0
        self.first_text: tuple[int, str] | None = None
        self.first_infinite: tuple[int, str] | None = None

    def extend(self, entries: Sequence[str], lines: Sequence[int]) -> None:
        """Take the next entries, and the lines that they are in."""
        parsed = parse_numbers(entries, self._decimal)
        self.values.frombytes(parsed.values.tobytes())
        self.n_numbers += parsed.n_numbers
        self.n_texts += len(parsed.texts)
        if parsed.texts and self.first_text is None:
            self.first_text = lines[parsed.texts[0]], entries[parsed.texts[0]].strip()
        if parsed.infinite and self.first_infinite is None:
            self.first_infinite = lines[parsed.infinite[0]], entries[parsed.infinite[0]].strip()

    @property
    def n_bytes(self) -> int:
        """Bytes that it takes, now or in the end."""
        return 8 * len(self.values)

    def finished(self) -> np.ndarray:
        """The column of a table."""
        return np.frombuffer(self.values, np.float64) if self.values else np.empty(0)


class TextColumn:
    """Codes of entries, each text once."""

    def __init__(self) -> None:
        self._codes = array("i")
        self._texts = TextCodes()

    def extend(self, entries: Sequence[str], lines: Sequence[int]) -> None:
        """Take the next entries, and the lines that they are in."""
        self._codes.frombytes(self._texts.encode(entries).tobytes())

    @property
    def n_bytes(self) -> int:
        """Bytes that it takes, now or in the end."""
        # a pointer in the end, beside the code
        return 12 * len(self._codes) + _TEXT_BYTES * len(self._texts) + self._texts.n_characters

    def count_numbers(self, decimal: str) -> tuple[int, int, int, str]:
        """Numbers of entries that are numbers, and that are text; the first that is text: its row, and itself."""
        codes, texts = np.frombuffer(self._codes, np.int32), self._texts.texts
        is_number = np.array([text is not None and parse_number(text, decimal) is not None for text in texts])
        is_text = ~is_number
        is_text[0] = False
        found = is_text[codes]
        row = int(found.argmax()) if found.any() else 0
        return int(is_number[codes].sum()), int(found.sum()), row, texts[codes[row]] or ""

    def finished(self) -> np.ndarray:
        """The column of a table."""
        return np.array(self._texts.texts, dtype=object)[np.frombuffer(self._codes, np.int32)]
