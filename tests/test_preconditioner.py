"""The majoriser of the objective, its spectrum, and Hessians on a sample, beside sums over the rows."""

import numpy as np
import pytest

import naive
from problems import Problem, every_loss, with_or_without_intercept
from unisvm.nystrom.gram import Gram, sampled_gram
from unisvm.objective import Orthonormal
from unisvm.preconditioner import (
    CoordinatesByLoss,
    EigenBasis,
    HessianCoordinates,
    Majoriser,
    SpectralMajoriser,
    Spectrum,
)


def gram_of(matrix, mean=None):
    """Moments of all rows, given their lower triangle."""
    mean = np.zeros(len(matrix)) if mean is None else mean
    return Gram(mean, matrix, 0.0, np.empty(0, dtype=int), np.empty(0))


# ---------------------------------------------------------------------- the majoriser


@every_loss
@with_or_without_intercept
def test_the_quadratic_lies_above_the_objective(name, task, intercept):
    problem = Problem(name, task, intercept=intercept)
    A = problem.loss.A
    majoriser = Majoriser(problem.gram, problem.penalty, A, intercept)
    H = naive.majoriser(problem.P, problem.weights, problem.penalty, A, intercept)
    columns = np.arange(3)
    for seed in range(12):
        W = problem.random_weights(seed=seed, scale=2.0)
        step = problem.random_weights(seed=100 + seed, scale=10.0 ** (1 - seed % 4))
        values, gradients = problem.objective(W, columns)
        quadratic = np.einsum("ij,ij->j", step, H @ step)
        # the same quadratic in the coordinates in which it is round
        np.testing.assert_allclose((majoriser.from_weights(step) ** 2).sum(axis=0) / 2, quadratic, rtol=1e-8)
        above = values + (gradients * step).sum(axis=0) + quadratic
        assert (problem.objective(W + step, columns)[0] <= above + 1e-9 * np.abs(above)).all()


@with_or_without_intercept
def test_the_quadratic_is_the_objective_of_least_squares(intercept):
    # equality, and so no smaller A will do
    problem = Problem("least_squares", "regression", intercept=intercept)
    W, step = problem.random_weights(), problem.random_weights(seed=2)
    values, gradients = problem.objective(W, np.arange(3))
    moved = problem.objective(W + step, np.arange(3))[0]
    for A, excess in ((1.0, 0.0), (0.9, 0.1)):
        z = Majoriser(problem.gram, problem.penalty, A, intercept).from_weights(step)
        quadratic = values + (gradients * step).sum(axis=0) + (z**2).sum(axis=0) / 2
        f = np.column_stack([naive.decision(problem.P, w, problem.mean) for w in step.T])
        missing = excess * problem.weights @ f**2 / problem.weights.sum()
        np.testing.assert_allclose(moved - quadratic, missing, atol=1e-9)


@with_or_without_intercept
def test_coordinates(intercept):
    problem = Problem("huber", "regression", intercept=intercept)
    majoriser = Majoriser(problem.gram, problem.penalty, problem.loss.A, intercept)
    W = problem.random_weights()
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
def test_least_squares_start(intercept, A):
    problem = Problem("least_squares", "regression", intercept=intercept)
    W = Majoriser(problem.gram, problem.penalty, A, intercept).least_squares(problem.objective.correlate_targets())
    features = np.c_[problem.P - problem.mean, np.ones(150)] if intercept else problem.P
    weighted = problem.weights[:, None] * features / problem.weights.sum()
    ridge = problem.penalty * np.eye(problem.size)
    if intercept:
        ridge[-1, -1] = 0  # it is not penalised
    expected = np.linalg.solve(ridge + A * weighted.T @ features, A * weighted.T @ problem.y)
    np.testing.assert_allclose(W, expected, rtol=1e-9, atol=1e-10)


def test_one_step_of_the_majoriser_solves_least_squares():
    problem = Problem("least_squares", "regression", intercept=True)
    majoriser = Majoriser(problem.gram, problem.penalty, 1.0, True)
    W = majoriser.least_squares(problem.objective.correlate_targets())
    assert np.abs(problem.objective(W, np.arange(3))[1]).max() < 1e-9


def test_gram_that_rounding_left_indefinite_is_lifted():
    rng = np.random.RandomState(0)
    P = rng.randn(3, 8)
    matrix = P.T @ P - 1e-15 * np.eye(8)  # rank 3 of 8
    majoriser = Majoriser(gram_of(matrix), 1e-300, 1.0, False)
    W = rng.randn(8, 2)
    np.testing.assert_allclose(majoriser.to_weights(majoriser.from_weights(W)), W, rtol=1e-6)


def test_gram_that_is_no_gram_is_refused():
    with pytest.raises(ValueError, match="could not be factorised"):
        Majoriser(gram_of(np.diag([1.0, -1.0])), 1e-3, 1.0, False)


