"""The display of trust counts the rows and the suspects of each bin."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_moons

from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, kernels
from unisvm.plotting import TrustDisplay

rng = np.random.RandomState(0)
SCORES = np.concatenate([rng.rand(50), [0.0, 1.0, 0.5]])
FLAGGED = SCORES < 0.3
X, y = make_moons(150, noise=0.25, random_state=0)


def counted(scores, bins):
    """Rows of each bin, one by one."""
    counts = [0] * bins
    for score in scores:
        counts[min(int(score * bins), bins - 1)] += 1
    return counts


def test_counts_of_all_and_of_the_suspects():
    display = TrustDisplay.from_scores(SCORES, FLAGGED, wrong=[0, 51, 3], bins=8)
    assert display.steps_.get_data().values.tolist() == counted(SCORES, 8)
    assert display.flagged_steps_.get_data().values.tolist() == counted(SCORES[FLAGGED], 8)
    assert display.wrong_steps_.get_data().values.tolist() == counted(SCORES[[0, 51, 3]], 8)
    np.testing.assert_array_equal(display.steps_.get_data().edges, np.arange(9) / 8)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["53 rows", f"{FLAGGED.sum()} suspects", "3 known to be wrong"]
    assert display.ax_.get_yscale() == "linear"


def test_only_what_is_known_is_drawn():
    display = TrustDisplay(SCORES)
    assert not plt.get_fignums()
    figure, ax = plt.subplots()
    assert display.plot(ax, alpha=0.3) is display
    assert (display.ax_, display.figure_) == (ax, figure)
    assert display.steps_.get_alpha() == 0.3
    assert display.flagged_steps_ is display.wrong_steps_ is display.flagged is display.wrong is None
    none = TrustDisplay.from_scores(SCORES, [])
    assert none.flagged_counts.sum() == 0


def test_one_bin_that_dwarfs_the_others():
    display = TrustDisplay.from_scores(np.concatenate([SCORES, np.ones(2000)]), bins=10)
    assert display.ax_.get_yscale() == "log"
    low, high = display.ax_.get_ylim()
    assert 0 < low < 1
    assert high > 2000


def test_report():
    report = SimpleNamespace(scores=SCORES, flagged=FLAGGED)
    display = TrustDisplay.from_report(report, bins=5)
    np.testing.assert_array_equal(display.flagged_counts, counted(SCORES[FLAGGED], 5))


def test_estimators():
    model = UniSVMClassifier("saturating", kernel=kernels.RBF(1.0), random_state=0).fit(X, y)
    flagged = np.flatnonzero(model.predict(X) != y)
    display = TrustDisplay.from_estimator(model, X, y, flagged=flagged)
    np.testing.assert_array_equal(display.scores, model.trust(X, y))
    assert np.flatnonzero(display.flagged).tolist() == flagged.tolist()
    search = UniSVMClassifierCV(["saturating"], Cs=[1.0], gammas=[1.0], cv=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(TrustDisplay.from_estimator(search, X, y).scores, search.best_estimator_.trust(X, y))
    real = UniSVMRegressor("welsch", random_state=0).fit(X[:, :1], X[:, 1])
    display = TrustDisplay.from_estimator(real, X[:, :1], X[:, 1], ax=plt.subplots()[1])
    np.testing.assert_array_equal(display.counts, counted(real.trust(X[:, :1], X[:, 1]), 40))


@pytest.mark.parametrize("scores", [[0.5, 1.5], [-0.1], [np.nan], [[0.5]], 0.5])
def test_bad_scores(scores):
    with pytest.raises(ValueError, match="scores must be numbers between 0 and 1"):
        TrustDisplay(scores)


@pytest.mark.parametrize("rows", [[True], [53], [-1], [0.5], [[1]], "all"])
def test_bad_rows(rows):
    with pytest.raises(ValueError, match="flagged must tell of each of 53 rows"):
        TrustDisplay(SCORES, rows)


def test_other_mistakes():
    with pytest.raises(ValueError, match="bins must be a positive integer, got 0"):
        TrustDisplay(SCORES, bins=0)
    with pytest.raises(TypeError, match="RBF has no method trust"):
        TrustDisplay.from_estimator(kernels.RBF(), X, y)
