"""Cells of the rows that a search is made on, where every cell has a machine of its own.

A search tries its grid in a few of the cells, one by one, with splits of their rows, and takes the mean of the scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from unisvm._base import BaseUniSVM, read_settings
from unisvm._validation import drop_zero_weights
from unisvm.engine import FitSettings
from unisvm.kernels import Kernel, Linear, Scaled
from unisvm.local.fit import check_possible, rows_of_a_cell
from unisvm.local.tree import grow_tree
from unisvm.rows import MemoryRows
from unisvm.scaling import ColumnScaling, read_scaling

# cells that a search is made on, beside those that have a class alone, and rows of a cell that tell something
_MOST_CELLS, _FEWEST_ROWS = 8, 50
# rows of a cell that each split trains and is scored on at least
_FEWEST_OF_A_SPLIT = 2
Splits = Sequence[tuple[np.ndarray, np.ndarray]]


class DrawnCells(NamedTuple):
    """Cells that were drawn.

    Attributes
    ----------
    row_indices : ndarray of int
        Of their rows among all rows.
    parts : list of ndarray of int
        For each cell, which of these rows are its own.
    scaling : ColumnScaling or None
        Of the columns, by all rows, if that was asked for.
    variance : float
        Of all entries of X, once they are scaled.
    """

    row_indices: np.ndarray
    parts: list[np.ndarray]
    scaling: ColumnScaling | None
    variance: float

    def take_argument(self, value: Any, n_rows: int) -> Any:
        """Entries of an argument of `fit` that has one for each of all rows; another one as it is."""
        if isinstance(value, str) or not hasattr(value, "__len__") or len(value) != n_rows:
            return value
        return np.asarray(value)[self.row_indices]

    def with_splits(self, splits: Splits) -> DrawnCells:
        """The cells that every split can be trained and scored on."""
        parts = [
            part
            for part in self.parts
            if all(np.isin(part, rows).sum() >= _FEWEST_OF_A_SPLIT for split in splits for rows in split)
        ]
        if not parts:
            raise ValueError("Every split of cv has cells without rows to train or to score on: use cells=None.")
        return self._replace(parts=parts)

    def scaled(self, settings: FitSettings) -> FitSettings:
        """Settings of a fit to one of the cells, whose columns are scaled as those of all rows."""
        return replace(settings, kernel=_scaled(settings.kernel, self.scaling), scale=None)


def draw_for(search: Any, template: BaseUniSVM, X: Any, y: np.ndarray, weights: np.ndarray) -> DrawnCells | None:
    """Cells of rows for a searching estimator, with a template of its plain ones; None for one machine of all rows."""
    most_rows = rows_of_a_cell(search.cells, int(np.count_nonzero(weights)))
    if most_rows is None:
        return None
    settings = read_settings(template)
    check_possible(settings)
    if search.search == "halving":
        raise ValueError("search='halving' drops kernels on samples of all rows: with cells use 'adaptive' or 'full'.")
    labels = y if settings.is_margin and y.ndim == 1 else None
    # numbers of its own: with one cell, nothing is otherwise than without cells
    rng = np.random.RandomState(deepcopy(check_random_state(search.random_state)).randint(2**31 - 1))
    return draw_cells(X, labels, weights, search.scale, most_rows, rng)


def draw_cells(
    X: Any,
    labels: np.ndarray | None,
    weights: np.ndarray,
    scale: str | None,
    most_rows: int,
    rng: np.random.RandomState,
) -> DrawnCells | None:
    """Some of the cells that a tree parts rows into; None where that is one cell.

    Parameters
    ----------
    X : ndarray, CSR matrix or StoredRows
    labels : ndarray of shape (n_rows,) or None
        Cells of one label have nothing to learn, and all labels occur in those that are drawn. None for other targets.
    weights : ndarray of shape (n_rows,)
    scale : {"standard", "minmax"} or None
    most_rows : int
        Of a cell.
    rng : RandomState
    """
    kept, present = drop_zero_weights(X, weights, precomputed=False)
    rows = MemoryRows(kept, np.empty((len(present), 0), X.dtype), weights[present])
    scaling = None if scale is None else read_scaling(rows, scale)
    tree = grow_tree(rows, _scaled(Linear(), scaling), most_rows, rng)
    if tree.n_cells == 1:
        return None
    cells = tree.cells_of(kept)
    codes = np.zeros(len(present), dtype=int)
    if labels is not None:
        codes = np.unique(labels[present], return_inverse=True)[1]
    counts = np.zeros((tree.n_cells, int(codes.max()) + 1), dtype=int)
    np.add.at(counts, (cells, codes), 1)
    usable = counts.sum(axis=1) >= min(_FEWEST_ROWS, most_rows // 2)
    if labels is not None:
        usable &= (counts > 0).sum(axis=1) > 1
    if not usable.any():
        raise ValueError("No cell has rows of two classes to search on: use cells=None, or larger cells.")
    order = rng.permutation(tree.n_cells)
    drawn = order[usable[order]][:_MOST_CELLS].tolist()
    for code in np.flatnonzero(counts[drawn].sum(axis=0) == 0).tolist():
        if counts[drawn, code].sum() == 0:
            drawn.append(int(counts[:, code].argmax()))
    found = [present[np.flatnonzero(cells == cell)] for cell in drawn]
    # in their order: splits of consecutive rows are none of cells
    row_indices = np.sort(np.concatenate(found))
    parts = [np.searchsorted(row_indices, of_cell) for of_cell in found]
    return DrawnCells(row_indices, parts, scaling, rows.variance() if scaling is None else scaling.variance)


def _scaled(kernel: Kernel, scaling: ColumnScaling | None) -> Kernel:
    return kernel if scaling is None else Scaled(kernel, scaling.centre, scaling.divisor)
