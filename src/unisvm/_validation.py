"""Checks of rows, targets and weights: arrays and matrices as scikit-learn does it, rows in files by blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from datetime import date
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array, check_random_state
from sklearn.utils.validation import check_consistent_length, validate_data

from unisvm.compiled import as_native
from unisvm.io import files
from unisvm.kernels import Precomputed
from unisvm.kernels.base import as_rows
from unisvm.memory_budget import MemoryBudget
from unisvm.parallel import count_threads
from unisvm.rows.mapped import StoredRows, take_rows

#: types of X that are kept
DTYPES = [np.float64, np.float32]
# rows of a precomputed kernel matrix that are checked for symmetry at a time, and whose eigenvalues are computed
_CHECKED_ROWS = 500
# weights beyond this, or whose largest is below its inverse, would overflow or vanish in sums and products
_MAX_WEIGHT = {np.dtype(np.float32): 1e30, np.dtype(np.float64): 1e200}
#: attribute of an estimator for the least index of a column in the LIBSVM file that it was fitted on
_INDEX_BASE = "_index_base"


@contextmanager
def unchanged_on_failure(estimator) -> Iterator[None]:
    """Context in which an exception leaves the estimator with the attributes that it had before."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        for name in vars(estimator).keys() - before.keys():
            delattr(estimator, name)
        for name, value in before.items():
            setattr(estimator, name, value)
        raise


def check_rows_and_targets(estimator, X, y, sample_weight=None, **checks: Any) -> tuple[Any, Any, Any]:
    """X, y and weights for a fit; the estimator is told its number of features and their names.

    X is an array, a CSR matrix or, when it was a path or a memory map, `StoredRows`. The weights are not checked yet.

    Parameters
    ----------
    estimator
    X : array-like, CSR matrix, StoredRows, or path
    y, sample_weight : array-like, path, name of a column, or None
    **checks
        How scikit-learn checks y: ``multi_output``, ``y_numeric``.
    """
    _refuse_lazy(X=X, y=y, sample_weight=sample_weight)
    path = X if files.is_path(X) else None
    if path is not None:
        memory, n_threads = MemoryBudget.parse(estimator.memory_limit), count_threads(estimator.n_jobs)
        check_columns = partial(memory.check_columns, n_threads=n_threads)
        X, y, sample_weight = files.open_rows(
            X, y, sample_weight, scratch_dir=estimator.scratch_dir, check_columns=check_columns
        )
    y, sample_weight = files.open_beside("y", y), files.open_beside("sample_weight", sample_weight)
    y = as_native(y) if isinstance(y, np.ndarray) else y
    rows = files.stored(X)
    note_index_base(estimator, rows)
    if rows is None:
        with _columns_named(X):
            X, y = validate_data(estimator, X, y, accept_sparse="csr", dtype=DTYPES, ensure_all_finite=False, **checks)
        _check_entries(X, estimator)
        return X, y, sample_weight
    _check_finite(estimator, rows, path)
    if y is not None:
        y = validate_data(estimator, y=y, **checks)
        check_consistent_length(rows, y)
    validate_data(estimator, rows[:1], y, skip_check_array=True)
    if rows.names is not None:
        estimator.feature_names_in_ = np.asarray(rows.names, dtype=object)
    return _without_names(rows), y, sample_weight


def _without_names(rows: StoredRows) -> StoredRows:
    """The rows, as checked arrays have no names any more: an estimator inside the one that checks knows none."""
    unnamed = copy(rows)
    unnamed.names = None
    return unnamed


def note_index_base(estimator, rows: StoredRows | None) -> None:
    """Have the estimator note the least index in its file, so that indices mean the same columns in predictions."""
    setattr(estimator, _INDEX_BASE, None if rows is None else rows.index_base)


def noted_columns(estimator) -> dict[str, Any]:
    """What a fit has the estimator note of its columns, by the names of the attributes."""
    names = ("n_features_in_", "feature_names_in_", _INDEX_BASE)
    return {name: value for name, value in vars(estimator).items() if name in names}


def check_rows(estimator, X):
    """X for a prediction, as `check_rows_and_targets` returns it."""
    return _check_rows(estimator, X, None, None, with_labels=False)[0]


