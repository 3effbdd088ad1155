"""Searches that are broken off or killed resume and end with the same scores and the same model."""

import json
import multiprocessing
from time import sleep

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from checkpoint.interrupted import Broken, rows
from unisvm import UniSVMClassifierCV, UniSVMRegressorCV, model_selection
from unisvm.checkpoint import file_format, stages

X, y = rows(600)
MANY, LABELS = rows(5000)
TARGET = np.sin(X[:, 0]) + 0.1 * X[:, 1]
GRID = {"Cs": [0.1, 10.0], "cv": 3, "rank": 30, "tol": 1e-3, "n_jobs": 2}
CASES = {
    "classes": (UniSVMClassifierCV(["squared_hinge", "saturating"], gammas=3, **GRID), X, y),
    "targets": (UniSVMRegressorCV(["huber", "welsch"], gammas=2, **GRID), X, TARGET),
    "halving": (UniSVMClassifierCV("squared_hinge", gammas=4, search="halving", **GRID), MANY, LABELS),
    "one thread": (UniSVMClassifierCV("smooth_hinge", gammas=2, **GRID | {"n_jobs": 1}), X, y),
    "without a refit": (UniSVMClassifierCV("squared_hinge", gammas=2, refit=False, **GRID), X, y),
    "dask": (UniSVMClassifierCV("saturating", gammas=2, **GRID), da.from_array(X, chunks=(200, 6)), y),
}
#: more files than a search and its refit write: one for each kernel, and those of the stages of the refit
MOST_FILES = 60


# the grids are small
pytestmark = [pytest.mark.usefixtures("every_iteration"), pytest.mark.filterwarnings("ignore::unisvm.FitWarning")]


def found(model):
    """Results of a search, but for the seconds."""
    arrays = {name: values for name, values in model.cv_results_.items() if name.endswith("_score")}
    arrays |= {"params": str(model.cv_results_["params"]), "best": str(model.best_params_), "oof": model.oof_decision_}
    if model.refit:
        best = model.best_estimator_
        arrays |= {"dual": best.dual_coef_, "intercept": best.intercept_, "objective": best.objective_}
        assert best.checkpoint is None
    return arrays


def assert_same(one, other):
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)


@pytest.mark.parametrize("case", CASES)
def test_resumes_after_every_file(case, tmp_path, break_after):
    model, data, target = CASES[case]

    def new(folder=None):
        return clone(model).set_params(checkpoint=folder, random_state=0)

    whole = found(new().fit(data, target))
    n_broken = 0
    for n_files in [1, 2, 3, 4, 5, 6, 8, 12, 20, MOST_FILES]:
        folder = tmp_path / str(n_files)
        break_after(n_files)
        try:
            new(folder).fit(data, target)
        except Broken:
            n_broken += 1
        break_after(MOST_FILES)
        assert_same(whole, found(new(folder).fit(data, target)))
    assert n_broken >= (2 if case == "without a refit" else 5)


def search(folder, out):
    """A search in a process of its own."""
    model = UniSVMClassifierCV(["squared_hinge", "saturating"], gammas=4, checkpoint=folder, random_state=0, **GRID)
    np.savez(out, **found(model.fit(MANY, LABELS)))


def test_killed(tmp_path):
    children = multiprocessing.get_context("forkserver")

    def start(name):
        process = children.Process(target=search, args=(tmp_path / name, tmp_path / f"{name}.npz"))
        process.start()
        return process

    start("whole").join()
    process = start("killed")
    while len(list((tmp_path / "killed").glob("*gamma*.ckpt"))) < 2:
        assert process.is_alive()
        sleep(0.001)
    process.kill()
    process.join()
    assert not (tmp_path / "killed.npz").exists()
    start("killed").join()
    with np.load(tmp_path / "whole.npz") as whole, np.load(tmp_path / "killed.npz") as other:
        assert_same(dict(whole), dict(other))


