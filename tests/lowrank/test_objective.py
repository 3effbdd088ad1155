"""The objective and its gradient against the formulas, and the quadratic that lies above it."""

import numpy as np
import pytest

import naive
from unisvm import kernels, losses
from unisvm.features import FeatureMap, GramSample, gram_of_all
from unisvm.majoriser import Majoriser
from unisvm.objective import Objective

CASES = [(name, task) for task in ("classification", "regression") for name in losses.names(task)]
every_loss = pytest.mark.parametrize(("name", "task"), CASES)
with_or_without_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["no intercept", "intercept"])
PENALTY = 0.03


class Problem:
    """Rows, targets of three columns and an objective over them, with whole-matrix counterparts."""

    def __init__(self, store, name, task, *, intercept, dtype=np.float64, n_threads=1, m=150):
        rng = np.random.RandomState(0)
        X = rng.randn(m, 3).astype(dtype)
        y = rng.randn(m, 3)
        self.y = (np.sign(y) if task == "classification" else 2 * y).astype(dtype).astype(float)
        self.weights = rng.uniform(0.2, 3.0, size=m).astype(dtype).astype(float)
        self.loss, self.task, self.intercept = losses.get(name), task, intercept
        self.rows = store(X, self.y, self.weights, n_threads)
        kernel = kernels.RBF(0.4)
        exact = X.astype(float)
        points = exact[:7]
        self.map = FeatureMap(kernel, points.astype(dtype), kernel(points, points), X.dtype)
        kept = points[self.map.kept]
        self.P = naive.orthonormal_features(kernel(exact, kept), kernel(kept, kept))
        features = self.rows.build(self.map.block, self.map.rank)
        self.sample = gram_of_all(self.rows, self.map, features)
        self.centre = self.sample.mean if intercept else None
        self.objective = Objective(self.rows, features, self.map, self.loss, PENALTY, task, self.centre)
        self.size = self.map.rank + intercept

    def weights_at_random(self, q=3, seed=1, scale=1.0):
        return scale * np.random.RandomState(seed).randn(self.size, q)

    def naive_objective(self, column):
        y, task, centre = self.y[:, column], self.task, self.centre
        return lambda w: naive.objective(self.P, y, self.weights, w, self.loss, PENALTY, task, centre)

    def check(self, W, columns, tolerance):
        values, gradients = self.objective(W, np.asarray(columns))
        assert values.dtype == gradients.dtype == np.float64
        for j, column in enumerate(columns):
            function = self.naive_objective(column)
            assert values[j] == pytest.approx(function(W[:, j]), rel=tolerance)
            slope = naive.slope(function, W[:, j])
            np.testing.assert_allclose(gradients[:, j], slope, atol=tolerance * max(1, np.abs(slope).max()))


@every_loss
@with_or_without_intercept
def test_values_and_gradients_of_every_loss(store, name, task, intercept):
    problem = Problem(store, name, task, intercept=intercept)
    problem.check(problem.weights_at_random(), [0, 1, 2], 1e-6)


@every_loss
def test_single_precision(store, name, task):
    problem = Problem(store, name, task, intercept=True, dtype=np.float32)
    # a kink of a truncated loss that falls between two roundings would show as a jump, hence one column at a time
    problem.check(problem.weights_at_random(1), [1], 2e-3)


SOME = [("saturating", "classification"), ("logistic", "classification"), ("huber", "regression")]


@pytest.mark.parametrize(("name", "task"), SOME)
@with_or_without_intercept
@pytest.mark.parametrize("columns", [[1], [2, 0], [1, 1, 0, 1], [2, 1, 0]], ids=str)
def test_subsets_of_columns(store, name, task, intercept, columns):
    problem = Problem(store, name, task, intercept=intercept)
    problem.check(problem.weights_at_random(len(columns)), columns, 1e-6)


