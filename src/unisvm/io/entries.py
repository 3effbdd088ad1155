"""The meaning of an entry of a table that is given as text: a number, a missing value, or text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

#: texts that stand for a missing value: those of pandas, and the question mark of the UCI repository
MISSING = frozenset(
    {"", "?", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>"}
    | {"N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"}
)
# as C has it: Python's float also takes 1_000 and digits of other scripts
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.ASCII | re.IGNORECASE)


class Numbers(NamedTuple):
    """Entries of a column as numbers.

    Attributes
    ----------
    values : ndarray of shape (n_entries,)
        float64, NaN for what is missing or text.
    n_numbers : int
        Number of entries that are numbers, infinite ones among them.
    texts : list of int
        Indices of entries that are neither numbers nor missing, in order.
    infinite : list of int
        Indices of entries that are infinite, or larger than float64 holds.
    """

    values: np.ndarray
    n_numbers: int
    texts: list[int]
    infinite: list[int]


def parse_number(entry: str, decimal: str = ".") -> float | None:
    """The number that an entry is, without blanks around it; None if it is none."""
    if decimal == ",":
        entry = entry.replace(".", "x").replace(",", ".")
    if _NUMBER.fullmatch(entry) or _INFINITE.fullmatch(entry):
        return float(entry)
    return None


def parse_numbers(entries: Sequence[str], decimal: str = ".") -> Numbers:
    """The entries of a column as numbers, blanks around them aside."""
    n_entries = len(entries)
    values = _floats(entries, decimal)
    if values is not None and np.isfinite(values).all():
        return Numbers(values, n_entries, [], [])
    stripped = [entry.strip() for entry in entries]
    missing = [entry in MISSING for entry in stripped]
    n_missing = sum(missing)
    if 0 < n_missing < n_entries:
        filled = ["nan" if is_missing else entry for entry, is_missing in zip(stripped, missing, strict=True)]
        values = _floats(filled, decimal)
        if values is not None and not np.isinf(values).any() and np.isnan(values).sum() == n_missing:
            return Numbers(values, n_entries - n_missing, [], [])
    return _one_by_one(stripped, missing, decimal)


def _floats(entries: Sequence[str], decimal: str) -> np.ndarray | None:
    """All entries as Python reads them; None if one of them is no number, or may be none that C would read."""
    together = "".join(entries)
    if not together.isascii() or "_" in together:
        return None
    if decimal == ",":
        if "." in together:
            return None
        entries = [entry.replace(",", ".") for entry in entries]
    try:
        return np.fromiter(map(float, entries), np.float64, len(entries))
    except ValueError:
        return None


def _one_by_one(entries: list[str], missing: list[bool], decimal: str) -> Numbers:
    values, texts, infinite = np.full(len(entries), np.nan), [], []
    for i, entry in enumerate(entries):
        if missing[i]:
            continue
        number = parse_number(entry, decimal)
        if number is None:
            texts.append(i)
            continue
        values[i] = number
        if np.isinf(number):
            infinite.append(i)
    return Numbers(values, len(entries) - sum(missing) - len(texts), texts, infinite)


class TextCodes(dict):
    """Codes of texts, blanks around them aside: 0 for what is missing, then 1, 2, … as they come.

    Attributes
    ----------
    texts : list of str or None
        The text of each code; None is the first.
    n_characters : int
        Of all entries that have a code.
    """

    def __init__(self) -> None:
        super().__init__({None: 0})
        self.texts: list[str | None] = [None]
        self.n_characters = 0

    def __missing__(self, entry: str) -> int:
        text = entry.strip()
        if text in MISSING:
            code = 0
        elif text != entry:
            code = self[text]
        else:
            code = len(self.texts)
            self.texts.append(text)
        self[entry] = code
        self.n_characters += len(entry)
        return code

    def encode(self, entries: Sequence[str | None]) -> np.ndarray:
        """Codes of entries, in int32."""
        return np.fromiter(map(self.__getitem__, entries), np.int32, len(entries))
