"""Bytes that a fit takes, and its refusals: the formulas that `memory_limit` is held against."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
#: most bytes for Gram matrices that each thread sums up on its own; beyond, threads share the bands of one matrix
PER_THREAD_GRAM_LIMIT = 2**30
# What a fit to sparse rows holds for each column, whatever is in it: two random numbers that find equal rows,
# and pointers to the entries of the landmarks, which each thread may make at the same time. Of 20 million columns they
# were 24 bytes on one thread, and 47 on two in a search, the most with any kernel.
_COLUMN_BYTES, _COLUMN_BYTES_OF_A_THREAD = 16, 16
# vectors that the default solver holds for each target: ten pairs, and what a step is made of
_SOLVER_VECTORS = 28
# most of the memory of a search is for the features; this share is for targets and held-out decisions
_SHARE_FOR_DECISIONS = 0.25


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
    """Size in the unit that people would choose."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"


def feature_bytes(n_rows: int, rank: int, dtype: np.dtype) -> int:
    """Bytes of the m × r features."""
    return n_rows * rank * dtype.itemsize


def column_bytes(n_columns: int, n_threads: int) -> int:
    """Bytes of the arrays that have an entry for each column of X."""
    return n_columns * (_COLUMN_BYTES + _COLUMN_BYTES_OF_A_THREAD * n_threads)


def per_thread_gram_bytes(rank: int, dtype: np.dtype, n_threads: int) -> int:
    """Bytes of an r × r sum and an r × r product for each thread that sums up a Gram matrix of its own."""
    return 2 * n_threads * rank**2 * dtype.itemsize


def gram_bytes(rows: Any, rank: int, n_sampled: int) -> int:
    """Bytes of the Gram matrix, of the majoriser and of the sampled features that they are made from."""
    # beside the sum, either what threads add to it or two matrices that are made of it
    summing = min(per_thread_gram_bytes(rank, rows.dtype, rows.n_threads), PER_THREAD_GRAM_LIMIT)
    sampled = feature_bytes(min(n_sampled, rows.n_rows), rank, rows.dtype)
    return 8 * rank**2 + max(summing, 2 * 8 * rank**2) + sampled


@dataclass(frozen=True)
class MemoryBudget:
    """Bytes that a fit may take beside X, and whose limit that is.

    Attributes
    ----------
    limit : int or None
        None where neither the user nor the system says.
    owner : str
        Whose limit it is, in messages.
    """

    limit: int | None
    owner: str = "memory_limit"

    @classmethod
    def parse(cls, memory_limit: int | float | str | None) -> MemoryBudget:
        """Budget from the parameter of the estimators."""
        return cls(parse_memory(memory_limit), "this machine" if memory_limit is None else "memory_limit")

    def share(self, n_parts: int) -> MemoryBudget:
        """Budget of one of so many fits at the same time."""
        return MemoryBudget(None if self.limit is None else self.limit // n_parts)

    def check_columns(self, n_columns: int, n_threads: int) -> None:
        """Raise MemoryError when so many columns take more than the limit, whatever is in them."""
        needed = column_bytes(n_columns, n_threads)
        if self.limit is not None and needed > self.limit:
            raise MemoryError(
                f"{n_columns} columns need {readable(needed)} even if they are empty, more than {self.owner}'s "
                f"{readable(self.limit)}. Leave out or hash columns so that there are fewer, or raise memory_limit."
            )

    def room_for_features(
        self,
        rows: Any,
        rank: int,
        n_sampled: int,
        *,
        copies_of_features: int = 1,
        reserved: int = 0,
        of_columns: bool = False,
        diagonal: bool = False,
    ) -> float:
        """Bytes that the features may take in memory, beside their second moments and `reserved` bytes.

        Features `of_columns` are the columns of X; those whose moments are only a `diagonal` are so many that the
        vectors of the solver count instead.

        Raises
        ------
        MemoryError
            When the rest does not fit into the limit. A solver that copies the features cannot have them on disk.
        """
        if self.limit is None:
            return np.inf
        moments = 8 * rank * rows.n_columns * _SOLVER_VECTORS if diagonal else gram_bytes(rows, rank, n_sampled)
        needed = reserved + moments
        on_disk = copies_of_features == 1
        if not on_disk:
            needed += copies_of_features * feature_bytes(rows.n_rows, rank, rows.dtype)
        if needed > self.limit:
            width = f"{rank} {'columns' if of_columns else 'landmarks'}"
            raise MemoryError(
                f"{rows.n_rows} rows and {width} in {rows.dtype} need {readable(needed)}"
                f"{' with the features on disk' if on_disk else ''}, more than {self.owner}'s "
                f"{readable(self.limit)}. {'Leave out columns' if of_columns else 'Lower rank'}, or give X in float32."
            )
        return self.limit - needed if on_disk else np.inf

    def cells_at_once(self, most: int, beside: int, each: int) -> int:
        """Number of a search's cells whose held-out decisions are in memory together, `most` at the most.

        Parameters
        ----------
        most : int
        beside, each : int
            Bytes of the targets and what is computed from them, and of the decisions of one cell.
        """
        if self.limit is None:
            return most
        share = self.limit * _SHARE_FOR_DECISIONS
        if beside + each > share:
            raise MemoryError(
                f"The targets, the weights of all splits and the decisions on the rows need {readable(beside + each)}, "
                f"more than a quarter of the limit of {readable(self.limit)}. Use fewer splits, raise memory_limit, or "
                f"give X in float32."
            )
        return int(min((share - beside) // each, most))

    def fits_at_once(self, n_fits: int, rows: Any, rank: int, n_sampled: int, decisions: int) -> bool:
        """Whether so many kernels of a search, with these bytes of decisions each, may be solved at the same time."""
        in_all = decisions + feature_bytes(rows.n_rows, rank, rows.dtype) + gram_bytes(rows, rank, n_sampled)
        return self.limit is None or n_fits * max(in_all, decisions / _SHARE_FOR_DECISIONS) <= self.limit


def check_room_for_kernel(name: str, n_rows: int, n_matrices: int) -> None:
    """Raise when so many m × m matrices of doubles, which the estimator of this name needs, do not fit in memory."""
    limit, needed = parse_memory(None), n_matrices * 8 * n_rows**2
    if limit is not None and needed > limit:
        raise MemoryError(
            f"{name} holds the kernel matrix of all {n_rows} rows, which needs {readable(needed)}, more than this "
            f"machine's {readable(limit)}. Use UniSVMClassifier or UniSVMRegressor."
        )
