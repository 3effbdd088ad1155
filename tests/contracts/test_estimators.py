"""scikit-learn's checks of estimators: the plain ones pass all of them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, UniSVMRegressorCV

SMALL = {"Cs": [0.1, 1.0], "gammas": ["scale"], "cv": 3, "random_state": 0}


# the checks fit with max_iter=5 and on hopeless data
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        UniSVMClassifier(),
        UniSVMRegressor(),
        UniSVMClassifier(indefinite="krein", fit_intercept="penalised"),
        UniSVMRegressor(indefinite="clip", fit_intercept="penalised"),
        UniSVMClassifier(relevance="learned"),
        UniSVMRegressor(relevance="learned"),
        UniSVMClassifier("least_squares", kernel="sigmoid", indefinite="krein"),
        UniSVMRegressor("least_squares", kernel="sigmoid", indefinite="krein"),
        UniSVMClassifier(cells=20, rank=20, random_state=0),
        UniSVMRegressor(cells=20, partitions=2, rank=20, random_state=0),
    ]
)
def test_estimator(estimator, check):
    check(estimator)


def no_proba_in_predict(estimator):
    """As in SVC: labels come from the decisions, which the probabilities of several classes need not agree with."""
    if isinstance(estimator, UniSVMClassifierCV):
        return {"check_classifiers_train": "predict goes by the decisions, not by the probabilities made from them"}
    return {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    # the checks want a score of at least 0.5, as R² has it
    [UniSVMClassifierCV(["hinge", "saturating"], **SMALL), UniSVMRegressorCV(["huber"], scoring=None, **SMALL)],
    expected_failed_checks=no_proba_in_predict,
)
def test_search(estimator, check):
    check(estimator)
