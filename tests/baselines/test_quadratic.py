"""Quadratic programs: the Newton method against the interior-point code, and the conditions of optimality."""

import sys

import numpy as np
import pytest
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

from unisvm import datasets
from unisvm.baselines import MultiStageSVM, RampSVM, ReweightedL2SVM, RobustL2SVM, quadratic
from unisvm.baselines.interior_point import solve_by_interior_point
from unisvm.baselines.quadratic import BoxProgram

KERNELS = {
    "rbf": lambda X: rbf_kernel(X, gamma=0.5),
    "linear": lambda X: X @ X.T,
    "poly": lambda X: polynomial_kernel(X, degree=3),
    "laplacian": laplacian_kernel,
}


def rows(m, seed=0):
    X, y = datasets.make_xor(m, random_state=seed)
    return X, datasets.flip_labels(y, 0.1, random_state=seed)[0].astype(float)


def program(kind, K, y, C, rng):
    """Q, c, lower, upper and ridge of the programs that the comparators solve."""
    m, weights = len(y), rng.uniform(0.1, 2, size=len(y))
    Q, ones, zeros = np.outer(y, y) * K, np.ones(m), np.zeros(m)
    if kind == "L2SVM":
        return Q, ones, zeros, np.full(m, np.inf), 1 / (2 * C * weights)
    if kind == "robust L2SVM":
        excess = np.where(rng.uniform(size=m) < 0.1, 1.5, 0.0)
        return Q, ones - excess, -2 * C * weights * excess, np.full(m, np.inf), 1 / (2 * C * weights)
    beyond = (rng.uniform(size=m) < 0.1) & (kind == "robust L1SVM")
    return Q, ones, np.where(beyond, -C * weights, 0), np.where(beyond, 0, C * weights), zeros


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", ["L1SVM", "robust L1SVM", "L2SVM", "robust L2SVM"])
@pytest.mark.parametrize("C", [1e-2, 3.0, 200.0])
def test_newton_equals_the_interior_point_code(kernel, kind, C):
    X, y = rows(150)
    Q, c, lower, upper, ridge = program(kind, KERNELS[kernel](X), y, C, np.random.RandomState(0))
    alpha = BoxProgram(Q).solve(c, lower, upper, ridge)
    expected = solve_by_interior_point(Q + np.diag(ridge), c, lower, upper)
    assert (lower <= alpha).all()
    assert (alpha <= upper).all()

    def value(point):
        return 0.5 * point @ Q @ point + 0.5 * ridge @ point**2 - c @ point

    assert value(alpha) == pytest.approx(value(expected), rel=1e-9)
    # coefficients need not be unique, the function is
    np.testing.assert_allclose(Q @ alpha, Q @ expected, atol=1e-5)
    slope = Q @ alpha + ridge * alpha - c
    assert slope[alpha < upper].min(initial=0) > -1e-8
    assert slope[alpha > lower].max(initial=0) < 1e-8


@pytest.mark.parametrize("cls", [MultiStageSVM, RampSVM, ReweightedL2SVM, RobustL2SVM])
def test_robust_comparators_are_the_same_by_either_method(cls, monkeypatch):
    X, y = rows(200, seed=1)
    model = cls(C=50.0, gamma=0.5)
    found = model.fit(X, y).decision_function(X)

    def solve(self, c, lower, upper, ridge=None):
        extra = 0.0 if ridge is None else np.diag(ridge)
        return solve_by_interior_point(self.Q + extra, c, lower, upper)

    monkeypatch.setattr(BoxProgram, "solve", solve)
    n_iter = model.n_iter_
    np.testing.assert_allclose(found, model.fit(X, y).decision_function(X), atol=1e-5)
    assert model.n_iter_ == n_iter


def test_a_start_from_the_last_solution_changes_nothing():
    X, y = rows(150)
    Q = np.outer(y, y) * rbf_kernel(X, gamma=0.5)
    ones, most = np.ones(150), np.full(150, 20.0)
    used = BoxProgram(Q)
    used.solve(ones, np.zeros(150), most)
    lower, upper = np.where(y > 0, 0, -most), np.where(y > 0, most, 0)
    again, fresh = (one.solve(ones, lower, upper) for one in (used, BoxProgram(Q)))
    np.testing.assert_allclose(Q @ again, Q @ fresh, atol=1e-9)


def test_variables_that_cannot_move():
    X, y = rows(60)
    Q = np.outer(y, y) * rbf_kernel(X, gamma=0.5)
    lower, upper = np.zeros(60), np.where(np.arange(60) % 3 == 0, 0.0, 5.0)
    lower[0] = upper[0] = 1.5
    alpha = BoxProgram(Q).solve(np.ones(60), lower, upper)
    np.testing.assert_array_equal(alpha[::3], lower[::3])
    np.testing.assert_allclose(Q @ alpha, Q @ solve_by_interior_point(Q, np.ones(60), lower, upper), atol=1e-7)
    np.testing.assert_array_equal(BoxProgram(Q).solve(np.ones(60), np.zeros(60), np.zeros(60)), 0)


def test_the_interior_point_code_takes_over(monkeypatch):
    X, y = rows(80)
    Q = np.outer(y, y) * rbf_kernel(X, gamma=0.5)
    arguments = np.ones(80), np.zeros(80), np.full(80, 10.0)
    expected = BoxProgram(Q).solve(*arguments)
    monkeypatch.setattr(quadratic, "_MOST_NEWTON_STEPS", 1)
    monkeypatch.setattr(quadratic, "_MOST_PROXIMAL_STEPS", 1)
    np.testing.assert_allclose(Q @ BoxProgram(Q).solve(*arguments), Q @ expected, atol=1e-7)
    monkeypatch.setitem(sys.modules, "piqp", None)
    with pytest.raises(ImportError, match=r"unisvm\[baselines\]"):
        BoxProgram(Q).solve(*arguments)


def test_a_badly_conditioned_program():
    # a large constant in the kernel makes an equality constraint of it, nearly
    X, y = rows(200)
    Q = np.outer(y, y) * (rbf_kernel(X, gamma=0.5) + 1e5)
    arguments = np.ones(200), np.zeros(200), np.full(200, 1e3)
    alpha = BoxProgram(Q).solve(*arguments)
    expected = solve_by_interior_point(Q, *arguments)
    value, best = (0.5 * point @ Q @ point - point.sum() for point in (alpha, expected))
    assert value == pytest.approx(best, rel=1e-5)
