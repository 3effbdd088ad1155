"""Rules that all comparators share with scikit-learn's estimators and with ours."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from unisvm import baselines

ALL = [getattr(baselines, name)() for name in baselines.__all__]
CLASSIFIERS = [model for model in ALL if is_classifier(model)]
REGRESSORS = [model for model in ALL if not is_classifier(model)]
each = pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
each_classifier = pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
each_regressor = pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
X, y = make_moons(80, noise=0.25, random_state=0)
REAL = X[:, 1] - 0.7 * X[:, 0] + 0.3 * np.sin(3 * X[:, 0])


def targets(model):
    return y if is_classifier(model) else REAL


def function(fitted, rows):
    """f(x) for rows."""
    return fitted.decision_function(rows) if is_classifier(fitted) else fitted.predict(rows)


@parametrize_with_checks(ALL)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@each
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "poly", "precomputed", "callable"])
def test_every_kernel(model, kernel):
    y = targets(model)
    if kernel == "callable":
        chosen = lambda A, B: np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))  # noqa: E731
        model = clone(model).set_params(kernel=chosen)
        reference = clone(model).set_params(kernel="rbf", gamma=0.5)
        expected = function(reference.fit(X, y), X)
    elif kernel == "precomputed":
        K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
        expected = function(clone(model).set_params(kernel="rbf", gamma=0.5).fit(X, y), X)
        found = function(clone(model).set_params(kernel="precomputed").fit(K, y), K)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        return
    else:
        model = clone(model).set_params(kernel=kernel, coef0=1.0)
        expected = function(clone(model).fit(sparse.csr_matrix(X), y), sparse.csr_matrix(X))
    fitted = clone(model).fit(X, y)
    np.testing.assert_allclose(function(fitted, X), expected, rtol=1e-5, atol=1e-6)
    assert fitted.score(X, y) > 0.75


@each_classifier
def test_labels_and_frames(model):
    frame = pd.DataFrame(X, columns=["across", "up"])
    names = np.where(y == 1, "upper", "lower")
    fitted = clone(model).fit(frame, names)
    assert fitted.classes_.tolist() == ["lower", "upper"]
    assert set(fitted.predict(frame)) == {"lower", "upper"}
    numbers = clone(model).fit(X, y).predict(X)
    np.testing.assert_array_equal(fitted.predict(frame) == "upper", numbers == 1)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["up", "across"]])


@each_regressor
def test_targets_and_frames(model):
    frame = pd.DataFrame(X, columns=["across", "up"])
    fitted = clone(model).fit(frame, pd.Series(REAL))
    np.testing.assert_array_equal(fitted.predict(frame), clone(model).fit(X, REAL).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame[["up", "across"]])
    whole = clone(model).fit(X, np.rint(10 * REAL).astype(int)).predict(X)
    np.testing.assert_array_equal(whole, clone(model).fit(X, np.rint(10 * REAL)).predict(X))


@each_regressor
def test_several_targets_one_at_a_time(model):
    both = np.stack([REAL, X[:, 0]], axis=1)
    with pytest.raises(ValueError, match="1d array"):
        clone(model).fit(X, both)
    fitted = MultiOutputRegressor(clone(model)).fit(X, both)
    np.testing.assert_array_equal(fitted.predict(X)[:, 0], clone(model).fit(X, REAL).predict(X))


@each_classifier
def test_several_classes_one_against_the_rest(model):
    labels = (X[:, 0] > 0).astype(int) + (X[:, 0] > 1)
    with pytest.raises(ValueError, match="OneVsRestClassifier"):
        clone(model).fit(X, labels)
    assert OneVsRestClassifier(clone(model)).fit(X, labels).score(X, labels) > 0.85


OUT_OF_RANGE = [
    ("C", 0.0),
    ("C", np.nan),
    ("a", -1.0),
    ("gamma", 0.0),
    ("kernel", "rfb"),
    ("max_iter", 0),
    ("tol", 0.0),
    ("epsilon", -0.1),
    ("epsilon", np.inf),
]
OUT_OF_RANGE += [("rank", 0), ("rank", None), ("rank_tol", 2.0)]


@pytest.mark.parametrize(
    ("model", "parameter", "value"),
    [(model, name, value) for model in ALL for name, value in OUT_OF_RANGE if name in model.get_params()],
    ids=str,
)
def test_parameters_out_of_range(model, parameter, value):
    with pytest.raises(ValueError, match=parameter):
        clone(model).set_params(**{parameter: value}).fit(X, targets(model))


@each_classifier
def test_one_class(model):
    model = clone(model)
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.ones(80))
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, y, sample_weight=(y == 1).astype(float))
    assert not hasattr(model, "dual_coef_")


@each
def test_bad_rows_and_weights(model):
    model, y = clone(model), targets(model)
    with pytest.raises(ValueError, match="Negative"):
        model.fit(X, y, sample_weight=np.where(X[:, 0] > 0, 1.0, -1.0))
    with pytest.raises(ValueError, match="All sample weights are zero"):
        model.fit(X, y, sample_weight=np.zeros(80))
    with pytest.raises(ValueError, match="square"):
        model.set_params(kernel="precomputed").fit(X, y)
    assert not hasattr(model, "dual_coef_")


FULL = [model for model in ALL if "rank" not in model.get_params()]


@pytest.mark.parametrize("model", FULL, ids=lambda model: type(model).__name__)
def test_indefinite_kernel_is_refused(model):
    # a matrix with negative eigenvalues, of which nothing is left out here
    with pytest.raises(ValueError, match="not positive semidefinite"):
        clone(model).set_params(kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(X, targets(model))


@each
def test_weights_are_repetitions(model):
    y, counts = targets(model), np.random.RandomState(0).randint(0, 4, size=80)
    model = clone(model).set_params(C=5.0)
    weighted = clone(model).fit(X, y, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(function(weighted, X), function(repeated, X), atol=2e-5)


@each
def test_optional_solver_is_not_needed(monkeypatch, model):
    monkeypatch.setitem(sys.modules, "piqp", None)
    assert clone(model).fit(X, targets(model)).score(X, targets(model)) > 0.7


STEPWISE = [model for model in ALL if "max_iter" in model.get_params()]


@pytest.mark.parametrize("model", STEPWISE, ids=lambda model: type(model).__name__)
def test_too_few_steps_warn(model):
    model = clone(model).set_params(a=0.02, C=100.0, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter") as caught:
        model.fit(X, targets(model))
    assert caught[0].filename == __file__
    assert model.n_iter_ == 1


def test_kernel_matrix_that_does_not_fit_is_refused_first():
    rows = np.zeros((500_000, 1))
    rows[:, 0] = np.arange(500_000)
    with pytest.raises(MemoryError, match="UniSVMClassifier"):
        baselines.LSSVM().fit(rows, np.arange(500_000) % 2)
