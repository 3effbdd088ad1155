"""Behaviour of the estimators: intercepts, equivariance, landmarks, warm starts, randomness and printed lines."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_moons

from unisvm import UniSVMClassifier, UniSVMRegressor, losses

X, y = make_moons(100, noise=0.25, random_state=0)
X_NEW = make_moons(50, noise=0.25, random_state=1)[0]
rng = np.random.RandomState(0)
WAVE = np.sin(3 * X[:, 0]) + X[:, 1] + 0.1 * rng.randn(100)
ESTIMATORS = pytest.mark.parametrize(
    ("cls", "target"), [(UniSVMClassifier, y), (UniSVMRegressor, WAVE)], ids=["classifier", "regressor"]
)
CONVEX = pytest.mark.parametrize(
    ("cls", "loss", "target"),
    [(UniSVMClassifier, "logistic", y), (UniSVMClassifier, "hinge", y), (UniSVMRegressor, "huber", WAVE)],
    ids=["logistic", "hinge", "huber"],
)


def values(model, rows=X_NEW):
    return model.decision_function(rows) if isinstance(model, UniSVMClassifier) else model.predict(rows)


# ------------------------------------------------------------------ the objective, and the intercept in it


def objective_by_hand(model, target, weights):
    """λ‖f‖² + mean ψ with C = 1/(2λm), straight from the fitted attributes."""
    loss = losses.get(model.loss)
    dual, f = model.dual_coef_[0], values(model, X)
    if isinstance(model, UniSVMClassifier):
        residuals = 1 - np.where(target == model.classes_[1], 1, -1) * f
    else:
        residuals = (target - f) / model.target_scale_[0]
        dual = dual / model.target_scale_[0]
    distances = ((model.landmark_vectors_[:, None] - model.landmark_vectors_) ** 2).sum(axis=2)
    norm = dual @ np.exp(-model.kernel_.gamma * distances) @ dual
    return norm / (2 * model.C * weights.sum()) + np.average(loss.value(residuals), weights=weights)


SMOOTH = [(UniSVMClassifier, name, y) for name in ("saturating", "logistic", "squared_hinge", "softplus_ramp")]
SMOOTH += [(UniSVMRegressor, name, WAVE) for name in ("huber", "welsch", "pinball", "expectile")]


@pytest.mark.parametrize(("cls", "loss", "target"), SMOOTH, ids=[loss for _, loss, _ in SMOOTH])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_objective_by_hand(cls, loss, target, fit_intercept):
    weights = 1.0 + np.arange(100) % 3
    model = cls(loss, C=3.0, rank=25, random_state=0, fit_intercept=fit_intercept)
    model.fit(X, target, sample_weight=weights)
    assert model.objective_ == pytest.approx(objective_by_hand(model, target, weights), rel=1e-9)


@pytest.mark.parametrize(("cls", "loss", "target"), SMOOTH, ids=[loss for _, loss, _ in SMOOTH])
def test_intercept_is_optimal(cls, loss, target):
    if cls is UniSVMRegressor:
        target = 50 + 3 * target
    weights = 1.0 + np.arange(100) % 3
    model = cls(loss, C=1.0, tol=1e-12, rank=25, random_state=0).fit(X, target, sample_weight=weights)
    assert model.intercept_[0] != 0
    best = objective_by_hand(model, target, weights)
    step = 1e-3 * (model.target_scale_[0] if cls is UniSVMRegressor else 1.0)
    moved = []
    for sign in (-1, 1):
        other = copy.deepcopy(model)
        other.intercept_ = model.intercept_ + sign * step
        moved.append(objective_by_hand(other, target, weights))
    assert min(moved) >= best
    # the slope by central differences, in units of the scale
    assert abs(moved[1] - moved[0]) / 2e-3 < 1e-4


@ESTIMATORS
@pytest.mark.parametrize("solver", ["lbfgs", "dca"])
def test_no_intercept(cls, target, solver):
    shifted = target if cls is UniSVMClassifier else target + 50
    model = cls(fit_intercept=False, solver=solver).fit(X, shifted)
    assert (model.intercept_ == 0).all()
    # far from all landmarks nothing but the intercept is left
    far = np.full((1, 2), 1e6)
    assert values(model, far) == 0
    with_intercept = cls(solver=solver).fit(X, shifted)
    assert values(with_intercept, far) == pytest.approx(with_intercept.intercept_[0])
    if cls is UniSVMRegressor:
        assert with_intercept.intercept_[0] == pytest.approx(50, abs=5)


# ------------------------------------------------------------------ equivariance

SYMMETRIC = ["huber", "least_squares", "truncated_least_squares", "truncated_huber", "welsch", "cauchy", "tukey"]
SYMMETRIC += ["absolute", "epsilon_insensitive"]
OUTLIERS = np.where(np.arange(100) % 10 == 0, WAVE + 40.0, WAVE)


@pytest.mark.parametrize("loss", SYMMETRIC)
@pytest.mark.parametrize(("a", "b"), [(1.0, 100.0), (1e4, -3.0), (1e-5, 0.0), (-1.0, 0.0), (-250.0, 7.0)])
@pytest.mark.parametrize("target", [WAVE, OUTLIERS], ids=["clean", "outliers"])
def test_regressor_is_equivariant(loss, a, b, target):
    model = UniSVMRegressor(loss, rank=30, random_state=0)
    expected = a * model.fit(X, target).predict(X_NEW) + b
    actual = model.fit(X, a * target + b).predict(X_NEW)
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6 * abs(a))


@pytest.mark.parametrize("loss", ["pinball", "expectile"])
def test_regressor_is_equivariant_for_lopsided_losses(loss):
    low, high = losses.get(loss, tau=0.2), losses.get(loss, tau=0.8)
    expected = UniSVMRegressor(low).fit(X, WAVE).predict(X_NEW)
    scaled = UniSVMRegressor(low).fit(X, 30 * WAVE - 4).predict(X_NEW)
    np.testing.assert_allclose(scaled, 30 * expected - 4, rtol=1e-6, atol=1e-5)
    # a reflection turns the lower quantile into the upper one
    mirrored = UniSVMRegressor(high).fit(X, -30 * WAVE - 4).predict(X_NEW)
    np.testing.assert_allclose(mirrored, -30 * expected - 4, rtol=1e-6, atol=1e-5)


def test_regressor_is_equivariant_in_each_of_several_targets():
    Y = np.stack([WAVE, OUTLIERS, X[:, 0] ** 2], axis=1)
    a, b = np.array([3.0, -1e3, 1e-4]), np.array([0.0, 10.0, -1.0])
    expected = a * UniSVMRegressor().fit(X, Y).predict(X_NEW) + b
    actual = UniSVMRegressor().fit(X, a * Y + b).predict(X_NEW)
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-6 * abs(a).max())
    for k in range(3):
        np.testing.assert_allclose(actual[:, k], expected[:, k], rtol=1e-6, atol=1e-6 * abs(a[k]))


@pytest.mark.parametrize("factor", [1e-3, -7.0])
def test_without_intercept_scaling_is_left(factor):
    model = UniSVMRegressor(fit_intercept=False)
    expected = factor * model.fit(X, WAVE).predict(X_NEW)
    np.testing.assert_allclose(model.fit(X, factor * WAVE).predict(X_NEW), expected, rtol=1e-6, atol=1e-6 * abs(factor))


def test_trust_and_certificate_do_not_see_units():
    plain = UniSVMRegressor().fit(X, WAVE)
    scaled = UniSVMRegressor().fit(X, 1e3 * WAVE + 5)
    np.testing.assert_allclose(scaled.trust(X, 1e3 * WAVE + 5), plain.trust(X, WAVE), rtol=1e-6)
    assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-9)


@pytest.mark.parametrize("target", [np.full(100, 3.5), np.where(np.arange(100) < 30, 1.0, 0.0)], ids=["flat", "mostly"])
def test_targets_without_a_robust_scale(target):
    # more than half of the rows have one value, so that the median distance from it is 0
    model = UniSVMRegressor("least_squares", C=100.0, gamma=10.0).fit(X, target)
    assert np.isfinite(model.predict(X)).all()
    np.testing.assert_allclose(model.predict(X).mean(), target.mean(), atol=0.05)


# ------------------------------------------------------------------ landmarks


@ESTIMATORS
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_landmarks_as_indices_and_as_points(cls, target, container):
    chosen = np.array([40, 3, 77, 12, 59, 3])  # in no order, one of them twice
    by_index = cls(landmarks=chosen, tol=1e-12).fit(container(X), target)
    by_point = cls(landmarks=X[np.unique(chosen)], tol=1e-12).fit(container(X), target)
    np.testing.assert_allclose(values(by_index), values(by_point), rtol=1e-5, atol=1e-6)
    assert sorted(by_index.landmarks_) == [3, 12, 40, 59, 77]
    assert by_point.landmarks_ is None
    assert by_index.rank_ == by_point.rank_ == 5
    for model in (by_index, by_point):
        vectors = (
            model.landmark_vectors_.toarray() if sparse.issparse(model.landmark_vectors_) else model.landmark_vectors_
        )
        assert {tuple(vector) for vector in vectors} == {tuple(row) for row in X[chosen]}


@ESTIMATORS
def test_points_need_not_be_rows(cls, target):
    points = np.array([[0.0, 0.0], [1.0, 0.5], [-1.0, 0.5], [2.0, 0.0]])
    model = cls(landmarks=points).fit(X, target)
    assert {tuple(vector) for vector in model.landmark_vectors_} == {tuple(point) for point in points}


@ESTIMATORS
def test_full_rank_uses_all_distinct_rows(cls, target):
    twice = np.vstack([X, X[:30]])
    model = cls(rank=None, gamma=50.0).fit(twice, np.r_[target, target[:30]])
    assert model.rank_ == 100
    assert len(np.unique(twice[model.landmarks_], axis=0)) == 100
    assert model.trace_error_ == pytest.approx(0, abs=1e-9)


@ESTIMATORS
def test_rank_and_rank_tol(cls, target):
    assert cls(rank=7, rank_tol=0.0, gamma=5.0, random_state=0).fit(X, target).rank_ == 7
    coarse = cls(rank=90, rank_tol=0.2, gamma=5.0, random_state=0).fit(X, target)
    fine = cls(rank=90, rank_tol=0.01, gamma=5.0, random_state=0).fit(X, target)
    assert coarse.rank_ < fine.rank_ < 90
    assert fine.trace_error_ <= 0.01 * 1.01 < coarse.trace_error_ <= 0.2 * 1.01


@ESTIMATORS
@pytest.mark.parametrize("rule", ["rpcholesky", "pivoted_cholesky", "uniform"])
def test_random_state(cls, target, rule):
    def fit(seed):
        return cls(rank=12, rank_tol=0.0, gamma=5.0, landmarks=rule, random_state=seed).fit(X, target)

    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = fit(0), fit(0), fit(1)
    np.testing.assert_array_equal(first.landmarks_, again.landmarks_)
    np.testing.assert_array_equal(first.dual_coef_, again.dual_coef_)
    np.testing.assert_array_equal(first.landmarks_, fit(np.random.RandomState(0)).landmarks_)
    assert set(first.landmarks_) != set(other.landmarks_)
    # nobody else's random numbers are touched
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


# ------------------------------------------------------------------ warm starts


@ESTIMATORS
@pytest.mark.parametrize("solver", ["lbfgs", "dca"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_a_warm_start_has_nothing_left_to_do(cls, target, solver, container):
    target = 50 + 3 * target if cls is UniSVMRegressor else target
    loss = "saturating" if cls is UniSVMClassifier else "absolute"
    model = cls(loss, C=10.0, tol=1e-6, warm_start=True, solver=solver, rank=40, random_state=0)
    cold = model.fit(container(X), target).n_iter_
    before = values(model)
    assert model.fit(container(X), target).n_iter_ <= 3 < cold
    np.testing.assert_allclose(values(model), before, rtol=0.05, atol=0.05)


def test_a_warm_start_of_several_columns():
    rows, labels = make_blobs(100, centers=4, cluster_std=2.0, random_state=0)
    model = UniSVMClassifier(C=10.0, tol=1e-6, warm_start=True)
    cold = model.fit(rows, labels).n_iter_
    assert model.fit(rows, labels).n_iter_ <= 3 < cold


@CONVEX
@pytest.mark.parametrize("change", [{"C": 10.0}, {"gamma": 2.0}, {"fit_intercept": False}, {"rank": 20}], ids=str)
def test_a_warm_start_ends_where_a_cold_one_does(cls, loss, target, change):
    options = {"C": 1.0, "tol": 1e-10, "gamma": 0.5, "random_state": 0}
    model = cls(loss, warm_start=True, **options).fit(X, target)
    warm = model.set_params(**change).fit(X, target)
    cold = cls(loss, **options | change).fit(X, target)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-6)
    np.testing.assert_allclose(values(warm), values(cold), rtol=0, atol=1e-4)


def test_a_warm_start_survives_other_data():
    model = UniSVMClassifier("logistic", warm_start=True, tol=1e-8).fit(X, y)
    changes = {
        "labels": (X, np.array(["no", "yes"])[y]),
        "more classes": (X, y + (X[:, 0] > 1)),
        "columns": (np.hstack([X, X**2]), y),
        "sparse": (sparse.csr_array(X), y),
        "multilabel": (X, np.stack([y, 1 - y], axis=1)),
    }
    for name, (rows, labels) in changes.items():
        warm = model.fit(rows, labels)
        cold = UniSVMClassifier("logistic", tol=1e-8).fit(rows, labels)
        np.testing.assert_allclose(values(warm, rows), values(cold, rows), atol=1e-3, err_msg=name)


def test_a_warm_start_survives_another_kernel():
    model = UniSVMClassifier("logistic", warm_start=True, tol=1e-8)
    for kernel, rows in (("precomputed", X @ X.T), ("rbf", X), ("precomputed", X @ X.T), ("linear", X)):
        warm = model.set_params(kernel=kernel).fit(rows, y)
        cold = UniSVMClassifier("logistic", tol=1e-8, kernel=kernel).fit(rows, y)
        np.testing.assert_allclose(values(warm, rows), values(cold, rows), atol=1e-3)


# ------------------------------------------------------------------ printed lines


@ESTIMATORS
def test_silent_by_default(cls, target, capsys):
    cls().fit(X, target).predict(X)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


@ESTIMATORS
@pytest.mark.parametrize("solver", ["lbfgs", "dca"])
@pytest.mark.parametrize("verbose", [1, 2])
def test_verbose(cls, target, solver, verbose, capsys):
    model = cls(verbose=verbose, solver=solver, C=10.0).fit(X, target)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("[unisvm]") for line in lines)
    for stage in ("landmarks", "features", "gram", "majoriser", "start", "solver"):
        assert sum(stage in line.split() for line in lines) == 1, stage
    iterations = [line for line in lines if line.split()[1].isdigit()]
    assert len(iterations) == (model.n_iter_ if verbose == 2 else 0)
    # the certificate comes last
    for fragment in (f"rank {model.rank_}", f"{model.n_iter_} iterations", f"{model.stationarity_:.2e}"):
        assert fragment in lines[-1]
