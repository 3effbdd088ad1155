"""Searches with cells: some cells are searched on, each by itself, and the mean of their scores decides."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.metrics import accuracy_score, make_scorer, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, PredefinedSplit, StratifiedKFold
from sklearn.preprocessing import StandardScaler

import unisvm
from unisvm import UniSVMClassifierCV, UniSVMRegressorCV
from unisvm.kernels import Scaled
from unisvm.model_selection.base import plan, read_axes
from unisvm.model_selection.drawn_cells import draw_cells

X, Y = make_moons(600, noise=0.25, random_state=0)
GRID = {"losses": ["squared_hinge"], "Cs": [0.1, 1.0], "gammas": [1.0, 8.0], "cv": 3, "random_state": 0}
TARGETS = np.sin(3 * X[:, 0]) + 0.1 * np.random.RandomState(0).randn(600)


def drawn_of(search, X, y, sample_weight=None):
    """The cells that a search is made on."""
    return plan(search, read_axes(search), X, y, sample_weight, {}).drawn


def drawn_by_a_tree(rows):
    """Labels that tell two cells of 300 rows apart."""
    rng = np.random.RandomState(np.random.RandomState(0).randint(2**31 - 1))
    drawn = draw_cells(rows, None, np.ones(len(rows)), None, 500, rng)
    return np.isin(np.arange(len(rows)), drawn.row_indices[drawn.parts[0]]).astype(int)


def few_cells(**params):
    return UniSVMClassifierCV(**(GRID | {"cells": 100} | params))


def test_scores_are_means_over_the_cells():
    """Each cell scores as a search of its rows alone, with the same splits, does."""
    search = few_cells(search="full").fit(X, Y)
    drawn = drawn_of(search, X, Y)
    np.testing.assert_array_equal(search.searched_rows_, drawn.row_indices)
    assert len(drawn.parts) == 5  # one of the six has a single class
    splits = list(StratifiedKFold(3).split(X[drawn.row_indices], Y[drawn.row_indices]))
    fold_of = np.empty(len(drawn.row_indices), dtype=int)
    for k, (_, test) in enumerate(splits):
        fold_of[test] = k
    expected = np.zeros((3, 4))
    for part in drawn.parts:
        rows = drawn.row_indices[part]
        alone = UniSVMClassifierCV(**(GRID | {"cv": PredefinedSplit(fold_of[part])}), search="full").fit(
            X[rows], Y[rows]
        )
        expected += np.array([alone.cv_results_[f"split{k}_test_score"] for k in range(3)]) * len(part)
    expected /= sum(map(len, drawn.parts))
    found = np.array([search.cv_results_[f"split{k}_test_score"] for k in range(3)])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert search.best_score_ == found.mean(axis=0).max()


def test_the_refit_is_of_all_rows_and_parts_them():
    search = few_cells(partitions=2).fit(X, Y)
    best = search.best_estimator_
    assert len(best.partitions_) == 2
    assert sum(tree.n_cells for tree in best.partitions_) == len(best.cells_) == 12
    assert (best.cells, best.partitions, best.C) == (100, 2, search.C_)
    assert search.score(X, Y) > 0.9
    assert len(search.suspects_) == 0
    again = clone(search).fit(X, Y)
    np.testing.assert_array_equal(again.decision_function(X), search.decision_function(X))


def test_one_cell_changes_nothing():
    without, one = UniSVMClassifierCV(**GRID).fit(X, Y), UniSVMClassifierCV(**GRID, cells=600).fit(X, Y)
    np.testing.assert_array_equal(one.decision_function(X), without.decision_function(X))
    np.testing.assert_array_equal(one.cv_results_["mean_test_score"], without.cv_results_["mean_test_score"])
    assert not hasattr(one, "searched_rows_")


def test_decisions_and_probabilities_are_of_the_rows_that_are_searched_on():
    search = few_cells(calibration="temperature").fit(X, Y)
    rows = search.searched_rows_
    assert search.oof_decision_.shape == (len(rows),)
    assert np.isfinite(search.oof_decision_).all()
    right = (search.oof_decision_ > 0) == (Y[rows] == 1)
    assert right.mean() == pytest.approx(search.best_score_, abs=0.02)
    assert (search.predict_proba(X).argmax(axis=1) == search.predict(X)).all()


def test_the_adaptive_search_finds_a_kernel_for_cells():
    rng = np.random.RandomState(0)
    fine = rng.uniform(0, 6, (3000, 2))
    labels = np.sin(4 * fine[:, 0]) * np.sin(4 * fine[:, 1]) > 0
    search = UniSVMClassifierCV(["squared_hinge"], cells=250, random_state=0).fit(fine[:2000], labels[:2000])
    assert len(search.searched_rows_) == pytest.approx(8 * 250, abs=16)
    assert search.score(fine[2000:], labels[2000:]) > 0.9
    tried = np.isfinite(search.cv_results_["mean_test_score"])
    assert 0 < tried.sum() < len(tried)


def test_columns_are_scaled_by_all_rows():
    wide = X * [1000.0, 0.01] + [5.0, -3.0]
    inside = few_cells(scale="standard").fit(wide, Y)
    outside = few_cells().fit(StandardScaler().fit_transform(wide), Y)
    np.testing.assert_array_equal(inside.searched_rows_, outside.searched_rows_)
    np.testing.assert_allclose(
        inside.cv_results_["mean_test_score"], outside.cv_results_["mean_test_score"], atol=1e-12
    )
    kernel = inside.best_estimator_.kernel_
    assert isinstance(kernel, Scaled)
    np.testing.assert_allclose(kernel.centre, wide.mean(axis=0))


@pytest.mark.parametrize("gammas", [["scale"], 1])
def test_gamma_that_scales_with_the_rows_is_that_of_all(gammas):
    search = few_cells(gammas=gammas).fit(X, Y)
    assert search.gamma_ == pytest.approx((4 if gammas == 1 else 1) / (2 * X.var()))


def test_rare_classes_are_searched_on():
    labels = np.digitize(X[:, 0], [-0.5, 0.5, 2.0])
    assert 5 < (labels == 3).sum() < 30
    search = few_cells(cells=20, search="full").fit(X, labels)
    assert set(labels[search.searched_rows_]) == {0, 1, 2, 3}
    assert search.predict_proba(X).shape == (600, 4)
    assert search.score(X, labels) > 0.9


def test_digits():
    digits, labels = load_digits(return_X_y=True)
    search = few_cells(cells=400, gammas=["scale"], losses=["squared_hinge", "feng"], scale="minmax")
    search.fit(digits[::2], labels[::2])
    assert search.score(digits[1::2], labels[1::2]) > 0.93


def test_a_row_of_weight_0_is_not_there():
    weights = np.ones(600)
    weights[::5] = 0
    weighted, without = few_cells().fit(X, Y, weights), few_cells().fit(X[weights > 0], Y[weights > 0])
    np.testing.assert_array_equal(np.flatnonzero(weights)[without.searched_rows_], weighted.searched_rows_)
    np.testing.assert_allclose(weighted.decision_function(X), without.decision_function(X), rtol=1e-6, atol=1e-6)


def test_groups_are_those_of_the_rows_that_are_searched_on():
    groups = np.arange(600) // 2
    found = []

    class Remembering(GroupKFold):
        def split(self, X, y=None, groups=None):
            found.append(groups)
            return super().split(X, y, groups)

    search = few_cells(cv=Remembering(3)).fit(X, Y, groups=groups)
    np.testing.assert_array_equal(found[-1], groups[search.searched_rows_])


def test_scores_that_a_cell_does_not_define_do_not_count():
    """A cell whose test rows have one class has no area under the curve."""

    def area(y, decision):
        return roc_auc_score(y, decision) if len(np.unique(y)) == 2 else np.nan

    search = few_cells(cells=40, scoring=make_scorer(area, response_method="decision_function")).fit(X, Y)
    assert 0.8 < search.best_score_ < 1


def test_real_targets_have_intervals_of_a_constant_width():
    search = UniSVMRegressorCV(["huber"], Cs=[1.0, 10.0], gammas=[2.0], cells=100, random_state=0).fit(X, TARGETS)
    low, high = search.predict_interval(X, coverage=0.8).T
    np.testing.assert_allclose(high - low, (high - low)[0])
    # of training rows
    assert 0.78 < np.mean((low <= TARGETS) & (high >= TARGETS)) < 0.92
    assert search.oof_decision_.shape == search.searched_rows_.shape


def test_several_labels_and_targets():
    labels = np.stack([Y, X[:, 0] > 0], axis=1).astype(int)
    assert few_cells(gammas=[2.0]).fit(X, labels).predict(X).shape == (600, 2)
    targets = np.stack([TARGETS, X[:, 1]], axis=1)
    search = UniSVMRegressorCV(["huber"], Cs=[1.0], gammas=[2.0], cells=100, random_state=0).fit(X, targets)
    assert search.predict_interval(X).shape == (600, 2, 2)


def test_sparse_rows():
    dense = few_cells().fit(X, Y)
    sparsely = few_cells().fit(sparse.csr_matrix(X), Y)
    np.testing.assert_allclose(sparsely.decision_function(X), dense.decision_function(X), rtol=1e-5, atol=1e-5)


def test_rows_in_files(tmp_path):
    np.save(tmp_path / "X.npy", X)
    in_file = few_cells().fit(tmp_path / "X.npy", Y)
    np.testing.assert_array_equal(in_file.decision_function(X), few_cells().fit(X, Y).decision_function(X))


def test_it_resumes_from_a_checkpoint(tmp_path):
    whole = few_cells(search="full", checkpoint=tmp_path / "a").fit(X, Y)
    files = sorted(path.name for path in (tmp_path / "a").glob("*.ckpt"))
    assert "unisvm-part-3-gamma-1.ckpt" in files
    for name in files:
        if name.startswith(("unisvm-part-2", "unisvm-part-5-gamma-0")):
            (tmp_path / "a" / name).unlink()
    again = few_cells(search="full", checkpoint=tmp_path / "a").fit(X, Y)
    np.testing.assert_array_equal(again.decision_function(X), whole.decision_function(X))
    np.testing.assert_array_equal(again.cv_results_["mean_test_score"], whole.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(again.oof_decision_, whole.oof_decision_)
    with pytest.raises(ValueError, match="cells was 100 and is 120"):
        few_cells(search="full", cells=120, checkpoint=tmp_path / "a").fit(X, Y)


def test_it_is_saved_and_loaded(tmp_path):
    search = few_cells().fit(X, Y)
    unisvm.save(search, tmp_path / "model")
    loaded = unisvm.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), search.predict_proba(X))
    assert accuracy_score(Y, loaded.predict(X)) == accuracy_score(Y, search.predict(X))


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="halving"):
        few_cells(search="halving").fit(X, Y)
    with pytest.raises(ValueError, match="precomputed"):
        few_cells(kernel="precomputed", gammas=None).fit(X @ X.T, Y)
    with pytest.raises(ValueError, match="cells must be"):
        few_cells(cells=0).fit(X, Y)
    with pytest.raises(ValueError, match="No cell has rows of two classes"):
        few_cells(cells=500).fit(X, drawn_by_a_tree(X))
    with pytest.raises(ValueError, match="without rows to train"):
        few_cells(cv=KFold(2)).fit(np.sort(X, axis=0) * [1, 0], np.arange(600) % 2)


def test_drawn_cells_cover_all_labels_and_are_cells_of_one_tree():
    rows, labels = make_classification(2000, n_informative=6, n_classes=4, random_state=0)
    weights = np.ones(2000)
    drawn = draw_cells(rows, labels, weights, None, 100, np.random.RandomState(0))
    assert len(drawn.parts) == 8
    assert (np.diff(drawn.row_indices) > 0).all()
    assert sorted(np.concatenate(drawn.parts)) == list(range(len(drawn.row_indices)))
    assert {len(part) for part in drawn.parts} == {100}
    assert drawn.variance == pytest.approx(rows.var())
    assert draw_cells(rows, labels, weights, None, 2000, np.random.RandomState(0)) is None
