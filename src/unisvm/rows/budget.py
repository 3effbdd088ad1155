"""How much memory there is."""

from __future__ import annotations

import os
import re
from numbers import Integral, Real

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def parse_memory(limit: int | float | str | None) -> int | None:
    """Bytes from "4GB", a number of bytes, or a share of the machine's memory between 0 and 1.

    None stands for the machine's memory, where the system tells it.
    """
    physical = _physical_memory()
    if limit is None:
        return physical
    if isinstance(limit, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)B?\s*", limit, flags=re.IGNORECASE)
        size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
        if size >= 1:
            return size
    elif isinstance(limit, Integral) and not isinstance(limit, bool) and limit >= 1:
        return int(limit)
    elif isinstance(limit, Real) and 0 < limit < 1 and physical is not None:
        return int(limit * physical)
    raise ValueError(
        f"memory_limit must be a size such as '4GB', bytes, a share of the memory between 0 and 1, or None; "
        f"got {limit!r}."
    )


def _physical_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def readable(n_bytes: float) -> str:
    """A size for people."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"
