"""The model of wrong labels: its gradient, its probabilities, and the rates that labels were drawn with."""

import numpy as np
import pytest
from scipy.special import softmax

from unisvm.wrong_labels import label_noise
from unisvm.wrong_labels.label_noise import LabelNoise, expanded, fit_label_noise

N_ROWS = 1500


def evenly(n_classes, share):
    T = np.full((n_classes, n_classes), share / (n_classes - 1))
    np.fill_diagonal(T, 1 - share)
    return T


ONE_SIDED = np.array([[1.0, 0.0], [0.25, 0.75]])
TO_THE_NEXT = 0.8 * np.eye(4) + 0.2 * np.roll(np.eye(4), 1, axis=1)


def draw(T, seed, n_rows=N_ROWS, steepness=4.0):
    """Decisions, the classes that they speak for, and labels that are those of the classes with the rates T."""
    rng = np.random.RandomState(seed)
    K = len(T)
    if K == 2:
        decision = rng.uniform(-1.2, 1.2, size=(n_rows, 1))
    else:
        decision = rng.uniform(-1.0, -0.2, size=(n_rows, K))
        decision[np.arange(n_rows), rng.randint(K, size=n_rows)] += rng.uniform(0.3, 2.0, size=n_rows)
    z = expanded(decision)
    p = softmax(steepness * (z - z.mean(axis=0)) / z.std(), axis=1)
    classes = (p.cumsum(axis=1) < rng.rand(n_rows, 1)).sum(axis=1)
    labels = (T[classes].cumsum(axis=1) < rng.rand(n_rows, 1)).sum(axis=1)
    return decision, classes, labels


def fit(decision, labels, weights=None, confidence=0.95):
    weights = np.ones(len(labels)) if weights is None else weights
    return fit_label_noise(decision, labels, weights, confidence, np.random.RandomState(0))


def n_wrong(noise, decision, labels):
    return noise.of_given(noise.classes(decision), labels)[1].sum()


# ------------------------------------------------------------------ the likelihood


@pytest.mark.parametrize("ties", ["one", "labels", "pairs"])
@pytest.mark.parametrize("n_classes", [2, 3, 4, 33])
@pytest.mark.parametrize("slope", [0.05, 2.0, 60.0])
def test_its_gradient_is_that_of_finite_differences(rng, ties, n_classes, slope):
    n_rows = 80
    z, labels = rng.randn(n_rows, n_classes), np.arange(n_rows) % n_classes
    likelihood = label_noise._Likelihood(z, labels, rng.uniform(0.2, 3, n_rows), ties, 2.0)
    x = likelihood.start(0.1)
    n_slopes = {2: 1, 3: 9, 4: 16, 33: 1}[n_classes]
    n_rates = {"one": 1, "labels": n_classes, "pairs": n_classes**2}[ties]
    assert len(x) == n_slopes + n_classes + n_rates
    x[:n_slopes] *= slope / 3
    x += 0.01 * rng.randn(len(x))
    value, gradient = likelihood(x)
    assert np.isfinite(value)
    # all of them, or a few of very many
    for i in rng.permutation(len(x))[:60]:
        step = np.zeros(len(x))
        step[i] = 1e-5
        difference = (likelihood(x + step)[0] - likelihood(x - step)[0]) / 2e-5
        assert gradient[i] == pytest.approx(difference, rel=1e-4, abs=1e-5 * max(1, abs(value) / 1e3))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_its_value_is_the_probability_of_the_labels(rng, n_classes):
    """What is left of the difference of two values is that of the prior, a function of two numbers."""
    z, labels, weights = rng.randn(50, n_classes), np.arange(50) % n_classes, rng.uniform(0.2, 3, 50)
    likelihood = label_noise._Likelihood(z, labels, weights)
    low, high = likelihood.start(0.05), likelihood.start(0.3)
    values = []
    for x in (low, high):
        noise = likelihood.noise(x)
        standard = (z - z.mean(axis=0)) / z.std()
        logits = standard @ noise.slope if noise.slope.ndim == 2 else standard * noise.slope
        of_labels = softmax(logits + noise.bias, axis=1) @ noise.transitions
        a = np.trace(noise.slope) / n_classes if noise.slope.ndim == 2 else noise.slope[0]
        share = 1 - noise.transitions.diagonal().mean()
        prior = 2 * np.exp(-((share / 0.1) ** 2)) * np.log(a / (1 + a / 50)) + 10 * np.log(1 - share)
        values.append(-(weights / weights.mean()) @ np.log(of_labels[np.arange(50), labels]) - prior)
    assert likelihood(high)[0] - likelihood(low)[0] == pytest.approx(values[1] - values[0])


