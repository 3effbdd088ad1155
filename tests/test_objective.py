"""The objective of many columns and its gradient against the formulas."""

from dataclasses import replace

import numpy as np
import pytest

import naive
from problems import Problem, every_loss, with_or_without_intercept
from unisvm import losses
from unisvm.class_pairs import class_pairs, pair_targets
from unisvm.nystrom.gram import sampled_gram
from unisvm.objective import Orthonormal


def check(problem, W, columns, tolerance):
    values, gradients = problem.objective(W, np.asarray(columns))
    assert values.dtype == gradients.dtype == np.float64
    for j, column in enumerate(columns):
        function = problem.naive_objective(column)
        assert values[j] == pytest.approx(function(W[:, j]), rel=tolerance)
        slope = naive.slope(function, W[:, j])
        np.testing.assert_allclose(gradients[:, j], slope, atol=tolerance * max(1, np.abs(slope).max()))


@every_loss
@with_or_without_intercept
def test_values_and_gradients_of_every_loss(compiled_or_not, name, task, intercept):
    problem = Problem(name, task, intercept=intercept)
    check(problem, problem.random_weights(), [0, 1, 2], 1e-6)


@every_loss
def test_single_precision(name, task):
    problem = Problem(name, task, intercept=True, dtype=np.float32)
    # a kink of a truncated loss that falls between two roundings would show as a jump, hence one column at a time
    check(problem, problem.random_weights(1), [1], 2e-3)


SOME = [("saturating", "classification"), ("logistic", "classification"), ("huber", "regression")]


@pytest.mark.parametrize(("name", "task"), SOME)
@with_or_without_intercept
@pytest.mark.parametrize("columns", [[1], [2, 0], [1, 1, 0, 1], [2, 1, 0]], ids=str)
def test_subsets_of_columns(name, task, intercept, columns):
    problem = Problem(name, task, intercept=intercept)
    check(problem, problem.random_weights(len(columns)), columns, 1e-6)


@every_loss
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_blocks_and_threads(small_blocks, name, task, n_threads, dtype):
    problem = Problem(name, task, intercept=True, dtype=dtype, n_threads=n_threads)
    check(problem, problem.random_weights(), [0, 1, 2], 1e-6 if dtype == np.float64 else 2e-3)


