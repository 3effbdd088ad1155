"""Bounded losses under wrong labels and wild targets, and trust, which falls with the loss of a row."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from unisvm import UniSVMClassifier, UniSVMRegressor, losses
from unisvm.datasets import flip_labels, make_xor

X = np.linspace(-3, 3, 150)[:, None]
CLEAN = np.sin(2 * X.ravel()) + 0.1 * np.random.RandomState(0).randn(150)
BOUNDED = ["welsch", "tukey", "truncated_huber", "truncated_least_squares"]


# ------------------------------------------------------------------ wrong labels


def test_saturating_beats_hinge_on_flipped_labels():
    rows, truth = make_xor(4000, random_state=99)
    ours, theirs = [], []
    for seed in range(6):
        train, labels = make_xor(300, random_state=seed)
        flipped, _ = flip_labels(labels, 0.2, random_state=seed)
        ours.append(UniSVMClassifier("saturating", gamma=0.5, random_state=0).fit(train, flipped).score(rows, truth))
        theirs.append(SVC(gamma=0.5).fit(train, flipped).score(rows, truth))
    # one draw may go either way
    assert np.mean(ours) > np.mean(theirs) + 0.01
    assert np.mean(ours) > 0.92


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("loss", ["saturating", "truncated_squared_hinge", "feng"])
def test_flipped_labels_are_not_trusted(n_classes, loss):
    rows, labels = make_blobs(200, centers=[[-4, 0], [4, 0], [0, 6]][:n_classes], random_state=0)
    wrong, flipped = flip_labels(labels, 0.15, random_state=0)
    trust = UniSVMClassifier(loss, gamma=0.1, random_state=0).fit(rows, wrong).trust(rows, wrong)
    is_right = ~np.isin(np.arange(200), flipped)
    assert roc_auc_score(is_right, trust) > 0.95


# ------------------------------------------------------------------ wild targets


# Algorithm 1 starts from least squares, as in the paper, which the largest outlier leaves nothing of
@pytest.mark.parametrize(("size", "solver"), [(10.0, "lbfgs"), (1e3, "lbfgs"), (1e6, "lbfgs"), (10.0, "dca")])
@pytest.mark.parametrize("loss", [*BOUNDED, "cauchy"])
def test_an_outlier_does_not_move_a_robust_fit(loss, size, solver):
    wild = CLEAN.copy()
    wild[70] = size
    expected = UniSVMRegressor(loss, gamma=1.0, solver=solver).fit(X, CLEAN).predict(X)
    model = UniSVMRegressor(loss, gamma=1.0, solver=solver).fit(X, wild)
    np.testing.assert_allclose(model.predict(X), expected, rtol=0, atol=0.1)
    trust = model.trust(X, wild)
    assert trust.argmin() == 70
    assert trust[70] == pytest.approx(0, abs=0.15)


@pytest.mark.parametrize("size", [10.0, 1e3, 1e6])
def test_an_outlier_does_not_stop_huber_before_it_has_begun(size):
    # the row's own loss is nearly all of the objective and cannot be lowered, so that any other gain looks small
    wild = CLEAN.copy()
    wild[70] = size
    expected = UniSVMRegressor("huber", gamma=1.0).fit(X, CLEAN).predict(X)
    np.testing.assert_allclose(UniSVMRegressor("huber", gamma=1.0).fit(X, wild).predict(X), expected, atol=0.1)


@pytest.mark.parametrize("size", [10.0, 1e3, 1e6])
def test_an_outlier_moves_least_squares(size):
    wild = CLEAN.copy()
    wild[70] = size
    expected = UniSVMRegressor("least_squares", gamma=1.0).fit(X, CLEAN).predict(X)
    moved = UniSVMRegressor("least_squares", gamma=1.0).fit(X, wild).predict(X)
    assert abs(moved - expected).max() > 0.04 * size


@pytest.mark.parametrize("loss", BOUNDED)
def test_many_outliers(loss):
    wild = CLEAN.copy()
    wild[::5] += 8.0
    truth = np.sin(2 * X.ravel())
    robust = UniSVMRegressor(loss, gamma=1.0).fit(X, wild).predict(X)
    plain = UniSVMRegressor("least_squares", gamma=1.0).fit(X, wild).predict(X)
    assert np.sqrt(np.mean((robust - truth) ** 2)) < 0.2 < 1.0 < np.sqrt(np.mean((plain - truth) ** 2))


# ------------------------------------------------------------------ trust

EASY, TWO = make_blobs(100, centers=[[-2, 0], [2, 0]], random_state=0)
ALL = [(UniSVMClassifier, name) for name in losses.names("classification")]
ALL += [(UniSVMRegressor, name) for name in losses.names("regression")]


@pytest.mark.parametrize(("cls", "name"), ALL, ids=[f"{cls.__name__[6:]}-{name}" for cls, name in ALL])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_trust_falls_with_the_loss(cls, name, dtype):
    loss = losses.get(name)
    if cls is UniSVMClassifier:
        rows = EASY.astype(dtype)
        model, target = cls(name).fit(rows, TWO), TWO
        residuals = 1 - np.where(target == 1, 1, -1) * model.decision_function(rows)
        # of these labels every one is wrong
        assert model.trust(rows, 1 - TWO).mean() < model.trust(rows, TWO).mean()
    else:
        rows, target = X.astype(dtype), CLEAN.copy()
        model = cls(name, gamma=1.0).fit(rows, target)
        target[::30] = [0.0, 5.0, -1e3, 1e8, -1e12]
        residuals = (target - model.predict(rows)) / model.target_scale_[0]
    trust = model.trust(rows, target)
    value = loss.value(residuals)
    assert trust.shape == (len(rows),)
    assert ((trust >= 0) & (trust <= 1)).all()
    expected = 1 - value / loss.bound if np.isfinite(loss.bound) else 1 / (1 + value)
    np.testing.assert_allclose(trust, expected, atol=1e-5)
    assert (np.diff(trust[np.argsort(value)]) <= 1e-6).all()


CUT_OFF = ["truncated_least_squares", "truncated_squared_hinge", "truncated_huber"]
SMOOTH = [name for name in losses.names() if np.isfinite(losses.get(name).bound) and name not in CUT_OFF]


@pytest.mark.parametrize("name", CUT_OFF + SMOOTH)
def test_rows_of_little_trust_pull_as_little_as_is_documented(name):
    loss = losses.get(name)
    u = np.linspace(-20, 20, 400_001)
    trust, pull = 1 - loss.value(u) / loss.bound, np.abs(loss.derivative(u))
    # up to rounding, by which a small trust may be 0
    assert (pull[trust <= 0] <= 1e-6 * pull.max()).all()
    far = np.abs(u) > 1
    for most_trust, most_pull in ((1e-2, 1 / 5), (1e-3, 1 / 20)) if name in SMOOTH else ():
        assert (pull[far & (trust < most_trust)] < most_pull * pull.max()).all()


def test_the_trust_below_which_another_label_is_predicted_is_as_documented():
    feng = losses.get("feng")
    assert 1 - feng.value(1.0) / feng.bound == pytest.approx(0.61, abs=0.005)
    model = UniSVMClassifier("feng", gamma=0.5).fit(EASY, 1 - TWO)
    np.testing.assert_array_equal(model.trust(EASY, TWO) < np.exp(-0.5), model.predict(EASY) != TWO)


def test_a_fit_is_the_same_without_rows_of_trust_zero():
    rows, wrong = EASY, TWO.copy()
    wrong[::10] = 1 - wrong[::10]
    settings = {"C": 1.0, "gamma": 0.5, "landmarks": rows[1::4], "tol": 1e-10, "warm_start": True}
    model = UniSVMClassifier("truncated_squared_hinge", **settings).fit(rows, wrong)
    before, ignored = model.decision_function(rows), model.trust(rows, wrong) == 0
    assert 5 <= ignored.sum() <= 10
    model.fit(rows[~ignored], wrong[~ignored])
    np.testing.assert_allclose(model.decision_function(rows), before, atol=1e-4)


def test_trust_of_a_custom_bounded_loss():
    # its supremum is known from a grid only, and a row may lie beyond that
    loss = losses.custom(lambda u: u**2 / (1 + u**2), lambda u: 2 * u / (1 + u**2) ** 2, task="regression")
    wild = CLEAN.copy()
    wild[3] = 1e9
    trust = UniSVMRegressor(loss, gamma=1.0).fit(X, wild).trust(X, wild)
    assert ((trust >= 0) & (trust <= 1)).all()


def test_trust_of_several_classes_is_that_of_the_own_class():
    rows, labels = make_blobs(90, centers=3, random_state=0)
    names = np.array(["a", "b", "c"])[labels]
    model = UniSVMClassifier(multi_class="ovr").fit(rows, names)
    own = model.decision_function(rows)[np.arange(90), labels]
    expected = 1 - losses.get("feng").value(1 - own) / 2
    np.testing.assert_allclose(model.trust(rows, names), expected, atol=1e-12)


def test_trust_of_several_labels_is_the_least():
    Y = np.stack([TWO, EASY[:, 1] > 0], axis=1).astype(int)
    model = UniSVMClassifier().fit(EASY, Y)
    signs = np.where(Y == 1, 1, -1)
    each = 1 - losses.get("feng").value(1 - signs * model.decision_function(EASY)) / 2
    np.testing.assert_allclose(model.trust(EASY, Y), each.min(axis=1), atol=1e-12)


def test_trust_of_several_targets_is_the_least():
    Y = np.stack([CLEAN, -100 * CLEAN], axis=1)
    model = UniSVMRegressor("welsch", gamma=1.0).fit(X, Y)
    np.testing.assert_allclose(model.target_scale_[1], 100 * model.target_scale_[0])
    each = 1 - losses.get("welsch").value((Y - model.predict(X)) / model.target_scale_) / 2
    np.testing.assert_allclose(model.trust(X, Y), each.min(axis=1), atol=1e-12)


def test_trust_of_rows_that_were_not_trained_on():
    model = UniSVMClassifier().fit(EASY, TWO)
    rows, labels = make_blobs(50, centers=[[-2, 0], [2, 0]], random_state=7)
    assert model.trust(rows, labels).mean() > 0.8
    assert model.trust(rows, 1 - labels).mean() < 0.2