@pytest.mark.parametrize("wrong_by", [0.0, 1e-11, 1e-9, 1e-7])
def test_moments_that_rounding_made_indefinite(wrong_by):
    # in single precision the least eigenvalue of second moments can fall below 0 by 1e-7 of the largest
    rng = np.random.RandomState(0)
    vectors, _ = np.linalg.qr(rng.randn(30, 30))
    values = np.geomspace(1, 1e-6, 30)
    values[-1] = -wrong_by
    matrix = vectors * values @ vectors.T
    majoriser = Majoriser(gram_of(matrix), 1e-14, 1.0, intercept=False)
    Z = majoriser.from_weights(vectors)
    # it is still the matrix where that means something
    curvature = np.einsum("ij,ij->j", Z, Z)
    np.testing.assert_allclose(curvature[:10], 2 * values[:10], rtol=1e-3)
    assert (curvature > 0).all()


@with_or_without_intercept
def test_curvature_makes_the_hessian(intercept):
    # one target, and a smooth loss that curves everywhere: then H is the matrix of second differences
    problem = Problem("logistic", intercept=intercept, m=600, d=2, gamma=0.5, rank=15, penalty=1e-3)
    gram = sampled_gram(problem.rows, problem.map, problem.features, 600, np.random.RandomState(0))
    small = problem.objective.on_sample(gram.sample, Orthonormal())
    small = small.with_columns(problem.objective.spec.take(np.zeros(1, dtype=int)))
    w = 0.3 * np.random.RandomState(1).randn(problem.size)
    (curvature,) = small.curvatures(w[:, None])
    coordinates = Majoriser(gram, problem.penalty, problem.loss.A, intercept, gram.reweighted(gram.sample, curvature))
    moves = 1e-4 * np.eye(problem.size)
    gradients = [naive.slope(problem.naive_objective(0), w + move, 1e-4) for move in (*moves, *-moves)]
    hessian = (np.stack(gradients[: problem.size]) - np.stack(gradients[problem.size :])) / 2e-4
    factor = coordinates.to_weights(np.eye(problem.size))
    np.testing.assert_allclose(factor.T @ hessian @ factor, np.eye(problem.size), atol=0.03)


def test_majoriser_from_its_factor():
    problem = Problem("huber", "regression", intercept=True)
    majoriser, W = problem.majoriser, problem.random_weights()
    other = Majoriser.from_factor(majoriser.factor, problem.loss.A)
    np.testing.assert_array_equal(np.tril(majoriser.factor), majoriser.factor)
    for method in ("to_weights", "from_weights", "gradient", "least_squares"):
        np.testing.assert_array_equal(getattr(other, method)(W), getattr(majoriser, method)(W))


# ---------------------------------------------------------------------- the spectrum

rng = np.random.RandomState(0)
N, RANK = 300, 8
P = rng.randn(N, RANK) * np.geomspace(1, 0.01, RANK) @ np.linalg.qr(rng.randn(RANK, RANK))[0] + 0.1 * rng.randn(RANK)
GRAM = gram_of(np.tril(P.T @ P / N), P.mean(axis=0))
CURVATURE = rng.uniform(0.05, 1, N)
PENALTIES = np.array([0.1, 1e-3, 1e-6])
A = 0.5


def moments(curvature):
    return np.tril(P.T * curvature @ P / N), curvature @ P / N, curvature.mean()


def hessian(penalty, curvature, intercept, spectrum):
    """Of λ‖w‖² + A · mean c f², where w is in the spectrum's basis and the intercept is f at the mean."""
    features = (P - P.mean(axis=0) if intercept else P) @ spectrum.vectors
    ridge = np.full(RANK, penalty)
    if intercept:
        features, ridge = np.column_stack([features, np.ones(N)]), np.append(ridge, 0.0)
    return 2 * (np.diag(ridge) + A * (features.T * curvature @ features) / N)


def coordinates(penalties, intercept, curvature=CURVATURE):
    spectrum = Spectrum(GRAM, intercept, np.float64)
    return spectrum, HessianCoordinates(GRAM, moments(curvature), spectrum, penalties, A, intercept=intercept)


def unit_vectors(intercept):
    return np.eye(RANK + intercept)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("column", range(len(PENALTIES)))
