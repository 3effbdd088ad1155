"""Sweeps over columns that differ in target, weights, loss and penalty, as those of a grid do."""

import numpy as np
import pytest

import naive
from unisvm import kernels, losses, sweep
from unisvm.column_spec import ColumnSpec
from unisvm.nystrom.feature_map import FeatureMap
from unisvm.nystrom.gram import gram_of_all
from unisvm.objective import Objective
from unisvm.rows import MemoryRows

M, RANK = 300, 12
LOSSES = {
    "classification": ("logistic", "squared_hinge", "saturating"),
    "regression": ("least_squares", "huber", "tukey"),
}
both_tasks = pytest.mark.parametrize("task", LOSSES)
both_orders = pytest.mark.parametrize("ordered", [True, False], ids=["rows of a split together", "rows mixed"])


class Grid:
    """Three losses, two penalties, three splits and two targets: 36 columns over the same rows.

    The store's targets are the two targets, and then the weights of each split, which are 0 where it leaves rows out.
    """

    def __init__(
        self, task="classification", *, ordered, weighting="ones", intercept=False, dtype=np.float64, loss_set=None
    ):
        rng = np.random.RandomState(0)
        X = rng.randn(M, 3).astype(dtype)
        y = rng.randn(M, 2)
        self.is_margin = task == "classification"
        self.y = np.sign(y) if self.is_margin else y
        weights = {"ones": np.ones(M), "twos": np.full(M, 2.0), "varied": rng.uniform(0.5, 2, size=M)}[weighting]
        self.fold = rng.randint(3, size=M)
        self.split_weights = (weights[:, None] * (self.fold[:, None] != np.arange(3))).astype(dtype)
        self.losses = loss_set or tuple(losses.get(name) for name in LOSSES[task])
        order = np.argsort(self.fold, kind="stable") if ordered else None
        stored = np.c_[self.y, self.split_weights].astype(dtype)
        self.rows = MemoryRows(X, stored, weights.astype(dtype), order=order)
        kernel, exact = kernels.RBF(0.4), X.astype(float)
        points = exact[:RANK]
        feature_map = FeatureMap(kernel, points.astype(dtype), kernel(points, points), X.dtype)
        features = self.rows.build(feature_map.block, RANK)
        kept = points[feature_map.kept]
        self.P = naive.orthonormal_features(kernel(exact, kept), kernel(kept, kept))
        self.mean = gram_of_all(self.rows, feature_map, features).mean if intercept else None
        shape = (len(self.losses), 2, 3, 2)
        loss_of, penalty_of, self.split_of, target_of = np.indices(shape).reshape(4, -1)
        penalties, totals = np.array([1e-2, 1e-4])[penalty_of], self.split_weights.sum(axis=0)[self.split_of]
        self.spec = ColumnSpec(self.losses, loss_of, penalties, totals, target_of, 2 + self.split_of)
        self.objective = Objective(self.rows, features, feature_map, self.spec, self.is_margin, self.mean)
        self.W = rng.randn(RANK + intercept, self.spec.n_columns)

    def naive_objective(self, j):
        """The objective of column j as a function of w."""
        loss, y = self.losses[self.spec.loss_of[j]], self.y[:, self.spec.target_of[j]]
        weights = self.split_weights[:, self.split_of[j]].astype(float)
        penalty, is_margin = self.spec.penalties[j], self.is_margin
        return lambda w: naive.objective(self.P, y, weights, w, loss, penalty, is_margin, self.mean)


@both_tasks
@both_orders
@pytest.mark.parametrize("weighting", ["ones", "twos", "varied"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_column_has_its_own_problem(compiled_or_not, small_blocks, task, ordered, weighting, intercept, dtype):
    grid = Grid(task, ordered=ordered, weighting=weighting, intercept=intercept, dtype=dtype)
    values, gradients = grid.objective(grid.W, np.arange(36))
    tolerance = 2e-3 if dtype == np.float32 else 1e-6
    for j in range(36):
        function = grid.naive_objective(j)
        assert values[j] == pytest.approx(function(grid.W[:, j]), rel=tolerance)
        slope = naive.slope(function, grid.W[:, j])
        # a kink that falls between two roundings shows as a jump of one row's gradient
        np.testing.assert_allclose(gradients[:, j], slope, atol=max(10 * tolerance, 1e-6) * max(1, np.abs(slope).max()))


@both_tasks
@both_orders
@pytest.mark.parametrize("columns", [[5], [35, 0], [3, 8, 9, 20, 33], [2, 3, 14, 15, 26, 27]], ids=str)
def test_some_columns_are_as_among_all(compiled_or_not, small_blocks, task, ordered, columns):
    # columns leave when they are done, for instance all of a split or all of a loss
    grid = Grid(task, ordered=ordered, weighting="twos", intercept=True)
    columns = np.array(sorted(columns))
    values, gradients = grid.objective(grid.W, np.arange(36))
    some_values, some_gradients = grid.objective(grid.W[:, columns], columns)
    np.testing.assert_allclose(some_values, values[columns], rtol=1e-10)
    np.testing.assert_allclose(some_gradients, gradients[:, columns], rtol=1e-9, atol=1e-12)


@both_tasks
def test_the_order_of_the_rows_does_not_matter(task):
    one, other = (Grid(task, ordered=ordered, weighting="ones", intercept=True) for ordered in (True, False))
    for first, second in zip(one.objective(one.W, np.arange(36)), other.objective(one.W, np.arange(36)), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.objective.correlate_targets(), other.objective.correlate_targets(), atol=1e-12)


def counting_loss():
    """A loss that notes how many residuals it is asked for, and the list of these numbers."""
    asked = []

    def value(u):
        asked.append(u.size)
        return u**2

    return losses.CustomLoss(value, lambda u: 2 * u, 1.0, "both"), asked


@both_orders
def test_rows_that_a_split_leaves_out_do_no_work(small_blocks, monkeypatch, ordered):
    monkeypatch.setattr(sweep, "_ROWS_OF_A_KIND", 2)
    loss, asked = counting_loss()
    grid = Grid(ordered=ordered, loss_set=(loss,))
    columns = np.arange(12)
    grid.objective(grid.W[:, columns], columns)
    in_training = int((grid.split_weights > 0).sum(axis=0)[grid.split_of[columns]].sum())
    assert in_training == 12 * M * 2 // 3
    # where they are not kept together, all columns are swept over all rows
    assert sum(asked) == (in_training if ordered else 12 * M)


def test_targets_are_correlated_with_the_weights_of_each_split(small_blocks):
    grid = Grid("regression", ordered=True, weighting="varied")
    found = grid.objective.correlate_targets()
    for j in range(36):
        weights = grid.split_weights[:, grid.split_of[j]]
        expected = grid.P.T @ (weights * grid.y[:, grid.spec.target_of[j]]) / weights.sum()
        np.testing.assert_allclose(found[:, j], expected, atol=1e-10)


@both_tasks
def test_values_along_a_line_have_the_weights_of_each_split(small_blocks, task):
    grid = Grid(task, ordered=True, weighting="varied")
    values = grid.objective.values_along(grid.W, np.arange(36), np.array([1.0, 2.0]))
    for row, scale in zip(values, (1, 2), strict=True):
        expected = [grid.naive_objective(j)(scale * grid.W[:, j]) for j in range(36)]
        np.testing.assert_allclose(row, expected, rtol=1e-9)
