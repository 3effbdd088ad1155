"""Probabilities are those that CalibratedClassifierCV makes of the decisions on rows that were left out."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn import __version__ as sklearn_version
from sklearn.calibration import CalibratedClassifierCV
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from unisvm import UniSVMClassifier, UniSVMClassifierCV
from unisvm.model_selection.calibration import CURVES, METHODS, Calibration, Isotonic, Sigmoid, Temperature, calibrate

rng = np.random.RandomState(0)
X = rng.randn(600, 3)
NEW = rng.randn(300, 3)


def surface(rows):
    return rows[:, 0] * rows[:, 1] + np.sin(2 * rows[:, 2])


NOISE = 0.4 * rng.randn(600)
y = np.array(["no", "yes"])[(surface(X) + NOISE > 0).astype(int)]
Y3 = np.digitize(surface(X) + NOISE, [-0.6, 0.6])
LABELS = np.stack([surface(X) > 0, X[:, 0] > 0.5, X[:, 1] + NOISE > 0], axis=1).astype(int)
WEIGHTS = rng.randint(1, 5, size=600).astype(float)
POINTS = rng.randn(25, 3)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
PARAMS = {"landmarks": POINTS, "tol": 1e-9, "random_state": 0}
GRID = {"Cs": [0.03, 0.5], "gammas": [0.3], "cv": FOLDS}
METHOD = pytest.mark.parametrize("method", METHODS)
CURVE = pytest.mark.parametrize("method", CURVES)


# ------------------------------------------------------------------ the estimator


@METHOD
@pytest.mark.parametrize("target", [y, Y3], ids=["binary", "three-classes"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_probabilities_are_those_of_scikit_learn(method, target, weights):
    if method == "temperature" and tuple(map(int, sklearn_version.split(".")[:2])) < (1, 8):
        pytest.skip("temperature is new in scikit-learn 1.8")
    # isotonic curves of margins against the best of several classes have steps that smaller differences decide
    params = PARAMS | {"multi_class": "ovr" if method == "isotonic" else "ovo"}
    model = UniSVMClassifierCV(["logistic", "feng"], **GRID, **params, calibration=method)
    model.fit(X, target, sample_weight=weights)
    plain = UniSVMClassifier(**model.best_params_, **params)
    expected = CalibratedClassifierCV(plain, method=method, ensemble=False, cv=FOLDS)
    expected.fit(X, target, sample_weight=weights)
    np.testing.assert_array_equal(model.classes_, expected.classes_)
    ours, theirs = model.predict_proba(NEW), expected.predict_proba(NEW)
    assert ours.shape == (300, len(model.classes_))
    difference = abs(ours - theirs)
    if method != "isotonic":
        assert difference.max() < 2e-3
    else:
        # where the curve is steep, decisions that differ a little are some way apart
        assert np.quantile(difference, 0.98) < 2e-3
        assert difference.mean() < 2e-3
    # far more than that is told apart
    assert np.ptp(theirs, axis=0).min() > 0.5


@METHOD
@pytest.mark.parametrize("target", [y, Y3], ids=["binary", "three-classes"])
def test_probabilities_are_shares(method, target):
    model = UniSVMClassifierCV(["logistic"], **GRID, landmarks=POINTS, calibration=method).fit(X, target)
    far = np.concatenate([NEW, 50 * NEW])
    p = model.predict_proba(far)
    assert p.min() >= 0
    assert p.max() <= 1
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    if target is y:
        decision = model.decision_function(far)
        assert (np.diff(p[np.argsort(decision), 1]) >= 0).all()
        assert p[decision > decision.max() - 0.1, 1].min() > 0.9


@CURVE
def test_each_label_has_a_probability_of_its_own(method):
    folds = KFold(3)
    model = UniSVMClassifierCV(["logistic"], **(GRID | {"cv": folds}), **PARAMS, calibration=method).fit(X, LABELS)
    p = model.predict_proba(NEW)
    assert p.shape == (300, 3)
    assert np.ptp(p.sum(axis=1)) > 1
    for k in range(3):
        one = UniSVMClassifier(**model.best_params_, **PARAMS)
        alone = CalibratedClassifierCV(one, method=method, ensemble=False, cv=folds).fit(X, LABELS[:, k])
        assert np.quantile(abs(p[:, k] - alone.predict_proba(NEW)[:, 1]), 0.98) < 2e-3


@METHOD
def test_logarithms(method):
    model = UniSVMClassifierCV(["logistic"], **GRID, landmarks=POINTS, calibration=method).fit(X, Y3)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(NEW)), model.predict_proba(NEW), rtol=1e-12)


def test_logarithm_of_zero():
    model = UniSVMClassifierCV(["logistic"], **GRID, landmarks=POINTS, calibration="isotonic").fit(X, y)
    p = model.predict_proba(NEW)
    assert (p == 0).any()
    assert (model.predict_log_proba(NEW)[p == 0] == -np.inf).all()


def test_probabilities_tell_how_often():
    model = UniSVMClassifierCV(["logistic"], **GRID, landmarks=POINTS).fit(X, y)
    new = np.random.RandomState(1).randn(4000, 3)
    truth = surface(new) + 0.4 * np.random.RandomState(2).randn(4000) > 0
    p = model.predict_proba(new)[:, 1]
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        inside = (p >= low) & (p < low + 0.2)
        assert truth[inside].mean() == pytest.approx(p[inside].mean(), abs=0.12)
    assert brier_score_loss(truth, p) < 0.15


def test_a_class_of_weight_zero_is_gone():
    by_class = UniSVMClassifierCV(["logistic"], **GRID, **PARAMS, class_weight={0: 0.0}).fit(X, Y3)
    by_row = UniSVMClassifierCV(["logistic"], **GRID, **PARAMS).fit(X, Y3, sample_weight=(Y3 != 0).astype(float))
    assert by_row.classes_.tolist() == by_class.classes_.tolist() == [1, 2]
    np.testing.assert_allclose(by_class.predict_proba(NEW), by_row.predict_proba(NEW), atol=1e-6)
    assert by_class.predict_proba(X)[Y3 == 2, 1].mean() > 0.6


def test_rows_that_no_split_leaves_out_are_passed_over():
    folds = ShuffleSplit(1, test_size=0.5, random_state=0)
    model = UniSVMClassifierCV(["logistic"], **(GRID | {"cv": folds}), landmarks=POINTS).fit(X, y)
    ((_, test),) = folds.split(X)
    curve = Sigmoid().fit(model.oof_decision_[test], y[test] == "yes")
    np.testing.assert_allclose(model.predict_proba(NEW)[:, 1], curve.predict(model.decision_function(NEW)), rtol=1e-6)


def test_probabilities_without_a_refit():
    model = UniSVMClassifierCV(["logistic"], **GRID, landmarks=POINTS, refit=False).fit(X, y)
    with pytest.raises(AttributeError, match="refit=False"):
        model.predict_proba(NEW)


# ------------------------------------------------------------------ the curves


def platt(ab, decision, positive, weights):
    """Platt's objective, as in his paper."""
    n_positive, n_negative = weights[positive].sum(), weights[~positive].sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    p = np.clip(expit(-(ab[0] * decision + ab[1])), 1e-300, 1 - 1e-16)
    return -(weights * (target * np.log(p) + (1 - target) * np.log1p(-p))).sum()


