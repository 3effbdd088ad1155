"""Each display draws the picture that was looked at, of numbers that are the same everywhere."""

import numpy as np
import pytest

from plotting.pictures import picture
from unisvm import losses
from unisvm.model_selection import Path
from unisvm.plotting import (
    ConvergenceDisplay,
    IntervalDisplay,
    LossDisplay,
    LowRankDisplay,
    PathDisplay,
    RelevanceDisplay,
    TrustDisplay,
)

rng = np.random.RandomState(0)
STEPS = np.arange(12)
HISTORY = {
    "objective": list(np.stack([1 + np.exp(-STEPS), 2 + 3 * np.exp(-0.5 * STEPS)], axis=1)),
    "stationarity": list(np.stack([0.3 * np.exp(-2 * STEPS), 0.1 * np.exp(-0.8 * STEPS) * (1 + STEPS % 2)], axis=1)),
    "n_sweeps": list(2 * STEPS + 1),
    "seconds": list(0.1 * STEPS**1.5),
}
SCORES = np.concatenate([rng.beta(1, 8, 60), rng.beta(6, 1.5, 400)])
SUSPECTS, WRONG = SCORES < 0.25, np.arange(460) < 60
x = rng.uniform(-3, 3, 80)
TARGETS, PREDICTED = np.sinc(x) + 0.2 * rng.randn(80), np.sinc(x)
INTERVAL = np.stack([PREDICTED - 0.1 - 0.1 * abs(x), PREDICTED + 0.1 + 0.1 * abs(x)], axis=1)
Cs = np.logspace(-2, 2, 5)
SCORES_ALONG_C = 0.9 - 0.05 * np.log10(Cs)[None, :, None] ** 2 * np.array([1.0, 0.5])[:, None, None]
PATH = Path(
    ["hinge", "saturating"],
    Cs,
    [],
    objective=(1 / (1 + Cs))[None, :, None] * np.array([1.0, 0.7])[:, None, None],
    train_scores=SCORES_ALONG_C[:, :, 0],
    test_scores=SCORES_ALONG_C + 0.02 * np.array([-1, 0, 1]),
)


def test_loss(tmp_path):
    with picture("loss", tmp_path) as ax:
        LossDisplay.from_loss(losses.SmoothHinge(p=2), approximates=lambda u: np.maximum(u, 0), ax=ax)


def test_path(tmp_path):
    with picture("path", tmp_path, n_axes=2) as (left, right):
        PathDisplay(PATH).plot(ax=left)
        PathDisplay(PATH).plot(ax=right, what="objective")


def test_convergence(tmp_path):
    with picture("convergence", tmp_path, n_axes=2) as (left, right):
        ConvergenceDisplay(HISTORY, tol=1e-4).plot(left)
        ConvergenceDisplay(HISTORY).plot(right, against="seconds")


def test_trust(tmp_path):
    with picture("trust", tmp_path, n_axes=2) as (left, right):
        TrustDisplay.from_scores(SCORES, SUSPECTS, wrong=WRONG, ax=left)
        # one bin that dwarfs the others
        TrustDisplay.from_scores(np.concatenate([SCORES, np.ones(3000)]), SUSPECTS.nonzero()[0], ax=right)


def test_low_rank(tmp_path):
    with picture("low_rank", tmp_path) as ax:
        LowRankDisplay(np.exp(-np.sqrt(np.arange(40))), rank_tol=1e-3).plot(ax)


def test_relevance(tmp_path):
    with picture("relevance", tmp_path) as ax:
        RelevanceDisplay(
            [0.1, 0.02, 0.5, 0.0, 0.3, 0.08], ["age", "wage", "height", "width", "depth", "year"], most=5
        ).plot(ax)


def test_interval(tmp_path):
    with picture("interval", tmp_path, n_axes=2) as (left, right):
        IntervalDisplay.from_predictions(TARGETS, PREDICTED, INTERVAL, ax=left)
        IntervalDisplay.from_predictions(TARGETS, PREDICTED, INTERVAL, x=x, ax=right)


def test_a_picture_without_one_of_its_lines_is_told_apart(tmp_path):
    with pytest.raises(AssertionError, match="RMS Value"), picture("low_rank", tmp_path) as ax:  # noqa: PT012
        LowRankDisplay(np.exp(-np.sqrt(np.arange(40)))).plot(ax)
        ax.set_ylim(*np.exp(np.array([-1.05, 0.05]) * np.sqrt(39)))
