"""The row store for rows as NumPy arrays, CSR matrices or in files: blocks of rows in threads."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from copy import copy
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from unisvm.memory_budget import feature_bytes
from unisvm.parallel import CancelToken, run
from unisvm.rows import sampling
from unisvm.rows.base import ColumnMoments, moments_of
from unisvm.rows.mapped import StoredRows, take_rows
from unisvm.rows.scratch import Scratch

# A block of features is read twice in a sweep, the second time from the cache; smaller blocks cost more in waiting
# for the interpreter's lock than they gain. A sweep that reads a block once can have blocks so many times as large.
_BLOCK_BYTES, _IF_READ_ONCE = 5 * 2**20, 4
# With many columns, the decisions of a block must stay in the cache as well.
_BLOCK_ENTRIES = 2**18
# fewer multiplications are over before another thread has woken
_WORTH_SHARING = 2**18
# shares of the rows that a thread takes on average, each with sums of its own, and most numbers in all sums
_SHARES_A_THREAD, _MOST_SUMS = 4, 2**20
# rows that are gathered at a time for the diagonal
_DIAGONAL_ROWS = 2**14


class MemoryRows:
    """Training rows with their targets and weights, as `RowStore` describes them.

    Parameters
    ----------
    X : ndarray, CSR matrix or StoredRows of shape (n_rows, n_features)
    targets : ndarray of shape (n_rows, n_columns)
    weights : ndarray of shape (n_rows,)
        Positive.
    n_threads : int
        Threads over blocks of rows.
    order : ndarray of int, optional
        The order in which blocks visit the rows, and in which features are kept. Rows that are treated alike belong
        together.
    scratch_dir : str or Path, optional
        The folder for features that are too large for memory.
    present : ndarray of int, optional
        Row indices among all rows that were given, rising; those of the rows here when None.
    given : ndarray, CSR matrix or StoredRows, optional
        All rows that were given, also those of weight 0; `X` when None.

    Attributes
    ----------
    ordered_targets, ordered_weights : ndarray
        Targets and weights in the order in which features are kept.
    scratch_dir : str or Path or None
    """

    def __init__(
        self,
        X: Any,
        targets: np.ndarray,
        weights: np.ndarray,
        n_threads: int = 1,
        order: np.ndarray | None = None,
        scratch_dir: str | Path | None = None,
        present: np.ndarray | None = None,
        given: Any = None,
    ):
        self.X = X
        self.targets = targets
        self.weights = weights
        self.n_threads = n_threads
        self._order = order
        self._place = None if order is None else np.argsort(order)
        self.scratch_dir = scratch_dir
        self._present = present
        self.given = X if given is None else given
        (self.n_rows, self.n_features), self.n_columns = X.shape, targets.shape[1]
        self.is_sparse = sparse.issparse(X[:1])
        self.n_given: int = self.given.shape[0]
        self.dtype: np.dtype = X.dtype
        self.total_weight = float(weights.sum(dtype=np.float64))
        self.ordered_targets = targets if order is None else np.asfortranarray(targets[order])
        self.ordered_weights = weights if order is None else weights[order]
        self._unit_weights = bool((weights == 1).all())
        self._equal_weights = bool(len(weights) == 0 or weights.min() == weights.max())

    def with_threads(self, n_threads: int) -> MemoryRows:
        """The same rows, visited by so many threads."""
        other = copy(self)
        other.n_threads = n_threads
        return other

    def with_targets(self, targets: np.ndarray) -> MemoryRows:
        """The same rows with other targets, in the precision of the rows."""
        other = copy(self)
        other.targets = np.ascontiguousarray(targets, dtype=self.dtype)
        other.n_columns = targets.shape[1]
        other.ordered_targets = other.targets
        if self._order is not None:
            other.ordered_targets = np.asfortranarray(other.targets[self._order])
        return other

    def __sizeof__(self) -> int:
        # Dask weighs by it what it moves and spills
        X = (self.X.data, self.X.indices, self.X.indptr) if sparse.issparse(self.X) else (self.X,)
        return sum(array.nbytes for array in (*X, self.targets, self.weights))

    def variance(self) -> float:
        mean, square = self.entry_sums(self.typical_entry()) / (self.total_weight * self.n_features)
        return max(float(square - mean * mean), 0.0)

    def typical_entry(self) -> float:
        """An entry of X to take moments about: they lose fewer digits than about 0, where those of a sparse X are."""
        first = self.X[:1]
        return 0.0 if sparse.issparse(first) else float(first.mean())

    def entry_sums(self, origin: float) -> np.ndarray:
        """Weighted sums of all entries of X, and of their squares, about `origin`."""

        def sums(low: int, high: int) -> tuple[np.ndarray, ...]:
            block, weights = self.X[low:high].astype(np.float64), self.weights[low:high].astype(np.float64)
            if not sparse.issparse(block):
                block -= origin
            of_rows = np.asarray(block.sum(axis=1)).ravel()
            return np.asarray(weights @ of_rows), np.asarray(weights @ row_norms(block, squared=True))

        return np.asarray(np.sum(self._visit(sums, self._read_width(self.n_features)), axis=0))

    def column_moments(self) -> ColumnMoments:
        origin = self.first_row()
        return moments_of(self.column_sums(origin), origin, self.total_weight)

    def first_row(self) -> np.ndarray:
        """The first row, to take moments of the columns about; 0 for sparse rows."""
        return np.zeros(self.n_features) if self.is_sparse else np.asarray(self.X[:1], dtype=np.float64)[0]

    def column_sums(self, origin: np.ndarray) -> np.ndarray:
        """Weighted sums of each column of X and of its squares about `origin`, and its least and largest entry.

        They are rows of an array of shape (4, n_features).
        """

        ends = []

        def sums(low: int, high: int) -> tuple[np.ndarray, ...]:
            block, weights = self.X[low:high].astype(np.float64), self.weights[low:high].astype(np.float64)
            if sparse.issparse(block):
                ends.append([end.toarray().ravel() for end in (block.min(axis=0), block.max(axis=0))])
                return weights @ block, weights @ block.multiply(block)
            ends.append([block.min(axis=0), block.max(axis=0)])
            block -= origin
            first = weights @ block
            return first, weights @ np.square(block, out=block)

        of_shares = self._visit(sums, self._read_width(self.n_features))
        extremes = np.array(ends)
        return np.stack([*np.sum(of_shares, axis=0), extremes[:, 0].min(axis=0), extremes[:, 1].max(axis=0)])

    def row_indices(self, indices: np.ndarray) -> np.ndarray:
        return indices if self._present is None else self._present[indices]

    def locate(self, row_indices: np.ndarray) -> np.ndarray | None:
        if self._present is None:
            return row_indices
        indices = np.clip(np.searchsorted(self._present, row_indices), 0, self.n_rows - 1)
        return indices if np.array_equal(self._present[indices], row_indices) else None

    def take(self, indices: np.ndarray) -> Any:
        return self.X[indices]

    def take_given(self, row_indices: np.ndarray) -> Any:
        return self.given[row_indices]

    def take_weights(self, indices: np.ndarray) -> np.ndarray:
        return np.asarray(self.weights[indices], dtype=np.float64)

    def diagonal(self, kernel: Any, indices: np.ndarray) -> np.ndarray:
        starts = range(0, max(len(indices), 1), _DIAGONAL_ROWS)
        return np.concatenate([kernel.diagonal_at(self.X, indices[low : low + _DIAGONAL_ROWS]) for low in starts])

    def trace(self, kernel: Any) -> float:
        return float(self.weights @ self.diagonal(kernel, np.arange(self.n_rows)))

    def draw(self, n: int, rng: np.random.RandomState) -> np.ndarray:
        n = min(n, self.n_rows)
        if self._equal_weights:
            return sampling.distinct(self.n_rows, n, rng)
        return sampling.first_by_weight(self.weights, n, sampling.seed(rng), 0)[0]

    def weighted_subsample(self, n: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        if n >= self.n_rows:
            return np.arange(self.n_rows), self.weights.astype(np.float64)
        if self._equal_weights:
            return sampling.distinct(self.n_rows, n, rng), np.ones(n)
        indices, counts = np.unique(sampling.by_weight(self.weights, rng.random_sample(n)), return_counts=True)
        return indices, counts.astype(np.float64)

    def subset(self, indices: np.ndarray, weights: np.ndarray) -> MemoryRows:
        return MemoryRows(self.X[indices], self.targets[indices], weights.astype(self.weights.dtype), self.n_threads)

    def build(self, block: Callable[..., np.ndarray], rank: int, room: float = np.inf) -> np.ndarray | Scratch:
        """Features of all rows: in memory, or in a scratch file if they take more than `room` bytes.

        `block` maps rows of X to rows of features and writes them into its argument `out`.
        """
        shape = (self.n_rows, rank)
        features: np.ndarray | Scratch
        if feature_bytes(*shape, self.dtype) <= room:
            features = _in_small_pages(shape, self.dtype)
        else:
            features = Scratch(shape, self.dtype, self.scratch_dir)

        def fill(low: int, high: int) -> None:
            rows = self.X[slice(low, high) if self._order is None else self._order[low:high]]
            if isinstance(features, Scratch):
                features.write(low, block(rows))
            else:
                block(rows, out=features[low:high])

        self._visit(fill, max(rank, self._read_width(0)), n_columns=rank, n_sums=1)
        return features

    def sparse_features(self, *, with_ones: bool = False) -> Any:
        features = self.X if self._order is None else take_rows(self.X, self._order)
        if not with_ones:
            return features
        return sparse.hstack([np.ones((self.n_rows, 1), self.dtype), features], format="csr", dtype=self.dtype)

    def transform(self, features: Any, matrix: np.ndarray) -> bool:
        if not isinstance(features, np.ndarray):
            return False

        def part(low: int, high: int) -> None:
            features[low:high] = np.dot(features[low:high], matrix)

        self._visit(part, len(matrix), n_columns=len(matrix), n_sums=1)
        return True

    @staticmethod
    def location(features: Any) -> str:
        return "on disk" if isinstance(features, Scratch | StoredRows) else "in memory"

    def _read_width(self, of_others: int) -> int:
        """Numbers that a row of X takes when it is read from a file; `of_others` if it is in memory."""
        return max(self.X.entries_a_row, 1) if isinstance(self.X, StoredRows) else of_others

    def reduce(
        self,
        block: Callable[..., tuple[np.ndarray, ...]],
        features: Any,
        n_columns: int = 1,
        n_sums: int | None = None,
        *,
        read_once: bool = False,
    ) -> list[np.ndarray]:
        def part(low: int, high: int) -> tuple[np.ndarray, ...]:
            weights = None if self._unit_weights else self.ordered_weights[low:high, None]
            return block(rows_between(features, low, high), self.ordered_targets[low:high], weights)

        if n_sums is None:
            n_sums = features.shape[1] * n_columns
        sums = self._visit(part, _width(features), n_columns, n_sums, _IF_READ_ONCE if read_once else 1)
        return [reduce(np.add, parts) for parts in zip(*sums, strict=True)]

    def map_rows(self, block: Callable[[Any], np.ndarray], features: Any, indices: np.ndarray) -> np.ndarray:
        length = max(64, _BLOCK_BYTES // (features.shape[1] * features.dtype.itemsize))
        if self._place is not None:
            indices = self._place[indices]
        first = indices[0] if len(indices) else 0
        consecutive = np.array_equal(indices, np.arange(first, first + len(indices)))

        empty = block(np.empty((0, features.shape[1]), dtype=features.dtype))
        # one array from the start: fresh memory takes longer than writing to it
        values = np.empty((len(indices), *empty.shape[1:]), dtype=empty.dtype)

        def part(low: int) -> None:
            high = min(low + length, len(indices))
            # consecutive rows need not be copied
            values[low:high] = block(
                features[first + low : first + high] if consecutive else features[indices[low:high]]
            )

        run([partial(part, low) for low in range(0, len(indices), length)], self.n_threads)
        return values

    def _visit(
        self,
        block: Callable[[int, int], Any],
        width: int,
        n_columns: int = 1,
        n_sums: int | None = None,
        times: int = 1,
    ) -> list[Any]:
        """Sums of the arrays that `block(low, high)` returns, if any, over shares of the rows, in their order."""
        n_threads = self.n_threads if self.n_rows * width * n_columns > _WORTH_SHARING else 1
        length = times * _BLOCK_BYTES // (width * self.dtype.itemsize)
        if times > 1:
            # longer blocks must leave as many for every thread as it takes shares
            length = min(length, max(length // times, self.n_rows // (n_threads * _SHARES_A_THREAD)))
        else:
            length = min(length, _BLOCK_ENTRIES // n_columns)
        length = int(np.clip(length, 64, 2**16))
        # every thread gets as many blocks, all of one length
        n_blocks = n_threads * max(-(-self.n_rows // (n_threads * length)), 1)
        length = max(-(-self.n_rows // n_blocks), 1)
        # Threads are not equally fast. The order of the sums is that of the shares, whoever takes which.
        most = _MOST_SUMS // (n_threads * (width * n_columns if n_sums is None else n_sums))
        n_shares = min(n_threads * int(np.clip(most, 1, _SHARES_A_THREAD)), n_blocks)
        shares = np.array_split(np.arange(0, self.n_rows, length), n_shares)
        cancel = CancelToken()

        def share(lows: np.ndarray) -> Any:
            total = None
            for low in lows.tolist():
                if cancel.cancelled:
                    break
                part = block(low, min(low + length, self.n_rows))
                if part is None:
                    continue
                if total is None:
                    total = [np.asarray(array, dtype=np.float64) for array in part]
                else:
                    for accumulated, array in zip(total, part, strict=True):
                        accumulated += array
            return total

        return run([partial(share, lows) for lows in shares if len(lows)], n_threads, cancel)


def rows_between(features: Any, low: int, high: int) -> Any:
    """Features of consecutive rows, which are copied only if they are in a file."""
    if not sparse.issparse(features):
        return features[low:high]
    first, last = features.indptr[low], features.indptr[high]
    entries = features.data[first:last], features.indices[first:last], features.indptr[low : high + 1] - first
    return sparse.csr_matrix(entries, shape=(high - low, features.shape[1]), copy=False)


def _width(features: Any) -> int:
    """Numbers that a row of features takes."""
    if sparse.issparse(features):
        # an entry has an index beside it
        return max(3 * int(features.nnz) // (2 * max(int(features.shape[0]), 1)), 1)
    if isinstance(features, StoredRows):
        return max(int(features.entries_a_row), 1)
    return int(features.shape[1])


def _in_small_pages(shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    """An empty array, without the huge pages that NumPy asks for: a virtual machine has mostly given them back to its
    host, and gets them again at a quarter of the speed of small pages, which it still has."""
    n_bytes = shape[0] * shape[1] * dtype.itemsize
    if not hasattr(mmap, "MAP_ANONYMOUS") or n_bytes == 0:
        return np.empty(shape, dtype)
    return np.frombuffer(mmap.mmap(-1, n_bytes, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS), dtype).reshape(shape)
