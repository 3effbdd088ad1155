"""The row store for rows on Dask: every block is a `MemoryRows` where Dask put it; only sums and chosen rows leave it.

Dask schedules, moves, spills and recovers. All work is tasks that can be done again, also those that send an object
from here, so that a worker that is lost costs time but no result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from unisvm.distributed import tasks
from unisvm.distributed.tasks import Opaque, compute, persist, send, task, tree_reduce
from unisvm.rows import MemoryRows, sampling
from unisvm.rows.base import ColumnMoments, joined_sums, moments_of


class BuiltBlock(NamedTuple):
    """A block of rows and its features, which are kept together: a sweep needs both."""

    store: MemoryRows
    features: Any


class BlockFeatures:
    """Features of all rows, a block of them with each block of rows; a cluster's workers have equal shares.

    Parameters
    ----------
    stores : list of Delayed
    sizes : ndarray of int
        How many rows they have.
    block : callable or None
        Maps rows of X to features; None for sparse rows themselves.
    width : int
    """

    def __init__(self, stores: list[Any], sizes: np.ndarray, block: Callable[..., np.ndarray] | None, width: int):
        self.shape = (int(sizes.sum()), width)
        self._stores = stores
        self._sizes = sizes
        # persisted, so that it is not bound to a worker as the blocks are
        (self._sent,) = persist([send(block)])
        self._workers = tasks.workers()
        building = [self._build(i) for i in range(len(stores))]
        if len(self._workers) > 1:
            places = tasks.shares(sizes, tasks.holders(stores), self._workers)
            self._blocks = tasks.persist_on(places, building)
        else:
            self._blocks = persist(building)
            # a block that cannot be built should say so now
            tasks.wait(self._blocks)

    def blocks(self) -> list[Any]:
        """The blocks. When workers have come or gone, they are shared out anew: Dask moves nothing so large by itself.

        A block that changes its place is built again there, from rows that are much smaller than their features.
        """
        present = tasks.workers()
        if present and present != self._workers:
            self._workers = present
            where = tasks.holders(self._blocks)
            places = tasks.shares(self._sizes, where, present)
            moved = [i for i, (old, new) in enumerate(zip(where, places, strict=True)) if old != new]
            rebuilt = tasks.persist_on([places[i] for i in moved], [self._build(i) for i in moved])
            for i, block in zip(moved, rebuilt, strict=True):
                self._blocks[i] = block
        return self._blocks

    def _build(self, i: int):
        return task(_build, self._stores[i], self._sent, self.shape[1])


class DaskRows:
    """Training rows with their targets and weights in blocks, as `RowStore` describes them.

    Parameters
    ----------
    blocks : list of Delayed
        A `MemoryRows` each, with at least one row. They know which of the block's rows they are.
    given_starts : ndarray of int
        Row index of each block's first row among all that were given, also those of weight 0.
    n_given : int
        How many rows were given.
    n_threads : int
        Threads for the work that is done here.
    """

    def __init__(self, blocks: list[Any], given_starts: np.ndarray, n_given: int, n_threads: int = 1):
        self._blocks = blocks
        self._given_starts = given_starts
        self.n_given = n_given
        self.n_threads = n_threads
        facts = compute([task(_facts, block) for block in blocks])
        lengths = [fact["n_rows"] for fact in facts]
        self._starts = np.concatenate([[0], np.cumsum(lengths)])
        self._masses = np.concatenate([[0.0], np.cumsum([fact["weight"] for fact in facts])])
        self._equal_weights = min(fact["least"] for fact in facts) == max(fact["most"] for fact in facts)
        self._typical = facts[0]["typical"]
        self.n_rows, self.total_weight = int(self._starts[-1]), float(self._masses[-1])
        self.n_features: int = facts[0]["n_features"]
        self.n_columns: int = facts[0]["n_columns"]
        self.dtype: np.dtype = facts[0]["dtype"]
        self.is_sparse: bool = facts[0]["is_sparse"]

    def map_blocks(self, function: Callable[[MemoryRows], Any]) -> list[Any]:
        """Results of a function of a module for each block of rows."""
        return compute([task(function, block) for block in self._blocks])

    def variance(self) -> float:
        sums = tree_reduce([task(_entry_sums, block, self._typical) for block in self._blocks], _add)
        mean, square = sums[0] / (self.total_weight * self.n_features)
        return max(float(square - mean * mean), 0.0)

    def column_moments(self) -> ColumnMoments:
        origin = compute([task(MemoryRows.first_row, self._blocks[0])])[0]
        sums = tree_reduce([task(_column_sums, block, origin) for block in self._blocks], _joined)
        return moments_of(sums[0], origin, self.total_weight)

    def trace(self, kernel) -> float:
        sent = send(kernel)
        return float(tree_reduce([task(_trace, block, sent) for block in self._blocks], _add)[0])

    # ------------------------------------------------------------------ chosen rows

    def row_indices(self, indices: np.ndarray) -> np.ndarray:
        return self._gather(indices, lambda store, local: store.row_indices(local), self._given_starts)

    def locate(self, row_indices: np.ndarray) -> np.ndarray | None:
        of_block = np.maximum(np.searchsorted(self._given_starts, row_indices, side="right") - 1, 0)
        used = np.unique(of_block)
        found = compute(
            [task(MemoryRows.locate, self._blocks[i], row_indices[of_block == i] - self._given_starts[i]) for i in used]
        )
        indices = np.empty(len(row_indices), dtype=np.intp)
        for i, local in zip(used, found, strict=True):
            if local is None:
                return None
            indices[of_block == i] = local + self._starts[i]
        return indices

    def take(self, indices: np.ndarray):
        return self._gather(indices, lambda store, local: store.take(local))

    def take_given(self, row_indices: np.ndarray):
        raise ValueError("Landmarks given by their row indices must be rows of positive weight here.")

    def take_weights(self, indices: np.ndarray) -> np.ndarray:
        return self._gather(indices, lambda store, local: store.take_weights(local))

    def diagonal(self, kernel, indices: np.ndarray) -> np.ndarray:
        return kernel.diagonal(self.take(indices))

    def draw(self, n: int, rng: np.random.RandomState) -> np.ndarray:
        n = min(n, self.n_rows)
        if self._equal_weights:
            return sampling.distinct(self.n_rows, n, rng)
        seed = sampling.seed(rng)
        races = [
            task(_race, block, n, seed, int(low)) for block, low in zip(self._blocks, self._starts[:-1], strict=True)
        ]
        indices, _ = tree_reduce(races, partial(_first, n=n))
        return indices

    def weighted_subsample(self, n: int, rng: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        if n >= self.n_rows:
            every = np.arange(self.n_rows)
            return every, self.take_weights(every)
        if self._equal_weights:
            return sampling.distinct(self.n_rows, n, rng), np.ones(n)
        at = rng.random_sample(n) * self.total_weight
        of_block = np.minimum(np.searchsorted(self._masses, at, side="right") - 1, len(self._blocks) - 1)
        masses = [(i, at[of_block == i] - self._masses[i]) for i in np.unique(of_block)]
        drawn = compute([task(_by_weight, self._blocks[i], part) for i, part in masses])
        every = np.concatenate([local + self._starts[i] for (i, _), local in zip(masses, drawn, strict=True)])
        indices, counts = np.unique(every, return_counts=True)
        return indices, counts.astype(np.float64)

    def subset(self, indices: np.ndarray, weights: np.ndarray) -> MemoryRows:
        X = self.take(indices)
        targets = self._gather(indices, lambda store, local: store.targets[local])
        return MemoryRows(X, targets, weights.astype(self.dtype), self.n_threads)

    def _gather(self, indices: np.ndarray, part: Callable[..., Any], starts: np.ndarray | None = None):
        """Results of `part` for the chosen rows of each block, in the order of `indices`, plus the block's `starts`."""
        return self._in_order(indices, self._blocks, task_of=_chosen, part=part, starts=starts)

    # ------------------------------------------------------------------ all rows

    def build(self, block: Callable[..., np.ndarray], rank: int, room: float = np.inf) -> BlockFeatures:
        """Features of all rows, which stay where the rows are: Dask writes to disk what its workers cannot hold."""
        return BlockFeatures(self._blocks, np.diff(self._starts), block, rank)

    def sparse_features(self, *, with_ones: bool = False) -> BlockFeatures:
        return BlockFeatures(self._blocks, np.diff(self._starts), None, self.n_features + with_ones)

    def reduce(
        self,
        block: Callable[..., tuple[np.ndarray, ...]],
        features: BlockFeatures,
        n_columns: int = 1,
        n_sums: int | None = None,
        *,
        read_once: bool = False,
    ) -> list[np.ndarray]:
        sent = send(block)
        return tree_reduce(
            [task(_reduce, built, sent, n_columns, n_sums, read_once) for built in features.blocks()], _add
        )

    def map_rows(
        self, block: Callable[[np.ndarray], np.ndarray], features: BlockFeatures, indices: np.ndarray
    ) -> np.ndarray:
        return self._in_order(indices, features.blocks(), task_of=_map_rows, part=block)

    def transform(self, features: BlockFeatures, matrix: np.ndarray) -> bool:
        return False

    def _in_order(
        self,
        indices: np.ndarray,
        blocks: list[Any],
        *,
        task_of: Callable[..., Any],
        part: Callable[..., Any],
        starts: np.ndarray | None = None,
    ):
        """Results of `task_of(block, part, local)` for the rows at these indices, in their order."""
        of_block = np.searchsorted(self._starts, indices, side="right") - 1
        order = np.argsort(of_block, kind="stable")
        # an empty choice is the empty choice of a block, which knows its type
        used, first = np.unique(of_block[order] if len(indices) else [0], return_index=True)
        sent = send(part)
        found = compute(
            [
                task(task_of, blocks[i], sent, local - self._starts[i])
                for i, local in zip(used, np.split(indices[order], first[1:]), strict=True)
            ]
        )
        if starts is not None:
            found = [values + starts[i] for i, values in zip(used, found, strict=True)]
        together = sparse.vstack(found, format="csr") if sparse.issparse(found[0]) else np.concatenate(found)
        return together[np.argsort(order, kind="stable")]

    @staticmethod
    def location(features: BlockFeatures) -> str:
        return f"in {len(features.blocks())} blocks on Dask"


