"""A fit on Dask collections gives the model of the same rows in memory, however they are cut and typed."""

import warnings

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, make_blobs, make_moons

from unisvm import UniSVMClassifier, UniSVMRegressor, losses

M = 700
X, y = make_moons(M, noise=0.3, random_state=0)
WAVE = np.sin(3 * X[:, 0]) + X[:, 1]
WEIGHTS = np.random.RandomState(1).randint(0, 5, M) / 2.0
SETTINGS = {"C": 1.0, "rank": 40, "tol": 1e-6, "random_state": 0}


def rows_in(chunks, rows=X):
    return da.from_array(rows, chunks=(chunks, -1))


def same_model(model, expected, rows=X, relative=1e-9, boundary=1e-6):
    """Equal landmarks, objectives and decisions; equal labels but for rows on the boundary."""
    # a gamma that differs in its last digit can change their order
    np.testing.assert_array_equal(np.sort(model.landmarks_), np.sort(expected.landmarks_))
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=relative)
    assert model.dual_coef_.dtype == expected.dual_coef_.dtype
    assert model.n_features_in_ == expected.n_features_in_
    assert model.trace_error_ == pytest.approx(expected.trace_error_, rel=1e-3, abs=1e-6)
    one, other = model.predict(rows), expected.predict(rows)
    assert one.shape == other.shape
    assert one.dtype == other.dtype
    if isinstance(expected, UniSVMRegressor):
        np.testing.assert_allclose(model.target_scale_, expected.target_scale_, rtol=1e-12)
        np.testing.assert_allclose(model.target_centre_, expected.target_centre_, rtol=1e-12, atol=1e-300)
        spread = np.abs(other - np.median(other, axis=0)).max()
        np.testing.assert_allclose(one, other, atol=boundary * max(spread, 1e-300), rtol=boundary)
    else:
        np.testing.assert_array_equal(model.classes_, expected.classes_)
        decision = expected.decision_function(rows)
        if decision.ndim == 1 or expected._multilabel:
            clear = np.abs(decision) > boundary
        else:
            ranked = np.sort(decision, axis=1)
            clear = ranked[:, -1] - ranked[:, -2] > boundary
        assert clear.mean() > 0.98
        np.testing.assert_array_equal(one[clear], other[clear])


# ------------------------------------------------------------------ how the rows are cut


@pytest.mark.parametrize("chunks", [M, 100, (300, 1, 1, 398), (1,) * 30 + (670,)])
@pytest.mark.parametrize("target_chunks", [None, M, 70, (699, 1)])
def test_chunks(chunks, target_chunks):
    target = y if target_chunks is None else da.from_array(y, chunks=(target_chunks,))
    model = UniSVMClassifier(**SETTINGS).fit(rows_in(chunks), target)
    same_model(model, UniSVMClassifier(**SETTINGS).fit(X, y))
    assert np.isscalar(model.objective_)
    assert isinstance(model.n_sweeps_, np.integer)
    assert len(model.history_["objective"]) == model.n_iter_


def test_chunks_of_unknown_size_and_without_rows():
    keep = X[:, 0] > -0.2
    lazy = rows_in(50)
    lazy, target = (
        lazy[lazy[:, 0] > -0.2],
        da.from_array(y, chunks=(110,))[da.from_array(X[:, 0], chunks=(110,)) > -0.2],
    )
    assert np.isnan(lazy.shape[0])
    same_model(UniSVMClassifier(**SETTINGS).fit(lazy, target), UniSVMClassifier(**SETTINGS).fit(X[keep], y[keep]))
    # the left moon lies in a few blocks of the sorted rows: the others lose all of theirs
    order = np.argsort(X[:, 0])
    lazy = rows_in(50, X[order])
    lazy = lazy[lazy[:, 0] > -0.2]
    assert 0 in [len(block.compute()) for block in lazy.blocks]
    expected = UniSVMClassifier(**SETTINGS).fit(X[order][keep[order]], y[order][keep[order]])
    same_model(UniSVMClassifier(**SETTINGS).fit(lazy, y[order][keep[order]]), expected)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_blocks(form, dtype):
    rows = (X * (np.random.RandomState(2).uniform(size=X.shape) < 0.8)).astype(dtype)
    lazy = da.concatenate(
        [
            da.from_delayed(delayed(form)(rows[low : low + 200]), rows[low : low + 200].shape, dtype=dtype)
            for low in range(0, M, 200)
        ]
    )
    expected = UniSVMClassifier(**SETTINGS).fit(form(rows), y)
    model = UniSVMClassifier(**SETTINGS).fit(lazy, y)
    assert sparse.issparse(model.landmark_vectors_)
    relative, boundary = (1e-5, 1e-2) if dtype == np.float32 else (1e-9, 1e-6)
    same_model(model, expected, form(rows), relative, boundary)


