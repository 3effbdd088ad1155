"""The systems that the paper compares with, as estimators: binary classifiers with a full kernel and no intercept.

Those that solve a quadratic program need the extra ``baselines``. L1SVM and SVR are scikit-learn's `SVC` and `SVR`
with C = 1/(2λm).
"""

from unisvm.baselines.least_squares import LSSVM, PrimalLSSVM, RobustSparseLSSVM
from unisvm.baselines.margin import L2SVM, MultiStageSVM, RampSVM, ReweightedL2SVM

__all__ = ["LSSVM", "L2SVM", "MultiStageSVM", "PrimalLSSVM", "RampSVM", "ReweightedL2SVM", "RobustSparseLSSVM"]
