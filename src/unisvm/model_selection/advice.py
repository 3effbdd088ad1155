"""Warnings of a search, with advice: fits that did not converge, rows that are left out, a best cell at the edge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from unisvm._warnings import FitWarning, warn_caller
from unisvm.model_selection.axes import Axes, KernelChoice
from unisvm.model_selection.search import Scores

# so many of the classes with the largest shares of suspects are named
_NAMED_CLASSES = 3
# Scores rise clearly if they do by more than so many standard errors. By one they do if a single split differs, as on
# iris.
_CLEARLY = 2.0
# by fewer splits the standard error is not known
_FEWEST_SPLITS = 3
# values beyond an edge
_BEYOND = {"lowest": "lower", "highest": "higher"}


def warn_unfinished(max_iter: int, n_unfinished: int, n_fits: int) -> None:
    """Warn when fits of a search stopped at max_iter."""
    if n_unfinished:
        warn_caller(
            f"{n_unfinished} of {n_fits} fits stopped after max_iter={max_iter} iterations. "
            "Raise max_iter, or raise tol, or leave out the highest C.",
            ConvergenceWarning,
        )


def warn_suspects(suspects: np.ndarray, labels: np.ndarray) -> None:
    """Warn of rows that a refit leaves out.

    Parameters
    ----------
    suspects : ndarray of bool of shape (n_rows,)
    labels : ndarray of shape (n_rows,)
    """
    classes, index = np.unique(labels, return_inverse=True)
    n_left_out, n_rows = np.bincount(index, suspects).astype(int), np.bincount(index)
    worst = np.argsort(-n_left_out / n_rows, kind="stable")[:_NAMED_CLASSES]
    names = classes.tolist()
    shares = [f"{n_left_out[k]} of {n_rows[k]} of class {names[k]!r}" for k in worst if n_left_out[k]]
    others = ", most of all" if len(shares) < np.count_nonzero(n_left_out) else ":"
    warn_caller(
        f"{suspects.sum()} of {len(labels)} rows are left out of the refit, since fits that did not see their labels "
        f"contradict them{others} {', '.join(shares)}. suspects_ has their indices. If these labels are right, set "
        "drop_suspects=False.",
        FitWarning,
    )


def warn_at_edge(axes: Axes, choices: Sequence[KernelChoice], scores: Scores) -> None:
    """Warn when the best cell has an outermost C or gamma of the grid, and scores clearly rise towards it.

    They do if the best cell is ahead of all cells of its kernel with the next value inside, by more than twice the
    standard error of the difference over the splits.

    Parameters
    ----------
    axes : Axes
    choices : sequence of KernelChoice
    scores : Scores
        With a best cell.
    """
    assert scores.best is not None
    best_C, best_choice, _ = scores.best
    kernel, gamma = choices[best_choice]
    same_kernel = [g for g, choice in enumerate(choices) if choice.kernel is kernel]
    gammas, lead = [choices[g].gamma for g in same_kernel], _lead(scores)[:, same_kernel]
    found, advice = [], []
    if edge := _edge(axes.Cs, best_C, lead):
        found.append(f"the {edge} C, {axes.Cs[best_C]:.4g}")
        advice.append(f"{_BEYOND[edge]} values in Cs")
    named = any(isinstance(gamma, str) for gamma in gammas)
    if not named and (edge := _edge(np.array(gammas), same_kernel.index(best_choice), lead.swapaxes(0, 1))):
        found.append(f"the {edge} gamma, {gamma:.4g}")
        advice.append(
            f"{_BEYOND[edge]} values in gammas" + (f" with kernel={kernel!r}" if len(axes.kernels) > 1 else "")
        )
    if found:
        warn_caller(
            f"The best cell of the grid has {', and '.join(found)}, and scores clearly rise towards the edge: there "
            f"may be better ones beyond. Give {' and '.join(advice)}.",
            FitWarning,
        )


def _lead(scores: Scores) -> np.ndarray:
    """Scores of the best cell less those of each, with as many landmarks; NaN where there are none.

    Of shape (n_C, n_choices, n_losses, n_splits).
    """
    assert scores.best is not None
    others = scores.n_landmarks != scores.n_landmarks[scores.best]
    with np.errstate(invalid="ignore"):
        lead = scores.values[scores.best] - scores.values
        lead[others] = np.nan if scores.few_values is None else scores.few_values - scores.values[others]
    return lead


def _edge(values: np.ndarray, best: int, lead: np.ndarray) -> str | None:
    """Which of the outermost values the best one is, "lowest" or "highest", if scores clearly rise towards it.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
    best : int
        Index of the best one.
    lead : ndarray of shape (n_values, ..., n_splits)
        Scores of the best cell less those of the others; NaN where they are not known.
    """
    distinct, n_splits = np.unique(values), lead.shape[-1]
    if len(distinct) < 3 or n_splits < _FEWEST_SPLITS or distinct[0] < values[best] < distinct[-1]:
        return None
    is_lowest = values[best] == distinct[0]
    inside = lead[values == distinct[1 if is_lowest else -2]].reshape(-1, n_splits)
    inside = inside[np.isfinite(inside).all(axis=1)]
    if not len(inside):
        return None
    least = inside[inside.mean(axis=1).argmin()]
    if least.mean() <= _CLEARLY * least.std(ddof=1) / n_splits**0.5:
        return None
    return "lowest" if is_lowest else "highest"
