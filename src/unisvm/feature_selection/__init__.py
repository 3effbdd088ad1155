"""Linear machines that select columns of X by saturating penalties, as scikit-learn's selectors do."""

from unisvm.feature_selection.choice import SelectionPath
from unisvm.feature_selection.classifier import SparseUniSVMClassifier
from unisvm.feature_selection.regressor import SparseUniSVMRegressor

__all__ = ["SelectionPath", "SparseUniSVMClassifier", "SparseUniSVMRegressor"]


def __dir__() -> list[str]:
    return sorted(__all__)
