"""Suspects as users find them: labels, targets, weights, groups, folds, rows of all kinds, and refusals."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_digits, load_iris, make_circles, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit, StratifiedKFold, TimeSeriesSplit

from unisvm import FitWarning, suspects
from unisvm.rows.scratch import Scratch
from unisvm.wrong_labels import machines
from wrong_label_cases import (
    CLEAN,
    NAMES,
    QUICK,
    WILD,
    WRONG,
    X_REAL,
    Y_REAL,
    Y_WILD,
    X,
    Y,
    clusters,
    righted,
    with_wrong,
)


def quickly(X, y=None, **settings):
    return suspects(X, y, **QUICK | settings)


def found(report):
    return np.flatnonzero(report.flagged).tolist()


def nearly_all(report):
    """Whether most of the wrong labels are found, and no other."""
    assert set(found(report)) <= set(WRONG.tolist())
    return report.flagged.sum() > 0.75 * len(WRONG)


def same(report, other, atol=1e-3):
    """Whether two reports say the same."""
    np.testing.assert_array_equal(report.flagged, other.flagged)
    np.testing.assert_allclose(report.scores, other.scores, atol=atol)
    np.testing.assert_allclose(report.probability, other.probability, atol=atol)
    np.testing.assert_allclose(report.margin, other.margin, rtol=1e-3, atol=atol)
    assert report.n_wrong == other.n_wrong
    return True


@pytest.fixture(scope="module")
def plain():
    return quickly(X, Y)


@pytest.fixture(scope="module")
def real():
    return quickly(X_REAL, Y_WILD)


# ------------------------------------------------------------------ labels


def test_wrong_labels_are_found(plain):
    assert plain.task == "classification"
    assert found(plain) == WRONG.tolist()
    np.testing.assert_array_equal(plain.suggested, CLEAN)
    np.testing.assert_array_equal(plain.given, Y)
    assert plain.n_wrong == 15
    assert plain.n_wrong_interval[0] <= 15 <= plain.n_wrong_interval[1]
    assert (plain.scores[WRONG] < 0.01).all()
    assert (np.delete(plain.scores, WRONG) > 0.9).all()
    assert (plain.margin[WRONG] < 0).all()
    assert (np.delete(plain.margin, WRONG) > 0).all()
    assert plain.kernels == ["rbf, gamma=0.1"]


LABELS = {
    "text": NAMES[Y],
    "objects": NAMES[Y].astype(object),
    "a list": NAMES[Y].tolist(),
    "a Series": pd.Series(NAMES[Y]),
    "categories": pd.Series(pd.Categorical.from_codes(Y, NAMES)),
    "of polars": pl.Series(NAMES[Y].tolist()),
    "floats": Y.astype(float),
    "int8": Y.astype(np.int8),
    "negative": 5 - 3 * Y,
    "nullable": pd.Series(Y, dtype="Int64"),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_kind(plain, kind):
    labels = LABELS[kind]
    report = quickly(X, labels)
    assert report.task == "classification"
    assert found(report) == WRONG.tolist()
    # classes may be in another order
    np.testing.assert_allclose(report.scores, plain.scores, atol=0.02)
    values = np.asarray(labels)
    assert (report.suggested[WRONG] == righted(values)[WRONG]).all()
    assert set(report.by_class) == set(np.unique(values).tolist())


@pytest.mark.parametrize("values", [np.array([False, True]), np.array([0.0, 1.0]), np.array([-1, 1]), NAMES[:2]])
def test_two_classes(values):
    rows, classes = clusters(120, 2)
    report = quickly(rows, values[with_wrong(classes, WRONG[:4])])
    assert found(report) == WRONG[:4].tolist()
    assert report.suggested.dtype == values.dtype
    np.testing.assert_array_equal(report.suggested, values[classes])
    assert list(report.by_class) == values.tolist()


@pytest.mark.parametrize("n_classes", [3, 6])
@pytest.mark.parametrize("seed", range(3))
def test_most_of_ten_percent_are_found_and_counted(n_classes, seed):
    rng = np.random.RandomState(seed)
    rows, classes = clusters(300, n_classes, seed)
    wrong = rng.permutation(300)[:30]
    labels = with_wrong(classes, wrong)
    report = quickly(rows, labels)
    assert np.isin(found(report), wrong).mean() > 0.95
    assert report.flagged[wrong].mean() > 0.8
    assert report.n_wrong == pytest.approx(30, abs=6)
    assert report.n_wrong_interval[0] - 2 <= 30 <= report.n_wrong_interval[1] + 2
    assert (report.suggested[wrong] == classes[wrong]).mean() > 0.9


def test_those_of_digits_with_the_kernels_that_suit():
    rows, classes = (array[:500] for array in load_digits(return_X_y=True))
    wrong = np.random.RandomState(0).permutation(500)[:50]
    report = suspects(rows, with_wrong(classes, wrong), rank=200, random_state=0, n_jobs=1)
    assert np.isin(found(report), wrong).mean() > 0.85
    assert report.flagged[wrong].mean() > 0.8
    assert report.n_wrong_interval[0] - 5 <= 50 <= report.n_wrong_interval[1]
    assert len(report.kernels) > 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [2, 4])
def test_nothing_is_wrong_where_clusters_are_apart(n_classes, seed):
    report = quickly(*clusters(200, n_classes, seed))
    assert found(report) == []
    assert report.n_wrong == 0
    assert report.n_wrong_interval[0] == 0


@pytest.mark.parametrize("make", [make_moons, make_circles])
@pytest.mark.parametrize("seed", range(2))
def test_nothing_is_wrong_where_classes_wind_about_each_other(make, seed):
    options = {"factor": 0.4} if make is make_circles else {}
    report = quickly(*make(200, noise=0.05, random_state=seed, **options), gammas=[1.0])
    assert found(report) == []
    assert report.n_wrong == 0


@pytest.mark.parametrize("seed", range(3))
def test_hardly_a_label_is_wrong_where_classes_overlap(seed):
    rng = np.random.RandomState(seed)
    classes = np.arange(400) % 2
    report = quickly(rng.randn(400, 3) + 1.5 * classes[:, None], classes)
    assert report.flagged.sum() <= 20
    assert report.n_wrong_interval[0] <= 5


def test_iris_with_two_wrong_labels():
    rows, labels = load_iris(return_X_y=True)
    labels[[3, 60]] = [1, 0]
    assert found(quickly(rows, labels)) == [3, 60]


def test_a_class_of_one_row_is_not_flagged():
    labels = CLEAN.copy()
    labels[10] = 7
    report = quickly(X, labels)
    assert 10 not in found(report)
    assert report.by_class[7].n_rows == 1
    assert report.by_class[7].n_flagged == 0


def test_a_class_of_three_rows_has_its_own_place():
    rows = np.concatenate([X, X.max(axis=0) + 20 + 0.1 * np.arange(12).reshape(3, 4)])
    report = quickly(rows, np.concatenate([Y, [3, 3, 3]]))
    assert found(report) == WRONG.tolist()
    assert report.by_class[3].n_rows == 3


def test_whole_numbers_are_targets_where_few_are_alike():
    assert quickly(X_REAL, np.round(100 * Y_REAL).astype(int)).task == "regression"
    assert quickly(X_REAL, np.round(100 * Y_REAL).astype(int) > 0).task == "classification"
    assert quickly(X, CLEAN, task="regression").task == "regression"


# ------------------------------------------------------------------ real targets


def test_wild_targets_are_found(real):
    assert real.task == "regression"
    assert real.flagged[WILD].all()
    assert real.flagged.sum() <= 12
    assert np.median(np.abs(real.suggested - Y_REAL)) < 0.3
    assert np.abs(real.suggested - Y_REAL)[WILD].mean() < 0.5
    assert real.n_wrong_interval[0] <= 10 <= real.n_wrong_interval[1]
    assert real.by_class == {}
    assert (real.probability[WILD] < 0.01).all()
    np.testing.assert_array_equal(np.sort(real.ranking[:10]), np.sort(WILD))


@pytest.mark.parametrize("unit", [1e-8, 1e6])
def test_units_of_targets_do_not_matter(real, unit):
    report = quickly(X_REAL, unit * (Y_WILD + 7))
    assert found(report) == found(real)
    np.testing.assert_allclose(report.scores, real.scores, atol=1e-3)
    np.testing.assert_allclose(report.suggested / unit - 7, real.suggested, atol=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_clean_targets_of_different_spread_are_not_flagged(seed):
    rng = np.random.RandomState(seed)
    rows = rng.randn(300, 3)
    report = quickly(rows, np.sin(rows[:, 0]) + rows[:, 1] + 0.3 * np.exp(rows[:, 2]) * rng.randn(300))
    assert report.flagged.sum() <= 6
    assert report.n_wrong_interval[0] == 0


def test_exact_targets_are_not_flagged():
    report = quickly(X_REAL, X_REAL @ [1.0, 2.0, 3.0], kernel="linear", gammas=None)
    assert found(report) == []
    np.testing.assert_allclose(report.suggested, X_REAL @ [1.0, 2.0, 3.0], atol=0.05)


# ------------------------------------------------------------------ weights, groups and folds


@pytest.mark.parametrize("kind", ["labels", "targets"])
def test_rows_of_weight_zero_are_not_there(kind):
    rows, y = (X, NAMES[Y]) if kind == "labels" else (X_REAL, Y_WILD)
    kept = np.arange(len(y)) % 5 > 0
    other = y.copy()
    other[~kept] = y[0]
    report, alone = quickly(rows, other, sample_weight=kept), quickly(rows[kept], y[kept])
    for name in ("scores", "probability", "margin"):
        assert np.isnan(getattr(report, name)[~kept]).all()
        np.testing.assert_allclose(getattr(report, name)[kept], getattr(alone, name), atol=1e-6)
    assert not report.flagged[~kept].any()
    assert (report.suggested[~kept] == other[~kept]).all()
    np.testing.assert_array_equal(np.flatnonzero(kept)[alone.ranking], report.ranking)
    assert report.n_wrong == alone.n_wrong
    assert sum(count.n_rows for count in report.by_class.values()) == (kept.sum() if kind == "labels" else 0)


@pytest.mark.parametrize("weight", [2.0, 1e-12, 1e12])
def test_weights_that_are_all_alike_do_not_matter(plain, real, weight):
    same(quickly(X, Y, sample_weight=np.full(len(Y), weight)), plain)
    assert found(quickly(X_REAL, Y_WILD, sample_weight=np.full(200, weight))) == found(real)


def test_a_row_of_weight_two_is_a_row_that_is_there_twice():
    counts = 1 + np.arange(len(Y)) % 2
    folds = np.random.RandomState(0).permutation(len(Y)) % 5
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(5)]
    weighted = quickly(X, Y, sample_weight=counts, cv=splits)
    first = np.cumsum(counts) - counts
    repeated = quickly(
        np.repeat(X, counts, axis=0), np.repeat(Y, counts), groups=np.repeat(folds, counts), cv=GroupKFold(5)
    )
    np.testing.assert_array_equal(weighted.flagged, repeated.flagged[first])
    np.testing.assert_allclose(weighted.scores, repeated.scores[first], atol=0.02)
    np.testing.assert_allclose(weighted.margin, repeated.margin[first], atol=0.3)


def test_copies_with_the_same_wrong_label_are_found_by_groups():
    copies, groups = np.repeat(X, 3, axis=0), np.repeat(np.arange(len(X)), 3)
    labels, wrong = np.repeat(Y, 3), np.isin(groups, WRONG)
    # a narrow kernel follows every row, and with it its copies
    alone = quickly(copies, labels, gammas=[30.0], rank=None)
    together = quickly(copies, labels, gammas=[30.0], rank=None, groups=groups)
    assert not alone.flagged[wrong].any()
    assert (together.margin[wrong] < alone.margin[wrong]).all()
    assert np.flatnonzero(quickly(copies, labels, groups=groups).flagged).tolist() == np.flatnonzero(wrong).tolist()


@pytest.mark.parametrize("groups", [np.arange(150) // 2, NAMES[np.arange(150) % 3], (np.arange(150) // 2).tolist()])
def test_groups_of_any_kind(groups):
    assert nearly_all(quickly(X, Y, groups=groups))


def test_rows_of_a_group_have_no_part_in_each_other():
    """A group alone in its class is predicted to be of other classes."""
    with pytest.warns(FitWarning, match="hardly tell their labels"):
        report = quickly(X, CLEAN, groups=CLEAN)
    assert (report.margin < 0).all()


SPLITS = {
    "folds": 4,
    "a numpy integer": np.int64(4),
    "splitter": KFold(4),
    "stratified": StratifiedKFold(4, shuffle=True, random_state=0),
    "iterable": list(KFold(4).split(X)),
    "generator": None,
    "masks": [(np.arange(150) % 2 == k, np.arange(150) % 2 != k) for k in range(2)],
    "groups": GroupKFold(4),
}


@pytest.mark.parametrize("kind", SPLITS)
def test_splits_of_any_kind(kind):
    cv = SPLITS[kind] if kind != "generator" else KFold(4).split(X)
    groups = np.arange(150) // 2 if kind == "groups" else None
    assert nearly_all(quickly(X, Y, cv=cv, groups=groups))


def test_leaving_out_one_row_in_folds_is_the_same(plain):
    same(quickly(X, Y, cv=LeaveOneOut()), plain)
    same(quickly(X, Y, cv=len(Y)), plain)


@pytest.mark.parametrize(
    ("cv", "row", "times"),
    [
        (ShuffleSplit(3, test_size=0.5, random_state=0), r"\d+", r"\d"),
        (TimeSeriesSplit(3), 0, 0),
        ([(np.arange(75), np.arange(75, 150))], 0, 0),
        ([(np.arange(75), np.arange(74, 150)), (np.arange(75, 150), np.arange(75))], 74, 2),
        ([], 0, 0),
    ],
    ids=["shuffled", "time series", "one split", "twice", "none"],
)
def test_splits_that_are_no_partition_are_refused(cv, row, times):
    said = f"cv must leave out each row exactly once, but row {row} is left out {times} times"
    with pytest.raises(ValueError, match=said):
        quickly(X, Y, cv=cv)


# ------------------------------------------------------------------ rows of all kinds


def test_sparse_rows_are_as_dense_ones():
    rows = np.where(X > 3, X, 0)
    dense = quickly(rows, Y, scale="minmax")
    same(quickly(sparse.csr_array(rows), Y), dense)
    same(quickly(sparse.csr_matrix(rows), Y, scale="minmax", kernel="linear", gammas=None),
         quickly(rows, Y, scale="minmax", kernel="linear", gammas=None))  # fmt: skip
    assert found(quickly(sparse.csc_array(X), Y)) == WRONG.tolist()


def test_single_precision(plain, real):
    report = quickly(X.astype(np.float32), Y)
    assert found(report) == found(plain)
    np.testing.assert_allclose(report.scores, plain.scores, atol=0.01)
    assert found(quickly(X_REAL.astype(np.float32), Y_WILD.astype(np.float32))) == found(real)


@pytest.mark.parametrize(
    "rows",
    [np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X.tolist(), pd.DataFrame(X).to_numpy()],
    ids=["by columns", "strided", "lists", "of pandas"],
)
def test_arrays_however_they_lie(plain, rows):
    same(quickly(rows, Y), plain)


def test_whole_numbers_and_truth_values():
    assert found(quickly(np.round(10 * X).astype(int), Y)) == WRONG.tolist()
    bits = np.round(X).astype(int)[:, :, None] >> np.arange(4) & 1
    same(quickly(bits.reshape(150, 16) > 0, Y), quickly(bits.reshape(150, 16).astype(float), Y))


def test_nothing_that_is_given_is_changed():
    rows, labels, weights = X.copy(), NAMES[Y], np.ones(150)
    targets, groups = Y_WILD.copy(), np.arange(150)
    for array in (rows, labels, weights, targets, groups):
        array.flags.writeable = False
    suspects(rows, labels, sample_weight=weights, groups=groups, rank=40, random_state=0)
    suspects(X_REAL, targets, rank=40, random_state=0)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(targets, Y_WILD)


@pytest.mark.parametrize("form", ["npy", "npy beside npy", "parquet", "svm"])
def test_rows_in_files(tmp_path, plain, form):
    if form == "svm":
        dump_svmlight_file(X, Y, str(tmp_path / "rows.svm"), zero_based=False)
        report = quickly(tmp_path / "rows.svm", scale=None)
        same(report, quickly(sparse.csr_array(X), Y, scale=None))
        return
    if form == "parquet":
        table = pd.DataFrame(X, columns=list("abcd")).assign(kind=NAMES[Y])
        table.to_parquet(tmp_path / "rows.parquet")
        report = quickly(tmp_path / "rows.parquet", "kind")
        same(report, quickly(X, NAMES[Y]))
        return
    np.save(tmp_path / "rows.npy", X)
    np.save(tmp_path / "labels.npy", Y)
    same(quickly(str(tmp_path / "rows.npy"), str(tmp_path / "labels.npy") if "beside" in form else Y), plain)
    same(quickly(np.load(tmp_path / "rows.npy", mmap_mode="r"), Y), plain)


COLUMNS = {
    "size": [None if i % 30 == 0 else value for i, value in enumerate(X[:, 0].tolist())],
    "width": X[:, 1].tolist(),
    "colour": [None if i % 25 == 0 else "red" if value > 0 else "blue" for i, value in enumerate(X[:, 2].tolist())],
    "height": X[:, 3].tolist(),
    "kind": NAMES[Y].tolist(),
}


@pytest.mark.parametrize("of", [pd.DataFrame, pl.DataFrame, dict], ids=["pandas", "polars", "dict"])
def test_tables_with_text_and_missing_entries(of):
    report = quickly(of(COLUMNS), "kind")
    assert nearly_all(report)
    assert report.target == "kind"
    apart = {name: column for name, column in COLUMNS.items() if name != "kind"}
    same(quickly(of(apart), NAMES[Y]), report)


def test_the_usual_name_of_a_target_is_known():
    table = pd.DataFrame(X, columns=list("abcd")).assign(Label=Y)
    report = quickly(table)
    assert found(report) == WRONG.tolist()
    assert report.target == "Label"
    with pytest.raises(ValueError, match="Say which column of X has the labels or targets"):
        quickly(table.rename(columns={"Label": "kind"}))
    with pytest.raises(ValueError, match="X has no column 'kind'; its columns are 'a', 'b', 'c', 'd', 'Label'"):
        quickly(table, "kind")


# ------------------------------------------------------------------ kernels


def test_a_precomputed_kernel():
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    settings = {"rank": 60, "scale": None, "random_state": 0}
    report = suspects(rbf_kernel(scaled, gamma=0.1), Y, kernel="precomputed", **settings)
    by_name = suspects(scaled, Y, kernel="rbf", gammas=[0.1], **settings)
    same(report, by_name)
    assert found(report) == WRONG.tolist()


@pytest.mark.parametrize("kernel", ["linear", "laplacian", "poly", lambda A, B: rbf_kernel(A, B, gamma=0.1)])
def test_kernels(kernel):
    report = suspects(X, Y, kernel=kernel, gammas=None if kernel == "linear" or callable(kernel) else [0.1], rank=60,
                      random_state=0)  # fmt: skip
    assert found(report) == WRONG.tolist()


def test_several_kernels_are_compared():
    report = suspects(X, Y, kernel=["linear", "rbf"], gammas=[0.1], rank=60, random_state=0)
    assert found(report) == WRONG.tolist()
    assert sorted(report.kernels) == ["linear", "rbf, gamma=0.1"]


def test_columns_with_long_tails_are_tried_as_ranks():
    rng = np.random.RandomState(0)
    rows = np.exp(4 * rng.randn(200, 2))
    labels = (rows[:, 0] > rows[:, 1]).astype(int)
    report = suspects(rows, labels, rank=60, random_state=0, n_jobs=1)
    assert any("of ranks" in name for name in report.kernels)
    assert not any("of ranks" in name for name in suspects(rows, labels, kernel="rbf", rank=60, random_state=0).kernels)


# ------------------------------------------------------------------ the search


def test_the_same_random_state_gives_the_same_report():
    first, second = (suspects(X, Y, rank=40, random_state=3, n_jobs=1) for _ in range(2))
    np.testing.assert_array_equal(first.scores, second.scores)
    assert first.kernels == second.kernels
    threads = suspects(X, Y, rank=40, random_state=3, n_jobs=2)
    np.testing.assert_allclose(first.scores, threads.scores, atol=1e-6)


@pytest.mark.parametrize(("rows", "y"), [(X, Y), (X_REAL, Y_WILD)], ids=["labels", "targets"])
def test_the_order_of_rows_hardly_matters(rows, y):
    order = np.random.RandomState(1).permutation(len(y))
    there, back = quickly(rows, y, rank=None), quickly(rows[order], y[order], rank=None)
    np.testing.assert_array_equal(there.flagged[order], back.flagged)
    np.testing.assert_allclose(there.scores[order], back.scores, atol=1e-3)
    np.testing.assert_allclose(there.margin[order], back.margin, atol=0.02, rtol=0.02)


@pytest.mark.parametrize("kind", ["labels", "folds", "targets"])
def test_kernels_are_judged_on_some_rows_and_predict_all(monkeypatch, scratch, kind):
    monkeypatch.setattr(machines, "_ROUNDS", ((100, 20, 2), (120, 30, 1)))
    rows, y = (X_REAL, Y_WILD) if kind == "targets" else (X, Y)
    wrong = WILD if kind == "targets" else WRONG
    settings = {"gammas": [0.1, 1.0], "cv": 5 if kind == "folds" else None}
    report = quickly(rows, y, **settings)
    assert np.isin(found(report), wrong).mean() > 0.8
    assert report.flagged[wrong].mean() > 0.8
    assert len(report.kernels) == 1
    # one of the wrong rows has no weight
    weights = np.ones(len(y))
    weights[wrong[0]] = 0
    without = quickly(rows, y, sample_weight=weights, **settings)
    assert np.isnan(without.scores[wrong[0]])
    assert np.isin(found(without), wrong[1:]).mean() > 0.5
    assert without.flagged[wrong[1:]].mean() > 0.8


def test_features_of_many_rows_in_a_file(monkeypatch, scratch):
    """More than 5,000 rows: the last fits are to all of them."""
    rng = np.random.RandomState(0)
    rows, classes = clusters(6000, 3)
    wrong = rng.permutation(6000)[:300]
    labels = with_wrong(classes, wrong)
    settings = {"kernel": "rbf", "gammas": [0.1], "rank": 100, "random_state": 0, "n_jobs": 1}
    in_memory = suspects(rows.astype(np.float32), labels, **settings)
    written = []
    write = Scratch.write
    monkeypatch.setattr(Scratch, "write", lambda self, low, block: (written.append(low), write(self, low, block))[1])
    on_disk = suspects(rows.astype(np.float32), labels, memory_limit="1 MB", scratch_dir=scratch, **settings)
    assert written
    assert found(in_memory) == np.sort(wrong).tolist()
    assert same(on_disk, in_memory)


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"confidence": 95}, r"confidence must be a number in \(0, 1\), got 95"),
        ({"confidence": 0}, r"confidence must be a number in \(0, 1\), got 0"),
        ({"task": "ranking"}, "Unknown task 'ranking': use one of 'classification', 'regression'"),
        ({"kernel": "rfb"}, "Unknown kernel 'rfb': did you mean 'rbf'"),
        ({"scale": "robust"}, "Unknown scale 'robust': use one of 'auto', 'standard', 'minmax'"),
        ({"rank": 0}, "rank must be a positive integer"),
        ({"groups": np.arange(10)}, r"inconsistent numbers of samples: \[10, 150\]"),
        ({"groups": np.zeros(150)}, "n_splits=1"),
        ({"cv": 1}, "cv must be at least 2 and at most the number of rows, 150; got 1"),
        ({"cv": 151}, "cv must be at least 2 and at most the number of rows, 150; got 151"),
        ({"cv": GroupKFold(3)}, "'groups' parameter should not be None"),
        ({"sample_weight": np.zeros(150)}, "All sample weights are zero"),
        ({"sample_weight": -np.ones(150)}, "Negative values"),
        ({"sample_weight": np.arange(150) < 9}, "9 rows of positive weight are too few"),
        ({"sample_weight": (Y == 1).astype(float)}, "needs at least two classes, but y holds only one class, 1"),
    ],
)
def test_wrong_settings_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        quickly(X, Y, **settings)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (np.zeros(150, dtype=int), "needs at least two classes, but y holds only one class, 0"),
        (np.column_stack([CLEAN, CLEAN]), "several columns of classes are not supported"),
        (np.column_stack([CLEAN == 0, CLEAN == 1]).astype(int), "call suspects for each column of y"),
        (np.where(np.arange(150) == 4, np.nan, CLEAN), "y contains NaN"),
        (Y[:50], r"inconsistent numbers of samples: \[150, 50\]"),
        (None, "y is None"),
        ("kind", "y must be an array, the path of a .npy file"),
    ],
    ids=["one class", "two columns", "indicators", "missing", "too short", "none", "a name"],
)
def test_wrong_targets_are_refused(y, said):
    with pytest.raises(ValueError, match=said):
        quickly(X, y)


def test_several_real_targets_are_refused():
    with pytest.raises(ValueError, match="call suspects for each column of y"):
        quickly(X_REAL, X_REAL[:, :2], task="regression")


def test_ten_rows_are_enough_and_nine_are_not():
    with pytest.raises(ValueError, match="9 rows of positive weight are too few to judge each other: 10 are needed"):
        quickly(X[:9], CLEAN[:9])
    assert len(quickly(X[:10], CLEAN[:10]).scores) == 10


def test_rows_that_overflow_are_refused():
    with pytest.raises(ValueError, match="overflow"):
        quickly(1e200 * X, Y)
    with pytest.raises(ValueError, match="X contains NaN"):
        quickly(np.where(X > 3, np.nan, X), Y)


def test_collections_of_dask_are_refused():
    array = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match="which suspects cannot be searched for in"):
        quickly(array.from_array(X), Y)


@pytest.mark.parametrize("column", [np.ones(150), np.zeros(150), np.full(150, 1e30)])
def test_a_constant_column_changes_nothing(plain, column):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = quickly(np.column_stack([X, column]), Y)
    assert found(report) == found(plain)


def test_rows_that_are_all_alike_tell_nothing():
    with pytest.warns(FitWarning, match="hardly tell their labels"):
        report = quickly(np.ones((150, 2)), Y)
    assert found(report) == []
    assert report.n_wrong_interval == (0, 150)


def test_labels_at_random_are_not_known():
    rng = np.random.RandomState(0)
    with pytest.warns(FitWarning, match="no better than a guess"):
        report = quickly(rng.randn(300, 4), rng.randint(3, size=300))
    assert found(report) == []
    assert report.n_wrong_interval == (0, 300)
    assert {count.n_wrong_interval for count in report.by_class.values()} == {
        (0, count.n_rows) for count in report.by_class.values()
    }


def test_more_columns_than_rows():
    rng = np.random.RandomState(0)
    rows = np.column_stack([X, 0.1 * rng.randn(150, 200)])
    assert found(quickly(rows, Y, scale=None, gammas=[0.02])) == WRONG.tolist()
    assert set(found(quickly(rows, Y, scale=None, kernel="linear", gammas=None))) <= set(WRONG)