@pytest.mark.parametrize(("name", "task"), SOME)
def test_a_weight_of_two_is_a_row_given_twice(store, name, task):
    twice = np.arange(150) % 3 == 0
    problem = Problem(name, task, intercept=False)
    order, X = np.repeat(np.arange(150), np.where(twice, 2, 1)), problem.rows.X
    repeated = problem.objective_over(store(X[order], problem.y[order]))
    weighted = problem.objective_over(store(X, problem.y, np.where(twice, 2.0, 1.0)))
    W = problem.random_weights()
    for one, other in zip(repeated(W, problem.columns), weighted(W, problem.columns), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


@with_or_without_intercept
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dual_coefficients_and_intercept(intercept, dtype):
    problem = Problem("huber", "regression", intercept=intercept, dtype=dtype)
    W = problem.random_weights()
    dual, offset = problem.objective.to_dual(W)
    assert dual.dtype == offset.dtype == dtype
    f = problem.objective.features @ dual + offset
    expected = np.column_stack([naive.decision(problem.P, w, problem.mean) for w in W.T])
    np.testing.assert_allclose(f, expected, atol=1e-3 if dtype == np.float32 else 1e-9)
    assert intercept or not offset.any()
    # and back, from the values of f at the landmarks
    body = problem.map.of_function(problem.map.factor @ W[: problem.map.rank])
    np.testing.assert_allclose(problem.objective.join_intercept(body, offset.astype(float)), W, atol=1e-5)


@with_or_without_intercept
def test_correlation_with_the_targets(small_blocks, intercept):
    problem = Problem("huber", "regression", intercept=intercept)
    features = np.c_[problem.P - problem.mean, np.ones(150)] if intercept else problem.P
    expected = features.T @ (problem.weights[:, None] * problem.y) / problem.weights.sum()
    np.testing.assert_allclose(problem.objective.correlate_targets(), expected, atol=1e-10)
    # with their medians, the targets follow once more without their outliers
    target_medians = np.array([0.5, 0.0, -1.0])
    clipped = np.clip(problem.y, target_medians - 3, target_medians + 3)
    assert (clipped != problem.y).any(axis=0).all()
    without = features.T @ (problem.weights[:, None] * clipped) / problem.weights.sum()
    objective = problem.objective_over(problem.rows, target_medians)
    np.testing.assert_allclose(objective.correlate_targets(), np.c_[expected, without], atol=1e-10)


def test_correlations_are_computed_once_for_each_target(monkeypatch):
    problem = Problem("huber", "regression", intercept=True)
    objective = problem.objective_over(problem.rows, np.zeros(3))
    expected, reduce, sweeps = objective.correlate_targets(), problem.rows.reduce, []
    monkeypatch.setattr(problem.rows, "reduce", lambda *args, **options: sweeps.append(1) or reduce(*args, **options))
    # other losses and penalties of the same targets, and those of a target more than once
    spec = replace(objective.spec.take(np.array([2, 0, 2])), losses=(losses.get("cauchy"),), penalties=np.ones(3))
    found = objective.with_columns(spec).correlate_targets()
    np.testing.assert_array_equal(found, expected[:, [2, 0, 2, 5, 3, 5]])
    assert not sweeps
    # whichever of the objectives comes first
    other = problem.objective_over(problem.rows, np.zeros(3))
    other.with_columns(other.spec.take(np.array([2, 0]))).correlate_targets()
    other.with_columns(other.spec.take(np.array([1, 2]))).correlate_targets()
    other.correlate_targets()
    assert len(sweeps) == 2


@pytest.mark.parametrize(("name", "task"), SOME)
@with_or_without_intercept
def test_values_along_a_line(small_blocks, name, task, intercept):
    problem = Problem(name, task, intercept=intercept)
    W, columns, scales = problem.random_weights(4), np.array([2, 0, 1, 1]), np.array([0.0, 1.0, -2.5])
    values = problem.objective.values_along(W, columns, scales)
    for row, scale in zip(values, scales, strict=True):
        np.testing.assert_allclose(row, problem.objective(scale * W, columns)[0], rtol=1e-10)


def sampled(problem):
    """The objective over a sample of all rows, and the moments of it."""
    gram = sampled_gram(problem.rows, problem.map, problem.features, len(problem.y), np.random.RandomState(0))
    return problem.objective.on_sample(gram.sample, Orthonormal()), gram


@pytest.mark.parametrize(("name", "task"), SOME)
@with_or_without_intercept
def test_the_objective_over_a_sample_of_all_rows_is_the_same(name, task, intercept):
    problem = Problem(name, task, intercept=intercept)
    small, _ = sampled(problem)
    W = problem.random_weights()
    for one, other in zip(small(W, problem.columns), problem.objective(W, problem.columns), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("name", "task"), SOME)
@with_or_without_intercept
def test_the_risk_over_a_sample_is_a_mean_over_its_rows(name, task, intercept):
    problem = Problem(name, task, intercept=intercept)
    # landmarks that are points: the weights of the sample are counts, and their sum is not that of all rows
    gram = sampled_gram(problem.rows, problem.map, problem.features, 40, np.random.RandomState(0))
    assert gram.weights.sum() < problem.weights.sum() / 2
    small, P = problem.objective.on_sample(gram.sample, Orthonormal()), problem.P[gram.indices]
    W = problem.random_weights()
    values, _ = small(W, problem.columns)
    for j in problem.columns:
        y, w = problem.y[gram.indices, j], W[:, j]
        expected = naive.objective(
            P, y, gram.weights, w, problem.loss, problem.penalty, problem.is_margin, problem.mean
        )
        assert values[j] == pytest.approx(expected, rel=1e-8)


def test_curvature_is_a_share_of_the_most_that_is_allowed():
    problem = Problem("squared_hinge", intercept=False)
    W = np.zeros((problem.size, 3))
    # r = 1 everywhere, where the squared hinge is a parabola
    (curvature,) = sampled(problem)[0].curvatures(W)
    np.testing.assert_allclose(curvature, np.ones(150), rtol=1e-9)
    # and where this one is flat
    problem = Problem(losses.get("truncated_squared_hinge", a=0.25), intercept=False)
    (curvature,) = sampled(problem)[0].curvatures(W)
    assert curvature.shape == (150,)
    assert (curvature < 0.06).all()
    assert (curvature > 0).all()


def in_pairs(problem):
    """The objective of the pairs of the problem's three targets, as if each were a class, and their targets."""
    pairs = class_pairs(3)
    return problem.objective.with_columns(replace(problem.objective.spec, pairs=pairs)), pair_targets(problem.y, pairs)


@with_or_without_intercept
def test_correlation_with_the_targets_of_pairs(intercept):
    problem = Problem("logistic", intercept=intercept)
    objective, y = in_pairs(problem)
    features = np.c_[problem.P - problem.mean, np.ones(150)] if intercept else problem.P
    expected = features.T @ (problem.weights[:, None] * y) / problem.weights.sum()
    np.testing.assert_allclose(objective.correlate_targets(), expected, atol=1e-10)


def test_curvature_counts_the_columns_that_a_row_is_in():
    problem = Problem("squared_hinge", intercept=False)
    _, gram = sampled(problem)
    objective, y = in_pairs(problem)
    (curvature,) = objective.on_sample(gram.sample, Orthonormal()).curvatures(np.zeros((problem.size, 3)))
    np.testing.assert_allclose(curvature, np.abs(y[gram.indices]).mean(axis=1), rtol=1e-9)
    # and in all of them, whatever the targets, unless classes are told apart in pairs
    problem = Problem("least_squares", "regression", intercept=False)
    (curvature,) = sampled(problem)[0].curvatures(problem.random_weights())
    np.testing.assert_allclose(curvature, np.ones(150), rtol=1e-9)


def test_correlations_are_not_taken_for_those_with_other_weights():
    # the weights of a column may be any column beside the targets; here they are targets themselves
    problem = Problem("least_squares", "regression", intercept=False)
    objective, y = problem.objective, problem.y
    objective.correlate_targets()
    for column in range(3):
        spec = replace(objective.spec.take(np.array([0])), weight_of=np.array([column]))
        expected = problem.P.T @ (y[:, column] * y[:, 0]) / problem.weights.sum()
        np.testing.assert_allclose(objective.with_columns(spec).correlate_targets()[:, 0], expected, atol=1e-10)
