"""The course of a fit with cells: what it keeps, tells, warns of, and refuses."""

import warnings

import dask.array as da
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import unisvm
from checkpoint.interrupted import Broken
from local.cell_cases import CLASSES, FLAG, LETTERS, NEW, WAVE, X, assert_same_model, classifier, regressor
from unisvm import FitWarning
from unisvm.local import fit as fit_module
from unisvm.plotting import ConvergenceDisplay, LowRankDisplay
from unisvm.progress import CellFitted, StageEnds, listen
from unisvm.rows import MemoryRows
from unisvm.rows import scratch as scratch_module

SETTINGS = [{}, {"C": "auto", "partitions": 2, "scale": "standard"}, {"n_jobs": 2, "rank": 5}]

# ------------------------------------------------------------------ checkpoints


def cell_files(folder):
    return sorted(folder.glob("unisvm-cell-*.ckpt"))


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("missing", ["some", "all", "all and C", "none"])
def test_resumes_to_the_last_bit(tmp_path, settings, missing):
    whole = classifier(**settings).fit(X, LETTERS)
    first = classifier(checkpoint=tmp_path, **settings).fit(X, LETTERS)
    assert_same_model(first, whole)
    files = cell_files(tmp_path)
    # cells of one class have nothing to keep
    assert len(files) == sum(np.max(machine.n_sweeps_) > 0 for machine in whole.cells_) > 3
    for file in {"some": files[1::2], "none": []}.get(missing, files):
        file.unlink()
    if missing == "all and C":
        (tmp_path / "unisvm-C.ckpt").unlink(missing_ok=True)
    assert_same_model(classifier(checkpoint=tmp_path, **settings).fit(X, LETTERS), whole)
    assert cell_files(tmp_path) == files


@pytest.mark.parametrize("n_files", range(1, 9, 2))
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_resumes_after_it_was_broken_off(tmp_path, n_files, n_jobs):
    settings = {"C": "auto", "n_jobs": n_jobs}
    whole, ended = classifier(**settings).fit(X, LETTERS), []

    def stop(event):
        if isinstance(event, StageEnds | CellFitted):
            ended.append(event)
            if len(ended) == n_files:
                raise Broken

    with pytest.raises(Broken), listen(stop):
        classifier(checkpoint=tmp_path, **settings).fit(X, LETTERS)
    assert len(cell_files(tmp_path)) < len(whole.cells_)
    assert_same_model(classifier(checkpoint=tmp_path, **settings).fit(X, LETTERS), whole)


def test_cells_that_were_fitted_are_not_fitted_again(tmp_path, monkeypatch):
    model = classifier(checkpoint=tmp_path, C="auto").fit(X, FLAG)
    monkeypatch.setattr(MemoryRows, "build", None)
    monkeypatch.setattr(fit_module, "grow_tree", None)
    assert_same_model(classifier(checkpoint=tmp_path, C="auto").fit(X, FLAG), model)


def test_a_warm_start_resumes(tmp_path):
    def first():
        return classifier(warm_start=True, loss="logistic").fit(X, LETTERS)

    whole = first().set_params(tol=1e-7).fit(X, LETTERS)
    first().set_params(tol=1e-7, checkpoint=tmp_path).fit(X, LETTERS)
    for file in cell_files(tmp_path)[::2]:
        file.unlink()
    assert_same_model(first().set_params(tol=1e-7, checkpoint=tmp_path).fit(X, LETTERS), whole)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"cells": 50}, "cells was 40 and is 50"),
        ({"partitions": 2}, "partitions was 1"),
        ({"cells": None}, "cells was"),
    ],
)
def test_other_cells_are_another_fit(tmp_path, change, said):
    classifier(checkpoint=tmp_path).fit(X, FLAG)
    with pytest.raises(ValueError, match=f"is of another fit: {said}"):
        classifier(checkpoint=tmp_path, **change).fit(X, FLAG)


def test_one_cell_is_kept_as_a_plain_fit_is(tmp_path):
    first = classifier(cells=100, checkpoint=tmp_path).fit(np.tile(X[:80], (3, 1)), np.tile(FLAG[:80], 3))
    again = classifier(cells=100, checkpoint=tmp_path).fit(np.tile(X[:80], (3, 1)), np.tile(FLAG[:80], 3))
    np.testing.assert_array_equal(first.dual_coef_, again.dual_coef_)


def test_damaged_files_are_named(tmp_path):
    classifier(checkpoint=tmp_path).fit(X, FLAG)
    file = cell_files(tmp_path)[0]
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(ValueError, match=rf"{file.name}.*damaged"):
        classifier(checkpoint=tmp_path).fit(X, FLAG)


# ------------------------------------------------------------------ what is told


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_cells_are_told_of(n_jobs):
    events = []
    with listen(events.append):
        model = regressor(partitions=2, n_jobs=n_jobs, C="auto").fit(X, WAVE)
    cells = [event for event in events if isinstance(event, CellFitted)]
    assert [event.number for event in cells] == list(range(1, 13))
    assert {event.n_cells for event in cells} == {12}
    sizes = [np.bincount(tree.cells_of(X)) for tree in model.partitions_]
    assert sorted(event.n_rows for event in cells) == sorted(np.concatenate(sizes))
    assert min(event.seconds for event in cells) >= 0
    # of the stages of single cells nothing
    assert [event.name for event in events if isinstance(event, StageEnds)] == ["partition", "C", "cells"]


def test_lines(capsys):
    classifier(C="auto", verbose=1).fit(X, FLAG)
    few = capsys.readouterr().out
    assert "6 cells of 40 to 40 rows" in few
    assert "C = " in few
    assert "cell 1 of 6" not in few
    classifier(verbose=2).fit(X, FLAG)
    many = capsys.readouterr().out
    for number in range(1, 7):
        assert f"cell {number} of 6: 40 rows" in many
    classifier().fit(X, FLAG)
    assert capsys.readouterr().out == ""


