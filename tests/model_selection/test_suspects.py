"""Rows whose label is contradicted out of fold: who they are, when a refit does without them, and what that gains."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold, train_test_split

from unisvm import FitWarning, UniSVMClassifier, UniSVMClassifierCV, datasets, losses, model_selection
from unisvm.memory_budget import MemoryBudget
from unisvm.model_selection.axes import KernelChoice
from unisvm.model_selection.base import begin_search, fit_search
from unisvm.model_selection.suspects import Cell, contradicted, look_wrong
from unisvm.progress import Report

X, X_TEST, CLEAN, Y_TEST = train_test_split(
    *(array[:1200] for array in load_digits(return_X_y=True)), test_size=400, random_state=0
)
X, X_TEST = (rows.astype(np.float32) / 16 for rows in (X, X_TEST))
WRONG, FLIPPED = datasets.flip_labels(CLEAN, 0.4, random_state=0)
GRID = {"losses": "squared_hinge", "Cs": [0.03, 0.3, 3.0], "gammas": [0.2], "cv": 4, "rank": 150, "random_state": 0}
GRID |= {"n_jobs": 1, "multi_class": "ovr"}


def leaving_out(model, *data, **weights):
    """The model, fitted without suspects, which it says."""
    with pytest.warns(FitWarning, match="rows are left out of the refit"):
        return model.fit(*data, **weights)


@pytest.fixture(scope="module")
def cleaned():
    return leaving_out(UniSVMClassifierCV(**GRID), X, WRONG)


@pytest.fixture(scope="module")
def believing():
    return UniSVMClassifierCV(**GRID, drop_suspects=False).fit(X, WRONG)


@pytest.fixture
def without_a_doubt(monkeypatch):
    """They are left out whatever comes of it."""
    monkeypatch.setattr(model_selection.suspects, "_LEAST_GAIN", -1e3)
    monkeypatch.setattr(model_selection.suspects, "_LEAST_RISE", -1.0)


# ------------------------------------------------------------------ who is a suspect


def test_another_class_is_far_ahead():
    # the lead of the first class is usually 2, so that it must be ahead of the label by more than 4/3
    decision = np.array([[1.0, -1.0, -1.0]] * 6)
    decision[1] = [0.9, -0.4, -1.0]
    decision[2] = [0.9, -0.5, -1.0]
    labels = np.array([0, 1, 1, 0, 1, 2])
    # row 1 is behind by 1.3, row 2 by 1.4 and row 4 by 2; all of class 2 would be: it is not known
    assert contradicted(decision, labels).tolist() == [False, False, True, False, True, False]


def test_wrong_labels_are_where_the_fits_are_sure():
    rng = np.random.RandomState(0)
    labels = np.repeat([0, 2], 500)
    lead = rng.uniform(0.1, 2, size=1000)
    decision = np.outer(lead, [1.0, 0.0, -1.0]) * np.where(labels == 0, 1, -1)[:, None]
    # an equal number of wrong labels anywhere, and where the fits are less sure of the first class
    anywhere = rng.permutation(1000)[:200]
    unsure = np.argsort(lead)[500:700]
    for wrong, expected in ((anywhere, True), (unsure, False)):
        target = labels.copy()
        target[wrong] = 2 - target[wrong]
        assert contradicted(decision, target).sum() > 100
        assert look_wrong(decision, target) == expected
    # fits that hardly know the labels
    anywhere = rng.permutation(1000)[:520]
    labels[anywhere] = 2 - labels[anywhere]
    assert not look_wrong(decision, labels)


def test_they_are_wrong(cleaned):
    assert np.isin(cleaned.suspects_, FLIPPED).mean() > 0.95
    assert np.isin(FLIPPED, cleaned.suspects_).mean() > 0.8


def test_labels_that_a_split_is_scored_on_have_no_part_in_it():
    """Whatever the labels of its test rows are, a split does without the same training rows."""
    model = UniSVMClassifierCV(**GRID, refit=False)
    cell = Cell(losses.get("squared_hinge"), np.array([0.3]), KernelChoice("rbf", 0.2))

    def doubted(labels):
        with begin_search(model, X, labels, None) as start:
            job = fit_search(model, start, X, labels, None, {}).job
        return model_selection.suspects._doubted_by_split(job._replace(splits=splits), cell, labels, Report(0))

    splits = list(StratifiedKFold(4).split(X, WRONG))
    once = doubted(WRONG)
    others = WRONG.copy()
    test = splits[2][1]
    others[test] = np.random.RandomState(1).permutation(others[test])
    again = doubted(others)
    assert not once[2, test].any()
    assert 0.2 < once[2].sum() / len(splits[2][0]) < 0.4
    np.testing.assert_array_equal(once[2], again[2])
    assert (once[0] != again[0]).any()


# ------------------------------------------------------------------ the refit without them


def test_better_than_believing_all_labels(cleaned, believing):
    assert len(believing.suspects_) == 0
    assert cleaned.score(X_TEST, Y_TEST) >= believing.score(X_TEST, Y_TEST) + 0.01
    # the scores of the grid are those of all rows
    assert cleaned.best_params_ == believing.best_params_
    assert cleaned.best_score_ == believing.best_score_
    assert cleaned.best_estimator_.C in GRID["Cs"]
    assert cleaned.best_estimator_.C >= cleaned.C_


def test_probabilities_are_those_of_the_refit(cleaned, believing):
    """Decisions of fits with fewer wrong labels are larger: calibrated on the others, they would be overconfident."""
    assert np.abs(cleaned.oof_decision_).mean() > np.abs(believing.oof_decision_).mean()
    wrong = datasets.flip_labels(Y_TEST, 0.4, random_state=1)[0]
    mine, theirs = (log_loss(wrong, model.predict_proba(X_TEST)) for model in (cleaned, believing))
    assert mine < theirs + 0.01


def test_the_model_is_a_plain_fit_without_them(cleaned):
    best = cleaned.best_estimator_
    weights = np.ones(len(X))
    weights[cleaned.suspects_] = 0
    plain = UniSVMClassifier("squared_hinge", C=best.C, gamma=0.2, rank=150, random_state=best.random_state)
    plain.set_params(multi_class="ovr")
    plain.fit(X, WRONG, sample_weight=weights)
    np.testing.assert_array_equal(plain.dual_coef_, best.dual_coef_)
    np.testing.assert_array_equal(plain.landmarks_, best.landmarks_)


def test_loss_that_is_not_convex(without_a_doubt):
    grid = GRID | {"losses": losses.Saturating(2.0, 2.0, 2.0)}
    model = leaving_out(UniSVMClassifierCV(**grid), X, WRONG)
    believing = UniSVMClassifierCV(**grid, drop_suspects=False).fit(X, WRONG)
    assert len(model.suspects_) > 0
    assert model.score(X_TEST, Y_TEST) > believing.score(X_TEST, Y_TEST)


def islands(n_rows, seed):
    """Rows of three classes: one row in seven is on an island, of class 2."""
    rows = np.random.RandomState(seed).uniform(-1, 1, size=(n_rows, 2))
    inside = np.sin(3 * np.pi * rows).prod(axis=1) > 0.62
    return rows, np.where(inside, 2, (rows[:, 0] > 0).astype(int))


def test_a_class_that_is_rare(without_a_doubt):
    """Most labels of the rare class are wrong, which says nothing against the fits that tell so."""
    rows, clean = islands(2000, 2)
    wrong, flipped = datasets.flip_labels(clean, 0.3, random_state=2)
    assert (clean[wrong == 2] != 2).mean() > 0.5
    grid = {"losses": "squared_hinge", "Cs": [0.1, 0.3, 1.0, 3.0], "gammas": [30.0], "rank": 200, "random_state": 0}
    model = leaving_out(UniSVMClassifierCV(**grid), rows, wrong)
    believing = UniSVMClassifierCV(**grid, drop_suspects=False).fit(rows, wrong)
    assert np.isin(model.suspects_, flipped).mean() > 0.9
    assert np.isin(flipped, model.suspects_).mean() > 0.7
    others, truth = islands(20_000, 0)
    assert model.score(others, truth) > believing.score(others, truth) + 0.01
    assert model.oof_decision_.shape == (2000, 3)


# ------------------------------------------------------------------ the word about it


def test_it_is_said(cleaned):
    names = np.array([f"digit {k}" for k in range(10)])
    with pytest.warns(FitWarning) as caught:
        model = UniSVMClassifierCV(**GRID).fit(X, names[WRONG])
    # the last is of the refit
    warning = caught[0]
    assert all("landmarks leave out" in str(other.message) for other in caught[1:])
    said, counts = str(warning.message), np.bincount(WRONG[model.suspects_], minlength=10)
    assert said.startswith(f"{len(model.suspects_)} of 800 rows are left out of the refit")
    assert "drop_suspects=False" in said
    assert "suspects_" in said
    worst = np.argsort(-counts / np.bincount(WRONG), kind="stable")
    for k in worst[:3]:
        assert f"{counts[k]} of {(k == WRONG).sum()} of class 'digit {k}'" in said
    assert names[worst[3]] not in said
    assert warning.filename == __file__


# ------------------------------------------------------------------ when no rows are left out


OVERLAPS = [(3, 1.5), (3, 2.0), (3, 3.0), (4, 1.5), (4, 2.0), (6, 1.5), (6, 2.0), (6, 3.0)]


@pytest.mark.parametrize(("n_classes", "width"), OVERLAPS)
def test_overlapping_classes_without_a_wrong_label(n_classes, width):
    grid = {"losses": "squared_hinge", "Cs": [0.1, 1.0, 10.0], "gammas": 1, "kernel": "rbf", "rank": 100}
    for seed in range(3):
        rows, target = make_blobs(2500, centers=n_classes, cluster_std=width, center_box=(-4, 4), random_state=seed)
        with warnings.catch_warnings():
            # the grid is small
            warnings.filterwarnings("ignore", "The best cell of the grid", FitWarning)
            model = UniSVMClassifierCV(**grid, random_state=0).fit(rows, target)
        assert 0.3 < model.best_score_ < 0.95
        assert model.suspects_.tolist() == []


def same_as_believing(target, **params):
    model = UniSVMClassifierCV(**GRID | params).fit(X, target)
    other = UniSVMClassifierCV(**GRID | params, drop_suspects=False).fit(X, target)
    np.testing.assert_array_equal(model.best_estimator_.dual_coef_, other.best_estimator_.dual_coef_)
    np.testing.assert_array_equal(model.oof_decision_, other.oof_decision_)
    assert model.suspects_.tolist() == []


def test_clean_labels():
    same_as_believing(CLEAN)


@pytest.mark.parametrize("share_wrong", [0.0, 0.2, 0.4])
def test_two_classes_are_left_alone(without_a_doubt, rng, share_wrong):
    """Wrong labels of two classes are not so far off: many rows are on the wrong side without a wrong label."""
    rows = rng.normal(size=(800, 2))
    target = (rows[:, 0] + rng.normal(scale=0.5, size=800) > 0).astype(int)
    target = datasets.flip_labels(target, share_wrong, random_state=0)[0]
    grid = {"losses": "squared_hinge", "Cs": [0.1, 1.0], "gammas": [0.5], "rank": 100, "random_state": 0}
    model = UniSVMClassifierCV(**grid).fit(rows, target)
    other = UniSVMClassifierCV(**grid, drop_suspects=False).fit(rows, target)
    # there are rows that it contradicts
    assert model.best_score_ < 0.9
    assert model.suspects_.tolist() == []
    assert model.best_estimator_.C == model.C_
    np.testing.assert_array_equal(model.best_estimator_.dual_coef_, other.best_estimator_.dual_coef_)
    np.testing.assert_array_equal(model.oof_decision_, other.oof_decision_)


def test_when_it_does_not_help(monkeypatch, capsys):
    monkeypatch.setattr(model_selection.suspects, "_LEAST_GAIN", 1e3)
    same_as_believing(WRONG, verbose=1)
    assert "suspects stay: without suspects the score changes by +0." in capsys.readouterr().out


@pytest.mark.parametrize(
    "cv",
    [
        2,
        StratifiedKFold(11),
        ShuffleSplit(4, random_state=0),
        RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),
        # rows drawn twice
        [(np.concatenate([train, train[:5]]), test) for train, test in StratifiedKFold(3).split(X, WRONG)],
    ],
    ids=["two", "many", "overlapping", "repeated", "twice"],
)
def test_splits_that_are_no_partition(cv):
    same_as_believing(WRONG, cv=cv)


def test_no_room_for_it(monkeypatch, capsys):
    real = model_selection.suspects.solve_kernel

    def solve_kernel(job, *args):
        yield from real(job._replace(memory=MemoryBudget(1000)), *args)

    monkeypatch.setattr(model_selection.suspects, "solve_kernel", solve_kernel)
    same_as_believing(WRONG, verbose=1)
    assert "suspects stay: The targets" in capsys.readouterr().out


def test_several_labels_a_row():
    rows, target = make_moons(600, noise=0.1, random_state=0)
    target = datasets.flip_labels(target, 0.3, random_state=0)[0]
    target = np.column_stack([target, 1 - target, rows[:, 0] > 0]).astype(int)
    model = UniSVMClassifierCV("squared_hinge", Cs=[1.0], gammas=[1.0], random_state=0).fit(rows, target)
    assert model.suspects_.tolist() == []


@pytest.mark.parametrize(("n_rows", "tried"), [(499, False), (500, True)])
def test_few_rows(without_a_doubt, n_rows, tried):
    rows, target = make_blobs(n_rows, centers=3, random_state=0)
    target = datasets.flip_labels(target, 0.3, random_state=0)[0]
    model = UniSVMClassifierCV("squared_hinge", Cs=[1.0], gammas=[1.0], random_state=0)
    model = leaving_out(model, rows, target) if tried else model.fit(rows, target)
    assert (len(model.suspects_) > 0) == tried


def test_drop_suspects_must_be_true_or_false():
    with pytest.raises(ValueError, match="drop_suspects must be True or False, got 'auto'"):
        UniSVMClassifierCV(**GRID, drop_suspects="auto").fit(X, WRONG)


def test_a_later_fit_forgets_them():
    model = leaving_out(UniSVMClassifierCV(**GRID), X, WRONG)
    assert len(model.suspects_) > 0
    assert model.fit(X, CLEAN).suspects_.tolist() == []


# ------------------------------------------------------------------ whatever the rows are


def test_rows_of_weight_zero_are_not_there(cleaned):
    """Some of them have a label of their own."""
    rng = np.random.RandomState(0)
    rows = np.concatenate([X, rng.rand(50, X.shape[1]).astype(np.float32)])
    target = np.concatenate([WRONG, np.arange(50) % 12 - 1])
    weights = np.concatenate([np.ones(len(X)), np.zeros(50)])
    # the same folds
    splits = [
        (np.concatenate([train, len(X) + np.flatnonzero(np.arange(50) % 4 != k)]),
         np.concatenate([test, len(X) + np.flatnonzero(np.arange(50) % 4 == k)]))
        for k, (train, test) in enumerate(StratifiedKFold(4).split(X, WRONG))
    ]  # fmt: skip
    model = leaving_out(UniSVMClassifierCV(**GRID | {"cv": splits}), rows, target, sample_weight=weights)
    np.testing.assert_array_equal(model.suspects_, cleaned.suspects_)
    np.testing.assert_allclose(model.predict_proba(X_TEST), cleaned.predict_proba(X_TEST), atol=1e-5)


def test_weights_stay_weights(without_a_doubt):
    weights = np.where(np.arange(len(X)) % 2, 1.0, 2.0)
    model = leaving_out(UniSVMClassifierCV(**GRID, class_weight="balanced"), X, WRONG, sample_weight=weights)
    assert len(model.suspects_) > 0
    best = model.best_estimator_
    plain = UniSVMClassifier("squared_hinge", class_weight="balanced", C=best.C, gamma=0.2, rank=150)
    weights[model.suspects_] = 0
    plain.set_params(random_state=best.random_state, multi_class="ovr").fit(X, WRONG, sample_weight=weights)
    np.testing.assert_array_equal(plain.dual_coef_, best.dual_coef_)


def test_precomputed_kernel_and_names(cleaned):
    names = np.array(list("abcdefghij"))
    X64 = X.astype(np.float64)
    matrix = rbf_kernel(X64, gamma=0.2)
    model = leaving_out(UniSVMClassifierCV(**GRID | {"kernel": "precomputed"}), matrix, names[WRONG])
    agree = np.intersect1d(model.suspects_, cleaned.suspects_)
    assert len(agree) > 0.95 * max(len(model.suspects_), len(cleaned.suspects_))
    predicted = model.predict(rbf_kernel(X_TEST.astype(np.float64), X64, gamma=0.2))
    assert (predicted == names[Y_TEST]).mean() > 0.9


def test_resumes_from_a_checkpoint(tmp_path, cleaned):
    for _ in range(2):
        model = leaving_out(UniSVMClassifierCV(**GRID, checkpoint=tmp_path), X, WRONG)
        np.testing.assert_array_equal(model.suspects_, cleaned.suspects_)
        np.testing.assert_array_equal(model.best_estimator_.dual_coef_, cleaned.best_estimator_.dual_coef_)
