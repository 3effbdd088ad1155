"""Small data with wrong labels and wild targets, and settings that make a search short."""

import numpy as np

QUICK = {"kernel": "rbf", "gammas": [0.1], "rank": 60, "random_state": 0, "n_jobs": 1}


def clusters(n_rows=150, n_classes=3, seed=0):
    """Rows in clusters that are classes, all as far from each other."""
    rng = np.random.RandomState(seed)
    classes = rng.permutation(np.arange(n_rows) % n_classes)
    return 4 * np.eye(max(n_classes, 4))[classes] + 0.5 * rng.randn(n_rows, max(n_classes, 4)), classes


def with_wrong(y, rows):
    """The labels with those of some rows moved on to the next class."""
    wrong = y.copy()
    wrong[rows] = (y[rows] + 1) % (y.max() + 1)
    return wrong


#: rows of the data below whose labels or targets are wrong
WRONG = np.array([3, 14, 20, 31, 50, 62, 77, 85, 93, 100, 108, 117, 126, 131, 140])
X, CLEAN = clusters()
Y = with_wrong(CLEAN, WRONG)
NAMES = np.array(["ant", "bee, or wasp", "cow"])


def righted(labels):
    """Labels of the rows if none of them were wrong."""
    right = np.delete(np.arange(len(Y)), WRONG)
    _, first = np.unique(CLEAN[right], return_index=True)
    return np.asarray(labels)[right[first]][CLEAN]


_rng = np.random.RandomState(1)
X_REAL = _rng.randn(200, 3)
Y_REAL = np.sin(X_REAL[:, 0]) + X_REAL[:, 1] + 0.1 * _rng.randn(200)
WILD = _rng.permutation(200)[:10]
Y_WILD = Y_REAL.copy()
Y_WILD[WILD] += np.where(np.arange(10) % 2, 4.0, -4.0)
