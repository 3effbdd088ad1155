"""Machines of cells in model files: the tree of the cells, and a machine for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from unisvm.kernels import Kernel
from unisvm.local.tree import CellTree
from unisvm.model_files.fields import Fields
from unisvm.model_files.registry import FileType

# attributes with an entry for each cell, and the kinds of their numbers
_OF_CELLS = {"rank_": "i", "trace_error_": "f", "objective_": "f", "stationarity_": "f", "n_sweeps_": "fi"}
# attributes of a machine of a cell that are those of all
_SHARED = ("classes_", "_multilabel", "_pairs", "target_centre_", "target_scale_", "_one_target", "n_features_in_")


def check_cells(fields: Fields, cls: type[BaseEstimator], n_features: int) -> int:
    """Number of columns of an estimator with cells, whose tree and machines belong to each other."""
    trees = fields.of_type("partitions_", list)
    if not all(isinstance(tree, CellTree) and tree.directions.shape[1] == n_features for tree in trees):
        raise fields.refuse("partitions_", f"trees over {n_features} columns")
    cells, n_cells = fields.of_type("cells_", list), sum(tree.n_cells for tree in trees)
    if n_cells == 0 or len(cells) != n_cells or not all(type(cell) is cls for cell in cells):
        raise fields.refuse("cells_", f"{n_cells} machines of type {cls.__name__}")
    n_columns = 0
    for cell in cells:
        if not hasattr(cell, "dual_coef_"):
            raise fields.refuse("cells_", "machines without cells of their own")
        if n_columns not in (0, len(cell.dual_coef_)) or not all(
            _is_same(getattr(cell, name, None), fields.take(name)) for name in _SHARED if name in fields
        ):
            raise fields.refuse("cells_", "machines for the same columns")
        n_columns = len(cell.dual_coef_)
    fields.of_type("kernel_", Kernel)
    fields.number("C_", 0)
    scores = Fields("C_scores_", fields.of_type("C_scores_", dict))
    scores.array("error", scores.array("C", (None,)).shape, finite=False)
    scores.finish()
    for name, kinds in _OF_CELLS.items():
        per_column = (len(cells),) if name in ("rank_", "trace_error_") or n_columns == 1 else (len(cells), n_columns)
        fields.array(name, per_column, kinds, finite=False)
    fields.integer("n_iter_")
    return n_columns


def _is_same(value: Any, other: Any) -> bool:
    if isinstance(value, np.ndarray) and isinstance(other, np.ndarray):
        return value.dtype == other.dtype and np.array_equal(value, other)
    return type(value) is type(other) and bool(value == other)


def _state_of_tree(tree: CellTree) -> dict[str, Any]:
    return tree.state() | {"most_rows": tree.most_rows}


def _tree_of(fields: Fields) -> CellTree:
    thresholds = fields.array("thresholds", (None,))
    n_nodes = len(thresholds)
    directions = fields.array("directions", (n_nodes, None))
    children = fields.array("children", (n_nodes, 2), "i")
    # a node comes after its parent, so that every path ends; nodes but the root, and cells, are reached once
    expected = np.concatenate([np.arange(-1 - n_nodes, 0), np.arange(1, n_nodes)])
    if n_nodes == 0 or not (
        np.array_equal(np.sort(children, axis=None), expected)
        and ((children < 0) | (children > np.arange(n_nodes)[:, None])).all()
    ):
        raise fields.refuse("children", f"a tree of {n_nodes} nodes")
    if directions.dtype != np.float64 or thresholds.dtype != np.float64:
        raise fields.refuse("directions", "in double precision")
    return CellTree(directions, thresholds, children.astype(np.intp), fields.integer("most_rows", 1))


FILE_TYPES = (FileType(CellTree, "CellTree", _state_of_tree, _tree_of),)
