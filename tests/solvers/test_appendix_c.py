"""Algorithm 1 against a transcription of the paper's Appendix C, for A of the paper's tables and for any other."""

import numpy as np
import pytest
from scipy.linalg import cho_solve, cholesky
from sklearn.datasets import load_breast_cancer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from problems import Problem, with_or_without_intercept
from unisvm import UniSVMClassifier, UniSVMRegressor, kernels, losses, solvers
from unisvm.column_spec import ColumnSpec
from unisvm.nystrom.feature_map import FeatureMap
from unisvm.nystrom.gram import gram_of_all
from unisvm.objective import Objective
from unisvm.preconditioner import Majoriser
from unisvm.rows import MemoryRows
from unisvm.solvers import DCA, Start, StopReason
from unisvm.solvers.driver import minimise

GAMMA, LAMBDA, N_LANDMARKS = 0.05, 1e-3, 25
LOSSES = {
    "classification": ["squared_hinge", "truncated_squared_hinge", "smooth_hinge", "saturating", "feng"],
    "regression": ["truncated_least_squares", "smooth_epsilon_insensitive", "huber", "smooth_absolute"],
}
CASES = [(task, name) for task, names in LOSSES.items() for name in names]
every_case = pytest.mark.parametrize(("task", "name"), CASES)
every_ratio = pytest.mark.parametrize("ratio", [None, 1.0, 2.0, 7.5])


def appendix_c(K, y, penalty, A, derivative, eps0, task, *, scaled):
    """Decision values and ψ' at each iteration; `scaled` is the rule of the authors' code, which divides by 2A."""
    m, v_old, path = len(y), np.full(len(y), np.inf if scaled else 0.0), []
    Q = np.linalg.inv(K + penalty * m / A * np.eye(m))
    alpha = Q @ y
    while True:
        Ka = K @ alpha
        v = -y * derivative(1 - y * Ka) if task == "classification" else -derivative(y - Ka)
        path.append(Ka)
        if np.linalg.norm(v_old - v) / (2 * A if scaled else 1) < eps0:
            return np.array(path)
        alpha, v_old = Q @ (Ka - v * (0.5 / A)), v


def appendix_c_sparse(P, B, y, penalty, A, derivative, eps0, task):
    """As `appendix_c`, for K = P Pᵀ and coefficients on the landmarks B, by the notes to the paper's code."""
    m, v_old, path = len(y), np.zeros(len(y)), []
    Q = np.linalg.inv((penalty * m / A * np.eye(len(B)) + P.T @ P) @ P[B].T)
    alpha = Q @ (P.T @ y)
    while True:
        Ka = P @ (P[B].T @ alpha)
        v = -y * derivative(1 - y * Ka) if task == "classification" else -derivative(y - Ka)
        path.append(Ka)
        if np.linalg.norm(v_old - v) < eps0:
            return np.array(path)
        alpha, v_old = Q @ (P.T @ (Ka - v * (0.5 / A))), v


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)[:200]
    target = np.sin(X[:, 0]) + 0.3 * X[:, 1]
    target[::10] += 4
    return X, {"classification": 2.0 * y[:200] - 1, "regression": target}


def solved(X, y, landmarks, loss, task, solver, penalty=LAMBDA):
    """Result of a solver and the decision values of its weights, in units of the given targets, without intercept."""
    kernel = kernels.RBF(GAMMA)
    rows = MemoryRows(X, y[:, None], np.ones(len(X)))
    feature_map = FeatureMap(kernel, X[landmarks], kernel(X[landmarks], X[landmarks]), X.dtype)
    features = rows.build(feature_map.block, feature_map.rank)
    gram = gram_of_all(rows, feature_map, features)
    spec = ColumnSpec.shared(loss, penalty, float(len(X)), 1, None)
    objective = Objective(rows, features, feature_map, spec, task == "classification", None)
    majoriser = Majoriser(gram, penalty, loss.A, False)
    result = minimise(solver, objective, majoriser, Start(), tol=1e-9, max_iter=20_000)
    dual, _ = objective.to_dual(result.weights)
    assert len(dual) == len(landmarks)
    return result, (kernel(X, feature_map.points) @ dual)[:, 0]


def assert_path(result, decision, path, y, loss, task, squared_norm):
    """The iteration ends where and when the transcription does, and has its objective at every iteration."""
    assert result.reasons == [StopReason.CONVERGED]
    assert len(path) > 2
    assert len(result.history) == len(path)
    np.testing.assert_allclose(decision, path[-1], rtol=1e-9, atol=1e-9)
    values = [np.mean(loss.value(1 - y * f if task == "classification" else y - f)) for f in path]
    expected = np.array([LAMBDA * squared_norm(f) for f in path]) + values
    np.testing.assert_allclose(np.ravel(result.history.objective), expected, rtol=1e-8)
    # it never rises
    assert (np.diff(expected) <= 1e-12 * expected[0]).all()


@every_case
@every_ratio
@pytest.mark.parametrize("form", solvers.dca.FORMS)
@pytest.mark.parametrize("stop", ["change", "derivative_change"])
def test_full_kernel(data, task, name, ratio, form, stop):
    X, targets = data
    y, loss = targets[task], losses.get(name)
    A = None if ratio is None else ratio * loss.A
    K = rbf_kernel(X, gamma=GAMMA)
    eps0 = 0.002 if stop == "change" else 0.05
    path = appendix_c(K, y, LAMBDA, A or loss.A, loss.derivative, eps0, task, scaled=stop == "change")
    result, decision = solved(X, y, np.arange(len(X)), loss, task, DCA(form, stop, eps0, A))
    factor = cholesky(K, lower=True), True
    assert_path(result, decision, path, y, loss, task, lambda f: f @ cho_solve(factor, f))