# ------------------------------------------------------------------ tables


@pytest.mark.parametrize("n_partitions", [1, 6])
def test_tables(n_partitions):
    table = pd.DataFrame(X, columns=["width", "height"])
    table["label"] = np.where(y == 1, "good", "bad")
    table["weight"] = WEIGHTS
    lazy = dd.from_pandas(table, npartitions=n_partitions)
    model = UniSVMClassifier(**SETTINGS).fit(lazy[["width", "height"]], lazy["label"], lazy["weight"])
    rows = table[["width", "height"]]
    expected = UniSVMClassifier(**SETTINGS).fit(rows, table["label"], table["weight"])
    same_model(model, expected, rows)
    assert list(model.feature_names_in_) == ["width", "height"]
    # targets as a table of one column
    same_model(
        UniSVMClassifier(**SETTINGS).fit(lazy[["width", "height"]], lazy[["label"]], lazy["weight"]), expected, rows
    )


def test_partitions_without_rows_and_cut_otherwise():
    table = pd.DataFrame(X, columns=["width", "height"])
    table["target"] = WAVE
    lazy = dd.from_pandas(table.sort_values("width", ignore_index=True), npartitions=8)
    lazy = lazy[lazy["width"] > -0.2]
    assert 0 in lazy.map_partitions(len).compute().tolist()
    chosen = lazy.compute()
    expected = UniSVMRegressor(**SETTINGS).fit(chosen[["width", "height"]], chosen["target"])
    for target in (lazy["target"], lazy["target"].repartition(npartitions=3), chosen["target"].to_numpy()):
        model = UniSVMRegressor(**SETTINGS).fit(lazy[["width", "height"]], target)
        same_model(model, expected, chosen[["width", "height"]])


# ------------------------------------------------------------------ labels


def test_float32_stays():
    rows = X.astype(np.float32)
    model = UniSVMClassifier(**SETTINGS | {"tol": 1e-5}).fit(rows_in(90, rows), y)
    assert model.dual_coef_.dtype == np.float32
    same_model(model, UniSVMClassifier(**SETTINGS | {"tol": 1e-5}).fit(rows, y), rows, 1e-5, 1e-2)


def test_blocks_of_both_precisions_are_in_double():
    rows = X.astype(np.float32)
    mixed = da.concatenate([rows_in(100, rows[:300]), rows_in(100, X[300:])])
    expected = UniSVMClassifier(**SETTINGS).fit(np.concatenate([rows[:300], X[300:]]), y, WEIGHTS / 3)
    same_model(UniSVMClassifier(**SETTINGS).fit(mixed, y, WEIGHTS / 3), expected)


@pytest.mark.parametrize("labels", [np.array(["ham", "spam"]), np.array([-1.0, 1.0]), np.array([True, False])])
def test_labels_of_any_type(labels):
    target = labels[y]
    expected = UniSVMClassifier(**SETTINGS).fit(X, target)
    same_model(UniSVMClassifier(**SETTINGS).fit(rows_in(90), da.from_array(target, chunks=90)), expected)
    if target.dtype.kind == "U":
        target = target.astype(object)
        expected = UniSVMClassifier(**SETTINGS).fit(X, target)
        same_model(UniSVMClassifier(**SETTINGS).fit(rows_in(90), da.from_array(target, chunks=90)), expected)


def test_labels_that_appear_in_one_block_only():
    # rows sorted by class: most blocks hold one class, and strings get longer from block to block
    rows, target = make_blobs(M, centers=5, cluster_std=2.0, random_state=0)
    order = np.argsort(target, kind="stable")
    rows, target = rows[order], np.array(["a", "bb", "ccc", "dddd", "eeeee"])[target[order]]
    blocks = [target[low : low + 100].tolist() for low in range(0, M, 100)]
    lazy = da.concatenate([da.from_array(np.array(block), chunks=100) for block in blocks])
    expected = UniSVMClassifier(**SETTINGS).fit(rows, target)
    same_model(UniSVMClassifier(**SETTINGS).fit(rows_in(100, rows), lazy), expected, rows)


