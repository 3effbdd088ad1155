"""The offset of the kernel k + 1, against that kernel, a column of ones, and LIBLINEAR."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, UniSVMRegressorCV, kernels

rng = np.random.RandomState(0)
X = rng.randn(200, 5) + 0.5
LABELS = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.randn(200) > 1.0, 1, -1)
TARGET = 7 + X[:, 0] ** 2 + 0.1 * rng.randn(200)
FORMS = {"dense": np.asarray, "sparse": sparse.csr_array}
KERNELS = {
    "rbf": kernels.RBF(0.3),
    "laplacian": kernels.Laplacian(0.2),
    "poly": kernels.Polynomial(0.3, degree=2, coef0=1.0),
    "sigmoid": kernels.Sigmoid(0.3, coef0=-0.5),
}
ESTIMATORS = pytest.mark.parametrize(
    ("estimator", "loss", "y"),
    [
        (UniSVMClassifier, "squared_hinge", LABELS),
        (UniSVMClassifier, "saturating", LABELS),
        (UniSVMRegressor, "huber", TARGET),
    ],
    ids=["convex", "bounded", "regression"],
)
# small matrices have large negative parts
pytestmark = pytest.mark.filterwarnings("ignore::unisvm.FitWarning")
TIGHT = {"C": 2.0, "rank": None, "tol": 1e-10}


@ESTIMATORS
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["rbf", "laplacian", "poly"])
def test_it_is_the_kernel_plus_one(estimator, loss, y, form, name):
    kernel = KERNELS[name]
    K = kernel(X, X) + 1
    model = estimator(loss, kernel=kernel, fit_intercept="penalised", **TIGHT).fit(FORMS[form](X), y)
    plus_one = estimator(loss, kernel="precomputed", fit_intercept=False, **TIGHT).fit(K, y)
    f = model._expansion()(FORMS[form](X))
    assert model.objective_ == pytest.approx(plus_one.objective_, rel=1e-8)
    np.testing.assert_allclose(f, plus_one._expansion()(K), rtol=1e-3, atol=1e-3)
    assert model.intercept_[0] != 0
    assert plus_one.intercept_[0] == 0


def test_its_square_is_in_the_objective():
    kernel = KERNELS["rbf"]
    K = kernel(X, X)
    model = UniSVMClassifier("squared_hinge", kernel=kernel, fit_intercept="penalised", **TIGHT).fit(X, LABELS)
    alpha, b = model.dual_coef_[0], model.intercept_[0]
    f = K[:, model.landmarks_] @ alpha + b
    norm = alpha @ K[np.ix_(model.landmarks_, model.landmarks_)] @ alpha + b**2
    value = norm / (2 * 2.0 * len(X)) + np.mean(np.maximum(1 - LABELS * f, 0) ** 2)
    assert model.objective_ == pytest.approx(value, rel=1e-9)


@ESTIMATORS
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_columns", [5, 2500], ids=["narrow", "wide"])
def test_a_linear_kernel_has_a_column_of_ones(estimator, loss, y, form, n_columns):
    """Of more than 2,000 columns, only the diagonal of the moments is known."""
    wide = np.random.RandomState(1).randn(200, n_columns) * (np.random.RandomState(2).rand(200, n_columns) < 0.1)
    rows = X if n_columns == 5 else wide
    with_ones = np.column_stack([np.ones(len(rows)), rows])
    shared = {"kernel": "linear", "C": 0.1, "tol": 1e-9}
    model = estimator(loss, fit_intercept="penalised", **shared).fit(FORMS[form](rows), y)
    appended = estimator(loss, fit_intercept=False, **shared).fit(FORMS[form](with_ones), y)
    assert model.objective_ == pytest.approx(appended.objective_, rel=1e-6)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), appended.coef_[0], atol=1e-3)


def test_liblinear_has_the_same_offset():
    C = 0.5
    model = UniSVMClassifier("squared_hinge", C=C, kernel="linear", fit_intercept="penalised", tol=1e-12)
    model.fit(X, LABELS)
    # LIBLINEAR minimises ½‖w‖² + C Σ ψ, and so does 1/(2λm) = C
    oracle = LinearSVC(loss="squared_hinge", dual=True, C=C, intercept_scaling=1, tol=1e-10, max_iter=1_000_000)
    oracle.fit(X, LABELS)
    np.testing.assert_allclose(model.coef_, oracle.coef_, atol=1e-5)
    np.testing.assert_allclose(model.intercept_, oracle.intercept_, atol=1e-5)
    free = UniSVMClassifier("squared_hinge", C=C, kernel="linear", tol=1e-12).fit(X, LABELS)
    assert abs(free.intercept_ - oracle.intercept_) > 1e-3


@pytest.mark.parametrize("indefinite", ["flip", "clip", "krein"])
@pytest.mark.parametrize("solver", ["lbfgs", "dca"])
def test_with_a_kernel_that_is_not_positive_semidefinite(indefinite, solver):
    """The constant is beside the eigenvalues of k, as a positive feature."""
    K = KERNELS["sigmoid"](X, X)
    values, vectors = np.linalg.eigh(K)
    C = 50.0
    values = {"flip": np.abs(values), "clip": np.maximum(values, 0), "krein": values}[indefinite]
    if indefinite == "krein":
        # the others are too small for the loss to hold
        values = np.where((values < 0) & (-values < 1 / C), -values, values)
    part = (vectors * values) @ vectors.T + 1
    model = UniSVMClassifier(
        "least_squares",
        kernel=KERNELS["sigmoid"],
        fit_intercept="penalised",
        indefinite=indefinite,
        solver=solver,
        **{**TIGHT, "C": C},
    ).fit(X, LABELS)
    if indefinite == "krein":
        # the offset may take an eigenvalue more from the negative part
        assert np.mean(model.predict(X) == LABELS) > 0.9
        return
    expected = part @ np.linalg.solve(part + np.eye(len(X)) / (2 * C), LABELS)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1.0, "auto"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_landmarks_weights_classes_and_pickles(dtype, C, kernel):
    classes = np.digitize(X[:, 0], [0, 1])
    weights = np.random.RandomState(0).randint(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), weights)
    rows = X.astype(dtype)
    model = UniSVMClassifier(
        "squared_hinge", C=C, kernel=kernel, gamma=0.3, landmarks="rpcholesky", fit_intercept="penalised", tol=1e-7
    ).fit(rows, classes, sample_weight=weights)
    repeated = UniSVMClassifier(**model.get_params(deep=False)).fit(rows[copies], classes[copies])
    f = model.decision_function(rows)
    np.testing.assert_allclose(f, repeated.decision_function(rows), atol=5e-2 if dtype == np.float32 else 1e-3)
    assert (model.intercept_ != 0).all()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(rows), f)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_warm_start(kernel):
    model = UniSVMClassifier(
        "hinge", C=5.0, kernel=kernel, rank=50, fit_intercept="penalised", warm_start=True, random_state=0
    )
    cold = model.fit(X, LABELS)
    n_iter, f = cold.n_iter_, cold.decision_function(X)
    assert model.fit(X, LABELS).n_iter_ < n_iter
    np.testing.assert_allclose(model.decision_function(X), f, atol=0.1)


def test_the_origin_of_targets_counts():
    """The target is not shifted, so that an offset of 7 is paid for."""
    low, high = (UniSVMRegressor("least_squares", C=C, fit_intercept="penalised").fit(X, TARGET) for C in (1e-4, 100.0))
    assert low.target_centre_ == high.target_centre_ == 0
    assert np.abs(low.predict(X)).max() < 3
    assert high.score(X, TARGET) > 0.9


@pytest.mark.parametrize(("search", "y"), [(UniSVMClassifierCV, LABELS), (UniSVMRegressorCV, TARGET)])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_searches_refit_with_it(search, y, kernel):
    found = search(Cs=[0.1, 10.0], kernel=kernel, cv=3, fit_intercept="penalised", random_state=0).fit(X, y)
    best = found.best_estimator_
    assert best.fit_intercept == "penalised"
    single = type(best)(**best.get_params(deep=False)).set_params(tol=1e-8).fit(X, y)
    assert best.objective_ == pytest.approx(single.objective_, rel=1e-2)


@pytest.mark.parametrize("value", ["penalized", None, 2.0, "True"])
@pytest.mark.parametrize("estimator", [UniSVMClassifier, UniSVMRegressor, UniSVMClassifierCV])
def test_another_value_is_refused(estimator, value):
    with pytest.raises(ValueError, match="fit_intercept must be True, False or 'penalised', got"):
        estimator(fit_intercept=value).fit(X, LABELS)
