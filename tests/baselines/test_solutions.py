"""The comparators against oracles: optimality conditions, other libraries, our own solver, and their definitions."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear, minimize
from sklearn.datasets import make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from unisvm import UniSVMClassifier, datasets, losses, solvers
from unisvm.baselines import (
    L1SVM,
    L2SVM,
    LSSVM,
    MultiStageSVM,
    PrimalLSSVM,
    RampSVM,
    ReweightedL2SVM,
    RobustL2SVM,
    RobustSparseLSSVM,
)
from unisvm.baselines.quadratic import BoxProgram

X, y = make_moons(150, noise=0.3, random_state=0)
SIGNS = np.where(y == 1, 1.0, -1.0)
DIRTY, _ = datasets.flip_labels(y, 0.15, random_state=0)
DIRTY_SIGNS = np.where(DIRTY == 1, 1.0, -1.0)
GAMMA, C = 1.0, 3.0
K = rbf_kernel(X, X, gamma=GAMMA)
WEIGHTS = np.random.RandomState(0).uniform(0.3, 2.0, size=150)


def coefficients(model):
    """β with f = Kβ."""
    beta = np.zeros(150)
    beta[model.support_] = model.dual_coef_[0]
    return beta


def objective(model, signs, loss, weights=None):
    weights = np.ones(150) if weights is None else weights
    beta = coefficients(model)
    f = K @ beta
    penalty = 1 / (2 * C * weights.sum())
    return penalty * beta @ f + weights @ loss.value(1 - signs * f) / weights.sum()


def ours(loss, **options):
    return UniSVMClassifier(loss, C=C, gamma=GAMMA, rank=None, fit_intercept=False, tol=1e-10, max_iter=5000, **options)


def hold(signs, beta, slope, upper):
    """The optimality conditions of the dual, given the slope of its objective."""
    alpha = signs * beta
    assert alpha.min() >= 0
    assert (alpha <= upper * (1 + 1e-9)).all()
    inside = (alpha > 1e-7) & (alpha < upper - 1e-7)
    assert np.abs(slope[inside]).max() < 1e-7
    assert slope[alpha <= 1e-7].min(initial=0) > -1e-7
    assert slope[alpha >= upper - 1e-7].max(initial=0) < 1e-7


@pytest.mark.parametrize("seed", range(5))
def test_box_program_equals_bounded_least_squares(seed):
    rng = np.random.RandomState(seed)
    A, b = rng.randn(60, 40), rng.randn(60)
    lower = rng.uniform(-0.3, 0.0, size=40)
    upper = np.where(rng.uniform(size=40) < 0.3, np.inf, rng.uniform(0.0, 0.3, size=40))
    program = BoxProgram(A.T @ A)
    expected = lsq_linear(A, b, (lower, upper), method="bvls", tol=1e-14).x
    np.testing.assert_allclose(program.solve(A.T @ b, lower, upper), expected, atol=1e-7)
    # other bounds, the same matrix
    expected = lsq_linear(A, b, (2 * lower, upper), method="bvls", tol=1e-14).x
    np.testing.assert_allclose(program.solve(A.T @ b, 2 * lower, upper), expected, atol=1e-7)


def test_box_program_of_a_singular_matrix():
    A = np.random.RandomState(0).randn(5, 30)
    lower, upper = np.zeros(30), np.full(30, 0.05)
    program = BoxProgram(A.T @ A)
    alpha = program.solve(np.ones(30), lower, upper)
    slope = A.T @ (A @ alpha) - 1
    assert np.abs(slope[(alpha > 1e-7) & (alpha < 0.05 - 1e-7)]).max(initial=0) < 1e-6
    assert slope[alpha <= 1e-7].min(initial=0) > -1e-6
    assert slope[alpha >= 0.05 - 1e-7].max(initial=0) < 1e-6


def features():
    """P with P Pᵀ = K, so that a linear machine on P is a kernel machine."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


