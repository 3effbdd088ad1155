"""The feature map: its factor, the landmarks that are dropped, and kernels that are not positive semidefinite."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import solve_triangular

import naive
from nystrom.feature_cases import F64, KERNELS, every_dtype, every_kernel, feature_map, orthonormal
from unisvm import UniSVMClassifier, kernels
from unisvm.nystrom.feature_map import FeatureMap, Whitener
from unisvm.nystrom.kernel_checks import check_positive_semidefinite, is_indefinite


def difference_of_products(X, Z):
    """Indefinite: the first column counts negatively."""
    return X[:, 1:] @ Z[:, 1:].T - np.outer(X[:, 0], Z[:, 0])


@every_dtype
@pytest.mark.parametrize(("n_rows", "rank"), [(1, 1), (700, 127), (513, 300), (0, 5)])
def test_whitened_rows_solve_the_triangular_system(dtype, n_rows, rank):
    # several panels, and blocks of rows that are not full
    rng = np.random.RandomState(0)
    factor = np.asfortranarray(np.tril(rng.randn(rank, rank)) / 10 + np.eye(rank))
    rows = rng.randn(n_rows, rank).astype(dtype)
    whitened = rows.copy()
    assert Whitener(factor, np.dtype(dtype))(whitened) is whitened
    scale = np.abs(whitened).max(initial=1.0)
    np.testing.assert_allclose(
        whitened,
        solve_triangular(factor, rows.T.astype(float), lower=True).T,
        atol=(1e-3 if dtype == np.float32 else 1e-11) * scale,
    )


@every_kernel
@every_dtype
def test_features_give_the_nystrom_approximation(name, dtype):
    X, kernel = np.random.RandomState(0).randn(60, 4).astype(dtype), KERNELS[name]
    features = feature_map(kernel, X[:12], dtype)
    K = kernel(X.astype(float), X.astype(float))
    assert features.rank == 12
    P = orthonormal(features, X.astype(float))
    tolerance = 1e-4 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(P @ P.T, naive.nystrom(K, np.arange(12)), atol=tolerance * K.max())
    # the order of the landmarks is the factor's own; up to it this is the textbook's formula
    B = features.kept
    np.testing.assert_allclose(P, naive.orthonormal_features(K[:, B], K[np.ix_(B, B)]), atol=tolerance * K.max())
    assert features.block(X).dtype == dtype


@every_kernel
def test_kept_points_and_factor_belong_together(name):
    X, kernel = np.random.RandomState(0).randn(15, 4), KERNELS[name]
    for form in (np.array, sparse.csr_matrix):
        features = FeatureMap(kernel, form(X), kernel(X, X), F64)
        assert sorted(features.kept) == list(range(15))
        points = features.points.toarray() if sparse.issparse(features.points) else features.points
        np.testing.assert_array_equal(points, X[features.kept])
        np.testing.assert_array_equal(features.factor, np.tril(features.factor))
        np.testing.assert_allclose(features.factor @ features.factor.T, kernel(points, points), rtol=1e-10, atol=1e-10)


@every_kernel
@every_dtype
@pytest.mark.parametrize("apart", [0.0, 1e-9])
def test_repeated_landmarks_are_dropped(name, dtype, apart):
    rng = np.random.RandomState(0)
    distinct = rng.randn(8, 3)
    points = (np.repeat(distinct, 3, axis=0) + apart * rng.randn(24, 3)).astype(dtype)
    kernel = KERNELS[name]
    matrix = kernel(points.astype(float), points.astype(float))
    features = FeatureMap(kernel, points, matrix.copy(), np.dtype(dtype))
    if dtype == np.float32 or apart == 0.0:
        assert sorted(features.kept // 3) == list(range(8))
    assert 8 <= features.rank <= 24
    P = orthonormal(features, points.astype(float))
    np.testing.assert_allclose(P @ P.T, matrix, atol=2e-4 if dtype == np.float32 else 1e-8)


@every_dtype
def test_no_pivot_is_rounding_error(dtype):
    # a smooth kernel has far more landmarks than numerical rank; coefficients must stay bounded all the same
    X = np.random.RandomState(0).uniform(size=(200, 2)).astype(dtype)
    features = feature_map(kernels.RBF(0.1), X, dtype)
    assert features.rank < 60
    assert features.factor.diagonal().min() ** 2 > (2e-5 if dtype == np.float32 else 1e-14)


@every_kernel
def test_dual_coefficients_and_values(name):
    rng = np.random.RandomState(0)
    X, kernel = rng.randn(50, 4), KERNELS[name]
    features = feature_map(kernel, X[:10])
    W = rng.randn(features.rank, 3)
    P = orthonormal(features, X)
    np.testing.assert_allclose(features.block(X) @ features.to_dual(W), P @ W, rtol=1e-7, atol=1e-8)
    values_at_landmarks = P[features.kept] @ W
    np.testing.assert_allclose(features.from_values(values_at_landmarks), W, rtol=1e-7, atol=1e-8)
    # the norm of f is that of W: the basis is orthonormal in the kernel's space
    dual = features.to_dual(W[:, 0])
    assert dual @ kernel(features.points, features.points) @ dual == pytest.approx(W[:, 0] @ W[:, 0])


# ---------------------------------------------------------------------- kernels that are not positive semidefinite


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix])
def test_indefinite_precomputed_matrix_is_refused(form):
    rng = np.random.RandomState(0)
    X, y = rng.randn(30, 4), rng.randint(2, size=30)
    K = difference_of_products(X, X)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        UniSVMClassifier(kernel="precomputed", indefinite="raise").fit(form(K), y)


def test_indefinite_function_is_refused_on_request():
    rng = np.random.RandomState(0)
    X, y = rng.randn(30, 4), rng.randint(2, size=30)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        UniSVMClassifier(kernel=difference_of_products, indefinite="raise").fit(X, y)


def test_positive_semidefinite_function_is_not_warned_of():
    # rounding leaves eigenvalues of either sign about 0; warnings are errors here
    X = np.random.RandomState(0).randn(40, 2)
    assert feature_map(kernels.Function(lambda X, Z: X @ Z.T), X).rank == 2


def test_rounding_is_told_from_a_negative_eigenvalue():
    check_positive_semidefinite(np.diag([1.0, -1e-7]))
    assert not is_indefinite(np.diag([1.0, -1e-7]))
    assert is_indefinite(np.diag([1.0, -1e-3]))
    with pytest.raises(ValueError, match=r"smallest eigenvalue is -0\.01"):
        check_positive_semidefinite(np.diag([1.0, -0.01]))


def test_a_kernel_that_is_zero_on_all_landmarks():
    with pytest.raises(ValueError, match="zero on all landmarks"):
        feature_map(kernels.Linear(), np.zeros((5, 2)))
    with pytest.raises(ValueError, match="zero on all landmarks"):
        UniSVMClassifier(kernel="poly").fit(np.zeros((6, 2)), [0, 1] * 3)


def test_the_extreme_eigenvalues_are_said():
    with pytest.raises(ValueError, match=r"among 3 rows its smallest eigenvalue is -0\.5, its largest 2\."):
        check_positive_semidefinite(np.diag([1.0, -0.5, 2.0]))
