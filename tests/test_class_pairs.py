"""Several classes in pairs: the same as separate fits of each pair, and scores of classes from those of pairs."""

import dask.array as da
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from unisvm import UniSVMClassifier, UniSVMClassifierCV, datasets, losses
from unisvm.class_pairs import class_pairs, class_scores, pair_targets

X, y = make_classification(600, 8, n_informative=6, n_classes=4, n_clusters_per_class=1, class_sep=0.7, random_state=0)
OPTIONS = {"C": 1.0, "rank": 60, "tol": 1e-9, "random_state": 0}


def test_pairs_are_in_the_order_of_SVC():
    assert class_pairs(4).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]


def test_targets_of_pairs():
    signs = np.array([[1.0, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    assert pair_targets(signs, class_pairs(3)).tolist() == [[-1, -1, 0], [1, 0, -1], [0, 1, 1]]


def test_scores_are_margins_against_the_best_other_class():
    decision = np.array([[0.5, -2.0, -0.3], [-1.0, -1.0, 4.0]])
    # class 0 loses to 1 by 0.5 and beats 2 by 2; class 1 beats 0 by 0.5 and 2 by 0.3; class 2 loses both
    np.testing.assert_allclose(class_scores(decision, class_pairs(3)), [[-0.5, 0.3, -2.0], [1.0, -4.0, -1.0]])
    assert class_scores(decision[:, None], class_pairs(3)).shape == (2, 1, 3)


@pytest.mark.parametrize("loss", ["logistic", "saturating"])
@pytest.mark.parametrize("solver", ["lbfgs", "dca"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_columns_are_separate_fits_of_two_classes(loss, solver, fit_intercept):
    options = OPTIONS | {"solver": solver, "fit_intercept": fit_intercept, "max_iter": 20_000}
    weights = np.random.RandomState(0).uniform(0.5, 2, size=600)
    model = UniSVMClassifier(loss, **options).fit(X, y, sample_weight=weights)
    assert model.dual_coef_.shape == (6, model.rank_)
    kernel = np.exp(-model.kernel_.gamma * ((X[:, None] - model.landmark_vectors_) ** 2).sum(axis=2))
    decision = kernel @ model.dual_coef_.T + model.intercept_
    for column, (low, high) in zip(decision.T, class_pairs(4), strict=True):
        of_pair = np.isin(y, (low, high))
        options |= {"landmarks": model.landmark_vectors_, "gamma": model.kernel_.gamma}
        alone = UniSVMClassifier(loss, **options).fit(X[of_pair], y[of_pair], sample_weight=weights[of_pair])
        if loss == "logistic":
            np.testing.assert_allclose(column, alone.decision_function(X), atol=2e-3)
        else:
            # there may be other minima
            assert np.mean((column > 0) == (alone.decision_function(X) > 0)) > 0.97


def test_pairs_of_a_convex_fit_are_those_of_SVC():
    ours = UniSVMClassifier(losses.SmoothHinge(p=200.0), C=1.0, rank=None, tol=1e-8, max_iter=5000).fit(X, y)
    theirs = SVC(C=1.0, decision_function_shape="ovo", tol=1e-5).fit(X, y)
    # positive for the first class of a pair there
    expected = class_scores(-theirs.decision_function(X), class_pairs(4))
    np.testing.assert_allclose(ours.decision_function(X), expected, atol=0.03)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_files_and_clusters_have_the_same_model(tmp_path, dtype):
    rows = X.astype(dtype)
    np.save(tmp_path / "rows.npy", rows)
    held = UniSVMClassifier("logistic", **OPTIONS | {"tol": 1e-6}).fit(rows, y)
    filed = UniSVMClassifier("logistic", **OPTIONS | {"tol": 1e-6}).fit(tmp_path / "rows.npy", y)
    dask = UniSVMClassifier("logistic", **OPTIONS | {"tol": 1e-6}).fit(
        da.from_array(rows, chunks=(170, -1)), da.from_array(y, chunks=170)
    )
    for other in (filed, dask):
        np.testing.assert_allclose(other.decision_function(rows), held.decision_function(rows), atol=0.02)
    there = dask.decision_function(da.from_array(rows, chunks=(170, -1)))
    assert there.shape == (600, 4)
    np.testing.assert_allclose(there.compute(), dask.decision_function(rows), rtol=1e-5, atol=1e-5)


def test_weights_are_repetitions():
    counts = np.random.RandomState(0).randint(0, 3, size=600)
    options = OPTIONS | {"landmarks": X[:40]}
    weighted = UniSVMClassifier("logistic", **options).fit(X, y, sample_weight=counts)
    repeated = UniSVMClassifier("logistic", **options).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)


def test_the_order_of_the_rows_does_not_matter():
    order = np.random.RandomState(0).permutation(600)
    options = OPTIONS | {"landmarks": X[:40]}
    there = UniSVMClassifier("logistic", **options).fit(X, y)
    back = UniSVMClassifier("logistic", **options).fit(X[order], y[order])
    np.testing.assert_allclose(there.decision_function(X), back.decision_function(X), atol=1e-4)


def test_two_rows_a_class():
    rows = np.repeat(np.arange(5.0), 2)[:, None] * 10 + np.tile([0.0, 1.0], 5)[:, None]
    labels = np.repeat(["a", "b", "c", "d", "e"], 2)
    for multi_class in ("ovo", "ovr"):
        model = UniSVMClassifier(C=10.0, gamma=0.1, multi_class=multi_class).fit(rows, labels)
        assert model.score(rows, labels) == 1.0
    assert np.isfinite(UniSVMClassifier().fit(rows, labels).decision_function(rows)).all()


def test_a_rare_class_is_found():
    rng = np.random.RandomState(0)
    centres = np.repeat([[0, 0], [6, 0], [3, 8]], [300, 300, 6], axis=0)
    rows = centres + np.repeat([1.0, 1.0, 0.3], [300, 300, 6])[:, None] * rng.randn(606, 2)
    labels = np.repeat([0, 1, 2], [300, 300, 6])
    assert (UniSVMClassifier(random_state=0).fit(rows, labels).predict(rows[-6:]) == 2).all()


def test_many_wrong_labels_cost_less_than_against_the_rest():
    rows, clean = make_classification(
        3000, 10, n_informative=8, n_classes=8, n_clusters_per_class=1, class_sep=1.5, random_state=0
    )
    wrong = datasets.flip_labels(clean[:1500], 0.5, random_state=0)[0]
    pairs, rest = (
        UniSVMClassifier(multi_class=kind, random_state=0).fit(rows[:1500], wrong).score(rows[1500:], clean[1500:])
        for kind in ("ovo", "ovr")
    )
    assert pairs > rest + 0.02


def test_search_in_pairs_scores_what_plain_fits_score():
    search = UniSVMClassifierCV("logistic", Cs=[0.1, 1.0], gammas=[0.1], cv=3, rank=50, tol=1e-7, random_state=0)
    search.fit(X, y)
    assert search.oof_decision_.shape == (600, 4)
    assert search.best_estimator_.dual_coef_.shape[0] == 6
    accuracy = np.mean(search.oof_decision_.argmax(axis=1) == y)
    assert accuracy == pytest.approx(search.best_score_, abs=1e-9)
    assert search.predict_proba(X).shape == (600, 4)


def test_model_says_which_classes_its_columns_tell_apart():
    in_pairs, against_the_rest = (UniSVMClassifier(multi_class=kind, **OPTIONS).fit(X, y) for kind in ("ovo", "ovr"))
    assert in_pairs.pairs_.tolist() == class_pairs(4).tolist()
    assert against_the_rest.pairs_ is None
    several_labels = UniSVMClassifier(**OPTIONS).fit(X, np.stack([y > 0, y > 1], axis=1).astype(int))
    assert (in_pairs.multilabel_, several_labels.multilabel_) == (False, True)
    assert not hasattr(UniSVMClassifier(), "pairs_")


def test_other_names_are_refused():
    with pytest.raises(ValueError, match="Unknown multi_class 'ov0': did you mean 'ovr' or 'ovo'"):
        UniSVMClassifier(multi_class="ov0").fit(X, y)