def test_callbacks():
    pytest.importorskip("sklearn.callback", exc_type=ImportError)
    from progress.recorders import Recorder

    recorder = Recorder()
    model = classifier(C="auto").set_callbacks(recorder).fit(X, FLAG)
    assert recorder.calls == ["setup", "teardown"]
    assert recorder.ended == ["partition", "C", "cells", "fit"]
    assert_same_model(model, classifier(C="auto").fit(X, FLAG))


def test_an_iteration_limit_is_warned_of_once():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 ") as caught:
        classifier(max_iter=1, tol=1e-9, loss="logistic").fit(X, LETTERS)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_trace_that_is_left_out_is_warned_of_once():
    with pytest.warns(FitWarning, match=r"2 landmarks leave out \d+ % .*average cell.*lower cells") as caught:
        model = classifier(rank=2, gamma=10.0).fit(X, FLAG)
    assert len(caught) == 1
    assert f"{100 * model.trace_error_.mean():.0f} %" in str(caught[0].message)


def test_columns_of_different_scales_are_warned_of_once():
    with pytest.warns(FitWarning, match="scales of the columns") as caught:
        classifier().fit(X * [1, 1e5, 1], FLAG)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier(scale="standard", rank=40).fit(X * [1, 1e5, 1], FLAG)


# ------------------------------------------------------------------ memory


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_too_little_memory_is_refused_before_a_cell_is_fitted(n_jobs, monkeypatch):
    monkeypatch.setattr(MemoryRows, "build", None)
    with pytest.raises(MemoryError, match="memory_limit"):
        classifier(memory_limit="5KB", n_jobs=n_jobs).fit(X, FLAG)


def test_features_of_cells_go_to_the_scratch_folder(scratch, monkeypatch):
    folders, real = [], scratch_module.Scratch.__init__

    def begin(self, shape, dtype, folder):
        folders.append(folder)
        real(self, shape, dtype, folder)

    monkeypatch.setattr(scratch_module.Scratch, "__init__", begin)
    settings = {"n_jobs": 1, "loss": "squared_hinge", "tol": 1e-9}
    plain = classifier(**settings).fit(X, FLAG)
    model = classifier(memory_limit="21KB", scratch_dir=scratch, **settings).fit(X, FLAG)
    assert folders
    assert set(folders) == {scratch}
    np.testing.assert_allclose(model.decision_function(NEW), plain.decision_function(NEW), atol=1e-3)


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize("cells", [0, -1, 1.5, True, "x", "Auto", np.nan, [10]])
@pytest.mark.parametrize("make", [classifier, regressor])
def test_cells_that_are_none(make, cells):
    with pytest.raises(ValueError, match="cells must be None, 'auto' or the most rows of a cell"):
        make(cells=cells).fit(X, FLAG)


@pytest.mark.parametrize("partitions", [0, -1, 1.5, True, "auto", None])
@pytest.mark.parametrize("cells", [None, 40])
def test_partitions_that_are_none(partitions, cells):
    with pytest.raises(ValueError, match="partitions must be a positive integer"):
        classifier(cells=cells, partitions=partitions).fit(X, FLAG)


@pytest.mark.parametrize("cells", [np.int64(40), np.int8(40)])
def test_numbers_of_numpy(cells):
    assert_same_model(classifier(cells=cells, partitions=np.int64(1)).fit(X, FLAG), classifier().fit(X, FLAG))


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"kernel": "precomputed"}, "a precomputed kernel matrix has none: use cells=None"),
        ({"landmarks": [0, 1, 2]}, "Each cell chooses landmarks of its own"),
        ({"landmarks": np.arange(3)}, "Each cell chooses landmarks of its own"),
        ({"landmarks": X[:5]}, "Each cell chooses landmarks of its own"),
        ({"loss": "least_squares", "kernel": "sigmoid", "indefinite": "krein"}, "krein.*use 'flip' or 'clip'"),
    ],
)
def test_fits_that_cells_cannot_have(parameters, said):
    rows = X @ X.T if parameters.get("kernel") == "precomputed" else X
    with pytest.raises(ValueError, match=said):
        classifier(**parameters).fit(rows, FLAG)
    # of so few rows there are no cells
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier(cells=240, **parameters).fit(rows, FLAG)


@pytest.mark.filterwarnings("ignore::unisvm.FitWarning")
@pytest.mark.parametrize("indefinite", ["flip", "clip"])
def test_indefinite_kernels(indefinite):
    model = classifier(kernel="sigmoid", gamma=0.05, indefinite=indefinite).fit(X, FLAG)
    assert len(model.cells_) == 6
    assert all(len(machine.signature_) == 2 for machine in model.cells_)


def test_graphs_and_displays(tmp_path):
    model = classifier().fit(X, CLASSES)
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match=r"one for each cell of its rows.*cells=None"):
        unisvm.to_onnx(model, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
    unisvm.to_onnx(model.cells_[0], tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="cells_"):
        LowRankDisplay.from_estimator(model, X)
    with pytest.raises(TypeError, match="cells_"):
        ConvergenceDisplay.from_estimator(model)
    ConvergenceDisplay.from_estimator(model.cells_[0])


def test_dask():
    lazy = da.from_array(X, chunks=(80, 3))
    with pytest.raises(ValueError, match=r"cells=40 needs all rows in one place.*None"):
        classifier().fit(lazy, FLAG)
    for partitions in (1, 2):
        model = classifier(partitions=partitions).fit(X, LETTERS)
        np.testing.assert_allclose(model.decision_function(lazy).compute(), model.decision_function(X), atol=1e-12)
        np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(X))
