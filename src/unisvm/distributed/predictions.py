"""Predictions for Dask collections: lazily, block by block, and with the model sent once."""

from __future__ import annotations

from functools import partial
from typing import Any
from uuid import uuid4

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unisvm.distributed.collections import check_columns, is_dask, known_length, parts_of
from unisvm.distributed.tasks import Opaque, send, task


def map_predictions(
    estimator: Any,
    method: str,
    X,
    y=None,
    *,
    dtype: np.dtype | None = None,
    n_columns: int | tuple[int, ...] | None = None,
    out=None,
    arguments: dict[str, Any] | None = None,
):
    """Dask array of the results of an estimator's method for each block of X.

    Parameters
    ----------
    dtype : dtype, optional
        That of the result; the precision of decisions on X when None.
    n_columns : int or tuple of int, optional
        The result has so many columns, or the axes of these lengths after the first; one number a row when None.
    arguments : dict, optional
        Of the method, beside the rows.
    """
    import dask.array as da
    from dask.highlevelgraph import HighLevelGraph

    check_is_fitted(estimator)
    if out is not None:
        raise ValueError("out is for rows that are here: results of Dask are written by its own store or to_zarr.")
    rows = parts_of("X", X, columns=True)
    check_columns(estimator, X.shape[1], getattr(X, "columns", None), reset=False)
    lengths = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * len(rows)
    others = [()] * len(rows) if y is None else [(part,) for part in _beside(X, y, lengths)]
    if len(others) != len(rows):
        raise ValueError(
            f"X has {len(rows)} blocks and y has {len(others)}, of unknown lengths. Take both from one DataFrame, or "
            "call compute_chunk_sizes() of both arrays."
        )
    if dtype is None:
        dtype = np.result_type(_precision(X), getattr(estimator, "cells_", [estimator])[0].dual_coef_.dtype)
    model = send(estimator)
    width = () if n_columns is None else n_columns if isinstance(n_columns, tuple) else (n_columns,)
    empty = np.empty((0, *width), dtype)
    apply = partial(_apply, arguments or {})
    results = [task(apply, model, method, empty, row, *other) for row, other in zip(rows, others, strict=True)]
    # not by concatenation, which leaves out blocks without rows: the results have the blocks of X
    name = f"{method}-{uuid4().hex}"
    layer: dict[Any, Any] = {(name, i, *(0 for _ in width)): result.key for i, result in enumerate(results)}
    graph = HighLevelGraph.from_collections(name, layer, dependencies=results)
    return da.Array(graph, name, (tuple(lengths), *((n,) for n in width)), dtype=dtype)


def _beside(X, y, lengths) -> list[Any]:
    """The blocks of y that belong to those of X."""
    import dask.array as da

    if np.isfinite(known_length(X)) and np.isfinite(known_length(y)):
        if known_length(y) != known_length(X):
            raise ValueError(f"y has {known_length(y)} rows, but X has {known_length(X)}.")
        y = y if is_dask(y) else da.from_array(np.asarray(y), chunks=-1)
        y = y.rechunk({0: lengths})
    return parts_of("y", y)


def _precision(X) -> np.dtype:
    """The precision of X once scikit-learn has checked it."""
    of_columns = set(X.dtypes) if hasattr(X, "dtypes") else {X.dtype}
    return np.dtype(np.float32 if of_columns == {np.dtype(np.float32)} else np.float64)


def _apply(arguments: dict[str, Any], model: Opaque, method: str, empty: np.ndarray, X, *others) -> np.ndarray:
    if X.shape[0] == 0:
        return empty
    return getattr(model.content, method)(X, *others, **arguments).astype(empty.dtype, copy=False)