# ------------------------------------------------------------------ tasks


def _facts(store: MemoryRows) -> dict[str, Any]:
    return {
        "n_rows": store.n_rows,
        "n_features": store.n_features,
        "n_columns": store.n_columns,
        "dtype": store.dtype,
        "weight": store.total_weight,
        "least": store.weights.min(),
        "most": store.weights.max(),
        "typical": store.typical_entry(),
        "is_sparse": store.is_sparse,
    }


def _entry_sums(store: MemoryRows, origin: float) -> list[np.ndarray]:
    return [store.entry_sums(origin)]


def _column_sums(store: MemoryRows, origin: np.ndarray) -> list[np.ndarray]:
    return [store.column_sums(origin)]


def _joined(parts: list[list[np.ndarray]]) -> list[np.ndarray]:
    return [joined_sums([sums for (sums,) in parts])]


def _trace(store: MemoryRows, kernel: Opaque) -> list[np.ndarray]:
    return [np.asarray(store.trace(kernel.content))]


def _race(store: MemoryRows, n: int, seed: int, low: int) -> tuple[np.ndarray, np.ndarray]:
    local, times = sampling.first_by_weight(store.weights, n, seed, low)
    return local + low, times


def _first(parts: list[tuple[np.ndarray, np.ndarray]], n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first `n` of the rows that were first in their blocks."""
    indices, times = (np.concatenate(of_parts) for of_parts in zip(*parts, strict=True))
    first = np.argsort(times, kind="stable")[:n]
    return indices[first], times[first]


def _by_weight(store: MemoryRows, masses: np.ndarray) -> np.ndarray:
    return sampling.by_weight(store.weights, masses / store.total_weight)


def _chosen(store: MemoryRows, part: Opaque, indices: np.ndarray):
    return part.content(store, indices)


def _build(store: MemoryRows, block: Opaque, width: int) -> BuiltBlock:
    made_by = block.content
    if made_by is None:
        return BuiltBlock(store, store.sparse_features(with_ones=width > store.n_features))
    return BuiltBlock(store, store.build(made_by, width))


def _reduce(built: BuiltBlock, block: Opaque, n_columns: int, n_sums: int | None, read_once: bool) -> list[np.ndarray]:
    return built.store.reduce(block.content, built.features, n_columns, n_sums, read_once=read_once)


def _map_rows(built: BuiltBlock, block: Opaque, indices: np.ndarray) -> np.ndarray:
    return built.store.map_rows(block.content, built.features, indices)


def _add(parts: list[list[np.ndarray]]) -> list[np.ndarray]:
    return [sum(arrays[1:], start=arrays[0]) for arrays in zip(*parts, strict=True)]
