"""Both solvers, on every loss, end where they say they do."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC, SVR

from unisvm import UniSVMClassifier, UniSVMRegressor, losses, solvers

X, y = make_moons(100, noise=0.3, random_state=0)
rng = np.random.RandomState(0)
WAVE = np.sin(3 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_t(2, size=100)

ALL = [(UniSVMClassifier, name, y) for name in losses.names("classification")]
ALL += [(UniSVMRegressor, name, WAVE) for name in losses.names("regression")]
CONVEX = [(cls, name, target) for cls, name, target in ALL if losses.get(name).is_convex]


def ids(cases):
    return [f"{cls.__name__[6:]}-{name}" for cls, name, _ in cases]


@pytest.mark.parametrize(("cls", "loss", "target"), ALL, ids=ids(ALL))
@pytest.mark.parametrize("solver", ["lbfgs", "dca"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_loss_is_fitted_to_tolerance(cls, loss, target, solver, dtype):
    # warnings are errors here, so that a fit that does not get there fails
    model = cls(loss, solver=solver).fit(X.astype(dtype), target)
    assert 0 <= model.stationarity_ <= model.tol
    assert model.score(X.astype(dtype), target) > (0.85 if cls is UniSVMClassifier else 0.3)
    # better than the constant that it could have been for free
    constant = np.ones(100) if cls is UniSVMClassifier else (WAVE - model.target_centre_) / model.target_scale_
    assert model.objective_ < losses.get(loss).value(constant).mean()


@pytest.mark.parametrize(("cls", "loss", "target"), CONVEX, ids=ids(CONVEX))
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "no-intercept"])
def test_solvers_agree_on_convex_losses(cls, loss, target, fit_intercept):
    parameters = {"tol": 1e-12, "max_iter": 20_000, "fit_intercept": fit_intercept, "rank": 40, "random_state": 0}
    lbfgs = cls(loss, **parameters).fit(X, target)
    dca = cls(loss, solver="dca", **parameters).fit(X, target)
    assert lbfgs.objective_ == pytest.approx(dca.objective_, rel=1e-6)
    np.testing.assert_allclose(lbfgs.predict(X), dca.predict(X), atol=1e-3)


@pytest.mark.parametrize("form", ["sparse", "woodbury", "full"])
@pytest.mark.parametrize(
    ("cls", "loss", "target"), [(UniSVMClassifier, "saturating", y), (UniSVMRegressor, "welsch", WAVE)]
)
def test_solver_objects(cls, loss, target, form):
    weights = 1.0 + np.arange(100) % 3
    plain = cls(loss, solver="dca", rank=40, random_state=0).fit(X, target, sample_weight=weights)
    given = cls(loss, solver=solvers.DCA(form=form), rank=40, random_state=0).fit(X, target, sample_weight=weights)
    # the three forms are the same steps
    assert given.n_iter_ == plain.n_iter_
    np.testing.assert_allclose(given.history_["objective"], plain.history_["objective"], rtol=1e-6)


def test_lbfgs_needs_fewer_sweeps():
    target = np.stack([y, X[:, 0] > 0.5, X[:, 1] > 0], axis=1).astype(int)
    sweeps = [UniSVMClassifier(C=10.0, tol=1e-6, solver=name).fit(X, target).n_sweeps_ for name in ("lbfgs", "dca")]
    assert (sweeps[0] < sweeps[1]).all()


def test_tol_is_what_is_reached():
    reached = [UniSVMClassifier("logistic", C=100.0, tol=tol).fit(X, y) for tol in (1e-2, 1e-5, 1e-9)]
    assert [model.stationarity_ <= model.tol for model in reached] == [True] * 3
    assert reached[0].n_iter_ < reached[1].n_iter_ < reached[2].n_iter_
    # the stationarity bounds the error, up to the factor between a bound on the curvature and the curvature
    best = reached[2].objective_
    for model in reached[:2]:
        assert 0 <= model.objective_ / best - 1 <= 100 * model.tol


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_sharp_hinge_is_svc(C):
    # the same C, the same γ, the same function, but for the rounding of the corner
    ours = UniSVMClassifier(losses.SmoothHinge(p=200.0), C=C, gamma=0.7, rank=None, tol=1e-10, max_iter=5000).fit(X, y)
    theirs = SVC(C=C, gamma=0.7, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=0.05)


def test_sharp_insensitive_loss_is_svr():
    target = WAVE - np.median(WAVE)
    target = target / (1.4826 * np.median(np.abs(target)))  # so that the scales of both are the same
    loss = losses.SmoothEpsilonInsensitive(epsilon=0.1, p=500.0)
    ours = UniSVMRegressor(loss, C=1.0, gamma=0.7, rank=None, tol=1e-10, max_iter=5000).fit(X, target)
    theirs = SVR(epsilon=0.1, gamma=0.7, tol=1e-8).fit(X, target)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=0.05)


def test_custom_loss():
    # a user's ψ is fitted like the library's own
    geman_mcclure = losses.custom(lambda u: u**2 / (1 + u**2), lambda u: 2 * u / (1 + u**2) ** 2, task="regression")
    for solver in ("lbfgs", "dca"):
        model = UniSVMRegressor(geman_mcclure, solver=solver).fit(X, WAVE)
        assert model.stationarity_ <= model.tol
        assert model.score(X, WAVE) > 0.3
    own = losses.custom(lambda u: u**2, lambda u: 2 * u, task="both")
    np.testing.assert_allclose(
        UniSVMRegressor(own).fit(X, WAVE).predict(X),
        UniSVMRegressor("least_squares").fit(X, WAVE).predict(X),
        atol=1e-3,
    )
