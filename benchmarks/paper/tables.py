"""Cells of the tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def mean_and_deviation(numbers: np.ndarray, digits: int) -> str:
    """Mean with the standard deviation in brackets, as in the paper; a single number has none."""
    deviation = f" ({numbers.std():.{digits}f})" if len(numbers) > 1 else ""
    return f"{numbers.mean():.{digits}f}{deviation}"


def span(numbers: Sequence[int]) -> str:
    """The number, or the smallest and the largest where they differ."""
    low, high = min(numbers), max(numbers)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def is_here(read: Callable[[str], Any], name: str) -> bool:
    """Whether the files of this set are there to be read."""
    try:
        read(name)
    except FileNotFoundError:
        return False
    return True


def not_here(name: str) -> str:
    """Why the cells of this set are empty."""
    return f"The set cannot be had here, so that our cells are empty; `datasets.load_paper({name!r})` says where it is."
