"""Fits on Dask collections, and what the fitted function gives for them: lazily, and with the model sent once."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from unisvm import solvers
from unisvm._estimator import BaseUniSVM, Problem
from unisvm.rows.collections import Blocks, parts_of
from unisvm.rows.threads import count_threads


def fit(estimator: BaseUniSVM, X, y, sample_weight):
    """Fit the estimator to collections."""
    estimator._check_parameters()
    _check_possible(estimator)
    blocks = Blocks(X, y, sample_weight)
    _remember_columns(estimator, blocks)
    recipe, own = estimator._specify_blocks(blocks)
    rows = blocks.stores(recipe, count_threads(estimator.n_jobs))
    # targets and weights stay where the rows are
    nothing = np.empty((0, rows.n_columns))
    problem = Problem(nothing, nothing, *recipe.units(rows.n_columns))
    warm = estimator._can_start_warm(rows.n_features, rows.n_columns, own)
    fitted, result = estimator._fit_rows(rows, problem, warm=warm)
    estimator._store(own | fitted, result)
    return estimator


def _remember_columns(estimator: BaseUniSVM, blocks: Blocks) -> None:
    """Have scikit-learn note how many columns there are, and their names."""
    row: Any = np.zeros((1, blocks.n_features))
    if blocks.names is not None:
        import pandas as pd

        row = pd.DataFrame(row, columns=blocks.names)
    validate_data(estimator, row)


def _check_possible(estimator: BaseUniSVM) -> None:
    """Raise when a parameter needs all rows in one place."""
    needs = {
        "kernel": ("a kernel function instead of a precomputed matrix", estimator._is_precomputed()),
        "rank": ("a number", estimator.rank is None),
        "landmarks": (
            "'rpcholesky'",
            isinstance(estimator.landmarks, str) and estimator.landmarks == "pivoted_cholesky",
        ),
        "checkpoint": ("None", estimator.checkpoint is not None),
        "solver": ("'lbfgs'", solvers.get(estimator.solver).copies_of_features > 1),
    }
    for name, (instead, is_needed) in needs.items():
        if is_needed:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} needs all rows in one place, so that X cannot be a Dask "
                f"collection. Use {instead}, or give X as an array."
            )


def lazily(estimator: BaseUniSVM, method: str, X, *others, dtype, n_columns: int | None = None, out=None):
    """A Dask array of what a method of the estimator gives for each block, one number a row if `n_columns` is None."""
    import dask.array as da
    from dask import delayed

    check_is_fitted(estimator)
    if out is not None:
        raise ValueError("out is for rows that are here: what Dask computes is written by its own store or to_zarr.")
    parts = [parts_of(name, given) for name, given in zip(("X", "y"), (X, *others), strict=False)]
    if len({len(part) for part in parts}) > 1:
        raise ValueError("The collections must be cut into the same blocks.")
    lengths = X.chunks[0] if hasattr(X, "chunks") else [np.nan] * len(parts[0])
    model = delayed(estimator, pure=False)
    width = () if n_columns is None else (n_columns,)
    empty = np.empty((0, *width), dtype)
    arrays = [
        da.from_delayed(delayed(_apply)(model, method, empty, *part), (length, *width), dtype=dtype)
        for length, part in zip(lengths, zip(*parts, strict=True), strict=True)
    ]
    return da.concatenate(arrays, allow_unknown_chunksizes=True)


def _apply(model: BaseUniSVM, method: str, empty: np.ndarray, X, *others) -> Any:
    return getattr(model, method)(X, *others) if X.shape[0] else empty
