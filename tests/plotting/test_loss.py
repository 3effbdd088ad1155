"""The display of a loss draws its values, and their difference from the parabola, which is convex."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest

from unisvm import losses
from unisvm.plotting import LossDisplay


def second_differences(values):
    return values[:-2] - 2 * values[1:-1] + values[2:]


@pytest.mark.parametrize("name", losses.names())
def test_curves_are_those_of_the_loss(name):
    loss = losses.get(name)
    display = LossDisplay.from_loss(name)
    value, parabola, difference = (line.get_ydata() for line in display.lines_)
    for line in display.lines_:
        np.testing.assert_array_equal(line.get_xdata(), np.linspace(-2, 4, 601))
    np.testing.assert_array_equal(value, loss.value(display.u))
    np.testing.assert_array_equal(parabola, loss.A * display.u**2)
    np.testing.assert_allclose(value, parabola - difference, atol=1e-9)
    np.testing.assert_array_equal([display.value, display.parabola, display.difference], [value, parabola, difference])
    assert display.approximated is None
    assert display.approximated_ is None
    # convex, up to rounding
    assert second_differences(difference).min() > -1e-12 * max(1, parabola.max())


def test_constant_A_is_the_smallest():
    loss = losses.SmoothHinge(p=8)
    display = LossDisplay.from_loss(loss, n_points=6001)
    less = display.difference - 0.01 * display.parabola
    assert second_differences(less).min() < 0 < second_differences(display.difference)[1000]


def test_the_approximated_loss():
    display = LossDisplay.from_loss(losses.SmoothHinge(p=8), approximates=lambda u: np.maximum(u, 0))
    np.testing.assert_array_equal(display.approximated_.get_ydata(), np.maximum(display.u, 0))
    np.testing.assert_array_equal(display.approximated, np.maximum(display.u, 0))
    gap = display.value - display.approximated
    assert gap.max() == pytest.approx(np.log(2) / 8)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["ψ(u)", "A u²", "A u² − ψ(u)", "approximated"]


def test_a_new_figure_or_the_axes_that_are_given():
    assert LossDisplay.from_loss("huber").figure_ is not LossDisplay.from_loss("huber").figure_
    figure, axes = plt.subplots(1, 2)
    display = LossDisplay.from_loss("huber", ax=axes[1], limits=(-1, 1), n_points=11, linewidth=3)
    assert display.ax_ is axes[1]
    assert display.figure_ is figure
    assert not axes[0].lines
    assert {line.get_linewidth() for line in axes[1].lines} == {3}
    assert axes[1].get_xlim() == (-1, 1)
    assert axes[1].get_title() == "huber"
    # drawn again elsewhere, with the same numbers
    assert display.plot(axes[0]) is display
    assert display.ax_ is axes[0]
    np.testing.assert_array_equal(axes[0].lines[0].get_ydata(), axes[1].lines[0].get_ydata())


@pytest.mark.parametrize("loss", ["hinge", losses.SmoothHinge(p=8)])
def test_a_display_of_a_loss_is_drawn_on_demand(loss):
    settings = {"approximates": lambda u: np.maximum(u, 0), "limits": (-1, 3), "n_points": 11}
    display = LossDisplay(loss, **settings)
    assert not plt.get_fignums()
    assert display.plot(linewidth=2) is display
    at_once = LossDisplay.from_loss(loss, **settings, linewidth=2)
    assert display.ax_.get_title() == at_once.ax_.get_title() == "smooth_hinge"
    for line, expected in zip(display.ax_.lines, at_once.ax_.lines, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), expected.get_xydata())
        assert line.get_linewidth() == 2
    with pytest.raises(ValueError, match="Unknown loss 'hing': did you mean"):
        LossDisplay("hing")


def test_the_whole_loss_is_in_the_picture():
    display = LossDisplay.from_loss("squared_hinge")
    bottom, top = display.ax_.get_ylim()
    assert bottom < 0 < display.value.max() < top
    # a loss that is zero everywhere in the picture
    LossDisplay.from_loss("squared_hinge", limits=(-2, -1))


@pytest.mark.parametrize("limits", [(1, 1), (2, 1), (0, np.inf), (0, np.nan), (0, 1, 2), 3])
def test_bad_limits(limits):
    with pytest.raises(ValueError, match="limits must be two finite numbers"):
        LossDisplay.from_loss("huber", limits=limits)


@pytest.mark.parametrize("n_points", [1, 2.5, "many", True])
def test_bad_number_of_points(n_points):
    with pytest.raises(ValueError, match="n_points must be an integer"):
        LossDisplay.from_loss("huber", n_points=n_points)


def test_bad_loss_and_bad_function():
    with pytest.raises(ValueError, match="no_such_loss"):
        LossDisplay.from_loss("no_such_loss")
    with pytest.raises(TypeError, match="loss must be a name"):
        LossDisplay.from_loss(3)
    with pytest.raises(TypeError, match="approximates must be a function"):
        LossDisplay.from_loss("huber", approximates=losses.Huber())
    with pytest.raises(ValueError, match="a value for each of 601 residuals"):
        LossDisplay.from_loss("huber", approximates=lambda u: 0.0)
    # nothing was drawn before the mistake was seen
    assert not plt.get_fignums()


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'unisvm\[plot\]'"):
        LossDisplay.from_loss("huber")


def test_unisvm_does_not_import_matplotlib():
    code = "import sys, unisvm.plotting; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
