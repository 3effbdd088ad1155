"""The events of fits and searches, and what a listener can do."""

import threading

import numpy as np
import pytest

from progress.slow import X, y
from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, UniSVMRegressorCV, path
from unisvm.progress import (
    CellScored,
    FeaturesBuilt,
    IterationEnds,
    KernelBegins,
    KernelEnds,
    Note,
    Report,
    RoundBegins,
    RoundEnds,
    StageBegins,
    StageEnds,
    listen,
)

STAGES = ["result", "landmarks", "features", "gram", "C", "majoriser", "start", "solver"]
WAVE = np.sin(3 * X[:, 0]) + X[:, 1]


def heard(fit, *args):
    """Events of a fit, and what it returns."""
    events = []
    with listen(events.append):
        result = fit(*args)
    return events, result


def of_kind(events, *kinds):
    return [event for event in events if isinstance(event, kinds)]


# ---------------------------------------------------------------------- plain fits


@pytest.mark.parametrize("solver", ["lbfgs", "dca"])
@pytest.mark.parametrize("cls", [UniSVMClassifier, UniSVMRegressor])
def test_stages_and_iterations(cls, solver):
    events, model = heard(cls(rank=30, solver=solver, random_state=0).fit, X, y if cls is UniSVMClassifier else WAVE)
    assert [event.name for event in of_kind(events, StageBegins)] == STAGES
    assert [event.name for event in of_kind(events, StageEnds)] == [*STAGES[1:], "result"]
    assert all(event.seconds >= 0 and not event.failed for event in of_kind(events, StageEnds))
    assert {event.path for event in events} == {()}
    (features,) = of_kind(events, FeaturesBuilt)
    assert features.n_bytes == len(X) * model.rank_ * 8
    iterations = of_kind(events, IterationEnds)
    assert [event.number for event in iterations] == list(range(1, model.n_iter_ + 1))
    for name in ("objective", "stationarity"):
        np.testing.assert_array_equal(np.ravel([getattr(event, name) for event in iterations]), model.history_[name])
    for name in ("n_sweeps", "seconds"):
        assert [getattr(event, name) for event in iterations] == model.history_[name]
    assert {(event.tol, event.max_iter) for event in iterations} == {(model.tol, model.max_iter)}