def test_many_classes_to_a_block_are_no_reason_to_warn():
    rows = np.random.RandomState(0).randn(600, 2)
    target = np.arange(600) % 20
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = UniSVMClassifier(**SETTINGS | {"tol": 1e-3}).fit(rows_in(25, rows), da.from_array(target, chunks=25))
    assert len(model.classes_) == 20


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array])
def test_several_labels(as_matrix):
    target = np.column_stack([y, X[:, 0] > 0.5, 1 - y]).astype(int)
    # a block that has none of them, and one that has them all
    target[100:200], target[300:400] = 0, 1
    expected = UniSVMClassifier(**SETTINGS).fit(X, target)
    same_model(UniSVMClassifier(**SETTINGS).fit(rows_in(100), as_matrix(target)), expected)
    same_model(UniSVMClassifier(**SETTINGS).fit(rows_in(100), da.from_array(target, chunks=(70, 3))), expected)


CLASS_WEIGHTS = ["balanced", {0: 3.0, 1: 0.5, 2: 1.0}, {0: 2.0}, {0: 1.0, 1: 2.0, 2: 0.0}]


@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_class_weights(class_weight, dtype):
    rows, target = make_blobs([200, 300, 200], cluster_std=2.0, random_state=0)
    weights = WEIGHTS.copy()
    # the last label is on rows of weight 0 only: there is no such class
    target[target == 2] = np.where(np.arange(200) < 190, 2, 3)
    weights[target == 3] = 0
    rows = rows.astype(dtype)
    options = SETTINGS | {"C": 1.0, "class_weight": class_weight, "tol": 1e-6}
    expected = UniSVMClassifier(**options).fit(rows, target, weights)
    model = UniSVMClassifier(**options).fit(rows_in(60, rows), da.from_array(target, chunks=80), weights)
    relative, boundary = (1e-5, 3e-2) if dtype == np.float32 else (1e-9, 1e-6)
    same_model(model, expected, rows, relative, boundary)


# ------------------------------------------------------------------ weights


@pytest.mark.parametrize("Estimator", [UniSVMClassifier, UniSVMRegressor])
@pytest.mark.parametrize("landmarks", ["rpcholesky", "uniform"])
@pytest.mark.parametrize("kind", ["dask", "memory", "list", "number", "ones", "silent blocks"])
def test_weights(Estimator, landmarks, kind):
    target = y if Estimator is UniSVMClassifier else WAVE
    weights = {"number": 2.5, "ones": np.ones(M), "silent blocks": WEIGHTS * (np.arange(M) // 100 % 2)}.get(
        kind, WEIGHTS
    )
    given = {"dask": lambda: da.from_array(WEIGHTS, chunks=33), "list": WEIGHTS.tolist}.get(kind, lambda: weights)()
    options = SETTINGS | {"landmarks": landmarks, "tol": 1e-5}
    expected = Estimator(**options).fit(X, target, weights)
    same_model(Estimator(**options).fit(rows_in(100), da.from_array(target, chunks=100), given), expected)


@pytest.mark.parametrize("points", [np.arange(0, M, 20), X[::20]])
def test_landmarks_that_are_given(points):
    expected = UniSVMClassifier(**SETTINGS | {"landmarks": points}).fit(X, y)
    model = UniSVMClassifier(**SETTINGS | {"landmarks": points}).fit(rows_in(100), y)
    if points.ndim == 1:
        same_model(model, expected)
    else:
        assert model.landmarks_ is None
        np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-6)


# ------------------------------------------------------------------ real targets


@pytest.mark.parametrize(
    "options", [{}, {"fit_intercept": False}, {"loss": "welsch"}, {"loss": "least_squares"}], ids=str
)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
def test_real_targets(options, weights):
    # wild ones, and many of one value
    target = np.where(np.arange(M) % 50 == 0, 1e6, WAVE)
    target[200:400] = 1.0
    expected = UniSVMRegressor(**SETTINGS | options).fit(X, target, weights)
    model = UniSVMRegressor(**SETTINGS | options).fit(rows_in(120), da.from_array(target, chunks=100), weights)
    same_model(model, expected)


def test_several_targets():
    target = np.column_stack([WAVE, 1e6 - 1e3 * WAVE, np.full(M, 3.0), X[:, 1] ** 2])
    expected = UniSVMRegressor(**SETTINGS).fit(X, target)
    same_model(UniSVMRegressor(**SETTINGS).fit(rows_in(120), da.from_array(target, chunks=(100, 4))), expected)
    one = UniSVMRegressor(**SETTINGS).fit(rows_in(120), WAVE[:, None])
    assert one.predict(X).shape == (M,)


# ------------------------------------------------------------------ again


