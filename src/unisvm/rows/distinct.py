"""Rows that are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from unisvm.rows.mapped import StoredRows

# numbers that are read at a time
_BLOCK_NUMBERS = 2**20


def distinct_rows(X: Any, *tables: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Index of one row of each kind, and the kind of each row; the order of the kinds is not that of the rows.

    Rows are told apart by two random 64-bit sums of their bits: no copy of X is made.

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
        X = X.sorted_indices().astype(np.float64) @ np.random.RandomState(0).standard_normal((X.shape[1], 2))
    keys = np.concatenate([_sums_of_bits(np.asarray(table)) for table in (X, *tables)], axis=1)
    _, first, group = np.unique(keys.view(np.dtype((np.void, keys.itemsize * keys.shape[1]))).ravel(), True, True)
    return first, group


def _sums_of_bits(table: np.ndarray) -> np.ndarray:
    """Two sums of the 32-bit words of each row, modulo 2⁶⁴, with random odd factors: equal where rows are."""
    table = table.astype(np.float64) if table.dtype.itemsize % 4 else table
    n_words = table.shape[1] * table.dtype.itemsize // 4
    factors = np.random.RandomState(0).randint(2**63, size=(n_words, 2), dtype=np.uint64) | np.uint64(1)
    sums = np.empty((len(table), 2), dtype=np.uint64)
    n_rows = max(_BLOCK_NUMBERS // max(n_words, 1), 1)
    for low in range(0, len(table), n_rows):
        # −0 becomes 0
        block = np.ascontiguousarray(table[low : low + n_rows] + 0)
        sums[low : low + n_rows] = block.view(np.uint32).astype(np.uint64) @ factors
    return sums
