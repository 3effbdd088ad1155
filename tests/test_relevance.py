"""Relevance of the columns: given, it is that of columns multiplied by hand; learned, it finds those that matter."""

import pickle

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline

import unisvm
from unisvm import UniSVMClassifier, UniSVMRegressor, kernels, relevance

KERNELS = ("rbf", "laplacian", "poly", "sigmoid", "linear")
FORMS = {"dense": np.asarray, "csr_array": sparse.csr_array}
# every row is a landmark, and the convex loss is solved to the end: only rounding error is left
EXACT = {"loss": "squared_hinge", "C": 1.0, "tol": 1e-10, "rank_tol": 0.0, "random_state": 0}
FACTORS = np.array([0.5, 2.0, 1.0, 0.1])
N_COLUMNS, N_ROWS = 20, 1500

rng = np.random.RandomState(0)
X = rng.randn(N_ROWS + 1000, N_COLUMNS)
SMOOTH = X[:, 3] * X[:, 7] + np.sin(2 * X[:, 11])
LABELS = (SMOOTH > 0).astype(int)
MATTER = [3, 7, 11]
TRAIN, TEST = slice(N_ROWS), slice(N_ROWS, None)

SMALL_X = rng.randn(100, 4) * (rng.uniform(size=(100, 4)) < 0.7)
SMALL_Y = (SMALL_X[:, 0] + SMALL_X[:, 1] * SMALL_X[:, 3] > 0).astype(int)


def learned(estimator=UniSVMClassifier, **parameters):
    return estimator(**({"relevance": "learned", "rank": 200, "random_state": 0} | parameters))


# ------------------------------------------------------------------ learned


@pytest.mark.parametrize("wrong", [0.0, 0.2])
def test_columns_that_matter_are_found(wrong):
    y = np.where(np.random.RandomState(1).uniform(size=N_ROWS) < wrong, 1 - LABELS[TRAIN], LABELS[TRAIN])
    model = learned().fit(X[TRAIN], y)
    assert set(np.argsort(model.relevances_)[-3:]) == set(MATTER)
    assert model.feature_importances_[MATTER].sum() > 0.95
    plain = clone(model).set_params(relevance=None).fit(X[TRAIN], y)
    assert model.score(X[TEST], LABELS[TEST]) > plain.score(X[TEST], LABELS[TEST]) + 0.1


@pytest.mark.parametrize("kernel", ["laplacian", "poly"])
def test_other_kernels_learn_it_too(kernel):
    y = (X[:, 3] + X[:, 7] ** 2 > 1).astype(int)
    model = learned(kernel=kernel, degree=2, coef0=1.0).fit(X[TRAIN], y[TRAIN])
    assert model.feature_importances_[[3, 7]].sum() > 0.8
    plain = clone(model).set_params(relevance=None).fit(X[TRAIN], y[TRAIN])
    assert model.score(X[TEST], y[TEST]) > plain.score(X[TEST], y[TEST]) + 0.01


def test_linear_functions_are_along_their_coefficients():
    y = X[:, 3] - 0.5 * X[:, 7]
    model = learned(UniSVMRegressor, kernel="linear").fit(X[TRAIN], y[TRAIN])
    np.testing.assert_allclose(model.feature_importances_[[3, 7]], [0.8, 0.2], atol=0.05)
    assert model.coef_.shape == (1, N_COLUMNS)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_[0] + model.intercept_, atol=1e-9)


def test_several_targets_and_wild_ones():
    Y = np.column_stack([SMOOTH, 1e6 * SMOOTH])
    Y[:100] += 1e8
    model = learned(UniSVMRegressor, loss="welsch").fit(X[TRAIN], Y[TRAIN])
    assert set(np.argsort(model.relevances_)[-3:]) == set(MATTER)


@pytest.mark.parametrize("kind", ["ovo", "ovr"])
def test_several_classes(kind):
    y = np.digitize(SMOOTH, [-0.7, 0.7])
    model = learned(multi_class=kind).fit(X[TRAIN], y[TRAIN])
    assert set(np.argsort(model.relevances_)[-3:]) == set(MATTER)
    plain = clone(model).set_params(relevance=None).fit(X[TRAIN], y[TRAIN])
    assert model.score(X[TEST], y[TEST]) > plain.score(X[TEST], y[TEST]) + 0.1


