"""One sweep over a block of rows: gradients and risks of all columns, in compiled code or with NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from unisvm import compiled
from unisvm.column_spec import ColumnSpec


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
        kinds = targets
        if self._spec.pairs is None:
            first_weight = int(self._spec.weight_of.min())  # type: ignore[union-attr]
            kinds = targets[:, first_weight:]
        edges = np.flatnonzero((kinds[1:] != kinds[:-1]).any(axis=1)) + 1
        found: list[tuple[slice | np.ndarray, _ColumnSums]] = []
        # few edges lie between rows that are kept together, many between rows that are not
        if len(edges) <= kinds.shape[1]:
            for low, high in pairwise([0, *edges.tolist(), len(targets)]):
                if low < high and (columns := self._columns_of(targets[low])) is not None:
                    found.append((slice(low, high), columns))
            return found
        if self._spec.pairs is None or self._spec.weight_of is not None:
            return [(slice(0, len(targets)), self._whole)]
        labels = targets.argmax(axis=1)
        for label in np.unique(labels).tolist():
            rows = np.flatnonzero(labels == label)
            if (columns := self._columns_of(targets[rows[0]])) is not None:
                found.append((rows, columns))
        return found

    def _columns_of(self, targets: np.ndarray) -> _ColumnSums | None:
        """The columns in which rows with these stored targets and weights count; None if there are none."""
        key = targets.tobytes()
        if key not in self._parts:
            spec = self._spec
            weight = np.ones(spec.n_columns) if spec.weight_of is None else targets[spec.weight_of]
            if spec.pairs is not None:
                weight = weight * np.abs(targets[spec.pairs[:, 1]] - targets[spec.pairs[:, 0]]) / 2
            used = np.flatnonzero(weight)
            arguments = spec.take(used), self._dual.T[used].T, self._intercept[used], self._is_margin, used
            unit = bool((weight[used] == 1).all())
            self._parts[key] = _ColumnSums(*arguments, unit_weights=unit) if len(used) else None
        return self._parts[key]


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
