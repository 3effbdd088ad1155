"""Columns that begin at different times: each goes its own way, whoever is swept with it."""

import numpy as np
import pytest
from scipy.optimize import minimize

from unisvm import kernels, losses
from unisvm.features import FeatureMap, gram_of_all
from unisvm.majoriser import Majoriser
from unisvm.objective import Objective
from unisvm.rows import MemoryRows
from unisvm.solvers import StopReason
from unisvm.solvers.columns import Group, Run

PENALTY = 1e-3
N_COLUMNS = 5
FIRST, SECOND = np.array([1, 2, 4]), np.array([0, 3])


class Problem:
    """Five columns of labels over the same features, and coordinates of two kinds to move in."""

    def __init__(self, loss="logistic"):
        rng = np.random.RandomState(0)
        X = rng.randn(400, 2)
        y = np.sign(X @ rng.randn(2, N_COLUMNS) + X[:, :1] * X[:, 1:] + 0.5 * rng.randn(400, N_COLUMNS))
        rows, kernel, loss = MemoryRows(X, y, np.ones(400)), kernels.RBF(0.5), losses.get(loss)
        feature_map = FeatureMap(kernel, X[:12], kernel(X[:12], X[:12]), X.dtype)
        features = rows.build(feature_map.block, feature_map.rank)
        moments = gram_of_all(rows, feature_map, features)
        self.objective = Objective(rows, features, feature_map, loss, PENALTY, "classification")
        self.majoriser = Majoriser(moments, PENALTY, loss.A, intercept=False)
        self.others = Majoriser(moments, 5 * PENALTY, loss.A, intercept=False)
        self.start = rng.randn(feature_map.rank, N_COLUMNS)

    def run(self, max_iter=200, tol=1e-10):
        # no pair is forgotten: when it is depends on the company, which tries more points
        return Run(self.objective, self.majoriser, tol=tol, max_iter=max_iter, memory=1000)

    def group(self, columns, coordinates=None):
        return Group(columns, coordinates or self.majoriser, self.start[:, columns])

    def minimum(self, column):
        """By another library."""

        def value_and_slope(w):
            value, gradient = self.objective(w[:, None], np.array([column]))
            return value[0], gradient[:, 0]

        return minimize(value_and_slope, self.start[:, column], jac=True, method="BFGS", options={"gtol": 1e-9}).x


def test_latecomers_go_where_another_library_goes():
    problem = Problem()
    run, first, second = problem.run(), problem.group(FIRST), problem.group(SECOND, problem.others)
    run.join(first)
    for _ in range(4):
        run.sweep()
    run.join(second)
    assert run.n_active == N_COLUMNS
    assert np.isinf(run.stationarity).sum() == len(SECOND)
    while run.n_active:
        run.sweep()
    for group in (first, second):
        assert set(group.reasons) <= {StopReason.CONVERGED, StopReason.PRECISION}
        assert group.n_left == 0
        for place, column in enumerate(group.columns):
            np.testing.assert_allclose(group.weights[:, place], problem.minimum(column), atol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "saturating"])
def test_company_changes_nothing(loss):
    problem = Problem(loss)
    alone, group = problem.run(), problem.group(FIRST)
    alone.join(group)
    way = []
    while alone.n_active:
        alone.sweep()
        way.append(group.value.copy())
    run, first, second = problem.run(), problem.group(FIRST), problem.group(SECOND, problem.others)
    run.join(first)
    for k, value in enumerate(way):
        if k == 3:
            run.join(second)
        run.sweep()
        np.testing.assert_allclose(first.value, value, rtol=1e-9)
    np.testing.assert_array_equal(first.n_sweeps, group.n_sweeps)


def test_a_column_begins_where_it_is_told_to():
    problem = Problem()
    run, group = problem.run(), problem.group(SECOND, problem.others)
    run.join(group)
    run.sweep()
    value, gradient = problem.objective(problem.start[:, SECOND], SECOND)
    np.testing.assert_allclose(group.weights, problem.start[:, SECOND])
    np.testing.assert_allclose(group.value, value)
    promised = problem.majoriser.gradient(gradient)
    np.testing.assert_allclose(group.stationarity, 0.5 * (promised**2).sum(axis=0) / value)


def test_max_iter_counts_from_the_beginning_of_each():
    problem = Problem()
    run, first, second = problem.run(max_iter=4), problem.group(FIRST), problem.group(SECOND)
    run.join(first)
    run.sweep()
    run.sweep()
    run.join(second)
    run.sweep()
    assert (first.n_left, second.n_left) == (len(FIRST), len(SECOND))
    run.sweep()
    assert (first.n_left, second.n_left) == (0, len(SECOND))
    run.sweep()
    run.sweep()
    assert run.n_active == 0
    for group in (first, second):
        np.testing.assert_array_equal(group.n_sweeps, 4)
        assert set(group.reasons) == {StopReason.MAX_ITER}


def test_goes_on_from_its_state():
    problem = Problem()
    run, group = problem.run(), problem.group(np.arange(N_COLUMNS))
    run.join(group)
    for _ in range(3):
        run.sweep()
    state = {name: array.copy(order="K") for name, array in run.state().items()}
    other, later = problem.run(), Group.from_state(state, problem.majoriser)
    other.go_on(later, state)
    for both in (run, other):
        while both.n_active:
            both.sweep()
    np.testing.assert_array_equal(later.weights, group.weights)
    np.testing.assert_array_equal(later.n_sweeps, group.n_sweeps)
    assert later.reasons == group.reasons
