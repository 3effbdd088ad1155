"""The adaptive search: which cells it tries, that they score as in a full search, and that it finds what that finds."""

import numpy as np
import pytest
from sklearn.datasets import make_moons, make_regression
from sklearn.metrics.pairwise import rbf_kernel

from unisvm import FitWarning, UniSVMClassifierCV, UniSVMRegressorCV, datasets
from unisvm.model_selection import adaptive

X, y = make_moons(400, noise=0.25, random_state=0)
XR, YR = make_regression(300, 4, noise=10.0, random_state=0)
OPTIONS = {"rank": 60, "tol": 1e-6, "cv": 3, "random_state": 0}


def finite(model):
    return np.isfinite(model.cv_results_["mean_test_score"])


@pytest.fixture(scope="module")
def searches():
    return [UniSVMClassifierCV("logistic", search=how, **OPTIONS).fit(X, y) for how in ("adaptive", "full")]


def test_few_cells_are_tried(searches):
    some, every = searches
    assert finite(every).all()
    # at most three kernels go on
    assert 3 <= finite(some).sum() <= 3 * 3
    n_landmarks = some.cv_results_["n_landmarks"]
    np.testing.assert_array_equal(n_landmarks > 0, finite(some))
    assert "n_landmarks" not in every.cv_results_
    assert some.cv_results_["params"] == every.cv_results_["params"]
    # the others come last
    assert some.cv_results_["rank_test_score"][~finite(some)].min() > finite(some).sum() - 1
    assert finite(some)[some.best_index_]


def test_their_scores_are_those_of_the_full_search(searches):
    some, every = (model.cv_results_["mean_test_score"] for model in searches)
    np.testing.assert_allclose(some[finite(searches[0])], every[finite(searches[0])], atol=0.011)


def test_the_best_of_them_is_nearly_the_best_of_all(searches):
    some, every = searches
    assert every.cv_results_["mean_test_score"][some.best_index_] >= every.best_score_ - 0.015


def test_each_loss_has_its_own_C():
    model = UniSVMClassifierCV(["squared_hinge", "smooth_hinge"], **OPTIONS).fit(X, y)
    C, loss = (np.asarray(model.cv_results_[f"param_{name}"])[finite(model)] for name in ("C", "loss"))
    middle = {name: np.exp(np.log(C[loss == name].astype(float)).mean()) for name in ("squared_hinge", "smooth_hinge")}
    # the hinge is straight where the squared hinge is curved
    assert 2 < middle["smooth_hinge"] / middle["squared_hinge"] < 30
    # the C that suits each loss, and those beside it for the better one
    gamma = np.asarray(model.cv_results_["param_gamma"])[finite(model)]
    for value in np.unique(gamma):
        assert sorted(np.unique(loss[gamma == value], return_counts=True)[1].tolist()) == [1, 3]


def test_wrong_labels_lower_the_values_of_C_that_are_tried():
    wrong = datasets.flip_labels(y, 0.4, random_state=0)[0]
    clean, noisy = (
        UniSVMClassifierCV("saturating", search="adaptive", gammas=1, **OPTIONS).fit(X, labels) for labels in (y, wrong)
    )
    assert noisy.C_ < clean.C_
    lowest = [np.asarray(model.cv_results_["param_C"])[finite(model)].min() for model in (clean, noisy)]
    assert lowest[1] < lowest[0]


def test_values_that_are_given_are_all_tried():
    for given in ({"Cs": [0.1, 1.0]}, {"gammas": [0.3, 3.0]}, {"Cs": [1.0], "gammas": ["scale"]}):
        assert finite(UniSVMClassifierCV("logistic", **OPTIONS, **given).fit(X, y)).all()
    asked = UniSVMClassifierCV("logistic", search="adaptive", Cs=[1e-4, 0.1, 1.0, 10.0, 1e5], gammas=[0.5], **OPTIONS)
    assert finite(asked.fit(X, y)).sum() == 3


def test_regression_and_precomputed_kernels():
    # the targets are linear
    with pytest.warns(FitWarning, match="lowest gamma"):
        model = UniSVMRegressorCV(**OPTIONS).fit(XR, YR)
    assert finite(model).sum() < 20
    assert model.best_estimator_.score(XR, YR) > 0.8
    K = rbf_kernel(X, gamma=1.0)
    given = UniSVMClassifierCV("logistic", kernel="precomputed", **OPTIONS).fit(K, y)
    assert finite(given).sum() == 3


def test_a_sample_of_the_rows_is_judged(monkeypatch):
    seen = []
    monkeypatch.setattr(adaptive, "_ROUNDS", ((50, 0.1, 60, 20, 4), (100, 0.1, 200, 60, 2)))
    whole = adaptive.whole_rows
    monkeypatch.setattr(adaptive, "whole_rows", lambda *given: seen.append(whole(*given)) or seen[-1])
    weights = (np.arange(400) % 2).astype(float)
    model = UniSVMClassifierCV("logistic", **OPTIONS).fit(X, y, sample_weight=weights)
    again = UniSVMClassifierCV("logistic", **OPTIONS)
    assert [rows.n_rows for rows, _ in seen] == [50, 100]
    assert again.fit(X, y, sample_weight=weights).best_params_ == model.best_params_


def test_a_search_that_was_broken_off_tries_the_same_cells(tmp_path):
    plain = UniSVMClassifierCV("logistic", **OPTIONS).fit(X, y)
    kept = UniSVMClassifierCV("logistic", checkpoint=tmp_path, **OPTIONS).fit(X, y)
    again = UniSVMClassifierCV("logistic", checkpoint=tmp_path, **OPTIONS).fit(X, y)
    for model in (kept, again):
        np.testing.assert_array_equal(finite(model), finite(plain))
        np.testing.assert_array_equal(model.best_estimator_.dual_coef_, plain.best_estimator_.dual_coef_)
