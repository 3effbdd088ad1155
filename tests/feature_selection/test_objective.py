"""The penalised objective, and the one matrix of its steps."""

import numpy as np
import pytest
from scipy.optimize import minimize

import naive
from selection_cases import Problem
from unisvm.feature_selection.objective import (
    ColumnMajoriser,
    PenalisedObjective,
    RestrictedObjective,
    StandardisedColumns,
)
from unisvm.feature_selection.penalties import PENALTIES
from unisvm.nystrom.gram import gram_of_all
from unisvm.preconditioner import Spectrum

KINDS = pytest.mark.parametrize(
    ("loss", "is_margin"), [("feng", True), ("logistic", True), ("welsch", False), ("huber", False)]
)
INTERCEPTS = pytest.mark.parametrize("intercept", [True, False])
PENALTY = pytest.mark.parametrize("penalty", PENALTIES)


def objective_of(case, strengths, *, supports=None):
    problem = case.problem
    basis = StandardisedColumns(problem.basis.centre, case.scale)
    features = basis.build(problem.rows)
    gram = gram_of_all(problem.rows, basis, features)
    shared = problem.rows, features, basis, problem.columns.spec(), case.is_margin
    mean = gram.mean if case.intercept else None
    if supports is not None:
        return RestrictedObjective(*shared, mean, supports), gram
    penalty = type(case.penalty)(np.full(4, case.penalty.width))
    return PenalisedObjective(*shared, mean, penalty, strengths), gram


@KINDS
@INTERCEPTS
@PENALTY
def test_value_and_gradient(loss, is_margin, intercept, penalty):
    case = Problem(loss, is_margin=is_margin, intercept=intercept, penalty=penalty)
    strengths = np.array([0.02, 0.1, 0.5, 0.0])
    objective, _ = objective_of(case, strengths)
    W = 0.3 * np.random.RandomState(1).randn(6 + intercept, 4)
    columns = np.array([2, 0, 3])
    values, gradient = objective(W[:, columns], columns)
    for j, column in enumerate(columns):
        function = case.naive_objective(*divmod(column, 2), strengths[column])
        assert values[j] == pytest.approx(function(W[:, column]), rel=1e-12)
        np.testing.assert_allclose(gradient[:, j], naive.slope(function, W[:, column]), atol=2e-6)


@INTERCEPTS
def test_restricted_value_and_gradient(intercept):
    case = Problem(intercept=intercept)
    supports = np.random.RandomState(2).rand(6, 4) > 0.5
    objective, _ = objective_of(case, None, supports=supports)
    W = np.random.RandomState(1).randn(6 + intercept, 4)
    values, gradient = objective(W, np.arange(4))
    for column in range(4):
        function = case.naive_objective(*divmod(column, 2), 0.0, supports[:, column])
        assert values[column] == pytest.approx(function(W[:, column]), rel=1e-12)
        np.testing.assert_allclose(gradient[:, column], naive.slope(function, W[:, column]), atol=2e-6)
    restricted = objective.restrict(W, np.arange(4))
    assert not restricted[:6][~supports].any()
    np.testing.assert_array_equal(restricted[6:], W[6:])


def closed_form_step(case, w, strength):
    """[(A/Σs) ZᵀSZ + (λ + μ/b) I] w⁺ = (A/Σs) ZᵀS(ξ + v/(2A)) + μ (w/b − φ'(w)/2), with a column of ones."""
    Z, s, A = np.column_stack([case.Z, np.ones(120)]), case.weights, case.loss.A
    y, penalised = case.y[:, 0], np.arange(7) < 6
    xi = Z @ w
    v = y * case.loss.derivative(1 - y * xi)
    total = s.sum()
    matrix = A / total * (Z.T * s) @ Z + np.diag((case.lambdas[0] + strength * case.penalty.A) * penalised)
    added = strength * (case.penalty.A * w - case.penalty.derivative(w) / 2) * penalised
    right = A / total * Z.T @ (s * (xi + v / (2 * A))) + added
    return np.linalg.solve(matrix, right)


