"""The linear kernel is exact: the columns of X are its features, without landmarks and without a rank."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from unisvm import FitWarning, UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor
from unisvm.kernels import Linear

RNG = np.random.RandomState(0)
#: four columns of scale 1 and one of scale 1000, with more rows than the default rank
UNEVEN = np.c_[RNG.randn(3000, 4), 1000 * RNG.rand(3000)]


def documents(n_rows, n_columns, n_classes, n_words=40):
    """Sparse rows of unit length, of which each class has words of its own, and their classes."""
    classes = RNG.randint(n_classes, size=n_rows)
    own = RNG.randint(200, size=(n_rows, n_words)) + 200 * classes[:, None]
    words = np.where(RNG.rand(n_rows, n_words) < 0.15, own, RNG.randint(n_columns, size=(n_rows, n_words)))
    entries = np.full(words.size, n_words**-0.5), words.ravel(), np.arange(n_rows + 1) * n_words
    rows = sparse.csr_matrix(entries, shape=(n_rows, n_columns))
    rows.sum_duplicates()
    return rows, classes


WIDE, TOPICS = documents(1500, 6000, 4)


@pytest.mark.parametrize("n_rows", [900, 3000])
def test_small_columns_beside_a_large_one_count(n_rows):
    X = UNEVEN[:n_rows]
    model = UniSVMRegressor("least_squares", kernel="linear", C=10).fit(X, X[:, 0])
    expected = Ridge(alpha=1 / 20, tol=1e-12).fit(X, X[:, 0])
    assert model.score(X, X[:, 0]) > 1 - 1e-8
    np.testing.assert_allclose(model.coef_, expected.coef_[None], rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-5)


def test_an_offset_in_single_precision():
    X = np.c_[RNG.randn(500, 4), 2000 + RNG.randn(500)]
    y = X[:, 0] + X[:, 4] - 2000 > 0
    double, single = (
        UniSVMClassifier("hinge", kernel="linear", C=1.0).fit(rows, y).score(rows, y) for rows in (X, X.astype("f4"))
    )
    assert double > 0.98
    assert single == pytest.approx(double, abs=0.005)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_functions_are_those_of_a_full_rank_kernel(kind, dtype, fit_intercept):
    X = RNG.randn(300, 6) + 1
    y = np.where(X[:, 0] + X[:, 1] ** 2 > 2, "yes", "no")
    tol, tolerance = {np.float32: (1e-7, 2e-3), np.float64: (1e-10, 1e-6)}[dtype]
    options = {"C": 0.5, "tol": tol, "fit_intercept": fit_intercept}
    by_columns = UniSVMClassifier("logistic", kernel="linear", **options).fit(kind(X.astype(dtype)), y)
    by_landmarks = UniSVMClassifier("logistic", kernel="linear", landmarks=np.eye(6), **options).fit(X, y)
    wanted = by_landmarks.decision_function(X)
    np.testing.assert_allclose(by_columns.decision_function(kind(X.astype(dtype))), wanted, atol=tolerance)
    assert by_columns.objective_ == pytest.approx(by_landmarks.objective_, rel=1e-5)
    assert by_columns.landmarks_ is None
    assert by_columns.rank_ == 6
    assert by_columns.trace_error_ == 0
    np.testing.assert_allclose(X @ by_columns.coef_.T + by_columns.intercept_, wanted[:, None], atol=tolerance)
    with pytest.raises(AttributeError, match="coef_ is only there"):
        _ = by_landmarks.coef_


def test_hinge_is_that_of_svc():
    X = StandardScaler().fit_transform(UNEVEN)[:400]
    y = np.sign(X[:, 0] + 0.5 * X[:, 4] + 0.3 * RNG.randn(400))
    ours = UniSVMClassifier("hinge", kernel="linear", C=1.0, tol=1e-8, max_iter=20_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, SVC(C=1.0, kernel="linear", tol=1e-8).fit(X, y).coef_, atol=5e-2)


def test_wide_sparse_rows_are_as_well_classified_as_by_linear_svc():
    train, test = slice(0, 1000), slice(1000, None)
    theirs = LinearSVC().fit(WIDE[train], TOPICS[train]).score(WIDE[test], TOPICS[test])
    for parameters in ({}, {"C": 1.0}, {"loss": "squared_hinge", "C": 1.0}):
        ours = UniSVMClassifier(kernel="linear", **parameters).fit(WIDE[train], TOPICS[train])
        assert ours.coef_.shape == (4, 6000)
        assert ours.score(WIDE[test], TOPICS[test]) > theirs - 0.01
    assert theirs > 0.8


def test_wide_rows_with_wrong_labels_have_a_lower_C():
    rng = np.random.RandomState(0)
    y = np.where(rng.rand(1000) < 0.4, rng.randint(4, size=1000), TOPICS[:1000])
    clean, dirty = (UniSVMClassifier(kernel="linear").fit(WIDE[:1000], labels) for labels in (TOPICS[:1000], y))
    assert dirty.C_ < 0.5 * clean.C_
    assert clean.C_scores_["error"].shape == clean.C_scores_["C"].shape
    theirs = LinearSVC().fit(WIDE[:1000], y).score(WIDE[1000:], TOPICS[1000:])
    assert dirty.score(WIDE[1000:], TOPICS[1000:]) > theirs + 0.05


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_wide_rows_solve_least_squares(kind):
    X = WIDE[:300].toarray() if kind == "dense" else WIDE[:300]
    y = RNG.randn(300)
    model = UniSVMRegressor("least_squares", kernel=Linear(), C=5.0, tol=1e-10).fit(X, y)
    expected = Ridge(alpha=0.1, solver="lsqr", tol=1e-10).fit(WIDE[:300], y)
    np.testing.assert_allclose(model.predict(X), expected.predict(WIDE[:300]), atol=1e-3)
    train, test = (WIDE[:1000], WIDE[1000:]) if kind == "sparse" else (WIDE[:1000].toarray(), WIDE[1000:].toarray())
    chosen = UniSVMRegressor(kernel="linear", random_state=0).fit(train, TOPICS[:1000] > 1)
    assert chosen.score(test, TOPICS[1000:] > 1) > 0.3


def test_wide_rows_need_no_memory_for_matrices_of_columns():
    # moments of 6,000 columns would take 288 MB
    model = UniSVMClassifier(kernel="linear", memory_limit="60MB").fit(WIDE, TOPICS)
    assert model.score(WIDE, TOPICS) > 0.9
    with pytest.raises(MemoryError, match="Leave out columns"):
        UniSVMClassifier(kernel="linear", memory_limit="1MB").fit(WIDE, TOPICS)


def test_many_columns_are_fitted_each_class_against_the_rest():
    assert UniSVMClassifier(kernel="linear", C=1.0).fit(WIDE, TOPICS).coef_.shape == (4, 6000)
    assert UniSVMClassifier(kernel="linear", C=1.0, multi_class="ovo").fit(WIDE, TOPICS).coef_.shape == (6, 6000)
    assert UniSVMClassifier(kernel="linear", C=1.0).fit(WIDE[:, :100], TOPICS).coef_.shape == (6, 100)


def test_dca_has_the_same_solution_on_wide_rows():
    X, y = WIDE[:400], TOPICS[:400] > 1
    models = [
        UniSVMClassifier("logistic", kernel="linear", C=1.0, tol=1e-8, solver=solver, max_iter=5000).fit(X, y)
        for solver in ("lbfgs", "dca")
    ]
    np.testing.assert_allclose(*(model.decision_function(X) for model in models), atol=1e-3)


def test_a_search_over_a_linear_kernel():
    search = UniSVMClassifierCV(kernel="linear", random_state=0).fit(WIDE[:600], TOPICS[:600])
    assert search.best_estimator_.coef_.shape == (4, 6000)
    assert search.score(WIDE[600:], TOPICS[600:]) > 0.75
    both = UniSVMClassifierCV(kernel=["linear", "rbf"], random_state=0).fit(UNEVEN[:300, :4], UNEVEN[:300, 0] > 0)
    assert both.score(UNEVEN[300:, :4], UNEVEN[300:, 0] > 0) > 0.95


def test_a_warm_start_takes_up_the_coefficients():
    X, y = UNEVEN[:, :4], UNEVEN[:, 0] > 0.3
    model = UniSVMClassifier("logistic", kernel="linear", C=1.0, tol=1e-8, warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first


def test_rows_that_are_all_zero_have_a_constant_function():
    model = UniSVMClassifier(kernel="linear").fit(np.zeros((60, 3)), np.repeat([0, 1], [20, 40]))
    np.testing.assert_array_equal(model.coef_, np.zeros((1, 3)))
    assert (model.predict(np.zeros((5, 3))) == 1).all()


def test_C_from_the_data_is_right_whatever_the_largest_column():
    X = np.c_[UNEVEN[:, :4], 100 * UNEVEN[:, 4]]
    with pytest.warns(FitWarning, match="The scales of the columns of X differ"):
        model = UniSVMRegressor("least_squares", kernel="linear").fit(X, X[:, 0])
    assert model.score(X, X[:, 0]) > 0.999
    quadratic = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}
    assert UniSVMRegressor("least_squares", **quadratic).fit(UNEVEN, UNEVEN[:, 0]).score(UNEVEN, UNEVEN[:, 0]) > 0.999
