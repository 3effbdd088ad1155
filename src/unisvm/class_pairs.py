"""Several classes, one against one: a column for each pair of classes, and decisions about classes from those on pairs.

A row counts in the columns of its own class only: y = +1 for the second class of a pair, −1 for the first, and weight 0
in all other pairs.
"""

from __future__ import annotations

import numpy as np


def class_pairs(n_classes: int) -> np.ndarray:
    """The two classes of each pair, of shape (n_pairs, 2), in the order of SVC: (0, 1), (0, 2), …, (1, 2), …"""
    return np.stack(np.triu_indices(n_classes, 1), axis=1)


def pair_targets(signs: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """+1, −1 or 0 for each pair, of shape (n_rows, n_pairs), from ±1 for each class against the rest."""
    by_class = signs.T
    return np.asarray((by_class[pairs[:, 1]] - by_class[pairs[:, 0]]).T / 2)


def order_by_class(signs: np.ndarray, pairs: np.ndarray | None) -> np.ndarray | None:
    """Order in which the rows of each class follow each other; None if there are no pairs."""
    return None if pairs is None else np.argsort(signs.argmax(axis=1), kind="stable")


def class_scores(decision: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Scores of the classes, of shape (…, n_classes): pairs won, and less than half of one for how clearly.

    These are the scores of SVC with ``decision_function_shape="ovr"``.

    Parameters
    ----------
    decision : ndarray of shape (…, n_pairs)
        Positive where the second class of a pair wins.
    pairs : ndarray of int of shape (n_pairs, 2)
    """
    incidence = np.zeros((len(pairs), pairs.max() + 1), dtype=decision.dtype)
    incidence[np.arange(len(pairs)), pairs[:, 1]] = 1
    incidence[np.arange(len(pairs)), pairs[:, 0]] = -1
    won = np.where(decision > 0, decision.dtype.type(0.5), decision.dtype.type(-0.5)) @ incidence
    clearness = decision @ incidence
    return np.asarray(won + (incidence.shape[1] - 1) / 2 + clearness / (3 * (np.abs(clearness) + 1)))


def worst_margins(decision: np.ndarray, labels: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Margin of each row's class against the class that does best against it, of shape (n_rows,).

    `labels` are the indices of the rows' classes.
    """
    margins = pair_targets(np.where(labels[:, None] == np.arange(pairs.max() + 1), 1.0, -1.0), pairs) * decision
    of_class = (pairs == labels[:, None, None]).any(axis=2)
    return np.asarray(np.where(of_class, margins, np.inf).min(axis=1))
