"""Rows, targets and the machines that cells should have, each fitted by itself."""

import warnings

import numpy as np
from sklearn.datasets import make_blobs

from unisvm import UniSVMClassifier, UniSVMRegressor

X, CLASSES = make_blobs(240, n_features=3, centers=4, cluster_std=2.5, random_state=0)
NEW = make_blobs(150, n_features=3, centers=4, cluster_std=3.0, random_state=0)[0]
FLAG = (CLASSES > 1).astype(int)
LETTERS = np.array(["ant", "bee", "cat", "dog"])[CLASSES]
WAVE = np.sin(X[:, 0]) + 0.3 * X[:, 1]
LABELS = np.stack([CLASSES == 0, CLASSES != 2, X[:, 0] > 0], axis=1).astype(int)
WAVES = np.stack([WAVE, 100 + 5 * X[:, 2] ** 2], axis=1)
#: all rows of a cell are landmarks, so that no random numbers have a part in its machine
EXACT = {"C": 1.0, "rank": 100, "rank_tol": 0.0, "tol": 1e-9, "max_iter": 5000, "random_state": 0}


def classifier(**parameters):
    return UniSVMClassifier(**{"cells": 40, "rank": 20, "C": 1.0, "random_state": 0} | parameters)


def regressor(**parameters):
    return UniSVMRegressor(**{"cells": 40, "rank": 20, "C": 1.0, "random_state": 0} | parameters)


def cells_of(model, rows, partition=0):
    """The cell of each row, by a walk from the root."""
    tree, found = model.partitions_[partition], []
    for x in np.asarray(rows, dtype=np.float64):
        node = 0 if tree.n_cells > 1 else -1
        while node >= 0:
            node = tree.children[node, int(tree.directions[node] @ x > tree.thresholds[node])]
        found.append(-1 - node)
    return np.array(found)


def machine_of(model, rows, y, weights=None):
    """A plain machine of some rows, with the kernel and C of all."""
    parameters = model.get_params(deep=False) | {"cells": None, "partitions": 1, "kernel": model.kernel_, "C": model.C_}
    parameters |= {"scale": None, "class_weight": None} if isinstance(model, UniSVMClassifier) else {"scale": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return type(model)(**parameters).fit(rows, y, sample_weight=weights)


def assert_same_decisions(one, other, rows=NEW, **tolerances):
    """Two models decide alike."""
    of = "decision_function" if hasattr(one, "decision_function") else "predict"
    np.testing.assert_allclose(getattr(one, of)(rows), getattr(other, of)(rows), **tolerances)
    if not tolerances:
        np.testing.assert_array_equal(one.predict(rows), other.predict(rows))


def assert_same_model(one, other):
    """Two models with cells are the same to the last bit."""
    assert len(one.cells_) == len(other.cells_)
    for tree, same in zip(one.partitions_, other.partitions_, strict=True):
        np.testing.assert_array_equal(tree.thresholds, same.thresholds)
    for machine, same in zip(one.cells_, other.cells_, strict=True):
        np.testing.assert_array_equal(machine.dual_coef_, same.dual_coef_)
        np.testing.assert_array_equal(machine.intercept_, same.intercept_)
    for name in ("C_", "rank_", "trace_error_", "objective_", "stationarity_", "n_sweeps_", "n_iter_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    np.testing.assert_array_equal(one.predict(NEW), other.predict(NEW))
