"""Dask collections of rows, labels and weights, cut into the same blocks and checked where they are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import assert_all_finite, column_or_1d, validate_data

from unisvm._validation import DTYPES
from unisvm.class_pairs import order_by_class
from unisvm.compiled import as_native
from unisvm.distributed.rows import DaskRows
from unisvm.distributed.tasks import Opaque, check_installed, check_reachable, compute, persist, send, task
from unisvm.io.files import is_path
from unisvm.kernels.base import as_rows
from unisvm.rows import MemoryRows, sampling


def is_dask(X: Any) -> bool:
    """Whether X is a Dask collection; Dask is not imported for that."""
    if "dask" not in sys.modules:
        return False
    from dask import is_dask_collection

    return is_dask_collection(X)


class Blocks:
    """X, y and weights of the same rows, block by block, checked and kept where Dask put them.

    Rows belong together by their order, as everywhere in scikit-learn, not by the index of a DataFrame.

    Parameters
    ----------
    X : dask array or DataFrame
    y : dask array, Series or DataFrame, or an array in memory
    sample_weight : dask array or Series, array in memory, number or None

    Attributes
    ----------
    n_features : int
    lengths : list of int
    dtype : dtype
        The precision that holds all blocks.
    """

    def __init__(self, X, y, sample_weight=None):
        check_installed()
        if y is None:
            raise ValueError("The target y is None, but a fit needs it.")
        X_parts = parts_of("X", X, columns=True)
        others = {"y": y}
        if sample_weight is not None and not isinstance(sample_weight, Real):
            others["sample_weight"] = sample_weight
        for name, values in others.items():
            if is_path(values):
                raise ValueError(f"{name} must be a Dask collection or an array, as X is on Dask; got {values!r}.")
        _check_known_lengths(X, others)
        parts = {name: parts_of(name, values) for name, values in others.items() if is_dask(values)}
        # All at once: their source, such as a file, is read once. They are held here to the end, since a
        # task does not hold the results that it is made from.
        names = ["X"] * len(X_parts) + [name for name, of_values in parts.items() for _ in of_values]
        checks = [task(_checked_rows, part) for part in X_parts]
        checks += [task(_as_array, part) for of_values in parts.values() for part in of_values]
        kept = persist(checks)
        shapes, dtypes = zip(*compute([task(_shape_and_type, part) for part in kept]), strict=True)
        lengths, (self.n_features,) = _shapes("X", shapes[: len(X_parts)])
        if sum(lengths) == 0:
            raise ValueError("X holds no rows: found array with 0 sample(s) while a minimum of 1 is required.")
        self.dtype = np.result_type(*dtypes[: len(X_parts)])
        aligned: dict[str, list[Any]] = {"sample_weight": [sample_weight] * len(lengths)}
        for name, values in others.items():
            places = [i for i, other in enumerate(names) if other == name]
            if places:
                part_lengths, _ = _shapes(name, [shapes[i] for i in places])
                aligned[name] = _cut(name, [kept[i] for i in places], part_lengths, lengths)
            else:
                aligned[name] = _split(name, values, lengths)
        used = [i for i, length in enumerate(lengths) if length]
        self.lengths = [lengths[i] for i in used]
        self._blocks = persist(
            [
                task(_checked, kept[i], aligned["y"][i], aligned["sample_weight"][i], lengths[i], self.dtype)
                for i in used
            ]
        )
        # errors of a block are raised before anything else is done
        if not any(compute([task(_has_weight, block) for block in self._blocks])):
            raise ValueError("All sample weights are zero: at least one row must have a positive one.")

    def map_targets(self, function: Callable[..., Any], *args) -> list[Any]:
        """Results of `function(y, weights, *args)` for each block."""
        sent = send((function, args))
        return compute([task(_map_targets, block, sent) for block in self._blocks])

    def draw(self, n_rows: int, rng: np.random.RandomState) -> tuple[np.ndarray, Any, np.ndarray, np.ndarray]:
        """Indices of at most so many rows, drawn evenly and in rising order, and the rows, targets and weights."""
        ends = np.cumsum(self.lengths)
        total = int(ends[-1])
        indices = np.arange(total) if n_rows >= total else np.sort(sampling.distinct(total, n_rows, rng))
        of_blocks = np.split(indices, np.searchsorted(indices, ends[:-1]))
        chosen = [
            (i, part - low)
            for i, (part, low) in enumerate(zip(of_blocks, ends - self.lengths, strict=True))
            if len(part)
        ]
        found = compute([task(_some_rows, self._blocks[i], part) for i, part in chosen])
        X, y, weights = zip(*found, strict=True)
        rows = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.concatenate(X)
        return indices, rows, np.concatenate(y), np.concatenate(weights)

    def store(self, encode: Any, n_threads: int, pairs: np.ndarray | None = None) -> DaskRows:
        """Store of the rows of positive weight; `encode(y, weights)` gives training targets and weights of a block.

        Where pairs of classes are fitted, blocks keep the rows of a class together.
        """
        sent = send(encode)
        made = persist([task(_store, block, sent, pairs) for block in self._blocks])
        used = np.flatnonzero(compute([task(_length, store) for store in made]))
        ends = np.cumsum(self.lengths)
        return DaskRows([made[i] for i in used], (ends - self.lengths)[used], int(ends[-1]), n_threads)


def parts_of(name: str, collection, *, columns: bool = False) -> list[Any]:
    """The blocks of rows of a collection."""
    n_dimensions = getattr(collection, "ndim", None)
    if columns and isinstance(n_dimensions, int) and n_dimensions != 2:
        raise ValueError(f"{name} must have rows and columns, got {n_dimensions} dimension(s).")
    # bags have no dimensions, and a delayed object says yes to any question
    if not (isinstance(n_dimensions, int) and hasattr(collection, "to_delayed")):
        raise TypeError(f"{name} must be a Dask array or DataFrame, got {type(collection).__name__}.")
    if hasattr(collection, "numblocks") and n_dimensions == 2 and collection.numblocks[1] > 1:
        whole_rows = "{1: -1}" if np.isnan(collection.shape[0]) else "{0: 'auto', 1: -1}"
        raise ValueError(
            f"The chunks of {name} are split over the columns, {collection.numblocks[1]} to a row. Put whole rows into "
            f"each chunk: {name}.rechunk({whole_rows})."
        )
    check_reachable(name, collection)
    return list(np.ravel(np.asarray(collection.to_delayed(), dtype=object)))


def known_length(values) -> float:
    """Number of rows; NaN if that is not known without work."""
    if is_dask(values):
        return values.shape[0] if hasattr(values, "chunks") else np.nan
    return values.shape[0] if hasattr(values, "shape") else len(values)


def check_columns(estimator: Any, n_features: int, names, *, reset: bool) -> None:
    """Have scikit-learn note the number of columns and their names, or compare them with those that it noted."""
    validate_data(estimator, with_names(np.zeros((1, n_features)), names), reset=reset)


def with_names(rows: np.ndarray, names) -> Any:
    """Rows as a DataFrame, if their columns have names."""
    if names is None:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=names)


def refuse_collections(X, what: str) -> None:
    """Raise when X is a collection, where that cannot be: it is one that `what` says."""
    if is_dask(X):
        raise TypeError(
            f"X is a Dask collection, which {what}. Give a sample in memory, such as "
            "X[:100_000].compute() of an array or X.sample(frac=0.01).compute() of a DataFrame, and fit "
            "UniSVMClassifier or UniSVMRegressor to all rows with the parameters found."
        )


def _check_known_lengths(X, others: dict[str, Any]) -> None:
    for name, values in others.items():
        if np.isfinite(known_length(X) - known_length(values)):
            _check_length(name, int(known_length(values)), int(known_length(X)))


def _shapes(name: str, shapes) -> tuple[list[int], tuple[int, ...]]:
    """Lengths of the blocks, and the rest of their shapes, which is the same in all."""
    columns = {shape[1:] for shape in shapes}
    if len(columns) > 1:
        raise ValueError(f"All blocks of {name} must have as many columns, got {sorted(columns)}.")
    return [shape[0] for shape in shapes], columns.pop()


def _check_length(name: str, length: int, n_rows: int) -> None:
    if length != n_rows:
        raise ValueError(f"{name} has {length} rows, but X has {n_rows}.")


def _split(name: str, values, lengths) -> list[Any]:
    """Values in memory, in pieces as long as the blocks of X."""
    values = _as_array(values)
    _check_length(name, len(values), sum(lengths))
    return np.split(values, np.cumsum(lengths)[:-1])


def _cut(name: str, parts: list[Any], part_lengths, lengths) -> list[Any]:
    """Blocks of values, cut and joined to be as long as those of X."""
    _check_length(name, sum(part_lengths), sum(lengths))
    if tuple(part_lengths) == tuple(lengths):
        return parts
    ends = np.cumsum(part_lengths)
    starts, pieces = ends - part_lengths, []
    for low, high in zip(np.cumsum(lengths) - lengths, np.cumsum(lengths), strict=True):
        # a block without rows gets a part all the same, and nothing of it
        touched = np.flatnonzero((ends > low) & (starts < high)) if low < high else np.array([0])
        low, high = low - starts[touched[0]], high - starts[touched[0]]
        pieces.append(task(_piece, [parts[i] for i in touched], int(low), int(high)))
    return pieces


# ------------------------------------------------------------------ tasks


def _checked_rows(X):
    return as_rows(check_array(X, accept_sparse="csr", dtype=DTYPES, ensure_min_samples=0, input_name="X"))


def _as_array(values) -> np.ndarray:
    return as_native(values.toarray() if sparse.issparse(values) else np.asarray(values))


def _shape_and_type(part) -> tuple[tuple[int, ...], np.dtype]:
    return part.shape, part.dtype


def _piece(parts: list[np.ndarray], low: int, high: int) -> np.ndarray:
    return np.concatenate(parts)[low:high]


def _checked(X, y, weights, length: int, dtype: np.dtype) -> tuple[Any, np.ndarray, np.ndarray]:
    if y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y)
    if y.ndim not in (1, 2):
        raise ValueError(f"y must have one or two dimensions, got {y.ndim}.")
    assert_all_finite(y, input_name="y")
    if weights is None or isinstance(weights, Real):
        weights = np.full(length, 1.0 if weights is None else weights)
    weights = check_array(
        weights,
        ensure_2d=False,
        dtype=dtype,
        ensure_non_negative=True,
        ensure_min_samples=0,
        input_name="sample_weight",
    )
    if weights.shape != (length,):
        raise ValueError(f"sample_weight must have one dimension, got {weights.ndim}.")
    return X.astype(dtype, copy=False), y, weights


def _has_weight(block) -> bool:
    """Whether one of its rows has a positive weight."""
    _, _, weights = block
    return bool(weights.any())


def _map_targets(block, sent):
    function, args = sent.content
    _, y, weights = block
    return function(y, weights, *args)


def _store(block, encode: Opaque, pairs: np.ndarray | None) -> MemoryRows:
    X, y, weights = block
    targets, weights = encode.content(y, weights)
    present = np.flatnonzero(weights)
    if len(present) < len(weights):
        X, targets, weights = X[present], targets[present], weights[present]
    targets = np.ascontiguousarray(targets, dtype=X.dtype)
    return MemoryRows(X, targets, weights, order=order_by_class(targets, pairs), present=present)


def _some_rows(block, indices: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    X, y, weights = block
    return X[indices], y[indices], weights[indices]


def _length(store) -> int:
    return store.n_rows
