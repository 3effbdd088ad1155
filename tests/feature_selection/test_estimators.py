"""The sparse machines from outside: what they select, and that inputs of every form give the same model."""

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from selection_cases import rows_with_support
from unisvm import FitWarning, UniSVMClassifier, losses
from unisvm.feature_selection import SparseUniSVMClassifier, SparseUniSVMRegressor

SUPPORT = (3, 7, 11)
X, y = rows_with_support()
WAVE = 30 * X[:, 3] - 20 * X[:, 7] + 10 * X[:, 11] + 5
WAVE[::10] += 1000
QUICK = {"width": 0.01, "alpha": 0.02}
MODELS = [SparseUniSVMClassifier(random_state=0), SparseUniSVMRegressor(random_state=0)]
BOTH = pytest.mark.parametrize(("model", "target"), list(zip(MODELS, [y, WAVE], strict=True)), ids=["classes", "reals"])


def decide(model, rows):
    return model.decision_function(rows) if isinstance(model, SparseUniSVMClassifier) else model.predict(rows)


# ------------------------------------------------------------------ what is selected


@BOTH
@pytest.mark.parametrize("penalty", ["exponential", "truncated"])
def test_recovery_with_wrong_targets(model, target, penalty):
    model = clone(model).set_params(penalty=penalty).fit(X, target)
    assert tuple(model.get_support(indices=True)) == SUPPORT
    np.testing.assert_array_equal(model.get_support(), model.support_)
    others = np.setdiff1d(np.arange(30), SUPPORT)
    assert not model.coef_[:, others].any()
    assert model.coef_[:, SUPPORT].all()
    np.testing.assert_allclose(decide(model, X), X @ model.coef_[0] + model.intercept_[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", ["feng", "saturating", "truncated_squared_hinge", losses.SquaredHinge()])
@pytest.mark.parametrize("share", [0.5, 0.12])
def test_recovery_of_rare_classes(loss, share):
    rows = np.random.RandomState(1).randn(600, 20)
    f = rows[:, 2] + rows[:, 5] - rows[:, 9]
    model = SparseUniSVMClassifier(loss, rule="one_standard_error", random_state=0)
    model.fit(rows, f > np.quantile(f, 1 - share))
    assert set(model.get_support(indices=True)) == {2, 5, 9}
    assert model.score(rows, f > np.quantile(f, 1 - share)) > 0.97


def test_regressor_keeps_the_size_of_coefficients():
    model = SparseUniSVMRegressor(random_state=0).fit(X, WAVE)
    np.testing.assert_allclose(model.coef_[0, SUPPORT], [30, -20, 10], rtol=0.02)
    assert model.intercept_[0] == pytest.approx(5, abs=0.5)


def test_regressor_is_equivariant():
    model = SparseUniSVMRegressor(random_state=0).fit(X, WAVE)
    other = SparseUniSVMRegressor(random_state=0).fit(X, -4 * WAVE + 1000)
    np.testing.assert_allclose(other.predict(X), -4 * model.predict(X) + 1000, rtol=1e-4)


def test_several_classes_share_a_support():
    rows = np.random.RandomState(2).randn(500, 15)
    labels = np.array(["a", "b", "c"])[np.stack([rows[:, 1], rows[:, 4], rows[:, 8]], axis=1).argmax(axis=1)]
    model = SparseUniSVMClassifier(rule="one_standard_error", random_state=0).fit(rows, labels)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.coef_.shape == (3, 15)
    assert model.get_support(indices=True).tolist() == [1, 4, 8]
    assert (model.coef_[:, [1, 4, 8]] != 0).all()
    decision = model.decision_function(rows)
    assert decision.shape == (500, 3)
    np.testing.assert_array_equal(model.predict(rows), model.classes_[decision.argmax(axis=1)])
    assert model.score(rows, labels) > 0.9
    assert np.shape(model.objective_) == np.shape(model.stationarity_) == (3,)


def test_path():
    model = SparseUniSVMClassifier(n_alphas=6, cv=4, random_state=0).fit(X, y)
    path, n = model.path_, 4 * 6
    shapes = {"width": (n,), "alpha": (n,), "support": (n, 30), "coef": (n, 1, 30), "intercept": (n, 1)}
    shapes |= {"objective": (n, 1), "held_out_loss": (n, 4)}
    assert {name: getattr(path, name).shape for name in path._fields} == shapes
    assert np.unique(path.width).tolist() == [0.001, 0.003, 0.01, 0.03]
    assert (np.diff(path.alpha.reshape(4, 6), axis=1) < 0).all()
    assert not path.coef[:, 0][~path.support].any()
    chosen = path.held_out_loss.mean(axis=1).argmin()
    assert (model.width_, model.alpha_) == (path.width[chosen], path.alpha[chosen])
    np.testing.assert_array_equal(model.coef_, path.coef[chosen])
    np.testing.assert_array_equal(model.support_, path.support[chosen])


def test_fewest_columns_as_good():
    best = SparseUniSVMClassifier(random_state=0).fit(X, y)
    fewest = SparseUniSVMClassifier(random_state=0, rule="one_standard_error").fit(X, y)
    assert fewest.support_.sum() <= best.support_.sum()
    loss = best.path_.held_out_loss.mean(axis=1)
    chosen = (fewest.path_.alpha == fewest.alpha_) & (fewest.path_.width == fewest.width_)
    assert loss[chosen][0] >= loss.min()


def test_given_strengths():
    alphas = [0.01, 0.3, 0.02]
    model = SparseUniSVMClassifier(width=0.01, alphas=alphas, random_state=0).fit(X, y)
    assert model.path_.alpha.tolist() == [0.3, 0.02, 0.01]
    assert model.alpha_ in alphas


def test_numbers_for_both_need_no_splits():
    model = SparseUniSVMClassifier(width=0.01, alpha=0.05).fit(X, y)
    assert model.path_.held_out_loss.shape == (1, 0)
    assert (model.width_, model.alpha_) == (0.01, 0.05)
    assert tuple(model.get_support(indices=True)) == SUPPORT
    # one width of several is still chosen
    assert SparseUniSVMClassifier(alpha=0.05).fit(X, y).path_.held_out_loss.shape == (4, 5)


def test_the_model_is_that_of_its_columns():
    model = SparseUniSVMClassifier(tol=1e-10, max_iter=5000, **QUICK).fit(X, y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    plain = UniSVMClassifier(kernel="linear", C=1.0, tol=1e-10).fit(Z[:, SUPPORT], y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    np.testing.assert_allclose(decide(model, X), plain.decision_function(Z[:, SUPPORT]), atol=1e-3)
    assert model.stationarity_ <= 1e-10
    assert model.n_iter_ > 1


def test_without_intercept():
    model = SparseUniSVMClassifier(fit_intercept=False, **QUICK).fit(X + 1, y)
    assert model.intercept_.tolist() == [0.0]
    assert model.support_[list(SUPPORT)].all()


def test_random_state_shuffles_the_splits():
    first, again, other = (
        SparseUniSVMClassifier(width=0.01, n_alphas=5, random_state=seed).fit(X, y).path_.held_out_loss
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-6


# ------------------------------------------------------------------ forms of the input


@BOTH
def test_weights_are_repetitions(model, target):
    counts = np.random.RandomState(0).randint(0, 3, size=len(X))
    places = np.repeat(np.arange(len(X)), counts)
    splits = list(KFold(3).split(X))
    repeated_splits = [tuple(np.flatnonzero(np.isin(places, rows)) for rows in split) for split in splits]
    options = {"width": 0.01, "n_alphas": 8}
    weighted = clone(model).set_params(cv=splits, **options).fit(X, target, counts)
    repeated = clone(model).set_params(cv=repeated_splits, **options).fit(X[places], target[places])
    assert weighted.alpha_ == pytest.approx(repeated.alpha_)
    np.testing.assert_array_equal(weighted.support_, repeated.support_)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    np.testing.assert_allclose(weighted.path_.held_out_loss, repeated.path_.held_out_loss, rtol=1e-9)
    unweighted = clone(model).set_params(cv=splits, **options).fit(X, target)
    assert np.abs(unweighted.path_.held_out_loss - weighted.path_.held_out_loss).max() > 1e-3


@BOTH
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_sparse_rows(model, target, kind):
    rows = np.where(np.abs(X) > 0.5, X, 0)
    options = {"tol": 1e-7, "width": 0.01, "n_alphas": 8}
    dense = clone(model).set_params(**options).fit(rows, target)
    thin = clone(model).set_params(**options).fit(kind(rows), target)
    np.testing.assert_array_equal(dense.support_, thin.support_)
    np.testing.assert_allclose(dense.coef_, thin.coef_, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(decide(dense, kind(rows)), decide(dense, rows), rtol=1e-9, atol=1e-9)
    assert thin.transform(kind(rows)).shape == (300, dense.support_.sum())


@BOTH
def test_scales_of_columns_do_not_matter(model, target):
    scale, origin = np.geomspace(1e-4, 1e4, 30), np.linspace(-50, 50, 30)
    plain = clone(model).fit(X, target)
    scaled = clone(model).fit(X * scale + origin * scale, target)
    np.testing.assert_array_equal(plain.support_, scaled.support_)
    np.testing.assert_allclose(scaled.coef_ * scale, plain.coef_, rtol=1e-2, atol=1e-3)


@BOTH
def test_single_precision(model, target):
    single = clone(model).fit(X.astype(np.float32), target)
    assert single.coef_.dtype == np.float32
    assert tuple(single.get_support(indices=True)) == SUPPORT


def test_constant_columns_are_not_selected():
    rows = np.column_stack([X, np.full(300, 3.7), np.zeros(300)])
    for kind in (np.asarray, sparse.csr_array):
        model = SparseUniSVMClassifier(random_state=0).fit(kind(rows), y)
        assert not model.support_[30:].any()
        assert tuple(model.get_support(indices=True)) == SUPPORT


def test_memory_maps(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    model, expected = (SparseUniSVMClassifier(**QUICK).fit(rows, y) for rows in (mapped, X))
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-4)
    np.testing.assert_array_equal(model.predict(mapped), expected.predict(X))


def test_many_columns():
    # so many have no matrix of their moments
    rows, labels = rows_with_support(300, 2100, wrong=0.0)
    model = SparseUniSVMClassifier(width=0.01, alpha=0.02, n_alphas=4).fit(sparse.csr_array(rows), labels)
    assert model.support_[list(SUPPORT)].all()
    assert model.support_.sum() < 30


# ------------------------------------------------------------------ scikit-learn


def test_names_of_columns():
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(30)])
    model = SparseUniSVMClassifier(**QUICK).fit(frame, y)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.get_feature_names_out().tolist() == ["column 3", "column 7", "column 11"]
    selected = model.set_output(transform="pandas").transform(frame)
    pd.testing.assert_frame_equal(selected, frame.iloc[:, list(SUPPORT)])


def test_selector():
    model = SparseUniSVMClassifier(**QUICK).fit(X, y)
    assert isinstance(model, SelectorMixin)
    selected = model.transform(X)
    np.testing.assert_array_equal(selected, X[:, SUPPORT])
    back = model.inverse_transform(selected)
    np.testing.assert_array_equal(back[:, SUPPORT], selected)
    assert not np.delete(back, SUPPORT, axis=1).any()
    np.testing.assert_array_equal(SparseUniSVMClassifier(**QUICK).fit_transform(X, y), selected)


def test_pipeline():
    pipeline = make_pipeline(SparseUniSVMClassifier(**QUICK), LogisticRegression()).fit(X, y)
    assert pipeline[-1].coef_.shape == (1, 3)
    assert pipeline.score(X, y) > 0.85


def test_grid_search():
    grid = {"loss": ["feng", losses.SquaredHinge()], "penalty": ["exponential", "truncated"]}
    search = GridSearchCV(SparseUniSVMClassifier(width=0.01, alpha=0.05), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    assert len(search.cv_results_["params"]) == 4


@BOTH
def test_pickling(model, target):
    model = clone(model).set_params(**QUICK).fit(X, target)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(decide(again, X), decide(model, X))
    np.testing.assert_array_equal(again.path_.support, model.path_.support)


@pytest.mark.parametrize("cls", [SparseUniSVMClassifier, SparseUniSVMRegressor])
def test_constructor_stores_parameters_and_does_nothing_else(cls):
    parameters = inspect.signature(cls).parameters
    kinds = [parameter.kind for parameter in parameters.values()]
    assert next(iter(parameters)) == "loss"
    assert set(kinds[1:]) == {inspect.Parameter.KEYWORD_ONLY}
    given = {name: object() for name in parameters}
    assert vars(cls(**given)) == given


@BOTH
def test_fit_keeps_parameters_and_arguments(model, target):
    model = clone(model).set_params(alphas=np.array([0.01, 0.02]), width=0.01)
    before = model.get_params(deep=False)
    rows, weights = X.copy(), np.ones(300)
    assert model.fit(rows, target, weights) is model
    assert all(value is before[name] for name, value in model.get_params(deep=False).items())
    np.testing.assert_array_equal(rows, X)
    assert model.alphas.tolist() == [0.01, 0.02]


# ------------------------------------------------------------------ warnings


def test_nothing_selected():
    with pytest.warns(FitWarning, match="No column is selected"):
        model = SparseUniSVMClassifier(width=0.01, alpha=100.0).fit(X, y)
    assert not model.support_.any()
    assert not model.coef_.any()
    assert len(np.unique(model.predict(X))) == 1


def test_lowest_strength_is_the_best():
    with pytest.warns(FitWarning, match="lowest alpha"):
        SparseUniSVMClassifier(width=0.001, alphas=[1.0, 0.5, 0.01], random_state=0).fit(X, X[:, :10].sum(axis=1) > 0)


def test_good_fits_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SparseUniSVMClassifier(random_state=0).fit(X, y)


def test_unfinished_fits():
    with pytest.warns(UserWarning, match=r"fits of the path stopped after max_iter=2"):
        SparseUniSVMClassifier(max_iter=2, **QUICK).fit(X, y)
