"""Models of every kind for the tests of model files, and comparisons to the last bit."""

import numpy as np
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, UniSVMRegressorCV, kernels, losses
from unisvm.feature_selection import SparseUniSVMClassifier, SparseUniSVMRegressor
from unisvm.tables import TableEncoder

X, CLASSES = make_blobs(90, n_features=3, centers=3, cluster_std=2.5, random_state=0)
X = np.round(X, 2)
WAVE = np.sin(X[:, 0]) + 0.3 * X[:, 1]
# of more rows, so that the widths of intervals vary with them
LONG_X = np.tile(X, (3, 1)) + np.repeat([[0.0], [0.01], [0.02]], 90, axis=0)
LONG_WAVES = np.sin(LONG_X[:, :2]) + np.random.RandomState(0).normal(size=(270, 2)) * [[0.01, 0.1]]
LONG_WAVES[LONG_X[:, 2] > 0, 0] *= 10
TARGETS = {
    "two classes": (CLASSES > 0).astype(int),
    "three classes": np.array(["ant", "bee", "zebu"])[CLASSES],
    "labels": np.stack([CLASSES == 0, CLASSES != 2], axis=1).astype(int),
    "target": WAVE,
    "two targets": np.stack([WAVE, X[:, 2]], axis=1),
}
KERNELS = {
    "rbf": "rbf",
    "laplacian": kernels.Laplacian(gamma=0.2),
    "linear": "linear",
    "linear on landmarks": kernels.Linear(),
    "poly": "poly",
    "sigmoid": kernels.Sigmoid(gamma=0.01, coef0=0.5),
    "precomputed": "precomputed",
    "scaled": kernels.Scaled(kernels.RBF(0.3), np.zeros(3), np.array([1.0, 2.0, 4.0])),
}
SETTINGS = {"rank": 12, "random_state": 0, "tol": 1e-2, "C": 1.0}


def plain(target, kernel="rbf", **parameters):
    """An estimator for such targets that is not fitted."""
    cls = UniSVMRegressor if target in ("target", "two targets") else UniSVMClassifier
    if kernel == "linear on landmarks":
        parameters["landmarks"] = np.arange(0, 90, 6)
    return cls(kernel=KERNELS[kernel], **(SETTINGS | parameters))


def rows_for(kernel, dtype=np.float64, form=np.asarray):
    """Rows of this precision and form, or those of a kernel matrix."""
    return form(np.asarray(X @ X.T if kernel == "precomputed" else X).astype(dtype))


def cases():
    """Estimators by name, each with rows and targets."""
    flag, letters = TARGETS["two classes"], TARGETS["three classes"]
    search = {"rank": 12, "random_state": 0, "tol": 1e-2, "Cs": [1.0, 10.0], "gammas": [0.1, "scale"], "cv": 3}
    few_losses = ["hinge", losses.Feng(a=3.0)]
    gaps = X.copy()
    gaps[::7, 1] = np.nan
    return {
        "classifier": (plain("three classes"), X, letters),
        "ovr": (plain("three classes", multi_class="ovr"), X.astype(np.float32), letters),
        "sparse": (plain("two classes"), sparse.csr_array(X), flag),
        "labels": (plain("labels"), X, TARGETS["labels"]),
        "regressor": (plain("target"), X, WAVE),
        "cells": (plain("three classes", cells=30, partitions=2), X, letters),
        "cells of reals": (plain("two targets", cells=30, scale="standard"), X, TARGETS["two targets"]),
        "search": (UniSVMClassifierCV(few_losses, **search), X, letters),
        "isotonic": (UniSVMClassifierCV(few_losses, calibration="isotonic", scoring="roc_auc", **search), X, flag),
        "temperature": (UniSVMClassifierCV(few_losses, calibration="temperature", **search), X, letters),
        "search of reals": (UniSVMRegressorCV(**search), X, WAVE),
        "intervals": (UniSVMRegressorCV(["huber"], **(search | {"rank": 40})), LONG_X, LONG_WAVES),
        "selection": (SparseUniSVMClassifier(random_state=0, n_alphas=4, width=0.01), X, letters),
        "selection of reals": (SparseUniSVMRegressor(random_state=0, n_alphas=4, width=0.01), X, WAVE),
        "table": (make_pipeline(TableEncoder(), plain("three classes")), gaps, letters),
        "pipeline": (make_pipeline(SimpleImputer(), StandardScaler(), plain("three classes")), gaps, letters),
    }


NAMES = list(cases())


def small_models():
    """Fitted models by name, each with the rows that it takes and the targets."""
    return {name: (model.fit(rows, y), rows, y) for name, (model, rows, y) in cases().items()}


# ------------------------------------------------------------------ comparison


def assert_same(one, other, where="model"):
    """Two values have the same types and, to the last bit, the same numbers."""
    assert type(one) is type(other), where
    if isinstance(one, np.ma.MaskedArray):
        assert_same(np.ma.getdata(one), np.ma.getdata(other), f"{where} data")
        assert_same(np.ma.getmaskarray(one), np.ma.getmaskarray(other), f"{where} mask")
    elif isinstance(one, np.ndarray) and one.dtype == object:
        assert one.shape == other.shape, where
        assert_same(one.tolist(), other.tolist(), where)
    elif isinstance(one, np.ndarray | np.generic):
        assert one.dtype == other.dtype, where
        assert one.shape == other.shape, where
        assert one.tobytes() == other.tobytes(), where
        # a product of the same numbers in another order in memory may be rounded otherwise
        assert one.ndim < 2 or one.flags.fnc == other.flags.fnc, where
    elif sparse.issparse(one):
        assert one.shape == other.shape, where
        for name in ("data", "indices", "indptr"):
            assert_same(getattr(one, name), getattr(other, name), f"{where}.{name}")
    elif isinstance(one, dict):
        assert list(one) == list(other), where
        for name, value in one.items():
            assert_same(value, other[name], f"{where}[{name!r}]")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for i, (value, same) in enumerate(zip(one, other, strict=True)):
            assert_same(value, same, f"{where}[{i}]")
    elif isinstance(one, np.random.RandomState):
        assert_same(one.get_state(legacy=False), other.get_state(legacy=False), where)
    elif callable(one) or type(one).__module__.startswith("scipy.interpolate"):
        assert repr(one).split(" at 0x")[0] == repr(other).split(" at 0x")[0], where
    elif hasattr(one, "__dict__"):
        attributes = vars(one)
        assert sorted(attributes) == sorted(vars(other)), where
        for name, value in attributes.items():
            assert_same(value, vars(other)[name], f"{where}.{name}")
    else:
        assert repr(one) == repr(other), where


def answers(model, rows, y):
    """Whatever a model says of rows and targets, by the name of the method."""
    said = {"predict": model.predict(rows)}
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            said[name] = getattr(model, name)(rows)
    if hasattr(model, "predict_interval"):
        said["predict_interval"] = model.predict_interval(rows, 0.8)
    if hasattr(model, "trust"):
        said["trust"] = model.trust(rows, y)
    said["score"] = model.score(rows, y)
    return said