def test_kernels_that_were_solved_are_not_solved_again(tmp_path, monkeypatch):
    model = clone(CASES["classes"][0]).set_params(checkpoint=tmp_path, random_state=0).fit(X, y)
    solved = []
    solve_kernel = model_selection.search.solve_kernel

    def counted(job, folds, losses, Cs, choice, *others):
        solved.append(choice.gamma)
        return solve_kernel(job, folds, losses, Cs, choice, *others)

    monkeypatch.setattr(model_selection.search, "solve_kernel", counted)
    again = clone(model).fit(X, y)
    # the best kernel, for its decisions on the rows left out
    assert solved == [model.gamma_]
    assert_same(found(model), found(again))


def test_no_random_state_is_that_of_the_first_run(tmp_path):
    model = clone(CASES["classes"][0]).set_params(checkpoint=tmp_path, random_state=None).fit(X, y)
    assert_same(found(model), found(clone(model).fit(X, y)))


def test_a_sample_on_dask_must_be_the_same(tmp_path):
    model, data, target = CASES["dask"]
    with pytest.raises(ValueError, match="needs a random_state"):
        clone(model).set_params(checkpoint=tmp_path / "kept").fit(data, target)
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"Cs": [0.1, 1.0]}, "the contents of Cs differ"),
        ({"Cs": [0.1, 1.0, 10.0]}, r"Cs was .*\(2,\) and is .*\(3,\)"),
        ({"losses": ["squared_hinge"]}, "losses was"),
        ({"gammas": [1.0]}, "gammas was"),
        ({"scoring": "f1_macro"}, "scoring was None and is 'f1_macro'"),
        ({"cv": KFold(3, shuffle=True, random_state=0)}, "the contents of the splits differ"),
        ({"cv": 4}, "splits"),
        ({"class_weight": "balanced"}, "class_weight was None and is 'balanced'"),
        ({"rank": 20}, "rank was 30 and is 20"),
    ],
)
def test_another_search_is_refused(tmp_path, parameters, said):
    model = clone(CASES["classes"][0]).set_params(checkpoint=tmp_path, random_state=0, refit=False).fit(X, y)
    assert_same(found(model), found(clone(model).set_params(n_jobs=1).fit(X, y)))
    with pytest.raises(ValueError, match=rf"is of another fit:.*{said}"):
        clone(model).set_params(**parameters).fit(X, y)
    with pytest.raises(ValueError, match="the contents of y differ"):
        clone(model).fit(X, y[::-1])


def forge(path, name, change):
    """Change an array of a file, with its description and the checksum."""
    with file_format.read_file(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays.pop("meaning").tobytes())
    arrays[name] = change(arrays[name])
    header["arrays"] = stages._kinds(arrays)
    file_format.write_file(path, {"meaning": np.frombuffer(json.dumps(header).encode(), np.uint8)} | arrays)


@pytest.mark.parametrize(
    ("stage", "name", "change", "refused"),
    [
        ("suited", "Cs", lambda Cs: np.concatenate([Cs, Cs]), "suited"),
        ("suited", "Cs", lambda Cs: Cs.astype(str), "suited"),
        ("suited", "Cs", np.negative, "suited"),
        ("losses-gamma-*", "values", np.negative, "gamma-[01]"),
    ],
    ids=["more kernels", "text", "negative", "other scores"],
)
def test_forged_scores(tmp_path, stage, name, change, refused):
    rng = np.random.default_rng(0)
    few, classes = rng.normal(size=(80, 3)), np.arange(80) % 3
    model = UniSVMClassifierCV(Cs=2, gammas=2, cv=2, rank=8, tol=1e-2, checkpoint=tmp_path, random_state=0)
    model.fit(few, classes)
    paths = list(tmp_path.glob(f"unisvm-{stage}.ckpt"))
    assert paths
    for path in paths:
        forge(path, name, change)
    with pytest.raises(ValueError, match=f"unisvm-{refused}.ckpt' is damaged: .*Delete it"):
        model.fit(few, classes)
