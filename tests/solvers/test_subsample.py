"""The start from a subsample: near the minimum, not believed too much, and without a trace in the answer."""

import numpy as np
import pytest

from problems import Problem, with_or_without_intercept
from unisvm import UniSVMClassifier, UniSVMRegressor
from unisvm.nystrom import gram
from unisvm.solvers import LBFGS, Start
from unisvm.solvers.driver import minimise
from unisvm.solvers.lbfgs import best_least_squares
from unisvm.solvers.subsample import solve_subsample


def two_labels(X, rng):
    return np.stack([X[:, 0] * X[:, 1], X[:, 0]], axis=1) + 0.5 * rng.randn(len(X), 2)


def problem_of(loss, *, intercept):
    """Two columns of labels."""
    return Problem(loss, intercept=intercept, m=600, d=2, rank=15, gamma=0.5, penalty=1e-3, targets=two_labels)


def start_from(problem, n_sampled=600, init=None):
    """The start by a sample of so many rows, all of them unless fewer are asked for."""
    moments = gram.sampled_gram(
        problem.rows, problem.map, problem.features, n_sampled, np.random.RandomState(0), problem.map.kept
    )
    return solve_subsample(problem.objective, problem.majoriser, moments, moments.sample, init)


@with_or_without_intercept
def test_comes_close_to_the_minimum(intercept):
    problem = problem_of("hinge", intercept=intercept)
    start = start_from(problem)
    at_zero, _ = problem.objective(np.zeros_like(start.weights), problem.columns)
    value, _ = problem.objective(start.weights, problem.columns)
    best = minimise(LBFGS(), problem.objective, problem.majoriser, Start(), tol=1e-10, max_iter=500).objective
    assert (value - best < 0.02 * (at_zero - best)).all()


def test_a_convex_loss_believes_its_sample_without_a_sweep():
    assert start_from(problem_of("hinge", intercept=False), 20).n_sweeps == 0


def test_a_nonconvex_loss_does_not_believe_a_sample_that_it_fits_too_well():
    problem = problem_of("saturating", intercept=False)
    least_squares, _ = best_least_squares(problem.objective, problem.majoriser)
    # the sample is all rows here: its solution holds
    start = start_from(problem)
    assert not np.allclose(start.weights, least_squares)
    assert start.n_sweeps == 1
    start = start_from(problem, 20)
    np.testing.assert_allclose(start.weights, least_squares)
    assert start.n_sweeps == 3
    assert start.coordinates is not problem.majoriser


def test_given_weights_remain_the_start():
    problem = problem_of("logistic", intercept=False)
    init = np.ones((problem.size, 2))
    start = start_from(problem, init=init)
    np.testing.assert_array_equal(start.weights, init)
    assert start.coordinates is not None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "huber"])
@pytest.mark.parametrize("intercept", [False, True])
def test_same_answer_in_fewer_sweeps(monkeypatch, loss, intercept, weighted):
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(6000, 2))
    weights = rng.uniform(0.2, 2, size=6000) if weighted else None
    if loss == "huber":
        cls, y = UniSVMRegressor, np.sin(4 * X[:, 0]) + 0.1 * rng.standard_t(2, size=6000)
    else:
        cls, y = UniSVMClassifier, np.sign(X[:, 0] * X[:, 1] + 0.1 * rng.randn(6000))
    model = cls(loss, C=30.0, gamma=4.0, rank=60, tol=1e-9, random_state=0, fit_intercept=intercept)
    from_sample = model.fit(X, y, sample_weight=weights)
    decide = model.predict if loss == "huber" else model.decision_function
    objective, sweeps, decision = from_sample.objective_, from_sample.n_sweeps_, decide(X)
    monkeypatch.setattr(gram, "_MAX_SUBSAMPLE_SHARE", 0.0)
    plain = model.fit(X, y, sample_weight=weights)
    assert objective == pytest.approx(plain.objective_, rel=1e-7)
    np.testing.assert_allclose(decision, decide(X), atol=1e-2 * np.abs(decision).max())
    # the Huber loss of these residuals is a parabola nearly everywhere, as its majoriser is
    assert sweeps < (1.5 if loss == "huber" else 0.8) * plain.n_sweeps_
