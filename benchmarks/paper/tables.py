"""Cells of the tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def mean_and_deviation(numbers: np.ndarray, digits: int) -> str:
    """Mean with the standard deviation in brackets, as in the paper; a single number has none."""
    deviation = f" ({numbers.std():.{digits}f})" if len(numbers) > 1 else ""
    return f"{numbers.mean():.{digits}f}{deviation}"


def span(numbers: Sequence[int]) -> str:
    """The number, or the smallest and the largest where they differ."""
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"
