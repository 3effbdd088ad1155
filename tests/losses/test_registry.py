"""Losses by name."""

import pytest

from losses.loss_cases import each_loss
from unisvm import UniSVMClassifier, UniSVMRegressor, losses

CLASSIFICATION = {
    "squared_hinge",
    "truncated_squared_hinge",
    "smooth_hinge",
    "quadratic_ramp",
    "softplus_ramp",
    "feng",
    "saturating",
    "logistic",
    "log_saturating",
}
REGRESSION = {
    "smooth_epsilon_insensitive",
    "huber",
    "truncated_huber",
    "smooth_absolute",
    "smooth_pinball",
    "expectile",
    "welsch",
    "cauchy",
    "tukey",
}
BOTH = {"least_squares", "truncated_least_squares"}


def test_names_by_task():
    assert set(losses.names("classification")) == CLASSIFICATION | BOTH
    assert set(losses.names("regression")) == REGRESSION | BOTH
    assert set(losses.names()) == CLASSIFICATION | REGRESSION | BOTH
    assert len(losses.names()) == len(set(losses.names()))


def test_names_of_an_unknown_task():
    with pytest.raises(ValueError, match=r"'nonsense'.*'classification', 'regression'"):
        losses.names("nonsense")
    with pytest.raises(ValueError, match="did you mean 'regression'"):
        losses.names("regresion")


def test_names_gives_a_list_of_its_own():
    losses.names().clear()
    assert losses.names()


@each_loss()
def test_get_by_name(name):
    loss = losses.get(name)
    assert isinstance(loss, losses.Loss)
    assert loss.name == name
    assert all((name in losses.names(task)) == (task in loss.tasks) for task in ("classification", "regression"))
    assert losses.get(name) is not loss


@each_loss()
def test_every_class_is_exported(name):
    cls = type(losses.get(name))
    assert getattr(losses, cls.__name__) is cls
    assert cls.__name__ in losses.__all__


@pytest.mark.parametrize(
    ("alias", "expected"),
    [
        ("hinge", losses.SmoothHinge),
        ("ramp", losses.QuadraticRamp),
        ("epsilon_insensitive", losses.SmoothEpsilonInsensitive),
        ("absolute", losses.SmoothAbsolute),
        ("pinball", losses.SmoothPinball),
        ("quantile", losses.SmoothPinball),
    ],
)
def test_aliases_stand_for_the_smoothings(alias, expected):
    assert type(losses.get(alias)) is expected
    assert alias not in losses.names()
    assert losses.ALIASES[alias] == expected.name


def test_aliases_take_parameters():
    assert losses.get("hinge", p=20.0).p == 20.0
    assert losses.get("quantile", tau=0.9).get_params() == {"tau": 0.9, "p": 100.0}


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [("hing", "hinge"), ("hubber", "huber"), ("welch", "welsch"), ("logistik", "logistic"), ("Tukey", "tukey")],
)
def test_an_unknown_name_gets_the_nearest_ones(wrong, nearest):
    with pytest.raises(ValueError, match=f"Unknown loss '{wrong}': did you mean .*'{nearest}'"):
        losses.get(wrong)


def test_a_name_that_is_near_nothing_gets_the_whole_list():
    with pytest.raises(ValueError, match="Unknown loss 'xyzzy': use one of") as error:
        losses.get("xyzzy")
    assert all(repr(name) in str(error.value) for name in losses.names())


def test_get_leaves_an_instance_as_it_is():
    loss = losses.Huber(delta=0.5)
    assert losses.get(loss) is loss
    other = losses.get(loss, delta=2.0)
    assert (loss.delta, other.delta) == (0.5, 2.0)
    # parameters that are not given stay
    assert losses.get(losses.TruncatedHuber(delta=0.5, a=7.0), delta=1.0).get_params() == {"delta": 1.0, "a": 7.0}


@pytest.mark.parametrize("wrong", [abs, losses.Huber, 3, None])
def test_get_refuses_what_is_no_loss(wrong):
    with pytest.raises(TypeError, match=r"losses\.custom"):
        losses.get(wrong)


@each_loss()
def test_estimators_take_exactly_the_losses_of_their_task(name):
    X, y = [[0.0], [1.0], [2.0], [4.0]], [0, 1, 0, 1]
    for task, model in (("classification", UniSVMClassifier(name)), ("regression", UniSVMRegressor(name))):
        if name in losses.names(task):
            assert model.fit(X, y).predict(X).shape == (4,)
        else:
            with pytest.raises(ValueError, match=f"not for {task}"):
                model.fit(X, y)


class Times(losses.Loss):
    """A loss times a factor: one of its parameters is a loss, with parameters of its own."""

    name = "times"
    ranges = {"factor": (0.0, 1e3, False)}

    def __init__(self, loss, factor=1.0):
        self.loss = loss
        self.factor = factor

    @property
    def tasks(self):
        return self.loss.tasks

    @property
    def A(self):
        return self.factor * self.loss.A

    def _value(self, u):
        return self.factor * self.loss.value(u)

    def _derivative(self, u):
        return self.factor * self.loss.derivative(u)


def test_get_gives_parameters_to_a_loss_that_holds_another():
    huber = losses.Huber(delta=0.5)
    other = losses.get(Times(huber), factor=3.0)
    assert (other.factor, other.loss, other.A) == (3.0, huber, 3.0)
