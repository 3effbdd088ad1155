"""Warnings of fits that cannot be good, and silence about those that can."""

import os
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from unisvm import FitWarning, UniSVMClassifier, UniSVMRegressor, datasets

RNG = np.random.RandomState(0)
X = RNG.randn(400, 4)
Y = X[:, 0] + X[:, 1] ** 2 > 1
DATA_SETS = [
    *("a9a", "abalone", "cadata", "concrete", "covtype", "cpu_act", "diabetes", "house_8L", "ijcnn1", "kin8nm"),
    *("letter", "mnist", "phoneme", "shuttle", "skin_nonskin", "spambase", "w8a", "winered"),
]


def messages(model, rows, y):
    """The warnings of a fit."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows, y)
    assert all(warning.category is FitWarning and warning.filename == __file__ for warning in caught)
    return [str(warning.message) for warning in caught]


def test_a_trace_left_out_is_told_of():
    (message,) = messages(UniSVMClassifier(gamma=10.0, rank=50, C=1.0), X, Y)
    assert "50 landmarks leave out" in message
    assert "Raise rank, or lower gamma" in message
    model = UniSVMClassifier(gamma=0.05, rank=50, C=1.0)
    assert messages(model, X, Y) == []
    assert model.trace_error_ < 0.1


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "linear"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_columns_of_different_scales_are_named(kernel, kind):
    uneven = X * [1, 1, 1e-3, 1e4]
    found = messages(UniSVMClassifier(kernel=kernel, C=1.0), kind(uneven), Y)
    assert any("The scales of the columns of X differ by" in message for message in found)
    assert any("column 3 has" in message and "column 2 " in message for message in found)


def test_rare_columns_are_not_of_another_scale():
    rare = (RNG.rand(5000, 1) < 0.002).astype(float)
    rows = np.c_[RNG.randn(5000, 3), rare]
    y = rows[:, 0] > 0
    for prepared in (rows, StandardScaler().fit_transform(rows)):
        assert messages(UniSVMClassifier(C=1.0, rank=300), prepared, y) == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_kernel_that_hardly_tells_rows_apart(dtype):
    uneven = np.c_[RNG.randn(3000, 4), 1000 * RNG.rand(3000)].astype(dtype)
    model = UniSVMRegressor("least_squares", C=10.0)
    (message,) = messages(model, uneven, uneven[:, 0])
    assert f"rank_ is {model.rank_}, where 1000 landmarks could be had" in message
    (message,) = messages(UniSVMClassifier(gamma=1e-9, C=1.0), X, Y)
    assert "where 400 landmarks could be had" in message


def test_one_column_needs_few_landmarks():
    rows = RNG.randn(1000, 1)
    assert messages(UniSVMRegressor(C=1.0), rows, np.sin(3 * rows[:, 0])) == []


def test_kernels_of_the_user_are_not_judged_by_columns():
    def kernel(A, B):
        return np.exp(-((A[:, None, :2] - B[None, :, :2]) ** 2).sum(axis=2))

    uneven = X * [1, 1, 1e-5, 1e5]
    assert messages(UniSVMClassifier(kernel=kernel, C=1.0), uneven, Y) == []


@pytest.mark.parametrize(("degree", "n_monomials"), [(2, 15), (3, 35)])
def test_short_rows_beside_long_ones_keep_their_part_of_a_polynomial_kernel(degree, n_monomials):
    lengths = np.where(RNG.rand(3000, 1) < 0.02, 1000, 1)
    rows = (RNG.randn(3000, 4) * lengths).astype(np.float32)
    y = rows[:, 0] + rows[:, 1] > 0
    model = UniSVMClassifier(kernel="poly", degree=degree, coef0=1.0, gamma=0.25, C=1.0, random_state=0)
    with warnings.catch_warnings():
        # as for the fit itself, it goes by the long rows
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, y)
    assert model.rank_ >= 0.9 * n_monomials


@pytest.mark.skipif(not os.environ.get("UNISVM_DATA"), reason="needs the data sets of the benchmarks")
@pytest.mark.parametrize("name", DATA_SETS)
def test_prepared_sets_are_fitted_in_silence(name):
    data = datasets.load(name)
    rows, y = (data["X_train"], data["y_train"]) if "X_train" in data else (data["X"], data["y"])
    chosen = np.random.RandomState(0).permutation(len(y))[:1500]
    rows, y = rows[chosen], y[chosen]
    rows = rows / 255 if name == "mnist" else rows if name in ("a9a", "w8a") else StandardScaler().fit_transform(rows)
    estimator = UniSVMRegressor if len(np.unique(y)) > 30 else UniSVMClassifier
    for kernel in ("rbf", "linear"):
        model = estimator(kernel=kernel, random_state=0, C=1.0, rank=1200)
        assert messages(model, rows, y) == []
