"""L-BFGS in the majoriser's coordinates: against other libraries, its start, its coordinates and its end."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR, LinearSVC

from problems import Problem, learnable_targets, with_or_without_intercept
from unisvm import UniSVMClassifier, UniSVMRegressor, losses
from unisvm.preconditioner import Majoriser
from unisvm.solvers import LBFGS, Start, StopReason
from unisvm.solvers.driver import minimise
from unisvm.solvers.lbfgs import best_least_squares

GAMMA = 0.05


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_least_squares_is_kernel_ridge(real_targets, C):
    X, y = real_targets
    # λm = 1/(2C) is KernelRidge's alpha, for a mean of squares as for a sum
    ridge = KernelRidge(alpha=1 / (2 * C), kernel="rbf", gamma=GAMMA).fit(X, y)
    ours = UniSVMRegressor("least_squares", C=C, gamma=GAMMA, rank=None, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), ridge.predict(X), rtol=1e-8)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_least_squares_classifier_is_kernel_ridge(labels, C):
    X, y = labels
    ridge = KernelRidge(alpha=1 / (2 * C), kernel="rbf", gamma=GAMMA).fit(X, 2 * y - 1)
    ours = UniSVMClassifier("least_squares", C=C, gamma=GAMMA, rank=None, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), ridge.predict(X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_squared_hinge_is_linear_svc(labels, C):
    X, y = labels
    linear = LinearSVC(loss="squared_hinge", C=C, fit_intercept=False, dual=True, tol=1e-10, max_iter=10**6).fit(X, y)
    ours = UniSVMClassifier("squared_hinge", C=C, kernel="linear", rank=None, fit_intercept=False, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), linear.decision_function(X), rtol=1e-4, atol=1e-4)


def hinge_objective(model, X, y, C):
    """½‖f‖² + C Σ max(0, 1 − y f), the objective of SVC, of the function that `model` represents."""
    points = model.support_vectors_ if isinstance(model, SVC) else model.landmark_vectors_
    K = rbf_kernel(points, gamma=GAMMA)
    dual = model.dual_coef_.ravel()
    return dual @ K @ dual / 2 + C * np.maximum(0, 1 - (2 * y - 1) * model.decision_function(X)).sum()


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_sharp_hinge_is_svc(C):
    X, y = make_classification(600, 10, n_informative=6, flip_y=0.1, class_sep=0.7, random_state=0)
    svc = SVC(C=C, gamma=GAMMA, tol=1e-6).fit(X, y)
    ours = UniSVMClassifier(losses.SmoothHinge(p=200), C=C, gamma=GAMMA, rank=None, tol=1e-7, max_iter=5000).fit(X, y)
    assert hinge_objective(ours, X, y, C) == pytest.approx(hinge_objective(svc, X, y, C), rel=0.01)
    assert (ours.predict(X) == svc.predict(X)).mean() > 0.995
    # the unpenalised intercept is SVC's too
    assert ours.intercept_ == pytest.approx(svc.intercept_, abs=0.03)


def test_sharp_epsilon_insensitive_is_svr(real_targets):
    X, y = real_targets
    ours = UniSVMRegressor(losses.SmoothEpsilonInsensitive(epsilon=0.2, p=300), C=1.0, gamma=GAMMA, rank=None, tol=1e-7)
    ours.fit(X, y)
    # SVR works in the target's units: its ε and C are ours times and over the scale
    scale = ours.target_scale_[0]
    svr = SVR(C=scale, epsilon=0.2 * scale, gamma=GAMMA, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), svr.predict(X), atol=0.03 * scale)


# ---------------------------------------------------------------------- the iteration


def problem_of(loss="logistic", task="classification", *, intercept=True, **options):
    """Five columns over the same features."""
    options = {"m": 400, "d": 2, "rank": 12, "gamma": 0.5, "penalty": 1e-3, "targets": learnable_targets} | options
    return Problem(loss, task, intercept=intercept, **options)


def solve(problem, start=None, *, memory=10, tol=1e-8, max_iter=500):
    return minimise(LBFGS(memory), problem.objective, problem.majoriser, start or Start(), tol=tol, max_iter=max_iter)


@with_or_without_intercept
@pytest.mark.parametrize("loss", ["logistic", "saturating"])
def test_other_coordinates_lead_to_the_same_minimum(loss, intercept):
    problem = problem_of(loss, intercept=intercept)
    coordinates = Majoriser(problem.gram, 5 * problem.penalty, problem.loss.A, intercept)
    start = solve(problem, tol=1e-3).weights
    plain, other = solve(problem, Start(start)), solve(problem, Start(start, coordinates))
    np.testing.assert_allclose(other.objective, plain.objective, rtol=1e-6)
    np.testing.assert_allclose(other.weights, plain.weights, atol=0.02)


def test_a_column_begins_where_it_is_told_to():
    # stationarity is measured in the majoriser's coordinates, whatever those of the steps
    problem = problem_of()
    coordinates = Majoriser(problem.gram, 5 * problem.penalty, problem.loss.A, True)
    start = problem.random_weights()
    result = solve(problem, Start(start, coordinates, n_sweeps=2), max_iter=1)
    value, gradient = problem.objective(start, problem.columns)
    np.testing.assert_allclose(result.weights, start)
    np.testing.assert_allclose(result.objective, value)
    promised = problem.majoriser.gradient(gradient)
    np.testing.assert_allclose(result.stationarity, 0.5 * (promised**2).sum(axis=0) / value)
    np.testing.assert_array_equal(result.n_sweeps, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["logistic", "hinge", "saturating"])
def test_ends_where_rounding_hides_any_decrease(loss, dtype):
    problem = problem_of(loss, dtype=dtype)
    result = solve(problem, tol=1e-300, max_iter=2000)
    assert set(result.reasons) == {StopReason.PRECISION}
    assert (result.stationarity < (1e-6 if dtype == np.float32 else 1e-13)).all()


def test_few_pairs_take_more_sweeps_to_the_same_minimum():
    problem = problem_of()
    one, many = solve(problem, memory=1, tol=1e-10), solve(problem, memory=20, tol=1e-10)
    assert many.n_sweeps.sum() < one.n_sweeps.sum()
    np.testing.assert_allclose(one.objective, many.objective, rtol=1e-8)


def test_least_squares_takes_no_steps():
    problem = problem_of("least_squares", "regression")
    result = solve(problem, tol=1e-12)
    assert result.reasons == [StopReason.CONVERGED] * 5
    # two sweeps for the start, and one that finds that it is the solution
    np.testing.assert_array_equal(result.n_sweeps, 3)


def test_best_multiple_of_least_squares_is_the_start():
    def targets(X, rng):
        # without noise, a larger margin is better for some
        return np.c_[learnable_targets(X, rng), X[:, 0], X[:, 0] * X[:, 1]]

    problem = problem_of("saturating", targets=targets, penalty=1e-5)
    weights, values = best_least_squares(problem.objective, problem.majoriser)
    solution = problem.majoriser.least_squares(problem.objective.correlate_targets())
    tried = np.array([problem.objective(scale * solution, problem.columns)[0] for scale in (1, 2, 4)])
    np.testing.assert_allclose(values, tried.min(axis=0), rtol=1e-10)
    scales = np.array([1, 2, 4])[tried.argmin(axis=0)]
    assert set(scales) == {1, 2, 4}
    np.testing.assert_allclose(weights, scales * solution, rtol=1e-10)


def test_a_few_huge_targets_do_not_spoil_the_start():
    # a bounded loss has no slope that leads back from the least-squares solution of all targets
    def targets(X, rng):
        y = learnable_targets(X, rng)
        y[:5] = 1e6
        return y

    problem = problem_of("welsch", "regression", targets=targets)
    start = best_least_squares(problem.objective_over(problem.rows, np.zeros(5)), problem.majoriser)[1]
    spoilt = best_least_squares(problem.objective, problem.majoriser)[1]
    assert (start < 0.5 * spoilt).all()


@pytest.mark.parametrize("loss", ["truncated_squared_hinge", "truncated_least_squares"])
def test_a_loss_with_jumps_is_held_to_a_tenth_of_the_tolerance(loss):
    problem = problem_of(loss)
    assert problem.loss.has_jumps
    result = solve(problem, tol=1e-4)
    ended = np.array([reason is StopReason.CONVERGED for reason in result.reasons])
    assert ended.any()
    assert (result.stationarity[ended] <= 1e-5).all()


def test_a_rejected_step_is_shortened_to_the_lowest_point_of_the_parabola():
    # in the majoriser's coordinates the objective of least squares is ½‖z‖² and a constant: a step of 1 ends at 0
    problem = problem_of("least_squares", "regression")
    iteration = LBFGS().begin(problem.objective, problem.majoriser, Start(problem.random_weights()))
    iteration.step()
    for tried, expected in ((20.0, 2.0), (2.1, 1.0), (1.9999, 0.99995), (4.0, 1.0)):
        iteration.length = np.full(5, tried)
        iteration.step()
        np.testing.assert_allclose(iteration.length, expected, rtol=1e-6)
        iteration.rejections[:] = 0
    iteration.step()
    assert (iteration.stationarity < 1e-20).all()


def test_three_rejections_make_the_next_step_one_down_the_gradient():
    problem = problem_of()
    iteration = LBFGS().begin(problem.objective, problem.majoriser, Start(problem.random_weights()))
    for _ in range(6):
        iteration.step()
    accepted, bent = iteration.z, iteration.direction
    np.testing.assert_array_equal(iteration.rejections, 0)
    for n_rejections in (1, 2, 3):
        assert np.abs(iteration.direction + iteration.gradient).max() > 1e-3
        np.testing.assert_array_equal(iteration.direction, bent)
        iteration.length = np.full(5, 1e6)
        iteration.step()
        np.testing.assert_array_equal(iteration.rejections, n_rejections)
    np.testing.assert_array_equal(iteration.z, accepted)
    np.testing.assert_array_equal(iteration.direction, -iteration.gradient)
    np.testing.assert_array_equal(iteration.length, 1)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
def test_a_column_of_one_class_ends(loss):
    # its objective falls for ever, as the intercept rises: what is left of it has to be held against something else
    problem = problem_of(loss, targets=lambda X, rng: np.ones((len(X), 2)))
    result = solve(problem, tol=1e-4)
    assert result.reasons == [StopReason.CONVERGED] * 2
    assert (result.objective < 1e-6).all()
