"""The calibration error of a search's probabilities is that of scikit-learn's, but for a hundredth."""

import numpy as np
import pytest
from sklearn import __version__ as sklearn_version
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold

from calibration import expected_calibration_error
from unisvm import UniSVMClassifierCV, datasets
from unisvm.model_selection.calibration import METHODS

FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)


def test_expected_calibration_error():
    classes = np.array(["no", "yes"])
    p = np.array([[0.9, 0.1], [0.08, 0.92], [0.35, 0.65], [1.0, 0.0], [0.5, 0.5]])
    # bins of 0.9333 to 1, 0.8667 to 0.9333, 0.6 to 0.6667 and 0.4667 to 0.5333
    y = np.array(["no", "no", "yes", "no", "yes"])
    expected = (abs(1 - 1.0) + abs(1 - 0.9 - 0.92) + abs(1 - 0.65) + abs(0 - 0.5)) / 5
    assert expected_calibration_error(y, p, classes) == pytest.approx(expected)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("wrong", [0.0, 0.2])
@pytest.mark.parametrize("method", METHODS)
def test_error_beside_scikit_learns(method, wrong, n_classes):
    if method == "temperature" and tuple(map(int, sklearn_version.split(".")[:2])) < (1, 8):
        pytest.skip("temperature is new in scikit-learn 1.8")
    X, y = make_classification(
        5500, 8, n_informative=5, n_classes=n_classes, n_clusters_per_class=2, flip_y=0.05, random_state=0
    )
    # probabilities tell how often labels like those of the training rows occur
    y, _ = datasets.flip_labels(y, wrong, random_state=0)
    X, X_test, y, y_test = X[:1500], X[1500:], y[:1500], y[1500:]
    model = UniSVMClassifierCV(
        ["smooth_hinge", "saturating"], Cs=[1.0, 10.0], gammas=[0.1], cv=FOLDS, rank=150, random_state=0
    )
    model.set_params(calibration=method, drop_suspects=False).fit(X, y)
    peer = CalibratedClassifierCV(clone(model.best_estimator_), method=method, ensemble=False, cv=FOLDS).fit(X, y)
    ours, theirs = (
        expected_calibration_error(y_test, each.predict_proba(X_test), model.classes_) for each in (model, peer)
    )
    assert ours <= theirs + 0.01
