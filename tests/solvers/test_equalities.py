"""The solvers against other libraries, closed forms and each other."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

from unisvm import UniSVMClassifier, UniSVMRegressor, losses, solvers

GAMMA = 0.05


@pytest.fixture(scope="module")
def labelled():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:300], y[:300]


@pytest.fixture(scope="module")
def measured():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X), y


def penalty_of(C, m):
    return 1 / (2 * C * m)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_least_squares_is_kernel_ridge(measured, C):
    X, y = measured
    # λm = 1/(2C) is KernelRidge's alpha, for a mean of squares as for a sum
    ridge = KernelRidge(alpha=1 / (2 * C), kernel="rbf", gamma=GAMMA).fit(X, y)
    ours = UniSVMRegressor("least_squares", C=C, gamma=GAMMA, rank=None, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), ridge.predict(X), rtol=1e-8)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_least_squares_classifier_is_kernel_ridge(labelled, C):
    X, y = labelled
    ridge = KernelRidge(alpha=1 / (2 * C), kernel="rbf", gamma=GAMMA).fit(X, 2 * y - 1)
    ours = UniSVMClassifier("least_squares", C=C, gamma=GAMMA, rank=None, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), ridge.predict(X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_squared_hinge_is_linear_svc(labelled, C):
    X, y = labelled
    linear = LinearSVC(loss="squared_hinge", C=C, fit_intercept=False, dual=True, tol=1e-10, max_iter=10**6).fit(X, y)
    ours = UniSVMClassifier("squared_hinge", C=C, kernel="linear", rank=None, fit_intercept=False, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), linear.decision_function(X), rtol=1e-4, atol=1e-4)


def hinge_objective(model, X, y, C):
    """½‖f‖² + C Σ max(0, 1 − y f), the objective of SVC, of the function that `model` represents."""
    points = model.support_vectors_ if isinstance(model, SVC) else model.landmark_vectors_
    K = rbf_kernel(points, gamma=GAMMA)
    dual = model.dual_coef_.ravel()
    return dual @ K @ dual / 2 + C * np.maximum(0, 1 - (2 * y - 1) * model.decision_function(X)).sum()


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_sharp_hinge_is_svc(C):
    X, y = make_classification(600, 10, n_informative=6, flip_y=0.1, class_sep=0.7, random_state=0)
    svc = SVC(C=C, gamma=GAMMA, tol=1e-6).fit(X, y)
    ours = UniSVMClassifier(losses.SmoothHinge(p=200), C=C, gamma=GAMMA, rank=None, tol=1e-7, max_iter=5000).fit(X, y)
    assert hinge_objective(ours, X, y, C) == pytest.approx(hinge_objective(svc, X, y, C), rel=0.01)
    assert (ours.predict(X) == svc.predict(X)).mean() > 0.995
    # the unpenalised intercept is SVC's too
    assert ours.intercept_ == pytest.approx(svc.intercept_, abs=0.03)


def test_sharp_epsilon_insensitive_is_svr(measured):
    X, y = measured
    ours = UniSVMRegressor(losses.SmoothEpsilonInsensitive(epsilon=0.2, p=300), gamma=GAMMA, rank=None, tol=1e-7)
    ours.fit(X, y)
    # SVR works in the target's units: its ε and C are ours times and over the scale
    scale = ours.target_scale_[0]
    svr = SVR(C=scale, epsilon=0.2 * scale, gamma=GAMMA, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), svr.predict(X), atol=0.03 * scale)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", ["smooth_hinge", "truncated_squared_hinge", "saturating"])
def test_three_closed_forms_agree(labelled, loss, weighted, intercept):
    X, y = labelled
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    functions = []
    for form in solvers.dca.FORMS:
        model = UniSVMClassifier(loss, gamma=GAMMA, solver=solvers.DCA(form=form), fit_intercept=intercept, tol=1e-7)
        functions.append(model.fit(X, y, sample_weight=weights).decision_function(X))
    np.testing.assert_allclose(functions[1], functions[0], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(functions[2], functions[0], rtol=1e-8, atol=1e-8)


def both_solvers(estimator, loss, X, y, tol):
    options = {"C": 1.0, "gamma": GAMMA, "tol": tol, "max_iter": 20000}
    return (estimator(loss, solver=solver, **options).fit(X, y) for solver in ("lbfgs", "dca"))


@pytest.mark.parametrize("loss", losses.names("classification"))
def test_solvers_agree_on_labels(labelled, loss):
    check_solvers(UniSVMClassifier, loss, *labelled)


@pytest.mark.parametrize("loss", losses.names("regression"))
def test_solvers_agree_on_targets(measured, loss):
    check_solvers(UniSVMRegressor, loss, *measured)


def check_solvers(estimator, loss, X, y):
    tol = 1e-8
    lbfgs, dca = both_solvers(estimator, loss, X, y, tol)
    assert lbfgs.stationarity_ < tol
    assert dca.stationarity_ < tol
    if losses.get(loss).is_convex:
        assert lbfgs.objective_ <= dca.objective_ * (1 + 1e-6)
    for model in (lbfgs, dca):
        history = np.asarray(model.history_["objective"])
        assert (np.diff(history) <= 1e-14 * history[0]).all()
        assert history[-1] == model.objective_


def test_paper_rule_stops_by_the_change_of_the_pull(labelled):
    X, y = labelled
    loose = UniSVMClassifier("hinge", gamma=GAMMA, solver=solvers.DCA(stop="change", change=1.0)).fit(X, y)
    tight = UniSVMClassifier("hinge", gamma=GAMMA, solver=solvers.DCA(stop="change", change=0.01)).fit(X, y)
    assert 1 < loose.n_iter_ < tight.n_iter_
    assert tight.objective_ < loose.objective_


def test_dca_start_is_least_squares(labelled):
    X, y = labelled
    hinge = UniSVMClassifier("squared_hinge", gamma=GAMMA, solver="dca").fit(X, y)
    ridge = UniSVMClassifier("least_squares", gamma=GAMMA, solver="dca").fit(X, y)
    sign = 2 * y - 1
    margins = 1 - sign * ridge.decision_function(X)
    squared_norm = (
        penalty_of(1.0, len(y))
        * (ridge.dual_coef_ @ rbf_kernel(X[ridge.landmarks_], gamma=GAMMA))
        @ (ridge.dual_coef_.T)
    )
    expected = squared_norm[0, 0] + np.mean(np.maximum(margins, 0) ** 2)
    assert hinge.history_["objective"][0] == pytest.approx(expected, rel=1e-8)


def test_objective_is_what_it_says(labelled):
    X, y = labelled
    model = UniSVMClassifier("logistic", gamma=GAMMA, C=3.0).fit(X, y)
    f = model.decision_function(X)
    dual = model.dual_coef_
    norm = (dual @ rbf_kernel(model.landmark_vectors_, gamma=GAMMA) @ dual.T)[0, 0]
    risk = np.mean(np.log1p(np.exp(-(2 * y - 1) * f)))
    assert model.objective_ == pytest.approx(penalty_of(3.0, len(y)) * norm + risk, rel=1e-8)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["least_squares", "squared_hinge"])
def test_a_sampled_majoriser_serves_as_well(monkeypatch, loss, dtype):
    # heavy tails: many landmarks are the only rows of their kind, and a tiny λ leaves their directions nearly flat
    rng = np.random.default_rng(0)
    X = rng.standard_t(1.5, size=(20000, 4)).clip(-50, 50).astype(dtype)
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(len(X)) > 0
    options = {"C": 100.0, "gamma": 0.1, "rank": 300, "rank_tol": 0.0, "random_state": 0}
    exact = UniSVMClassifier(loss, **options).fit(X, y)
    monkeypatch.setattr("unisvm._prepared._EXACT_GRAM_COST", 0)
    sampled = UniSVMClassifier(loss, **options).fit(X, y)
    assert sampled.stationarity_ < 1e-4
    assert sampled.n_sweeps_ < 2 * exact.n_sweeps_ + 20
    assert sampled.objective_ == pytest.approx(exact.objective_, rel=2e-3)
