"""scikit-learn's callbacks, its own and a user's, alone and inside of its meta-estimators."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from progress.recorders import PropagatedRecorder, Recorder
from progress.slow import X, y
from unisvm import FitWarning, UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, UniSVMRegressorCV, load, save

STAGES = ["landmarks", "features", "gram", "C", "majoriser", "start", "solver"]
WAVE = np.sin(3 * X[:, 0]) + X[:, 1]
GRID = {"losses": ["hinge", "feng"], "Cs": [0.1, 1.0], "gammas": [0.5, 2.0], "cv": 2, "rank": 20, "random_state": 0}

NEEDS_1_9 = "Callbacks need scikit-learn 1.9 or newer"


@pytest.fixture
def callback():
    """The callbacks of scikit-learn, if it has any."""
    return pytest.importorskip("sklearn.callback", exc_type=ImportError)


# ---------------------------------------------------------------------- plain fits


@pytest.mark.parametrize(("cls", "target"), [(UniSVMClassifier, y), (UniSVMRegressor, WAVE)])
def test_tasks_are_stages_and_iterations(callback, cls, target):
    recorder = Recorder()
    weights = np.ones(len(X))
    model = cls(rank=30, random_state=0).set_callbacks(recorder).fit(X, target, sample_weight=weights)
    assert recorder.calls == ["setup", "teardown"]
    assert [name for name, *_ in recorder.begun] == ["fit", *STAGES, *["iteration"] * model.n_iter_]
    assert recorder.ended == [*STAGES[:-1], *["iteration"] * model.n_iter_, "solver", "fit"]
    assert all(has_X and metadata["sample_weight"] is weights for _, has_X, metadata in recorder.begun)
    # each iteration had a model that predicts, and so had the end
    assert len(recorder.scores) == model.n_iter_ + 1
    assert recorder.scores[-1] == recorder.scores[-2] == model.score(X, target)
    assert not [name for name in vars(model) if "callback" in name and name != "_skl_callbacks"]
    plain = cls(rank=30, random_state=0).fit(X, target)
    np.testing.assert_array_equal(model.dual_coef_, plain.dual_coef_)
    # at a given C there is one stage less, and it is no task that never ends
    recorder = Recorder()
    cls(C=1.0, rank=30).set_callbacks(recorder).fit(X, target)
    assert [name for name in recorder.ended if name != "iteration"] == [*STAGES[:3], *STAGES[4:], "fit"]


@pytest.mark.parametrize("target", [y, np.arange(150) % 3, np.stack([y, 1 - y, y], axis=1)])
def test_scores_at_each_iteration(callback, target):
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = UniSVMClassifier(C=1.0, rank=30, random_state=0).set_callbacks(monitor).fit(X, target)
    rows = [row for row in monitor.get_logs().data if row["task_name"] == "iteration"]
    assert len(rows) == model.n_iter_
    assert rows[-1]["accuracy"] == model.score(X, target)
    with warnings.catch_warnings(action="ignore"):
        third = clone(model).set_callbacks().set_params(max_iter=3).fit(X, target)
    assert rows[2]["accuracy"] == third.score(X, target)


def test_a_callback_ends_the_solver_without_a_warning(callback, capsys):
    recorder = Recorder(stop=lambda name, number: name == "iteration" and number == 4)
    model = UniSVMClassifier(C=1.0, rank=30, verbose=1).set_callbacks(recorder).fit(X, y)
    assert model.n_iter_ == 4
    assert model.score(X, y) > 0.8
    assert "a callback ended the solver after iteration 4" in capsys.readouterr().out
    # one that would end anything else ends nothing
    recorder = Recorder(stop=lambda name, number: name != "iteration")
    assert UniSVMClassifier(C=1.0, rank=30).set_callbacks(recorder).fit(X, y).n_iter_ > 4


def test_a_model_that_is_fitted_again_is_shown_as_it_is(callback):
    model = UniSVMClassifier(C=1.0, rank=30, warm_start=True, random_state=0).fit(X, y)
    recorder = Recorder()
    model.set_callbacks(recorder).fit(X, y)
    assert len(recorder.scores) == model.n_iter_ + 1
    assert recorder.scores[0] == pytest.approx(model.score(X, y), abs=0.02)


@pytest.mark.parametrize("cls", [UniSVMClassifier, UniSVMClassifierCV])
@pytest.mark.parametrize("fail_at", ["landmarks", "iteration", "fit", "kernels"])
def test_a_callback_that_fails_is_torn_down(callback, cls, fail_at):
    recorder = PropagatedRecorder(fail_at=fail_at)
    model = cls(rank=30).set_callbacks(recorder)
    happens = fail_at in ("iteration", "fit", "landmarks" if cls is UniSVMClassifier else "kernels")
    if not happens and cls is UniSVMClassifier:
        model.fit(X, y)
    else:
        with pytest.raises(RuntimeError, match="it fails here"):
            model.fit(X, y)
    assert recorder.calls == ["setup", "teardown"]
    assert not [name for name in vars(model) if "callback" in name and name != "_skl_callbacks"]
    # and a fit after it is as any other
    model.set_callbacks().fit(X, y)


def test_data_that_are_refused_tear_callbacks_down(callback):
    for estimator in (UniSVMClassifier(C=1.0), UniSVMClassifierCV(**GRID)):
        recorder = Recorder()
        with pytest.raises(ValueError, match="inconsistent numbers"):
            estimator.set_callbacks(recorder).fit(X, y[:-1])
        assert recorder.calls == ["setup", "teardown"]
        assert not hasattr(estimator, "n_features_in_")


def test_warnings_are_about_the_line_that_called_fit(callback):
    recorder = Recorder()
    model = UniSVMClassifier(C=1.0, rank=3, max_iter=2).set_callbacks(recorder)
    with pytest.warns() as caught:
        model.fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}
    with pytest.warns(FitWarning) as caught:
        UniSVMClassifierCV(**(GRID | {"rank": 2})).set_callbacks(recorder).fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}


def test_rows_on_dask_are_scored_where_they_are(callback):
    da = pytest.importorskip("dask.array")
    rows, target = da.from_array(X, chunks=50), da.from_array(y, chunks=50)
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = UniSVMClassifier(C=1.0, rank=20, random_state=0).set_callbacks(monitor).fit(rows, target)
    scores = [row["accuracy"] for row in monitor.get_logs().data if row["task_name"] == "iteration"]
    assert len(scores) == model.n_iter_
    assert scores[-1] == (model.predict(X) == y).mean()


@pytest.mark.parametrize("model", [UniSVMClassifier(C=1.0, rank=20), UniSVMClassifierCV(**GRID)], ids=["plain", "CV"])
def test_callbacks_are_no_part_of_a_saved_model(callback, model, tmp_path):
    model = clone(model).set_callbacks(Recorder()).fit(X, y)
    save(model, tmp_path / "model.unisvm")
    loaded = load(tmp_path / "model.unisvm")
    assert not hasattr(loaded, "_skl_callbacks")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert model.set_callbacks().fit(X, y) is model


# ---------------------------------------------------------------------- searches


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("cls", "target"), [(UniSVMClassifierCV, y), (UniSVMRegressorCV, WAVE)])
def test_tasks_of_a_search_are_kernels_and_cells_and_the_refit(callback, cls, target, n_jobs):
    losses = ["hinge", "feng"] if cls is UniSVMClassifierCV else ["huber", "welsch"]
    recorder = PropagatedRecorder()
    search = cls(**(GRID | {"losses": losses}), n_jobs=n_jobs).set_callbacks(recorder).fit(X, target)
    names = [name for name in recorder.ended if name not in ("iteration", *STAGES)]
    cells = [f"C={C}, gamma={gamma}, loss={loss}" for C in ("0.1", "1") for gamma in ("0.5", "2") for loss in losses]
    assert sorted(names[:10]) == sorted([*cells, "rbf, gamma=0.5", "rbf, gamma=2"])
    # the refit is the sub-estimator's own fit
    after = ["intervals"] if cls is UniSVMRegressorCV else []
    assert names[10:] == ["grid", "fit", *after, "fit"]
    assert recorder.ended.count("iteration") == search.n_iter_
    assert recorder.calls == ["setup", "teardown"]
    assert not hasattr(search.best_estimator_, "_skl_callbacks")
    # those that are not handed on see the search alone
    alone = Recorder()
    clone(search).set_callbacks(alone).fit(X, target)
    assert [name for name in alone.ended if name == "iteration"] == []
    ended = [name for name in alone.ended if name not in STAGES]
    assert ended[-2 - len(after) :] == ["refit", *after, "fit"]


def test_an_adaptive_search(callback):
    recorder = PropagatedRecorder()
    UniSVMClassifierCV(rank=20, cv=3, random_state=0).set_callbacks(recorder).fit(X, y)
    rounds = [name for name in recorder.ended if name in ("kernels", "losses", "Cs", "best cells", "fit")]
    assert rounds == ["kernels", "losses", "Cs", "best cells", "fit", "fit"]


def test_a_callback_ends_a_search(callback):
    recorder = Recorder(stop=lambda name, number: name.startswith("rbf"))
    search = UniSVMClassifierCV(**GRID, n_jobs=1).set_callbacks(recorder).fit(X, y)
    assert [name for name in recorder.ended if name.startswith("rbf")] == ["rbf, gamma=0.5"]
    assert search.best_params_["gamma"] == 0.5


def test_progress_bars(callback, capsys):
    pytest.importorskip("rich")
    UniSVMClassifierCV(**GRID).set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(X, y)
    shown = capsys.readouterr().out
    for name in ("UniSVMClassifierCV - grid", "rbf, gamma=0.5", "UniSVMClassifier - solver"):
        assert name in shown
    assert shown.count("100%") == 6


# ---------------------------------------------------------------------- inside of meta-estimators


def test_in_a_pipeline(callback):
    recorder = PropagatedRecorder()
    model = make_pipeline(StandardScaler(), UniSVMClassifier(C=1.0, rank=20)).set_callbacks(recorder).fit(X, y)
    assert recorder.ended.count("iteration") == model[-1].n_iter_
    assert recorder.calls == ["setup", "teardown"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_in_a_grid_search(callback, n_jobs):
    monitor = callback.ScoringMonitor(scoring="accuracy")
    search = GridSearchCV(
        UniSVMClassifier(rank=20, random_state=0, n_jobs=1).set_callbacks(monitor),
        {"C": [0.1, 1.0]},
        cv=2,
        n_jobs=n_jobs,
    )
    search.set_callbacks(PropagatedRecorder()).fit(X, y)
    data = [row for row in monitor.get_logs().data if row["task_name"] == "iteration"]
    # four fits of candidates and the refit
    assert len({row["parent_task_id_path"] for row in data}) == 5
    best = search.best_estimator_
    of_refit = [row["accuracy"] for row in data if row["task_id_path"][1] == 1]
    assert len(of_refit) == best.n_iter_
    assert of_refit[-1] == best.score(X, y)


# ---------------------------------------------------------------------- other versions of scikit-learn


def test_an_older_scikit_learn_has_no_callbacks_and_fits_as_ever():
    code = (
        "import builtins\n"
        "found = builtins.__import__\n"
        "def older(name, namespace=None, *others):\n"
        "    if name == 'sklearn.callback' and (namespace or {}).get('__name__', '').startswith('unisvm'):\n"
        "        raise ImportError(name)\n"
        "    return found(name, namespace, *others)\n"
        "builtins.__import__ = older\n"
        "from progress.slow import X, y\n"
        "from unisvm import UniSVMClassifier, UniSVMClassifierCV\n"
        "for model in (UniSVMClassifier(rank=20, verbose=1), UniSVMClassifierCV(Cs=[1.0], gammas=[1.0], cv=2)):\n"
        "    assert model.fit(X, y).score(X, y) > 0.9\n"
        "    try:\n"
        "        model.set_callbacks(print)\n"
        "    except NotImplementedError as error:\n"
        "        print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(NEEDS_1_9) == 2


def test_an_object_that_is_no_callback_is_refused():
    pytest.importorskip("sklearn.callback", exc_type=ImportError)
    with pytest.raises(TypeError, match="must be instances following the FitCallback protocol"):
        UniSVMClassifier().set_callbacks(print)
