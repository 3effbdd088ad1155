"""Kernel machines with any least-squares DC loss: fast, large, and honest about dirty labels."""

from unisvm import datasets, kernels, losses, solvers
from unisvm.classifier import UniSVMClassifier
from unisvm.model_selection import UniSVMClassifierCV, UniSVMRegressorCV, path
from unisvm.regressor import UniSVMRegressor

__all__ = [
    "UniSVMClassifier",
    "UniSVMClassifierCV",
    "UniSVMRegressor",
    "UniSVMRegressorCV",
    "datasets",
    "kernels",
    "losses",
    "path",
    "solvers",
]
__version__ = "0.1.0"
