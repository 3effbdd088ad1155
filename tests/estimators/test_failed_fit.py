"""A fit that fails leaves the estimator as it was: unfitted, or with the model it had."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from unisvm import UniSVMClassifier, UniSVMRegressor

X, y = make_moons(60, noise=0.2, random_state=0)
WAVE = 100 * np.sin(3 * X[:, 0])
ESTIMATORS = pytest.mark.parametrize(
    ("cls", "target"), [(UniSVMClassifier, y), (UniSVMRegressor, WAVE)], ids=["classifier", "regressor"]
)
MISTAKES = {
    "landmarks": ({"landmarks": [999]}, None),
    "memory": ({"memory_limit": "1KB"}, None),
    "weights": ({}, -np.ones(60)),
}


def broken(A, B):
    raise RuntimeError("the kernel broke")


@ESTIMATORS
@pytest.mark.parametrize(("parameters", "weights"), MISTAKES.values(), ids=MISTAKES.keys())
def test_an_estimator_that_could_not_be_fitted_is_not_fitted(cls, target, parameters, weights):
    model = cls(**parameters)
    with pytest.raises((ValueError, MemoryError)):
        model.fit(X, target, sample_weight=weights)
    with pytest.raises(NotFittedError):
        model.predict(X)


@ESTIMATORS
@pytest.mark.parametrize(
    "parameters", [{"landmarks": [999]}, {"memory_limit": "1KB"}, {"kernel": broken}], ids=lambda p: next(iter(p))
)
def test_a_failed_fit_keeps_the_old_model(cls, target, parameters):
    model = cls().fit(X, target)
    before, trust = model.predict(X), model.trust(X, target)
    # other labels and another scale, which must not be mixed with the old coefficients
    other = np.where(y, "no", "yes") if cls is UniSVMClassifier else 5 - 1000 * WAVE
    with pytest.raises((ValueError, MemoryError, RuntimeError)):
        model.set_params(**parameters).fit(X, other)
    np.testing.assert_array_equal(model.predict(X), before)
    np.testing.assert_array_equal(model.trust(X, target), trust)


@ESTIMATORS
@pytest.mark.parametrize(
    "parameters", [{"landmarks": [999]}, {"memory_limit": "1KB"}, {"kernel": broken}], ids=lambda p: next(iter(p))
)
def test_a_failed_fit_keeps_the_columns_of_the_old_model(cls, target, parameters):
    """Neither the number of columns nor their names are those of rows that no model was fitted to."""
    table = pd.DataFrame(X, columns=["left", "right"])
    model = cls().fit(table, target)
    before = model.predict(table)
    with pytest.raises((ValueError, MemoryError, RuntimeError)):
        model.set_params(**parameters).fit(table[["right", "left"]].assign(more=0.0), target)
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["left", "right"]
    np.testing.assert_array_equal(model.predict(table), before)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table[["right", "left"]])
    unnamed = cls(**parameters)
    with pytest.raises((ValueError, MemoryError, RuntimeError)):
        unnamed.fit(table, target)
    assert not hasattr(unnamed, "n_features_in_")
    assert not hasattr(unnamed, "feature_names_in_")


def test_a_failed_fit_keeps_the_index_base_of_the_old_model(tmp_path):
    """Indices of a LIBSVM file mean the columns that the model knows."""
    for name, base in ("one.txt", 1), ("zero.txt", 0):
        dump_svmlight_file(X, y, str(tmp_path / name), zero_based=base == 0)
    model = UniSVMClassifier().fit(tmp_path / "one.txt")
    before = model.predict(tmp_path / "one.txt")
    with pytest.raises(ValueError, match="andmark"):
        model.set_params(landmarks=[999]).fit(tmp_path / "zero.txt")
    np.testing.assert_array_equal(model.predict(tmp_path / "one.txt"), before)


@ESTIMATORS
def test_a_warning_turned_into_an_error_leaves_no_half_of_a_model(cls, target):
    model = cls("logistic" if cls is UniSVMClassifier else "absolute", max_iter=1, tol=1e-12)
    with pytest.warns(ConvergenceWarning):
        expected = model.fit(X, target).predict(X)
    model = cls(**model.get_params(deep=False))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            model.fit(X, target)
    # either all of it is there or nothing
    try:
        predictions = model.predict(X)
    except NotFittedError:
        return
    np.testing.assert_array_equal(predictions, expected)


def test_warm_start_after_a_failed_fit():
    model = UniSVMClassifier(warm_start=True, landmarks=[999])
    with pytest.raises(ValueError, match="andmark"):
        model.fit(X, y)
    labels = np.where(y, "no", "yes")
    model.set_params(landmarks="rpcholesky").fit(X, labels)
    assert model.score(X, labels) > 0.9


def test_warm_start_after_a_failed_fit_with_other_labels():
    model = UniSVMClassifier(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="andmark"):
        model.set_params(landmarks=[999]).fit(X, np.where(y, "no", "yes"))
    model.set_params(landmarks="rpcholesky").fit(X, y)
    assert model.classes_.tolist() == [0, 1]
    assert model.score(X, y) > 0.9
