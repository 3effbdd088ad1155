"""Columns that are scaled inside a fit: the model of a scaler and an estimator in a pipeline, wherever the rows are."""

import pickle

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_diabetes, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, UniSVMRegressorCV, kernels

KERNELS = ("rbf", "laplacian", "linear", "poly", "sigmoid")
DENSE = {"standard": StandardScaler(), "minmax": MinMaxScaler()}
SPARSE = {"standard": StandardScaler(with_mean=False), "minmax": MaxAbsScaler()}
INTERCEPTS = (True, False, "penalised")
# every row is a landmark, and the convex loss is solved to the end: only rounding error is left
EXACT = {"loss": "squared_hinge", "C": 1.0, "tol": 1e-10, "rank_tol": 0.0, "random_state": 0}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X, y


def sparse_wine(X):
    return sparse.csr_array(np.where(np.median(X, axis=0) < X, X, 0))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scale", DENSE)
@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
def test_the_model_is_that_of_a_pipeline(wine, kernel, scale, fit_intercept):
    X, y = wine
    parameters = EXACT | {"kernel": kernel, "fit_intercept": fit_intercept}
    inside = UniSVMClassifier(scale=scale, **parameters).fit(X, y)
    outside = make_pipeline(clone(DENSE[scale]), UniSVMClassifier(**parameters)).fit(X, y)
    expected = outside.decision_function(X)
    np.testing.assert_allclose(inside.decision_function(X), expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "poly"])
@pytest.mark.parametrize("scale", SPARSE)
@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
def test_zeros_of_sparse_rows_stay_zeros(wine, kernel, scale, fit_intercept):
    X, y = sparse_wine(wine[0]), wine[1]
    parameters = EXACT | {"kernel": kernel, "fit_intercept": fit_intercept}
    inside = UniSVMClassifier(scale=scale, **parameters).fit(X, y)
    outside = make_pipeline(clone(SPARSE[scale]), UniSVMClassifier(**parameters)).fit(X, y)
    expected = outside.decision_function(X)
    np.testing.assert_allclose(inside.decision_function(X), expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
@pytest.mark.parametrize("fit_intercept", INTERCEPTS)
def test_a_linear_machine_of_very_many_columns_is_scaled(form, fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2500)) * np.geomspace(1, 1000, 2500) * (rng.uniform(size=(150, 2500)) < 0.2)
    y = X[:, :20].sum(axis=1) > 0
    scaler = DENSE["standard"] if form is np.array else SPARSE["standard"]
    parameters = EXACT | {"kernel": "linear", "fit_intercept": fit_intercept, "C": 1e-3}
    inside = UniSVMClassifier(scale="standard", **parameters).fit(form(X), y)
    outside = make_pipeline(clone(scaler), UniSVMClassifier(**parameters)).fit(form(X), y)
    np.testing.assert_allclose(inside.decision_function(form(X)), outside.decision_function(form(X)), atol=1e-4)


@pytest.mark.parametrize("form", [np.array, sparse.csr_array])
def test_C_is_chosen_on_scaled_columns(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2500)) * np.geomspace(1, 1000, 2500) * (rng.uniform(size=(300, 2500)) < 0.2)
    y = X[:, :40] @ np.ones(40) > 0
    scaler = DENSE["standard"] if form is np.array else SPARSE["standard"]
    inside = UniSVMClassifier(kernel="linear", scale="standard", random_state=0).fit(form(X), y)
    outside = UniSVMClassifier(kernel="linear", random_state=0).fit(clone(scaler).fit_transform(form(X)), y)
    # their centres are those of all rows and of a sample, which draws random numbers
    assert 0.2 < inside.C_ / outside.C_ < 5


def test_weights_count_as_copies(wine):
    X, y = wine
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = UniSVMClassifier(scale="standard", **EXACT).fit(X, y, weights)
    copied = UniSVMClassifier(scale="standard", **EXACT).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.kernel_.divisor, copied.kernel_.divisor)
    np.testing.assert_allclose(weighted.decision_function(X), copied.decision_function(X), atol=1e-3)