def test_weights_count_by_their_ratios(rng):
    decision, _, labels = draw(evenly(3, 0.1), 0, n_rows=200)
    weights = rng.uniform(0.5, 2, 200)
    found, other = fit(decision, labels, weights).best, fit(decision, labels, 1024 * weights).best
    np.testing.assert_array_equal(found.transitions, other.transitions)
    np.testing.assert_array_equal(found.bias, other.bias)


def test_a_row_of_weight_two_is_nearly_a_row_that_is_there_twice(rng):
    """Penalties and the unit of the decisions do not count weights: what they change is little."""
    decision, _, labels = draw(evenly(2, 0.15), 1)
    counts = rng.randint(1, 4, N_ROWS)

    def of_classes(decision, labels, weights):
        likelihood = label_noise._Likelihood(expanded(decision), labels, weights)
        return likelihood.noise(likelihood.maximise([likelihood.start(0.1)]).x)

    weighted = of_classes(decision, labels, counts.astype(float))
    repeated = of_classes(np.repeat(decision, counts, axis=0), np.repeat(labels, counts), np.ones(counts.sum()))
    plain = of_classes(decision, labels, np.ones(N_ROWS))
    np.testing.assert_allclose(weighted.transitions, repeated.transitions, atol=5e-3)
    expected = repeated.classes(decision)
    assert np.abs(weighted.classes(decision) - expected).max() < np.abs(plain.classes(decision) - expected).max() / 3


# ------------------------------------------------------------------ probabilities


def test_probabilities_are_those_of_Bayes(rng):
    T = rng.dirichlet(np.ones(3), size=3)
    noise = LabelNoise(np.zeros(3), 1.0, np.eye(3), np.zeros(3), T)
    classes, labels = rng.dirichlet(np.ones(3), size=40), rng.randint(3, size=40)
    probability, wrong = noise.of_given(classes, labels)
    for i, (p, j) in enumerate(zip(classes, labels, strict=True)):
        of_label = sum(p[k] * T[k, j] for k in range(3))
        assert probability[i] == pytest.approx(of_label)
        assert wrong[i] == pytest.approx(sum(p[k] * T[k, j] for k in range(3) if k != j) / of_label)


def test_a_label_without_any_probability_is_wrong():
    noise = LabelNoise(np.zeros(2), 1.0, np.ones(1), np.zeros(2), np.eye(2))
    probability, wrong = noise.of_given(np.array([[1.0, 0.0]]), np.array([1]))
    assert (probability[0], wrong[0]) == (0, 1)


@pytest.mark.parametrize("slope", [np.array([2.0]), np.diag([1.0, 2.0, 3.0])], ids=["one", "matrix"])
def test_classes_are_a_softmax_of_the_expanded_decisions(rng, slope):
    centre, bias, decision = rng.randn(3), rng.randn(3), rng.randn(20, 3)
    found = LabelNoise(centre, 1.7, slope, bias, np.eye(3)).classes(decision)
    z = (decision + decision**3 - centre) / 1.7
    expected = np.exp((z @ slope if slope.ndim == 2 else z * 2) + bias)
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True))


