"""A small objective over rows in memory, with its whole-matrix counterparts."""

import numpy as np
import pytest

import naive
from unisvm import kernels, losses
from unisvm.column_spec import ColumnSpec
from unisvm.nystrom.feature_map import FeatureMap
from unisvm.nystrom.gram import gram_of_all
from unisvm.objective import Objective
from unisvm.preconditioner import Majoriser
from unisvm.rows import MemoryRows

CASES = [(name, task) for task in ("classification", "regression") for name in losses.names(task)]
every_loss = pytest.mark.parametrize(("name", "task"), CASES)
with_or_without_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])


def random_targets(X, rng):
    """Three targets that have nothing to do with the rows."""
    return rng.randn(len(X), 3)


def learnable_targets(X, rng):
    """Five targets that the rows tell, with some noise."""
    return X[:, :2] @ rng.randn(2, 5) + X[:, :1] * X[:, 1:2] + 0.5 * rng.randn(len(X), 5)


class Problem:
    """Rows, targets of some columns and the objective over them.

    Attributes
    ----------
    y, weights : ndarray
        As the rows hold them, in double precision.
    P : ndarray
        Features in the orthonormal basis.
    """

    def __init__(
        self,
        loss,
        task="classification",
        *,
        intercept,
        m=150,
        d=3,
        rank=9,
        gamma=0.4,
        penalty=0.03,
        targets=random_targets,
        weighted=True,
        dtype=np.float64,
        n_threads=1,
    ):
        rng = np.random.RandomState(0)
        X = rng.randn(m, d).astype(dtype)
        y = targets(X, rng)
        self.is_margin, self.intercept, self.penalty = task == "classification", intercept, penalty
        self.loss = losses.get(loss)
        self.y = (np.sign(y) if self.is_margin else 2 * y).astype(dtype).astype(float)
        weights = rng.uniform(0.2, 3.0, size=m) if weighted else np.ones(m)
        self.weights = weights.astype(dtype).astype(float)
        self.rows = MemoryRows(X, self.y.astype(dtype), self.weights.astype(dtype), n_threads)
        kernel, exact = kernels.RBF(gamma), X.astype(float)
        self.map = FeatureMap(kernel, X[:rank], kernel(exact[:rank], exact[:rank]), X.dtype)
        kept = exact[:rank][self.map.kept]
        self.P = naive.orthonormal_features(kernel(exact, kept), kernel(kept, kept))
        self.features = self.rows.build(self.map.block, self.map.rank)
        self.gram = gram_of_all(self.rows, self.map, self.features)
        self.mean = self.gram.mean if intercept else None
        self.n_columns, self.size = self.y.shape[1], self.map.rank + intercept
        self.columns = np.arange(self.n_columns)
        self.objective = self.objective_over(self.rows)
        self.majoriser = Majoriser(self.gram, penalty, self.loss.A, intercept)

    def objective_over(self, rows, target_medians=None):
        """The objective of all targets of a store, whose features are built anew."""
        spec = ColumnSpec.shared(self.loss, self.penalty, rows.total_weight, rows.n_columns, target_medians)
        features = self.features if rows is self.rows else rows.build(self.map.block, self.map.rank)
        return Objective(rows, features, self.map, spec, self.is_margin, self.mean)

    def random_weights(self, q=None, seed=1, scale=1.0):
        return scale * np.random.RandomState(seed).randn(self.size, self.n_columns if q is None else q)

    def naive_objective(self, column):
        """The objective of one column as a function of w."""
        y, is_margin, mean = self.y[:, column], self.is_margin, self.mean
        return lambda w: naive.objective(self.P, y, self.weights, w, self.loss, self.penalty, is_margin, mean)