def test_single_precision_keeps_the_digits_of_columns_far_from_0(wine):
    X, y = wine
    far = np.round(StandardScaler().fit_transform(X) * 64) + 2**20
    near = UniSVMClassifier(scale="standard", **(EXACT | {"tol": 1e-5})).fit((far - 2**20).astype(np.float32), y)
    shifted = UniSVMClassifier(scale="standard", **(EXACT | {"tol": 1e-5})).fit(far.astype(np.float32), y)
    expected = near.decision_function((far - 2**20).astype(np.float32))
    np.testing.assert_allclose(shifted.decision_function(far.astype(np.float32)), expected, atol=0.02)


def test_constant_columns_are_left_as_they_are(wine):
    X = np.column_stack([wine[0], np.full(len(wine[0]), 1e6 + 0.1)])
    model = UniSVMClassifier(scale="standard", random_state=0).fit(X, wine[1])
    assert model.kernel_.divisor[-1] == 1
    assert model.score(X, wine[1]) > 0.95


def test_landmarks_are_in_the_units_of_X(wine):
    X, y = wine
    model = UniSVMClassifier(scale="standard", random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.landmark_vectors_, X[model.landmarks_])
    of_mine = UniSVMClassifier(scale="standard", landmarks=X[::3], **EXACT).fit(X, y)
    outside = StandardScaler().fit(X)
    same = UniSVMClassifier(landmarks=outside.transform(X[::3]), **EXACT).fit(outside.transform(X), y)
    expected = same.decision_function(outside.transform(X))
    np.testing.assert_allclose(of_mine.decision_function(X), expected, atol=1e-3)


def test_coef_is_in_the_units_of_X():
    X, y = load_diabetes(return_X_y=True)
    X = X * np.arange(1, 11)
    model = UniSVMRegressor("least_squares", C=1e4, kernel="linear", scale="standard", tol=1e-12).fit(X, y)
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_[0], model.predict(X))


def test_a_warm_start_begins_where_the_last_fit_ended(wine):
    X, y = wine
    model = UniSVMClassifier(scale="standard", warm_start=True, **(EXACT | {"tol": 1e-4})).fit(X, y)
    n_iter = model.n_iter_
    assert model.fit(X, y).n_iter_ < n_iter


@pytest.mark.parametrize("kind", ["npy", "parquet", "svm"])
def test_rows_in_files_are_scaled_where_they_are(tmp_path, wine, kind):
    X, y = wine
    target: object = y
    if kind == "npy":
        np.save(tmp_path / "X.npy", X)
    elif kind == "parquet":
        pd = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        pd.DataFrame(X, columns=[f"c{i}" for i in range(13)]).assign(y=y).to_parquet(tmp_path / "X.parquet")
        target = "y"
    else:
        dump_svmlight_file(X, y, str(tmp_path / "X.svm"), zero_based=False)
    path = tmp_path / f"X.{kind}"
    of_file = UniSVMClassifier(scale="standard", **EXACT).fit(path, target)
    given = sparse.csr_array(X) if kind == "svm" else X
    expected = UniSVMClassifier(scale="standard", **EXACT).fit(given, y).decision_function(given)
    features = path
    if kind == "parquet":
        features = tmp_path / "X.parquet"
    np.testing.assert_allclose(of_file.decision_function(features), expected, rtol=1e-9)


@pytest.mark.usefixtures("threaded_dask")
@pytest.mark.parametrize("scale", DENSE)
def test_rows_on_dask_are_scaled_where_their_blocks_are(wine, scale):
    X, y = wine
    blocks = da.from_array(X, chunks=(50, 13))
    model = UniSVMClassifier(scale=scale, **EXACT).fit(blocks, da.from_array(y, chunks=50))
    expected = UniSVMClassifier(scale=scale, **EXACT).fit(X, y)
    np.testing.assert_allclose(model.kernel_.centre, expected.kernel_.centre)
    np.testing.assert_allclose(model.kernel_.divisor, expected.kernel_.divisor)
    np.testing.assert_allclose(
        model.decision_function(blocks).compute(), expected.decision_function(X), atol=2e-3, rtol=1e-3
    )


