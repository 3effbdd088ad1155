"""Parameters of a loss that is given by its name: beside it, one by one, in a grid, and in copies of the estimator."""

import pickle
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unisvm import UniSVMClassifier, UniSVMRegressor, losses
from unisvm.feature_selection import SparseUniSVMRegressor

SMALL = {"C": 1.0, "rank": 30, "random_state": 0}


def of_loss(model):
    return {name: value for name, value in model.get_params().items() if name.startswith("loss__")}


def test_a_name_with_parameters_is_the_instance(real_targets):
    X, y = real_targets
    named = UniSVMRegressor("quantile", loss_params={"tau": 0.95}, **SMALL).fit(X, y)
    instance = UniSVMRegressor(losses.SmoothPinball(tau=0.95), **SMALL).fit(X, y)
    np.testing.assert_array_equal(named.predict(X), instance.predict(X))
    np.testing.assert_array_equal(named.trust(X, y), instance.trust(X, y))
    assert np.mean(y < named.predict(X)) > 0.9
    assert not np.array_equal(named.trust(X, y), UniSVMRegressor("quantile", **SMALL).fit(X, y).trust(X, y))


def test_parameters_beside_an_instance_override_its_own(real_targets):
    X, y = real_targets
    loss = losses.TruncatedHuber(delta=0.5, a=7.0)
    model = UniSVMRegressor(loss, loss_params={"a": 1.0}, **SMALL).fit(X, y)
    expected = UniSVMRegressor(losses.TruncatedHuber(delta=0.5, a=1.0), **SMALL).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert of_loss(model) == {"loss__delta": 0.5, "loss__a": 1.0}
    model.set_params(loss__a=2.0, loss__delta=0.25)
    assert (model.loss_params, loss.delta) == ({"a": 2.0}, 0.25)
    assert of_loss(model) == {"loss__delta": 0.25, "loss__a": 2.0}


def test_a_constructor_takes_the_parameters_of_an_estimator_with_a_named_loss():
    for model in (UniSVMClassifier(), UniSVMRegressor("quantile", loss_params={"tau": 0.9})):
        assert of_loss(model) == {}
        again = type(model)(**model.get_params())
        assert again.get_params() == model.get_params()
        assert model.set_params(**again.get_params()).get_params() == again.get_params()


def test_parameters_of_an_instance_are_listed():
    assert of_loss(UniSVMClassifier(losses.Feng(a=3.0))) == {"loss__a": 3.0}
    assert "loss__a" not in UniSVMClassifier(losses.Feng()).get_params(deep=False)
    # what cannot be fitted is still an estimator with parameters
    for wrong in (UniSVMClassifier("fengg"), UniSVMClassifier(loss_params={"b": 1}), UniSVMClassifier(loss_params=3)):
        assert of_loss(wrong) == {}


def test_one_parameter_is_set_without_touching_the_dictionary_that_was_given():
    given = {"tau": 0.9}
    model = UniSVMRegressor("quantile", loss_params=given)
    assert model.set_params(loss__p=50.0) is model
    assert model.loss_params == {"tau": 0.9, "p": 50.0}
    assert given == {"tau": 0.9}


def test_the_loss_is_set_before_its_parameters():
    model = UniSVMRegressor().set_params(loss__tau=0.9, loss="quantile")
    assert (model.loss, model.loss_params) == ("quantile", {"tau": 0.9})
    instance = losses.SmoothPinball()
    model = UniSVMRegressor().set_params(loss__tau=0.9, loss=instance)
    assert (model.loss_params, instance.tau) == (None, 0.9)


def test_copies_have_the_parameters(real_targets):
    X, y = real_targets
    model = UniSVMRegressor("quantile", loss_params={"tau": 0.9}, **SMALL)
    assert repr(clone(model)) == repr(model)
    assert repr(UniSVMRegressor("quantile", loss_params={"tau": 0.9})) == (
        "UniSVMRegressor(loss='quantile', loss_params={'tau': 0.9})"
    )
    model.fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.loss_params == {"tau": 0.9}


def test_a_grid_over_a_parameter_of_the_default_loss(labels):
    X, y = labels
    search = GridSearchCV(UniSVMClassifier(**SMALL), {"loss__a": [0.01, 2.0]}, cv=2).fit(X, y)
    by_hand = [
        GridSearchCV(UniSVMClassifier(losses.Feng(a=a), **SMALL), {}, cv=2).fit(X, y).best_score_ for a in (0.01, 2.0)
    ]
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], by_hand)
    assert search.best_estimator_.loss_params == {"a": search.best_params_["loss__a"]}


def test_a_grid_over_losses_and_their_parameters_in_a_pipeline(labels):
    X, y = labels
    name = "unisvmclassifier__loss"
    grid = [{name: ["hinge"], f"{name}__p": [5.0]}, {name: ["feng", "ramp"], f"{name}__a": [0.01, 2.0]}]
    pipeline = make_pipeline(StandardScaler(), UniSVMClassifier("logistic", **SMALL))
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 5
    best = search.best_estimator_[-1]
    assert best.loss == search.best_params_[name]
    assert len(best.loss_params) == 1


@pytest.mark.parametrize(
    ("use", "error"),
    [
        (
            lambda X, y: UniSVMRegressor("quantile", loss_params={"a": 2}).fit(X, y),
            "The loss 'smooth_pinball' has no parameter 'a'. Its parameters are 'p', 'tau'.",
        ),
        (
            lambda X, y: UniSVMRegressor("huber").set_params(loss__a=2),
            "The loss 'huber' has no parameter 'a'. Its parameters are 'delta'.",
        ),
        (
            lambda X, y: UniSVMRegressor(loss_params={"delta": 1.0}).set_params(loss="least_squares").fit(X, y),
            "The loss 'least_squares' has no parameter 'delta'. It has no parameters.",
        ),
        (
            lambda X, y: SparseUniSVMRegressor(loss_params={"c": 1}).fit(X, y),
            "The loss 'welsch' has no parameter 'c'. Its parameters are 'a', 'b'.",
        ),
        (
            lambda X, y: UniSVMRegressor("huber", loss_params={"delta": -1.0}).fit(X, y),
            "Huber: delta must be a number in [1e-15, 1e+15), got -1.0.",
        ),
        (lambda X, y: UniSVMRegressor("hubber").set_params(loss__delta=2), "Unknown loss 'hubber': did you mean"),
    ],
)
def test_a_parameter_that_the_loss_does_not_have(real_targets, use, error):
    with pytest.raises(ValueError, match=re.escape(error)):
        use(*real_targets)


def test_parameters_that_are_no_dictionary(labels):
    with pytest.raises(TypeError, match="loss_params must be a dict of parameters of the loss, or None"):
        UniSVMClassifier(loss_params=0.5).fit(*labels)


def test_parameters_of_the_loss_are_none_of_the_estimator():
    with pytest.raises(TypeError, match="unexpected keyword argument 'tau'"):
        UniSVMRegressor("quantile", tau=0.95)


def test_the_machines_that_select_columns_take_them_too(real_targets):
    X, y = real_targets
    settings = {"alpha": 0.01, "width": 0.01, "random_state": 0}
    model = SparseUniSVMRegressor(**settings).set_params(loss__a=5.0).fit(X, y)
    expected = SparseUniSVMRegressor(losses.Welsch(a=5.0), **settings).fit(X, y)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
