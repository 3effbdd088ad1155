"""Searches that choose among kernels."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import unisvm
from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressorCV, kernels

X, y = make_moons(150, noise=0.25, random_state=0)
WAVE = np.sin(3 * X[:, 0]) + X[:, 1]
POINTS = X[::5].copy()


def test_cells_are_those_of_a_list_of_grids():
    folds, shared = StratifiedKFold(3), {"landmarks": POINTS, "random_state": 0, "tol": 1e-8}
    grid = {"C": [0.1, 1.0], "gamma": [0.3, 2.0], "loss": ["squared_hinge"]}
    ours = UniSVMClassifierCV(
        grid["loss"], Cs=grid["C"], gammas=grid["gamma"], kernel=["rbf", "laplacian", "linear"], cv=folds, **shared
    ).fit(X, y)
    theirs = GridSearchCV(
        UniSVMClassifier(**shared),
        [grid | {"kernel": ["rbf", "laplacian"]}, grid | {"kernel": ["linear"], "gamma": ["scale"]}],
        cv=folds,
    ).fit(X, y)
    scores = {
        (cell["C"], cell["gamma"], cell["kernel"]): score
        for cell, score in zip(theirs.cv_results_["params"], theirs.cv_results_["mean_test_score"], strict=True)
    }
    assert len(ours.cv_results_["params"]) == len(scores) == 10
    for cell, score in zip(ours.cv_results_["params"], ours.cv_results_["mean_test_score"], strict=True):
        assert score == pytest.approx(scores[cell["C"], cell["gamma"], cell["kernel"]], abs=1e-3)
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-3)


def test_best_kernel_is_refitted():
    # steps along one column, which no smooth function has
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (600, 6))
    labels = (np.floor(4 * rows[:, 0]) % 2).astype(int)
    model = UniSVMClassifierCV(["squared_hinge"], Cs=[10.0], cv=3, random_state=0).fit(rows, labels)
    means = {
        kernel: np.max(model.cv_results_["mean_test_score"][model.cv_results_["param_kernel"] == kernel])
        for kernel in ("rbf", "laplacian")
    }
    assert means["laplacian"] > means["rbf"]
    assert model.kernel_ == model.best_params_["kernel"] == model.best_estimator_.kernel == "laplacian"
    assert isinstance(model.best_estimator_.kernel_, kernels.Laplacian)
    again = UniSVMClassifier(**model.best_params_, random_state=model.best_estimator_.random_state).fit(rows, labels)
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))


@pytest.mark.parametrize("gammas", [[0.5], "scale", 1])
def test_given_gammas_are_those_of_the_plain_kernel(gammas):
    model = UniSVMClassifierCV(["logistic"], Cs=[1.0], gammas=gammas, cv=2).fit(X, y)
    assert model.kernel_ == "rbf"
    assert sorted(model.best_params_) == ["C", "gamma", "loss"]


def test_range_follows_the_units_of_the_rows():
    small, large = (
        UniSVMClassifierCV(["logistic"], Cs=[1.0], cv=2, random_state=0).fit(factor * X, y) for factor in (1.0, 1024.0)
    )
    np.testing.assert_allclose(small.cv_results_["mean_test_score"], large.cv_results_["mean_test_score"])


def test_kinds_of_kernels():
    model = UniSVMRegressorCV(
        ["huber"], Cs=[1.0], gammas=2, kernel=(kernels.RBF(0.5), "poly", rbf_kernel), cv=2, random_state=0
    ).fit(X, WAVE)
    assert len(model.cv_results_["params"]) == 4
    assert [type(entry) for entry in model.cv_results_["param_kernel"]] == [kernels.RBF, str, str, type(rbf_kernel)]
    assert clone(model).fit(X, WAVE).best_score_ == model.best_score_


def test_scorer_sees_the_kernel():
    seen = set()

    def note(model, rows, labels):
        seen.add((model.kernel, model.gamma, type(model.kernel_).__name__, model.kernel_.get_params().get("gamma")))
        return 0.0

    kernels = ["rbf", "laplacian", "linear"]
    UniSVMClassifierCV("logistic", Cs=[1.0], gammas=[0.5], kernel=kernels, cv=2, scoring=note).fit(X, y)
    assert seen == {
        ("rbf", 0.5, "RBF", 0.5),
        ("laplacian", 0.5, "Laplacian", 0.5),
        ("linear", "scale", "Linear", None),
    }


def test_halving_rules_out_kernels(capsys):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (4000, 4))
    labels = (np.floor(4 * rows[:, 0]) % 2).astype(int)
    model = UniSVMClassifierCV(
        ["squared_hinge"],
        Cs=[10.0],
        gammas=1,
        kernel=["linear", "laplacian"],
        cv=2,
        search="halving",
        rank=100,
        verbose=1,
    ).fit(rows, labels)
    assert np.isnan(model.cv_results_["mean_test_score"]).tolist() == [True, False]
    assert "rows leave laplacian" in capsys.readouterr().out


def test_a_path_has_one_kernel():
    with pytest.raises(ValueError, match="one kernel"):
        unisvm.path(X, y, kernel=["rbf", "laplacian"])
    assert unisvm.path(X, y, losses="logistic", Cs=[1.0]).estimators[0][0].kernel == "rbf"
