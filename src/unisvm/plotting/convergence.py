"""The course of a solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from unisvm._checks import one_of
from unisvm.plotting.drawing import axes_or_new, plain_model, positive_or_nan, require_matplotlib

_AGAINST = {"iterations": "iterations", "sweeps": "sweeps over the rows", "seconds": "seconds"}


class ConvergenceDisplay:
    """How fast the objective and the stationarity of a fit fell.

    Make one with `from_estimator`, which draws it; or from a history, and draw it with `plot`.

    Parameters
    ----------
    history : dict of lists
        `history_` of a fitted estimator: ``objective``, and if they are there ``stationarity``, ``n_sweeps`` and
        ``seconds``.
    tol : float, optional
        The stationarity at which the fit was to end.

    Attributes
    ----------
    objective : ndarray of shape (n_iterations,)
        Mean over the columns.
    gap : ndarray of shape (n_iterations,)
        (F − F_end)/|F_end| of this mean F, at the end 0, which is not drawn.
    stationarity : ndarray of shape (n_iterations,) or None
        Of the column where it is largest.
    positions : dict of ndarray
        ``iterations``, and ``sweeps`` and ``seconds`` until each of them if they are known.
    gap_, stationarity_, tol_ : matplotlib.lines.Line2D
        The last two are None where there is nothing to draw.
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm import UniSVMClassifier
    >>> from unisvm.plotting import ConvergenceDisplay
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = UniSVMClassifier("saturating", C=10.0, random_state=0).fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(model, against="sweeps")
    >>> display.ax_.get_xlabel(), len(display.gap) == model.n_iter_
    ('sweeps over the rows', True)
    """

    def __init__(self, history: Mapping[str, Any], *, tol: float | None = None):
        if not history.get("objective"):
            raise ValueError(f"The history has no objective to draw, only {', '.join(history) or 'nothing'}.")
        columns = np.array(history["objective"], dtype=np.float64).reshape(len(history["objective"]), -1)
        self.objective = columns.mean(axis=1)
        end = abs(self.objective[-1])
        self.gap = (self.objective - self.objective[-1]) / (end if end > 0 else 1.0)
        self.stationarity = None
        if history.get("stationarity"):
            self.stationarity = (
                np.array(history["stationarity"], dtype=np.float64).reshape(len(columns), -1).max(axis=1)
            )
        self.positions = {"iterations": np.arange(len(columns))}
        for name, key in (("sweeps", "n_sweeps"), ("seconds", "seconds")):
            if key in history:
                self.positions[name] = np.asarray(history[key])
        self.tol = tol

    @classmethod
    def from_estimator(cls, estimator, *, against: str = "iterations", ax=None, **line_kw: Any) -> ConvergenceDisplay:
        """Draw the course of a fit.

        Parameters
        ----------
        estimator : estimator
            Fitted; of a search the refit is drawn.
        against : {"iterations", "sweeps", "seconds"}, default="iterations"
            What stands on the horizontal axis.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **line_kw
            Settings of both curves, such as ``linewidth``.

        Returns
        -------
        display : ConvergenceDisplay
        """
        require_matplotlib()
        model = plain_model(estimator)
        if hasattr(model, "cells_"):
            raise TypeError("Every cell of this fit has iterations of its own: draw one of the machines in cells_.")
        if not hasattr(model, "history_"):
            raise TypeError(f"{type(model).__name__} has no history_: it is not fitted by iterations that are kept.")
        return cls(model.history_, tol=getattr(model, "tol", None)).plot(ax, against=against, **line_kw)

    def plot(self, ax=None, *, against: str = "iterations", **line_kw: Any) -> ConvergenceDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        against : {"iterations", "sweeps", "seconds"}, default="iterations"
            What stands on the horizontal axis.
        **line_kw
            Settings of both curves, such as ``linewidth``.

        Returns
        -------
        self : ConvergenceDisplay
        """
        one_of("against", against, _AGAINST)
        if against not in self.positions:
            raise ValueError(f"The history does not tell of {against}: use one of {', '.join(self.positions)}.")
        ax, x = axes_or_new(ax), self.positions[against]

        def draw(values, label, **line):
            return ax.plot(x, positive_or_nan(values), label=label, **{"marker": ".", **line, **line_kw})[0]

        self.gap_ = draw(self.gap, "objective above its end", color="tab:blue")
        self.stationarity_ = self.tol_ = None
        if self.stationarity is not None:
            self.stationarity_ = draw(self.stationarity, "stationarity", color="tab:orange")
            if self.tol is not None and self.tol > 0:
                self.tol_ = ax.axhline(
                    self.tol, color="black", linestyle="--", linewidth=1, label=f"tol = {self.tol:g}"
                )
        ax.set(yscale="log", xlabel=_AGAINST[against], ylabel="relative to the objective")
        ax.legend()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