def check_rows_to_score(estimator, X, y, sample_weight=None) -> tuple[Any, Any, Any]:
    """X, y and weights for a score, from files as for a fit; y and the weights are not checked."""
    rows, y, sample_weight = _check_rows(estimator, X, y, sample_weight, with_labels=True)
    if y is None:
        raise ValueError("y is None. It may be left out only where X is a file of LIBSVM, which has the targets.")
    return rows, files.open_beside("y", y), files.open_beside("sample_weight", sample_weight)


def _check_rows(estimator, X, y, sample_weight, *, with_labels: bool) -> tuple[Any, Any, Any]:
    _refuse_lazy(X=X, y=y, sample_weight=sample_weight)
    path = X if files.is_path(X) else None
    expected = expected_columns(estimator)
    if path is not None:
        X, y, sample_weight = files.open_rows(
            X,
            y,
            sample_weight,
            scratch_dir=getattr(estimator, "scratch_dir", None),
            expected=expected,
            with_labels=with_labels,
        )
    rows = files.stored(X)
    if rows is None:
        with _columns_named(X):
            X = validate_data(estimator, X, accept_sparse="csr", dtype=DTYPES, ensure_all_finite=False, reset=False)
        _check_entries(X, estimator)
        return X, y, sample_weight
    if expected.names is None or rows.names is None or list(rows.names) != expected.names:
        validate_data(estimator, rows[:1], reset=False, skip_check_array=True)
    _check_finite(estimator, rows, path)
    return _without_names(rows), y, sample_weight


def expected_columns(estimator) -> files.Expected:
    """The columns that a fitted estimator takes."""
    names = getattr(estimator, "feature_names_in_", None)
    index_base = getattr(estimator, _INDEX_BASE, None)
    return files.Expected(estimator.n_features_in_, None if names is None else list(names), index_base)


def _refuse_lazy(**given: Any) -> None:
    """Raise when a table is one of polars that has not been computed."""
    for name, values in given.items():
        if type(values).__name__ == "LazyFrame":
            raise TypeError(f"{name} is a polars LazyFrame, which holds no numbers yet. Give {name}.collect().")


@contextmanager
def _columns_named(X: Any) -> Iterator[None]:
    """Context in which an error about a column that does not hold numbers names it."""
    try:
        yield
    except (TypeError, ValueError) as error:
        for name, values in _columns(X):
            found = _first_text(values)
            if found is not None:
                raise ValueError(
                    f"The column {name!r} of X does not hold numbers: {found!r} is one of its values. Leave it out, or "
                    "encode it as numbers, such as categories by sklearn.preprocessing.OneHotEncoder."
                ) from error
        raise


def _columns(X: Any) -> Iterator[tuple[Any, np.ndarray]]:
    """Names and values of the columns of a table; of an array of objects or text, their indices."""
    # of pyarrow's tables, `columns` are the columns themselves
    names = getattr(X, "column_names", getattr(X, "columns", None))
    if names is not None:
        yield from ((name, np.asarray(X[name])) for name in names)
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "OU":
        yield from enumerate(X.T)


def _first_text(values: np.ndarray) -> str | None:
    """The first value that is a date, or text that is no number."""
    if values.dtype.kind in "mM":
        return str(values[0])
    for value in values.ravel() if values.dtype.kind in "OUT" else []:
        if isinstance(value, str | date):
            try:
                float(str(value))
            except ValueError:
                return str(value)
    return None


def _check_finite(estimator, rows: StoredRows, path: Any) -> None:
    name = "X" if path is None else f"X in {path}"
    if rows.shape[0] == 0 or rows.shape[1] == 0:
        raise ValueError(f"{name} must have at least one row and one column; its shape is {rows.shape}.")
    if rows.is_finite:
        return
    first = 0
    for block in rows.blocks():
        _check_entries(block, estimator, name, first)
        first += block.shape[0]
    rows.is_finite = True