def test_a_search_scales_the_columns():
    X, y = load_diabetes(return_X_y=True)
    X = X * np.geomspace(1, 1e4, 10)
    grid = {"losses": "least_squares", "kernel": "rbf", "Cs": [0.1, 1.0], "gammas": [0.01, 0.1], "cv": 3}
    search = UniSVMRegressorCV(scale="standard", random_state=0, **grid).fit(X, y)
    outside = make_pipeline(StandardScaler(), UniSVMRegressorCV(random_state=0, **grid)).fit(X, y)
    assert search.best_params_ == outside[-1].best_params_
    np.testing.assert_allclose(search.predict(X), outside.predict(X), rtol=1e-4)


def test_the_range_of_gamma_in_a_search_is_that_of_scaled_columns(wine):
    X, y = wine
    search = UniSVMClassifierCV(scale="standard", losses="hinge", kernel="rbf", cv=3, random_state=0).fit(X, y)
    outside = make_pipeline(StandardScaler(), clone(search).set_params(scale=None)).fit(X, y)
    np.testing.assert_allclose(
        sorted(set(search.cv_results_["param_gamma"])), sorted(set(outside[-1].cv_results_["param_gamma"]))
    )


def test_a_checkpoint_resumes_with_the_same_scaling(tmp_path, wine):
    X, y = wine
    first = UniSVMClassifier(scale="standard", checkpoint=tmp_path / "fit", random_state=0).fit(X, y)
    again = UniSVMClassifier(scale="standard", checkpoint=tmp_path / "fit", random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), first.decision_function(X))
    with pytest.raises(ValueError, match="scale"):
        UniSVMClassifier(scale="minmax", checkpoint=tmp_path / "fit", random_state=0).fit(X, y)


def test_a_scaled_model_is_pickled_whole(wine):
    X, y = wine
    model = UniSVMClassifier(scale="standard", random_state=0).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_nobody_is_told_to_scale_what_is_scaled(wine):
    X = wine[0] * np.geomspace(1, 1e6, 13)
    with pytest.warns(UserWarning, match=r"Scale the columns|scale="):
        UniSVMClassifier(random_state=0).fit(X, wine[1])
    UniSVMClassifier(scale="standard", random_state=0).fit(X, wine[1])


@pytest.mark.parametrize("scale", ["robust", 1, True])
def test_an_unknown_scale_is_refused(wine, scale):
    with pytest.raises(ValueError, match="Unknown scale"):
        UniSVMClassifier(scale=scale).fit(*wine)


def test_a_kernel_matrix_is_not_scaled(wine):
    K = kernels.RBF(1e-4)(wine[0], wine[0])
    with pytest.raises(ValueError, match="precomputed kernel matrix"):
        UniSVMClassifier(kernel="precomputed", scale="standard").fit(K, wine[1])


@pytest.mark.parametrize("scale", DENSE)
def test_columns_of_any_size_count_for_as_much(wine, scale):
    X, y = wine
    expected = UniSVMClassifier(scale=scale, **EXACT).fit(X, y).decision_function(X)
    spread = np.ptp(X[:, 0])
    for factor, shift in ((1e-150, 0.0), (1e80, 0.0), (1.0, 1e9 * spread)):
        other = X.copy()
        other[:, 0] = other[:, 0] * factor + shift
        found = UniSVMClassifier(scale=scale, **EXACT).fit(other, y).decision_function(other)
        np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


def test_columns_that_vary_little_are_no_constants(wine):
    X = np.column_stack([wine[0], 1.7e18 + 1e3 * np.arange(len(wine[0]))])
    model = UniSVMClassifier(scale="standard", random_state=0).fit(X, wine[1])
    assert model.kernel_.divisor[-1] > 1e4
    assert model.score(X, wine[1]) > 0.95


def test_rows_that_are_all_the_same_are_told_of():
    with pytest.warns(UserWarning, match="All rows of X are the same"):
        UniSVMClassifier(scale="standard").fit(np.ones((50, 3)), np.arange(50) % 2)


def test_a_scaled_kernel_is_shown_without_its_numbers(wine):
    model = UniSVMClassifier(gamma=0.5, scale="standard", random_state=0).fit(*wine)
    assert repr(model.kernel_) == "Scaled(RBF(gamma=0.5), 13 columns)"


def test_sparse_rows_for_a_model_of_dense_ones_are_refused_with_advice(wine):
    model = UniSVMClassifier(scale="standard", random_state=0).fit(*wine)
    with pytest.raises(ValueError, match="Give dense rows"):
        model.predict(sparse.csr_array(wine[0]))
