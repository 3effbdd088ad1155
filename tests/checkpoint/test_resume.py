"""Fits that are broken off after any file resume and end with the same model, whatever is fitted."""

import os

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from checkpoint.interrupted import Broken, assert_same, model_arrays, rows
from unisvm import UniSVMClassifier, UniSVMRegressor, losses, solvers
from unisvm.checkpoint import file_format, stages
from unisvm.rows import MemoryRows

#: where random numbers come from when nothing else is asked for
GLOBAL = check_random_state(None)
#: enough rows for a start from a subsample of them
MANY, LABELS = rows(2400)
X, y = MANY[:600], LABELS[:600]
TARGET = np.sin(MANY[:, 0]) + 0.1 * MANY[:, 1]
WEIGHTS = np.random.RandomState(0).randint(0, 3, len(X)).astype(float)
KERNEL = np.exp(-0.1 * ((X[:300, None] - X[None, :300]) ** 2).sum(axis=2))


def squared_distance(A, B):
    return np.exp(-0.1 * ((A[:, None] - B[None]) ** 2).sum(axis=2))


SIGMOID = {"kernel": "sigmoid", "gamma": 0.5, "coef0": -0.5}
CASES = {
    "subsample": (UniSVMClassifier(rank=40, tol=1e-3), MANY, LABELS, None),
    "subsample, convex": (UniSVMClassifier("hinge", rank=40, tol=1e-3), MANY, LABELS == 1, None),
    "subsample, regression": (UniSVMRegressor("welsch", rank=40, tol=1e-3), MANY, TARGET, None),
    "single precision": (UniSVMClassifier(rank=40, tol=1e-3), X.astype(np.float32), y, None),
    "sparse": (UniSVMClassifier(rank=40, tol=1e-3), sparse.csr_array(X), y, None),
    "weights": (UniSVMClassifier(rank=40, tol=1e-3, class_weight="balanced"), X, y, WEIGHTS),
    "without an intercept": (UniSVMClassifier(rank=40, tol=1e-3, fit_intercept=False), X, y, None),
    "learned relevance": (UniSVMClassifier(rank=40, tol=1e-3, relevance="learned"), X, y, None),
    "least squares": (UniSVMClassifier("least_squares", rank=40), X, y, None),
    "greedy landmarks": (UniSVMClassifier(rank=40, tol=1e-3, landmarks="pivoted_cholesky"), X, y, None),
    "landmarks by number": (UniSVMClassifier(tol=1e-3, landmarks=np.arange(30)), X, y, None),
    "landmarks as points": (UniSVMClassifier(tol=1e-3, landmarks=X[:30] + 0.1), X, y, None),
    "precomputed": (UniSVMClassifier(rank=40, tol=1e-3, kernel="precomputed"), KERNEL, y[:300], None),
    "function": (UniSVMClassifier(rank=40, tol=1e-3, kernel=squared_distance), X, y, None),
    "subsample, indefinite": (UniSVMClassifier(rank=40, tol=1e-3, **SIGMOID), MANY, LABELS, None),
    "clipped": (UniSVMClassifier(rank=40, tol=1e-3, indefinite="clip", **SIGMOID), X, y, WEIGHTS),
    "krein": (UniSVMClassifier("least_squares", rank=40, tol=1e-6, indefinite="krein", **SIGMOID), X, y, None),
    "subsample, penalised offset": (UniSVMClassifier(rank=40, tol=1e-3, fit_intercept="penalised"), MANY, LABELS, None),
    "penalised offset, linear": (UniSVMClassifier(kernel="linear", fit_intercept="penalised"), X, y, None),
    "penalised offset, indefinite": (UniSVMClassifier(rank=40, fit_intercept="penalised", **SIGMOID), X, y, None),
    "features on disk": (UniSVMClassifier(rank=40, tol=1e-3, memory_limit="700KB"), X, y, None),
    "threads": (UniSVMClassifier(rank=40, tol=1e-3, n_jobs=2), X, y, None),
    "dca": (UniSVMClassifier("squared_hinge", rank=20, tol=1e-2, solver="dca"), X, y, None),
    "dca, paper's rule": (
        UniSVMClassifier("squared_hinge", rank=20, solver=solvers.DCA("woodbury", "change", 1.0)),
        X,
        y,
        None,
    ),
    "dca, Appendix C": (
        UniSVMClassifier("squared_hinge", rank=20, solver=solvers.DCA("full", "derivative_change", 1.0, A=2.0)),
        X,
        y,
        None,
    ),
    "several targets": (UniSVMRegressor(rank=40, tol=1e-3), X, np.stack([TARGET[:600], X[:, 2]], axis=1), None),
    "dask, subsample": (UniSVMClassifier(rank=40, tol=1e-3), da.from_array(MANY, chunks=(500, 6)), LABELS, None),
    "dask, subsample, regression": (
        UniSVMRegressor("welsch", rank=40, tol=1e-3),
        da.from_array(MANY, chunks=(700, 6)),
        da.from_array(TARGET, chunks=900),
        None,
    ),
    "dask, weights": (
        UniSVMClassifier(rank=40, tol=1e-3, class_weight="balanced"),
        da.from_array(X, chunks=(250, 6)),
        y,
        WEIGHTS,
    ),
    "no random state": (UniSVMClassifier(rank=40, tol=1e-3), X, y, None),
}


pytestmark = [
    pytest.mark.usefixtures("every_iteration"),
    # forty landmarks leave out most of a sigmoid kernel
    pytest.mark.filterwarnings("ignore::unisvm.FitWarning"),
]


