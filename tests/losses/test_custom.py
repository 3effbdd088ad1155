"""Losses made of a user's functions: the attributes that are found, and the functions that are refused."""

import math
import pickle

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import clone

from losses.loss_cases import CASES
from unisvm import UniSVMClassifier, UniSVMRegressor, losses


def square(u):
    return u**2


def twice(u):
    return 2 * u


def softplus(u, p):
    return np.logaddexp(0, p * u) / p


@pytest.mark.parametrize("task", ["classification", "regression", "both"])
def test_attributes(task):
    loss = losses.custom(square, twice, task=task)
    assert isinstance(loss, losses.Loss)
    assert loss.tasks == ({"classification", "regression"} if task == "both" else {task})
    assert pytest.approx(1, rel=1e-6) == loss.A
    assert loss.is_convex
    assert loss.bound == np.inf
    assert losses.get(loss) is loss


@pytest.mark.parametrize("case", CASES, ids=lambda case: repr(case.loss))
def test_every_registered_loss_is_found_again(case):
    registered = case.loss
    loss = losses.custom(registered.value, registered.derivative, task="both")
    assert pytest.approx(registered.A, rel=1e-3) == loss.A
    assert loss.is_convex == registered.is_convex
    assert loss.has_jumps == registered.has_jumps
    assert loss.bound == pytest.approx(registered.bound, rel=1e-6)


@pytest.mark.parametrize(
    ("value", "derivative", "constant"),
    [
        # sharp, and nowhere near a point of any grid
        (lambda u: softplus(u - 0.123457, 1000), lambda u: expit(1000 * (u - 0.123457)), 125),
        (lambda u: softplus(u + 7.654321, 300), lambda u: expit(300 * (u + 7.654321)), 37.5),
        (lambda u: np.sqrt(1 + u**2) - 1, lambda u: u / np.sqrt(1 + u**2), 0.5),
        (lambda u: 5 + np.log(np.cosh(np.clip(u, -300, 300))), lambda u: np.tanh(u) * (np.abs(u) < 300), 0.5),
        (lambda u: u**2 / (1 + u**2), lambda u: 2 * u / (1 + u**2) ** 2, 1),
        (lambda u: 1 - np.cos(np.clip(u, 0, np.pi)), lambda u: np.sin(np.clip(u, 0, np.pi)), 0.5),
        # steepest far from 0
        (lambda u: softplus(u - 300, 2.0), lambda u: expit(2.0 * (u - 300)), 0.25),
    ],
)
def test_constant_is_found(value, derivative, constant):
    found = losses.custom(value, derivative, task="both").A
    assert found == pytest.approx(constant, rel=1e-3)


def test_a_given_constant_is_kept():
    assert losses.custom(square, twice, A=1.0, task="both").A == 1
    assert losses.custom(square, twice, A=7.5, task="both").A == 7.5


@pytest.mark.parametrize("jump", [0.0, 0.4321, -3.0, 15.0, 150.0])
def test_hinge_is_refused(jump):
    with pytest.raises(ValueError, match="derivative jumps upwards near u = ") as error:
        losses.custom(lambda u: np.maximum(u - jump, 0), lambda u: (u > jump).astype(float), task="classification")
    where = float(str(error.value).split("near u = ")[1].split(",")[0])
    assert where == pytest.approx(jump, abs=1e-2)


def test_other_kinks_are_refused():
    for value, derivative in (
        (np.abs, np.sign),
        (lambda u: np.clip(u, 0, 2), lambda u: ((u > 0) & (u < 2)).astype(float)),
        (lambda u: np.maximum(np.abs(u) - 0.1, 0), lambda u: np.sign(u) * (np.abs(u) > 0.1)),
        # no jump, but an infinite slope
        (lambda u: np.abs(u) ** 1.5, lambda u: 1.5 * np.sign(u) * np.sqrt(np.abs(u))),
    ):
        with pytest.raises(ValueError, match="Not a least-squares DC loss"):
            losses.custom(value, derivative, task="regression")


def test_a_kink_is_refused_even_if_the_loss_is_steeper_elsewhere():
    # Huber's parabola has ψ'' = 20 on ten cells of a grid of width 0.01; a kink of 0.1 looks like 10 on one
    huber = losses.get("huber", delta=0.05)
    with pytest.raises(ValueError, match="Not a least-squares DC loss"):
        losses.custom(
            lambda u: huber.value(u) + 0.1 * np.maximum(u - 3, 0),
            lambda u: huber.derivative(u) + 0.1 * (u > 3),
            task="regression",
        )


@pytest.mark.parametrize(
    "derivative",
    [lambda u: -2 * u, lambda u: u, lambda u: 2 * u + 0.1, lambda u: 2 * np.abs(u), lambda u: 2 * u * (u > 0)],
)
def test_a_wrong_derivative_is_refused(derivative):
    with pytest.raises(ValueError, match=r"derivative is not the derivative of value: at u = "):
        losses.custom(square, derivative, task="both")