@every_loss
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_blocks_and_threads(store, small_blocks, name, task, n_threads, dtype):
    problem = Problem(store, name, task, intercept=True, dtype=dtype, n_threads=n_threads)
    problem.check(problem.weights_at_random(), [0, 1, 2], 1e-6 if dtype == np.float64 else 2e-3)


@pytest.mark.parametrize(("name", "task"), SOME)
def test_a_weight_of_two_is_a_row_given_twice(store, name, task):
    twice = np.arange(150) % 3 == 0
    repeated, weighted = (Problem(store, name, task, intercept=False) for _ in range(2))
    order = np.repeat(np.arange(150), np.where(twice, 2, 1))
    for problem, indices, weights in (
        (repeated, order, np.ones(len(order))),
        (weighted, np.arange(150), np.where(twice, 2.0, 1.0)),
    ):
        rows = store(problem.rows.X[indices], problem.y[indices], weights)
        features = rows.build(problem.map.block, problem.map.rank)
        problem.objective = Objective(rows, features, problem.map, problem.loss, PENALTY, task, None)
    W = repeated.weights_at_random()
    for one, other in zip(repeated.objective(W, np.arange(3)), weighted.objective(W, np.arange(3)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@with_or_without_intercept
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dual_coefficients_and_intercept(store, intercept, dtype):
    problem = Problem(store, "huber", "regression", intercept=intercept, dtype=dtype)
    W = problem.weights_at_random()
    dual, offset = problem.objective.to_dual(W)
    assert dual.dtype == offset.dtype == dtype
    f = problem.objective.features @ dual + offset
    expected = np.column_stack([naive.decision(problem.P, w, problem.centre) for w in W.T])
    np.testing.assert_allclose(f, expected, atol=1e-3 if dtype == np.float32 else 1e-9)
    assert intercept or not offset.any()
    # and back, from the values of f at the landmarks
    values = problem.map.factor @ W[: problem.map.rank] + offset
    np.testing.assert_allclose(problem.objective.from_values(values, offset.astype(float)), W, atol=1e-5)


@with_or_without_intercept
def test_correlation_with_the_targets(store, small_blocks, intercept):
    problem = Problem(store, "huber", "regression", intercept=intercept)
    features = np.c_[problem.P - problem.centre, np.ones(150)] if intercept else problem.P
    expected = features.T @ (problem.weights[:, None] * problem.y) / problem.weights.sum()
    np.testing.assert_allclose(problem.objective.correlate_targets(), expected, atol=1e-10)
    # with their medians, the targets follow once more without their outliers
    problem.objective.middle = np.array([0.5, 0.0, -1.0])
    clipped = np.clip(problem.y, problem.objective.middle - 3, problem.objective.middle + 3)
    assert (clipped != problem.y).any(axis=0).all()
    without = features.T @ (problem.weights[:, None] * clipped) / problem.weights.sum()
    np.testing.assert_allclose(problem.objective.correlate_targets(), np.c_[expected, without], atol=1e-10)


# ---------------------------------------------------------------------- the majoriser


@every_loss
@with_or_without_intercept
def test_the_quadratic_lies_above_the_objective(store, name, task, intercept):
    problem = Problem(store, name, task, intercept=intercept)
    A = problem.loss.A
    majoriser = Majoriser(problem.sample, PENALTY, A, intercept)
    H = naive.majoriser(problem.P, problem.weights, PENALTY, A, intercept)
    columns = np.arange(3)
    for seed in range(12):
        W = problem.weights_at_random(seed=seed, scale=2.0)
        step = problem.weights_at_random(seed=100 + seed, scale=10.0 ** (1 - seed % 4))
        values, gradients = problem.objective(W, columns)
        quadratic = np.einsum("ij,ij->j", step, H @ step)
        # the same quadratic in the coordinates in which it is round
        np.testing.assert_allclose((majoriser.from_weights(step) ** 2).sum(axis=0) / 2, quadratic, rtol=1e-8)
        above = values + (gradients * step).sum(axis=0) + quadratic
        assert (problem.objective(W + step, columns)[0] <= above + 1e-9 * np.abs(above)).all()


@with_or_without_intercept
def test_the_quadratic_is_the_objective_of_least_squares(store, intercept):
    # equality, and so no smaller A will do
    problem = Problem(store, "least_squares", "regression", intercept=intercept)
    W, step = problem.weights_at_random(), problem.weights_at_random(seed=2)
    values, gradients = problem.objective(W, np.arange(3))
    moved = problem.objective(W + step, np.arange(3))[0]
    for A, excess in ((1.0, 0.0), (0.9, 0.1)):
        z = Majoriser(problem.sample, PENALTY, A, intercept).from_weights(step)
        quadratic = values + (gradients * step).sum(axis=0) + (z**2).sum(axis=0) / 2
        f = np.column_stack([naive.decision(problem.P, w, problem.centre) for w in step.T])
        missing = excess * problem.weights @ f**2 / problem.weights.sum()
        np.testing.assert_allclose(moved - quadratic, missing, atol=1e-9)


@with_or_without_intercept
def test_coordinates(store, intercept):
    problem = Problem(store, "huber", "regression", intercept=intercept)
    majoriser = Majoriser(problem.sample, PENALTY, problem.loss.A, intercept)
    W = problem.weights_at_random()
    Z = majoriser.from_weights(W)
    np.testing.assert_allclose(majoriser.to_weights(Z), W, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(majoriser.from_weights(majoriser.to_weights(W)), W, rtol=1e-10, atol=1e-12)
    gradients = majoriser.gradient(problem.objective(W, np.arange(3))[1])
    for j in range(3):
        function = problem.naive_objective(j)
        slope = naive.slope(lambda z, f=function: f(majoriser.to_weights(z[:, None])[:, 0]), Z[:, j])
        np.testing.assert_allclose(gradients[:, j], slope, atol=1e-6)


@with_or_without_intercept
@pytest.mark.parametrize("A", [0.125, 1.0, 5.0])
def test_least_squares_start(store, intercept, A):
    problem = Problem(store, "least_squares", "regression", intercept=intercept)
    W = Majoriser(problem.sample, PENALTY, A, intercept).least_squares(problem.objective.correlate_targets())
    features = np.c_[problem.P - problem.centre, np.ones(150)] if intercept else problem.P
    weighted = problem.weights[:, None] * features / problem.weights.sum()
    ridge = PENALTY * np.eye(problem.size)
    if intercept:
        ridge[-1, -1] = 0  # it is not penalised
    expected = np.linalg.solve(ridge + A * weighted.T @ features, A * weighted.T @ problem.y)
    np.testing.assert_allclose(W, expected, rtol=1e-9, atol=1e-10)


def test_one_step_of_the_majoriser_solves_least_squares(store):
    problem = Problem(store, "least_squares", "regression", intercept=True)
    majoriser = Majoriser(problem.sample, PENALTY, 1.0, True)
    W = majoriser.least_squares(problem.objective.correlate_targets())
    assert np.abs(problem.objective(W, np.arange(3))[1]).max() < 1e-9


def test_gram_that_rounding_left_indefinite_is_lifted():
    rng = np.random.RandomState(0)
    P = rng.randn(3, 8)
    gram = P.T @ P - 1e-15 * np.eye(8)  # rank 3 of 8
    majoriser = Majoriser(GramSample(np.zeros(8), gram, 0.0), 1e-300, 1.0, False)
    W = rng.randn(8, 2)
    np.testing.assert_allclose(majoriser.to_weights(majoriser.from_weights(W)), W, rtol=1e-6)


def test_gram_that_is_no_gram_is_refused():
    with pytest.raises(FloatingPointError, match="could not be factorised"):
        Majoriser(GramSample(np.zeros(2), np.diag([1.0, -1.0]), 0.0), 1e-3, 1.0, False)
