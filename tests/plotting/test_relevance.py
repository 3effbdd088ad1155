"""The display of importances: which columns it shows, and what it refuses."""

import numpy as np
import pandas as pd
import pytest

from unisvm import UniSVMClassifier
from unisvm.plotting import RelevanceDisplay

X = np.random.RandomState(0).randn(80, 3)
y = X[:, 1] > 0


def test_bars_are_those_of_the_estimator():
    model = UniSVMClassifier(relevance="learned", random_state=0).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    display = RelevanceDisplay.from_estimator(model, most=2, color="tab:red")
    assert display.names[0] == "b"
    assert [bar.get_width() for bar in display.bars_] == sorted(model.feature_importances_, reverse=True)[:2]
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == display.names.tolist()
    again = RelevanceDisplay.from_estimator(model, names=["u", "v", "w"], ax=display.ax_)
    assert again.ax_ is display.ax_
    assert again.names[0] == "v"


def test_what_has_no_importances():
    with pytest.raises(ValueError, match="fit it with relevance='learned'"):
        RelevanceDisplay.from_estimator(UniSVMClassifier().fit(X, y))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, -1.0],), "numbers from 0"),
        (([[1.0]],), "numbers from 0"),
        (([1.0, np.nan],), "numbers from 0"),
        (([1.0, 2.0], ["a"]), "those of 2 columns"),
    ],
)
def test_wrong_numbers(arguments, message):
    with pytest.raises(ValueError, match=message):
        RelevanceDisplay(*arguments)
    with pytest.raises(ValueError, match="most must be a positive integer"):
        RelevanceDisplay([1.0], most=0)
