"""Trust in labels or targets, with the rows that are suspects."""

from __future__ import annotations

from typing import Any

import numpy as np

from unisvm._checks import is_integer
from unisvm.plotting.drawing import axes_or_new, require_matplotlib

# Counts are on a logarithmic axis where the highest bar is so many times the median of those that are not empty: on a
# linear one, bars of the height of the median would then be less than 5 % of the picture's
_DWARFS = 20.0
_ROWS_COLOR = "#90bbdc"


class TrustDisplay:
    """A histogram of trust in the labels or targets of rows, with the suspects in another colour.

    Make one with `from_estimator`, `from_scores` or `from_report`, which draw it; or from scores, and draw it with
    `plot`.

    Parameters
    ----------
    scores : array-like of shape (n_samples,)
        Between 0 and 1; low ones are suspicious.
    flagged : array-like of bool of shape (n_samples,), or of row indices, optional
        The suspects.
    wrong : array-like of bool of shape (n_samples,), or of row indices, optional
        The rows that are known to be wrong, to compare them with the suspects.
    bins : int, default=40
        Number of bins between 0 and 1.

    Attributes
    ----------
    scores : ndarray of shape (n_samples,)
    flagged, wrong : ndarray of bool of shape (n_samples,) or None
    edges : ndarray of shape (bins + 1,)
    counts, flagged_counts, wrong_counts : ndarray of int of shape (bins,)
        Rows in each bin: all, the suspects, and those that are wrong; the last two are None if they are not known.
    steps_, flagged_steps_, wrong_steps_ : matplotlib.patches.StepPatch
        All rows, the suspects, and the outline of those that are wrong; the last two are None if they are not known.
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> from unisvm.plotting import TrustDisplay
    >>> display = TrustDisplay.from_scores([0.05, 0.1, 0.6, 0.9, 0.95], flagged=[0, 1], bins=4)
    >>> display.counts, display.flagged_counts
    (array([2, 0, 1, 2]), array([2, 0, 0, 0]))
    """

    def __init__(self, scores, flagged=None, *, wrong=None, bins: int = 40):
        if not (is_integer(bins) and bins >= 1):
            raise ValueError(f"bins must be a positive integer, got {bins!r}.")
        self.scores = np.asarray(scores, dtype=np.float64)
        if self.scores.ndim != 1 or not ((self.scores >= 0) & (self.scores <= 1)).all():
            raise ValueError("scores must be numbers between 0 and 1, one for each row.")
        self.flagged, self.wrong = (
            _mask(name, rows, len(self.scores)) for name, rows in (("flagged", flagged), ("wrong", wrong))
        )
        self.edges = np.linspace(0, 1, bins + 1)
        self.counts = np.histogram(self.scores, self.edges)[0]
        self.flagged_counts, self.wrong_counts = (
            None if mask is None else np.histogram(self.scores[mask], self.edges)[0]
            for mask in (self.flagged, self.wrong)
        )

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, flagged=None, wrong=None, bins=40, ax=None, **patch_kw: Any
    ) -> TrustDisplay:
        """Draw the trust of a fitted estimator in rows.

        Parameters
        ----------
        estimator : estimator
            Fitted, with a method ``trust``.
        X : array-like or CSR matrix of shape (n_samples, n_features)
            Trust in rows that it was fitted to follows their labels, wrong ones as well.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        flagged, wrong, bins
            As in `TrustDisplay`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **patch_kw
            Settings of all steps, such as ``alpha``.

        Returns
        -------
        display : TrustDisplay
        """
        require_matplotlib()
        if not hasattr(estimator, "trust"):
            raise TypeError(f"{type(estimator).__name__} has no method trust: give scores to from_scores.")
        scores = np.asarray(estimator.trust(X, y))
        return cls(scores, flagged, wrong=wrong, bins=bins).plot(ax, **patch_kw)

    @classmethod
    def from_scores(cls, scores, flagged=None, *, wrong=None, bins=40, ax=None, **patch_kw: Any) -> TrustDisplay:
        """Draw scores.

        Parameters
        ----------
        scores, flagged, wrong, bins
            As in `TrustDisplay`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **patch_kw
            Settings of all steps, such as ``alpha``.

        Returns
        -------
        display : TrustDisplay
        """
        require_matplotlib()
        return cls(scores, flagged, wrong=wrong, bins=bins).plot(ax, **patch_kw)

    @classmethod
    def from_report(cls, report, *, wrong=None, bins=40, ax=None, **patch_kw: Any) -> TrustDisplay:
        """Draw a report of suspects.

        Parameters
        ----------
        report : object
            With attributes ``scores`` and ``flagged``, as `unisvm.suspects` returns it; rows without a score are left
            out.
        wrong, bins
            As in `TrustDisplay`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **patch_kw
            Settings of all steps, such as ``alpha``.

        Returns
        -------
        display : TrustDisplay
        """
        known = np.isfinite(report.scores)
        if wrong is not None:
            wrong = np.asarray(_mask("wrong", wrong, len(known)))[known]
        flagged = np.asarray(report.flagged)[known]
        return cls.from_scores(report.scores[known], flagged, wrong=wrong, bins=bins, ax=ax, **patch_kw)

    def plot(self, ax=None, **patch_kw: Any) -> TrustDisplay:
        """Draw the histogram.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **patch_kw
            Settings of all steps, such as ``alpha``.

        Returns
        -------
        self : TrustDisplay
        """
        ax = axes_or_new(ax)

        def draw(counts, label, **steps):
            if counts is None:
                return None
            return ax.stairs(
                counts, self.edges, label=f"{counts.sum():,} {label}", **{"fill": True, **steps, **patch_kw}
            )

        self.steps_ = draw(self.counts, "rows", color=_ROWS_COLOR)
        self.flagged_steps_ = draw(self.flagged_counts, "suspects", color="tab:red")
        self.wrong_steps_ = draw(self.wrong_counts, "known to be wrong", color="black", fill=False)
        ax.set(xlim=(0, 1), xlabel="trust", ylabel="rows")
        filled = self.counts[self.counts > 0]
        if len(filled) and filled.max() > _DWARFS * np.median(filled):
            # a bar of one row is seen
            ax.set(yscale="log", ylim=(0.5, 3 * filled.max()))
        ax.legend()
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _mask(name: str, rows: Any, n_rows: int) -> np.ndarray | None:
    """Whether each row is one of these, which are given by a mask or by their indices."""
    if rows is None:
        return None
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (n_rows,):
        return rows
    indices = rows.astype(np.intp) if rows.size == 0 else rows
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or not ((indices >= 0) & (indices < n_rows)).all():
        raise ValueError(f"{name} must tell of each of {n_rows} rows whether it is one, or hold row indices.")
    mask = np.zeros(n_rows, dtype=bool)
    mask[indices] = True
    return mask