def _check_entries(X, estimator, name: str = "X", first_row: int = 0) -> None:
    """Raise when entries are not finite, or squared distances of rows would overflow; X begins with row `first_row`."""
    entries = X.data if sparse.issparse(X) else X
    if entries.size == 0:
        return
    if entries.flags.forc:
        flat = entries.ravel(order="K")
        with np.errstate(over="ignore", invalid="ignore"):
            # in one pass where all is well
            if np.dot(flat, flat) <= np.finfo(X.dtype).max / 8:
                return
    assert_all_finite(entries, estimator_name=type(estimator).__name__, input_name=name)
    most = np.sqrt(np.finfo(X.dtype).max / (8 * X.shape[1]))
    if max(entries.max(), -entries.min()) <= most:
        return
    at = sparse.coo_array(X) if sparse.issparse(X) else None
    worst = int(np.argmax(np.abs(entries if at is None else at.data)))
    row, column = np.unravel_index(worst, X.shape) if at is None else (at.row[worst], at.col[worst])
    value = entries[row, column] if at is None else at.data[worst]
    raise ValueError(
        f"{name} has the value {value:.3g} in row {first_row + row}, column {column}: squares of entries above "
        f"{most:.2g} overflow in {X.dtype}. Scale the columns of X before, or give them in larger units."
    )


def check_weights(sample_weight: Any, X) -> np.ndarray:
    """Weights of the rows, of shape (n_rows,), in X's precision."""
    if sample_weight is None:
        return np.ones(X.shape[0], dtype=X.dtype)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(X.shape[0], sample_weight)
    weights = as_native(
        check_array(sample_weight, ensure_2d=False, dtype=X.dtype, ensure_non_negative=True, input_name="sample_weight")
    )
    if weights.shape != (X.shape[0],):
        raise ValueError(f"sample_weight must have shape ({X.shape[0]},), got {weights.shape}.")
    if not weights.any():
        raise ValueError("All sample weights are zero: at least one row must have a positive one.")
    largest = weights.max()
    if not 1 / _MAX_WEIGHT[weights.dtype] <= largest <= _MAX_WEIGHT[weights.dtype]:
        raise ValueError(
            f"The largest of sample_weight is {largest:.3g}: sums of such weights are not exact in {weights.dtype}. "
            "Divide the weights by it, and multiply C by it if C is a number: the model is the same."
        )
    # beside the largest, smaller ones vanish in all sums
    return np.where(weights < largest * np.finfo(weights.dtype).tiny, 0, weights)


def is_precomputed(kernel: Any) -> bool:
    """Whether the rows are those of a kernel matrix."""
    return isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed")


def check_kernel_matrix(X) -> None:
    """Raise when X cannot be a precomputed kernel matrix: not square, or not symmetric."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"A precomputed kernel matrix must be square, a row and a column for each training row; got {X.shape}."
        )
    chosen = check_random_state(0).permutation(X.shape[0])[:_CHECKED_ROWS]
    # of rows in a file, columns are read by reading all rows
    stored = isinstance(X, StoredRows)
    starts = range(0, X.shape[0], _CHECKED_ROWS)
    for of_rows in [chosen] if stored else [np.arange(X.shape[0])[low : low + _CHECKED_ROWS] for low in starts]:
        columns = np.concatenate([block[:, of_rows] for block in X.blocks()]) if stored else _dense(X[:, of_rows])
        _check_symmetric(_dense(X[of_rows]), columns.T, of_rows)


def _check_symmetric(part: np.ndarray, transposed: np.ndarray, row_indices: np.ndarray) -> None:
    """Raise when rows of a kernel matrix are not its columns of these indices."""
    wrong = ~np.isclose(part, transposed, rtol=1e-4, atol=1e-6 * np.abs(part).max(initial=0.0))
    if wrong.any():
        i, j = np.argwhere(wrong)[0].tolist()
        raise ValueError(
            f"A precomputed kernel matrix must be symmetric, but K[{row_indices[i]}, {j}] is {part[i, j]:.6g} and "
            f"K[{j}, {row_indices[i]}] is {transposed[i, j]:.6g}."
        )


def _dense(rows: Any) -> np.ndarray:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)


def drop_zero_weights(X, weights: np.ndarray, *, precomputed: bool) -> tuple[Any, np.ndarray]:
    """Rows of positive weight, with the columns of a precomputed kernel matrix that belong to them, and their indices.

    A row of weight 0 is left out of a fit as if it had not been given.
    """
    X, present = as_rows(X), np.flatnonzero(weights)
    if len(present) == len(weights):
        return X, present
    return X[present][:, present] if precomputed else take_rows(X, present), present
