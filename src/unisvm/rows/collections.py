"""Dask collections of rows, labels and weights, cut into the same blocks and checked where they are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import assert_all_finite, column_or_1d

from unisvm.rows.memory import MemoryRows

DTYPES = [np.float64, np.float32]


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection; Dask is not imported for that."""
    if "dask" not in sys.modules:
        return False
    from dask import is_dask_collection

    return is_dask_collection(X)


class Blocks:
    """X, y and weights of the same rows, block by block, checked and kept where Dask put them.

    Parameters
    ----------
    X : dask array or DataFrame
    y : dask array, Series or DataFrame, or an array in memory
    sample_weight : dask array or Series, array in memory, number or None

    Attributes
    ----------
    n_features : int
    names : Index or None
        The names of the columns of X, if it is a DataFrame.
    lengths : list of int
    dtype : dtype
        The precision that holds all blocks.
    """

    def __init__(self, X, y, sample_weight=None):
        from dask import compute, delayed, persist

        rows = parts_of("X", X, columns=True)
        X_blocks = list(persist(*[delayed(_checked_rows)(part) for part in rows]))
        shapes = compute(*[delayed(_shape_of)(block) for block in X_blocks])
        lengths, dtypes, widths = ([*of_blocks] for of_blocks in zip(*shapes, strict=True))
        if len(set(widths)) > 1:
            raise ValueError(f"All blocks of X must have as many columns, got {sorted(set(widths))}.")
        if sum(lengths) == 0:
            raise ValueError("X holds no rows: found array with 0 sample(s) while a minimum of 1 is required.")
        self.dtype = np.result_type(*dtypes)
        self.n_features = widths[0]
        self.names = getattr(X, "columns", None)
        y_parts = _aligned("y", y, lengths)
        weights = [sample_weight] * len(rows)
        if sample_weight is not None and not isinstance(sample_weight, Real):
            weights = _aligned("sample_weight", sample_weight, lengths)
        checked = [delayed(_checked)(*part) for part in zip(X_blocks, y_parts, weights, strict=True)]
        self._blocks = [block for block, length in zip(persist(*checked), lengths, strict=True) if length]
        self.lengths = [length for length in lengths if length]
        # what is wrong with a block is said before anything else is done
        compute(*[delayed(_nothing)(block) for block in self._blocks])

    def of_targets(self, function: Callable[..., Any], *args) -> list[Any]:
        """What `function(y, weights, *args)` returns for each block."""
        from dask import compute, delayed

        return list(compute(*[delayed(_of_targets)(block, function, *args) for block in self._blocks]))

    def stores(self, specify: Callable[..., tuple[np.ndarray, np.ndarray]], n_threads: int):
        """A store of the rows whose weight is positive; `specify(y, weights)` gives targets and weights of a block."""
        from dask import compute, delayed, persist

        from unisvm.rows.dask import DaskRows

        made = persist(*[delayed(_store)(block, specify, self.dtype) for block in self._blocks])
        used = np.flatnonzero(compute(*[delayed(_length)(store) for store in made]))
        if len(used) == 0:
            raise ValueError("All sample weights are zero: at least one row must count.")
        ends = np.cumsum(self.lengths)
        return DaskRows([made[i] for i in used], (ends - self.lengths)[used], int(ends[-1]), n_threads)


def parts_of(name: str, collection, *, columns: bool = False) -> list[Any]:
    """The blocks of rows of a collection."""
    n_dimensions = getattr(collection, "ndim", 2)
    if columns and n_dimensions != 2:
        raise ValueError(f"{name} must have rows and columns, got {n_dimensions} dimension(s).")
    if not hasattr(collection, "to_delayed"):
        raise TypeError(f"{name} must be a Dask array or DataFrame, got {type(collection).__name__}.")
    if hasattr(collection, "numblocks") and n_dimensions == 2 and collection.numblocks[1] > 1:
        raise ValueError(
            f"The chunks of {name} are split over the columns, {collection.numblocks[1]} to a row. Put whole rows into "
            f"each chunk: {name}.rechunk({{0: 'auto', 1: -1}})."
        )
    return list(np.ravel(np.asarray(collection.to_delayed(), dtype=object)))


def _aligned(name: str, values, lengths) -> list[Any]:
    """Blocks of y or weights, as long as those of X."""
    from dask import compute, delayed

    if not is_dask(values):
        values = np.asarray(values)
        if len(values) != sum(lengths):
            raise ValueError(f"{name} has {len(values)} rows, but X has {sum(lengths)}.")
        return np.split(values, np.cumsum(lengths)[:-1])
    parts = parts_of(name, values)
    own = compute(*[delayed(_n_rows)(part) for part in parts])
    if sum(own) != sum(lengths):
        raise ValueError(f"{name} has {sum(own)} rows, but X has {sum(lengths)}.")
    if tuple(own) == tuple(lengths):
        return parts
    if not hasattr(values, "rechunk"):
        raise ValueError(
            f"{name} and X are cut into different blocks: {_some(own)} and {_some(lengths)} rows. Take both from one "
            "DataFrame, or give them the same divisions with repartition."
        )
    if np.isnan(sum(values.chunks[0])):
        values = values.compute_chunk_sizes()
    ends = np.cumsum(lengths)
    return [values[low:high] for low, high in zip(ends - lengths, ends, strict=True)]


def _some(lengths) -> str:
    shown = ", ".join(map(str, lengths[:5]))
    return f"{shown}, …" if len(lengths) > 5 else shown


# ------------------------------------------------------------------ tasks


def _checked_rows(X):
    X = check_array(X, accept_sparse="csr", dtype=DTYPES, ensure_min_samples=0, input_name="X")
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _shape_of(X) -> tuple[int, np.dtype, int]:
    return X.shape[0], X.dtype, X.shape[1]


def _n_rows(part) -> int:
    return len(part)


def _checked(X, y, weights) -> tuple[Any, np.ndarray, np.ndarray]:
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    if weights is None or isinstance(weights, Real):
        weights = np.full(X.shape[0], 1.0 if weights is None else weights)
    weights = check_array(
        weights,
        ensure_2d=False,
        dtype=X.dtype,
        ensure_non_negative=True,
        ensure_min_samples=0,
        input_name="sample_weight",
    )
    return X, y, weights


def _nothing(block) -> None:
    return None


def _of_targets(block, function, *args):
    _, y, weights = block
    return function(y, weights, *args)


def _store(block, specify, dtype):
    X, y, weights = block
    targets, weights = specify(y, weights.astype(dtype))
    X = X.astype(dtype, copy=False)
    present = np.flatnonzero(weights)
    if len(present) < len(weights):
        X, targets, weights = X[present], targets[present], weights[present]
    return MemoryRows(X, np.ascontiguousarray(targets, dtype=dtype), weights, present=present)


def _length(store) -> int:
    return store.n_rows