@PENALTY
def test_a_step_of_the_majoriser_is_the_closed_form(penalty):
    case, strength = Problem(penalty=penalty), 0.05
    objective, gram = objective_of(case, np.full(4, strength))
    spectrum = Spectrum(gram, True, np.dtype(float))
    curvature = case.lambdas[0] + strength * case.penalty.A
    majoriser = ColumnMajoriser(spectrum, np.full(4, curvature), np.full(4, case.loss.A), intercept=True)
    w, first = np.random.RandomState(3).randn(7, 1), np.array([0])
    values = []
    for _ in range(30):
        value, gradient = objective(w, first)
        values.append(value[0])
        expected = closed_form_step(case, w[:, 0], strength)
        w = w - majoriser.to_weights(majoriser.gradient(gradient, first), first)
        np.testing.assert_allclose(w[:, 0], expected, rtol=1e-9, atol=1e-11)
    # a majoriser's steps never raise what it majorises
    assert (np.diff(values) <= 1e-14).all()
    assert values[-1] < values[0] - 0.01


def test_coordinates():
    case = Problem()
    _, gram = objective_of(case, np.zeros(4))
    penalties, constants = np.array([0.1, 2.0]), np.array([1.0, 0.5])
    majoriser = ColumnMajoriser(Spectrum(gram, True, np.dtype(float)), penalties, constants, intercept=True)
    Z = np.column_stack([case.Z, np.ones(120)])
    W, both = np.random.RandomState(0).randn(7, 2), np.arange(2)
    z = majoriser.from_weights(W, both)
    np.testing.assert_allclose(majoriser.to_weights(z, both), W, atol=1e-12)
    for j in both:
        H = penalties[j] * np.diag([1.0] * 6 + [0.0]) + constants[j] * (Z.T * case.weights) @ Z / case.weights.sum()
        # ‖z‖² = wᵀ(2H)w, and gradients are those of functions of z
        assert z[:, j] @ z[:, j] == pytest.approx(2 * W[:, j] @ H @ W[:, j], rel=1e-10)
        slope = majoriser.gradient(W, both)[:, j]
        assert slope @ slope == pytest.approx(W[:, j] @ np.linalg.solve(2 * H, W[:, j]), rel=1e-9)
        np.testing.assert_allclose(
            majoriser.least_squares(W)[:, j], constants[j] * np.linalg.solve(H, W[:, j]), rtol=1e-9
        )


@PENALTY
@INTERCEPTS
def test_solutions_are_minima_for_scipy_too(penalty, intercept):
    case = Problem(penalty=penalty, intercept=intercept)
    dense, strength = case.problem.dense_solution(), 0.01
    (solutions,) = case.problem.solve([case.penalty], np.array([[strength]]), dense)
    for column in range(4):
        function = case.naive_objective(*divmod(column, 2), strength)
        w = solutions.weights[0, :, column]
        assert solutions.objective[0, column] == pytest.approx(function(w), rel=1e-9)
        found = minimize(function, w, method="BFGS", options={"gtol": 1e-9})
        # the same local minimum, to which nothing is left to be gained
        assert found.fun >= function(w) - 1e-6
        np.testing.assert_allclose(found.x, w, atol=0.02)


@INTERCEPTS
def test_the_only_minimum_is_that_of_scipy(intercept):
    # φ bends down by less than λ and the loss bend up
    case = Problem("least_squares", intercept=intercept, width=5.0)
    (solutions,) = case.problem.solve([case.penalty], np.array([[0.3]]), case.problem.dense_solution())
    for column in range(4):
        found = minimize(case.naive_objective(*divmod(column, 2), 0.3), np.ones(6 + intercept), tol=1e-12)
        np.testing.assert_allclose(solutions.weights[0, :, column], found.x, atol=2e-4)