def test_an_iteration_makes_the_model_as_it_stands():
    stopped_at = {}

    def listener(event):
        if isinstance(event, IterationEnds):
            stopped_at[event.number] = event.fitted()

    with listen(listener):
        whole = UniSVMClassifier("logistic", C=10.0, rank=30, random_state=0).fit(X, np.arange(150) % 3)
    for number in (1, 2, whole.n_iter_ // 2):
        with pytest.warns(match="after max_iter"):
            stopped = UniSVMClassifier("logistic", C=10.0, rank=30, random_state=0, max_iter=number).fit(
                X, np.arange(150) % 3
            )
        made = stopped_at[number]
        np.testing.assert_allclose(made.expansion.dual_coef, stopped.dual_coef_, rtol=1e-12)
        np.testing.assert_allclose(made.expansion.intercept, stopped.intercept_, rtol=1e-12)
        np.testing.assert_array_equal(made.result.objective, stopped.objective_)
        assert len(made.result.history) == number


def test_a_listener_changes_nothing_of_the_model():
    _, model = heard(UniSVMClassifier(rank=30, random_state=0).fit, X, y)
    other = UniSVMClassifier(rank=30, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, other.dual_coef_)


def test_a_listener_ends_the_solver():
    notes = []

    def listener(event):
        notes.extend(of_kind([event], Note))
        return isinstance(event, IterationEnds) and event.number == 5

    with listen(listener):
        # without a warning: that it did not converge is what the listener asked for
        model = UniSVMClassifier(C=1.0, rank=30, random_state=0).fit(X, y)
    assert model.n_iter_ == 5
    assert notes[0].text == "a callback ended the solver after iteration 5"


def test_a_fit_that_was_ended_goes_on_without_the_listener(tmp_path):
    whole = UniSVMClassifier("hinge", C=1.0, rank=30, random_state=0).fit(X, y)
    model = UniSVMClassifier("hinge", C=1.0, rank=30, random_state=0, checkpoint=tmp_path)
    with listen(lambda event: isinstance(event, IterationEnds) and event.number == 5):
        assert model.fit(X, y).n_iter_ == 5
    events, _ = heard(model.fit, X, y)
    assert [event.number for event in of_kind(events, IterationEnds)] == list(range(6, whole.n_iter_ + 1))
    np.testing.assert_array_equal(model.dual_coef_, whole.dual_coef_)
    # and is kept when it is over
    assert of_kind(heard(model.fit, X, y)[0], IterationEnds) == []


def test_what_a_listener_raises_ends_the_fit():
    events = []

    def listener(event):
        events.append(event)
        if isinstance(event, IterationEnds):
            raise RuntimeError("enough")

    model = UniSVMClassifier(C=1.0, rank=30)
    with listen(listener), pytest.raises(RuntimeError, match="enough"):
        model.fit(X, y)
    assert not hasattr(model, "dual_coef_")
    assert [event.name for event in of_kind(events, StageEnds) if event.failed] == ["solver", "result"]


def test_listeners_have_the_processor_as_it_was():
    seen = []
    with listen(lambda event: seen.append(np.float64(1e-308) / np.array([4.0])[0])):
        UniSVMClassifier(C=1.0, rank=30).fit(X, y)
    assert min(seen) > 0


def test_listeners_are_those_of_the_thread_and_the_context():
    events, inner = [], []
    with listen(events.append):
        other = threading.Thread(target=UniSVMClassifier(C=1.0, rank=10).fit, args=(X, y))
        other.start()
        other.join()
        assert events == []
        with listen(inner.append):
            UniSVMClassifier(C=1.0, rank=10).fit(X, y)
        n_events = len(events)
        assert len(inner) == n_events > 0
        UniSVMClassifier(C=1.0, rank=10).fit(X, y)
        assert len(inner) == n_events < len(events)
    n_events = len(events)
    UniSVMClassifier(C=1.0, rank=10).fit(X, y)
    assert len(events) == n_events


def test_with_nobody_who_listens_no_event_is_made():
    def exploding(**fields):
        raise AssertionError

    assert Report().emit(exploding) is False
    with listen(print), pytest.raises(AssertionError):
        Report().emit(exploding)


def test_stages_on_dask():
    da = pytest.importorskip("dask.array")
    events, model = heard(
        UniSVMClassifier(C=1.0, rank=20, random_state=0).fit, da.from_array(X, chunks=50), da.from_array(y, chunks=50)
    )
    assert [event.name for event in of_kind(events, StageEnds)] == [*STAGES[1:4], *STAGES[5:], "result"]
    assert len(of_kind(events, IterationEnds)) == model.n_iter_
    (features,) = of_kind(events, FeaturesBuilt)
    assert features.n_bytes == len(X) * model.rank_ * 8


# ---------------------------------------------------------------------- searches


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_grid_is_told_cell_by_cell(n_jobs):
    search = UniSVMClassifierCV(
        ["hinge", "feng"], Cs=[0.1, 1.0], gammas=[0.5, 2.0], cv=3, rank=20, random_state=0, n_jobs=n_jobs
    )
    events, _ = heard(search.fit, X, y)
    (begins,), (ends,) = of_kind(events, RoundBegins), of_kind(events, RoundEnds)
    assert (begins.name, begins.n_kernels, begins.n_cells) == ("grid", 2, 8)
    kernels = of_kind(events, KernelBegins)
    assert [(event.number, event.n_kernels, event.n_cells) for event in kernels] == [(1, 2, 4), (2, 2, 4)]
    assert [event.name for event in kernels] == ["rbf, gamma=0.5", "rbf, gamma=2"]
    assert sorted(event.index for event in of_kind(events, KernelEnds)) == [0, 1]
    cells = of_kind(events, CellScored)
    results = search.cv_results_
    expected = {str(params): score for params, score in zip(results["params"], results["mean_test_score"], strict=True)}
    assert {str(event.params): event.score for event in cells} == pytest.approx(expected)
    best = [event.best_score for event in cells]
    assert best == np.maximum.accumulate([event.score for event in cells]).tolist()
    assert cells[-1].best_params == ends.best_params == search.best_params_
    assert ends.best_score == search.best_score_
    # the stages of kernels say whose they are, and so do those of the refit
    paths = [event.path for event in of_kind(events, StageEnds) if event.name == "landmarks"]
    assert sorted(paths) == [("grid", "rbf, gamma=0.5"), ("grid", "rbf, gamma=2"), ("refit",)]
    assert len([event for event in of_kind(events, IterationEnds) if event.path == ("refit",)]) == search.n_iter_


@pytest.mark.parametrize(("cls", "target"), [(UniSVMClassifierCV, y), (UniSVMRegressorCV, WAVE)])
def test_an_adaptive_search_has_three_rounds(cls, target):
    events, _ = heard(cls(rank=20, random_state=0, cv=3, n_jobs=1).fit, X, target)
    assert [event.name for event in of_kind(events, RoundBegins)] == ["losses", "Cs", "best cells"]
    assert events.index(next(event for event in events if getattr(event, "name", "") == "kernels")) == 0
    n_cells = [event.n_cells for event in of_kind(events, RoundBegins)]
    assert sum(n_cells) == len(of_kind(events, CellScored))


def test_a_path_tells_of_its_stages():
    events, _ = heard(path, X, y)
    assert [event.name for event in of_kind(events, StageEnds)] == ["landmarks", "features", "gram"]


METHODS = {
    "full": {"Cs": [0.1, 1.0], "gammas": [0.5, 1.0, 2.0]},
    "adaptive": {},
    "halving": {"search": "halving", "Cs": [0.1, 1.0], "gammas": [0.5, 1.0, 2.0, 4.0]},
}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", [KernelEnds, CellScored])
@pytest.mark.parametrize("method", METHODS)
def test_a_listener_ends_a_search(method, kind, n_jobs):
    n = 4200 if method == "halving" else 150
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 2))
    labels = (rows[:, 0] * rows[:, 1] > 0).astype(int)
    search = UniSVMClassifierCV(**{"losses": ["hinge", "feng"], "cv": 2, "rank": 20, "tol": 1e-2, **METHODS[method]})
    search.set_params(n_jobs=n_jobs, random_state=0)
    tried = []

    def listener(event):
        tried.extend(of_kind([event], KernelBegins))
        return isinstance(event, kind)

    with listen(listener):
        search.fit(rows, labels)
    # after those that were under way at the first answer, each round tries one
    assert len({event.index for event in tried}) <= n_jobs
    assert search.best_params_["gamma"] == search.gamma_
    assert np.isfinite(search.cv_results_["mean_test_score"]).any()
    assert np.isnan(search.cv_results_["mean_test_score"]).any()
    assert search.score(rows, labels) > 0.8
    assert search.predict_proba(rows).shape == (n, 2)


def test_a_search_that_was_ended_goes_on_without_the_listener(tmp_path):
    options = {"Cs": [0.1, 1.0], "gammas": [0.5, 1.0, 2.0], "cv": 2, "rank": 20, "random_state": 0, "n_jobs": 1}
    whole = UniSVMClassifierCV(["hinge"], **options).fit(X, y)
    search = UniSVMClassifierCV(["hinge"], checkpoint=tmp_path, refit=False, **options)
    with listen(lambda event: isinstance(event, KernelEnds)):
        search.fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_score"]).sum() == 4
    search.fit(X, y)
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"])


def test_a_search_that_fails_says_so():
    def fails(event):
        if isinstance(event, CellScored):
            raise RuntimeError("enough")

    events = []
    with listen(events.append), listen(fails), pytest.raises(RuntimeError, match="enough"):
        UniSVMClassifierCV("hinge", Cs=[1.0], gammas=[0.5], cv=2).fit(X, y)
    ended = [event for event in events if isinstance(event, KernelEnds | RoundEnds)]
    assert [type(event) for event in ended] == [KernelEnds, RoundEnds]
    assert all(event.failed for event in ended)
