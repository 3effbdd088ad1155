"""The splits of a cross-validation as they are given, and as row indices that are checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def read_splits(given: Iterable[Any], weights: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Row indices that each split trains and scores on; raises when there are none, or none of positive weight.

    Parameters
    ----------
    given : iterable of (train, test)
        Row indices, or masks of the rows.
    weights : ndarray of shape (n_rows,)
    """
    splits = []
    for k, (given_train, given_test) in enumerate(given):
        train = _indices(f"cv: the training rows of split {k}", given_train, len(weights))
        test = _indices(f"cv: the test rows of split {k}", given_test, len(weights))
        for rows, purpose in ((train, "train"), (test, "score")):
            if not weights[rows].any():
                raise ValueError(f"cv: split {k} has no rows of positive weight to {purpose} on.")
        splits.append((train, test))
    if not splits:
        raise ValueError("cv gives no splits.")
    return splits


def _indices(name: str, given: Any, n_rows: int) -> np.ndarray:
    """Row indices from row indices or from a mask."""
    rows = np.asarray(given)
    if rows.ndim != 1:
        raise ValueError(f"{name} must be an array of one dimension, got one of shape {rows.shape}.")
    if rows.dtype == bool:
        if len(rows) != n_rows:
            raise ValueError(f"{name}: a mask must have an entry for each of the {n_rows} rows, but has {len(rows)}.")
        return np.flatnonzero(rows)
    if len(rows) == 0:
        # an empty list is an array of floats
        return np.empty(0, dtype=np.intp)
    if rows.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, or a mask of all rows; got {rows.dtype}, such as {rows[0]}.")
    outside = (rows < 0) | (rows >= n_rows)
    if outside.any():
        raise ValueError(f"{name} must be from 0 to {n_rows - 1}, got {rows[outside][0]}.")
    return rows.astype(np.intp, copy=False)
