"""Coordinates of a grid, beside Hessians that are summed over the rows."""

import numpy as np
import pytest

from unisvm.features import GramSample
from unisvm.model_selection.spectrum import CoordinatesByLoss, GridMajoriser, HessianCoordinates, Spectrum

rng = np.random.RandomState(0)
N, RANK = 300, 8
P = rng.randn(N, RANK) * np.geomspace(1, 0.01, RANK) @ np.linalg.qr(rng.randn(RANK, RANK))[0] + 0.1 * rng.randn(RANK)
SAMPLE = GramSample(P.mean(axis=0), np.tril(P.T @ P / N), 0.0)
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
    spectrum = Spectrum(SAMPLE, intercept, np.float64)
    return spectrum, HessianCoordinates(SAMPLE, moments(curvature), spectrum, penalties, A, intercept=intercept)


def unit_vectors(intercept):
    return np.eye(RANK + intercept)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("column", range(len(PENALTIES)))
def test_majorisers_are_round(intercept, column):
    spectrum = Spectrum(SAMPLE, intercept, np.float64)
    majoriser = GridMajoriser(spectrum, PENALTIES, np.full(3, A), intercept=intercept)
    W = majoriser.to_weights(unit_vectors(intercept), np.full(RANK + intercept, column))
    H = hessian(PENALTIES[column], np.ones(N), intercept, spectrum)
    np.testing.assert_allclose(W.T @ H @ W, np.eye(len(W)), atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_hessian_of_one_penalty_is_round(intercept):
    spectrum, own = coordinates(PENALTIES[1:2], intercept)
    W = own.to_weights(unit_vectors(intercept), np.zeros(RANK + intercept, int))
    np.testing.assert_allclose(
        W.T @ hessian(PENALTIES[1], CURVATURE, intercept, spectrum) @ W, np.eye(len(W)), atol=1e-9
    )


@pytest.mark.parametrize("intercept", [True, False])
def test_hessians_of_other_penalties_are_nearly_round(intercept):
    spectrum, own = coordinates(PENALTIES, intercept)
    _, middle = coordinates(np.exp(np.log(PENALTIES).mean(keepdims=True)), intercept)
    without = middle.to_weights(unit_vectors(intercept), np.zeros(RANK + intercept, int))
    longest = []
    for column, penalty in enumerate(PENALTIES):
        H = hessian(penalty, CURVATURE, intercept, spectrum)
        W = own.to_weights(unit_vectors(intercept), np.full(RANK + intercept, column))
        assert np.linalg.cond(W.T @ H @ W) < 2
        longest.append(np.linalg.cond(without.T @ H @ without))
    # in the coordinates of the middle penalty they are not
    assert max(longest) > 20


@pytest.mark.parametrize("intercept", [True, False])
def test_where_the_curvature_is_the_same_everywhere_all_are_round(intercept):
    spectrum, own = coordinates(PENALTIES, intercept, np.full(N, 0.3))
    for column, penalty in enumerate(PENALTIES):
        W = own.to_weights(unit_vectors(intercept), np.full(RANK + intercept, column))
        H = hessian(penalty, np.full(N, 0.3), intercept, spectrum)
        np.testing.assert_allclose(W.T @ H @ W, np.eye(len(W)), atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_there_and_back(intercept, dtype):
    spectrum = Spectrum(SAMPLE, intercept, dtype)
    losses = [
        HessianCoordinates(SAMPLE, moments(c), spectrum, PENALTIES, A, intercept=intercept)
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