@pytest.mark.parametrize("case", CASES)
def test_resumes_after_every_file(case, tmp_path, break_after):
    model, data, target, weights = CASES[case]
    seed = None if case == "no random state" else 0

    def new(folder=None):
        return clone(model).set_params(checkpoint=folder, random_state=seed)

    GLOBAL.seed(3)
    whole = model_arrays(new().fit(data, target, weights))
    n_iterations = len(whole["history"])
    # begun, relevance if it is learned, landmarks, gram, C, start, and then each iteration
    n_stages = 5 + (model.relevance is not None)
    for n_files in {*range(1, n_stages + 1), n_stages + n_iterations // 2, n_stages + n_iterations}:
        folder = tmp_path / str(n_files)
        break_after(n_files)
        GLOBAL.seed(3)
        with pytest.raises(Broken):
            new(folder).fit(data, target, weights)
        if n_files == n_stages:
            with file_format.read_file(folder / "unisvm-start.ckpt") as archive:
                assert ("coordinates" in archive) == ("subsample" in case)
        break_after(1000)
        GLOBAL.seed(4)
        global_state = repr(GLOBAL.get_state())
        assert_same(whole, model_arrays(new(folder).fit(data, target, weights)))
        assert repr(GLOBAL.get_state()) == global_state


def test_ended_fit_is_there_at_once(tmp_path, monkeypatch):
    model = UniSVMClassifier(rank=40, random_state=0, checkpoint=tmp_path).fit(X, y)
    monkeypatch.setattr(MemoryRows, "build", None)
    monkeypatch.setattr("unisvm.engine.choose_landmarks", None)
    again = clone(model).fit(X, y)
    assert_same(model_arrays(model), model_arrays(again))
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
    assert model.history_["seconds"] == again.history_["seconds"]
    assert sorted(os.listdir(tmp_path)) == [
        "unisvm-begun.ckpt",
        "unisvm-lock",
        "unisvm-result.ckpt",
    ]


def test_ended_fit_warns_again(tmp_path):
    for _ in range(2):
        with pytest.warns(UserWarning, match="max_iter=2"):
            UniSVMClassifier(rank=40, max_iter=2, tol=1e-9, random_state=0, checkpoint=tmp_path).fit(X, y)


@pytest.mark.parametrize("make", [np.random.RandomState, lambda seed: np.random.RandomState(np.random.PCG64(seed))])
@pytest.mark.parametrize("n_files", [1, 2, 3, 4, 5, 7, 1000])
def test_generator_is_advanced_alike(make, n_files, tmp_path, break_after):
    whole, first, second = make(7), make(7), make(7)
    settings = {"rank": 40, "tol": 1e-3}
    expected = model_arrays(UniSVMClassifier(random_state=whole, **settings).fit(X, y))
    break_after(n_files)
    try:
        UniSVMClassifier(random_state=first, checkpoint=tmp_path, **settings).fit(X, y)
    except Broken:
        break_after(1000)
    model = UniSVMClassifier(random_state=second, checkpoint=tmp_path, **settings).fit(X, y)
    assert_same(expected, model_arrays(model))
    np.testing.assert_array_equal(whole.uniform(size=5), second.uniform(size=5))


def test_warm_start(tmp_path, break_after):
    def first():
        return UniSVMClassifier(rank=40, tol=1e-2, warm_start=True, random_state=0).fit(X, y)

    settings = {"loss": "hinge", "tol": 1e-4}
    whole = first().set_params(**settings).fit(X, y)
    for n_files in (2, 3, 4, 5, 6):
        break_after(n_files)
        with pytest.raises(Broken):
            first().set_params(checkpoint=tmp_path / str(n_files), **settings).fit(X, y)
        break_after(1000)
        model = first().set_params(checkpoint=tmp_path / str(n_files), **settings).fit(X, y)
        assert_same(model_arrays(whole), model_arrays(model))
    other = UniSVMClassifier(rank=40, tol=1e-2, C=3.0, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="the contents of the function that it starts from differ"):
        other.set_params(C="auto", checkpoint=tmp_path / "2", **settings).fit(X, y)


@pytest.mark.parametrize("change", [{"n_jobs": 2}, {"memory_limit": "700KB"}, {"verbose": 1}])
def test_parameters_that_another_run_may_have_otherwise(change, tmp_path, break_after, capsys):
    settings = {"rank": 40, "tol": 1e-4, "random_state": 0, "n_jobs": 1}
    whole = UniSVMClassifier(**settings).fit(X, y)
    break_after(8)
    with pytest.raises(Broken):
        UniSVMClassifier(checkpoint=tmp_path, **settings).fit(X, y)
    break_after(1000)
    model = UniSVMClassifier(checkpoint=tmp_path, **(settings | change)).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-7)
    assert (
        "resumes from the checkpoint after: begun, landmarks, gram, C, start, solver" in capsys.readouterr().out
    ) == ("verbose" in change)


def test_states_of_the_solver_are_kept_from_time_to_time(tmp_path, monkeypatch):
    written = []
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda *paths: written.append(paths[1].name) or real(*paths))
    settings = {"loss": losses.get("hinge"), "rank": 40, "tol": 1e-6, "random_state": 0}
    monkeypatch.setattr(stages, "_SECONDS_BETWEEN", 3600)
    UniSVMClassifier(checkpoint=tmp_path / "rarely", **settings).fit(X, y)
    assert written == [f"unisvm-{stage}.ckpt" for stage in ("begun", "landmarks", "gram", "C", "start", "result")]
