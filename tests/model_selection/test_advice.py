"""Warnings of a search whose best cell is at the edge of the grid, where scores clearly rise towards it."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, make_moons
from sklearn.preprocessing import StandardScaler

from unisvm import FitWarning, UniSVMClassifierCV, UniSVMRegressorCV

X = np.random.RandomState(0).uniform(-1, 1, size=(1000, 2))
#: squares of a board of which kernels that are too wide see nothing
SQUARES = (np.sin(9 * X).prod(axis=1) > 0).astype(int)
HEIGHT = np.sin(9 * X).prod(axis=1)
GRID = {
    "losses": "squared_hinge",
    "Cs": [1.0, 10.0, 100.0, 1000.0],
    "gammas": [2.0, 8.0, 32.0, 128.0],
    "random_state": 0,
}
GRID |= {"rank": 200}


def said(model, rows=X, target=SQUARES):
    """The only warning of a search, which is about the line that asks for it, but for those of its refit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows, target)
    assert all((warning.category, warning.filename) == (FitWarning, __file__) for warning in caught)
    messages = [str(warning.message) for warning in caught if "landmarks leave out" not in str(warning.message)]
    assert len(messages) <= 1
    return messages[0] if messages else None


def test_best_cell_inside():
    model = UniSVMClassifierCV(**GRID)
    assert said(model) is None
    assert 2.0 < model.gamma_ < 128.0
    assert 1.0 < model.C_ < 1000.0


@pytest.mark.parametrize(
    ("axes", "found", "advice"),
    [
        ({"Cs": [1e-3, 1e-1, 1e-2]}, "the highest C, 0.1,", "Give higher values in Cs."),
        ({"gammas": [2.0, 0.5, 0.1]}, "the highest gamma, 2,", "Give higher values in gammas."),
        ({"gammas": [1e2, 1e3, 1e4]}, "the lowest gamma, 100,", "Give lower values in gammas."),
        (
            {"Cs": [1e-3, 1e-2, 1e-1], "gammas": [0.5, 2.0, 8.0]},
            "the highest C, 0.1, and the highest gamma, 8,",
            "Give higher values in Cs and higher values in gammas.",
        ),
        (
            {"gammas": [0.1, 0.5, 2.0], "kernel": ["rbf", "linear"]},
            "the highest gamma, 2,",
            "Give higher values in gammas with kernel='rbf'.",
        ),
    ],
    ids=["C", "highest gamma", "lowest gamma", "both", "one of two kernels"],
)
@pytest.mark.parametrize("refit", [True, False])
def test_best_cell_at_the_edge(axes, found, advice, refit):
    message = said(UniSVMClassifierCV(**GRID | axes, refit=refit))
    assert message.startswith(f"The best cell of the grid has {found}")
    assert message.endswith(advice)


def test_lowest_C():
    """Of targets that are noise, fits that hardly move from their mean are the best."""
    noise = np.random.RandomState(1).normal(size=1000)
    grid = GRID | {"losses": "least_squares", "Cs": [10.0, 100.0, 1000.0], "gammas": [64.0]}
    message = said(UniSVMRegressorCV(**grid, scoring="r2"), target=noise)
    assert "the lowest C, 10, and" in message
    assert message.endswith("Give lower values in Cs.")


def test_adaptive_search():
    """It has the scores of its neighbour with few landmarks only."""
    grid = GRID | {"Cs": [1e-3, 1e-2, 1e-1], "gammas": [32.0], "rank": None, "search": "adaptive"}
    model = UniSVMClassifierCV(**grid)
    assert "the highest C, 0.1, and" in said(model)
    assert set(model.cv_results_["n_landmarks"].tolist()) == {300, 1000}


@pytest.mark.parametrize(
    "axes",
    [
        {"Cs": [1e-3, 1e-2], "gammas": [0.1, 0.5]},
        {"Cs": [1e-3, 1e-2, 1e-2, 1e-3], "gammas": [0.5]},
        {"gammas": ["scale", "auto", 0.5], "Cs": [1.0]},
        # as good as each other
        {"gammas": [8.0, 8.0 + 1e-6, 8.0 + 2e-6], "Cs": [3.0, 3.0 + 1e-6, 3.0 + 2e-6]},
        {"gammas": [0.1, 0.5, 2.0], "cv": 2},
    ],
    ids=["two values", "two different values", "names", "flat", "two splits"],
)
def test_nothing_to_say(axes):
    assert said(UniSVMClassifierCV(**GRID | axes)) is None


def test_regressor():
    message = said(UniSVMRegressorCV(**GRID | {"losses": "huber", "gammas": [0.1, 0.5, 2.0]}), target=HEIGHT)
    assert "the highest gamma, 2, and" in message


ORDINARY = {
    "iris": (UniSVMClassifierCV, load_iris(return_X_y=True)),
    "breast cancer": (UniSVMClassifierCV, load_breast_cancer(return_X_y=True)),
    "digits": (UniSVMClassifierCV, tuple(array[:600] for array in load_digits(return_X_y=True))),
    "moons": (UniSVMClassifierCV, make_moons(500, noise=0.25, random_state=0)),
    "diabetes": (UniSVMRegressorCV, load_diabetes(return_X_y=True)),
}


@pytest.mark.parametrize(("cls", "data"), ORDINARY.values(), ids=ORDINARY.keys())
def test_quiet_on_ordinary_data(cls, data):
    assert said(cls(random_state=0), StandardScaler().fit_transform(data[0]), data[1]) is None