def test_a_derivative_that_is_wrong_far_out_is_refused():
    # ψ stops growing at |u| = 30 but ψ' does not know
    with pytest.raises(ValueError, match="derivative is not the derivative of value"):
        losses.custom(lambda u: np.minimum(u**2, 900), twice, task="both")


def test_the_papers_truncated_huber_derivative_is_refused():
    # it is 0 from |u| = a on, but ψ grows until a + δ/2: a short stretch
    truncated, huber = losses.get("truncated_huber", delta=0.1, a=2.0), losses.get("huber", delta=0.1)
    with pytest.raises(ValueError, match="derivative is not the derivative of value"):
        losses.custom(truncated.value, lambda u: huber.derivative(u) * (np.abs(u) <= 2.0), task="regression")


@pytest.mark.parametrize("centre", [0.0, 0.7, -12.34])
def test_a_too_small_constant_is_refused(centre):
    welsch = losses.get("welsch", a=1.0, b=1.0)
    with pytest.raises(ValueError, match=r"not convex for A = 0\.99: near u = ") as error:
        losses.custom(
            lambda u: welsch.value(u - centre), lambda u: welsch.derivative(u - centre), A=0.99, task="regression"
        )
    message = str(error.value)
    where = float(message.split("near u = ")[1].split()[0])
    # ψ'' = 2(1 − 2u²)exp(−u²) exceeds 2 · 0.99 only within 0.06 of the centre
    assert where == pytest.approx(centre, abs=0.06)
    assert "Use A ≥ 1," in message


@pytest.mark.parametrize("A", [0, -1.0, np.nan, np.inf])
def test_a_constant_that_is_no_positive_number_is_refused(A):
    with pytest.raises(ValueError, match="A must be a positive number"):
        losses.custom(square, twice, A=A, task="both")


def test_a_negative_loss_is_refused():
    with pytest.raises(ValueError, match=r"must not be negative, but value\(1\) = -0.5"):
        losses.custom(lambda u: (u - 1) ** 2 - 0.5, lambda u: 2 * (u - 1), task="both")


@pytest.mark.parametrize("wrong", [lambda u: 1.0, lambda u: u[:-1] ** 2, lambda u: u[:, None] ** 2, lambda u: u.sum()])
def test_a_wrong_shape_is_refused(wrong):
    with pytest.raises(ValueError, match="value must return an array of its argument's shape"):
        losses.custom(wrong, twice, task="both")
    with pytest.raises(ValueError, match="derivative must return an array of its argument's shape"):
        losses.custom(square, wrong, task="both")


def test_numbers_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="value is not finite at u = "):
        losses.custom(lambda u: np.log(1 + np.exp(u)), expit, task="both")
    with pytest.raises(ValueError, match=r"derivative is not finite at u = 0\b"):
        losses.custom(lambda u: np.sqrt(1 + u**2), lambda u: u / np.sqrt(1 + u**2) * (u / u), task="both")


def square_of_positive(u):
    return u * u if u > 0 else 0.0


def twice_positive(u):
    return 2 * u if u > 0 else 0.0


SCALAR = {"if": (square_of_positive, twice_positive), "math": (lambda u: math.hypot(1, u) - 1, np.tanh)}


@pytest.mark.parametrize("functions", SCALAR.values(), ids=SCALAR)
def test_a_function_of_single_numbers_gets_the_advice_that_mends_it(functions):
    advice = r"value takes single numbers, .* but no arrays .* np.where\(.* np.vectorize\(value, otypes=\[float\]\)"
    with pytest.raises(ValueError, match=advice):
        losses.custom(*functions, task="both")
    with pytest.raises(ValueError, match="derivative takes single numbers"):
        losses.custom(square, functions[0], task="both")


def test_a_function_of_single_numbers_that_is_vectorised(labels):
    functions = [np.vectorize(function, otypes=[float]) for function in SCALAR["if"]]
    model = UniSVMClassifier(losses.custom(*functions, task="both"), C=1.0, rank=20, random_state=0).fit(*labels)
    expected = UniSVMClassifier("squared_hinge", C=1.0, rank=20, random_state=0).fit(*labels)
    np.testing.assert_array_equal(model.predict(labels[0]), expected.predict(labels[0]))


def test_overflow_is_named_with_its_place_and_what_avoids_it():
    # cosh overflows beyond 710, and a grid point is at 717
    advice = r"at u = -?71\d\.\d+.*log\(cosh\(u\)\) as np.logaddexp\(u, -u\) - np.log\(2\)"
    with pytest.raises(ValueError, match=rf"value is not finite {advice}"):
        losses.custom(lambda u: np.log(np.cosh(u)), np.tanh, task="regression")
    naive = np.vectorize(lambda u: math.log(math.cosh(u)), otypes=[float])
    with pytest.raises(ValueError, match=rf"value fails {advice}"):
        losses.custom(naive, np.tanh, task="regression")
    loss = losses.custom(lambda u: np.logaddexp(u, -u) - np.log(2), np.tanh, task="regression")
    assert loss.value(2.0) == pytest.approx(np.log(np.cosh(2.0)))


