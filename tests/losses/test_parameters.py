"""Ranges of the losses' parameters."""

import inspect

import numpy as np
import pytest

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
