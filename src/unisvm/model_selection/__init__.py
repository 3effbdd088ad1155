"""Estimators that choose loss, C, kernel and gamma by cross-validation, and fits along C."""

from unisvm.model_selection.classifier_search import UniSVMClassifierCV
from unisvm.model_selection.path import Path, path
from unisvm.model_selection.regressor_search import UniSVMRegressorCV

__all__ = ["Path", "UniSVMClassifierCV", "UniSVMRegressorCV", "path"]


def __dir__() -> list[str]:
    return sorted(__all__)
