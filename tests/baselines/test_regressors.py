"""The comparators for real targets against oracles: other libraries, certificates, and our own solver."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVR as LibSVR
from sklearn.svm import LinearSVR

from unisvm import UniSVMRegressor, losses, solvers
from unisvm.baselines import LSSVR, SVR, PrimalLSSVR, RobustSparseLSSVR

M, GAMMA, C = 120, 1.0, 3.0
RNG = np.random.RandomState(0)
X = RNG.uniform(-1.5, 1.5, size=(M, 2))
y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * RNG.randn(M)
WILD = np.where(RNG.uniform(size=M) < 0.15, y + 4, y)
K = rbf_kernel(X, gamma=GAMMA)
WEIGHTS = RNG.uniform(0.3, 2.0, size=M)
each_weighting = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])


def ours(loss, C, **options):
    return UniSVMRegressor(loss, C=C, gamma=GAMMA, fit_intercept=False, max_iter=20_000, **options)


def target_scale(weights, targets):
    """The unit in which our own regressor measures its target."""
    return ours("least_squares", C).fit(X, targets, weights).target_scale_[0]


@each_weighting
def test_lssvr_is_kernel_ridge(weights):
    model = LSSVR(C, gamma=GAMMA).fit(X, y, weights)
    reference = KernelRidge(alpha=1 / (2 * C), kernel="rbf", gamma=GAMMA).fit(X, y, weights)
    np.testing.assert_allclose(model.predict(X), reference.predict(X), rtol=1e-8)
    np.testing.assert_allclose(model.dual_coef_[0], reference.dual_coef_, rtol=1e-6)


@each_weighting
def test_primal_lssvr_with_all_rows_is_lssvr(weights):
    model = PrimalLSSVR(C, gamma=GAMMA, rank=M, rank_tol=0.0).fit(X, y, weights)
    np.testing.assert_allclose(model.predict(X), LSSVR(C, gamma=GAMMA).fit(X, y, weights).predict(X), atol=1e-7)


@each_weighting
def test_primal_lssvr_is_ours_with_the_same_landmarks(weights):
    model = PrimalLSSVR(C, gamma=GAMMA, rank=12, random_state=0).fit(X, y, weights)
    assert len(model.support_) == 12
    reference = ours("least_squares", C, landmarks=model.support_, tol=1e-12).fit(X, y, weights)
    np.testing.assert_allclose(model.predict(X), reference.predict(X), atol=1e-6)


@each_weighting
def test_robust_sparse_lssvr_is_algorithm_1_for_truncated_least_squares(weights):
    model = RobustSparseLSSVR(0.8, C=C, gamma=GAMMA, rank=20, tol=1e-13, random_state=0).fit(X, WILD, weights)
    values = np.asarray(model.history_["objective"])
    assert len(values) == model.n_iter_ > 2
    assert (np.diff(values) <= 1e-9).all()
    scale = target_scale(weights, WILD)
    loss = losses.TruncatedLeastSquares(0.8 / scale**2)
    reference = ours(loss, C, landmarks=model.support_, solver=solvers.DCA(), tol=1e-12).fit(X, WILD, weights)
    assert values[-1] == pytest.approx(reference.objective_ * scale**2, rel=1e-6)
    np.testing.assert_allclose(model.predict(X), reference.predict(X), atol=1e-3)


@each_weighting
def test_robust_sparse_lssvr_leaves_wild_rows_out(weights):
    model = RobustSparseLSSVR(0.8, C=C, gamma=GAMMA, rank=M, rank_tol=0.0, tol=1e-14).fit(X, WILD, weights)
    left = (WILD - model.predict(X)) ** 2 <= 0.8
    assert left.sum() == (y == WILD).sum()
    # m in λm is that of all rows for both, as C is the same
    reference = LSSVR(C, gamma=GAMMA).fit(X[left], y[left], None if weights is None else weights[left])
    np.testing.assert_allclose(model.predict(X), reference.predict(X), atol=1e-4)


def test_robust_sparse_lssvr_with_a_loss_that_never_ends_is_primal_lssvr():
    options = {"C": C, "gamma": GAMMA, "rank": 15, "random_state": 0}
    model = RobustSparseLSSVR(1e6, **options).fit(X, WILD)
    np.testing.assert_allclose(model.predict(X), PrimalLSSVR(**options).fit(X, WILD).predict(X), atol=1e-12)


@each_weighting
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.5])
@pytest.mark.parametrize("C", [1e-3, 0.3, 30.0, 3e4])
def test_svr_without_a_duality_gap(epsilon, C, weights):
    model = SVR(C, epsilon=epsilon, gamma=GAMMA).fit(X, y, weights)
    most = C * (np.ones(M) if weights is None else weights)
    beta = np.zeros(M)
    beta[model.support_] = model.dual_coef_[0]
    assert (np.abs(beta) <= most * (1 + 1e-12)).all()
    f = K @ beta
    primal = 0.5 * beta @ f + most @ np.maximum(np.abs(y - f) - epsilon, 0)
    dual = y @ beta - epsilon * np.abs(beta).sum() - 0.5 * beta @ f
    assert primal == pytest.approx(dual, rel=1e-8)
    # rows inside the tube have no part
    assert len(model.support_) == (np.abs(y - f) > epsilon - 1e-7).sum()


@each_weighting
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_svr_is_liblinear_on_features_of_the_kernel(epsilon, weights):
    values, vectors = np.linalg.eigh(K)
    P = vectors * np.sqrt(np.maximum(values, 0))
    reference = LinearSVR(epsilon=epsilon, C=C, fit_intercept=False, tol=1e-9, max_iter=10**6, random_state=0)
    reference.fit(P, y, weights)
    model = SVR(C, epsilon=epsilon, gamma=GAMMA).fit(X, y, weights)
    np.testing.assert_allclose(model.predict(X), reference.predict(P), atol=1e-5)


@each_weighting
def test_svr_with_a_large_constant_in_the_kernel_is_libsvm(weights):
    # the constant is an intercept that is hardly penalised
    shifted = K + 1e5
    model = SVR(C, epsilon=0.2, kernel="precomputed").fit(shifted, y + 0.7, weights)
    reference = LibSVR(C=C, epsilon=0.2, gamma=GAMMA, tol=1e-8).fit(X, y + 0.7, weights)
    np.testing.assert_allclose(model.predict(shifted), reference.predict(X), atol=1e-4)


@each_weighting
def test_svr_is_the_limit_of_our_smoothed_loss(weights):
    model = SVR(C, epsilon=0.2, gamma=GAMMA).fit(X, y, weights)
    scale = target_scale(weights, y)
    loss = losses.SmoothEpsilonInsensitive(epsilon=0.2 / scale, p=1000 * scale)
    # the loss of y/scale is the loss of y divided by the scale, where ‖f‖² is divided by its square
    reference = ours(loss, C / scale, rank=None, tol=1e-7).fit(X, y, weights)
    np.testing.assert_allclose(model.predict(X), reference.predict(X), atol=0.01)


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e6, 1e12])
def test_svr_in_other_units(unit):
    model = SVR(C * unit, epsilon=0.1 * unit, gamma=GAMMA).fit(X, y * unit)
    reference = SVR(C, epsilon=0.1, gamma=GAMMA).fit(X, y)
    np.testing.assert_allclose(model.predict(X) / unit, reference.predict(X), atol=1e-10)
    np.testing.assert_array_equal(model.support_, reference.support_)


@pytest.mark.parametrize(("epsilon", "targets"), [(10.0, y), (0.0, np.zeros(M)), (0.1, np.full(M, 0.1))])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_svr_of_targets_inside_the_tube_is_zero(kernel, epsilon, targets):
    rows = K if kernel == "precomputed" else X
    model = SVR(epsilon=epsilon, kernel=kernel).fit(rows, targets)
    np.testing.assert_allclose(model.predict(rows), 0, atol=1e-10)


@each_weighting
def test_svr_with_little_C_has_all_coefficients_at_their_bounds(weights):
    # C so small that no f comes near a target
    model = SVR(1e-9, epsilon=0.1, gamma=GAMMA).fit(X, y, weights)
    s = 1 if weights is None else weights
    beta = np.where(np.abs(y) > 0.1, 1e-9 * s * np.sign(y), 0)
    np.testing.assert_allclose(model.dual_coef_[0], beta[model.support_], rtol=1e-12)
    assert len(model.support_) == np.count_nonzero(beta)


@pytest.mark.parametrize("cls", [LSSVR, PrimalLSSVR, RobustSparseLSSVR, SVR])
def test_sinc_of_the_paper(cls):
    x = np.linspace(-4 * np.pi, 4 * np.pi, 400)[:, None]
    truth = np.sinc(x.ravel() / np.pi)
    noisy = truth + 0.05 * np.random.RandomState(0).randn(400)
    model = cls(C=1 / (2 * 1e-4 * 400), gamma=0.5).fit(x, noisy)
    assert np.mean((model.predict(x) - truth) ** 2) < 0.001
