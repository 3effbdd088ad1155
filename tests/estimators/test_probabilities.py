"""The plain classifier has no probabilities, and says what has them, also to those who ask by way of scikit-learn."""

import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unisvm import UniSVMClassifier, UniSVMClassifierCV

HINT = r"UniSVMClassifierCV, which has predict_proba, or .*CalibratedClassifierCV\(UniSVMClassifier\(\)\)"


@pytest.fixture
def model():
    return UniSVMClassifier(C=1.0, rank=30, random_state=0)


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
def test_the_method_is_not_there_and_asking_for_it_says_what_to_do(labels, model, method):
    assert not hasattr(model, method)
    with pytest.raises(AttributeError, match=HINT):
        getattr(model, method)
    with pytest.raises(AttributeError, match=HINT):
        getattr(model.fit(*labels), method)


def test_the_hint_reaches_those_who_vote_softly(labels, model):
    X, y = labels
    voting = VotingClassifier([("first", model), ("second", model)], voting="soft").fit(X, y)
    with pytest.raises(AttributeError, match=HINT):
        voting.predict(X)


def test_the_hint_reaches_those_who_predict_out_of_fold(labels, model):
    with pytest.raises(AttributeError, match=HINT):
        cross_val_predict(model, *labels, method="predict_proba")


def test_the_hint_is_the_cause_of_the_error_of_a_pipeline(labels, model):
    pipeline = make_pipeline(StandardScaler(), model).fit(*labels)
    with pytest.raises(AttributeError, match="predict_proba") as error:
        _ = pipeline.predict_proba
    assert "CalibratedClassifierCV" in str(error.value.__cause__)


def test_a_scorer_of_probabilities_names_what_is_missing(labels, model):
    with pytest.raises(AttributeError, match="UniSVMClassifier has none of the following attributes: predict_proba"):
        cross_val_score(model, *labels, scoring="roc_auc_ovr", error_score="raise")


def test_what_needs_no_probabilities_takes_decisions(labels, model):
    X, y = labels
    assert StackingClassifier([("model", model)], cv=2).fit(X, y).score(X, y) > 0.9
    assert cross_val_score(model, X, y, scoring="roc_auc", cv=2).min() > 0.9


def test_both_ways_that_the_hint_names_have_probabilities(labels, model):
    X, y = labels
    search = UniSVMClassifierCV(["hinge"], Cs=[1.0], gammas=["scale"], rank=30, cv=2, random_state=0)
    for estimator in (search, CalibratedClassifierCV(model, cv=2)):
        assert estimator.fit(X, y).predict_proba(X).shape == (len(y), 2)
