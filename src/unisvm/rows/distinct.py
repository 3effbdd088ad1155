"""Rows that are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from unisvm.rows.mapped import StoredRows


def distinct_rows(X: Any, *tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index of one row of each kind, and the kind of each row; kinds are in an order that the rows' order is not in.

    Parameters
    ----------
    X : ndarray, CSR matrix or StoredRows of shape (n_rows, n_features)
        Rows in files are each of a kind of their own, in their order.
    *tables : ndarray of shape (n_rows, n)
        Rows are of one kind if they are the same here, too.
    """
    if isinstance(X, StoredRows):
        return np.arange(X.shape[0]), np.arange(X.shape[0])
    if sparse.issparse(X):
        # sums along rows that are the same are equal to the last bit
        X = X.sorted_indices()
        X = X.astype(np.float64) @ np.random.RandomState(0).standard_normal((X.shape[1], 2))
    # −0 becomes 0
    tables = (np.asarray(X), *tables)
    parts = [np.ascontiguousarray(table + 0).view(np.uint8).reshape(len(table), -1) for table in tables]
    joined = np.ascontiguousarray(np.concatenate(parts, axis=1))
    keys = joined.view(np.dtype((np.void, joined.shape[1]))).ravel()
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    return first, group
