"""One sweep over a block of rows: gradients and risks of all columns, in compiled code or with NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from unisvm import compiled
from unisvm.column_spec import ColumnSpec
from unisvm.parallel import cached_property

# So many rows on average, of the same splits and class or of the same class, are worth a product of their own: rows of
# a class count in all splits but one.
_ROWS_OF_A_KIND, _ROWS_OF_A_CLASS = 100, 8


class Sweep:
    """Sums over a block of rows: Σ K(x, B) v, of shape (rank, q), and Σ v and the risks Σ s ψ(r), of shape (2, q).

    v = s σ ψ'(r) is minus the gradient of the risk in f, with σ = y for margins and 1 otherwise. An instance travels to
    where the rows are and holds nothing that is large.
    """

    def __init__(self, spec: ColumnSpec, dual: np.ndarray, intercept: np.ndarray, is_margin: bool):
        self._spec = spec
        self._dual = dual
        self._intercept = intercept
        self._is_margin = is_margin
        self._whole = _ColumnSums(spec, dual, intercept, is_margin, np.arange(spec.n_columns), unit_weights=False)
        self._parts: dict[bytes, _ColumnSums | None] = {}

    @property
    def is_compiled(self) -> bool:
        """Whether the features are read from memory once, and not from the cache again."""
        return self._whole.loss_table is not None

    def __call__(
        self, features: np.ndarray, targets: np.ndarray, weights: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        q = self._spec.n_columns
        gradients, sums = np.zeros((q, features.shape[1])), np.zeros((2, q))
        if self._spec.weight_of is None and self._spec.pairs is None:
            self._whole.add(features, targets, weights, gradients, sums)
        else:
            for rows, columns in self._by_kind(targets):
                some_weights = None if weights is None else weights[rows]
                columns.add(features[rows], targets[rows], some_weights, gradients, sums)
        return gradients.T, sums

    def _by_kind(self, targets: np.ndarray) -> list[tuple[slice | np.ndarray, _ColumnSums]]:
        """Rows that count alike in all columns, and the columns in which they count.

        Rows that a split leaves out, or of classes that a pair does not have, do no work for it, where the store keeps
        such rows together; else all columns are swept over all rows. Classes are put together here if need be.
        """
        spec = self._spec
        n_signs = targets.shape[1] if spec.weight_of is None else int(spec.weight_of.min())
        if spec.weight_of is not None:
            kinds = targets if spec.pairs is not None else targets[:, n_signs:]
            runs = _runs(kinds, _ROWS_OF_A_KIND)
            if runs is not None:
                return self._used(runs, targets)
        if spec.pairs is None:
            return [(slice(0, len(targets)), self._whole)]
        signs = targets[:, :n_signs]
        together = _runs(signs, _ROWS_OF_A_CLASS)
        if together is not None:
            return self._used(together, signs)
        labels = signs.argmax(axis=1)
        return self._used([np.flatnonzero(labels == label) for label in np.unique(labels).tolist()], signs)

    def _used(
        self, parts: Sequence[slice | np.ndarray], kinds: np.ndarray
    ) -> list[tuple[slice | np.ndarray, _ColumnSums]]:
        """Rows that have the same kind, with their columns, if there are any."""
        found = []
        for rows in parts:
            first = rows.start if isinstance(rows, slice) else rows[0]
            if (columns := self._columns_of(kinds[first])) is not None:
                found.append((rows, columns))
        return found

    def _columns_of(self, kind: np.ndarray) -> _ColumnSums | None:
        """The columns in which rows count that have these stored targets, and weights of splits if they follow; None
        if there are none."""
        key = kind.tobytes()
        if key not in self._parts:
            spec, weight = self._spec, np.ones(self._spec.n_columns)
            has_weights = spec.weight_of is None or len(kind) > spec.weight_of.max()
            if spec.weight_of is not None and has_weights:
                weight = kind[spec.weight_of]
            if spec.pairs is not None:
                weight = weight * np.abs(kind[spec.pairs[:, 1]] - kind[spec.pairs[:, 0]]) / 2
            used = np.flatnonzero(weight)
            arguments = spec.take(used), self._dual.T[used].T, self._intercept[used], self._is_margin, used
            unit = has_weights and bool((weight[used] == 1).all())
            self._parts[key] = _ColumnSums(*arguments, unit_weights=unit) if len(used) else None
        return self._parts[key]


def _runs(kinds: np.ndarray, n_rows: int) -> list[slice] | None:
    """Rows of the same kind that follow each other; None if they are fewer than `n_rows` on average."""
    edges = np.flatnonzero((kinds[1:] != kinds[:-1]).any(axis=1)) + 1
    if (len(edges) + 1) * n_rows > len(kinds):
        return None
    return [slice(low, high) for low, high in pairwise([0, *edges.tolist(), len(kinds)])]


@dataclass(frozen=True, eq=False)
class _ColumnSums:
    """Adds the sums of some columns over a block of rows to given arrays, in compiled code or with NumPy.

    Attributes
    ----------
    spec, dual, intercept, is_margin
        As in `Sweep`, of these columns.
    columns : ndarray of int
        Rows of the gradients, and columns of the sums, that they are added to; rising.
    unit_weights : bool
        All weights of the rows in these columns are 1.
    """

    spec: ColumnSpec
    dual: np.ndarray
    intercept: np.ndarray
    is_margin: bool
    columns: np.ndarray
    unit_weights: bool

    @cached_property
    def loss_table(self) -> compiled.LossTable | None:
        return compiled.encode_losses(self.spec.loss_slices)

    def add(
        self, features: np.ndarray, targets: np.ndarray, weights: Any, gradients: np.ndarray, sums: np.ndarray
    ) -> None:
        y, weights = self.spec.take_targets(targets, weights, unit_weights=self.unit_weights)
        arrays = features, y, weights, self.dual, self.intercept
        if compiled.sweep(self.loss_table, *arrays, self.is_margin, gradients, sums, self.columns):
            return
        gradient, added = self._with_numpy(features, y, weights)
        where = slice(None) if len(self.columns) == len(gradients) else self.columns
        gradients[where] += gradient.T
        sums[:, where] += added

    def _with_numpy(self, features: np.ndarray, y: np.ndarray, weights: Any) -> tuple[np.ndarray, np.ndarray]:
        f = decisions(features, self.dual, len(self.spec.loss_slices))
        intercept_gradients, risks = sums = np.empty((2, f.shape[1]))
        for loss, part in self.spec.loss_slices:
            # while they are in the cache
            y_part, weights_part, u = take_columns(y, part), take_columns(weights, part), f[:, part]
            u += self.intercept[part]
            value, derivative = loss.value_and_derivative(residuals(u, y_part, self.is_margin))
            risks[part] = column_sums(weighted(value, weights_part))
            derivative = weighted(derivative, weights_part)
            # written over the residuals, which are not needed any more
            np.multiply(derivative, y_part if self.is_margin else 1, out=u)
            intercept_gradients[part] = column_sums(u)
        return feature_gradient(features, f), sums


def residuals(f: np.ndarray, y: np.ndarray, is_margin: bool) -> np.ndarray:
    """r = 1 − y f or y − f, written over f."""
    # between the products of a block, threads wait for each other after every operation
    if is_margin:
        f *= y
    np.subtract(1 if is_margin else y, f, out=f)
    return f


def decisions(features: np.ndarray, dual: np.ndarray, n_losses: int) -> np.ndarray:
    """Features times coefficients: of several losses stored by columns, so that those of each loss lie together."""
    return np.asarray(features @ dual if n_losses == 1 else (dual.T @ features.T).T)


def feature_gradient(features: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Σ K(x, B) v over a block of rows, of shape (rank, q)."""
    # of several columns the transpose is faster, by a tenth for a hundred and by a third for ten
    return np.asarray(features.T @ v if v.shape[1] == 1 else (v.T @ features).T)


def weighted(values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The values times their weights; the values themselves when all weights are 1."""
    return values if weights is None else weights * values


def take_columns(array: Any, part: slice) -> Any:
    """Some columns, or the one column that all share; None of None."""
    return array if array is None or array.shape[1] == 1 else array[:, part]


def column_sums(values: np.ndarray) -> np.ndarray:
    """Sums of the columns, in double precision."""
    return np.asarray(np.add.reduce(values, axis=0, dtype=np.float64))