def overlapping(n, offset=0.0, unit=1.0, seed=0):
    draw = np.random.RandomState(seed)
    decision = draw.randn(n) * 1.5
    positive = draw.rand(n) < expit(2 * decision + offset)
    return unit * decision, positive, draw.randint(1, 4, size=n).astype(float)


CASES = {
    "overlapping": overlapping(200),
    "few": overlapping(8, seed=1),
    "rare": overlapping(400, offset=-4.0, seed=2),
    "small-unit": overlapping(200, unit=1e-6, seed=3),
    "large-unit": overlapping(200, unit=1e6, seed=4),
    "backwards": (lambda d, p, w: (-d, p, w))(*overlapping(200, seed=5)),
    "separable": (np.linspace(-2, 2, 60), np.linspace(-2, 2, 60) > 0, np.ones(60)),
    "one-decision": (np.full(30, 0.7), np.arange(30) < 10, np.ones(30)),
    "all-positive": (np.linspace(-1, 1, 30), np.ones(30, dtype=bool), np.ones(30)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_sigmoid_is_the_optimum(case):
    decision, positive, weights = case
    curve = Sigmoid().fit(decision, positive, weights)
    unit = abs(decision).max()
    reached = platt([curve.a_ * unit, curve.b_], decision / unit, positive, weights)
    options = {"xatol": 1e-10, "fatol": 1e-13, "maxiter": 20_000, "maxfev": 20_000}
    brute = min(
        minimize(platt, start, (decision / unit, positive, weights), method="Nelder-Mead", options=options).fun
        for start in ([0.0, 0.0], [-5.0, 0.0], [5.0, 1.0])
    )
    assert reached <= brute * (1 + 1e-9)
    assert np.isfinite([curve.a_, curve.b_]).all()


def test_weights_are_repetitions():
    decision, positive, weights = overlapping(100)
    counts = weights.astype(int)
    repeated = Sigmoid().fit(np.repeat(decision, counts), np.repeat(positive, counts))
    weighted = Sigmoid().fit(decision, positive, weights)
    assert (weighted.a_, weighted.b_) == pytest.approx((repeated.a_, repeated.b_), rel=1e-6)
    assert Sigmoid().fit(decision, positive).a_ != pytest.approx(weighted.a_, rel=1e-3)


def test_sigmoid_knows_no_units():
    decision, positive, _ = overlapping(100)
    one, million = (Sigmoid().fit(unit * decision, positive) for unit in (1.0, 1e6))
    np.testing.assert_allclose(one.predict(decision), million.predict(1e6 * decision), rtol=1e-6)
    single = Sigmoid().fit(decision.astype(np.float32), positive)
    np.testing.assert_allclose(single.predict(decision), one.predict(decision), rtol=1e-4)


def test_isotonic_is_the_best_rising_curve():
    decision, positive, weights = overlapping(80)
    curve = Isotonic().fit(decision, positive, weights)
    fitted = curve.predict(decision)[np.argsort(decision)]
    assert (np.diff(fitted) >= 0).all()
    expected = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(decision, positive, sample_weight=weights)
    grid = np.linspace(-10, 10, 300)
    np.testing.assert_allclose(curve.predict(grid), expected.predict(grid), atol=1e-12)
    assert Isotonic().fit(decision, positive).predict(grid) != pytest.approx(curve.predict(grid), abs=1e-3)


@CURVE
def test_columns_are_calibrated_apart(method):
    (left, among, weights), (right, between, _) = overlapping(90), overlapping(90, seed=9)
    decision, positive = np.stack([left, right], axis=1), np.stack([among, between], axis=1)
    weights[:5] = 0.0
    decision[5:10] = np.nan
    columns = Calibration(method, decision, positive, weights).probabilities(decision[10:], exclusive=False)
    for k in range(2):
        alone = CURVES[method]().fit(decision[10:, k], positive[10:, k], weights[10:]).predict(decision[10:, k])
        np.testing.assert_allclose(columns[:, k], alone, rtol=1e-12)


def test_no_class_is_likely():
    # three classes whose curves are all zero on the left
    decision = np.tile(np.linspace(-1, 1, 40)[:, None], 3)
    calibration = Calibration("isotonic", decision, decision > 0.5, np.ones(40))
    p = calibration.probabilities(np.array([[-1.0, -1.0, -1.0], [-1.0, 1.0, -1.0]]), exclusive=True)
    np.testing.assert_allclose(p, [[1 / 3, 1 / 3, 1 / 3], [0.0, 1.0, 0.0]])


def test_isotonic_curve_is_made_of_lines_between_its_thresholds():
    decision = surface(X)
    curve = Isotonic().fit(decision, y == "yes")
    thresholds, heights = curve.thresholds
    assert len(thresholds) > 5
    at = np.linspace(decision.min() - 1, decision.max() + 1, 200)
    np.testing.assert_allclose(np.interp(at, thresholds, heights), curve.predict(at), atol=1e-12)


# ------------------------------------------------------------------ the temperature


def one_hot(labels, n_classes):
    return np.arange(n_classes) == labels[:, None]


def confused(n, n_classes, seed=0):
    """Decisions, labels that follow softmax(f / 0.4), and weights."""
    draw = np.random.RandomState(seed)
    decision = draw.randn(n, n_classes)
    p = np.exp(decision / 0.4)
    labels = (draw.rand(n, 1) > np.cumsum(p / p.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
    return decision, labels, draw.randint(1, 4, size=n).astype(float)


def log_loss_of(T, decision, labels, weights, extra=1.0):
    """The log loss, and that of one more row which is spread over all rows and classes."""
    logs = log_softmax(decision / T, axis=1)
    found = weights @ logs[np.arange(len(labels)), labels]
    return -(found + extra * (weights @ logs.mean(axis=1)) / weights.sum())


@pytest.mark.parametrize("n_classes", [3, 7])
def test_temperature_is_the_optimum(n_classes):
    decision, labels, weights = confused(3000, n_classes)
    curve = Temperature().fit(decision, one_hot(labels, n_classes), weights, exclusive=True)
    best = log_loss_of(curve.temperature_, decision, labels, weights)
    for factor in (0.999, 1.001):
        assert best < log_loss_of(factor * curve.temperature_, decision, labels, weights)
    assert curve.temperature_ == pytest.approx(0.4, rel=0.1)
    np.testing.assert_allclose(
        curve.probabilities(decision, exclusive=True),
        np.exp(log_softmax(decision / curve.temperature_, axis=1)),
        rtol=1e-12,
    )


def test_temperature_of_two_classes_is_that_of_a_sigmoid_through_one_half():
    decision, positive, weights = overlapping(5000)
    curve = calibrate("temperature", decision[:, None], positive[:, None], weights, exclusive=True)
    # the labels follow expit(2 f)
    assert curve.temperature_ == pytest.approx(0.5, rel=0.1)
    both = np.stack([np.zeros(5000), decision], axis=1)
    best = log_loss_of(curve.temperature_, both, positive.astype(int), weights)
    for factor in (0.999, 1.001):
        assert best < log_loss_of(factor * curve.temperature_, both, positive.astype(int), weights)
    p = curve.probabilities(decision[:, None], exclusive=True)
    np.testing.assert_allclose(
        p, np.stack([expit(-decision / curve.temperature_), expit(decision / curve.temperature_)], axis=1)
    )


def test_labels_share_a_temperature():
    (left, among, weights), (right, between, _) = overlapping(300), overlapping(300, seed=9)
    decision, positive = np.stack([left, right], axis=1), np.stack([among, between], axis=1)
    curve = Temperature().fit(decision, positive, weights, exclusive=False)
    pooled = Temperature().fit(
        np.concatenate([left, right])[:, None],
        np.concatenate([among, between])[:, None],
        np.tile(weights, 2),
        exclusive=True,
    )
    assert curve.temperature_ == pytest.approx(pooled.temperature_, rel=1e-9)
    np.testing.assert_allclose(curve.probabilities(decision, exclusive=False), expit(decision / curve.temperature_))


def test_temperature_of_an_estimator_of_several_labels():
    model = UniSVMClassifierCV(["logistic"], **(GRID | {"cv": KFold(3)}), **PARAMS, calibration="temperature")
    model.fit(X, LABELS)
    np.testing.assert_allclose(
        model.predict_proba(NEW), expit(model.decision_function(NEW) / model.calibration_.temperature_)
    )


def test_temperature_has_the_units_of_the_decisions_and_passes_rows_over():
    decision, labels, weights = confused(500, 4)
    of = one_hot(labels, 4)
    T = Temperature().fit(decision, of, weights, exclusive=True).temperature_
    for unit in (1e-150, 1e-6, 1e6, 1e150):
        scaled = Temperature().fit(unit * decision, of, weights, exclusive=True).temperature_
        assert scaled == pytest.approx(unit * T, rel=1e-9)
    more = np.concatenate([decision, np.full((3, 4), np.nan), -5 * decision[:9]])
    heavier = np.concatenate([weights, np.ones(3), np.zeros(9)])
    with_others = np.concatenate([of, of[:12]])
    assert Temperature().fit(more, with_others, heavier, exclusive=True).temperature_ == pytest.approx(T, rel=1e-12)


@pytest.mark.parametrize("n_classes", [1, 3])
def test_temperature_of_extreme_decisions(n_classes):
    labels = np.arange(90) % max(n_classes, 2)
    of = one_hot(labels, n_classes) if n_classes > 1 else labels[:, None] == 1
    right = np.where(of, 1.0, -1.0)
    # separable: sure, but not without doubt
    curve = Temperature().fit(right, of, np.ones(90), exclusive=True)
    p = curve.probabilities(right, exclusive=True)[np.arange(90), labels]
    assert p.min() > 0.98
    assert p.max() < 0.9999
    # decisions that tell nothing, or the contrary: all classes are equally likely
    for decision in (np.zeros_like(right), -right):
        curve = Temperature().fit(decision, of, np.ones(90), exclusive=True)
        assert np.ptp(curve.probabilities(decision, exclusive=True)) < 1e-5
    # far beyond what it was fitted to
    with np.errstate(all="raise"):
        far = Temperature.from_state({"temperature": 1e-300}).probabilities(1e10 * right, exclusive=True)
    np.testing.assert_array_equal(far[np.arange(90), labels], 1.0)
