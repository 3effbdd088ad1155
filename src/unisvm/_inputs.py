"""What `fit` and `predict` are given, checked: arrays and matrices as scikit-learn does it, rows in files by blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_consistent_length, validate_data

from unisvm.rows import files
from unisvm.rows.stored import StoredRows

_DTYPES = [np.float64, np.float32]


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
    estimator.__dict__.pop("_index_base", None)
    rows = files.stored(X)
    if rows is None:
        return validate_data(estimator, X, y, accept_sparse="csr", dtype=_DTYPES, **checks)
    _check_finite(estimator, rows)
    if y is not None:
        y = validate_data(estimator, y=y, **checks)
        check_consistent_length(rows, y)
    validate_data(estimator, rows[:1], y, skip_check_array=True)
    if rows.names is not None:
        estimator.feature_names_in_ = np.asarray(rows.names, dtype=object)
        # as arrays that were checked, they have no names any more: an estimator inside this one knows none
        rows.names = None
    if rows.index_base is not None:
        # an index means the same column when it comes to predicting
        estimator._index_base = rows.index_base
    return rows, y


def check_rows(estimator, X):
    """X for a prediction, as `check_rows_and_targets` gives it."""
    named = False
    if files.is_path(X):
        names = getattr(estimator, "feature_names_in_", None)
        expected = files.Expected(
            estimator.n_features_in_,
            None if names is None else list(names),
            getattr(estimator, "_index_base", None),
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
        assert_all_finite(
            block.data if sparse.issparse(block) else block, estimator_name=type(estimator).__name__, input_name="X"
        )
    rows.is_finite = True
