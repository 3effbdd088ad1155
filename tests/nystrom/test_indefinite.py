"""Whether rows show that a kernel is not positive semidefinite, landmarks for it, and the signs of its regulariser."""

import numpy as np
import pytest

from unisvm import kernels
from unisvm.nystrom.indefinite import evenly_spaced, kernel_between, krein_signs, looks_indefinite, pivots_of_square
from unisvm.nystrom.kernel_checks import NotPositiveSemidefiniteError, check_diagonal, is_indefinite

rng = np.random.RandomState(0)
X = rng.randn(120, 4)
SIGMOID = kernels.Sigmoid(0.5, coef0=-0.5)


def test_what_looks_indefinite(store):
    rows = store(X)
    assert looks_indefinite(rows, SIGMOID, refuse=False)
    assert not looks_indefinite(rows, kernels.RBF(0.5), refuse=True)
    assert not looks_indefinite(rows, kernels.Function(kernels.RBF(0.5)), refuse=True)
    with pytest.raises(NotPositiveSemidefiniteError, match="among 120 rows its smallest eigenvalue is -"):
        looks_indefinite(rows, SIGMOID, refuse=True)


@pytest.mark.parametrize("low", [-1.0, -1e-3, -1e-4, -1e-7, 0.0, 1e-3])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_the_sign_of_the_smallest_eigenvalue(low, scale):
    Q, _ = np.linalg.qr(rng.randn(50, 50))
    values = np.append(np.linspace(0.1, 1, 49), low)
    assert is_indefinite(scale * (Q * values) @ Q.T) == (low < -1e-5)


def test_negative_and_zero_matrices():
    assert is_indefinite(-np.eye(5))
    assert is_indefinite(1 - np.eye(5))
    assert not is_indefinite(np.zeros((5, 5)))


def test_a_negative_diagonal(store):
    diagonal = np.array([1.0, 2.0, -0.5])
    with pytest.raises(NotPositiveSemidefiniteError, match=r"k\(x, x\) = -0\.5 for row 7 of X"):
        check_diagonal(SIGMOID, diagonal, np.array([3, 5, 7]))
    with pytest.raises(ValueError, match="is needed") as caught:
        check_diagonal(SIGMOID, np.append(diagonal, np.nan), np.arange(4))
    assert not isinstance(caught.value, NotPositiveSemidefiniteError)


@pytest.mark.parametrize("rank", [5, 20, 60])
def test_pivots_of_the_square_are_as_good_as_greedy_ones(store, rank):
    """K² = Σ of the squared columns: what is left of it without the rows that were chosen, against rows at random."""
    rows = store(X)
    K = kernel_between(rows, SIGMOID, np.arange(len(X)))
    chosen = pivots_of_square(rows, SIGMOID, rank, 0.0, np.random.RandomState(0))
    assert len(np.unique(chosen)) == len(chosen) == rank

    def left(indices):
        """‖K − projection of K on the columns‖²_F."""
        columns = K[:, indices]
        return np.linalg.norm(K - columns @ np.linalg.lstsq(columns, K, rcond=None)[0]) ** 2

    others = [left(np.random.RandomState(seed).permutation(len(X))[:rank]) for seed in range(10)]
    assert left(chosen) <= np.median(others)
    # greedily: the next pivot is the column with most left
    residual = K - K[:, chosen[:3]] @ np.linalg.lstsq(K[:, chosen[:3]], K, rcond=None)[0]
    assert (residual**2).sum(axis=0).argmax() == chosen[3]


def test_pivots_stop_at_the_tolerance(store):
    Q, _ = np.linalg.qr(rng.randn(50, 3))
    K = (Q * [5.0, -3.0, 1e-4]) @ Q.T
    chosen = pivots_of_square(store(K), kernels.Precomputed(), 40, 1e-3, np.random.RandomState(0))
    assert len(chosen) == 2
    assert len(pivots_of_square(store(K), kernels.Precomputed(), 40, 1e-7, np.random.RandomState(0))) == 3


def test_rows_of_more_weight_are_chosen_first(store):
    weights = np.ones(len(X))
    weights[17] = 1e4
    chosen = pivots_of_square(store(X, weights=weights), SIGMOID, 5, 0.0, np.random.RandomState(0))
    assert chosen[0] == 17


def test_evenly_spaced(store):
    rows = store(X)
    assert len(evenly_spaced(rows, 500)) == len(X)
    few = evenly_spaced(rows, 7)
    assert (few[0], few[-1], len(few)) == (0, len(X) - 1, 7)


# ------------------------------------------------------------------ krein


def hessian(signs, moments, ratio):
    """Of least squares, over 2A."""
    return moments + ratio * np.diag(signs)


def test_signs_of_uncorrelated_features():
    variances = np.array([1.0, 0.01, 1.0, 0.21, 0.19, 0.0])
    signs = krein_signs(np.array([1.0, 1, -1, -1, -1, -1]), np.diag(variances), 0.1)
    np.testing.assert_array_equal(signs, [1, 1, -1, -1, 1, 1])


def test_hardly_any_penalty_holds_all_but_what_is_always_zero():
    P = np.random.RandomState(0).randn(40, 6)
    P[:, 4:] = 0
    signs = krein_signs(np.array([1.0, -1, -1, 0, 1, -1]), P.T @ P / 40, 1e-30)
    np.testing.assert_array_equal(signs, [1, -1, -1, 1, 1, 1])


@pytest.mark.parametrize("ratio", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_what_is_held_leaves_least_squares_a_minimum(ratio, seed):
    random = np.random.RandomState(seed)
    P = random.randn(40, 30) * np.geomspace(1e-3, 3, 30) + random.randn(30)
    centred = P - P.mean(axis=0)
    moments = centred.T @ centred / len(P)
    before = random.choice([-1.0, 1.0, 0.0], 30)
    signs = krein_signs(before, np.tril(moments), ratio)
    assert np.linalg.eigvalsh(hessian(signs, moments, ratio)).min() > 0
    assert (signs[before >= 0] == 1).all()
    assert set(signs) <= {-1.0, 1.0}


def test_features_that_others_make_up_for_are_not_held():
    """Two features that are the same: what one takes, the other gives back for less."""
    moments = np.array([[1.0, 1.0], [1.0, 1.0]])
    np.testing.assert_array_equal(krein_signs(np.array([1.0, -1.0]), moments, 1e-3), [1, 1])
    np.testing.assert_array_equal(np.sort(krein_signs(np.array([-1.0, -1.0]), moments, 1e-3)), [1, 1])
