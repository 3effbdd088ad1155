"""scikit-learn's own checks, none expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from unisvm import UniSVMClassifier, UniSVMRegressor


# the checks fit with max_iter=5 and on hopeless data
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([UniSVMClassifier(), UniSVMRegressor()])
def test_estimator(estimator, check):
    check(estimator)
