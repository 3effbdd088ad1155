"""The regularised risk λ‖f‖² + mean loss of many columns: one sweep over the rows gives values and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from unisvm import compiled
from unisvm.features import GramSample
from unisvm.losses.base import CLASSIFICATION, REGRESSION, Loss
from unisvm.rows.threads import one_if_small

# real targets further than this from their median, in units of their robust scale, are outliers to the start
_INLIERS = 3.0
# residuals this far apart tell the curvature of a loss; labels and robustly scaled targets have the same units
_CURVATURE_STEP = 0.2
_LEAST_CURVATURE = 0.05


class Basis(Protocol):
    """What turns coefficients in an orthonormal basis into those on the features, and gradients back."""

    def to_dual(self, W: np.ndarray) -> np.ndarray: ...

    def from_values(self, values: np.ndarray) -> np.ndarray: ...


class Chosen(NamedTuple):
    """What some columns minimise.

    `select` takes their targets and weights from those of a block of rows, one for each column or a single one that
    they share; `runs` says which columns have which loss; the penalty and the total weight are numbers, or arrays with
    one for each column.
    """

    select: Callable[..., tuple[np.ndarray, np.ndarray | None]]
    runs: list[tuple[Loss, slice]]
    penalty: float | np.ndarray
    total: float | np.ndarray


class Objective:
    """F(w) = λ‖w‖² + (1/Σs) Σ s_i ψ(r_i) for each column of targets.

    Columns are independent problems that share the features. With an intercept, the last coordinate of w is the
    value of f at the mean of the features.

    Parameters
    ----------
    rows : row store
        Holds the targets, one column each, and the weights.
    features
        What `rows.build` made of the feature map.
    feature_map : FeatureMap
    loss : Loss
    penalty : float
        λ.
    task : {"classification", "regression"}
        Whether the residual is 1 − y f(x) or y − f(x).
    centre : ndarray or None
        The mean of the features when there is an intercept.
    middle : ndarray or None
        The median of each column of real targets, whose robust scale is 1.
    """

    def __init__(
        self,
        rows,
        features,
        feature_map: Basis,
        loss: Loss,
        penalty: float,
        task: str,
        centre: np.ndarray | None = None,
        middle: np.ndarray | None = None,
    ):
        self.rows = rows
        self.features = features
        self.feature_map = feature_map
        self.loss = loss
        self.penalty = penalty
        self.margins = task == CLASSIFICATION
        self.centre = centre
        self.middle = middle
        self.total = rows.total_weight
        self.n_columns = rows.n_columns

    def __getstate__(self) -> dict[str, Any]:
        # a block of a sweep travels to where the rows are, and needs nothing that is large
        return self.__dict__ | {"rows": None, "features": None, "feature_map": None}

    @property
    def units(self) -> np.ndarray:
        """What a residual of one unit costs in each column."""
        return np.full(self.n_columns, unit_of(self.loss))

    @property
    def has_jumps(self) -> np.ndarray:
        """Whether the slope of each column's loss jumps."""
        return np.full(self.n_columns, self.loss.has_jumps)

    def _choose(self, columns: np.ndarray) -> Chosen:
        # nothing is copied when they are all of the targets
        every = np.array_equal(columns, np.arange(self.n_columns))

        def select(targets, weights):
            return (targets if every else targets[:, columns]), weights

        return Chosen(select, [(self.loss, slice(0, len(columns)))], self.penalty, self.total)

    def on_sample(self, sample: GramSample) -> Objective:
        """The same objective over the rows of a sample."""
        return Objective(
            sample.rows,
            sample.features,
            Orthonormal(),
            self.loss,
            self.penalty,
            CLASSIFICATION if self.margins else REGRESSION,
            self.centre,
            self.middle,
        )

    def curvature(self, W: np.ndarray) -> np.ndarray:
        """The curvature of the loss at each row, as a share of the most that A allows, averaged over the columns."""
        dual, intercept = self.to_dual(W)
        with one_if_small(self.features.size * dual.shape[1]):
            f = self._products(self.features, dual) + intercept
        return curvature_of(self.loss, self.residuals(f, self.rows.targets))

    def __call__(self, W: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and gradients at W, whose j-th column belongs to the targets' column ``columns[j]``."""
        chosen = self._choose(columns)
        block = self._block(*self.to_dual(W), columns)
        correlation, (pulls, risk) = self._sweep(block, len(columns), read_once=self.reads_once(columns))
        gradient = -self.correlation(correlation, pulls, chosen.total)
        body = self._body(W)
        gradient[: len(body)] += 2 * chosen.penalty * body
        return chosen.penalty * np.einsum("ij,ij->j", body, body) + risk / chosen.total, gradient

    def _block(self, dual: np.ndarray, intercept: np.ndarray, columns: np.ndarray) -> Callable[..., Any]:
        """What a block of rows adds to the gradients on the landmarks, and to those of the intercepts and the risks."""
        places = np.arange(len(columns))
        add = self._adding(dual, intercept, self._choose(columns), places)

        def block(features, targets, weights):
            gradients, sums = np.zeros((len(columns), features.shape[1])), np.zeros((2, len(columns)))
            add(features, targets, weights, gradients, sums)
            return gradients.T, sums

        return block

    def _adding(
        self, dual: np.ndarray, intercept: np.ndarray, chosen: Chosen, places: np.ndarray
    ) -> Callable[..., None]:
        """What adds a block's part of some columns to gradients, a row for each, and sums, at these rising places."""
        losses = compiled.known(chosen.runs)
        with_numpy = self._added_by_one if len(intercept) == 1 else self._added_by_several

        def add(features, targets, weights, gradients, sums):
            y, weights = chosen.select(targets, weights)
            if compiled.sweep(losses, features, y, weights, dual, intercept, self.margins, gradients, sums, places):
                return
            gathered, own = with_numpy(features, y, weights, dual, intercept, chosen)
            where = slice(None) if len(places) == len(gradients) else places
            gradients[where] += gathered.T
            sums[:, where] += own

        return add

    def _added_by_several(self, features, y, weights, dual, intercept, chosen: Chosen) -> tuple[np.ndarray, np.ndarray]:
        f = self._products(features, dual)
        pulls, risks = sums = np.empty((2, f.shape[1]))
        for loss, run in chosen.runs:
            # while they are in the cache
            own_y, own_weights, u = _own(y, run), _own(weights, run), f[:, run]
            u += intercept[run]
            value, pull = loss.value_and_derivative(self.residuals(u, own_y))
            risks[run] = _sum(_weighted(value, own_weights))
            pull = _weighted(pull, own_weights)
            # the residuals are not needed any more
            np.multiply(pull, own_y if self.margins else 1, out=u)
            pulls[run] = _sum(u)
        return _gathered(features, f), sums

    def _added_by_one(self, features, y, weights, dual, intercept, chosen: Chosen) -> tuple[np.ndarray, np.ndarray]:
        """As `_added_by_several`, with vectors: each operation between the products is an occasion to wait for the
        interpreter's lock, and takes most of its time for anything but arithmetic."""
        ((loss, _),) = chosen.runs
        y, weights = y[:, 0], None if weights is None else weights[:, 0]
        u = np.dot(features, np.ascontiguousarray(dual[:, 0]))
        u += intercept[0]
        value, pull = loss.value_and_derivative(self.residuals(u, y))
        risk = _sum(_weighted(value, weights))
        pull = _weighted(pull, weights)
        if self.margins:
            # the residuals are not needed any more
            pull = np.multiply(pull, y, out=u)
        return np.dot(pull, features)[:, None], np.array([[_sum(pull)], [risk]])

    def values_along(self, W: np.ndarray, columns: np.ndarray, scales: np.ndarray) -> np.ndarray:
        """Values at each multiple of W, a row for each of `scales`: half a sweep for all of them."""
        dual, intercept = self.to_dual(W)
        chosen = self._choose(columns)

        def block(features, targets, weights):
            y, weights = chosen.select(targets, weights)
            f = self._products(features, dual)
            f += intercept
            risks = np.empty((len(scales), f.shape[1]))
            for loss, run in chosen.runs:
                for risk, scale in zip(risks, scales, strict=True):
                    u = self.residuals(f.dtype.type(scale) * f[:, run], _own(y, run))
                    risk[run] = _sum(_weighted(loss.value(u), _own(weights, run)))
            return (risks,)

        (risks,) = self._sweep(block, len(columns))
        body = self._body(W)
        return chosen.penalty * np.outer(scales**2, np.einsum("ij,ij->j", body, body)) + risks / chosen.total

    def _products(self, features: np.ndarray, dual: np.ndarray) -> np.ndarray:
        return np.dot(features, dual)

    def reads_once(self, columns: np.ndarray) -> bool:
        """Whether a sweep over these columns reads the features from memory once, and not from the cache again."""
        return compiled.known(self._choose(columns).runs) is not None

    def _sweep(self, block, n_columns: int, *, read_once: bool = False) -> list[np.ndarray]:
        return self.rows.reduce(block, self.features, n_columns=n_columns, read_once=read_once)

    def residuals(self, f: np.ndarray, y: np.ndarray) -> np.ndarray:
        """What the loss is a function of; it is written over f."""
        # between the products of a block, threads wait for each other after every operation
        if not self.margins:
            return np.subtract(y, f, out=f)
        f *= y
        return np.subtract(1, f, out=f)

    def _body(self, W: np.ndarray) -> np.ndarray:
        """W without its intercepts."""
        return W if self.centre is None else W[:-1]

    def correlate_targets(self) -> np.ndarray:
        """The mean of y times the features, one column for each column of targets.

        For real targets as many columns follow for y without its outliers: least squares on targets with a few huge
        errors can lie so far off that a bounded loss has no slope left to come back by.
        """

        return self._correlate(np.arange(self.n_columns))

    def _correlate(self, columns: np.ndarray) -> np.ndarray:
        """As `correlate_targets`, for some columns."""
        chosen = self._choose(columns)

        def block(features, targets, weights):
            y, weights = chosen.select(targets, weights)
            pull = _weighted(y, weights)
            if self.middle is not None:
                middle = self.middle[columns]
                low, high = middle - _INLIERS, middle + _INLIERS
                pull = np.concatenate([pull, _weighted(np.clip(y, low, high), weights)], axis=1)
            pull = pull.astype(features.dtype, copy=False)
            return _gathered(features, pull), _sum(pull)

        products, sums = self._sweep(block, len(columns))
        total = np.broadcast_to(chosen.total, len(columns))
        return self.correlation(products, sums, np.tile(total, products.shape[1] // len(columns)))

    def correlation(self, products: np.ndarray, sums: np.ndarray, total: float | np.ndarray) -> np.ndarray:
        """Mean of v times the centred features, from Σ K(x, B) v, Σ v and the weight."""
        body = self.feature_map.from_values(products) / total
        if self.centre is None:
            return body
        mean = sums / total
        return np.concatenate([body - np.outer(self.centre, mean), mean[None]])

    def to_dual(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients on the landmarks and intercepts, in the rows' precision."""
        dtype = self.rows.dtype
        dual = self.feature_map.to_dual(self._body(W)).astype(dtype)
        intercept = np.zeros(W.shape[1]) if self.centre is None else W[-1] - self.centre @ W[:-1]
        return dual, intercept.astype(dtype)

    def from_values(self, values: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """W of the functions with these values at the landmarks, intercept included."""
        body = self.feature_map.from_values(values - intercept)
        if self.centre is None:
            return body
        return np.concatenate([body, (intercept + self.centre @ body)[None]])


def curvature_of(loss: Loss, u: np.ndarray) -> np.ndarray:
    """The curvature of a loss at rows of residuals, as a share of the most that A allows, averaged over each row.

    It is that of a slope between two points, so that kinks count, and never less than a small share.
    """
    rise = loss.derivative(u + _CURVATURE_STEP) - loss.derivative(u - _CURVATURE_STEP)
    share = np.clip(rise / (4 * _CURVATURE_STEP * loss.A), 0, 1).mean(axis=1, dtype=np.float64)
    return np.maximum(share, _LEAST_CURVATURE)


class Orthonormal:
    """The feature map of features that are in the orthonormal basis already."""

    def to_dual(self, W: np.ndarray) -> np.ndarray:
        return W

    def from_values(self, values: np.ndarray) -> np.ndarray:
        return values


def unit_of(loss: Loss) -> float:
    """What a residual of one unit costs, and a little more than nothing where that is free."""
    # when a few hopeless rows make up the objective, the others still count
    return max(float(loss.value(1.0)), 0.01 * loss.A)


def _gathered(features: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """What the rows pull at each feature."""
    # of several columns the transpose is faster, by a tenth for a hundred and by a third for ten
    return np.dot(features.T, pull) if pull.shape[1] == 1 else np.dot(pull.T, features).T


def _weighted(values: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The values times their weights; the values themselves when every row counts once."""
    return values if weights is None else weights * values


def _own(array: Any, run: slice) -> Any:
    """A run of columns, or the one column that all share; None of None."""
    return array if array is None or array.shape[1] == 1 else array[:, run]


def _sum(values: np.ndarray) -> np.ndarray:
    """The sums of the columns, in double precision."""
    return np.add.reduce(values, axis=0, dtype=np.float64)