@pytest.mark.parametrize(("cls", "loss"), [(L1SVM, "hinge"), (L2SVM, "squared_hinge")])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_liblinear_on_features_of_the_kernel(cls, loss, weights):
    model = cls(C, gamma=GAMMA).fit(X, DIRTY, weights)
    reference = LinearSVC(loss=loss, C=C, fit_intercept=False, tol=1e-9, max_iter=10**6, random_state=0)
    reference.fit(features(), DIRTY, weights)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(features()), atol=1e-5)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_l1svm_with_a_large_constant_in_the_kernel_is_libsvm(weights):
    # the constant is an intercept that is hardly penalised
    shifted = K + 1e5
    model = L1SVM(C, kernel="precomputed").fit(shifted, DIRTY, weights)
    reference = SVC(C=C, gamma=GAMMA, tol=1e-8).fit(X, DIRTY, weights)
    np.testing.assert_allclose(model.decision_function(shifted), reference.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("C", [1e-3, 0.3, 30.0, 3e4])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_l1svm_without_a_duality_gap(C, weights):
    model = L1SVM(C, gamma=GAMMA).fit(X, DIRTY, weights)
    most = C * (np.ones(150) if weights is None else weights)
    beta = coefficients(model)
    f, alpha = K @ beta, DIRTY_SIGNS * beta
    assert alpha.min() >= 0
    assert (alpha <= most).all()
    primal = 0.5 * beta @ f + most @ np.maximum(1 - DIRTY_SIGNS * f, 0)
    assert primal == pytest.approx(alpha.sum() - 0.5 * beta @ f, rel=1e-9)
    # rows beyond the margin have no part
    assert len(model.support_) == (1 - DIRTY_SIGNS * f > -1e-9).sum()


@pytest.mark.parametrize("cls", [L1SVM, RampSVM])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_little_C_puts_all_coefficients_at_their_bounds(cls, weights):
    model = cls(C=1e-9, gamma=GAMMA).fit(X, y, weights)
    np.testing.assert_allclose(coefficients(model), 1e-9 * SIGNS * (1 if weights is None else weights), rtol=1e-12)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_l2svm(weights):
    model = L2SVM(C, gamma=GAMMA).fit(X, y, weights)
    s = np.ones(150) if weights is None else weights
    beta = coefficients(model)
    alpha = SIGNS * beta
    hold(SIGNS, beta, SIGNS * (K @ beta) + alpha / (2 * C * s) - 1, np.inf)
    reference = ours("squared_hinge").fit(X, y, weights)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=1e-4)
    assert objective(model, SIGNS, losses.SquaredHinge(), weights) <= reference.objective_ * (1 + 1e-9)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_ramp_without_an_end_is_the_hinge(weights):
    model = RampSVM(1e6, C=C, gamma=GAMMA).fit(X, y, weights)
    s = np.ones(150) if weights is None else weights
    beta = coefficients(model)
    hold(SIGNS, beta, SIGNS * (K @ beta) - 1, C * s)
    assert model.n_iter_ == 1
    reference = ours(losses.SmoothHinge(p=300)).fit(X, y, weights)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=0.02)


