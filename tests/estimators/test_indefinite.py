"""Kernels that are not positive semidefinite, against exact solutions of small problems."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import unisvm
from unisvm import FitWarning, UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, UniSVMRegressorCV, losses, solvers

M = 60
rng = np.random.RandomState(0)
VECTORS, _ = np.linalg.qr(rng.randn(M, M))
#: 20 negative eigenvalues, none of them small
VALUES = rng.uniform(1, 5, M) * np.where(np.arange(M) < 20, -1, 1)
K = (VECTORS * VALUES) @ VECTORS.T
K = (K + K.T) / 2
TARGET = rng.randn(M)
LABELS = np.sign(TARGET)
PARTS = {"flip": np.abs(VALUES), "clip": np.maximum(VALUES, 0), "krein": VALUES}
X = rng.randn(300, 5)
y = np.sign(X[:, 0] * X[:, 1] + 0.3 * rng.randn(300))
SIGMOID = {"kernel": "sigmoid", "gamma": 0.5, "coef0": -0.5, "random_state": 0}
GRAM = np.tanh(0.5 * X @ X.T - 0.5)
EXACT = {"kernel": "precomputed", "rank": None, "tol": 1e-12}
# small matrices have large negative parts, and few landmarks leave out much
pytestmark = [
    pytest.mark.filterwarnings("ignore::unisvm.FitWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
ways = pytest.mark.parametrize("indefinite", ["flip", "clip", "krein"])
SOLVERS = pytest.mark.parametrize("solver", ["lbfgs", "dca"])


def features(indefinite):
    """P and S of the whole matrix."""
    values = PARTS[indefinite]
    P = VECTORS * np.sqrt(np.abs(values)) * np.sign(values)
    return P, np.sign(values) if indefinite == "krein" else np.ones(M)


# ------------------------------------------------------------------ exact solutions


@ways
@SOLVERS
@pytest.mark.parametrize("C", [1.0, 20.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_least_squares_solves_the_linear_system(indefinite, solver, C, dtype):
    part = (VECTORS * PARTS[indefinite]) @ VECTORS.T
    model = UniSVMRegressor(
        "least_squares", C=C, fit_intercept=False, indefinite=indefinite, solver=solver, **EXACT
    ).fit(K.astype(dtype), TARGET)
    # the target is scaled, but not shifted
    expected = part @ np.linalg.solve(part + np.eye(M) / (2 * C), TARGET)
    np.testing.assert_allclose(model.predict(K), expected, atol=1e-4 if dtype == np.float32 else 1e-5)
    assert model.signature_ == (40, 0 if indefinite == "clip" else 20)


@SOLVERS
def test_krein_of_a_negative_kernel_has_a_minimum_below_zero(solver):
    negative = -(VECTORS * np.abs(VALUES)) @ VECTORS.T
    model = UniSVMClassifier(
        "least_squares", C=1.0, fit_intercept=False, indefinite="krein", solver=solver, **EXACT
    ).fit(negative, LABELS)
    expected = negative @ np.linalg.solve(negative + 0.5 * np.eye(M), LABELS)
    np.testing.assert_allclose(model.decision_function(negative), expected, atol=1e-4)
    assert model.objective_ == pytest.approx(LABELS @ np.linalg.solve(negative + 0.5 * np.eye(M), LABELS) / (2 * M))
    assert model.objective_ < 0
    # relative to the size of the objective
    assert model.stationarity_ < 1e-10


def risk_and_gradient(w, loss, P, S, C, labels=LABELS):
    """F and its gradient in the weights and the intercept, the last entry of w."""
    m, u = len(labels), 1 - labels * (P @ w[:-1] + w[-1])
    value = (w[:-1] ** 2 * S).sum() / (2 * C * m) + loss.value(u).mean()
    slope = -labels * loss.derivative(u) / m
    return value, np.append(S * w[:-1] / (C * m) + P.T @ slope, slope.sum())


@pytest.mark.parametrize("indefinite", ["flip", "clip"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
def test_smooth_losses_reach_the_minimum_of_scipy(indefinite, loss):
    P, S = features(indefinite)
    model = UniSVMClassifier(loss, C=2.0, indefinite=indefinite, **EXACT).fit(K, LABELS)
    found = minimize(
        risk_and_gradient, np.zeros(M + 1), (losses.get(loss), P, S, 2.0), "BFGS", jac=True, options={"gtol": 1e-9}
    )
    assert model.objective_ == pytest.approx(found.fun, abs=1e-9)
    np.testing.assert_allclose(model.decision_function(K), P @ found.x[:M] + found.x[M], atol=1e-3)


@SOLVERS
@pytest.mark.parametrize("loss", ["least_squares", "truncated_least_squares", "squared_hinge", "hinge", "logistic"])
def test_krein_ends_where_the_gradient_vanishes(solver, loss):
    """No function of so few features has the signs of all labels; weights are read off the dual coefficients."""
    random = np.random.RandomState(1)
    Z, signs = random.randn(300, 8), np.repeat([1.0, -1.0], [5, 3])
    labels = np.sign(Z[:, 0] - Z[:, 6] + 0.5 * random.randn(300))
    model = UniSVMClassifier(loss, C=30.0, indefinite="krein", solver=solver, max_iter=5000, **EXACT)
    model.fit((Z * signs) @ Z.T, labels)
    assert model.signature_ == (5, 3)
    # f = Z S Zᵀ α
    w = np.append(signs * (Z[model.landmarks_].T @ model.dual_coef_[0]), model.intercept_)
    value, gradient = risk_and_gradient(w, losses.get(loss), Z, signs, 30.0, labels)
    assert value == pytest.approx(model.objective_, rel=1e-9)
    at_zero = risk_and_gradient(np.zeros(9), losses.get(loss), Z, signs, 30.0, labels)[1]
    assert np.linalg.norm(gradient) < 1e-4 * np.linalg.norm(at_zero)
    # it is no maximum along any axis
    for step in 0.05 * np.vstack([np.eye(9), -np.eye(9)]):
        assert risk_and_gradient(w + step, losses.get(loss), Z, signs, 30.0, labels)[0] > value - 1e-12


def test_a_bounded_loss_that_slides_off_is_told_of():
    """A line search finds the way down; steps of DCA take thousands to get there."""
    random = np.random.RandomState(1)
    Z, signs = random.randn(300, 8), np.repeat([1.0, -1.0], [5, 3])
    labels = np.sign(Z[:, 0] - Z[:, 6] + 0.5 * random.randn(300))
    model = UniSVMClassifier("saturating", C=30.0, indefinite="krein", **EXACT)
    with pytest.raises(ValueError, match="falls without bound"):
        model.set_params(max_iter=5000).fit((Z * signs) @ Z.T, labels)
    with pytest.warns(ConvergenceWarning, match="'krein' the loss may have no minimum to come to: use 'flip'"):
        model.set_params(max_iter=50, solver="dca").fit((Z * signs) @ Z.T, labels)


@SOLVERS
@pytest.mark.parametrize("loss", ["saturating", "hinge", "logistic"])
def test_a_loss_that_grows_too_slowly_for_krein_is_refused(solver, loss):
    """All eigenvalues are negative, so that f may grow wherever its signs are right."""
    negative = -(VECTORS * np.abs(VALUES)) @ VECTORS.T
    model = UniSVMClassifier(loss, C=20.0, indefinite="krein", solver=solver, **EXACT)
    with pytest.raises(ValueError, match=r"krein.*falls without bound.*flip.*least_squares"):
        model.fit(negative, LABELS)
    assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize("fit_intercept", [True, False, "penalised"])
@pytest.mark.parametrize("C", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("rank", [None, 40])
def test_krein_of_least_squares_is_never_refused(fit_intercept, C, rank):
    """Small negative eigenvalues, and one whose vector is nearly constant, as that of a distance is."""
    model = UniSVMClassifier(
        "least_squares", C=C, rank=rank, indefinite="krein", fit_intercept=fit_intercept, **SIGMOID
    )
    lbfgs, dca = model.fit(X, y).objective_, model.set_params(solver="dca").fit(X, y).objective_
    assert lbfgs == pytest.approx(dca, rel=1e-3)
    shifted = GRAM - 2
    model.set_params(kernel="precomputed").fit(shifted, y)
    assert model.signature_[1] > 0
    assert model.stationarity_ < 1e-4


def test_krein_needs_the_sparse_form_of_dca():
    with pytest.raises(ValueError, match=r"krein.*DCA\(form='sparse'\), got form='woodbury'"):
        UniSVMClassifier("least_squares", C=1.0, indefinite="krein", solver=solvers.DCA("woodbury"), **EXACT).fit(
            K, LABELS
        )


# ------------------------------------------------------------------ positive semidefinite, zero and other kernels


@pytest.mark.parametrize("indefinite", ["clip", "krein", "raise"])
@pytest.mark.parametrize("loss", ["saturating", "least_squares"])
def test_a_positive_semidefinite_kernel_is_not_affected(indefinite, loss):
    for parameters in ({"kernel": "rbf"}, {"kernel": "linear"}, {"kernel": "rbf", "rank": 30}):
        flip = UniSVMClassifier(loss, random_state=0, **parameters).fit(X, y)
        other = UniSVMClassifier(loss, random_state=0, indefinite=indefinite, **parameters).fit(X, y)
        np.testing.assert_array_equal(flip.dual_coef_, other.dual_coef_)
        assert flip.signature_ == other.signature_ == (flip.rank_, 0)


def test_a_sigmoid_that_is_positive_semidefinite_on_the_rows():
    """tanh of small products is a linear kernel."""
    few = X[:, :2]
    model = UniSVMClassifier(C=1.0, kernel="sigmoid", gamma=1e-3, indefinite="raise").fit(few, y)
    assert model.signature_ == (model.rank_, 0)


def test_zero_and_negative_kernels():
    zero = np.zeros((M, M))
    for indefinite in ("flip", "clip", "krein", "raise"):
        with pytest.raises(ValueError, match="nothing to learn from"):
            UniSVMClassifier(indefinite=indefinite, C=1.0, kernel="precomputed").fit(zero, LABELS)
    negative = -(VECTORS * np.abs(VALUES)) @ VECTORS.T
    with pytest.raises(ValueError, match=r"no positive eigenvalues.*indefinite='flip'"):
        UniSVMClassifier(indefinite="clip", C=1.0, kernel="precomputed").fit(negative, LABELS)
    with pytest.warns(FitWarning, match="looks like a distance"):
        flip = UniSVMClassifier("least_squares", C=1.0, kernel="precomputed").fit(negative, LABELS)
    positive = UniSVMClassifier("least_squares", C=1.0, kernel="precomputed").fit(-negative, LABELS)
    assert flip.signature_ == (0, M)
    np.testing.assert_allclose(flip.decision_function(negative), positive.decision_function(-negative), atol=1e-9)


@pytest.mark.parametrize("rank", [None, 40, 400])
@pytest.mark.parametrize("n_rows", [300, 2500])
def test_raise_refuses_whatever_the_number_of_rows(rank, n_rows):
    rows = np.random.RandomState(1).randn(n_rows, 4)
    matrix = np.tanh(rows @ rows.T - 1)
    with pytest.raises(ValueError, match=r"not positive semidefinite.*smallest eigenvalue is -.*indefinite='flip'"):
        UniSVMClassifier(C=1.0, kernel="precomputed", rank=rank, indefinite="raise").fit(matrix, np.sign(rows[:, 0]))


def test_a_negative_diagonal_that_few_rows_have_is_no_error():
    """One row among many, which a look at some of them does not find."""
    rows = np.random.RandomState(1).randn(2500, 3)

    def shifted(A, B):
        matrix = np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))
        return matrix - 3 * np.outer(A[:, 0] == rows[1, 0], B[:, 0] == rows[1, 0])

    labels = np.sign(rows[:, 0])
    model = UniSVMClassifier(C=1.0, kernel=shifted, rank=50, random_state=0)
    assert model.fit(rows, labels).score(rows, labels) > 0.9
    with pytest.raises(ValueError, match=r"not positive semidefinite: k\(x, x\) = -2 for row 1 of X"):
        model.set_params(indefinite="raise").fit(rows, labels)


def test_an_unsymmetric_matrix_is_refused():
    with pytest.raises(ValueError, match="symmetric"):
        UniSVMClassifier(C=1.0, kernel="precomputed").fit(K + np.triu(np.ones((M, M)), 1), LABELS)


@pytest.mark.parametrize("value", ["squash", None, True])
@pytest.mark.parametrize("estimator", [UniSVMClassifier, UniSVMRegressorCV])
def test_another_value_is_refused(estimator, value):
    with pytest.raises(ValueError, match=r"Unknown indefinite .*: use one of 'flip', 'clip', 'krein', 'raise'"):
        estimator(indefinite=value).fit(X, y)


# ------------------------------------------------------------------ landmarks, weights, forms of rows


@ways
@pytest.mark.parametrize("landmarks", ["rpcholesky", "uniform", "pivoted_cholesky", np.arange(30), X[:30]])
@pytest.mark.parametrize("C", [10.0, "auto"])
def test_every_rule_of_landmarks(indefinite, landmarks, C):
    model = UniSVMClassifier("least_squares", C=C, rank=30, landmarks=landmarks, indefinite=indefinite, **SIGMOID)
    model.fit(X, y)
    positive, negative = model.signature_
    assert 0 < positive <= 30
    assert (negative == 0) == (indefinite == "clip")
    assert model.rank_ == positive + negative
    assert 0 < model.trace_error_ <= 1
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_more_landmarks_leave_out_less():
    ranks = (50, 100, 200, None)
    errors = [UniSVMClassifier(C=1.0, rank=rank, **SIGMOID).fit(X, y).trace_error_ for rank in ranks]
    assert sorted(errors, reverse=True) == errors
    assert errors[-1] < 1e-10
    values = np.linalg.eigvalsh(GRAM)
    clip = UniSVMClassifier(C=1.0, rank=None, indefinite="clip", **SIGMOID)
    with pytest.warns(FitWarning, match=r"is left out: indefinite='flip' keeps the negative part"):
        clip.fit(X, y)
    assert clip.trace_error_ == pytest.approx(-values[values < 0].sum() / np.abs(values).sum(), rel=1e-6)
    assert clip.signature_ == ((values > 1e-9).sum(), 0)


@ways
def test_a_weight_is_a_number_of_copies(indefinite):
    weights = np.random.RandomState(0).randint(0, 4, len(y))
    copies = np.repeat(np.arange(len(y)), weights)
    model = UniSVMClassifier("least_squares", C=5.0, rank=None, tol=1e-10, indefinite=indefinite, **SIGMOID)
    weighted = model.fit(X, y, sample_weight=weights)
    decision, error = weighted.decision_function(X), weighted.trace_error_
    repeated = model.fit(X[copies], y[copies])
    np.testing.assert_allclose(decision, repeated.decision_function(X), atol=1e-4)
    # of the copies, only a sample is looked at
    assert error == pytest.approx(repeated.trace_error_, abs=0.05)


@ways
def test_forms_of_rows_make_no_difference(indefinite, tmp_path):
    def decision(rows, **parameters):
        model = UniSVMClassifier(
            "least_squares", C=5.0, rank=60, indefinite=indefinite, **{**SIGMOID, "gamma": 0.5}, **parameters
        )
        return model.fit(rows, y).decision_function(rows)

    expected = decision(X)
    np.testing.assert_allclose(decision(sparse.csr_array(X)), expected, atol=1e-6)
    np.testing.assert_allclose(decision(X, memory_limit="5MB", scratch_dir=tmp_path), expected, atol=1e-6)
    np.testing.assert_allclose(decision(X, n_jobs=2), expected, atol=1e-6)
    assert np.mean(np.sign(decision(X.astype(np.float32))) == np.sign(expected)) > 0.97


def test_features_in_a_scratch_file(tmp_path):
    rows = np.random.RandomState(1).randn(5000, 4)
    labels = np.sign(rows[:, 0] * rows[:, 1])
    model = UniSVMClassifier(C=1.0, rank=100, **SIGMOID)
    expected = model.fit(rows, labels).decision_function(rows)
    model.set_params(memory_limit="4MB", scratch_dir=tmp_path).fit(rows, labels)
    np.testing.assert_allclose(model.decision_function(rows), expected, atol=1e-3)


def test_a_finished_checkpoint_tells_what_the_fit_told(tmp_path):
    negative = -np.abs(X[:, None] - X[None]).sum(axis=2)
    model = UniSVMClassifier("least_squares", C=1.0, kernel="precomputed", checkpoint=tmp_path, random_state=0)
    for _ in range(2):
        with pytest.warns(FitWarning, match="looks like a distance"):
            model.fit(negative, y)
    assert model.signature_ == (299, 1)


def test_warm_start_goes_on_from_the_function():
    model = UniSVMClassifier("hinge", C=5.0, rank=None, warm_start=True, **SIGMOID)
    cold = model.fit(X, y).n_iter_
    assert model.fit(X, y).n_iter_ < cold


# ------------------------------------------------------------------ searches


def test_searches_honour_or_refuse():
    grid = {"losses": ["least_squares"], "Cs": [0.1, 10.0], "gammas": [0.5], "cv": 3, "search": "full"}
    kernel = {"kernel": "sigmoid", "coef0": -0.5, "random_state": 0}
    searches = {way: UniSVMClassifierCV(indefinite=way, **grid, **kernel).fit(X, y) for way in ("flip", "clip")}
    assert searches["flip"].best_estimator_.signature_[1] > 0
    assert searches["clip"].best_estimator_.signature_[1] == 0
    for way, message in (("raise", "not positive semidefinite"), ("krein", "for the estimators of one C")):
        with pytest.raises(ValueError, match=message):
            UniSVMClassifierCV(indefinite=way, **grid, **kernel).fit(X, y)
    with pytest.raises(ValueError, match="for the estimators of one C"):
        UniSVMRegressorCV(indefinite="krein").fit(X, X[:, 0])
    with pytest.raises(ValueError, match="for the estimators of one C"):
        unisvm.path(X, y, indefinite="krein")


@pytest.mark.parametrize("fit_intercept", [True, "penalised"])
def test_a_path_has_the_fits_of_each_C(fit_intercept):
    parameters = {"rank": None, "fit_intercept": fit_intercept, "tol": 1e-8, **SIGMOID}
    gamma = parameters.pop("gamma")
    path = unisvm.path(X, y, losses=["squared_hinge"], Cs=[0.1, 1.0], gamma=gamma, **parameters)
    for C, model in zip(path.Cs, path.estimators[0], strict=True):
        single = UniSVMClassifier("squared_hinge", C=C, gamma=gamma, **parameters).fit(X, y)
        assert model.signature_ == single.signature_
        np.testing.assert_allclose(model.decision_function(X), single.decision_function(X), atol=1e-2)


def test_krein_fits_several_classes_against_the_rest():
    """In pairs, the rows of two classes may not hold what those of all do."""
    classes = np.digitize(X[:, 0], [-0.5, 0.5])
    model = UniSVMClassifier("least_squares", C=1.0, indefinite="krein", **SIGMOID).fit(X, classes)
    assert len(model.dual_coef_) == 3
    for label, column in enumerate(model.decision_function(X).T):
        one = UniSVMClassifier("least_squares", C=1.0, indefinite="krein", **SIGMOID).fit(X, classes == label)
        np.testing.assert_allclose(column, one.decision_function(X), atol=0.05)
    # where the kernel is positive semidefinite, the six pairs of four classes remain
    assert (
        len(UniSVMClassifier(C=1.0, indefinite="krein", rank=20).fit(X, np.digitize(X[:, 0], [-1, 0, 1])).dual_coef_)
        == 6
    )
