"""Kernel machines with any least-squares DC loss: fast, large, and honest about dirty labels."""

import importlib

# first: with NumPy or SciPy imported before it, glibc gives memory back and takes it again in 14,000 page faults more,
# and the import takes a sixth longer (benchmarks/import_time.py)
import sklearn  # noqa: F401

from unisvm import kernels, losses, model_files, model_selection, nystrom, solvers
from unisvm._version import __version__
from unisvm._warnings import FitWarning
from unisvm.classifier import UniSVMClassifier
from unisvm.model_files import load, save
from unisvm.model_selection import UniSVMClassifierCV, UniSVMRegressorCV, path
from unisvm.regressor import UniSVMRegressor

# packages that no fit needs: they are imported when they are first asked for
_ON_DEMAND = ("baselines", "datasets", "feature_selection", "onnx_export", "plotting", "tables", "wrong_labels")
_FUNCTIONS_ON_DEMAND = {"suspects": "unisvm.wrong_labels", "to_onnx": "unisvm.onnx_export"}

__all__ = [
    "__version__",
    "FitWarning",
    "UniSVMClassifier",
    "UniSVMClassifierCV",
    "UniSVMRegressor",
    "UniSVMRegressorCV",
    "kernels",
    "load",
    "losses",
    "model_files",
    "model_selection",
    "nystrom",
    "path",
    "save",
    "solvers",
    "suspects",
    "to_onnx",
    *_ON_DEMAND,
]


def __getattr__(name: str):
    if name in _ON_DEMAND:
        return importlib.import_module(f"unisvm.{name}")
    if name in _FUNCTIONS_ON_DEMAND:
        return getattr(importlib.import_module(_FUNCTIONS_ON_DEMAND[name]), name)
    raise AttributeError(f"module 'unisvm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
