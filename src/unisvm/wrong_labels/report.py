"""The answer to which labels or targets look wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unisvm._checks import one_of
from unisvm.io.files import is_path
from unisvm.losses.base import CLASSIFICATION
from unisvm.plotting import TrustDisplay
from unisvm.rows.mapped import StoredRows

#: ways to repair what was given
REPAIRS = ("relabel", "drop")
# suspects and classes that are printed
_SHOWN = 10


class ClassCount(NamedTuple):
    """How many rows have a label, how many of these are probably wrong, with an interval, and how many are flagged."""

    n_rows: int
    n_wrong: int
    n_wrong_interval: tuple[int, int]
    n_flagged: int


@dataclass(frozen=True, eq=False, repr=False)
class SuspectReport:
    """For every row how likely its label or target is right, and how many are wrong in all.

    Arrays have an entry for each row that was given, in their order. Rows of weight 0 have NaN, and are not flagged.

    Attributes
    ----------
    task : {"classification", "regression"}
    given : ndarray of shape (n_samples,)
        The labels or targets.
    scores : ndarray of shape (n_samples,)
        Probability that each label or target is right, given those of the other rows: low is suspicious.
    flagged : ndarray of bool of shape (n_samples,)
        Rows whose label or target is more likely wrong than right.
    suggested : ndarray of shape (n_samples,)
        The label or target that the other rows speak for.
    probability : ndarray of shape (n_samples,)
        Probability of the label that a row has, by the other rows, wrong labels and all; of a target, that a right one
        is at least as far from its prediction.
    margin : ndarray of shape (n_samples,)
        How far the decision of the label is ahead of the best other one; of a target, its distance from the prediction,
        in units of what is usual around there, with a minus sign. Both are of fits that did not see the row.
    n_wrong : int
        Estimate of how many labels or targets are wrong.
    n_wrong_interval : (int, int)
        It holds their number with the confidence that was asked for, if wrong labels are spread over the rows of a
        class.
    by_class : dict
        A `ClassCount` for each label; empty for real targets.
    confidence : float
    kernels : list of str
        What the predictions are the mean of.
    X
        The rows as they were given.
    target : str or None
        The column of X that has the targets, if they are one.
    """

    task: str
    given: np.ndarray
    scores: np.ndarray
    flagged: np.ndarray
    suggested: np.ndarray
    probability: np.ndarray
    margin: np.ndarray
    n_wrong: int
    n_wrong_interval: tuple[int, int]
    by_class: dict[Any, ClassCount]
    confidence: float
    kernels: list[str]
    X: Any = None
    target: str | None = None

    @property
    def ranking(self) -> np.ndarray:
        """Indices of the rows that have a score, the most suspicious one first."""
        order = np.argsort(self.scores, kind="stable")
        return order[np.isfinite(self.scores[order])]

    def to_pandas(self):
        """A DataFrame with a row for each that was given, in their order.

        Returns
        -------
        table : pandas.DataFrame
            With the columns "given", "suggested", "score", "probability", "margin" and "flagged"; its index is that of
            X if X has one.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_pandas needs pandas. Install it with: pip install pandas") from error
        columns = {
            "given": self.given,
            "suggested": self.suggested,
            "score": self.scores,
            "probability": self.probability,
            "margin": self.margin,
            "flagged": self.flagged,
        }
        index = getattr(self.X, "index", None)
        return pd.DataFrame(columns, index=index if isinstance(index, pd.Index) else None)

    def plot(self, ax=None, **hist_kw: Any):
        """A histogram of the scores, with the flagged rows on top.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure if not given.
        **hist_kw
            Settings of the bars.

        Returns
        -------
        display : TrustDisplay
        """
        return TrustDisplay.from_report(self, ax=ax, **hist_kw)

    def repair(self, how: str = "relabel") -> Any:
        """What was given, with flagged labels or targets replaced, or without these rows.

        Parameters
        ----------
        how : {"relabel", "drop"}, default="relabel"
            Give flagged rows the label or target that is suggested, or leave them out.

        Returns
        -------
        repaired : table, or tuple (X, y)
            A table if the targets were a column of one that was given. Otherwise X and y; rows in files are not copied:
            leave flagged ones out by ``sample_weight=~report.flagged``.
        """
        one_of("way to repair", how, REPAIRS)
        if how == "drop":
            kept = np.flatnonzero(~self.flagged)
            if self.target is not None:
                return _take(self.X, kept)
            return _take(self.X, kept), self.given[kept]
        y = np.where(self.flagged, self.suggested, self.given)
        return (self.X, y) if self.target is None else _with_column(self.X, self.target, y)

    def __repr__(self) -> str:
        low, high = self.n_wrong_interval
        what = "labels" if self.task == CLASSIFICATION else "targets"
        lines = [
            f"{len(self.scores):,} rows: about {self.n_wrong:,} wrong {what} ({low:,} to {high:,}), "
            f"{int(self.flagged.sum()):,} flagged"
        ]
        counts = sorted(self.by_class.items(), key=lambda pair: -pair[1].n_flagged)[:_SHOWN]
        lines += [
            f"  {label!s}: about {count.n_wrong:,} of {count.n_rows:,} wrong, {count.n_flagged:,} flagged"
            for label, count in counts
        ]
        for row in self.ranking[: min(_SHOWN, int(self.flagged.sum()))].tolist():
            lines.append(
                f"  row {row}: {_shown(self.given[row])}, suggested {_shown(self.suggested[row])}, "
                f"right with probability {self.scores[row]:.2g}"
            )
        return "\n".join(lines)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def _take(X: Any, rows: np.ndarray) -> Any:
    """Some rows of an array, a matrix or a table."""
    if isinstance(X, StoredRows) or is_path(X):
        raise ValueError(
            "The rows are in files, which are not copied: leave flagged ones out of a fit by "
            "sample_weight=~report.flagged, or repair with 'relabel'."
        )
    if hasattr(X, "take_rows"):
        return X.take_rows(rows)
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return {name: np.asarray(column)[rows] for name, column in X.items()} if isinstance(X, dict) else X[rows]


def _with_column(table: Any, name: str, values: np.ndarray) -> Any:
    """The table with other entries in one of its columns, which stays where it is."""
    if hasattr(table, "with_column"):
        return table.with_column(name, values)
    if hasattr(table, "with_columns"):
        series = type(table[name])(name, values.tolist())
        return table.with_columns(series)
    table = table.copy()
    table[name] = values
    return table