def test_majorisers_are_round(intercept, column):
    spectrum = Spectrum(GRAM, intercept, np.float64)
    majoriser = SpectralMajoriser(spectrum, PENALTIES, np.full(3, A), intercept=intercept)
    W = majoriser.to_weights(unit_vectors(intercept), np.full(RANK + intercept, column))
    H = hessian(PENALTIES[column], np.ones(N), intercept, spectrum)
    np.testing.assert_allclose(W.T @ H @ W, np.eye(len(W)), atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_hessian_of_one_penalty_is_round(intercept):
    spectrum, hessians = coordinates(PENALTIES[1:2], intercept)
    W = hessians.to_weights(unit_vectors(intercept), np.zeros(RANK + intercept, int))
    np.testing.assert_allclose(
        W.T @ hessian(PENALTIES[1], CURVATURE, intercept, spectrum) @ W, np.eye(len(W)), atol=1e-9
    )


@pytest.mark.parametrize("intercept", [True, False])
def test_hessians_of_other_penalties_are_nearly_round(intercept):
    spectrum, hessians = coordinates(PENALTIES, intercept)
    _, middle = coordinates(np.exp(np.log(PENALTIES).mean(keepdims=True)), intercept)
    without = middle.to_weights(unit_vectors(intercept), np.zeros(RANK + intercept, int))
    longest = []
    for column, penalty in enumerate(PENALTIES):
        H = hessian(penalty, CURVATURE, intercept, spectrum)
        W = hessians.to_weights(unit_vectors(intercept), np.full(RANK + intercept, column))
        assert np.linalg.cond(W.T @ H @ W) < 2
        longest.append(np.linalg.cond(without.T @ H @ without))
    # in the coordinates of the middle penalty they are not
    assert max(longest) > 20


@pytest.mark.parametrize("intercept", [True, False])
def test_where_the_curvature_is_the_same_everywhere_all_are_round(intercept):
    spectrum, hessians = coordinates(PENALTIES, intercept, np.full(N, 0.3))
    for column, penalty in enumerate(PENALTIES):
        W = hessians.to_weights(unit_vectors(intercept), np.full(RANK + intercept, column))
        H = hessian(penalty, np.full(N, 0.3), intercept, spectrum)
        np.testing.assert_allclose(W.T @ H @ W, np.eye(len(W)), atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_coordinates_of_several_losses_and_back(intercept, dtype):
    spectrum = Spectrum(GRAM, intercept, dtype)
    losses = [
        HessianCoordinates(GRAM, moments(c), spectrum, PENALTIES, A, intercept=intercept)
        for c in (CURVATURE, CURVATURE**2)
    ]
    both = CoordinatesByLoss(losses, np.repeat([0, 1], 3))
    columns = np.array([0, 2, 3, 5])
    Z, G = rng.randn(2, RANK + intercept, len(columns))
    tol = 1e-3 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(both.from_weights(both.to_weights(Z, columns), columns), Z, rtol=tol, atol=tol)
    # the gradient moves by the transpose
    forth, back = both.to_weights(Z, columns), both.gradient(G, columns)
    np.testing.assert_allclose((G * forth).sum(axis=0), (back * Z).sum(axis=0), rtol=tol)


@with_or_without_intercept
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_in_the_basis_of_eigenvectors_are_uncorrelated(intercept, dtype):
    problem = Problem("huber", "regression", intercept=intercept, dtype=dtype)
    spectrum = Spectrum(problem.gram, intercept, np.dtype(dtype))
    assert spectrum.vectors.dtype == dtype
    basis = EigenBasis(problem.map, spectrum)
    features = problem.features @ basis.matrix
    if intercept:
        features = features - spectrum.vectors.T @ problem.mean
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    moments = features.T * problem.weights @ features / problem.weights.sum()
    np.testing.assert_allclose(moments, np.diag(spectrum.values), atol=tolerance)
    # both bases have the same functions, of the same norm
    W = problem.random_weights()[: len(spectrum.values)]
    np.testing.assert_allclose(basis.to_dual(W), problem.map.to_dual(spectrum.to_dual(W)), rtol=0.01, atol=tolerance)
    np.testing.assert_allclose(spectrum.from_values(spectrum.to_dual(W)), W, atol=tolerance)
    at_landmarks = problem.map.factor @ spectrum.to_dual(W)
    np.testing.assert_allclose(basis.from_values(at_landmarks), W, atol=10 * tolerance)


@with_or_without_intercept
def test_least_squares_of_columns_that_differ(intercept):
    problem = Problem("least_squares", "regression", intercept=intercept)
    spectrum, penalties, constants = (
        Spectrum(problem.gram, intercept, np.dtype(float)),
        PENALTIES,
        np.array([1, 0.5, 2]),
    )
    spectral = SpectralMajoriser(spectrum, penalties, constants, intercept=intercept)
    correlation, basis = problem.objective.correlate_targets(), np.eye(problem.size)
    basis[: len(spectrum.values), : len(spectrum.values)] = spectrum.vectors
    # two right-hand sides for each column
    found = basis @ spectral.least_squares(np.c_[basis.T @ correlation, -basis.T @ correlation])
    for j in range(3):
        alone = Majoriser(problem.gram, penalties[j], constants[j], intercept).least_squares(correlation[:, j : j + 1])
        np.testing.assert_allclose(found[:, [j, j + 3]], np.c_[alone, -alone], rtol=1e-6, atol=1e-8)