def test_a_class_that_the_sample_lacks(monkeypatch):
    monkeypatch.setattr(relevance, "_N_ROWS", 100)
    y = LABELS[TRAIN].copy()
    y[:2] = 7
    assert learned().fit(X[TRAIN], y).classes_.tolist() == [0, 1, 7]


@pytest.mark.parametrize("n_rows", [10, 150, 1500])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_nothing_is_learned_where_nothing_is_gained(n_rows, kernel):
    # scales that are learned from the labels of rows fit these rows better, whatever the labels
    y = np.random.RandomState(0).randint(2, size=n_rows)
    model = learned(kernel=kernel).fit(X[:n_rows], y)
    np.testing.assert_array_equal(model.relevances_, np.ones(N_COLUMNS))
    assert model.feature_importances_.max() < 0.3


def test_a_constant_function_has_no_important_columns():
    constant = learned(UniSVMRegressor).fit(X[:50], np.ones(50))
    np.testing.assert_array_equal(constant.relevances_, np.ones(N_COLUMNS))
    np.testing.assert_allclose(constant.feature_importances_, 1 / N_COLUMNS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_forms_and_precisions(form, dtype):
    rows = FORMS[form](np.where(np.abs(X) > 0.3, X, 0).astype(dtype))
    model = learned(kernel="laplacian", scale="standard").fit(rows[TRAIN], (X[TRAIN, 3] > 0).astype(int))
    assert model.feature_importances_.argmax() == 3
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.decision_function(rows[TEST]).dtype == dtype


def test_units_of_columns_have_no_part_when_they_are_scaled():
    units = 10.0 ** np.random.RandomState(0).randint(-5, 5, size=N_COLUMNS)
    one, other = (learned(scale="standard").fit(rows[TRAIN], LABELS[TRAIN]) for rows in (X, X * units + 3 * units))
    # halves of the sample are drawn by the bits of the rows
    np.testing.assert_allclose(one.relevances_, other.relevances_, atol=0.1)
    np.testing.assert_allclose(one.feature_importances_, other.feature_importances_, atol=0.02)


def test_a_row_of_weight_two_is_a_row_twice():
    # each distinct row is a landmark
    rows, y, weights = X[:150], LABELS[:150], np.random.RandomState(0).randint(1, 3, size=150)
    twice = np.repeat(np.arange(150), weights)
    one = learned(rank=300).fit(rows, y, sample_weight=weights)
    other = learned(rank=300).fit(rows[twice], y[twice])
    assert one.relevances_.max() > 1
    np.testing.assert_allclose(one.relevances_, other.relevances_, rtol=0.02, atol=0.02)


def test_rows_of_weight_zero_have_no_part():
    weights = np.ones(N_ROWS)
    weights[::2] = 0
    one = learned().fit(X[TRAIN], LABELS[TRAIN], sample_weight=weights)
    other = learned().fit(X[TRAIN][1::2], LABELS[TRAIN][1::2])
    np.testing.assert_array_equal(one.relevances_, other.relevances_)


def test_the_same_random_state_learns_the_same():
    one, other = (learned().fit(X[TRAIN], LABELS[TRAIN]) for _ in range(2))
    np.testing.assert_array_equal(one.relevances_, other.relevances_)
    np.testing.assert_array_equal(one.decision_function(X[TEST]), other.decision_function(X[TEST]))


def test_gamma_keeps_its_meaning():
    by_name, by_number = (
        learned(gamma=gamma, scale="standard").fit(X[TRAIN], LABELS[TRAIN]) for gamma in ("auto", 1 / N_COLUMNS)
    )
    np.testing.assert_allclose(by_name.relevances_, by_number.relevances_)
    scaled = by_number.kernel_.scaled(X[TRAIN])
    assert scaled.var() == pytest.approx(1.0)


def test_cells_share_what_was_learned_from_all_rows():
    model = learned(cells=400).fit(X[TRAIN], LABELS[TRAIN])
    assert len(model.cells_) > 1
    assert set(np.argsort(model.relevances_)[-3:]) == set(MATTER)
    for cell in model.cells_:
        np.testing.assert_array_equal(cell.kernel_.divisor, 1 / model.relevances_)
    plain = clone(model).set_params(relevance=None).fit(X[TRAIN], LABELS[TRAIN])
    assert model.score(X[TEST], LABELS[TEST]) > plain.score(X[TEST], LABELS[TEST]) + 0.05


def test_select_from_model():
    pipeline = make_pipeline(SelectFromModel(learned(), max_features=3), UniSVMClassifier(random_state=0))
    pipeline.fit(X[TRAIN], LABELS[TRAIN])
    assert np.flatnonzero(pipeline[0].get_support()).tolist() == MATTER
    assert pipeline.score(X[TEST], LABELS[TEST]) > 0.9


def test_rows_on_dask():
    rows, y = da.from_array(X[TRAIN], chunks=(400, -1)), da.from_array(LABELS[TRAIN], chunks=400)
    model = learned().fit(rows, y)
    assert set(np.argsort(model.relevances_)[-3:]) == set(MATTER)
    assert model.score(X[TEST], LABELS[TEST]) > 0.9
    factors = np.linspace(0.0, 2.0, N_COLUMNS)
    lazy, local = (learned(relevance=factors).fit(*arrays) for arrays in ((rows, y), (X[TRAIN], LABELS[TRAIN])))
    np.testing.assert_allclose(lazy.kernel_.kernel.gamma, local.kernel_.kernel.gamma)


def test_a_second_fit_forgets_the_first():
    model = learned(warm_start=True).fit(X[TRAIN], LABELS[TRAIN])
    assert model.fit(X[TRAIN], LABELS[TRAIN]).relevances_.shape == (N_COLUMNS,)
    model.set_params(relevance=None).fit(X[TRAIN], LABELS[TRAIN])
    assert not hasattr(model, "relevances_")
    assert not hasattr(model, "feature_importances_")


# ------------------------------------------------------------------ given


def test_without_relevance_the_model_is_that_of_earlier_versions():
    model = UniSVMClassifier(random_state=0).fit(SMALL_X, SMALL_Y)
    assert type(model.kernel_) is kernels.RBF
    assert not hasattr(model, "relevances_")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("fit_intercept", [True, False, "penalised"])
def test_the_model_is_that_of_columns_multiplied_by_hand(kernel, form, fit_intercept):
    parameters = EXACT | {"kernel": kernel, "fit_intercept": fit_intercept}
    model = UniSVMClassifier(relevance=FACTORS, **parameters).fit(FORMS[form](SMALL_X), SMALL_Y)
    by_hand = UniSVMClassifier(**parameters).fit(FORMS[form](SMALL_X * FACTORS), SMALL_Y)
    expected = by_hand.decision_function(FORMS[form](SMALL_X * FACTORS))
    atol = 2e-3 * np.abs(expected).max()
    np.testing.assert_allclose(model.decision_function(FORMS[form](SMALL_X)), expected, atol=atol)
    np.testing.assert_array_equal(model.relevances_, FACTORS)
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_columns_are_scaled_before():
    model = UniSVMClassifier(relevance=FACTORS, scale="standard", **EXACT).fit(SMALL_X, SMALL_Y)
    scaled = (SMALL_X - SMALL_X.mean(axis=0)) / SMALL_X.std(axis=0) * FACTORS
    by_hand = UniSVMClassifier(**EXACT).fit(scaled, SMALL_Y)
    np.testing.assert_allclose(model.decision_function(SMALL_X), by_hand.decision_function(scaled), atol=1e-3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scale", [None, "standard", "minmax"])
@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
def test_a_column_of_relevance_zero_is_one_that_is_not_there(kernel, form, scale, gamma):
    parameters = EXACT | {"kernel": kernel, "scale": scale, "gamma": gamma, "warm_start": True}
    with_zero = UniSVMClassifier(relevance=[1.0, 2.0, 0.0, 1.0], **parameters)
    without = UniSVMClassifier(relevance=[1.0, 2.0, 1.0], **parameters)
    rows, fewer = (FORMS[form](SMALL_X[:, columns]) for columns in ([0, 1, 2, 3], [0, 1, 3]))
    # the second fit starts from the first
    for _ in range(2):
        expected = without.fit(fewer, SMALL_Y).decision_function(fewer)
        atol = 2e-3 * np.abs(expected).max()
        np.testing.assert_allclose(with_zero.fit(rows, SMALL_Y).decision_function(rows), expected, atol=atol)
    assert with_zero.feature_importances_[2] == 0


@pytest.mark.parametrize("estimator", [UniSVMClassifier, UniSVMRegressor])
@pytest.mark.parametrize(
    "wrong",
    [
        [1.0, -1.0, 1.0, 1.0],
        [1.0, np.nan, 1.0, 1.0],
        [np.inf, 1.0, 1.0, 1.0],
        np.zeros(4),
        np.ones((2, 2)),
        3.0,
        {},
        ["a", "b", "c", "d"],
    ],
    ids=str,
)
def test_arrays_that_are_none(estimator, wrong):
    with pytest.raises(ValueError, match="a number from 0 for each column of X, not all of them 0"):
        estimator(relevance=wrong).fit(SMALL_X, SMALL_Y)


def test_wrong_lengths_and_names():
    with pytest.raises(ValueError, match="relevance has 3 numbers, and X has 4 columns"):
        UniSVMClassifier(relevance=np.ones(3)).fit(SMALL_X, SMALL_Y)
    with pytest.raises(ValueError, match="relevance must be None, 'learned' or an array, got 'learn'"):
        UniSVMClassifier(relevance="learn").fit(SMALL_X, SMALL_Y)


@pytest.mark.parametrize("kernel", ["precomputed", lambda A, B: A @ B.T], ids=["precomputed", "function"])
@pytest.mark.parametrize("given", ["learned", np.ones(100)], ids=["learned", "array"])
def test_kernels_without_derivatives(kernel, given):
    with pytest.raises(ValueError, match="relevance is for kernels whose derivatives"):
        UniSVMClassifier(kernel=kernel, relevance=given).fit(np.eye(100), SMALL_Y)


# ------------------------------------------------------------------ files


@pytest.mark.parametrize("given", ["learned", [1.0, 0.0, 2.0, 1.0]], ids=["learned", "array"])
@pytest.mark.parametrize("cells", [None, 40])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_saved_and_loaded(tmp_path, given, cells, kernel):
    model = learned(relevance=given, cells=cells, scale="standard", kernel=kernel).fit(SMALL_X, SMALL_Y)
    unisvm.save(model, tmp_path / "model.unisvm")
    for other in (unisvm.load(tmp_path / "model.unisvm"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.decision_function(SMALL_X), model.decision_function(SMALL_X))
        for name in ("relevances_", "feature_importances_"):
            np.testing.assert_array_equal(getattr(other, name), getattr(model, name))


@pytest.mark.parametrize("name", ["relevances_", "feature_importances_"])
@pytest.mark.parametrize("wrong", [np.ones(3), -np.ones(4), np.full(4, np.nan), "ones"], ids=str)
def test_files_with_other_arrays_are_refused(tmp_path, name, wrong):
    model = learned().fit(SMALL_X, SMALL_Y)
    setattr(model, name, wrong)
    with pytest.raises(ValueError, match=f"could not be loaded again: UniSVMClassifier: {name} must be"):
        unisvm.save(model, tmp_path / "model.unisvm")


def test_finished_checkpoints_have_the_model(tmp_path, monkeypatch):
    model = learned(checkpoint=tmp_path / "fit").fit(X[:300], LABELS[:300])
    monkeypatch.setattr(relevance, "distinct_rows", None)
    again = clone(model).fit(X[:300], LABELS[:300])
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


def test_onnx():
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = learned(relevance=[1.0, 0.0, 2.0, 1.0], scale="standard").fit(SMALL_X, SMALL_Y)
    session = runtime.InferenceSession(unisvm.to_onnx(model).SerializeToString())
    (labels, *_) = session.run(None, {session.get_inputs()[0].name: SMALL_X})
    np.testing.assert_array_equal(labels, model.predict(SMALL_X))


@pytest.mark.parametrize("landmarks", [np.array([2990, 5, 17, 1200]), np.zeros((3, 4)) + np.arange(3)[:, None]])
def test_arrays_of_landmarks_are_those_of_the_last_fit_alone(landmarks):
    """Row indices mean rows of the fit, and not those of the sample that relevance is learned from."""
    rng = np.random.RandomState(0)
    rows = rng.randn(3000, 4)
    model = UniSVMClassifier(relevance="learned", landmarks=landmarks, random_state=0).fit(rows, rows[:, 0] > 0)
    assert model.relevances_.argmax() == 0
    assert len(model.landmark_vectors_) == len(landmarks)