def test_one_column_is_that_of_the_second_class():
    np.testing.assert_allclose(expanded(np.array([[0.5], [-1.0]])), [[-0.625, 0.625], [2.0, -2.0]])


@pytest.mark.parametrize("T", [evenly(2, 0.1), ONE_SIDED, evenly(3, 0.2), TO_THE_NEXT, evenly(35, 0.1)])
def test_rates_of_a_class_sum_to_one(T):
    decision, _, labels = draw(T, 0, n_rows=700)
    fitted = fit(decision, labels)
    for noise in fitted:
        assert noise.transitions.shape == T.shape
        np.testing.assert_allclose(noise.transitions.sum(axis=1), 1)
        assert (noise.transitions.diagonal() == noise.transitions.max(axis=1)).all()
        np.testing.assert_allclose(noise.classes(decision).sum(axis=1), 1)


# ------------------------------------------------------------------ labels that were drawn by the model


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    "T",
    [evenly(2, 0.1), evenly(2, 0.3), ONE_SIDED, evenly(3, 0.2), evenly(4, 0.1), TO_THE_NEXT],
    ids=["2 evenly", "2 very much", "one-sided", "3 evenly", "4 evenly", "next class"],
)
def test_the_rates_are_found(T, seed):
    decision, classes, labels = draw(T, seed)
    noise = fit(decision, labels).best
    np.testing.assert_allclose(noise.transitions, T, atol=0.06)
    assert n_wrong(noise, decision, labels) == pytest.approx((classes != labels).sum(), abs=0.03 * N_ROWS)


def test_noise_to_the_next_class_is_told_from_even_noise():
    for seed in range(3):
        even = fit(*draw(evenly(4, 0.2), seed)[::2]).best.transitions
        following = fit(*draw(TO_THE_NEXT, seed)[::2]).best.transitions
        others = ~np.eye(4, dtype=bool)
        assert np.ptp(even[others]) < 0.05
        assert following[0, 1] > 0.1 > 0.04 > following[0, 2]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_without_noise_hardly_a_label_is_wrong(n_classes, seed):
    decision, _, labels = draw(np.eye(n_classes), seed, steepness=8.0)
    assert n_wrong(fit(decision, labels).best, decision, labels) < 0.01 * N_ROWS


@pytest.mark.parametrize("T", [evenly(2, 0.1), evenly(3, 0.2)], ids=["two classes", "three"])
def test_the_interval_holds_the_number(T):
    held = []
    for seed in range(10):
        decision, classes, labels = draw(T, seed, n_rows=600)
        fitted = fit(decision, labels)
        low, most_likely, high = (n_wrong(noise, decision, labels) for noise in (fitted.low, fitted.best, fitted.high))
        assert low <= most_likely + 1e-6 <= high + 2e-6
        held.append(low <= (classes != labels).sum() <= high)
    assert sum(held) >= 9


def test_the_interval_shrinks_with_more_rows_and_less_confidence():
    widths = []
    for n_rows, confidence in ((300, 0.95), (3000, 0.95), (3000, 0.5)):
        decision, _, labels = draw(evenly(2, 0.15), 0, n_rows)
        fitted = fit(decision, labels, confidence=confidence)
        low, high = (n_wrong(noise, decision, labels) / n_rows for noise in (fitted.low, fitted.high))
        widths.append(high - low)
    assert widths[0] > 1.5 * widths[1] > 2 * widths[2]


def test_of_many_rows_some_are_drawn(monkeypatch):
    monkeypatch.setattr(label_noise, "_MOST_ROWS", 800)
    decision, classes, labels = draw(evenly(2, 0.15), 0)
    noise = fit(decision, labels).best
    assert n_wrong(noise, decision, labels) == pytest.approx((classes != labels).sum(), abs=0.05 * N_ROWS)
    rest = fit_label_noise(decision, labels, np.ones(N_ROWS), 0.95, np.random.RandomState(1)).best
    assert (rest.transitions != noise.transitions).any()
