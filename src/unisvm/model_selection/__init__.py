"""Estimators that choose loss, C, kernel and gamma by cross-validation, and fits along C."""

from unisvm.model_selection.estimators import UniSVMClassifierCV, UniSVMRegressorCV
from unisvm.model_selection.path import Path, path

__all__ = ["Path", "UniSVMClassifierCV", "UniSVMRegressorCV", "path"]


def __dir__() -> list[str]:
    return sorted(__all__)
