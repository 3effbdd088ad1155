"""Every mistake is refused with a message that names it, before anything is computed or stored."""

import numpy as np
import pytest

from selection_cases import rows_with_support
from unisvm.feature_selection import SparseUniSVMClassifier, SparseUniSVMRegressor

X, y = rows_with_support(80, 6, support=(1, 3, 4))

PARAMETERS = [
    ({"loss": "fengg"}, ["loss", "'fengg'", "did you mean 'feng'"]),
    ({"loss": "huber"}, ["Huber", "not for classification", "'feng'"]),
    ({"penalty": "exponentail"}, ["penalty", "did you mean 'exponential'"]),
    ({"penalty": None}, ["penalty", "'exponential', 'truncated'"]),
    ({"rule": "bests"}, ["rule", "did you mean 'best'"]),
    ({"width": 0.0}, ["width must be a positive number, or 'auto'", "0.0"]),
    ({"width": "wide"}, ["width", "'wide'"]),
    ({"alpha": -1.0}, ["alpha must be a positive number, or 'auto'", "-1.0"]),
    ({"alpha": np.nan}, ["alpha", "nan"]),
    ({"alphas": []}, ["alphas must be positive numbers", "[]"]),
    ({"alphas": [1.0, 0.0]}, ["alphas must be positive numbers", "[1.0, 0.0]"]),
    ({"alphas": [1.0, np.inf]}, ["alphas must be finite"]),
    ({"alphas": ["low"]}, ["alphas must be positive numbers", "'low'"]),
    ({"C": 0}, ["C must be a number in (0, inf)", "0"]),
    ({"C": "auto"}, ["C must be a number", "'auto'"]),
    ({"tol": 0.0}, ["tol must be a number"]),
    ({"max_iter": 0}, ["max_iter must be a positive integer", "0"]),
    ({"n_alphas": 2.5}, ["n_alphas must be a positive integer", "2.5"]),
    ({"cv": 1}, ["cv must be a number of splits from 2 on", "1"]),
    ({"cv": "five"}, ["cv must be", "'five'"]),
    ({"n_jobs": 0}, ["n_jobs must be", "0"]),
    ({"fit_intercept": "penalised"}, ["fit_intercept must be True or False", "'penalised'"]),
]


@pytest.mark.parametrize(("parameters", "fragments"), PARAMETERS, ids=lambda part: str(part) if len(part) == 1 else "")
def test_parameters_are_refused_before_the_data_are_looked_at(parameters, fragments):
    model = SparseUniSVMClassifier(**parameters)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        model.fit(None, None)
    for fragment in fragments:
        assert fragment in str(error.value)
    assert vars(model).keys() == vars(SparseUniSVMClassifier()).keys()


@pytest.mark.parametrize(
    ("model", "target", "message"),
    [
        (SparseUniSVMClassifier(), np.ones(80), "only one class"),
        (SparseUniSVMClassifier(), X[:, 0], "Unknown label type"),
        (SparseUniSVMClassifier(class_weight={1: -1.0}), y, "class_weight"),
        (SparseUniSVMClassifier(cv=[(np.arange(80), np.arange(80, 90))]), y, "test rows of split 0"),
        (SparseUniSVMRegressor("feng"), X[:, 0], "not for regression"),
        (SparseUniSVMRegressor(), X[:, :2], "y should be a 1d array"),
    ],
)
def test_targets(model, target, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, target)
    assert not hasattr(model, "coef_")


def test_rows_in_files_are_refused(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(TypeError, match="rows in memory"):
        SparseUniSVMClassifier().fit(tmp_path / "rows.npy", y)


def test_dask_collections_are_refused():
    array = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="Dask collection"):
        SparseUniSVMClassifier().fit(array.from_array(X), y)


def test_a_failed_fit_leaves_the_last_model():
    model = SparseUniSVMClassifier(width=0.01, alpha=0.01).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((80, 3), np.nan), y)
    assert vars(model) == before
