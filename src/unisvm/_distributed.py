"""Fits on Dask collections, and what the fitted function gives for them: lazily, and with the model sent once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from unisvm import fingerprint, solvers
from unisvm._estimator import BaseUniSVM, Problem
from unisvm.rows.collections import Blocks, is_dask, known_length, parts_of
from unisvm.rows.threads import count_threads

if TYPE_CHECKING:
    from unisvm.rows.dask import DaskRows


def fit(estimator: BaseUniSVM, X, y, sample_weight):
    """Fit the estimator to collections."""
    estimator._check_parameters()
    _check_possible(estimator)
    blocks = Blocks(X, y, sample_weight)
    _check_columns(estimator, blocks.n_features, getattr(X, "columns", None), reset=True)
    recipe, own = estimator._specify_blocks(blocks)
    rows = blocks.stores(recipe, count_threads(estimator.n_jobs))
    # the cluster need not remember what the stores were made from
    del blocks
    # targets and weights stay where the rows are
    nothing = np.empty((0, rows.n_columns))
    problem = Problem(nothing, nothing, *recipe.units(rows.n_columns))
    warm = estimator._can_start_warm(rows.n_features, rows.n_columns, own)
    fitted, result = estimator._fit_rows(rows, problem, lambda: _described(rows, problem), warm=warm)
    estimator._store(own | fitted, result)
    return estimator


def _described(rows: DaskRows, problem: Problem) -> dict[str, str]:
    """What a checkpoint knows the rows, targets and weights by: hashes of their blocks, made where these are."""
    X, y, weights = zip(*rows.of_blocks(_describe_block), strict=True)
    return {
        "X": fingerprint.describe_blocks(X),
        "y": fingerprint.describe_blocks(y),
        "the units of y": fingerprint.describe_together((problem.centre, problem.scale)),
        "the weights": fingerprint.describe_blocks(weights),
    }


def _describe_block(store) -> tuple[str, str, str]:
    """Descriptions of the rows and their numbers among those given, of the targets and of the weights."""
    numbers = store.numbers(np.arange(store.n_rows))
    rows = fingerprint.describe_together((store.X, numbers))
    return rows, fingerprint.describe(store.targets), fingerprint.describe(store.weights)


def refuse_collections(X) -> None:
    """Raise when X is a collection, where that cannot be."""
    if is_dask(X):
        raise TypeError(
            "X is a Dask collection, which a path cannot be computed for. Give a sample in memory, such as "
            "X[:100_000].compute() of an array or X.sample(frac=0.01).compute() of a DataFrame, and fit "
            "UniSVMClassifier or UniSVMRegressor to all rows with the parameters found."
        )


def draw(
    X, y, sample_weight, n_rows: int, rng: np.random.RandomState
) -> tuple[np.ndarray, Any, np.ndarray, np.ndarray]:
    """Numbers of at most so many rows of collections, drawn evenly, and these rows with targets and weights."""
    numbers, rows, targets, weights = Blocks(X, y, sample_weight).draw(n_rows, rng)
    return numbers, _named(rows, getattr(X, "columns", None)), targets, weights


def _check_columns(estimator: BaseUniSVM, n_features: int, names, *, reset: bool) -> None:
    """Have scikit-learn note how many columns there are, and their names, or compare them with what it noted."""
    validate_data(estimator, _named(np.zeros((1, n_features)), names), reset=reset)


def _named(rows: np.ndarray, names) -> Any:
    """Rows as a DataFrame, if their columns have names."""
    if names is None:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=names)


def _check_possible(estimator: BaseUniSVM) -> None:
    """Raise when a parameter needs all rows in one place."""
    needs = {
        "kernel": ("a kernel function instead of a precomputed matrix", estimator._is_precomputed()),
        "rank": ("a number", estimator.rank is None),
        "landmarks": (
            "'rpcholesky'",
            isinstance(estimator.landmarks, str) and estimator.landmarks == "pivoted_cholesky",
        ),
        "solver": ("'lbfgs'", solvers.get(estimator.solver).copies_of_features > 1),
    }
    for name, (instead, is_needed) in needs.items():
        if is_needed:
            raise ValueError(
                f"{name}={getattr(estimator, name)!r} needs all rows in one place, so that X cannot be a Dask "
                f"collection. Use {instead}, or give X as an array."
            )


def lazily(
    estimator: Any, method: str, X, y=None, *, dtype: np.dtype | None = None, n_columns: int | None = None, out=None
):
    """A Dask array of what a method of the estimator gives for each block of X.

    Parameters
    ----------
    dtype : dtype, optional
        That of the result; the precision of decisions on X when None.
    n_columns : int, optional
        The result has so many columns; one number a row when None.
    """
    import dask.array as da
    from dask import delayed
    from dask.highlevelgraph import HighLevelGraph

    check_is_fitted(estimator)
    if out is not None:
        raise ValueError("out is for rows that are here: what Dask computes is written by its own store or to_zarr.")
    rows = parts_of("X", X, columns=True)
    _check_columns(estimator, X.shape[1], getattr(X, "columns", None), reset=False)
    lengths = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * len(rows)
    others = [()] * len(rows) if y is None else [(part,) for part in _beside(X, y, lengths)]
    if len(others) != len(rows):
        raise ValueError(
            f"X has {len(rows)} blocks and y has {len(others)}, of unknown lengths. Take both from one DataFrame, or "
            "call compute_chunk_sizes() of both arrays."
        )
    if dtype is None:
        dtype = np.result_type(_precision(X), estimator.dual_coef_.dtype)
    model = delayed(estimator, pure=False)
    width = () if n_columns is None else (n_columns,)
    empty = np.empty((0, *width), dtype)
    answers = [delayed(_apply)(model, method, empty, row, *other) for row, other in zip(rows, others, strict=True)]
    # not by concatenation, which leaves out blocks without rows: the answers have the blocks of X
    name = f"{method}-{uuid4().hex}"
    layer: dict[Any, Any] = {(name, i, *(0 for _ in width)): answer.key for i, answer in enumerate(answers)}
    graph = HighLevelGraph.from_collections(name, layer, dependencies=answers)
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


def _apply(model: BaseUniSVM, method: str, empty: np.ndarray, X, *others) -> np.ndarray:
    if X.shape[0] == 0:
        return empty
    return getattr(model, method)(X, *others).astype(empty.dtype, copy=False)
