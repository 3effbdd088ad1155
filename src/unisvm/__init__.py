"""Kernel machines with any least-squares DC loss: fast, large, and honest about dirty labels."""

from unisvm import datasets, kernels, losses, solvers
from unisvm._version import __version__
from unisvm._warnings import FitWarning
from unisvm.classifier import UniSVMClassifier
from unisvm.model_selection import UniSVMClassifierCV, UniSVMRegressorCV, path
from unisvm.onnx_export import to_onnx
from unisvm.regressor import UniSVMRegressor

__all__ = [
    "__version__",
    "FitWarning",
    "UniSVMClassifier",
    "UniSVMClassifierCV",
    "UniSVMRegressor",
    "UniSVMRegressorCV",
    "datasets",
    "kernels",
    "losses",
    "path",
    "solvers",
    "to_onnx",
]
