"""The problems of a batched solve: a column is one target with its weights, a loss and a penalty λ.

All columns share the features, so that a sweep over q columns is two products with an m × r matrix, whatever they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from unisvm.class_pairs import pair_targets
from unisvm.losses.base import Loss
from unisvm.parallel import cached_property


@dataclass(frozen=True, eq=False)
class ColumnSpec:
    """The problem of each of q columns.

    Attributes
    ----------
    losses : sequence of Loss
    loss_of : ndarray of int of shape (q,)
        Index of the column's loss, rising.
    penalties : ndarray of shape (q,)
        λ.
    totals : ndarray of shape (q,)
        Σs over the column's training rows.
    target_of : ndarray of int of shape (q,)
        Index of the column's target among those of the row store.
    weight_of : ndarray of int of shape (q,) or None
        Index of the column's weights, which are kept beside the targets; None when all have the weights of the rows.
    target_medians : ndarray of shape (q,) or None
        Medians of real targets, whose robust scale is 1.
    pairs : ndarray of int of shape (q, 2) or None
        The two classes that the column tells apart, by the store's targets ±1 of each class against the rest; rows of
        other classes have weight 0 in it. `target_of` has no meaning then.
    """

    losses: Sequence[Loss]
    loss_of: np.ndarray
    penalties: np.ndarray
    totals: np.ndarray
    target_of: np.ndarray
    weight_of: np.ndarray | None = None
    target_medians: np.ndarray | None = None
    pairs: np.ndarray | None = None

    @classmethod
    def shared(
        cls,
        loss: Loss,
        penalty: float,
        total: float,
        n_columns: int,
        target_medians: np.ndarray | None = None,
        pairs: np.ndarray | None = None,
    ) -> ColumnSpec:
        """One column for each target or pair of classes, all with the same loss, penalty and weights."""
        every = np.arange(n_columns)
        penalties, totals = np.full(n_columns, penalty), np.full(n_columns, total)
        return cls((loss,), np.zeros_like(every), penalties, totals, every, None, target_medians, pairs)

    def take(self, columns: np.ndarray) -> ColumnSpec:
        """The problems of some columns."""
        arrays = (
            self.loss_of,
            self.penalties,
            self.totals,
            self.target_of,
            self.weight_of,
            self.target_medians,
            self.pairs,
        )
        return ColumnSpec(self.losses, *(None if array is None else array[columns] for array in arrays))  # type: ignore[arg-type]

    @property
    def n_columns(self) -> int:
        return len(self.loss_of)

    @property
    def columns_a_row(self) -> int:
        """Number of columns in which a row counts, at the most."""
        if self.pairs is None or self.n_columns == 0:
            return self.n_columns
        return int(np.bincount(self.pairs.ravel()).max())

    @cached_property
    def loss_slices(self) -> list[tuple[Loss, slice]]:
        """Each loss with its columns."""
        edges = np.unique([0, *(np.flatnonzero(np.diff(self.loss_of)) + 1), self.n_columns]).tolist()
        return [(self.losses[self.loss_of[low]], slice(low, high)) for low, high in pairwise(edges)]

    def of_losses(self, attribute: Callable[[Loss], Any]) -> np.ndarray:
        """An attribute of each column's loss."""
        return np.take([attribute(loss) for loss in self.losses], self.loss_of)

    @cached_property
    def _shared_target_of(self) -> np.ndarray:
        # splits of labels share their targets
        is_one = self.n_columns > 0 and (self.target_of == self.target_of[0]).all()
        return self.target_of[:1] if is_one else self.target_of

    def take_targets(
        self, stored: np.ndarray, weights: np.ndarray | None, *, unit_weights: bool = False
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Targets and weights of the columns for a block of rows, of shape (n_rows, q), or (n_rows, 1) if all share it.

        `stored` are the targets of the row store and `weights` those of its rows; None stands for weights of 1. With
        `unit_weights`, all rows are known to count fully in all columns.
        """
        if self.pairs is not None:
            y = pair_targets(stored, self.pairs)
            if self.weight_of is not None:
                weights = None if unit_weights else stored.T[self.weight_of].T
            if unit_weights:
                return y, weights
            return y, np.abs(y) if weights is None else np.abs(y) * weights
        target_of = self._shared_target_of
        every = len(target_of) == stored.shape[1] and np.array_equal(target_of, np.arange(len(target_of)))
        y = stored if every else stored.T[target_of].T
        if self.weight_of is None:
            return y, weights
        # the weights of the rows are in those beside the targets
        return y, None if unit_weights else stored.T[self.weight_of].T


def unit_cost(loss: Loss) -> float:
    """ψ(1), the cost of a residual of one unit, or a little more than nothing where that is free."""
    # when a few hopeless rows make up the objective, the others still matter
    return max(float(loss.value(1.0)), 0.01 * loss.A)
