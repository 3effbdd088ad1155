"""The encoding of one column: learned from its training entries, and applied to others."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from unisvm.io.entries import parse_number
from unisvm.tables.columns import Column, TextColumn

NUMBER, TEXT, DROPPED = "number", "text", "dropped"
# of so few distinct texts, most rows may have one of their own
_FEW_CATEGORIES = 20


class ColumnEncoding(NamedTuple):
    """How a column becomes columns of numbers.

    Attributes
    ----------
    kind : {"number", "text", "dropped"}
    n_missing : int
        Missing entries in training.
    median : float
        Of numbers in training; 0 for other columns.
    has_missing_column : bool
        Whether missing entries have a column of their own: a 1 where one is missing.
    categories : list of str
        Texts in training, sorted; empty for other columns.
    reason : str
        Why the column is dropped; empty for others.
    centre, divisor : float
        Numbers x become (x − centre)/divisor.
    """

    kind: str
    n_missing: int
    median: float = 0.0
    has_missing_column: bool = False
    categories: list[str] = []
    reason: str = ""
    centre: float = 0.0
    divisor: float = 1.0

    @property
    def width(self) -> int:
        """Number of columns that it becomes."""
        return (self.kind == NUMBER) + len(self.categories) + self.has_missing_column

    @property
    def filled(self) -> int:
        """Most of these that are not 0 in one row."""
        return 0 if self.kind == DROPPED else 1 + (self.kind == NUMBER and self.has_missing_column)

    def names(self, name: str) -> list[str]:
        """Names of the columns that it becomes."""
        of_missing = [f"{name} is missing"] if self.has_missing_column else []
        return [*([name] if self.kind == NUMBER else []), *[f"{name}={text}" for text in self.categories], *of_missing]


class Slot(NamedTuple):
    """A number for each row, and the column that it is in: the same for all rows, or one for each."""

    columns: int | np.ndarray
    values: np.ndarray


class Unseen(NamedTuple):
    """Entries of categories that training did not have: their number, the first, None if it is missing, its row."""

    n_entries: int
    text: str | None
    row: int


def learn(column: Column, max_categories: int, indicator_share: float, scale: str | None = None) -> ColumnEncoding:
    """The encoding of a column, by its entries in training."""
    if isinstance(column, TextColumn):
        return _learn_texts(column, max_categories)
    missing = np.isnan(column)
    n_missing = int(missing.sum())
    if n_missing == len(column):
        return ColumnEncoding(DROPPED, n_missing, reason="all of it is missing")
    has_missing_column = n_missing > 0 and n_missing >= indicator_share * len(column)
    present = column[~missing]
    with np.errstate(over="ignore"):
        median = float(np.median(present))
    if not np.isfinite(median):
        # the sum of two large numbers in the middle overflows
        median = float(np.median(present / 2) * 2)
    centre, divisor = _scaling(np.where(missing, median, column), scale)
    return ColumnEncoding(NUMBER, n_missing, median, has_missing_column, centre=centre, divisor=divisor)


def _scaling(values: np.ndarray, scale: str | None) -> tuple[float, float]:
    """Centre and divisor of numbers, none of which is missing."""
    if scale is None:
        return 0.0, 1.0
    # in units of the largest, squares and differences do not overflow
    unit = float(np.abs(values).max()) or 1.0
    of_unit = values / unit
    if scale == "standard":
        centre, divisor = float(of_unit.mean()), float(of_unit.std())
    else:
        centre, divisor = float(of_unit.min()), float(of_unit.max() - of_unit.min())
    # a smaller one is rounding error of a constant
    varies = divisor > 10 * np.finfo(np.float64).eps and unit * divisor >= np.finfo(np.float64).tiny
    return (unit * centre, min(unit * divisor, np.finfo(np.float64).max)) if varies else (unit * centre, 1.0)


def _learn_texts(column: TextColumn, max_categories: int) -> ColumnEncoding:
    n_rows = len(column.codes)
    n_missing = int((column.codes == 0).sum())
    n_present = n_rows - n_missing
    categories = sorted({text for text in column.texts if text is not None})
    if not categories:
        return ColumnEncoding(DROPPED, n_missing, reason="all of it is missing")
    n_categories = len(categories)
    if n_categories > max_categories or n_categories > max(_FEW_CATEGORIES, n_present / 2):
        reason = f"{n_categories:,} distinct texts in {n_present:,} entries"
        return ColumnEncoding(DROPPED, n_missing, reason=reason)
    return ColumnEncoding(TEXT, n_missing, 0.0, n_missing > 0, categories)


def encode(
    name: str, column: Column, encoding: ColumnEncoding, start: int, place: Callable[[int], str]
) -> tuple[list[Slot], Unseen | None]:
    """Numbers of a column, in columns from `start` on, and what of it has none."""
    if encoding.kind == NUMBER:
        values = _as_numbers(name, column, place)
        missing = np.isnan(values)
        filled = np.where(missing, encoding.median, values)
        slots = [Slot(start, _scaled(filled, encoding.centre, encoding.divisor))]
        if encoding.has_missing_column:
            slots.append(Slot(start + 1, missing.astype(np.float64)))
        return slots, None
    texts = _as_texts(column)
    known = {text: j for j, text in enumerate(encoding.categories)}
    of_missing = len(known) if encoding.has_missing_column else -1
    places = np.array([of_missing, *(known.get(text, -1) for text in texts.texts[1:] if text is not None)])[texts.codes]
    unseen = np.flatnonzero(places < 0)
    slot = Slot(start + np.maximum(places, 0), (places >= 0).astype(np.float64))
    if len(unseen) == 0:
        return [slot], None
    row = int(unseen[0])
    return [slot], Unseen(len(unseen), texts.texts[texts.codes[row]], row)


def _scaled(values: np.ndarray, centre: float, divisor: float) -> np.ndarray:
    """(values − centre)/divisor; differences that overflow are taken of quotients."""
    with np.errstate(over="ignore"):
        differences = values - centre
    overflows = np.isinf(differences)
    scaled = differences / divisor
    if overflows.any():
        scaled[overflows] = values[overflows] / divisor - centre / divisor
    return scaled


def _as_numbers(name: str, column: Column, place: Callable[[int], str]) -> np.ndarray:
    """The numbers of a column, which may be given as text. Raises for text that is none."""
    if not isinstance(column, TextColumn):
        return column
    numbers = [np.nan if text is None else parse_number(text) for text in column.texts]
    wrong = [code for code, number in enumerate(numbers) if number is None or np.isinf(number)]
    if wrong:
        row = int(np.isin(column.codes, wrong).argmax())
        text = column.texts[column.codes[row]]
        raise ValueError(
            f"{place(row)}, column {name!r}: {text!r} is no number, but the column was numbers in training. Write NA "
            "for a missing value."
        )
    return np.array(numbers, dtype=np.float64)[column.codes]


def _as_texts(column: Column) -> TextColumn:
    """The texts of a column; whole numbers are written without a point."""
    if isinstance(column, TextColumn):
        return column
    present = ~np.isnan(column)
    values, codes = np.unique(column[present], return_inverse=True)
    numbers = np.zeros(len(column), dtype=np.intp)
    numbers[present] = codes + 1
    return TextColumn(numbers, [None, *(str(int(x)) if x.is_integer() else repr(x) for x in values.tolist())])
