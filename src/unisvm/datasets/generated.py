"""Data made on the spot."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state


def make_xor(n_samples: int = 400, *, random_state=None) -> tuple[np.ndarray, np.ndarray]:
    """Points spread evenly over the square [-2, 2]², labelled by the sign of the product of their coordinates.

    Parameters
    ----------
    n_samples : int, default=400
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        1 and -1.

    Examples
    --------
    >>> from unisvm.datasets import make_xor
    >>> X, y = make_xor(100, random_state=0)
    >>> bool((y == np.sign(X[:, 0] * X[:, 1])).all())
    True
    """
    X = check_random_state(random_state).uniform(-2, 2, size=(n_samples, 2))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1, -1)


def make_checkerboard(n_side: int = 300, *, n_squares: int = 4, dtype=np.float64) -> tuple[np.ndarray, np.ndarray]:
    """An even grid of n_side² points in the unit square, labelled like a board of n_squares² fields.

    Parameters
    ----------
    n_side : int, default=300
    n_squares : int, default=4
    dtype : dtype, default=float64

    Returns
    -------
    X : ndarray of shape (n_side², 2)
    y : ndarray of shape (n_side²,)
        1 and -1.

    Examples
    --------
    >>> from unisvm.datasets import make_checkerboard
    >>> X, y = make_checkerboard(100)
    >>> X.shape, int(y.sum())
    ((10000, 2), 0)
    """
    ticks = (np.arange(n_side) + 0.5) / n_side
    X = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 2)
    y = np.where(np.floor(X * n_squares).sum(axis=1) % 2 == 0, 1, -1)
    return X.astype(dtype), y


def flip_labels(y, share: float, *, random_state=None) -> tuple[np.ndarray, np.ndarray]:
    """Give a share of the rows a wrong label, drawn evenly from the other classes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    share : float
        Between 0 and 1.
    random_state : int, RandomState or None

    Returns
    -------
    y : ndarray
        A copy with wrong labels.
    flipped : ndarray of int
        Which rows are wrong, in order.

    Examples
    --------
    >>> from unisvm.datasets import flip_labels
    >>> wrong, rows = flip_labels([0, 1] * 50, 0.2, random_state=0)
    >>> len(rows)
    20
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share must be between 0 and 1, got {share!r}.")
    rng = check_random_state(random_state)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError("Labels of one class only cannot be flipped.")
    flipped = np.sort(rng.choice(len(codes), round(share * len(codes)), replace=False))
    codes[flipped] = (codes[flipped] + rng.randint(1, len(classes), size=len(flipped))) % len(classes)
    return classes[codes], flipped