@every_case
@every_ratio
def test_sparse_form(data, task, name, ratio):
    X, targets = data
    y, loss = targets[task], losses.get(name)
    B = np.random.RandomState(0).permutation(len(X))[:N_LANDMARKS]
    factor = np.linalg.cholesky(rbf_kernel(X[B], gamma=GAMMA))
    P = np.linalg.solve(factor, rbf_kernel(X[B], X, gamma=GAMMA)).T
    A = None if ratio is None else ratio * loss.A
    path = appendix_c_sparse(P, B, y, LAMBDA, A or loss.A, loss.derivative, 0.05, task)
    result, decision = solved(X, y, B, loss, task, DCA(stop="derivative_change", change=0.05, A=A))
    assert_path(result, decision, path, y, loss, task, lambda f: np.sum(np.linalg.lstsq(P, f)[0] ** 2))


def test_no_derivative_left_at_the_start_ends_appendix_c_at_once(data):
    # v_old = 0 there: least squares with the margins all beyond 1 is an answer
    X, targets = data
    y = targets["classification"]
    loss = losses.get("squared_hinge")
    path = appendix_c(rbf_kernel(X, gamma=GAMMA), y, LAMBDA, 1.0, loss.derivative, 1e3, "classification", scaled=False)
    result, _ = solved(X, y, np.arange(len(X)), loss, "classification", DCA("full", "derivative_change", 1e3))
    assert len(path) == len(result.history) == 1


# ---------------------------------------------------------------------- A


@with_or_without_intercept
@pytest.mark.parametrize("ratio", [1.0, 1.5, 20.0])
@pytest.mark.parametrize("form", solvers.dca.FORMS)
def test_stationarity_is_of_the_loss_whatever_A(form, ratio, intercept):
    problem = Problem("logistic", intercept=intercept)
    solver = DCA(form=form, A=ratio * problem.loss.A)
    result = minimise(solver, problem.objective, problem.majoriser, Start(), tol=1e-5, max_iter=20_000)
    assert set(result.reasons) == {StopReason.CONVERGED}
    value, gradient = problem.objective(result.weights, problem.columns)
    promised = solvers.relative_decrease(problem.majoriser.gradient(gradient), value)
    np.testing.assert_allclose(result.stationarity, promised, rtol=1e-4)


@pytest.mark.parametrize("name", ["hinge", "saturating"])
def test_the_smallest_A_converges_fastest_to_the_same_function(data, name):
    X, targets = data
    y = targets["classification"]
    loss = losses.get(name)
    options = {"C": 1.0, "gamma": GAMMA, "tol": 1e-8, "max_iter": 50_000, "random_state": 0}
    models = [
        UniSVMClassifier(loss, solver=DCA(A=A), **options).fit(X, y) for A in (None, loss.A, 2 * loss.A, 8 * loss.A)
    ]
    assert models[0].n_iter_ == models[1].n_iter_ < models[2].n_iter_ < models[3].n_iter_
    for model in models[1:]:
        assert model.objective_ == pytest.approx(models[0].objective_, rel=1e-5)


def test_the_A_that_the_paper_prints_for_the_smoothed_epsilon_insensitive_loss(data):
    # p/4 is needed for ε = 0 only; with it the iteration takes about twice the steps
    X, targets = data
    loss = losses.SmoothEpsilonInsensitive(epsilon=0.1, p=100.0)
    assert pytest.approx(100 / 8, rel=1e-2) == loss.A
    options = {"C": 1.0, "gamma": GAMMA, "tol": 1e-5, "max_iter": 50_000, "random_state": 0}
    own, printed = (
        UniSVMRegressor(loss, solver=DCA(A=A), **options).fit(X, targets["regression"]) for A in (None, 100 / 4)
    )
    assert 1.5 < printed.n_iter_ / own.n_iter_ < 2.5
    assert printed.objective_ == pytest.approx(own.objective_, rel=1e-3)


@pytest.mark.parametrize("estimator", [UniSVMClassifier, UniSVMRegressor])
def test_an_A_that_is_too_small_is_refused(data, estimator):
    X, targets = data
    y = targets["classification"]
    loss = losses.get("huber" if estimator is UniSVMRegressor else "hinge")
    with pytest.raises(ValueError, match=rf"DCA\(A=0.01\) is too small for {type(loss).__name__}.*Raise A, or leave"):
        estimator(loss, solver=DCA(A=0.01)).fit(X, y)
    # the loss's own, but for the rounding of another formula
    estimator(loss, solver=DCA(A=loss.A * (1 - 1e-15)), C=1.0, tol=1e-2).fit(X, y)


@pytest.mark.parametrize("parameter", ["A", "change"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, "1", True])
def test_numbers_out_of_range_are_refused(parameter, value):
    with pytest.raises(ValueError, match=f"{parameter} must be a number in"):
        DCA(**{parameter: value})


@pytest.mark.parametrize("stop", ["change", "derivative_change"])
def test_rules_count_a_row_of_weight_two_as_two(data, stop):
    X, targets = data
    y = targets["classification"]
    weights = np.random.RandomState(0).randint(1, 4, size=len(y))
    options = {"C": 1.0, "gamma": GAMMA, "landmarks": X[:30], "solver": DCA(stop=stop, change=0.02)}
    weighted = UniSVMClassifier("hinge", **options).fit(X, y, weights)
    repeated = UniSVMClassifier("hinge", **options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.n_iter_ == repeated.n_iter_ > 2
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-9)