def test_a_slip_in_a_function_is_told_with_the_place():
    with pytest.raises(ValueError, match=r"value fails at u = 0: IndexError: index 5 is out of bounds"):
        losses.custom(lambda u: np.ones(3)[5] * u, twice, task="both")
    with pytest.raises(ValueError, match=r"value fails at u = 0: TypeError: .* positional argument"):
        losses.custom(lambda: 1.0, twice, task="both")


def test_a_loss_that_never_bends_is_refused():
    with pytest.raises(ValueError, match="never rises"):
        losses.custom(np.ones_like, np.zeros_like, task="both")


@pytest.mark.parametrize("task", ["nonsense", None, ""])
def test_an_unknown_task_is_refused(task):
    with pytest.raises(ValueError, match="task must be 'classification', 'regression' or 'both'"):
        losses.custom(square, twice, task=task)


def test_harmless_overflow_is_not_reported():
    # exp(40 · 20) is infinite, and 1/∞ the right answer; a warning is an error here
    def value(u):
        return 1 / (1 + np.exp(-40 * u))

    loss = losses.custom(value, lambda u: 40 * value(u) * (1 - value(u)), task="classification")
    assert loss.bound == 1
    assert loss.value([-100.0, 0.0]) == pytest.approx([0, 0.5])


def test_arrays_keep_type_and_shape():
    loss = losses.custom(lambda u: np.float64(1) * u**2, lambda u: np.float64(2) * u.astype(float), task="both")
    for u in (np.ones((2, 3), np.float32), np.float32(2), np.ones(4), np.zeros((0, 2))):
        for function in (loss.value, loss.derivative):
            assert function(u).dtype == u.dtype
            assert function(u).shape == u.shape
    assert loss.value([1, 2]).dtype == np.float64


def test_copies():
    loss = losses.custom(square, twice, A=3.0, task="regression")
    for copy in (clone(loss), pickle.loads(pickle.dumps(loss))):
        assert copy.get_params() == loss.get_params()
        assert (copy.A, copy.bound, copy.is_convex, copy.tasks) == (3.0, np.inf, True, {"regression"})
        assert copy.value(3.0) == 9


@pytest.mark.parametrize("solver", ["lbfgs", "dca"])
def test_in_the_classifier(solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "opposite")
    registered = losses.get("saturating")
    made = losses.custom(registered.value, registered.derivative, task="classification")
    options = {"C": 10.0, "solver": solver, "tol": 1e-6, "random_state": 0, "rank": 20}
    model = UniSVMClassifier(made, **options).fit(X, y)
    assert model.score(X, y) > 0.9
    expected = UniSVMClassifier(registered, **options).fit(X, y)
    assert model.decision_function(X) == pytest.approx(expected.decision_function(X), abs=1e-2)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-6)
    assert clone(model).fit(X, y).objective_ == pytest.approx(model.objective_, rel=1e-9)


def test_in_the_regressor():
    X = np.linspace(-3, 3, 100)[:, None]
    y = np.sin(2 * X.ravel())
    clean = y.copy()
    y[::10] += 8
    made = losses.custom(lambda u: u**2 / (1 + u**2), lambda u: 2 * u / (1 + u**2) ** 2, task="regression")
    model = UniSVMRegressor(made, C=100.0, random_state=0).fit(X, y)
    assert np.abs(model.predict(X) - clean).max() < 0.1
    # what least squares makes of such outliers
    plain = UniSVMRegressor(losses.custom(square, twice, task="both"), C=100.0, random_state=0).fit(X, y)
    assert np.abs(plain.predict(X) - clean).max() > 0.5
    assert pickle.loads(pickle.dumps(plain)).predict(X) == pytest.approx(plain.predict(X))


def test_the_estimators_look_at_the_task():
    X, y = [[0.0], [1.0], [2.0], [4.0]], [0, 1, 0, 1]
    with pytest.raises(ValueError, match="not for classification"):
        UniSVMClassifier(losses.custom(square, twice, task="regression")).fit(X, y)
    with pytest.raises(ValueError, match="not for regression"):
        UniSVMRegressor(losses.custom(square, twice, task="classification")).fit(X, y)


def test_a_loss_that_bends_downwards_everywhere_is_refused():
    # an arc of a circle that is wider than the grid
    def height(u):
        return np.sqrt(1e13 - u**2)

    with pytest.raises(ValueError, match="never rises"):
        losses.custom(height, lambda u: -u / height(u), task="both")