@pytest.mark.parametrize("a", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_ramp_by_cccp(a, weights):
    model = RampSVM(a, C=20.0, gamma=GAMMA).fit(X, DIRTY, weights)
    values = np.asarray(model.history_["objective"])
    assert len(values) == model.n_iter_ > 1
    assert (np.diff(values) <= 1e-9 * values[:-1]).all()
    u = 1 - DIRTY_SIGNS * model.decision_function(X)
    alpha = DIRTY_SIGNS * coefficients(model)
    most = 20.0 * (np.ones(150) if weights is None else weights)
    beyond = u > a
    assert beyond.any()
    # a row beyond the end has no gradient: those of the hinge and of the shifted hinge cancel
    np.testing.assert_allclose(alpha[beyond], 0, atol=1e-6)
    np.testing.assert_allclose(alpha[(u > 1e-5) & ~beyond], most[(u > 1e-5) & ~beyond], rtol=1e-5)
    np.testing.assert_allclose(alpha[u < -1e-5], 0, atol=1e-5)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_multistage_leaves_out_more_and_more(weights):
    model = MultiStageSVM(1.0, C=C, gamma=GAMMA).fit(X, DIRTY, weights)
    sizes = model.history_["rows"]
    assert len(sizes) == model.n_iter_ > 2
    assert (np.diff(sizes) < 0).all()
    # the last stage is an L2SVM on rows none of which is beyond; its support vectors alone give it again
    kept = model.support_
    assert (1 - DIRTY_SIGNS * model.decision_function(X))[kept].max() <= 1.0 + 1e-9
    again = L2SVM(C, gamma=GAMMA).fit(X[kept], DIRTY[kept], None if weights is None else weights[kept])
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-6)
    assert len(kept) <= sizes[-1]


def test_multistage_without_outliers_is_l2svm():
    model = MultiStageSVM(1e6, C=C, gamma=GAMMA).fit(X, y)
    assert model.n_iter_ == 1
    np.testing.assert_allclose(
        model.decision_function(X), L2SVM(C, gamma=GAMMA).fit(X, y).decision_function(X), atol=1e-9
    )


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.filterwarnings("ignore:.* stopped after max_iter")
def test_robust_l2svm_solves_the_convex_majorant_at_each_step(weights):
    s = np.ones(150) if weights is None else weights
    signed, excess = DIRTY_SIGNS[:, None] * features(), np.zeros(150)

    def majorant(w):
        u = np.maximum(1 - signed @ w, 0)
        value = 0.5 * w @ w + C * s @ (u * u + 2 * excess * (signed @ w))
        return value, w - 2 * C * signed.T @ (s * (u - excess))

    for step in range(1, 5):
        found = minimize(majorant, np.zeros(150), jac=True, method="L-BFGS-B", tol=1e-15, options={"maxiter": 10**4})
        margin = signed @ found.x
        model = RobustL2SVM(0.7, C=C, gamma=GAMMA, max_iter=step, tol=1e-12).fit(X, DIRTY, weights)
        np.testing.assert_allclose(DIRTY_SIGNS * model.decision_function(X), margin, atol=1e-4)
        excess = np.where(1 - margin > np.sqrt(0.7), 1 - margin, 0)
        assert excess.any()


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_robust_l2svm_reaches_a_stationary_point_of_the_truncated_loss(weights):
    model = RobustL2SVM(1.0, C=C, gamma=GAMMA, tol=1e-13).fit(X, DIRTY, weights)
    values = np.asarray(model.history_["objective"])
    assert len(values) == model.n_iter_ > 10
    assert (np.diff(values) <= 1e-9 * values[:-1]).all()
    loss = losses.TruncatedSquaredHinge(1.0)
    assert values[-1] == pytest.approx(objective(model, DIRTY_SIGNS, loss, weights), rel=1e-9)
    s = np.ones(150) if weights is None else weights
    u = 1 - DIRTY_SIGNS * model.decision_function(X)
    np.testing.assert_allclose(DIRTY_SIGNS * coefficients(model), C * s * loss.derivative(u), atol=1e-4)


def test_robust_l2svm_without_outliers_is_l2svm():
    model = RobustL2SVM(1e6, C=C, gamma=GAMMA).fit(X, y)
    assert model.n_iter_ == 2
    np.testing.assert_allclose(
        model.decision_function(X), L2SVM(C, gamma=GAMMA).fit(X, y).decision_function(X), atol=1e-9
    )


