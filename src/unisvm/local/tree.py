"""Balanced trees of hyperplanes that part rows into cells, each of which has a machine of its own.

A node sends a row x to the left if ⟨v, x⟩ ≤ t. Along the direction v the node's rows vary much, and t leaves to both
sides a number of cells in proportion to their rows: n rows make ⌈n / rows of a cell⌉ cells of nearly equal size.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from unisvm.checkpoint import Arrays
from unisvm.kernels import Kernel, Scaled
from unisvm.parallel import run
from unisvm.rows import RowStore
from unisvm.rows.distinct import distinct_rows
from unisvm.rows.mapped import StoredRows

# A tree is made of at most so many rows, or of so many numbers where there are many columns; cells then have about as
# many rows as asked for.
_MOST_ROWS, _FEWEST_ROWS, _MOST_NUMBERS = 500_000, 20_000, 2**26
# Rows of a node that its direction is found by, and steps of the power method. After a few steps from one at random
# rows vary along it nearly as much as they can, and no two partitions are the same: on 320,000 rows of covtype the mean
# of three had 96.2 % right, and each by itself 95.8 %, as with the principal direction.
_DIRECTION_ROWS, _POWER_STEPS = 2000, 3
# directions at random that are tried where rows do not differ along that one
_RANDOM_DIRECTIONS = 5
# gaps between rows along a direction that are not told from rounding error
_ROUNDING = 1e-12
# levels that are decided by one product, and numbers in a block of rows
_LEVELS_AT_ONCE, _BLOCK_NUMBERS = 6, 2**20


@dataclass(frozen=True, eq=False)
class CellTree:
    """A tree whose leaves are the cells.

    Attributes
    ----------
    directions : ndarray of shape (n_nodes, n_features)
        v of each node, in double precision; the root is the first node, and comes before all others on each path.
    thresholds : ndarray of shape (n_nodes,)
    children : ndarray of int of shape (n_nodes, 2)
        The node to the left and to the right, or −1 − k for the cell k.
    most_rows : int
        Rows that a cell may have.
    """

    directions: np.ndarray
    thresholds: np.ndarray
    children: np.ndarray
    most_rows: int

    def state(self) -> Arrays:
        """The tree as arrays."""
        arrays = {"directions": self.directions, "thresholds": self.thresholds, "children": self.children}
        return arrays | {"most_rows": np.array(self.most_rows)}

    @classmethod
    def from_state(cls, state: Arrays) -> CellTree:
        """Inverse of `state`."""
        return cls(state["directions"], state["thresholds"], state["children"], int(state["most_rows"]))

    @property
    def n_cells(self) -> int:
        """Number of cells: one more than nodes."""
        return len(self.thresholds) + 1

    def cells_of(self, X: Any, n_threads: int = 1) -> np.ndarray:
        """The cell of each row of X, of shape (n_rows,)."""
        cells = np.zeros(X.shape[0], dtype=np.intp)
        if self.n_cells == 1:
            return cells
        width = X.entries_a_row if isinstance(X, StoredRows) else X.shape[1]
        length = max(_BLOCK_NUMBERS // max(width, 2**_LEVELS_AT_ONCE), 64)

        def fill(low: int) -> None:
            cells[low : low + length] = self._route(X[low : low + length])

        run([partial(fill, low) for low in range(0, len(cells), length)], n_threads)
        return cells

    def _route(self, X: Any) -> np.ndarray:
        """The cell of each row of a block."""
        # sums in double precision do not depend on what other rows there are, as far as thresholds can tell
        X = X.astype(np.float64)
        at = np.zeros(X.shape[0], dtype=np.intp)
        while (roots := np.unique(at[at >= 0])).size:
            for root in roots.tolist():
                rows = np.flatnonzero(at == root)
                part = X if len(rows) == X.shape[0] else X[rows]
                nodes = self._below(root)
                place = np.zeros(len(self.thresholds), dtype=np.intp)
                place[nodes] = np.arange(len(nodes))
                goes_right = np.asarray(part @ self.directions[nodes].T) > self.thresholds[nodes]
                reached = np.full(len(rows), root)
                for _ in range(_LEVELS_AT_ONCE):
                    inner = np.flatnonzero(reached >= 0)
                    node = reached[inner]
                    reached[inner] = self.children[node, goes_right[inner, place[node]].astype(np.intp)]
                at[rows] = reached
        return -1 - at

    def _below(self, root: int) -> np.ndarray:
        """A node with those of the levels that are decided together."""
        level = [root]
        found = list(level)
        for _ in range(_LEVELS_AT_ONCE - 1):
            level = [child for node in level for child in self.children[node].tolist() if child >= 0]
            found += level
        return np.array(found)


class Partitions(NamedTuple):
    """Trees that part the same rows."""

    trees: list[CellTree]

    def state(self) -> Arrays:
        """The trees as arrays."""
        return {f"{name}_{k}": array for k, tree in enumerate(self.trees) for name, array in tree.state().items()}

    @classmethod
    def from_state(cls, state: Arrays) -> Partitions:
        """Inverse of `state`."""
        names, n_trees = ("directions", "thresholds", "children", "most_rows"), len(state) // 4
        return cls([CellTree.from_state({name: state[f"{name}_{k}"] for name in names}) for k in range(n_trees)])


def grow_tree(rows: RowStore, kernel: Kernel, most_rows: int, rng: np.random.RandomState) -> CellTree:
    """Tree whose cells have at most so many different rows, as far as the rows that it is made of tell.

    Weights and copies have no part in it. Columns are taken as `kernel` scales them.

    Parameters
    ----------
    rows : RowStore
    kernel : Kernel
    most_rows : int
    rng : RandomState
    """
    n_rows = rows.n_rows
    most_sampled = int(np.clip(_MOST_NUMBERS // max(rows.n_features, 1), _FEWEST_ROWS, _MOST_ROWS))
    share = min(most_sampled / n_rows, 1.0)
    X = rows.take(np.arange(n_rows) if share == 1.0 else rows.draw(most_sampled, rng))
    X = X[distinct_rows(X)[0]]
    X = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    scaled = kernel.scaled(X) if isinstance(kernel, Scaled) else X
    grown = _Grown(scaled, max(most_rows * share, 1.0), rng)
    directions, thresholds = np.array(grown.directions), np.array(grown.thresholds)
    if isinstance(kernel, Scaled) and len(directions):
        # ⟨v, (x − c)/s⟩ ≤ t is ⟨v/s, x⟩ ≤ t + ⟨v/s, c⟩
        directions = directions / kernel.divisor
        thresholds = thresholds + directions @ np.broadcast_to(kernel.centre, X.shape[1])
    shape = len(grown.thresholds), rows.n_features
    children = np.array(grown.children, dtype=np.intp).reshape(-1, 2)
    return CellTree(directions.reshape(shape), thresholds, children, most_rows)


class _Grown:
    """The nodes of a tree, the root first, that parts these rows into cells of at most so many."""

    def __init__(self, X: Any, most_rows: float, rng: np.random.RandomState):
        self._X, self._most_rows, self._rng = X, most_rows, rng
        self.directions: list[np.ndarray] = []
        self.thresholds: list[float] = []
        self.children: list[list[int]] = []
        self._n_cells = 0
        left = [(np.arange(X.shape[0]), -1, 0)]
        while left:
            rows, parent, side = left.pop()
            split = self._split(rows)
            if split is None:
                child, self._n_cells = -1 - self._n_cells, self._n_cells + 1
            else:
                direction, threshold, goes_right = split
                child = len(self.thresholds)
                self.directions.append(direction)
                self.thresholds.append(threshold)
                self.children.append([0, 0])
                left += [(rows[goes_right], child, 1), (rows[~goes_right], child, 0)]
            if parent >= 0:
                self.children[parent][side] = child

    def _split(self, rows: np.ndarray) -> tuple[np.ndarray, float, np.ndarray] | None:
        """Direction and threshold for some rows, and which are to its right; None where they are one cell."""
        n_cells = int(np.ceil(len(rows) / self._most_rows))
        if n_cells == 1:
            return None
        for direction in self._directions(rows):
            values = np.asarray(self._X[rows] @ direction)
            threshold = _threshold(np.sort(values), len(rows) * (n_cells // 2) / n_cells)
            if threshold is not None:
                return direction, threshold, values > threshold
        return None

    def _directions(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        """A direction along which some rows vary much, then ones at random."""
        drawn = rows[self._rng.permutation(len(rows))[:_DIRECTION_ROWS]]
        yield _principal_direction(self._X[drawn], self._rng)
        for _ in range(_RANDOM_DIRECTIONS):
            direction = self._rng.standard_normal(self._X.shape[1])
            yield direction / np.linalg.norm(direction)


def _principal_direction(X: Any, rng: np.random.RandomState) -> np.ndarray:
    """Unit vector along which rows vary nearly most, by the power method from a random one."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    direction = rng.standard_normal(X.shape[1])
    for _ in range(_POWER_STEPS):
        values = X @ direction
        values = values - values.mean()
        direction = X.T @ values - mean * values.sum()
        length = np.linalg.norm(direction)
        if not length > 0:
            return np.zeros(X.shape[1])
        direction = direction / length
    return direction


def _threshold(values: np.ndarray, n_left: float) -> float | None:
    """Number in a gap of rising values that leaves about so many on the left; None where there is no gap."""
    least = _ROUNDING * max(abs(float(values[0])), abs(float(values[-1])), np.finfo(float).tiny)
    gaps = np.flatnonzero(np.diff(values) > least)
    if len(gaps) == 0:
        return None
    last = gaps[np.abs(gaps + 1 - n_left).argmin()]
    return float(values[last] / 2 + values[last + 1] / 2)
