"""Checks of rows, targets and weights: arrays and matrices as scikit-learn does it, rows in files by blocks."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite, check_array, check_random_state
from sklearn.utils.validation import check_consistent_length, validate_data

from unisvm.io import files
from unisvm.kernels import Precomputed
from unisvm.kernels.base import as_rows
from unisvm.nystrom.feature_map import check_positive_semidefinite
from unisvm.rows.mapped import StoredRows, take_rows

_DTYPES = [np.float64, np.float32]
# rows of a precomputed kernel matrix that are checked for symmetry and sign
_CHECKED_ROWS = 500
#: attribute of an estimator for the least index of a column in the LIBSVM file that it was fitted on
_INDEX_BASE = "_index_base"


def check_rows_and_targets(estimator, X, y, **checks: Any):
    """X and y for a fit; the estimator is told its number of features and their names.

    X is an array, a CSR matrix or, when it was a path or a memory map, `StoredRows`.

    Parameters
    ----------
    estimator
    X : array-like, CSR matrix, StoredRows, or path
    y : array-like, path, name of a column, or None
    **checks
        How scikit-learn checks y: ``multi_output``, ``y_numeric``.
    """
    if files.is_path(X):
        X, y = files.open_rows(X, y, scratch_dir=estimator.scratch_dir)
    y = files.open_targets(y)
    rows = files.stored(X)
    note_index_base(estimator, rows)
    if rows is None:
        return validate_data(estimator, X, y, accept_sparse="csr", dtype=_DTYPES, **checks)
    _check_finite(estimator, rows)
    if y is not None:
        y = validate_data(estimator, y=y, **checks)
        check_consistent_length(rows, y)
    validate_data(estimator, rows[:1], y, skip_check_array=True)
    if rows.names is not None:
        estimator.feature_names_in_ = np.asarray(rows.names, dtype=object)
        # like checked arrays they have no names any more: an estimator inside this one knows none
        rows.names = None
    return rows, y


def note_index_base(estimator, rows: StoredRows | None) -> None:
    """Have the estimator note the least index in its file, so that indices mean the same columns in predictions."""
    setattr(estimator, _INDEX_BASE, None if rows is None else rows.index_base)


def check_rows(estimator, X):
    """X for a prediction, as `check_rows_and_targets` returns it."""
    named = False
    if files.is_path(X):
        names = getattr(estimator, "feature_names_in_", None)
        expected = files.Expected(
            estimator.n_features_in_, None if names is None else list(names), getattr(estimator, _INDEX_BASE, None)
        )
        X, _ = files.open_rows(X, scratch_dir=getattr(estimator, "scratch_dir", None), expected=expected)
        # its columns were chosen by their names
        named = names is not None and X.names is not None
        X.names = None
    rows = files.stored(X)
    if rows is None:
        return validate_data(estimator, X, accept_sparse="csr", dtype=_DTYPES, reset=False)
    if not named:
        validate_data(estimator, rows[:1], reset=False, skip_check_array=True)
    _check_finite(estimator, rows)
    return rows


def _check_finite(estimator, rows: StoredRows) -> None:
    if rows.shape[0] == 0 or rows.shape[1] == 0:
        raise ValueError(f"X must have at least one row and one column; its shape is {rows.shape}.")
    if rows.is_finite:
        return
    for block in rows.blocks():
        entries = block.data if sparse.issparse(block) else block
        assert_all_finite(entries, estimator_name=type(estimator).__name__, input_name="X")
    rows.is_finite = True


def check_weights(sample_weight: Any, X) -> np.ndarray:
    """Weights of the rows, of shape (n_rows,), in X's precision."""
    if sample_weight is None:
        return np.ones(X.shape[0], dtype=X.dtype)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(X.shape[0], sample_weight)
    weights = check_array(
        sample_weight, ensure_2d=False, dtype=X.dtype, ensure_non_negative=True, input_name="sample_weight"
    )
    if weights.shape != (X.shape[0],):
        raise ValueError(f"sample_weight must have shape ({X.shape[0]},), got {weights.shape}.")
    if not weights.any():
        raise ValueError("All sample weights are zero: at least one row must have a positive one.")
    return weights


def is_precomputed(kernel: Any) -> bool:
    """Whether the rows are those of a kernel matrix."""
    return isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed")


def check_kernel_matrix(X) -> None:
    """Raise when X cannot be a precomputed kernel matrix: not square, not symmetric or not positive semidefinite."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"A precomputed kernel matrix must be square, a row and a column for each training row; got {X.shape}."
        )
    chosen = check_random_state(0).permutation(X.shape[0])[:_CHECKED_ROWS]
    part = X[chosen][:, chosen]
    part = part.toarray() if sparse.issparse(part) else part
    if not np.allclose(part, part.T, rtol=1e-4, atol=1e-6 * np.abs(part).max()):
        raise ValueError("A precomputed kernel matrix must be symmetric; K[i, j] and K[j, i] differ.")
    check_positive_semidefinite(part.astype(np.float64), refuse=True)


def drop_zero_weights(X, weights: np.ndarray, *, precomputed: bool) -> tuple[Any, np.ndarray]:
    """Rows of positive weight, with the columns of a precomputed kernel matrix that belong to them, and their indices.

    A row of weight 0 is left out of a fit as if it had not been given.
    """
    X, present = as_rows(X), np.flatnonzero(weights)
    if len(present) == len(weights):
        return X, present
    return X[present][:, present] if precomputed else take_rows(X, present), present
