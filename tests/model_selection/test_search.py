"""Halving, which rules out kernels on samples of the rows, and kernels that are solved at the same time."""

from threading import Lock
from time import sleep

import numpy as np
import pytest
from sklearn.datasets import make_moons

from unisvm import UniSVMClassifierCV, UniSVMRegressorCV, model_selection
from unisvm.memory_budget import parse_memory

X, y = make_moons(150, noise=0.25, random_state=0)


def split_scores(model):
    return np.stack([model.cv_results_[f"split{k}_test_score"] for k in range(model.n_splits_)], axis=1)


rng = np.random.RandomState(0)
MANY = rng.randn(4000, 2)
MANY_LABELS = (MANY[:, 0] * MANY[:, 1] + 0.3 * rng.randn(4000) > 0).astype(int)


@pytest.mark.parametrize(
    ("cls", "used", "target"),
    [
        (UniSVMClassifierCV, "squared_hinge", MANY_LABELS),
        (UniSVMRegressorCV, "huber", MANY[:, 0] * MANY[:, 1] + 0.1 * rng.randn(4000)),
    ],
    ids=["classifier", "regressor"],
)
def test_halving(cls, used, target):
    params = {"Cs": [0.1, 1.0], "gammas": [1e3, 0.3, 1e-4], "cv": 2, "rank": 50, "random_state": 0}
    halved = cls(used, **params, search="halving").fit(MANY, target)
    full = cls(used, **params).fit(MANY, target)
    mean = halved.cv_results_["mean_test_score"].reshape(2, 3)
    ruled_out = np.isnan(mean).all(axis=0)
    # two of three are left over, and the cells of each are all tried or all not
    assert ruled_out.sum() == 1
    assert np.isfinite(mean[:, ~ruled_out]).all()
    assert (halved.best_params_, halved.best_score_) == (full.best_params_, full.best_score_)
    assert halved.best_params_["gamma"] in np.array(params["gammas"])[~ruled_out]
    np.testing.assert_array_equal(
        split_scores(halved)[~np.isnan(mean.ravel())], split_scores(full)[~np.isnan(mean.ravel())]
    )
    rank = halved.cv_results_["rank_test_score"]
    assert rank[halved.best_index_] == 1
    assert (rank[np.isnan(mean.ravel())] == 5).all()


def test_halving_of_few_rows_is_a_full_search():
    models = [
        UniSVMClassifierCV(["logistic"], Cs=2, gammas=3, cv=3, random_state=0, search=search).fit(X, y)
        for search in ("full", "halving")
    ]
    np.testing.assert_array_equal(*map(split_scores, models))


def test_halving_with_a_split_that_a_sample_may_miss():
    half = np.arange(2000)
    splits = [(np.arange(1, 4000), np.array([0])), (half, half + 2000), (half + 2000, half)]
    params = {"Cs": [1.0], "gammas": [1e3, 0.3], "cv": splits, "rank": 50, "search": "halving"}
    for seed in range(3):
        model = UniSVMClassifierCV("squared_hinge", **params, random_state=seed).fit(MANY, MANY_LABELS)
        assert model.gamma_ == 0.3


# ------------------------------------------------------------------ kernels at the same time


class Watched:
    """Counts how many kernels are being solved at once, and notes the threads and the memory that each may take."""

    def __init__(self, monkeypatch):
        self.now, self.most, self.shares = 0, 0, set()
        lock, solve_kernel = Lock(), model_selection.search.solve_kernel

        def watched(job, folds, *args):
            with lock:
                self.now += 1
                self.most = max(self.most, self.now)
                self.shares.add((folds.rows.n_threads, job.memory.limit))
            yield from solve_kernel(job, folds, *args)
            with lock:
                self.now -= 1

        monkeypatch.setattr(model_selection.search, "solve_kernel", watched)


GAMMAS = {"losses": ["squared_hinge"], "Cs": 3, "gammas": [0.25, 1.0, 4.0], "cv": 2, "rank": 200, "random_state": 0}


@pytest.mark.parametrize(("limit", "at_once"), [("1GB", 2), ("40MB", 2), ("15MB", 1)])
def test_as_many_kernels_at_once_as_memory_allows(monkeypatch, limit, at_once):
    watched = Watched(monkeypatch)
    alone = UniSVMClassifierCV(**GAMMAS, n_jobs=1).fit(MANY, MANY_LABELS)
    assert watched.most == 1
    watched.shares.clear()
    model = UniSVMClassifierCV(**GAMMAS, n_jobs=2, memory_limit=limit).fit(MANY, MANY_LABELS)
    assert watched.most == at_once
    whole = parse_memory(limit)
    # the third is alone in any case
    assert watched.shares == ({(1, whole // 2), (2, whole)} if at_once == 2 else {(2, whole)})
    np.testing.assert_allclose(split_scores(model), split_scores(alone), atol=2e-3)


def test_more_threads_than_kernels_work_on_the_same_one(monkeypatch):
    watched = Watched(monkeypatch)
    # no more threads than processors are used
    monkeypatch.setattr("unisvm.parallel.cpu_count", lambda: 5)
    UniSVMClassifierCV(**(GAMMAS | {"Cs": 1, "gammas": [1.0, 4.0]}), n_jobs=5).fit(MANY[:300], MANY_LABELS[:300])
    assert watched.most == 1


def test_models_that_are_scored_in_threads_start_none_of_their_own():
    seen = set()

    def scorer(model, rows, target):
        seen.add((model.n_jobs, model.gamma, model.kernel_.gamma))
        return model.score(rows, target)

    UniSVMClassifierCV(**GAMMAS, n_jobs=2, scoring=scorer).fit(MANY, MANY_LABELS)
    # the third kernel has both threads
    assert seen == {(1, 0.25, 0.25), (1, 1.0, 1.0), (2, 4.0, 4.0)}


def test_an_error_in_a_thread_is_raised():
    def broken(model, rows, target):
        raise ZeroDivisionError("by the scorer")

    model = UniSVMClassifierCV(**GAMMAS, n_jobs=2, scoring=broken)
    with pytest.raises(ZeroDivisionError, match="by the scorer"):
        model.fit(MANY, MANY_LABELS)
    assert not hasattr(model, "cv_results_")


def test_nothing_goes_on_after_an_error():
    """A kernel that another thread works on is given up, and does not write into the files of the next search."""
    calls = []

    def scorer(model, rows, target):
        calls.append(model.kernel_.gamma)
        if model.kernel_.gamma == 2.0:
            # the other thread is in the midst of its own
            while 1.0 not in calls:
                sleep(0.001)
            raise ZeroDivisionError
        sleep(0.01)
        return 0.5

    params = {"Cs": 10, "gammas": [1.0, 2.0], "cv": 5, "n_jobs": 2, "rank": 20}
    with pytest.raises(ZeroDivisionError):
        UniSVMClassifierCV(["squared_hinge", "saturating"], **params, scoring=scorer).fit(X, y)
    n_calls = len(calls)
    sleep(0.2)
    assert len(calls) == n_calls
    assert calls.count(1.0) < 10 * 2 * 5
