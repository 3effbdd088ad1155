"""The systems that the paper compares with, as estimators with a full kernel, or landmarks, and no intercept.

Classifiers are binary, and regressors take targets in their own units. The extra ``baselines`` has a further solver for
quadratic programs that are badly conditioned. LibSVM, which has an intercept, is scikit-learn's `SVC` and `SVR` with
C = 1/(2λm).
"""

from unisvm.baselines.epsilon_insensitive import SVR
from unisvm.baselines.least_squares import (
    LSSVM,
    LSSVR,
    PrimalLSSVM,
    PrimalLSSVR,
    RobustSparseLSSVM,
    RobustSparseLSSVR,
)
from unisvm.baselines.margin import L1SVM, L2SVM
from unisvm.baselines.robust_margin import MultiStageSVM, RampSVM, ReweightedL2SVM, RobustL2SVM

__all__ = [
    "L1SVM",
    "L2SVM",
    "LSSVM",
    "LSSVR",
    "MultiStageSVM",
    "PrimalLSSVM",
    "PrimalLSSVR",
    "RampSVM",
    "ReweightedL2SVM",
    "RobustL2SVM",
    "RobustSparseLSSVM",
    "RobustSparseLSSVR",
    "SVR",
]


def __dir__() -> list[str]:
    return sorted(__all__)
