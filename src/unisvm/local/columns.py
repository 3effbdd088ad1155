"""Columns that are fitted in a cell: those that its rows tell anything of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unisvm.class_pairs import class_pairs
from unisvm.targets import TargetUnits


class CellColumns(NamedTuple):
    """The columns of a cell.

    Attributes
    ----------
    targets : ndarray of int
        Columns of the training targets that are needed.
    units : TargetUnits
        Of the functions that are fitted.
    fitted : ndarray of int
        Their places among all functions.
    constants : ndarray of shape (n_columns,)
        Values of the functions that are not fitted: 1 or −1 where all rows have the same label, or the rows of one
        class of a pair alone are there, and 0 for a pair without rows.
    """

    targets: np.ndarray
    units: TargetUnits
    fitted: np.ndarray
    constants: np.ndarray


def columns_of_cell(targets: np.ndarray, units: TargetUnits, *, is_margin: bool) -> CellColumns:
    """Columns that rows with these training targets tell of.

    Parameters
    ----------
    targets : ndarray of shape (n_rows, n_targets)
        ±1 for labels.
    units : TargetUnits
        Of all rows.
    is_margin : bool
        Whether the targets are labels.
    """
    every = np.arange(targets.shape[1])
    if not is_margin:
        return CellColumns(every, units, every, np.zeros(units.n_columns))
    if units.pairs is None:
        constants = np.where((targets == targets[0]).all(axis=0), targets[0], 0).astype(np.float64)
        fitted = np.flatnonzero(constants == 0)
        return CellColumns(fitted, _of_labels(len(fitted), None), fitted, constants)
    present = np.asarray((targets > 0).any(axis=0))
    classes = np.flatnonzero(present)
    constants = present[units.pairs[:, 1]].astype(np.float64) - present[units.pairs[:, 0]]
    fitted = np.flatnonzero(present[units.pairs].all(axis=1))
    if len(classes) < 2:
        return CellColumns(classes[:0], _of_labels(0, None), fitted, constants)
    pairs = class_pairs(len(classes))
    return CellColumns(classes, _of_labels(len(pairs), pairs), fitted, constants)


def _of_labels(n_columns: int, pairs: np.ndarray | None) -> TargetUnits:
    return TargetUnits(None, np.zeros(n_columns), np.ones(n_columns), pairs)
