"""A loss as the difference of a parabola and a convex function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unisvm import losses
from unisvm._checks import is_integer
from unisvm.losses import Loss
from unisvm.plotting.drawing import axes_or_new, require_matplotlib

# how far the picture reaches above the loss: far enough for the parabola to be told from it
_HEADROOM = 2.0


class LossDisplay:
    """A loss ψ(u), the parabola A u², and their convex difference A u² − ψ(u).

    Make one with `from_loss`, which draws it; or from a loss, and draw it with `plot`.

    Parameters
    ----------
    loss : str or Loss
        A name from `unisvm.losses.names`, or an instance.
    approximates : callable, optional
        The loss that ψ approximates: given an array of residuals, it returns their losses.
    limits : (float, float), default=(-2, 4)
        The lowest and the highest residual.
    n_points : int, default=601
        At how many residuals the curves are computed.

    Attributes
    ----------
    u : ndarray of shape (n_points,)
        Residuals.
    value, parabola, difference : ndarray of shape (n_points,)
        ψ(u), A u² and A u² − ψ(u).
    approximated : ndarray of shape (n_points,) or None
        The loss that ψ approximates.
    name : str
        What is written above the picture.
    lines_ : list of matplotlib.lines.Line2D
        ψ, the parabola and the difference, once they are drawn.
    approximated_ : matplotlib.lines.Line2D or None
        The loss that ψ approximates.
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from unisvm.plotting import LossDisplay
    >>> display = LossDisplay.from_loss("hinge", approximates=lambda u: u.clip(0))
    >>> [line.get_label() for line in display.lines_]
    ['ψ(u)', 'A u²', 'A u² − ψ(u)']
    >>> LossDisplay("huber").plot(linewidth=1).ax_.get_title()
    'huber'
    """

    def __init__(
        self,
        loss: str | Loss,
        *,
        approximates: Callable[[np.ndarray], Any] | None = None,
        limits: tuple[float, float] = (-2, 4),
        n_points: int = 601,
    ):
        loss = losses.get(loss)
        self.u = _residuals(limits, n_points)
        self.value, self.parabola = loss.value(self.u), loss.A * self.u**2
        self.difference = self.parabola - self.value
        self.approximated = None if approximates is None else _values_of(approximates, self.u)
        self.name = loss.name

    @classmethod
    def from_loss(
        cls, loss: str | Loss, *, ax=None, approximates=None, limits=(-2, 4), n_points=601, **line_kw: Any
    ) -> LossDisplay:
        """Draw a loss.

        Parameters
        ----------
        loss : str or Loss
            A name from `unisvm.losses.names`, or an instance.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        approximates : callable, optional
            The loss that ψ approximates: given an array of residuals, it returns their losses.
        limits : (float, float), default=(-2, 4)
            The lowest and the highest residual.
        n_points : int, default=601
            At how many residuals the curves are computed.
        **line_kw
            Settings of all lines, such as ``linewidth``.

        Returns
        -------
        display : LossDisplay

        Examples
        --------
        >>> from unisvm.losses import TruncatedHuber
        >>> from unisvm.plotting import LossDisplay
        >>> display = LossDisplay.from_loss(TruncatedHuber(delta=0.5, a=1.0), limits=(-2, 2), n_points=5)
        >>> display.value
        array([1.  , 0.75, 0.  , 0.75, 1.  ])
        """
        require_matplotlib()
        return cls(loss, approximates=approximates, limits=limits, n_points=n_points).plot(ax, **line_kw)

    def plot(self, ax=None, **line_kw: Any) -> LossDisplay:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **line_kw
            Settings of all lines, such as ``linewidth``.

        Returns
        -------
        self : LossDisplay
        """
        ax = axes_or_new(ax)

        def draw(values, label, **line):
            return ax.plot(self.u, values, label=label, **{**line, **line_kw})[0]

        self.lines_ = [
            # wide enough to be seen under what follows it closely
            draw(self.value, "ψ(u)", color="tab:red", linewidth=3),
            draw(self.parabola, "A u²", color="tab:green"),
            draw(self.difference, "A u² − ψ(u)", color="tab:blue"),
        ]
        self.approximated_ = None
        if self.approximated is not None:
            self.approximated_ = draw(self.approximated, "approximated", color="black", linestyle="--")
        top = _HEADROOM * max(np.max(self.value), np.finfo(float).tiny)
        bottom = min(0.0, np.min(self.difference)) - 0.05 * top
        ax.set(xlim=(self.u[0], self.u[-1]), ylim=(bottom, top), xlabel="u", title=self.name)
        ax.legend()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _residuals(limits, n_points) -> np.ndarray:
    if not (is_integer(n_points) and n_points >= 2):
        raise ValueError(f"n_points must be an integer of at least 2, got {n_points!r}.")
    ends = np.asarray(limits, dtype=np.float64)
    if ends.shape != (2,) or not np.isfinite(ends).all() or ends[0] >= ends[1]:
        raise ValueError(f"limits must be two finite numbers, the lower one first; got {limits!r}.")
    return np.linspace(ends[0], ends[1], n_points)


def _values_of(function, u: np.ndarray) -> np.ndarray:
    if not callable(function):
        raise TypeError(
            f"approximates must be a function of an array of residuals, got {type(function).__name__}. "
            "For a loss of this library pass its value method."
        )
    values = np.asarray(function(u), dtype=np.float64)
    if values.shape != u.shape:
        raise ValueError(f"approximates must return a value for each of {len(u)} residuals, got shape {values.shape}.")
    return values
