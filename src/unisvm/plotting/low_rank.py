"""What the landmarks leave out of the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from sklearn.utils import check_random_state

from unisvm._base import KernelEstimator
from unisvm._checks import is_integer
from unisvm._validation import check_rows
from unisvm.kernels.base import as_rows
from unisvm.plotting.drawing import axes_or_new, plain_model, positive_or_nan, require_matplotlib
from unisvm.rows.sampling import distinct


class LowRankDisplay:
    """Share of the kernel's trace that the first 0, 1, 2, … landmarks of a fit leave out.

    With landmarks B and the factor of k(B, B) = L Lᵀ, the rows X have the features P = k(X, B) L⁻ᵀ. The first r
    landmarks leave out Σ_i (k(x_i, x_i) − Σ_{j≤r} P_ij²) / Σ_i k(x_i, x_i).

    Make one with `from_estimator`, which draws it; or from shares, and draw it with `plot`.

    Parameters
    ----------
    left_out : array-like of shape (rank + 1,)
        The share for each rank from 0.
    rank_tol : float, optional
        The share at which a fit takes no more landmarks.

    Attributes
    ----------
    left_out : ndarray of shape (rank + 1,)
    rank_tol : float or None
    line_ : matplotlib.lines.Line2D
        The share against the rank.
    end_ : matplotlib.lines.Line2D
        The rank of the fit.
    tol_ : matplotlib.lines.Line2D or None
        `rank_tol`.
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm import UniSVMClassifier
    >>> from unisvm.plotting import LowRankDisplay
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = UniSVMClassifier(random_state=0).fit(X, y)
    >>> display = LowRankDisplay.from_estimator(model, X)
    >>> len(display.left_out) == model.rank_ + 1, bool(display.left_out[-1] < model.rank_tol)
    (True, True)
    """

    def __init__(self, left_out, *, rank_tol: float | None = None):
        self.left_out = np.asarray(left_out, dtype=np.float64)
        if self.left_out.ndim != 1 or not len(self.left_out):
            raise ValueError(f"left_out must hold a share for each rank from 0, got shape {self.left_out.shape}.")
        self.rank_tol = rank_tol

    @classmethod
    def from_estimator(
        cls, estimator, X, *, max_rows: int = 2000, random_state=0, ax=None, **line_kw: Any
    ) -> LowRankDisplay:
        """Draw what the landmarks of a fit leave out on a sample of rows.

        Parameters
        ----------
        estimator : estimator
            Fitted, with landmarks and a positive semidefinite kernel; of a search the refit is drawn.
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The training rows, or others. For a precomputed kernel, the square matrix of the fit.
        max_rows : int, default=2000
            So many rows are drawn if there are more, each counting once.
        random_state : int, RandomState or None, default=0
            Draws them.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **line_kw
            Settings of the curve, such as ``linewidth``.

        Returns
        -------
        display : LowRankDisplay
        """
        require_matplotlib()
        if not (is_integer(max_rows) and max_rows >= 1):
            raise ValueError(f"max_rows must be a positive integer, got {max_rows!r}.")
        model = plain_model(estimator)
        _check_possible(model)
        rows = as_rows(check_rows(model, X))
        n_rows = rows.shape[0]
        indices = np.arange(n_rows)
        if n_rows > max_rows:
            indices = np.sort(distinct(n_rows, max_rows, check_random_state(random_state)))
        rank_tol = model.rank_tol if model.kernel_.is_judged_by_trace else None
        return cls(_shares(model, rows, indices), rank_tol=rank_tol).plot(ax, **line_kw)

    def plot(self, ax=None, **line_kw: Any) -> LowRankDisplay:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **line_kw
            Settings of the curve, such as ``linewidth``.

        Returns
        -------
        self : LowRankDisplay
        """
        ax, rank = axes_or_new(ax), len(self.left_out) - 1
        drawn = positive_or_nan(self.left_out)
        (self.line_,) = ax.plot(np.arange(rank + 1), drawn, **{"color": "tab:blue", **line_kw})
        label = f"rank {rank} leaves out {100 * self.left_out[-1]:.2g} %"
        (self.end_,) = ax.plot([rank], drawn[-1:], marker="o", color=self.line_.get_color(), linestyle="", label=label)
        self.tol_ = None
        if self.rank_tol is not None and self.rank_tol > 0:
            label = f"rank_tol = {self.rank_tol:g}"
            self.tol_ = ax.axhline(self.rank_tol, color="black", linestyle="--", linewidth=1, label=label)
        ax.set(yscale="log", xlabel="rank", ylabel="share of the trace left out")
        ax.legend()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _check_possible(model: Any) -> None:
    """Raise when the landmarks of a fit have no such curve."""
    if not isinstance(model, KernelEstimator) or not hasattr(model, "rank_tol"):
        raise TypeError(f"LowRankDisplay is for fits with landmarks, and {type(model).__name__} has none.")
    if hasattr(model, "cells_"):
        raise ValueError("Every cell of this fit has landmarks of its own: draw one of the machines in cells_.")
    if model.landmark_vectors_ is None:
        raise ValueError(
            "This fit has a linear kernel without landmarks, which is exact: nothing is left out. Give landmarks= as "
            "points or row indices to approximate it."
        )
    if model.signature_[1] > 0:
        raise ValueError(
            f"{model.kernel_!r} is not positive semidefinite, so that its trace is no measure of what is left out. "
            "See trace_error_, the share of the sum of absolute eigenvalues."
        )


def _shares(model: Any, rows: Any, indices: np.ndarray) -> np.ndarray:
    """Share of the trace of these rows that each prefix of the landmarks leaves out, of shape (rank + 1,)."""
    kernel, points = model.kernel_, model.landmark_vectors_
    if kernel.points_are_indices:
        if rows.shape[0] != rows.shape[1]:
            raise ValueError(
                "For a precomputed kernel X must be the square kernel matrix of the fit, whose diagonal is needed; got "
                f"shape {rows.shape}."
            )
        among, of_rows = rows[np.asarray(points)], rows[indices]
        diagonal = kernel.diagonal_at(rows, indices)
    else:
        points, of_rows = points.astype(np.float64), rows[indices].astype(np.float64)
        among, diagonal = points, kernel.diagonal(of_rows)
    block = kernel.against(points)
    matrix, values = np.asarray(block(among), dtype=np.float64), np.asarray(block(of_rows), dtype=np.float64)
    # what rounding takes from the smallest pivots
    matrix[np.diag_indices_from(matrix)] += len(matrix) * np.finfo(np.float64).eps * matrix.diagonal().max()
    try:
        factor = cholesky(matrix, lower=True)
    except LinAlgError as error:
        raise ValueError(
            f"The matrix of {kernel!r} between the landmarks is not positive definite in rounding. See trace_error_ "
            "for what they leave out together."
        ) from error
    features = solve_triangular(factor, values.T, lower=True)
    trace = diagonal.sum()
    if not trace > 0:
        raise ValueError("The kernel is zero on all rows of X, so that there is nothing to leave out.")
    held = np.cumsum((features * features).sum(axis=1))
    return np.maximum(1 - np.concatenate([[0.0], held]) / trace, 0.0)
