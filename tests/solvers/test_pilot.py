"""The guide from a sample: the Hessian it finds, and that it changes the way to the answer but not the answer."""

import numpy as np
import pytest

import naive
from unisvm import UniSVMClassifier, UniSVMRegressor, _prepared, kernels, losses
from unisvm.features import FeatureMap, gram_of_all, gram_sample
from unisvm.majoriser import Majoriser
from unisvm.objective import Objective
from unisvm.rows import MemoryRows
from unisvm.solvers.lbfgs import LBFGS, best_least_squares
from unisvm.solvers.pilot import explore
from unisvm.solvers.result import History, Start

PENALTY = 1e-3


class Problem:
    """Two columns of labels over rows that are all in the sample."""

    def __init__(self, loss, intercept, task="classification"):
        rng = np.random.RandomState(0)
        X = rng.randn(600, 2)
        self.y = np.sign(np.stack([X[:, 0] * X[:, 1], X[:, 0]], axis=1) + 0.5 * rng.randn(600, 2))
        self.weights = rng.uniform(0.5, 2.0, size=600)
        self.loss, self.task, self.intercept = loss, task, intercept
        rows = MemoryRows(X, self.y, self.weights)
        kernel = kernels.RBF(0.5)
        feature_map = FeatureMap(kernel, X[:15], kernel(X[:15], X[:15]), X.dtype)
        features = rows.build(feature_map.block, feature_map.rank)
        self.sample = gram_sample(rows, feature_map, features, 600, rng)
        self.centre = self.sample.mean if intercept else None
        self.objective = Objective(rows, features, feature_map, loss, PENALTY, task, self.centre)
        self.majoriser = Majoriser(gram_of_all(rows, feature_map, features), PENALTY, loss.A, intercept)
        points = X[:15][feature_map.kept]
        self.P = naive.orthonormal_features(kernel(X, points), kernel(points, points))

    def values(self, w, column):
        y = self.y[:, column]
        return naive.objective(self.P, y, self.weights, w, self.loss, PENALTY, self.task, self.centre)


@pytest.mark.parametrize("intercept", [False, True])
def test_curvature_makes_the_hessian(intercept):
    # one column, a smooth loss that curves everywhere: then H is the matrix of second differences
    problem = Problem(losses.get("logistic"), intercept)
    small = problem.objective.on_sample(problem.sample)
    W = 0.3 * np.random.RandomState(1).randn(problem.P.shape[1] + intercept, 2)
    W[:, 1] = W[:, 0]
    small.rows.targets[:, 1] = small.rows.targets[:, 0]
    coordinates = Majoriser(
        problem.sample, PENALTY, problem.loss.A, intercept, problem.sample.moments(small.curvature(W))
    )
    moves = 1e-4 * np.eye(len(W))
    gradients = [naive.slope(lambda w: problem.values(w, 0), W[:, 0] + move, 1e-4) for move in (*moves, *-moves)]
    hessian = (np.stack(gradients[: len(W)]) - np.stack(gradients[len(W) :])) / 2e-4
    factor = coordinates.to_weights(np.eye(len(W)))
    np.testing.assert_allclose(factor.T @ hessian @ factor, np.eye(len(W)), atol=0.03)


def test_curvature_is_a_share_of_the_most_that_is_allowed():
    problem = Problem(losses.get("squared_hinge"), False)
    small = problem.objective.on_sample(problem.sample)
    W = np.zeros((problem.P.shape[1], 2))
    # u = 1 everywhere, where the squared hinge is a parabola
    np.testing.assert_allclose(small.curvature(W), 1.0, rtol=1e-9)
    problem = Problem(losses.get("truncated_squared_hinge").set_params(a=0.25), False)
    # u = 1 lies where it is flat
    assert (problem.objective.on_sample(problem.sample).curvature(W) < 0.06).all()


@pytest.mark.parametrize("intercept", [False, True])
def test_guide_comes_close_to_the_minimum(intercept):
    problem = Problem(losses.get("hinge"), intercept)
    guide = explore(problem.objective, problem.majoriser, problem.sample, Start())
    columns = np.arange(2)
    at_zero, _ = problem.objective(np.zeros_like(guide.weights), columns)
    value, _ = problem.objective(guide.weights, columns)
    best = (
        LBFGS()
        .solve(problem.objective, problem.majoriser, start=Start(), tol=1e-10, max_iter=500, history=History())
        .objective
    )
    assert (value - best < 0.02 * (at_zero - best)).all()


def test_nonconvex_loss_does_not_believe_a_sample_it_fits_too_well():
    rng = np.random.RandomState(0)
    problem = Problem(losses.get("saturating"), False)
    guide = explore(problem.objective, problem.majoriser, problem.sample, Start())
    least_squares, _ = best_least_squares(problem.objective, problem.majoriser)
    # the sample is all rows here: its solution holds
    assert not np.allclose(guide.weights, least_squares)
    rows = problem.objective.rows
    few = gram_sample(rows, problem.objective.feature_map, problem.objective.features, 20, rng)
    guide = explore(problem.objective, problem.majoriser, few, Start())
    np.testing.assert_allclose(guide.weights, least_squares)
    assert guide.coordinates is not problem.majoriser


def test_given_start_remains():
    problem = Problem(losses.get("logistic"), False)
    start = Start(np.ones((problem.P.shape[1], 2)))
    guide = explore(problem.objective, problem.majoriser, problem.sample, start)
    np.testing.assert_array_equal(guide.weights, start.weights)


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
    guided = model.fit(X, y, sample_weight=weights)
    objective, sweeps, decision = guided.objective_, guided.n_sweeps_, guided._decision(X)
    monkeypatch.setattr(_prepared, "_WORTH_A_PILOT", 0.0)
    plain = model.fit(X, y, sample_weight=weights)
    assert objective == pytest.approx(plain.objective_, rel=1e-7)
    np.testing.assert_allclose(decision, plain._decision(X), atol=1e-2 * np.abs(decision).max())
    # the Huber loss of these residuals is a parabola nearly everywhere, as its majoriser is
    assert sweeps < (1.5 if loss == "huber" else 0.8) * plain.n_sweeps_
