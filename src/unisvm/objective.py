"""The regularised risk F(w) = λ‖w‖² + (1/Σs) Σ s ψ(r) of many columns, its gradient, and its curvature."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from unisvm.column_spec import ColumnSpec
from unisvm.losses.base import Loss
from unisvm.nystrom.gram import Sample
from unisvm.parallel import single_thread_if_small
from unisvm.rows import RowStore
from unisvm.sweep import Sweep, column_sums, decisions, feature_gradient, residuals, take_columns, weighted

# real targets further than this from their median, in units of their robust scale, are outliers to the start
_INLIERS = 3.0
# residuals this far apart tell the curvature of a loss; labels and robustly scaled targets have the same units
_CURVATURE_STEP = 0.2
_LEAST_CURVATURE = 0.05
# the multiple of W at which the growth of the loss, or the lack of it, shows
_FAR = 1e3


class Basis(Protocol):
    """Linear map from coefficients w in an orthonormal basis to those on the features, and its transpose."""

    def to_dual(self, W: np.ndarray) -> np.ndarray: ...

    def from_values(self, values: np.ndarray) -> np.ndarray: ...


class Orthonormal:
    """The basis of features that are in an orthonormal basis already."""

    def to_dual(self, W: np.ndarray) -> np.ndarray:
        return W

    def from_values(self, values: np.ndarray) -> np.ndarray:
        return values


class Objective:
    """F(w) = λ‖w‖² + (1/Σs) Σ s ψ(r) for each column.

    With an intercept, the last coordinate of w is the value of f at the mean of the features.

    Parameters
    ----------
    rows : RowStore
    features
        Built by the store.
    basis : Basis
        Of the features.
    spec : ColumnSpec
    is_margin : bool
        Whether the residual is r = 1 − y f(x), as in classification, or r = y − f(x).
    mean : ndarray or None
        Mean of the features in the basis when there is an intercept.
    signs : ndarray of shape (rank,), optional
        S of a regulariser λ wᵀSw in place of λ‖w‖², which is not convex where S has entries of −1.
    """

    def __init__(
        self,
        rows: RowStore,
        features: Any,
        basis: Basis,
        spec: ColumnSpec,
        is_margin: bool,
        mean: np.ndarray | None = None,
        signs: np.ndarray | None = None,
    ):
        self.rows = rows
        self.features = features
        self.basis = basis
        self.spec = spec
        self.is_margin = is_margin
        self.mean = mean
        self.signs = signs
        # of a target and its weights; shared with the objectives of other columns of the same targets
        self._correlations: dict[tuple[int, int], np.ndarray] = {}

    def with_columns(self, spec: ColumnSpec) -> Objective:
        """The objective of other columns over the same features."""
        other = Objective(self.rows, self.features, self.basis, spec, self.is_margin, self.mean, self.signs)
        other._correlations = self._correlations
        return other

    def on_sample(self, sample: Sample, basis: Basis) -> Objective:
        """The objective over the rows of a sample, whose features have this basis."""
        spec = replace(self.spec, totals=np.full(self.n_columns, sample.rows.total_weight))
        return Objective(sample.rows, sample.features, basis, spec, self.is_margin, self.mean, self.signs)

    @property
    def n_columns(self) -> int:
        return self.spec.n_columns

    def __call__(self, W: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values, of shape (q,), and gradients at W, whose j-th column belongs to column ``columns[j]``."""
        spec = self.spec.take(columns)
        sweep = Sweep(spec, *self.to_dual(W), self.is_margin)
        gradient, (intercept_gradient, risk) = self.rows.reduce(
            sweep, self.features, n_columns=spec.columns_a_row, read_once=sweep.is_compiled
        )
        gradient = -self._correlation(gradient, intercept_gradient, spec.totals)
        body = self.signed(self._without_intercept(W))
        gradient[: len(body)] += 2 * spec.penalties * body
        values = spec.penalties * self.squares(W) + risk / spec.totals
        self.check_bounded(values, W, columns)
        return values, gradient

    def values_along(self, W: np.ndarray, columns: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """Values at each multiple of W, a row for each of `scales`: half a sweep for all of them."""
        dual, intercept = self.to_dual(W)
        spec, is_margin = self.spec.take(columns), self.is_margin

        def block(features: np.ndarray, targets: np.ndarray, weights: Any) -> tuple[np.ndarray, ...]:
            y, weights = spec.take_targets(targets, weights)
            f = decisions(features, dual, len(spec.loss_slices))
            f += intercept
            risks = np.empty((len(scales), f.shape[1]))
            for loss, part in spec.loss_slices:
                for risk, scale in zip(risks, scales, strict=True):
                    u = residuals(f.dtype.type(scale) * f[:, part], take_columns(y, part), is_margin)
                    risk[part] = column_sums(weighted(loss.value(u), take_columns(weights, part)))
            return (risks,)

        (risks,) = self.rows.reduce(block, self.features, n_columns=len(columns))
        return np.asarray(np.outer(scales**2, spec.penalties * self.squares(W)) + risks / spec.totals)

    def curvatures(self, W: np.ndarray) -> list[np.ndarray]:
        """Curvature of each loss at each row, as a share of the most that A allows, averaged over its columns.

        Only over rows and features that are in memory.
        """
        dual, intercept = self.to_dual(W)
        with single_thread_if_small(self.features.size * dual.shape[1]):
            f = decisions(self.features, dual, len(self.spec.loss_slices)) + intercept
        y, _ = self.spec.take_targets(self.rows.targets, None, unit_weights=True)  # type: ignore[attr-defined]
        counts = None if self.spec.pairs is None else np.abs(y)
        u = residuals(f, y, self.is_margin)
        return [_curvature(loss, u[:, part], take_columns(counts, part)) for loss, part in self.spec.loss_slices]

    def correlate_targets(self) -> np.ndarray:
        """Mean of y times the features, one column for each column: the right-hand side of least squares.

        For real targets as many columns follow for y without its outliers: least squares on targets with a few huge
        errors can lie so far off that a bounded loss has no slope left to come back by.
        """
        spec = self.spec
        if spec.pairs is None:
            return self._correlations_of(spec)
        first, second = (
            self._correlations_of(replace(spec, target_of=classes, pairs=None)) for classes in spec.pairs.T
        )
        return np.asarray((second - first) / 2)

    def _correlations_of(self, spec: ColumnSpec) -> np.ndarray:
        """The same for columns of targets, each computed once."""
        weight_of = np.full(spec.n_columns, -1) if spec.weight_of is None else spec.weight_of
        keys = list(zip(spec.target_of.tolist(), weight_of.tolist(), strict=True))
        new = {key: keys.index(key) for key in dict.fromkeys(keys) if key not in self._correlations}
        if new:
            found = self._correlate(spec.take(np.array(list(new.values()))))
            self._correlations |= {key: found[:, j :: len(new)] for j, key in enumerate(new)}
        by_column = [self._correlations[key] for key in keys]
        return np.concatenate([np.stack(kind, axis=1) for kind in zip(*(c.T for c in by_column), strict=True)], axis=1)

    def _correlate(self, spec: ColumnSpec) -> np.ndarray:
        """Correlations of the targets of some columns, and then those of the clipped targets."""

        def block(features: np.ndarray, targets: np.ndarray, weights: Any) -> tuple[np.ndarray, ...]:
            y, weights = spec.take_targets(targets, weights)
            v = weighted(y, weights)
            if spec.target_medians is not None:
                low, high = spec.target_medians - _INLIERS, spec.target_medians + _INLIERS
                v = np.concatenate([v, weighted(np.clip(y, low, high), weights)], axis=1)
            v = v.astype(features.dtype, copy=False)
            return feature_gradient(features, v), column_sums(v)

        products, sums = self.rows.reduce(block, self.features, n_columns=spec.n_columns)
        return self._correlation(products, sums, np.tile(spec.totals, products.shape[1] // spec.n_columns))

    def _correlation(self, products: np.ndarray, sums: np.ndarray, totals: np.ndarray) -> np.ndarray:
        """Mean of v times the centred features, from Σ K(x, B) v, Σ v and Σs."""
        body: np.ndarray = self.basis.from_values(products) / totals
        if self.mean is None:
            return body
        means = sums / totals
        return np.concatenate([body - np.outer(self.mean, means), means[None]])

    def _without_intercept(self, W: np.ndarray) -> np.ndarray:
        return W if self.mean is None else W[:-1]

    def to_dual(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients on the features and intercepts, in the rows' precision."""
        dtype = self.rows.dtype
        dual = self.basis.to_dual(self._without_intercept(W)).astype(dtype, copy=False)
        intercept = np.zeros(W.shape[1]) if self.mean is None else W[-1] - self.mean @ W[:-1]
        return dual, intercept.astype(dtype)

    def signed(self, body: np.ndarray) -> np.ndarray:
        """S w, or w itself where there is no S; without the intercept's coordinate."""
        return body if self.signs is None else self.signs[:, None] * body

    def squares(self, W: np.ndarray) -> np.ndarray:
        """wᵀSw of each column, or ‖w‖²; the intercept has no part in it."""
        body = self._without_intercept(W)
        return np.asarray(np.einsum("ij,ij->j", body, self.signed(body)))

    def check_bounded(self, values: np.ndarray, W: np.ndarray, columns: np.ndarray) -> None:
        """Raise when F, which has these values at W, falls without bound along a multiple of W.

        Where F is unbounded, every solver comes to values below zero in the end. A minimum may lie there, too: then F
        rises again far out along W.
        """
        below = values < 0
        if self.signs is None or not below.any():
            return
        (far,) = self.values_along(W[:, below], columns[below], np.array([_FAR]))
        if not (far > values[below]).all():
            raise ValueError(
                "indefinite='krein': the objective falls without bound, since the loss grows too slowly to balance the "
                "negative part of the kernel, so that there is no minimum to find. Use indefinite='flip', or a loss "
                "that grows with the square of every residual, such as 'least_squares'."
            )

    def join_intercept(self, body: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """W of the functions p·w + intercept; without an intercept, that is no part of it."""
        if self.mean is None:
            return body
        return np.concatenate([body, (intercept + self.mean @ body)[None]])


def _curvature(loss: Loss, u: np.ndarray, counts: np.ndarray | None) -> np.ndarray:
    """Curvature of a loss at rows of residuals, as a share of the most that A allows, averaged over each row.

    It is that of a slope between two points, so that kinks have one too, and never less than a small share. `counts`
    are 1 where a row counts in a column and 0 elsewhere; None if it does in all.
    """
    rise = loss.derivative(u + _CURVATURE_STEP) - loss.derivative(u - _CURVATURE_STEP)
    shares = np.clip(rise / (4 * _CURVATURE_STEP * loss.A), 0, 1)
    share = weighted(shares, counts).mean(axis=1, dtype=np.float64)
    least = 1.0 if counts is None else counts.mean(axis=1, dtype=np.float64)
    return np.asarray(np.maximum(share, _LEAST_CURVATURE * least))
