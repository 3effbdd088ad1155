"""Losses as scikit-learn objects: parameters, their ranges, copies."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from losses.loss_cases import each_case, each_loss
from unisvm import losses
from unisvm.losses.registry import LOSSES

NOT_NUMBERS = [np.nan, np.inf, -np.inf, "1", None, True, [1.0]]
POSITIVE = [0, 0.0, -1.0, -1e-300]
FRACTION = [0.0, 1.0, 1.5, -0.1]
AT_LEAST_TWO = [1.0, 1.999999, 0.0, -2.0]

#: by parameter, or by loss and parameter where they differ
WRONG = {
    "a": POSITIVE,
    "b": POSITIVE,
    "p": POSITIVE,
    "delta": POSITIVE,
    "epsilon": [-1e-9, -1.0],
    "tau": FRACTION,
    "saturating.c": AT_LEAST_TWO,
    "log_saturating.c": AT_LEAST_TWO,
    "tukey.c": POSITIVE,
}

PARAMETERS = [(name, parameter) for name, loss in LOSSES.items() for parameter in inspect.signature(loss).parameters]


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_a_parameter_out_of_range_is_refused(name, parameter):
    wrong = WRONG.get(f"{name}.{parameter}") or WRONG[parameter]
    for value in [*wrong, *NOT_NUMBERS]:
        with pytest.raises(ValueError, match=f"{parameter} must be a number"):
            losses.get(name, **{parameter: value})
        with pytest.raises(ValueError, match=rf"^{LOSSES[name].__name__}: {parameter} must be a number"):
            LOSSES[name](**{parameter: value})


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_set_params_is_checked_when_the_loss_is_used(name, parameter):
    loss = losses.get(name)
    wrong = WRONG.get(f"{name}.{parameter}") or WRONG[parameter]
    for value in [*wrong, *NOT_NUMBERS]:
        # scikit-learn sets parameters one at a time, so that setting alone must not raise
        loss.set_params(**{parameter: value})
        with pytest.raises(ValueError, match=rf"^{LOSSES[name].__name__}: {parameter} must be a number"):
            losses.get(loss)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("smooth_epsilon_insensitive", {"epsilon": 0}),
        ("saturating", {"c": 2}),
        ("log_saturating", {"c": 2}),
        ("huber", {"delta": 1e-12}),
        ("expectile", {"tau": 1e-9}),
        ("smooth_pinball", {"tau": 1 - 1e-9}),
    ],
)
def test_the_edge_of_the_range_is_allowed(name, params):
    loss = losses.get(name, **params)
    assert losses.get(loss) is loss
    assert np.isfinite(loss.A)
    assert loss.A > 0


@pytest.mark.parametrize("c", [2 + 1e-15, 2 + 1e-13, 2 + 1e-10, 2.001])
@pytest.mark.parametrize("name", ["saturating", "log_saturating"])
def test_a_is_continuous_at_c_of_two(name, c):
    # ψ'' is largest near 0 there, where rounding could make the place negative
    limit = losses.get(name, a=2.0, b=2.0, c=2.0).A
    assert limit == pytest.approx(1)
    near = losses.get(name, a=2.0, b=2.0, c=c).A
    assert near == pytest.approx(limit, rel=0.01)


@each_case()
def test_parameters_survive_copies(case):
    loss = case.loss
    u = np.linspace(-5, 5, 101)
    for copy in (clone(loss), pickle.loads(pickle.dumps(loss)), type(loss)(**loss.get_params())):
        assert copy is not loss
        assert type(copy) is type(loss)
        assert copy.get_params() == loss.get_params()
        assert (copy.A, copy.bound, copy.is_convex, copy.tasks) == (loss.A, loss.bound, loss.is_convex, loss.tasks)
        np.testing.assert_array_equal(copy.value(u), loss.value(u))
        np.testing.assert_array_equal(copy.derivative(u), loss.derivative(u))


@each_case()
def test_set_params_changes_everything_that_depends_on_them(case):
    # a default loss told to be this one must become it, constants included
    loss = type(case.loss)().set_params(**case.loss.get_params())
    u = np.linspace(-5, 5, 101)
    assert (loss.A, loss.bound) == (case.loss.A, case.loss.bound)
    np.testing.assert_array_equal(loss.value(u), case.loss.value(u))
    np.testing.assert_array_equal(loss.derivative(u), case.loss.derivative(u))


@each_loss()
def test_parameters_are_stored_as_given(name):
    # scikit-learn's clone compares them by identity
    loss = losses.get(name)
    for parameter, value in loss.get_params().items():
        assert value is inspect.signature(type(loss)).parameters[parameter].default
        given = np.float64(0.75) if parameter == "tau" else np.float64(3.25)
        assert type(loss)(**{parameter: given}).get_params()[parameter] is given


@each_loss()
def test_unknown_parameters_are_refused(name):
    with pytest.raises(TypeError, match=r"nonsense|takes no arguments"):
        losses.get(name, nonsense=1.0)
    with pytest.raises(ValueError, match="nonsense"):
        losses.get(name).set_params(nonsense=1.0)
