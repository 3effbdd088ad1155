"""Single fits, paths, searches and fits on Dask are the same functions of the engine: same landmarks, same solution."""

import dask.array as da
import numpy as np
import pytest

import unisvm
from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, UniSVMRegressorCV, engine
from unisvm.fitting import fit_estimator

pytestmark = pytest.mark.usefixtures("threaded_dask")

rng = np.random.RandomState(0)
X = rng.randn(400, 3)
SURFACE = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.3 * rng.randn(400)
WEIGHTS = rng.randint(0, 4, size=400).astype(float)
THREE = np.array(["low", "middle", "high"])[np.digitize(SURFACE, [-0.6, 0.6])]
SEARCHES = {UniSVMClassifier: UniSVMClassifierCV, UniSVMRegressor: UniSVMRegressorCV}

# estimator, convex loss, targets
TASKS = {
    "two classes": (UniSVMClassifier, "logistic", SURFACE > 0),
    "three classes": (UniSVMClassifier, "squared_hinge", THREE),
    "one target": (UniSVMRegressor, "huber", 50 + 3 * SURFACE),
    "two targets": (UniSVMRegressor, "least_squares", np.stack([SURFACE, X[:, 0] ** 2], axis=1)),
}
SETTINGS = {
    "defaults": {},
    "no intercept": {"fit_intercept": False},
    "laplacian": {"kernel": "laplacian"},
    "linear": {"kernel": "linear"},
    "uniform landmarks": {"landmarks": "uniform"},
    "given landmarks": {"landmarks": X[::10] + 0.1},
}
SHARED = {"kernel": "rbf", "rank": 40, "tol": 1e-12, "max_iter": 5000, "random_state": 0}
C, GAMMA = 3.0, 0.3


def alone(cls, loss, y, weights, **settings):
    return cls(loss, C=C, gamma=GAMMA, **settings).fit(X, y, sample_weight=weights)


def on_path(cls, loss, y, weights, **settings):
    path = unisvm.path(X, y, losses=[loss], Cs=[C], gamma=GAMMA, sample_weight=weights, **settings)
    return path.estimators[0][0]


def by_search(cls, loss, y, weights, **settings):
    search = SEARCHES[cls]([loss], Cs=[C], gammas=[GAMMA], cv=3, **settings)
    return search.fit(X, y, sample_weight=weights).best_estimator_


def on_dask(cls, loss, y, weights, **settings):
    rows, targets = da.from_array(X, chunks=(90, 3)), da.from_array(y, chunks=(150, *y.shape[1:]))
    return cls(loss, C=C, gamma=GAMMA, **settings).fit(rows, targets, sample_weight=weights)


def decisions(model):
    return (model.decision_function if isinstance(model, UniSVMClassifier) else model.predict)(X)


# A path is solved in another basis, so that it stops at another point that is stationary enough.
@pytest.mark.parametrize(("way", "atol"), [(on_path, 1e-4), (by_search, 1e-6), (on_dask, 1e-6)])
@pytest.mark.parametrize(("cls", "loss", "y"), TASKS.values(), ids=TASKS)
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
def test_the_model_is_that_of_the_plain_estimator(way, atol, cls, loss, y, settings, weights):
    model = way(cls, loss, y, weights, **SHARED | settings)
    # searches and paths draw one seed for all their fits
    plain = alone(cls, loss, y, weights, **SHARED | settings | {"random_state": model.random_state})
    assert type(model) is type(plain)
    if plain.landmarks_ is None:
        assert model.landmarks_ is None
    else:
        np.testing.assert_array_equal(np.sort(model.landmarks_), np.sort(plain.landmarks_))
    assert model.rank_ == plain.rank_
    assert model.trace_error_ == pytest.approx(plain.trace_error_, rel=1e-3, abs=1e-6)
    expected = decisions(plain)
    np.testing.assert_allclose(decisions(model), expected, rtol=0, atol=atol * max(1.0, np.ptp(expected)))


@pytest.mark.parametrize(("way", "n_times"), [(alone, 1), (on_path, 1), (on_dask, 1), (by_search, 2)])
def test_landmarks_features_and_gram_are_prepared_in_one_place(monkeypatch, way, n_times):
    """Once for all losses, C and splits of a kernel, and once for the refit of a search."""
    prepared, prepare = [], engine.prepare

    def counted(*args, **kwargs):
        prepared.append(prepare(*args, **kwargs))
        return prepared[-1]

    monkeypatch.setattr(engine, "prepare", counted)
    model = way(UniSVMClassifier, "logistic", SURFACE > 0, None, **SHARED)
    assert len(prepared) == n_times
    for nystrom in prepared:
        np.testing.assert_array_equal(nystrom.basis.row_indices, model.landmarks_)


@pytest.mark.parametrize(
    ("cls", "loss", "y"), [(UniSVMClassifier, "saturating", THREE), (UniSVMRegressor, "welsch", 50 + 3 * SURFACE)]
)
@pytest.mark.parametrize("where", ["memory", "dask"])
def test_init_is_where_the_solver_starts(cls, loss, y, where):
    """The functions of another model, in the units of y; it has other landmarks, and nearly the same minimum."""
    settings = {"C": C, "gamma": GAMMA, "tol": 1e-6}
    cold = cls(loss, rank=150, random_state=0, **settings).fit(X, y)
    other = cls(loss, rank=150, random_state=1, **settings).fit(X, y)
    model = cls(loss, rank=150, random_state=0, **settings)
    rows = da.from_array(X, chunks=(90, 3)) if where == "dask" else X
    fit_estimator(model, rows, y, init=other._expansion())
    first, last = np.array(model.history_["objective"][0]), np.array(cold.objective_)
    np.testing.assert_allclose(first, last, rtol=1e-2)
    assert (first < cold.history_["objective"][0]).all()
    assert model.n_iter_ < cold.n_iter_
    assert (np.array(model.objective_) <= first).all()
    # the start is no attribute, and no parameter is changed
    assert vars(model).keys() == vars(cold).keys()
    assert model.get_params() == cold.get_params()
