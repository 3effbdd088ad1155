"""Estimators that choose loss, C, kernel and gamma by cross-validation, and fits along C."""

from unisvm.model_selection.estimators import UniSVMClassifierCV, UniSVMRegressorCV
from unisvm.model_selection.paths import Path, path

__all__ = ["Path", "UniSVMClassifierCV", "UniSVMRegressorCV", "path"]
