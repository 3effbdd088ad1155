"""The seam between the algorithm and the data: everything that the default solver may ask of the training rows.

A store holds the m training rows of positive weight with their targets (m × q) and weights. *Store indices* are
positions in it, 0 … m − 1; *row indices* are positions among all rows that the user gave, also those of weight 0.
Features are opaque to the algorithm: only the store that built them reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np


class ColumnMoments(NamedTuple):
    """Weighted mean and variance of each column, and its least and largest entry: arrays of shape (n_features,)."""

    mean: np.ndarray
    variance: np.ndarray
    least: np.ndarray
    most: np.ndarray


def moments_of(sums: np.ndarray, origin: np.ndarray, total_weight: float) -> ColumnMoments:
    """Moments from rows of sums and of sums of squares about `origin`, of least and of largest entries."""
    mean, square = sums[:2] / total_weight
    return ColumnMoments(origin + mean, np.maximum(square - mean * mean, 0.0), sums[2], sums[3])


def joined_sums(parts: list[np.ndarray]) -> np.ndarray:
    """Sums and extremes of the columns of all rows, from those of parts of the rows."""
    stacked = np.stack(parts)
    return np.stack([*stacked[:, :2].sum(axis=0), stacked[:, 2].min(axis=0), stacked[:, 3].max(axis=0)])


class RowStore(Protocol):
    """Training rows with their targets and weights, wherever they are.

    `unisvm.rows.MemoryRows` (arrays, CSR matrices, files) and `unisvm.distributed.rows.DaskRows` (blocks on a cluster)
    are the two that exist; the suite ``tests/contracts/test_stores.py`` runs over both.

    Attributes
    ----------
    n_rows, n_features, n_columns : int
        m, the columns of X, and the columns of the targets.
    n_given : int
        Rows that the user gave, also those of weight 0.
    dtype : dtype
        The precision of the rows and so of the features.
    total_weight : float
    n_threads : int
        Threads for work in this process.
    is_sparse : bool
        Whether rows are CSR matrices.
    """

    n_rows: int
    n_features: int
    n_columns: int
    n_given: int
    dtype: np.dtype
    total_weight: float
    n_threads: int
    is_sparse: bool

    # ------------------------------------------------------------------ some rows

    def row_indices(self, indices: np.ndarray) -> np.ndarray:
        """Row indices of these store indices."""

    def locate(self, row_indices: np.ndarray) -> np.ndarray | None:
        """Store indices of these row indices; None if one of the rows is not in the store."""

    def take(self, indices: np.ndarray) -> Any:
        """Rows of X at these store indices, as an array or CSR matrix."""

    def take_given(self, row_indices: np.ndarray) -> Any:
        """Rows of X at these row indices, also of weight 0; raises ValueError where the store has only its own."""

    def take_weights(self, indices: np.ndarray) -> np.ndarray:
        """Weights at these store indices, in double precision."""

    def draw(self, n: int, rng: np.random.RandomState) -> np.ndarray:
        """Store indices of `n` distinct rows, or of all if there are no more, drawn by weight, in random order."""

    def weighted_subsample(self, n: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Store indices and weights of about `n` rows whose weighted mean is in expectation that of all rows."""

    def subset(self, indices: np.ndarray, weights: np.ndarray) -> Any:
        """A `MemoryRows` of the rows at these store indices, with other weights."""

    # ------------------------------------------------------------------ all rows

    def variance(self) -> float:
        """Weighted variance of all entries of X."""

    def column_moments(self) -> ColumnMoments:
        """Weighted mean and variance of each column of X, and its least and largest entry."""

    def diagonal(self, kernel: Any, indices: np.ndarray) -> np.ndarray:
        """k(x, x) at these store indices."""

    def trace(self, kernel: Any) -> float:
        """Σ s k(x, x) over all rows."""

    def build(self, block: Callable[..., np.ndarray], rank: int, room: float = np.inf) -> Any:
        """Features of all rows, m × rank: `block` maps rows of X to rows of features.

        Features that take more than `room` bytes do not stay in memory.
        """

    def sparse_features(self, *, with_ones: bool = False) -> Any:
        """Sparse rows themselves as features: `block` of `reduce` and `map_rows` is given CSR matrices.

        With `with_ones`, a column of ones comes before those of X.
        """

    def reduce(
        self,
        block: Callable[..., tuple[np.ndarray, ...]],
        features: Any,
        n_columns: int = 1,
        n_sums: int | None = None,
        *,
        read_once: bool = False,
    ) -> list[np.ndarray]:
        """Sums over all blocks of rows of the arrays that ``block(features, targets, weights)`` returns: one sweep.

        Sums are in double precision. The store may write over the arrays that a block returns. Its weights are a
        column, or None when all are 1. `n_columns` (numbers computed from a row), `n_sums` (numbers that a block
        returns, by default one for each feature and column) and `read_once` (the block reads its features once) set
        the size of the blocks.
        """

    def map_rows(self, block: Callable[[np.ndarray], np.ndarray], features: Any, indices: np.ndarray) -> np.ndarray:
        """Rows that `block` makes of the features at these store indices, in their order."""

    def transform(self, features: Any, matrix: np.ndarray) -> bool:
        """Multiply features in place by a square matrix; False, with nothing done, where they cannot be written."""

    def location(self, features: Any) -> str:
        """Where the features are, for people."""
