"""The choice among the candidates of a path by their losses on rows that were held out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unisvm._warnings import FitWarning, warn_caller


class SelectionPath(NamedTuple):
    """The candidates of a fit: every width with every strength of the penalty, from strong to weak.

    Attributes
    ----------
    width, alpha : ndarray of shape (n_candidates,)
        Of the penalty.
    support : ndarray of bool of shape (n_candidates, n_features)
        The columns of X that are chosen.
    coef : ndarray of shape (n_candidates, n_columns, n_features)
        Coefficients of the fit of these columns alone.
    intercept : ndarray of shape (n_candidates, n_columns)
    objective : ndarray of shape (n_candidates, n_columns)
        Of the fit that chose them, with the penalty.
    held_out_loss : ndarray of shape (n_candidates, n_splits)
        Mean loss on the rows that each split leaves out; of no splits where there is nothing to choose.
    """

    width: np.ndarray
    alpha: np.ndarray
    support: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    objective: np.ndarray
    held_out_loss: np.ndarray


#: rules by which a candidate is chosen
RULES = ("best", "one_standard_error")


def choose(path: SelectionPath, rule: str) -> int:
    """Index of the candidate with the least mean loss on held-out rows, or of a smaller one that is as good.

    "one_standard_error" is the rule of Breiman and others, with the standard error of the difference to the best
    candidate over the splits. Of candidates with as many columns, the one of the least loss is taken.
    """
    losses = path.held_out_loss
    if losses.shape[1] == 0:
        return len(losses) - 1
    mean, sizes = losses.mean(axis=1), path.support.sum(axis=1)
    best = int(mean.argmin())
    if rule == "best":
        return best
    differences = losses - losses[best]
    n_splits = losses.shape[1]
    error = differences.std(axis=1, ddof=1) / np.sqrt(n_splits) if n_splits > 1 else np.zeros(len(mean))
    as_good = np.flatnonzero(differences.mean(axis=1) <= error)
    fewest = as_good[sizes[as_good] == sizes[as_good].min()]
    return int(fewest[mean[fewest].argmin()])


def warn_of_choice(path: SelectionPath, chosen: int, n_varying: int) -> None:
    """Warn when the chosen candidate cannot be good: no columns, or the last of its path, which still gains columns.

    Parameters
    ----------
    path : SelectionPath
    chosen : int
    n_varying : int
        Columns of X that are not constant.
    """
    support = path.support[chosen]
    if not support.any():
        advice = "Lower alpha or width" if path.held_out_loss.shape[1] == 0 else "Give lower alphas or a lower width"
        warn_caller(
            f"No column is selected: predictions are the same for all rows. {advice}, raise C, or give more rows; it "
            "may be that no column of X tells anything of y.",
            FitWarning,
        )
        return
    of_width = np.flatnonzero(path.width == path.width[chosen])
    if path.held_out_loss.shape[1] == 0 or len(of_width) < 2 or chosen != of_width[-1]:
        return
    gains = (support != path.support[of_width[-2]]).any()
    if gains and support.sum() < n_varying:
        warn_caller(
            f"The lowest alpha, {path.alpha[chosen]:.3g}, is the best, and lower ones may select more columns than "
            f"{support.sum()}. Give lower alphas.",
            FitWarning,
        )