def test_warm_start():
    model = UniSVMClassifier(**SETTINGS | {"warm_start": True}).fit(rows_in(90), y)
    cold = model.n_sweeps_
    assert model.fit(rows_in(100), y).n_sweeps_ < cold
    same_model(model, UniSVMClassifier(**SETTINGS).fit(X, y), relative=1e-5, boundary=1e-2)
    # from memory to blocks, and to other labels, which a warm start has nothing to say about
    warm = UniSVMClassifier(**SETTINGS | {"warm_start": True}).fit(X, y)
    assert warm.fit(rows_in(90), y).n_sweeps_ < cold
    assert list(warm.fit(rows_in(90), np.array(["x", "y"])[y]).classes_) == ["x", "y"]
    target = UniSVMRegressor(**SETTINGS | {"warm_start": True}).fit(rows_in(90), WAVE)
    first = target.n_sweeps_
    assert target.fit(rows_in(90), WAVE).n_sweeps_ < first


def test_a_fit_after_one_on_a_file_forgets_how_its_columns_are_counted(tmp_path):
    train, test = tmp_path / "train.svm", tmp_path / "test.svm"
    dump_svmlight_file(X, y, str(train), zero_based=True)
    # no row has the index 0, so that by itself the file counts from 1
    test.write_text("0 1:0.5\n0 2:-0.25\n")
    model = UniSVMClassifier(**SETTINGS).fit(train)
    model.fit(rows_in(90), y)
    np.testing.assert_allclose(
        model.decision_function(test), model.decision_function([[0.5, 0.0], [0.0, -0.25]]), rtol=1e-12
    )


def test_a_loss_of_the_user():
    loss = losses.custom(lambda u: u**2, lambda u: 2 * u, A=1.0, task="regression")
    expected = UniSVMRegressor("least_squares", **SETTINGS).fit(X, WAVE)
    model = UniSVMRegressor(loss, **SETTINGS).fit(rows_in(90), WAVE)
    np.testing.assert_allclose(model.predict(X), expected.predict(X), atol=1e-3)


def test_the_estimator_is_not_changed_but_for_its_results():
    model = UniSVMClassifier(**SETTINGS)
    before = model.get_params()
    model.fit(rows_in(90), y)
    assert model.get_params() == before
    in_memory = UniSVMClassifier(**SETTINGS).fit(X, y)
    assert set(vars(model)) == set(vars(in_memory))


# ------------------------------------------------------------------ indefinite kernels, penalised offsets

SIGMOID = {"kernel": "sigmoid", "gamma": 0.5, "coef0": -0.5}


@pytest.mark.filterwarnings("ignore::unisvm.FitWarning")
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    ("loss", "parameters"),
    [
        ("squared_hinge", SIGMOID),
        ("squared_hinge", {**SIGMOID, "indefinite": "clip"}),
        ("least_squares", {**SIGMOID, "indefinite": "krein"}),
        ("squared_hinge", {"gamma": 1.0, "fit_intercept": "penalised"}),
        ("squared_hinge", {"kernel": "linear", "fit_intercept": "penalised"}),
    ],
    ids=["flip", "clip", "krein", "penalised", "penalised-linear"],
)
def test_indefinite_kernels_and_penalised_offsets(loss, parameters, weights):
    local = UniSVMClassifier(loss, **{**SETTINGS, **parameters}).fit(X, y, sample_weight=weights)
    given = None if weights is None else da.from_array(weights, chunks=100)
    model = UniSVMClassifier(loss, **{**SETTINGS, **parameters})
    model.fit(rows_in(100), da.from_array(y, chunks=100), sample_weight=given)
    assert model.signature_ == local.signature_
    assert model.objective_ == pytest.approx(local.objective_, rel=0.1 if weights is not None else 1e-6)
    agree = np.mean(model.predict(X) == local.predict(X))
    assert agree > (0.97 if weights is not None else 0.999)


@pytest.mark.parametrize("density", [0.3])
def test_a_penalised_offset_of_sparse_columns(density):
    rows = sparse.random(M, 30, density, format="csr", random_state=0)
    labels = np.asarray(rows.sum(axis=1)).ravel() > 4.5
    blocks = da.concatenate(
        [
            da.from_delayed(delayed(sparse.csr_matrix)(rows[low : low + 100]), (100, 30), rows.dtype)
            for low in range(0, M, 100)
        ]
    )
    model = UniSVMClassifier("squared_hinge", C=1.0, kernel="linear", fit_intercept="penalised", tol=1e-6)
    local = UniSVMClassifier(**model.get_params(deep=False)).fit(rows, labels)
    model.fit(blocks, da.from_array(labels, chunks=100))
    np.testing.assert_allclose(model.coef_, local.coef_, atol=1e-4)
    np.testing.assert_allclose(model.intercept_, local.intercept_, atol=1e-4)
