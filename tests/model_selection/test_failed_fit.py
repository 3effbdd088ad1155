"""A search that fails, wherever it does, leaves the estimator as it was: unfitted, or with the model it had."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import NotFittedError

from unisvm import UniSVMClassifierCV, UniSVMRegressorCV

X, y = make_moons(60, noise=0.2, random_state=0)
TABLE = pd.DataFrame(X, columns=["east", "north"])
SWAPPED = TABLE[["north", "east"]]
WAVE = 100 * np.sin(3 * X[:, 0])
SMALL = {"Cs": [1.0], "gammas": [0.5], "cv": 3, "random_state": 0}
ESTIMATORS = pytest.mark.parametrize(
    ("cls", "target"), [(UniSVMClassifierCV, y), (UniSVMRegressorCV, WAVE)], ids=["classifier", "regressor"]
)


class BreakingKernel:
    """An RBF kernel that raises when it is asked for more blocks than it has left."""

    def __init__(self):
        self.left = np.inf

    def __call__(self, A, B):
        self.left -= 1
        if self.left < 0:
            raise RuntimeError("the kernel broke")
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=-1))


def blocks_of(model, rows, target):
    """Number of blocks that a fit asks the model's kernel for."""
    model.kernel.left = 10**6
    model.fit(rows, target)
    return 10**6 - model.kernel.left


def learned(model):
    """Identities of all attributes but parameters."""
    return {name: id(value) for name, value in vars(model).items() if name not in model.get_params()}


@ESTIMATORS
def test_wherever_the_kernel_breaks(cls, target):
    """In the search or in the refit, which come one after the other."""
    kernel = BreakingKernel()
    other = target[::-1]
    n_search = blocks_of(cls(**SMALL, kernel=kernel, refit=False), SWAPPED, other)
    n_blocks = blocks_of(cls(**SMALL, kernel=kernel), SWAPPED, other)
    assert 1 <= n_search < n_blocks
    for n in range(n_blocks):
        unfitted, fitted = cls(**SMALL, kernel=kernel), cls(**SMALL, kernel=kernel).fit(TABLE, target)
        before, expected = learned(fitted), fitted.predict(TABLE)
        for model in (unfitted, fitted):
            kernel.left = n
            with pytest.raises(RuntimeError, match="the kernel broke"):
                model.fit(SWAPPED, other)
            kernel.left = np.inf
        assert learned(unfitted) == {}
        with pytest.raises(NotFittedError):
            unfitted.predict(TABLE)
        assert learned(fitted) == before
        np.testing.assert_array_equal(fitted.predict(TABLE), expected)


MISTAKES = {
    "weights": ({}, {"sample_weight": -np.ones(60)}),
    "splits": ({"cv": [(np.arange(30), np.arange(30, 90))]}, {}),
    "memory": ({"memory_limit": "1KB"}, {}),
    "scorer": ({"scoring": lambda model, rows, target: np.nan}, {}),
    "landmarks": ({"landmarks": [999]}, {}),
}


@ESTIMATORS
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("parameters", "given"), MISTAKES.values(), ids=MISTAKES.keys())
def test_columns_are_those_of_the_model(cls, target, parameters, given):
    model = cls(**SMALL).fit(TABLE, target)
    expected = model.predict(TABLE)
    wide = SWAPPED.assign(height=1.0)
    for rows in (SWAPPED, wide, wide.to_numpy()):
        with pytest.raises((ValueError, MemoryError)):
            model.set_params(**parameters).fit(rows, target, **given)
        assert model.feature_names_in_.tolist() == ["east", "north"]
        assert model.n_features_in_ == 2
        np.testing.assert_array_equal(model.predict(TABLE), expected)


def test_columns_of_a_file_are_those_of_the_model(tmp_path):
    """The least index of a LIBSVM file says which columns those of another are."""
    paths = {least: tmp_path / f"from_{least}.txt" for least in (0, 1)}
    for least, path in paths.items():
        lines = [f"{label} {least}:{a!r} {least + 1}:{b!r}" for label, (a, b) in zip(y, X.tolist(), strict=True)]
        path.write_text("\n".join(lines) + "\n")
    model = UniSVMClassifierCV(**SMALL).fit(str(paths[1]))
    expected = model.predict(str(paths[1]))
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(str(paths[0]), sample_weight=-np.ones(60))
    np.testing.assert_array_equal(model.predict(str(paths[1])), expected)


def test_calibration_that_fails():
    """No row that a split leaves out has a class of positive weight, so that there is no isotonic curve."""
    model = UniSVMClassifierCV(**SMALL).fit(TABLE, y)
    before = learned(model)
    labels = np.where(np.arange(60) < 30, y, 2)
    model.set_params(
        class_weight={0: 1.0, 1: 1.0, 2: 0.0}, calibration="isotonic", scoring=lambda model, rows, labels: 0.0
    )
    with pytest.raises(ValueError, match="0 sample"):
        model.set_params(cv=[(np.arange(30), np.arange(30, 60))]).fit(SWAPPED, labels)
    assert learned(model) == before


@ESTIMATORS
def test_a_model_without_a_refit(cls, target):
    """It is that of the last fit that succeeded, whatever the parameters are now."""
    kernel = BreakingKernel()
    model = cls(**SMALL, kernel=kernel, refit=False)
    n_search = blocks_of(model, X, target)
    kernel.left = n_search
    with pytest.raises(RuntimeError, match="the kernel broke"):
        model.set_params(refit=True).fit(X, target)
    with pytest.raises(AttributeError, match=f"last fit of this {cls.__name__} was with refit=False"):
        model.predict(X)
