"""Paths of solutions: where they begin, which of two solutions counts, and what is scored."""

import numpy as np
import pytest

from selection_cases import Problem
from unisvm import UniSVMClassifier
from unisvm.feature_selection.path import falling_strengths
from unisvm.feature_selection.penalties import PENALTIES

PENALTY = pytest.mark.parametrize("penalty", PENALTIES)


def test_strengths_fall_evenly_on_a_logarithmic_scale():
    penalty = PENALTIES["truncated"](0.25)
    strengths = falling_strengths(0.8, penalty, 4)
    # the largest slope of min(t²/b, 1) is 2/√b
    np.testing.assert_allclose(strengths, 0.2 * np.array([1, 0.1, 0.01, 0.001]))
    np.testing.assert_allclose(falling_strengths(0.8, penalty, 3, lowest=0.05), [0.2, 0.1, 0.05])
    np.testing.assert_array_equal(falling_strengths(0.8, penalty, 3, lowest=0.5), 0.5)
    # of a target that depends on nothing, strengths are still positive
    assert (falling_strengths(0.0, penalty, 3) > 0).all()


@PENALTY
def test_no_column_at_a_high_strength_and_some_below_the_first(penalty):
    case = Problem(penalty=penalty, width=0.01)
    problem = case.problem
    first = falling_strengths(problem.steepest_slope(), case.penalty, 1)
    dense = problem.dense_solution()
    # a weight in use costs more than all that the loss can gain, which is ψ(1)
    strengths = np.array([[10 * case.loss.value(1.0), 0.1 * first[0]]])
    # from no columns alone, since the way from all of them may keep some at any strength
    falling = problem.solve([case.penalty], strengths, np.zeros_like(dense))[0]
    counts = problem.supports(falling, case.penalty).sum(axis=1)
    assert not counts[0].any()
    assert counts[1].all()


@PENALTY
def test_objective_of_a_column_is_the_lower_of_both_directions(penalty):
    case = Problem(penalty=penalty)
    problem = case.problem
    strengths, dense = np.array([[0.2, 0.02, 0.002]]), problem.dense_solution()
    (both,) = problem.solve([case.penalty], strengths, dense)
    (falling,) = problem.solve([case.penalty], strengths, np.zeros_like(dense))
    assert (both.objective <= falling.objective + 1e-6).all()
    for k, strength in enumerate(strengths[0]):
        for column in range(4):
            function = case.naive_objective(*divmod(column, 2), strength)
            assert both.objective[k, column] == pytest.approx(function(both.weights[k, :, column]), rel=1e-9)


def test_one_way_begins_with_all_columns():
    # weights at 0 cannot climb so narrow a wall, and those beyond it stay there
    case = Problem(penalty="truncated", width=1e-6)
    dense, strengths = case.problem.dense_solution(), np.array([[0.01]])
    (solutions,) = case.problem.solve([case.penalty], strengths, dense)
    assert case.problem.supports(solutions, case.penalty).all()
    (from_none,) = case.problem.solve([case.penalty], strengths, np.zeros_like(dense))
    assert not case.problem.supports(from_none, case.penalty).any()
    assert (solutions.objective < from_none.objective - 0.1).all()


def test_penalties_that_are_solved_together_are_those_alone():
    case = Problem(width=0.02)
    other = PENALTIES["exponential"](0.2)
    strengths, dense = np.array([[0.1, 0.01], [0.3, 0.03]]), case.problem.dense_solution()
    together = case.problem.solve([case.penalty, other], strengths, dense)
    for k, penalty in enumerate([case.penalty, other]):
        (alone,) = case.problem.solve([penalty], strengths[k : k + 1], dense)
        np.testing.assert_allclose(together[k].weights, alone.weights, atol=1e-3)
        np.testing.assert_allclose(together[k].objective, alone.objective, rtol=1e-7)


def test_support_of_all_rows_is_that_of_most_fits():
    case = Problem(width=0.02)
    problem, cutoff = case.problem, case.penalty.cutoff
    (solutions,) = problem.solve([case.penalty], np.array([[0.05]]), problem.dense_solution())
    weights = np.zeros_like(solutions.weights)
    # columns 0 and 1 in both fits, 2 in that of all rows alone, 3 in the split's
    weights[0, 0, [0, 2]] = weights[0, 1, [1, 3]] = 2 * cutoff
    weights[0, 2, 0] = weights[0, 3, 3] = -2 * cutoff
    weights[0, 4] = 0.9 * cutoff
    supports = problem.supports(solutions._replace(weights=weights), case.penalty)
    assert supports[0, :, 0].tolist() == [True, True, False, False, False, False]
    assert supports[0, :, 1].tolist() == [True, True, False, True, False, False]


@pytest.mark.parametrize("intercept", [True, False])
def test_refit_is_a_machine_of_the_chosen_columns(intercept):
    case = Problem("logistic", intercept=intercept, tol=1e-11)
    problem = case.problem
    (solutions,) = problem.solve([case.penalty], np.array([[0.1, 0.05]]), problem.dense_solution())
    supports = np.zeros((2, 6, 2), dtype=bool)
    supports[0, [0, 1]] = True
    supports[1, [1, 4], 0] = supports[1, [0, 1, 5], 1] = True
    refits = problem.refit(supports, solutions.weights)
    for strength, split, output in np.ndindex(2, 2, 2):
        chosen = supports[strength, :, split]
        weights = case.of_splits[:, split]
        options = {"kernel": "linear", "C": 1.0, "tol": 1e-11, "fit_intercept": intercept}
        model = UniSVMClassifier("logistic", **options).fit(case.Z[:, chosen], case.y[:, output], weights)
        coefficients = refits.dual[strength, :, split, output]
        assert not coefficients[~chosen].any()
        np.testing.assert_allclose(coefficients[chosen] * case.scale[chosen], model.coef_[0], atol=2e-4)
        assert refits.objective[strength, split, output] == pytest.approx(model.objective_, rel=1e-6)


@pytest.mark.parametrize(("loss", "is_margin"), [("feng", True), ("huber", False)])
def test_held_out_losses(loss, is_margin):
    case = Problem(loss, is_margin=is_margin)
    problem = case.problem
    (solutions,) = problem.solve([case.penalty], np.array([[0.1, 0.01]]), problem.dense_solution())
    refits = problem.refit(problem.supports(solutions, case.penalty), solutions.weights)
    test = np.flatnonzero(np.arange(120) % 3 == 0)
    found = problem.held_out_losses(refits, [test])
    assert found.shape == (2, 1)
    for k in range(2):
        of_outputs = []
        for output in range(2):
            f = (case.X[test] - problem.basis.centre) @ refits.dual[k, :, 1, output] + refits.intercept[k, 1, output]
            y = case.y[test, output]
            of_outputs.append(
                np.average(case.loss.value(1 - y * f if is_margin else y - f), weights=case.weights[test])
            )
        assert found[k, 0] == pytest.approx(np.mean(of_outputs), rel=1e-10)
