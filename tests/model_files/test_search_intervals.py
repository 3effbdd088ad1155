"""Prediction intervals in model files: what is refused, and files of versions that had none."""

import pickle

import numpy as np
import pytest

import unisvm
from model_files.saved_models import cases


@pytest.fixture(scope="module")
def model():
    estimator, rows, y = cases()["intervals"]
    return estimator.fit(rows, y)


def replaced(name, change):
    """Change of an attribute or of a part of the intervals, before they are saved."""

    def apply(intervals):
        owner = intervals.widths if name in ("varies", "least") else intervals
        if owner is intervals:
            setattr(intervals, name, change(getattr(intervals, name)))
        else:
            intervals.widths = owner._replace(**{name: change(getattr(owner, name))})

    return apply


def with_functions(**changes):
    """Change of the functions of the widths."""

    def apply(intervals):
        functions = intervals.widths.quantiles
        made = {name: change(getattr(functions, name)) for name, change in changes.items()}
        intervals.widths = intervals.widths._replace(quantiles=functions._replace(**made))

    return apply


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (replaced("scores", lambda scores: scores[::-1].copy()), "scores must be rising"),
        (replaced("scores", lambda scores: scores[:0]), "weights must be an array"),
        (replaced("scores", lambda scores: np.where(scores == scores[3], np.nan, scores)), "scores must be an array"),
        (replaced("scores", lambda scores: scores[:, :1].copy()), "scores must be an array"),
        (replaced("weights", lambda weights: -weights), "weights must be the same positive"),
        (replaced("weights", lambda weights: weights * [1, 2]), "weights must be the same positive"),
        (replaced("weights", lambda weights: weights[1:].copy()), "weights must be an array"),
        (replaced("centre", lambda centre: centre * np.inf), "centre must be an array"),
        (replaced("varies", lambda varies: varies.astype(float)), "varies must be an array"),
        (replaced("least", lambda least: least * 0), "least_width must be positive"),
        (with_functions(dual_coef=lambda dual: dual[:2].copy()), "dual_coef_ must be an array"),
        (with_functions(dual_coef=lambda dual: dual[:, :-1].copy()), "landmark_vectors_ must be of"),
        (with_functions(intercept=lambda intercept: intercept[:1].copy()), "intercept_ must be an array"),
        (with_functions(points=lambda points: points[:, :2].copy()), "landmark_vectors_ must be"),
        (with_functions(points=lambda points: None), "landmark_vectors_ must be there"),
    ],
)
def test_intervals_that_make_no_sense_are_refused(model, tmp_path, change, said):
    # the checks of `load`, which `save` makes first
    bad = pickle.loads(pickle.dumps(model))
    change(bad.intervals_)
    with pytest.raises(ValueError, match=f"could not be loaded again: .*{said}"):
        unisvm.save(bad, tmp_path / "model.unisvm")


def test_intervals_of_other_targets_are_refused(model, tmp_path):
    estimator, rows, y = cases()["intervals"]
    one = estimator.fit(rows, y[:, 0])
    one.intervals_ = model.intervals_
    with pytest.raises(ValueError, match="intervals_ must be of the targets of the best estimator"):
        unisvm.save(one, tmp_path / "model.unisvm")


def test_a_file_of_a_version_without_intervals(tmp_path):
    path = tmp_path / "model.unisvm"
    estimator, rows, y = cases()["intervals"]
    search = estimator.fit(rows, y)
    del search.intervals_
    unisvm.save(search, path)
    loaded = unisvm.load(path)
    np.testing.assert_array_equal(loaded.predict(rows), search.predict(rows))
    with pytest.raises(AttributeError, match="Fit it anew"):
        loaded.predict_interval(rows)
