"""Ways to search less than the whole grid: what is left out has no score, and what wins is what would have won."""

from threading import Lock
from time import sleep

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_circles, make_friedman1, make_moons

from unisvm import UniSVMClassifierCV, UniSVMRegressorCV, model_selection
from unisvm.rows.budget import parse_memory

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
    weeded = np.isnan(mean).all(axis=0)
    # two of three are left over, and the cells of each are all tried or all not
    assert weeded.sum() == 1
    assert np.isfinite(mean[:, ~weeded]).all()
    assert (halved.best_params_, halved.best_score_) == (full.best_params_, full.best_score_)
    assert halved.best_params_["gamma"] in np.array(params["gammas"])[~weeded]
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


SETS = {
    "moons": (UniSVMClassifierCV, *make_moons(120, noise=0.3, random_state=1)),
    "circles": (UniSVMClassifierCV, *make_circles(120, noise=0.2, factor=0.5, random_state=2)),
    "blobs": (UniSVMClassifierCV, *make_blobs(120, centers=3, cluster_std=2.5, random_state=3)),
    "friedman": (UniSVMRegressorCV, *make_friedman1(120, n_features=5, noise=1.0, random_state=4)),
}


@pytest.mark.parametrize("case", SETS.values(), ids=SETS.keys())
def test_pruning_keeps_the_winner(case, monkeypatch):
    # one C after the other, so that there is something to leave out
    monkeypatch.setattr(model_selection.walk, "_COLUMNS", 1)
    cls, rows, target = case
    params = {"Cs": 10.0 ** np.arange(-3, 4), "gammas": [0.5], "cv": 4, "random_state": 0, "tol": 1e-3}
    full = cls(**params).fit(rows, target)
    pruned = cls(**params, prune=True).fit(rows, target)
    assert pruned.best_params_ == full.best_params_
    left_out = np.isnan(split_scores(pruned)).all(axis=1)
    assert np.isfinite(split_scores(pruned)[~left_out]).all()
    # only the highest C of a gamma and loss
    by_C = left_out.reshape(7, -1)
    assert (np.diff(by_C.astype(int), axis=0) >= 0).all()
    assert not by_C[:3].any()
    assert (pruned.cv_results_["rank_test_score"][left_out] == 1 + (~left_out).sum()).all()


def test_pruning_leaves_something_out(monkeypatch):
    monkeypatch.setattr(model_selection.walk, "_COLUMNS", 1)
    noisy = np.where(np.random.RandomState(0).rand(150) < 0.3, 1 - y, y)
    params = {"Cs": 10.0 ** np.arange(-2, 6), "gammas": [10.0], "cv": 5, "random_state": 0, "tol": 1e-3, "prune": True}
    model = UniSVMClassifierCV(["logistic"], **params, scoring="roc_auc").fit(X, noisy)
    assert np.isnan(model.cv_results_["mean_test_score"]).any()
    assert np.isfinite(model.best_score_)


def test_a_loss_is_given_up_when_clearly_worse_twice_in_a_row():
    good = np.array([0.9, 0.8, 0.7, 0.8])
    # lower everywhere, though less than the splits differ; and lower by no more than by chance
    worse, unclear = good - [0.05, 0.06, 0.05, 0.06], good - [0.2, -0.15, 0.1, -0.1]
    race = model_selection.walk._Race(3)
    steps = [(good, good, good), (worse, worse, unclear), (worse, unclear, unclear), (good, worse, unclear)]
    still = [race.still_in(np.array(step)).tolist() for step in steps]
    assert still == [[True] * 3, [True] * 3, [False, True, True], [True, True, True]]
    # what was left out before does not shift the others
    race.forget(np.array([True, False, False]))
    assert race.still_in(np.array([worse, worse])).tolist() == [False, True]


# ------------------------------------------------------------------ values of gamma at the same time


class Watched:
    """Counts how many walks are under way at once, and notes the threads and the memory that a walk may take."""

    def __init__(self, monkeypatch):
        self.now, self.most, self.shares = 0, 0, set()
        lock, walk = Lock(), model_selection.search.walk

        def watched(task, *args, **params):
            with lock:
                self.now += 1
                self.most = max(self.most, self.now)
                self.shares.add((task.template.n_jobs, task.template.memory_limit))
            yield from walk(task, *args, **params)
            with lock:
                self.now -= 1

        monkeypatch.setattr(model_selection.search, "walk", watched)


GAMMAS = {"losses": ["squared_hinge"], "Cs": 3, "gammas": [0.25, 1.0, 4.0], "cv": 2, "rank": 200, "random_state": 0}


@pytest.mark.parametrize(("limit", "at_once"), [("1GB", 2), ("40MB", 2), ("15MB", 1)])
def test_as_many_gammas_at_once_as_memory_allows(monkeypatch, limit, at_once):
    watched = Watched(monkeypatch)
    alone = UniSVMClassifierCV(**GAMMAS, n_jobs=1).fit(MANY, MANY_LABELS)
    assert watched.most == 1
    watched.shares.clear()
    model = UniSVMClassifierCV(**GAMMAS, n_jobs=2, memory_limit=limit).fit(MANY, MANY_LABELS)
    assert watched.most == at_once
    whole = parse_memory(limit)
    # the third is alone in any case
    assert {(threads, parse_memory(memory)) for threads, memory in watched.shares} == (
        {(1, whole // 2), (2, whole)} if at_once == 2 else {(2, whole)}
    )
    np.testing.assert_allclose(split_scores(model), split_scores(alone), atol=2e-3)


def test_more_threads_than_gammas_work_on_the_same_one(monkeypatch):
    watched = Watched(monkeypatch)
    UniSVMClassifierCV(**(GAMMAS | {"Cs": 1, "gammas": [1.0, 4.0]}), n_jobs=5).fit(MANY[:300], MANY_LABELS[:300])
    assert watched.most == 1


def test_what_a_thread_raises_is_heard():
    def broken(model, rows, target):
        raise ZeroDivisionError("by the scorer")

    model = UniSVMClassifierCV(**GAMMAS, n_jobs=2, scoring=broken)
    with pytest.raises(ZeroDivisionError, match="by the scorer"):
        model.fit(MANY, MANY_LABELS)
    assert not hasattr(model, "cv_results_")


def test_nothing_goes_on_after_an_error():
    """A value of gamma that another thread works on is given up, and does not write into the next search's files."""
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
