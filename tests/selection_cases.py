"""Small problems of selection, with their whole-matrix counterparts."""

import numpy as np

import naive
from unisvm import losses
from unisvm.feature_selection.path import Columns, SelectionProblem
from unisvm.feature_selection.penalties import PENALTIES
from unisvm.rows import MemoryRows


def rows_with_support(n=300, d=30, support=(3, 7, 11), wrong=0.1, seed=0):
    """Rows of which a few columns tell the label, a share of which is wrong."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n, d)
    y = np.where(X[:, list(support)] @ np.resize([1.0, -1.0], len(support)) > 0, 1, -1)
    y[rng.permutation(n)[: int(wrong * n)]] *= -1
    return X, y


class Problem:
    """A selection problem of two outputs over all rows and one split, and the same with whole matrices.

    Attributes
    ----------
    Z : ndarray
        Standardised columns.
    """

    def __init__(self, loss="feng", *, is_margin=True, intercept=True, penalty="exponential", width=0.05, tol=1e-8):
        rng = np.random.RandomState(0)
        X = rng.randn(120, 6) * [1, 10, 0.1, 1, 1, 5] + [0, 3, 1, -2, 0, 8]
        y = X[:, :2] / [1, 10] + 0.5 * rng.randn(120, 2)
        self.y = np.sign(y) if is_margin else 2 * y
        self.weights = rng.uniform(0.5, 2.0, size=120)
        self.of_splits = self.weights[:, None] * np.stack([np.ones(120), np.arange(120) % 3 > 0], axis=1)
        self.loss, self.is_margin, self.intercept = losses.get(loss), is_margin, intercept
        self.totals = self.of_splits.sum(axis=0)
        self.lambdas = 1 / (2 * 1.0 * self.totals)
        stored = np.asfortranarray(np.concatenate([self.y, self.of_splits], axis=1))
        order = np.lexsort(self.of_splits.T > 0)
        self.problem = SelectionProblem(
            MemoryRows(X, stored, self.weights, 1, order),
            Columns(self.loss, self.lambdas, self.totals, 2, None if is_margin else np.median(self.y, axis=0)),
            is_margin=is_margin,
            intercept=intercept,
            rng=rng,
            tol=tol,
            max_iter=2000,
        )
        mean = np.average(X, axis=0, weights=self.weights) if intercept else np.zeros(6)
        self.scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=self.weights))
        self.mean = mean
        self.X, self.Z = X, (X - mean) / self.scale
        self.penalty = PENALTIES[penalty](width)

    def naive_objective(self, split, output, strength, support=None):
        """F of the weights of standardised columns, and of the value at their mean if there is an intercept."""
        weights, mean = self.of_splits[:, split], np.zeros(6) if self.intercept else None
        free = np.ones(6, dtype=bool) if support is None else support

        def value(w):
            body = np.where(free, w[:6], 0)
            arguments = self.loss, self.lambdas[split], self.is_margin, mean
            w = np.concatenate([body, w[6:]])
            risk = naive.objective(self.Z, self.y[:, output], weights, w, *arguments)
            return risk + strength * self.penalty.value(body).sum()

        return value
