"""Checks of names and numbers, with messages that say what would be right."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any


def one_of(parameter: str, name: str, known: Iterable[str], also: Iterable[str] = ()) -> str:
    """Return `name` if it is known; otherwise raise and offer the nearest names."""
    known = list(known)
    if name in known:
        return name
    near = get_close_matches(str(name), [*known, *also], n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"use one of {', '.join(map(repr, known))}."
    raise ValueError(f"Unknown {parameter} {name!r}: {hint}")


def is_number(value: Any) -> bool:
    """Whether it is a finite number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def is_integer(value: Any) -> bool:
    """Whether it is an integer; True and False are none."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_positive_integer(parameter: str, value: Any) -> None:
    """Raise unless the value is an integer from 1 on."""
    if not (is_integer(value) and value >= 1):
        raise ValueError(f"{parameter} must be a positive integer, got {value!r}.")


def check_n_jobs(n_jobs: Any) -> None:
    """Raise unless this is None or a number of threads, counted from the last processor if it is negative."""
    if n_jobs is not None and not (is_integer(n_jobs) and n_jobs != 0):
        raise ValueError(f"n_jobs must be None, a positive number of threads, or -1 for all; got {n_jobs!r}.")


def check_number(parameter: str, value: Any, low: float, high: float, *, closed: bool = False) -> None:
    """Raise unless the value is a number above `low`, or equal to it if `closed`, and below `high`."""
    if not (is_number(value) and (value >= low if closed else value > low) and value < high):
        raise ValueError(f"{parameter} must be a number in {'[' if closed else '('}{low:g}, {high:g}), got {value!r}.")
