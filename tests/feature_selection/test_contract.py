"""scikit-learn's checks of estimators and selectors: both machines pass all of them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from unisvm.feature_selection import SparseUniSVMClassifier, SparseUniSVMRegressor


# the checks fit with max_iter=5 and on hopeless data
@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::unisvm.FitWarning", "ignore:No features were selected"
)
@parametrize_with_checks([SparseUniSVMClassifier(), SparseUniSVMRegressor()])
def test_estimator(estimator, check):
    check(estimator)
