"""Accuracies on real data: the paper's Adult columns, ijcnn1 and mnist. Needs UNISVM_DATA."""

import os

import numpy as np
import pytest

from unisvm import UniSVMClassifier, datasets, losses

pytestmark = pytest.mark.skipif(
    not os.environ.get("UNISVM_DATA"), reason="set UNISVM_DATA to the folder with a9a.npz, ijcnn1.npz and mnist.npz"
)

#: the ten losses of the paper's tables, and its accuracies on Adult, clean and with 20 % of the labels flipped
ADULT = [
    (losses.LeastSquares(), 84.56, 84.55),
    (losses.SmoothHinge(p=10), 84.68, 82.27),
    (losses.SquaredHinge(), 85.13, 84.55),
    (losses.TruncatedSquaredHinge(a=2), 84.75, 84.26),
    (losses.TruncatedLeastSquares(a=2), 83.32, 82.62),
    (losses.QuadraticRamp(a=2), 84.82, 84.25),
    (losses.SoftplusRamp(a=2, p=10), 84.20, 83.80),
    (losses.Saturating(2, 2, 2), 84.75, 84.38),
    (losses.Saturating(2, 2, 4), 85.09, 85.09),
    (losses.Saturating(2, 3, 4), 85.16, 84.83),
]


@pytest.fixture(scope="module")
def adult():
    arrays = datasets.load("a9a")
    return {name: array.astype(np.float64) if name.startswith("X") else array for name, array in arrays.items()}


def adult_accuracy(loss, adult, labels, seed):
    model = UniSVMClassifier(
        loss, C=1 / (2e-5 * len(labels)), gamma=2.0**-10, rank_tol=1e-3, fit_intercept=False, random_state=seed
    )
    return 100 * model.fit(adult["X_train"], labels).score(adult["X_test"], adult["y_test"])


@pytest.mark.parametrize(("loss", "clean"), [(loss, clean) for loss, clean, _ in ADULT], ids=str)
def test_adult(adult, loss, clean):
    assert adult_accuracy(loss, adult, adult["y_train"], 0) == pytest.approx(clean, abs=0.15)


@pytest.mark.parametrize(("loss", "clean", "flipped"), ADULT, ids=str)
def test_adult_on_average(adult, loss, clean, flipped):
    labels = adult["y_train"]
    accuracy = np.mean([adult_accuracy(loss, adult, labels, seed) for seed in range(3)])
    assert accuracy == pytest.approx(clean, abs=0.15)
    dirty = [datasets.flip_labels(labels, 0.2, random_state=seed)[0] for seed in range(3)]
    accuracy = np.mean([adult_accuracy(loss, adult, wrong, seed) for seed, wrong in enumerate(dirty)])
    assert accuracy == pytest.approx(flipped, abs=0.4)


def test_ijcnn1():
    data = datasets.load("ijcnn1")
    model = UniSVMClassifier(
        "saturating", C=1 / (2e-5 * len(data["y_train"])), gamma=1.0, fit_intercept=False, random_state=0
    )
    assert model.fit(data["X_train"], data["y_train"]).score(data["X_test"], data["y_test"]) >= 0.984


def test_mnist():
    data = datasets.load("mnist")
    X, X_test = (data[name].astype(np.float32) / 255 for name in ("X_train", "X_test"))
    model = UniSVMClassifier(C=10.0, gamma=0.02, random_state=0).fit(X, data["y_train"])
    assert model.dual_coef_.shape[0] == 45
    assert model.score(X_test, data["y_test"]) >= 0.973
