"""Scores along C."""

from __future__ import annotations

from typing import Any

import numpy as np

from unisvm._checks import one_of
from unisvm.losses import Loss
from unisvm.model_selection.path import Path, path
from unisvm.plotting.drawing import axes_or_new, require_matplotlib


class PathDisplay:
    """How the scores, the objective or the size of the coefficients change with C, a line for each loss.

    Make one with `from_data`, which fits and draws; or from a path that is there already, and draw it with `plot`.

    Parameters
    ----------
    path : Path
        What `unisvm.path` returns.

    Attributes
    ----------
    lines_ : list of matplotlib.lines.Line2D
        One for each loss.
    bands_ : list of matplotlib.collections.PolyCollection
        One standard deviation of the held-out scores on either side; there are none without splits.
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm.plotting import PathDisplay
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> display = PathDisplay.from_data(X, y, losses=["hinge", "saturating"], Cs=[0.1, 1.0, 10.0], cv=3, random_state=0)
    >>> [line.get_label() for line in display.lines_]
    ['hinge', 'saturating']
    """

    def __init__(self, path: Path):
        self.path = path

    @classmethod
    def from_data(cls, X, y, *, what: str = "score", ax=None, **params: Any) -> PathDisplay:
        """Fit along C, and draw.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        what : {"score", "objective", "coefficients"}, default="score"
            What is drawn, as in `plot`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **params
            Parameters of `unisvm.path`, such as ``losses``, ``Cs`` and ``cv``.

        Returns
        -------
        display : PathDisplay
        """
        require_matplotlib()
        one_of("what", what, _LABELS)
        return cls(path(X, y, **params)).plot(what=what, ax=ax)

    def plot(self, *, what: str = "score", ax=None, **line_kw: Any) -> PathDisplay:
        """Draw one quantity against C.

        Parameters
        ----------
        what : {"score", "objective", "coefficients"}, default="score"
            The mean held-out score, or that on the training rows if there are no splits; the objective; or the
            Euclidean norm of the coefficients. The last two are averaged over columns.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **line_kw
            Settings of all lines, such as ``linewidth``.

        Returns
        -------
        self : PathDisplay
        """
        one_of("what", what, _LABELS)
        ax = axes_or_new(ax)
        held_out = self.path.test_scores
        spread = None
        if what == "objective":
            values = self.path.objective.mean(axis=2)
        elif what == "coefficients":
            values = np.linalg.norm(self.path.dual_coef, axis=3).mean(axis=2)
        elif held_out.shape[2]:
            values, spread = held_out.mean(axis=2), held_out.std(axis=2)
        else:
            values = self.path.train_scores
        self.lines_, self.bands_ = [], []
        for j, loss in enumerate(self.path.losses):
            label = repr(loss) if isinstance(loss, Loss) else str(loss)
            (line,) = ax.plot(self.path.Cs, values[j], **{"marker": ".", "label": label, **line_kw})
            self.lines_.append(line)
            if spread is not None:
                low, high = values[j] - spread[j], values[j] + spread[j]
                self.bands_.append(ax.fill_between(self.path.Cs, low, high, color=line.get_color(), alpha=0.15))
        of = "held-out " if spread is not None else "training " if what == "score" else ""
        ax.set(xscale="log", xlabel="C", ylabel=of + _LABELS[what])
        ax.legend()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


_LABELS = {"score": "score", "objective": "objective", "coefficients": "norm of the coefficients"}
