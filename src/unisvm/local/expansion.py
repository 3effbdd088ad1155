"""Functions that are those of a cell on the rows of that cell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from unisvm.kernel_expansion import KernelExpansion, Postprocess, checked_out, identity
from unisvm.local.tree import CellTree
from unisvm.parallel import run
from unisvm.rows.mapped import StoredRows

# bytes of rows from a file, or numbers that are averaged over partitions, that are in memory at a time
_READ_BYTES, _MOST_DECISIONS = 2**28, 2**24


class LocalExpansion(NamedTuple):
    """Functions on the landmarks of each cell, averaged over partitions.

    Attributes
    ----------
    trees : sequence of CellTree
        One for each partition.
    cells : sequence of KernelExpansion
        Of the first partition, then of the next one, …
    """

    trees: Sequence[CellTree]
    cells: Sequence[KernelExpansion]

    def __call__(
        self, X: Any, postprocess: Postprocess = identity, out: np.ndarray | None = None, n_threads: int = 1
    ) -> np.ndarray:
        """Rows that `postprocess` makes of f(x), a row of X each: in `out` if it is given."""
        empty = postprocess(np.empty((0, len(self.cells[0].dual_coef)), dtype=self._dtype(X)))
        shape = (X.shape[0], *empty.shape[1:])
        result = np.empty(shape, empty.dtype) if out is None else checked_out(out, shape, empty.dtype)
        length = max(X.shape[0], 1)
        if isinstance(X, StoredRows):
            length = max(_READ_BYTES // (max(X.entries_a_row, 1) * X.dtype.itemsize), 64)
        if len(self.trees) > 1:
            length = min(length, max(_MOST_DECISIONS // len(self.cells[0].dual_coef), 64))
        for low in range(0, X.shape[0], length):
            # rows of files are read once, and in their order
            rows = X if length >= X.shape[0] else X[low : low + length]
            part = result[low : low + length]
            if len(self.trees) == 1:
                self._fill(0, rows, postprocess, part, n_threads)
            else:
                part[...] = postprocess(self._mean(rows, n_threads))
        return result

    def _mean(self, X: Any, n_threads: int) -> np.ndarray:
        """Mean of f(x) over the partitions, of shape (n_rows, n_columns)."""
        shape = X.shape[0], len(self.cells[0].dual_coef)
        total, values = np.zeros(shape, self._dtype(X)), np.empty(shape, self._dtype(X))
        for partition in range(len(self.trees)):
            self._fill(partition, X, identity, values, n_threads)
            total += values
        return total / len(self.trees)

    def _dtype(self, X: Any) -> np.dtype:
        return np.result_type(X.dtype, self.cells[0].dual_coef.dtype)

    def _fill(self, partition: int, X: Any, postprocess: Postprocess, result: np.ndarray, n_threads: int) -> None:
        """Write rows of a result by one partition."""
        tree = self.trees[partition]
        first = sum(earlier.n_cells for earlier in self.trees[:partition])
        cells = tree.cells_of(X, n_threads)
        order = np.argsort(cells, kind="stable")
        ends = np.cumsum(np.bincount(cells, minlength=tree.n_cells))

        def fill(cell: int, rows: np.ndarray) -> None:
            result[rows] = self.cells[first + cell](X[rows], postprocess)

        of_cells = enumerate(np.split(order, ends[:-1]))
        run([partial(fill, cell, rows) for cell, rows in of_cells if len(rows)], n_threads)
