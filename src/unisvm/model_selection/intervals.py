"""Prediction intervals for real targets, from residuals of rows that were left out of the training.

With predictions f(x), the ends of the interval that holds a share c of the targets are

    f(x) + m + w(x, t_low) t_low,    f(x) + m + w(x, t_high) t_high,    w(x, t) = lower(x) if t < 0 else upper(x)

where m is the median of the residuals, and t_low and t_high are the (1 − c)/2 and (1 + c)/2 quantiles of the scores of
the rows that were left out, t_i = ρ (y_i − f_i − m)/w(x_i, ·). The ratio ρ ≤ 1 says how much smaller residuals are for
a fit to all rows than for one that leaves a fold out. Both widths are 1 where they do not vary with x.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from unisvm.kernel_expansion import KernelExpansion
from unisvm.robust_scale import weighted_medians

# ranks that rounding puts above a whole number are that number
_ROUNDING = 1e-9
# Widths are at least this share of the median distance of the residuals from their median: a row that the fits are sure
# of cannot decide the scores of all. (0.05 and 0.2 change the interval score of abalone by 0.01 %.)
_LEAST_WIDTH = 0.1
#: names of the quantiles' functions in a state, as those of a fitted estimator
OF_EXPANSION = ("kernel_", "landmark_vectors_", "dual_coef_", "intercept_")


class Residuals(NamedTuple):
    """Residuals of rows that were left out, about their median.

    Attributes
    ----------
    centre : ndarray of shape (n_targets,)
        This median.
    values : ndarray of shape (n_rows, n_targets)
    weights : ndarray of shape (n_rows,)
        Positive.
    """

    centre: np.ndarray
    values: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, residuals: np.ndarray, weights: np.ndarray) -> Residuals:
        """Those of residuals of shape (n_rows, n_targets)."""
        centre = weighted_medians(residuals, weights)
        return cls(centre, residuals - centre, weights)

    @property
    def least_width(self) -> np.ndarray:
        """Least width of each target; 1 where all residuals are equal."""
        width = _LEAST_WIDTH * weighted_medians(np.abs(self.values), self.weights)
        return np.where(width > np.finfo(float).tiny, width, 1.0)


class Widths(NamedTuple):
    """Widths below and above the centre of the residuals, as functions of the rows.

    Attributes
    ----------
    quantiles : KernelExpansion
        Columns for the lower quantile of each target's residuals, then for the upper one.
    varies : ndarray of bool of shape (n_targets,)
        Targets whose widths are these functions; those of the others are 1.
    centre, least : ndarray of shape (n_targets,)
        Median of the residuals, and the least width.
    """

    quantiles: KernelExpansion
    varies: np.ndarray
    centre: np.ndarray
    least: np.ndarray

    def of_quantiles(self, values: np.ndarray) -> np.ndarray:
        """Widths of shape (2, n_rows, n_targets), from quantiles of shape (n_rows, 2 n_targets)."""
        low, high = np.split(values.astype(np.float64), 2, axis=1)
        widths = np.maximum([self.centre - low, high - self.centre], self.least)
        return np.where(self.varies, widths, 1.0)

    def __call__(self, X: Any, n_threads: int) -> np.ndarray:
        """Widths of shape (2, n_rows, n_targets)."""
        return self.of_quantiles(self.quantiles(X, n_threads=n_threads))


class PredictionIntervals:
    """Intervals about predictions that hold a share of the targets, for any share.

    Parameters
    ----------
    residuals : Residuals
    ratio : ndarray of shape (n_targets,)
        Residuals of the fit to all rows, as a share of these.
    widths : Widths, optional
        Widths that vary with the rows; they are 1 when None.
    of_rows : ndarray of shape (2, n_rows, n_targets), optional
        Widths at the rows of the residuals.

    Attributes
    ----------
    centre : ndarray of shape (n_targets,)
        Median of the residuals.
    scores, weights : ndarray of shape (n_rows, n_targets)
        Residuals about it in units of the widths, times the ratio, in rising order, and the weights of their rows.
    widths : Widths or None
    """

    def __init__(
        self,
        residuals: Residuals,
        ratio: np.ndarray,
        widths: Widths | None = None,
        of_rows: np.ndarray | None = None,
    ):
        scores = ratio * residuals.values
        if of_rows is not None:
            scores = scores / np.where(scores < 0, *of_rows)
        order = np.argsort(scores, axis=0, kind="stable")
        self.centre, self.widths = residuals.centre, widths
        self.scores = np.take_along_axis(scores, order, axis=0)
        self.weights = residuals.weights.astype(np.float64)[order]

    @property
    def varies(self) -> np.ndarray:
        """Whether the widths of each target vary with the rows, of shape (n_targets,)."""
        return np.zeros(len(self.centre), dtype=bool) if self.widths is None else self.widths.varies

    @property
    def max_coverage(self) -> float:
        """Highest share of the targets that intervals can hold: outside of them must be the weight of a row."""
        of_rows = self.weights[:, 0]
        least = of_rows.min()
        return float((of_rows.sum() - least) / (of_rows.sum() + least))

    def quantiles(self, coverage: float) -> np.ndarray:
        """Scores between which this share of a new row's score lies, of shape (2, n_targets).

        A new row counts as the lightest of the others: without weights, its score is as likely to lie in any of the
        n + 1 gaps between theirs, and the ends are at ranks (n + 1)(1 − c)/2, rounded down, and (n + 1)(1 + c)/2,
        rounded up.
        """
        if coverage > self.max_coverage + _ROUNDING:
            n_needed = int(np.ceil((1 + coverage) / (1 - coverage) - _ROUNDING))
            raise ValueError(
                f"coverage={coverage:g} is more than {len(self.scores)} rows with out-of-fold predictions can tell of: "
                f"it takes {n_needed} rows of equal weight. Ask for {np.floor(1000 * self.max_coverage) / 1000:g} at "
                "most, or fit to more rows."
            )
        # from below for the upper end, and from above for the lower one
        high = _reached(self.scores, self.weights, (1 + coverage) / 2)
        low = _reached(self.scores[::-1], self.weights[::-1], (1 + coverage) / 2)
        return np.stack([low, high])

    def ends(self, predicted: np.ndarray, coverage: float, widths: np.ndarray | None) -> np.ndarray:
        """Lower and upper ends of shape (n_rows, n_targets, 2), from predictions and the widths at their rows."""
        t = self.quantiles(coverage)[:, None]
        if widths is not None:
            t = t * np.where(t < 0, *widths[:, None])
        return np.moveaxis(predicted + self.centre + t, 0, -1)

    def __call__(self, predicted: np.ndarray, X: Any, coverage: float, n_threads: int = 1) -> np.ndarray:
        """Lower and upper ends of shape (n_rows, n_targets, 2), from predictions of shape (n_rows, n_targets)."""
        return self.ends(predicted, coverage, None if self.widths is None else self.widths(X, n_threads))

    def state(self) -> dict[str, Any]:
        """The intervals as arrays and a kernel."""
        state: dict[str, Any] = {"centre": self.centre, "scores": self.scores, "weights": self.weights}
        if self.widths is not None:
            state |= {"varies": self.widths.varies, "least_width": self.widths.least}
            state |= zip(OF_EXPANSION, self.widths.quantiles, strict=True)
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> PredictionIntervals:
        """Inverse of `state`."""
        intervals = cls.__new__(cls)
        intervals.centre, intervals.scores, intervals.weights = (
            state[name] for name in ("centre", "scores", "weights")
        )
        intervals.widths = None
        if "varies" in state:
            quantiles = KernelExpansion(*(state[name] for name in OF_EXPANSION))
            intervals.widths = Widths(quantiles, state["varies"], state["centre"], state["least_width"])
        return intervals


def interval_scores(residuals: np.ndarray, ends: np.ndarray, weights: np.ndarray, coverage: float) -> np.ndarray:
    """Mean interval score of each target: width + 2/(1 − c) · the distance of y from the interval.

    Parameters
    ----------
    residuals : ndarray of shape (n_rows, n_targets)
    ends : ndarray of shape (n_rows, n_targets, 2)
        About the same predictions.
    weights : ndarray of shape (n_rows,)
    coverage : float
        The share c.
    """
    low, high = np.moveaxis(ends, -1, 0)
    outside = np.maximum(low - residuals, 0) + np.maximum(residuals - high, 0)
    return np.average(high - low + 2 / (1 - coverage) * outside, axis=0, weights=weights)


def _reached(scores: np.ndarray, weights: np.ndarray, share: float) -> np.ndarray:
    """Score of each column at which this share of the weight is reached, that of a new row included."""
    reached = np.cumsum(weights, axis=0)
    needed = share * (reached[-1] + weights.min(axis=0))
    places = (reached < needed * (1 - _ROUNDING)).sum(axis=0)
    return np.take_along_axis(scores, np.minimum(places, len(scores) - 1)[None], axis=0)[0]
