"""Importance of the columns of X."""

from __future__ import annotations

from typing import Any

import numpy as np

from unisvm._checks import is_integer
from unisvm.plotting.drawing import axes_or_new, plain_model, require_matplotlib

_BAR_COLOR = "#4a8fc2"


class RelevanceDisplay:
    """Bars of the importance of columns, the most important ones on top.

    Make one with `from_estimator`, which draws it; or from numbers, and draw it with `plot`.

    Parameters
    ----------
    importances : array-like of shape (n_features,)
        From 0, as `feature_importances_`.
    names : array-like of str of shape (n_features,), optional
        Of the columns; their numbers if not given.
    most : int, default=20
        Bars at most.

    Attributes
    ----------
    importances : ndarray of shape (n_shown,)
        Of the columns that are shown, falling.
    columns : ndarray of int of shape (n_shown,)
        Their indices.
    names : ndarray of str of shape (n_shown,)
    bars_ : matplotlib.container.BarContainer
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from unisvm.plotting import RelevanceDisplay
    >>> display = RelevanceDisplay([0.2, 0.0, 0.7, 0.1], most=2)
    >>> display.columns, display.importances
    (array([2, 0]), array([0.7, 0.2]))
    """

    def __init__(self, importances, names=None, *, most: int = 20):
        if not (is_integer(most) and most >= 1):
            raise ValueError(f"most must be a positive integer, got {most!r}.")
        values = np.asarray(importances, dtype=np.float64)
        if values.ndim != 1 or not (np.isfinite(values) & (values >= 0)).all():
            raise ValueError("importances must be numbers from 0, one for each column.")
        of_columns = np.arange(len(values)).astype(str) if names is None else np.asarray(names)
        if of_columns.shape != values.shape:
            raise ValueError(f"names must be those of {len(values)} columns, got an array of shape {of_columns.shape}.")
        self.columns = np.argsort(-values, kind="stable")[:most]
        self.importances, self.names = values[self.columns], of_columns[self.columns]

    @classmethod
    def from_estimator(cls, estimator, *, names=None, most=20, ax=None, **bar_kw: Any) -> RelevanceDisplay:
        """Draw the importance of the columns that an estimator was fitted to.

        Parameters
        ----------
        estimator : estimator
            Fitted, with `feature_importances_`.
        names : array-like of str of shape (n_features,), optional
            Those that it was fitted with if not given.
        most
            As in `RelevanceDisplay`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **bar_kw
            Settings of the bars, such as ``color``.

        Returns
        -------
        display : RelevanceDisplay
        """
        require_matplotlib()
        model = plain_model(estimator)
        if not hasattr(model, "feature_importances_"):
            raise ValueError(f"This {type(model).__name__} has no importances: fit it with relevance='learned'.")
        names = getattr(model, "feature_names_in_", None) if names is None else names
        return cls(model.feature_importances_, names, most=most).plot(ax, **bar_kw)

    def plot(self, ax=None, **bar_kw: Any) -> RelevanceDisplay:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **bar_kw
            Settings of the bars, such as ``color``.

        Returns
        -------
        self : RelevanceDisplay
        """
        ax = axes_or_new(ax)
        places = np.arange(len(self.importances))
        self.bars_ = ax.barh(places, self.importances, **{"color": _BAR_COLOR, **bar_kw})
        ax.set(yticks=places, yticklabels=self.names, xlabel="share of the mean squared derivative", ylabel="column")
        ax.invert_yaxis()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
