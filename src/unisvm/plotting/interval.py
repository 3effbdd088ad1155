"""Prediction intervals of real targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from unisvm.plotting.drawing import axes_or_new, require_matplotlib

# opaque, so that bars of many rows are as light as one
_BAND_COLOR = "#ccdaec"


class IntervalDisplay:
    """Real targets beside their prediction intervals, those outside in another colour.

    Targets are drawn against predictions; where X has a single column, against this column.

    Make one with `from_estimator` or `from_predictions`, which draw it; or from numbers, and draw it with `plot`.

    Parameters
    ----------
    y_true, predicted : array-like of shape (n_samples,)
    interval : array-like of shape (n_samples, 2)
        The lower and the upper end for each row.
    x : array-like of shape (n_samples,), optional
        What the targets are drawn against in place of the predictions.
    asked : float, optional
        The coverage that was asked for.

    Attributes
    ----------
    y_true, predicted, x : ndarray of shape (n_samples,)
        In rising order of x, or of the predictions where x is None.
    interval : ndarray of shape (n_samples, 2)
        In the same order.
    inside : ndarray of bool of shape (n_samples,)
        Whether the target is in its interval, ends included.
    coverage : float
        Share of the rows that are inside.
    mean_width : float
    asked : float or None
    curve_ : matplotlib.lines.Line2D
        The predictions.
    intervals_ : matplotlib.collections.Collection
        A bar for each row, or a band over x.
    inside_, outside_ : matplotlib.lines.Line2D
        The targets.
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from unisvm.plotting import IntervalDisplay
    >>> interval = [[0.8, 1.4], [1.7, 2.3], [2.9, 3.5]]
    >>> display = IntervalDisplay.from_predictions([1.0, 2.5, 3.0], [1.1, 2.0, 3.2], interval)
    >>> display.inside, round(display.mean_width, 3)
    (array([ True, False,  True]), 0.6)
    """

    def __init__(self, y_true, predicted, interval, *, x=None, asked: float | None = None):
        y_true, predicted = _numbers("y_true", y_true, 1), _numbers("predicted", predicted, 1)
        interval = _numbers("interval", interval, 2)
        if predicted.shape != y_true.shape or interval.shape != (len(y_true), 2) or not len(y_true):
            raise ValueError(
                "predicted must have one number and interval two for each target, of which there must be some; got "
                f"shapes {predicted.shape} and {interval.shape} for {y_true.shape}."
            )
        if (interval[:, 0] > interval[:, 1]).any():
            raise ValueError("interval must have the lower end first, and the upper one second.")
        along = predicted if x is None else _numbers("x", x, 1)
        if along.shape != y_true.shape:
            raise ValueError(f"x must have a number for each of {len(y_true)} targets, got shape {along.shape}.")
        order = np.argsort(along, kind="stable")
        self.y_true, self.predicted, self.interval = y_true[order], predicted[order], interval[order]
        self.x = None if x is None else along[order]
        self.inside = (self.interval[:, 0] <= self.y_true) & (self.y_true <= self.interval[:, 1])
        self.coverage = float(self.inside.mean())
        self.mean_width = float(np.diff(self.interval, axis=1).mean())
        self.asked = asked

    @classmethod
    def from_estimator(cls, estimator, X, y, *, coverage: float = 0.9, ax=None, **point_kw: Any) -> IntervalDisplay:
        """Draw the intervals that an estimator predicts.

        Parameters
        ----------
        estimator : estimator
            Fitted, with a method ``predict_interval(X, coverage)`` that returns the ends, of shape (n_samples, 2).
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Rows that it was not fitted to.
        y : array-like of shape (n_samples,)
        coverage : float, default=0.9
            Share of the rows that the intervals should hold.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **point_kw
            Settings of the targets, such as ``markersize``.

        Returns
        -------
        display : IntervalDisplay
        """
        require_matplotlib()
        if not hasattr(estimator, "predict_interval"):
            raise TypeError(
                f"{type(estimator).__name__} has no method predict_interval: give its intervals to from_predictions."
            )
        x = None
        if np.ndim(X) == 2 and np.shape(X)[1] == 1:
            x = (X.toarray() if sparse.issparse(X) else np.asarray(X))[:, 0]
        interval = estimator.predict_interval(X, coverage)
        return cls(y, estimator.predict(X), interval, x=x, asked=coverage).plot(ax, **point_kw)

    @classmethod
    def from_predictions(
        cls, y_true, predicted, interval, *, x=None, asked: float | None = None, ax=None, **point_kw: Any
    ) -> IntervalDisplay:
        """Draw intervals that are there already.

        Parameters
        ----------
        y_true, predicted, interval, x, asked
            As in `IntervalDisplay`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **point_kw
            Settings of the targets, such as ``markersize``.

        Returns
        -------
        display : IntervalDisplay
        """
        require_matplotlib()
        return cls(y_true, predicted, interval, x=x, asked=asked).plot(ax, **point_kw)

    def plot(self, ax=None, **point_kw: Any) -> IntervalDisplay:
        """Draw the targets and their intervals.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **point_kw
            Settings of the targets, such as ``markersize``.

        Returns
        -------
        self : IntervalDisplay
        """
        ax = axes_or_new(ax)
        low, high = self._drawn_ends()
        along = self.predicted if self.x is None else self.x
        if self.x is None:
            self.intervals_ = ax.vlines(along, low, high, color=_BAND_COLOR, linewidth=1.5, zorder=1)
        else:
            self.intervals_ = ax.fill_between(along, low, high, color=_BAND_COLOR, linewidth=0, zorder=1)
        (self.curve_,) = ax.plot(along, self.predicted, color="tab:blue", linewidth=1, label="prediction")

        def draw(rows, label, color):
            settings = {"linestyle": "", "marker": ".", "markersize": 4, "color": color, **point_kw}
            return ax.plot(along[rows], self.y_true[rows], label=f"{rows.sum():,} {label}", **settings)[0]

        self.inside_ = draw(self.inside, "targets inside", "black")
        self.outside_ = draw(~self.inside, "outside", "tab:red")
        asked = "" if self.asked is None else f" ({100 * self.asked:g} % asked for)"
        ax.set_title(f"{100 * self.coverage:.1f} % inside{asked}, mean width {self.mean_width:.3g}")
        ax.set(xlabel="prediction" if self.x is None else "x", ylabel="target")
        ax.legend()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self

    def _drawn_ends(self) -> np.ndarray:
        """Lower and upper ends, of shape (2, n_samples): infinite ones a little beyond all other numbers."""
        ends = self.interval.T
        if np.isfinite(ends).all():
            return ends
        finite = np.concatenate([ends[np.isfinite(ends)], self.y_true, self.predicted])
        beyond = 0.1 * (np.ptp(finite) or 1.0)
        return np.clip(ends, finite.min() - beyond, finite.max() + beyond)


def _numbers(name: str, values: Any, n_axes: int) -> np.ndarray:
    """The values as an array of so many axes without NaN."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != n_axes or np.isnan(array).any():
        raise ValueError(f"{name} must be numbers on {n_axes} axis or axes, got shape {array.shape}.")
    return array
