"""The display of a path draws the numbers of the path."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_moons

import unisvm
from unisvm.plotting import PathDisplay

X, y = make_moons(120, noise=0.25, random_state=0)
SETTINGS = {"losses": ["hinge", unisvm.losses.Feng(a=1.5)], "Cs": [10.0, 0.1, 1.0], "gamma": 1.0, "random_state": 0}


@pytest.fixture(scope="module")
def path():
    return unisvm.path(X, y, cv=3, **SETTINGS)


def drawn(display):
    return np.array([line.get_ydata() for line in display.lines_])


def test_held_out_scores_with_their_spread(path):
    display = PathDisplay(path).plot()
    np.testing.assert_allclose(drawn(display), path.test_scores.mean(axis=2))
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), [0.1, 1.0, 10.0])
    top = display.bands_[1].get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx((path.test_scores[1].mean(axis=1) + path.test_scores[1].std(axis=1)).max())
    assert [line.get_label() for line in display.lines_] == ["hinge", "Feng(a=1.5)"]
    assert (display.ax_.get_xscale(), display.ax_.get_ylabel()) == ("log", "held-out score")


def test_training_scores_without_splits():
    display = PathDisplay.from_data(X, y, **SETTINGS)
    np.testing.assert_allclose(drawn(display), display.path.train_scores)
    assert display.bands_ == []
    assert display.ax_.get_ylabel() == "training score"


def test_objective_and_coefficients(path):
    np.testing.assert_allclose(drawn(PathDisplay(path).plot(what="objective")), path.objective[:, :, 0])
    norms = [[np.linalg.norm(model.dual_coef_) for model in models] for models in path.estimators]
    np.testing.assert_allclose(drawn(PathDisplay(path).plot(what="coefficients")), norms)


def test_given_axes_and_settings_of_lines(path):
    figure, ax = plt.subplots()
    display = PathDisplay(path).plot(ax=ax, linewidth=5)
    assert (display.ax_, display.figure_) == (ax, figure)
    assert display.lines_[0].get_linewidth() == 5


def test_unknown_quantity(path):
    with pytest.raises(ValueError, match="did you mean 'score'"):
        PathDisplay(path).plot(what="scores")
