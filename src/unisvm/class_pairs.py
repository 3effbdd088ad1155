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
    """Margin of each class against the class that does best against it, of shape (…, n_classes).

    At most one class of a row has a positive one. Votes, which SVC counts, are decided by pairs of which neither class
    is the row's own; this is no less accurate (benchmarks/multi_class.py) and a margin as that of two classes is.

    Parameters
    ----------
    decision : ndarray of shape (…, n_pairs)
        Positive where the second class of a pair wins.
    pairs : ndarray of int of shape (n_pairs, 2)
        All pairs of the classes.
    """
    n_classes = int(pairs.max()) + 1
    # pairs of the first class, of the second, …
    order = np.argsort(np.concatenate([pairs[:, 0], pairs[:, 1]]), kind="stable")
    signs = np.where(order < len(pairs), -1, 1).astype(decision.dtype)
    margins = decision[..., order % len(pairs)] * signs
    return np.asarray(margins.reshape(*decision.shape[:-1], n_classes, n_classes - 1).min(axis=-1))
