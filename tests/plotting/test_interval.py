"""The display of intervals draws each target, and those that are outside apart."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from unisvm import UniSVMRegressor
from unisvm.plotting import IntervalDisplay

rng = np.random.RandomState(0)
X = rng.uniform(-3, 3, size=(60, 1))
y = np.sinc(X[:, 0]) + 0.2 * rng.randn(60)


class Split(RegressorMixin, BaseEstimator):
    """Split conformal prediction: as far to either side as a share of the residuals of held-out rows are off."""

    def fit(self, X, y):
        half = len(y) // 2
        self.model_ = UniSVMRegressor(random_state=0).fit(X[:half], y[:half])
        self.residuals_ = np.sort(abs(y[half:] - self.model_.predict(X[half:])))
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_interval(self, X, coverage):
        n = len(self.residuals_)
        width = self.residuals_[min(int(np.ceil((n + 1) * coverage)), n) - 1]
        return np.stack([self.predict(X) - width, self.predict(X) + width], axis=1)


@pytest.fixture(scope="module")
def model():
    return Split().fit(X, y)


def test_numbers_and_points():
    predicted, interval = np.sinc(X[:, 0]), np.sinc(X) + np.array([-0.3, 0.2])
    display = IntervalDisplay.from_predictions(y, predicted, interval)
    inside = [low <= target <= high for target, (low, high) in zip(y, interval, strict=True)]
    assert 0 < sum(inside) < 60
    assert display.coverage == pytest.approx(sum(inside) / 60)
    assert display.mean_width == pytest.approx(0.5)
    assert (np.diff(display.predicted) >= 0).all()
    found = {tuple(point) for point in display.inside_.get_xydata()}
    assert found == {(predicted[i], y[i]) for i in range(60) if inside[i]}
    found = {tuple(point) for point in display.outside_.get_xydata()}
    assert found == {(predicted[i], y[i]) for i in range(60) if not inside[i]}
    bars = sorted((*low, *high) for low, high in display.intervals_.get_segments())
    expected = sorted((predicted[i], interval[i, 0], predicted[i], interval[i, 1]) for i in range(60))
    np.testing.assert_allclose(bars, expected)
    np.testing.assert_array_equal(display.curve_.get_xydata(), np.stack([np.sort(predicted)] * 2, axis=1))
    assert display.ax_.get_title() == f"{100 * sum(inside) / 60:.1f} % inside, mean width 0.5"
    assert display.ax_.get_xlabel() == "prediction"
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["prediction", f"{sum(inside)} targets inside", f"{60 - sum(inside)} outside"]


def test_ends_are_inside():
    display = IntervalDisplay([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [[1.0, 1.5], [1.5, 2.0], [3.1, 3.2]])
    assert display.inside.tolist() == [True, True, False]
    assert not plt.get_fignums()


def test_estimator_of_one_column(model):
    figure, ax = plt.subplots()
    display = IntervalDisplay.from_estimator(model, X, y, coverage=0.8, ax=ax, markersize=7)
    assert (display.ax_, display.figure_) == (ax, figure)
    assert display.inside_.get_markersize() == display.outside_.get_markersize() == 7
    order = np.argsort(X[:, 0])
    np.testing.assert_array_equal(display.x, X[order, 0])
    np.testing.assert_array_equal(display.curve_.get_xydata(), np.stack([X[order, 0], model.predict(X)[order]], axis=1))
    low, high = model.predict_interval(X, 0.8).T
    band = display.intervals_.get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(low.min())
    assert band[:, 1].max() == pytest.approx(high.max())
    assert "(80 % asked for)" in ax.get_title()
    assert ax.get_xlabel() == "x"
    assert display.plot() is display
    assert display.ax_ is not ax


def test_estimator_of_several_columns():
    wide = np.concatenate([X, X**2], axis=1)
    display = IntervalDisplay.from_estimator(Split().fit(wide, y), wide, y)
    assert display.x is None
    assert display.asked == 0.9


def test_infinite_intervals():
    interval = np.array([[-np.inf, np.inf], [1.0, 2.0], [0.0, np.inf]])
    display = IntervalDisplay.from_predictions([5.0, 1.5, 1.0], [1.0, 1.4, 2.0], interval)
    display.figure_.canvas.draw()
    assert display.coverage == 1
    bottom, top = display.ax_.get_ylim()
    assert -2 < bottom < 0
    assert 5 < top < 7
    everything = IntervalDisplay.from_predictions([1.0], [1.0], [[-np.inf, np.inf]])
    everything.figure_.canvas.draw()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [1.0, 2.0], [[0.0, 1.0]]), "predicted must have one number"),
        (([1.0], [1.0], [0.0, 1.0]), "interval must be numbers on 2"),
        (([1.0], [1.0], [[0.0, 1.0, 2.0]]), "interval two for each target"),
        (([[1.0]], [1.0], [[0.0, 1.0]]), "y_true must be numbers on 1"),
        (([], [], np.empty((0, 2))), "of which there must be some"),
        (([1.0], [1.0], [[1.0, 0.0]]), "the lower end first"),
        (([1.0], [np.nan], [[0.0, 1.0]]), "predicted must be numbers"),
    ],
)
def test_bad_numbers(arguments, message):
    with pytest.raises(ValueError, match=message):
        IntervalDisplay(*arguments)


def test_other_mistakes():
    with pytest.raises(ValueError, match="x must have a number for each of 1 targets"):
        IntervalDisplay([1.0], [1.0], [[0.0, 1.0]], x=[1.0, 2.0])
    with pytest.raises(TypeError, match="Lasso has no method predict_interval"):
        IntervalDisplay.from_estimator(type("Lasso", (), {})(), X, y)