def test_robust_l2svm_needs_more_steps_than_stages_of_multistage():
    options = {"a": 1.0, "C": 100.0, "gamma": GAMMA}
    stages, steps = (cls(**options).fit(X, DIRTY).n_iter_ for cls in (MultiStageSVM, RobustL2SVM))
    assert steps > 5 * stages


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_reweighted_reaches_a_stationary_point_of_fengs_loss(weights):
    model = ReweightedL2SVM(2.0, C=C, gamma=GAMMA, tol=1e-13, max_iter=500).fit(X, DIRTY, weights)
    values = np.asarray(model.history_["objective"])
    assert (np.diff(values) <= 1e-9 * values[:-1]).all()
    loss = losses.Feng(2.0)
    assert values[-1] == pytest.approx(objective(model, DIRTY_SIGNS, loss, weights), rel=1e-9)
    # there every coefficient is C times the weighted pointwise gradient of its row
    s = np.ones(150) if weights is None else weights
    u = 1 - DIRTY_SIGNS * model.decision_function(X)
    np.testing.assert_allclose(DIRTY_SIGNS * coefficients(model), C * s * loss.derivative(u), atol=1e-4)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_lssvm_is_kernel_ridge(weights):
    model = LSSVM(C, gamma=GAMMA).fit(X, y, weights)
    reference = KernelRidge(alpha=1 / (2 * C), kernel="rbf", gamma=GAMMA).fit(X, SIGNS, weights)
    np.testing.assert_allclose(model.decision_function(X), reference.predict(X), rtol=1e-8)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_primal_lssvm_with_all_rows_is_lssvm(weights):
    model = PrimalLSSVM(C, gamma=GAMMA, rank=150, rank_tol=0.0).fit(X, y, weights)
    reference = LSSVM(C, gamma=GAMMA).fit(X, y, weights)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_primal_lssvm_is_ours_with_the_same_landmarks(weights):
    model = PrimalLSSVM(C, gamma=GAMMA, rank=12, random_state=0).fit(X, y, weights)
    assert len(model.support_) == 12
    reference = UniSVMClassifier(
        "least_squares", C=C, gamma=GAMMA, landmarks=model.support_, fit_intercept=False, tol=1e-12
    ).fit(X, y, weights)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_robust_sparse_lssvm_is_algorithm_1_for_truncated_least_squares(weights):
    model = RobustSparseLSSVM(1.0, C=C, gamma=GAMMA, rank=15, tol=1e-12, random_state=0).fit(X, DIRTY, weights)
    values = np.asarray(model.history_["objective"])
    assert len(values) == model.n_iter_ > 2
    assert (np.diff(values) <= 1e-9).all()
    reference = UniSVMClassifier(
        losses.TruncatedLeastSquares(1.0),
        C=C,
        gamma=GAMMA,
        landmarks=model.support_,
        fit_intercept=False,
        solver=solvers.DCA(),
        tol=1e-12,
        max_iter=5000,
    ).fit(X, DIRTY, weights)
    assert values[-1] == pytest.approx(reference.objective_, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(X), atol=1e-3)


def test_robust_comparators_beat_the_plain_ones_under_flipped_labels():
    # on average: a single draw of 400 rows can favour any of them
    robust = (RampSVM, MultiStageSVM, ReweightedL2SVM, RobustL2SVM)
    accuracy = {cls: [] for cls in (L1SVM, L2SVM, LSSVM, *robust, RobustSparseLSSVM)}
    for seed in range(6):
        rows, labels = datasets.make_xor(400, random_state=seed)
        tested, truth = datasets.make_xor(2000, random_state=100 + seed)
        dirty, _ = datasets.flip_labels(labels, 0.1, random_state=seed)
        for cls, scores in accuracy.items():
            scores.append(cls(C=1 / (2 * 1e-4 * 400), gamma=0.5).fit(rows, dirty).score(tested, truth))
    mean = {cls: np.mean(scores) for cls, scores in accuracy.items()}
    assert min(mean[cls] for cls in robust) > mean[L2SVM]
    assert mean[RampSVM] > mean[L1SVM]
    assert mean[RobustSparseLSSVM] > mean[LSSVM]
