"""The display of a fit's course draws its history."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons

from unisvm import UniSVMClassifier, UniSVMClassifierCV, baselines, feature_selection
from unisvm.plotting import ConvergenceDisplay

X, y = make_moons(120, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def model():
    return UniSVMClassifier("saturating", C=100.0, tol=1e-6, random_state=0).fit(X, y)


def test_curves_are_those_of_the_history(model):
    display = ConvergenceDisplay.from_estimator(model)
    objective = np.array(model.history_["objective"])
    np.testing.assert_allclose(display.objective, objective)
    expected = objective / objective[-1] - 1
    drawn = display.gap_.get_ydata()
    np.testing.assert_allclose(drawn[:-1], expected[:-1], rtol=1e-8)
    # at the end it is 0
    assert np.isnan(drawn[-1])
    assert display.gap[-1] == 0
    np.testing.assert_array_equal(display.stationarity_.get_ydata(), model.history_["stationarity"])
    np.testing.assert_array_equal(display.gap_.get_xdata(), np.arange(model.n_iter_))
    np.testing.assert_array_equal(display.tol_.get_ydata(), [1e-6, 1e-6])
    assert display.stationarity[-1] < 1e-6
    assert display.ax_.get_yscale() == "log"


@pytest.mark.parametrize(("against", "key"), [("sweeps", "n_sweeps"), ("seconds", "seconds")])
def test_other_axes(model, against, key):
    display = ConvergenceDisplay.from_estimator(model, against=against, linewidth=3)
    np.testing.assert_array_equal(display.stationarity_.get_xdata(), model.history_[key])
    assert display.gap_.get_linewidth() == display.stationarity_.get_linewidth() == 3
    figure, ax = plt.subplots()
    assert display.plot(ax) is display
    assert (display.ax_, display.figure_) == (ax, figure)
    assert ax.get_xlabel() == "iterations"


def test_several_columns():
    rows, labels = load_iris(return_X_y=True)
    model = UniSVMClassifier("logistic", C=10.0, random_state=0).fit(rows, labels)
    display = ConvergenceDisplay.from_estimator(model)
    objective = np.array(model.history_["objective"])
    assert objective.shape[1] == 3
    mean = sum(objective[:, j] for j in range(3)) / 3
    np.testing.assert_allclose(display.gap, (mean - mean[-1]) / mean[-1])
    worst = [max(column) for column in model.history_["stationarity"]]
    np.testing.assert_allclose(display.stationarity, worst)


def test_refit_of_a_search():
    search = UniSVMClassifierCV(["hinge"], Cs=[1.0], gammas=[1.0], cv=2, random_state=0).fit(X, y)
    display = ConvergenceDisplay.from_estimator(search)
    np.testing.assert_array_equal(display.objective, search.best_estimator_.history_["objective"])
    search = UniSVMClassifierCV(["hinge"], Cs=[1.0], gammas=[1.0], cv=2, random_state=0, refit=False).fit(X, y)
    with pytest.raises(ValueError, match="refit=False"):
        ConvergenceDisplay.from_estimator(search)


def test_histories_with_little_in_them():
    # a solver that stays where it starts, and an objective of 0
    for objective in ([0.25], [0.0], [1.0, 0.0]):
        history = {"objective": objective, "stationarity": [0.0] * len(objective)}
        display = ConvergenceDisplay(history, tol=1e-4).plot()
        display.figure_.canvas.draw()
        assert display.gap[0] == (1 if len(objective) == 2 else 0)
    alone = ConvergenceDisplay({"objective": [2.0, 1.5, 1.0]}).plot()
    np.testing.assert_array_equal(alone.gap, [1.0, 0.5, 0.0])
    assert alone.stationarity_ is alone.tol_ is None
    with pytest.raises(ValueError, match="does not tell of sweeps: use one of iterations"):
        alone.plot(against="sweeps")
    with pytest.raises(ValueError, match="did you mean 'seconds'"):
        alone.plot(against="second")


def test_baseline_and_estimators_without_a_history():
    with pytest.raises(ValueError, match="no objective to draw, only rows"):
        ConvergenceDisplay({"rows": [3, 2]})
    robust = baselines.RobustL2SVM().fit(X, y)
    display = ConvergenceDisplay.from_estimator(robust)
    np.testing.assert_array_equal(display.objective, robust.history_["objective"])
    sparse = feature_selection.SparseUniSVMClassifier(n_alphas=2, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="SparseUniSVMClassifier has no history_"):
        ConvergenceDisplay.from_estimator(sparse)
