"""Messages for names that are not among the known ones."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def one_of(parameter: str, name: str, known: Iterable[str], also: Iterable[str] = ()) -> str:
    """Return `name` if it is known; otherwise raise and offer the nearest names."""
    known = list(known)
    if name in known:
        return name
    near = get_close_matches(str(name), [*known, *also], n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"use one of {', '.join(map(repr, known))}."
    raise ValueError(f"Unknown {parameter} {name!r}: {hint}")
