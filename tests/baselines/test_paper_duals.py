"""The comparators against the paper's own programs, in its variables and with its λ/2, by a modelling language.

The paper's losses are the hinge, the ε-insensitive loss and half the square, so that its λ is 1/(C m) for the former
two and 1/(2C m) for the latter.
"""

import cvxpy as cp
import numpy as np
import pytest
from scipy import linalg
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from unisvm import datasets
from unisvm.baselines import L1SVM, L2SVM, LSSVM, LSSVR, SVR, PrimalLSSVM, PrimalLSSVR, RampSVM, RobustL2SVM

M, GAMMA, C = 50, 0.7, 2.0
X, labels = make_moons(M, noise=0.3, random_state=0)
labels, _ = datasets.flip_labels(labels, 0.1, random_state=0)
SIGNS = np.where(labels == 1, 1.0, -1.0)
REAL = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * np.random.RandomState(0).randn(M)
K = rbf_kernel(X, gamma=GAMMA)
K_SIGNED = np.outer(SIGNS, SIGNS) * K
ROOT, ROOT_SIGNED = linalg.sqrtm(K).real, linalg.sqrtm(K_SIGNED).real
LAMBDA_HINGE, LAMBDA_SQUARE = 1 / (C * M), 1 / (2 * C * M)


def minimise(objective, *constraints):
    cp.Problem(cp.Minimize(objective), list(constraints)).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12
    )


def check(fitted, expected):
    found = fitted.decision_function(X) if hasattr(fitted, "classes_") else fitted.predict(X)
    np.testing.assert_allclose(found, expected, atol=2e-5)


def test_l1svm():
    beta = cp.Variable(M)
    penalty = cp.sum_squares(ROOT_SIGNED @ beta) / (2 * LAMBDA_HINGE)
    minimise(penalty - cp.sum(beta), beta >= 0, beta <= 1 / M)
    check(L1SVM(C, gamma=GAMMA).fit(X, labels), K @ (SIGNS * beta.value) / LAMBDA_HINGE)


def test_l2svm():
    beta = cp.Variable(M)
    penalty = cp.sum_squares(ROOT_SIGNED @ beta) / (2 * LAMBDA_SQUARE) + M / 2 * cp.sum_squares(beta)
    minimise(penalty - cp.sum(beta), beta >= 0)
    check(L2SVM(C, gamma=GAMMA).fit(X, labels), K @ (SIGNS * beta.value) / LAMBDA_SQUARE)


@pytest.mark.parametrize(("cls", "y"), [(LSSVM, SIGNS), (LSSVR, REAL)])
def test_lssvm(cls, y):
    beta = cp.Variable(M)
    penalty = cp.sum_squares(ROOT @ beta) / (2 * LAMBDA_SQUARE) + M / 2 * cp.sum_squares(beta)
    minimise(penalty - y @ beta)
    check(cls(C, gamma=GAMMA).fit(X, y), K @ beta.value / LAMBDA_SQUARE)


@pytest.mark.parametrize(("cls", "y"), [(PrimalLSSVM, SIGNS), (PrimalLSSVR, REAL)])
def test_primal_lssvm(cls, y):
    # its solution is not unique, but the function is
    beta = cp.Variable(M)
    penalty = M / 2 * cp.sum_squares(ROOT @ beta) + cp.sum_squares(K @ beta) / (2 * LAMBDA_SQUARE)
    minimise(penalty - y @ K @ beta)
    check(cls(C, gamma=GAMMA, rank_tol=0.0, random_state=0).fit(X, y), K @ beta.value / LAMBDA_SQUARE)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.6])
def test_svr(epsilon):
    # the paper prints + Σ y (β − β̂), of which the function is −f
    above, below = cp.Variable(M), cp.Variable(M)
    penalty = cp.sum_squares(ROOT @ (above - below)) / (2 * LAMBDA_HINGE)
    bounds = (above >= 0, above <= 1 / M, below >= 0, below <= 1 / M)
    minimise(penalty + epsilon * cp.sum(above + below) - REAL @ (above - below), *bounds)
    check(SVR(C, epsilon=epsilon, gamma=GAMMA).fit(X, REAL), K @ (above.value - below.value) / LAMBDA_HINGE)


@pytest.mark.filterwarnings("ignore:.* stopped after max_iter")
def test_robust_l1svm_step_by_step():
    v = np.zeros(M)
    for step in range(1, 4):
        beta = cp.Variable(M)
        penalty = cp.sum_squares(ROOT_SIGNED @ (beta - v)) / (2 * LAMBDA_HINGE)
        minimise(penalty - cp.sum(beta), beta >= 0, beta <= 1 / M)
        margin = K_SIGNED @ (beta.value - v) / LAMBDA_HINGE
        check(RampSVM(0.5, C=C, gamma=GAMMA, max_iter=step).fit(X, labels), SIGNS * margin)
        v = (1 - margin > 0.5) / M
        assert v.any()


@pytest.mark.filterwarnings("ignore:.* stopped after max_iter")
def test_robust_l2svm_step_by_step():
    v = np.zeros(M)
    for step in range(1, 5):
        beta = cp.Variable(M)
        penalty = cp.sum_squares(ROOT_SIGNED @ (beta - v)) / (2 * LAMBDA_SQUARE) + M / 2 * cp.sum_squares(beta)
        minimise(penalty - cp.sum(beta), beta >= 0)
        margin = K_SIGNED @ (beta.value - v) / LAMBDA_SQUARE
        check(RobustL2SVM(0.5, C=C, gamma=GAMMA, max_iter=step, tol=1e-12).fit(X, labels), SIGNS * margin)
        v = (1 - margin) * (1 - margin > np.sqrt(0.5)) / M
        assert v.any()
