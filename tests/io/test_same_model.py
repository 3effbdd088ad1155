"""A model fitted on files is the one fitted on the same arrays."""

import bz2
import gzip
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file, make_classification
from sklearn.metrics.pairwise import rbf_kernel

from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor
from unisvm.io import libsvm, parquet

X, y = make_classification(700, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
X[np.abs(X) < 0.3] = 0
WAVE = np.sin(X[:, 0]) + X[:, 1]
SETTINGS = {"C": 1.0, "rank": 60, "tol": 1e-6, "random_state": 0}
KINDS = ["npy", "parquet", "folder", "svm", "libsvm", "txt", "scale"]

pytestmark = pytest.mark.usefixtures("small_reads")


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Several chunks and blocks to a file."""
    monkeypatch.setattr(libsvm, "_CHUNK_BYTES", 3000)
    monkeypatch.setattr(parquet, "_BLOCK_BYTES", 8 * 6 * 100)
    monkeypatch.setattr(parquet, "_COLUMNS_AT_ONCE", 4)


def assert_same(filed, held, rows, path):
    np.testing.assert_allclose(filed.objective_, held.objective_, rtol=1e-9)
    if held.landmarks_ is None:
        assert filed.landmarks_ is None
    else:
        np.testing.assert_array_equal(np.sort(filed.landmarks_), np.sort(held.landmarks_))
    assert filed.dual_coef_.dtype == held.dual_coef_.dtype
    np.testing.assert_array_equal(filed.predict(path), held.predict(rows))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_classifier(write, scratch, kind, n_jobs):
    path = write(kind, X, y)
    filed = UniSVMClassifier(scratch_dir=scratch, n_jobs=n_jobs, **SETTINGS).fit(path, y)
    held = UniSVMClassifier(n_jobs=n_jobs, **SETTINGS).fit(X, y)
    assert_same(filed, held, X, str(path))
    np.testing.assert_allclose(filed.decision_function(path), held.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(filed.trust(path, y), held.trust(X, y), rtol=1e-9, atol=1e-9)
    assert filed.score(path, y) == held.score(X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_regressor(write, tmp_path, scratch, kind):
    path = write(kind, X, WAVE)
    np.save(tmp_path / "wave.npy", WAVE)
    filed = UniSVMRegressor(scratch_dir=scratch, **SETTINGS).fit(path, tmp_path / "wave.npy")
    held = UniSVMRegressor(**SETTINGS).fit(X, WAVE)
    np.testing.assert_allclose(filed.objective_, held.objective_, rtol=1e-9)
    np.testing.assert_allclose(filed.predict(path), held.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["npy", "parquet", "folder"])
def test_single_precision_stays(write, kind):
    single = X.astype(np.float32)
    path = write(kind, single)
    filed, held = UniSVMClassifier(**SETTINGS).fit(path, y), UniSVMClassifier(**SETTINGS).fit(single, y)
    assert filed.decision_function(path).dtype == np.float32
    assert filed.dual_coef_.dtype == np.float32
    np.testing.assert_allclose(filed.objective_, held.objective_, rtol=1e-5)


OTHER = [(kind, dtype) for kind in ("npy", "parquet") for dtype in (np.int8, np.uint16, np.int64, np.float16, bool)]


@pytest.mark.parametrize(("kind", "dtype"), [*OTHER, ("npy", ">f8"), ("npy", ">f4")])
def test_other_numbers_become_double(write, kind, dtype):
    rows = np.round(3 * np.abs(X)).astype(dtype)
    path = write(kind, rows)
    held = UniSVMClassifier(**SETTINGS).fit(rows.astype(np.float64), y)
    assert_same(UniSVMClassifier(**SETTINGS).fit(path, y), held, rows.astype(np.float64), path)


def test_columns_of_two_precisions_become_double(tmp_path):
    columns = {"a": X[:, 0].astype(np.float32), "b": X[:, 1]}
    pq.write_table(pa.table(columns), tmp_path / "mixed.parquet")
    rows = np.column_stack([columns["a"], columns["b"]])
    held = UniSVMClassifier(**SETTINGS).fit(rows, y)
    assert_same(UniSVMClassifier(**SETTINGS).fit(tmp_path / "mixed.parquet", y), held, rows, tmp_path / "mixed.parquet")


# ------------------------------------------------------------------ targets


@pytest.mark.parametrize("pack", [None, gzip, bz2], ids=["plain", "gz", "bz2"])
@pytest.mark.parametrize("zero_based", [True, False])
def test_labels_of_a_libsvm_file(tmp_path, scratch, pack, zero_based):
    path = tmp_path / "train.svm"
    dump_svmlight_file(X, y, str(path), zero_based=zero_based, comment="kept out", query_id=np.arange(len(y)))
    if pack is not None:
        packed = path.with_suffix(f".svm.{'gz' if pack is gzip else 'bz2'}")
        packed.write_bytes(pack.compress(path.read_bytes()))
        path = packed
    filed = UniSVMClassifier(scratch_dir=scratch, **SETTINGS).fit(path)
    rows, labels = load_svmlight_file(str(path))
    held = UniSVMClassifier(**SETTINGS).fit(rows, labels)
    assert filed.n_features_in_ == 6
    assert_same(filed, held, rows, path)
    assert sparse.issparse(filed.landmark_vectors_)
    other = UniSVMClassifier(**SETTINGS).fit(path, y % 2)
    assert other.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("labels", [y, np.array(["no", "maybe", "yes"])[y], y.astype(np.float32)])
def test_column_of_labels(tmp_path, labels):
    columns = {f"x{j}": X[:, j] for j in range(6)}
    path = tmp_path / "with_labels.parquet"
    pq.write_table(pa.table({"x0": X[:, 0], "label": labels} | columns), path)
    held = UniSVMClassifier(**SETTINGS).fit(X, labels)
    filed = UniSVMClassifier(**SETTINGS).fit(path, "label")
    assert filed.feature_names_in_.tolist() == list(columns)
    # the column of labels is passed over
    assert_same(filed, held, X, path)
    assert filed.classes_.dtype == held.classes_.dtype
    # columns are known by their names
    pq.write_table(pa.table(dict(reversed(columns.items()))), tmp_path / "reversed.parquet")
    np.testing.assert_array_equal(filed.predict(tmp_path / "reversed.parquet"), held.predict(X))


def test_names_are_those_of_the_rows(write):
    model = UniSVMClassifier(**SETTINGS).fit(write("parquet", X), y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    model.fit(write("npy", X), y)
    assert not hasattr(model, "feature_names_in_")


# ------------------------------------------------------------------ indices


def line(label, entries):
    return f"{label} " + " ".join(f"{index}:{value!r}" for index, value in entries.items()) + "\n"


def test_smaller_largest_index_is_padded(tmp_path, scratch):
    train, test = tmp_path / "train.svm", tmp_path / "test.svm"
    dump_svmlight_file(X, y, str(train), zero_based=False)
    short = X.copy()
    short[:, 4:] = 0
    dump_svmlight_file(sparse.csr_matrix(short), y, str(test), zero_based=False)
    model = UniSVMClassifier(scratch_dir=scratch, **SETTINGS).fit(train)
    np.testing.assert_array_equal(model.predict(test), model.predict(short))
    # also for a model that was fitted on arrays
    np.testing.assert_array_equal(UniSVMClassifier(**SETTINGS).fit(X, y).predict(test), model.predict(short))


def test_indices_mean_what_they_meant_in_training(tmp_path):
    train, test = tmp_path / "train.svm", tmp_path / "test.svm"
    dump_svmlight_file(X, y, str(train), zero_based=True)
    # no row has the index 0, so that by itself the file would count from 1
    test.write_text(line(0, {1: 1.5, 3: -2.0}) + line(0, {2: 0.5}))
    model = UniSVMClassifier(**SETTINGS).fit(train)
    rows = np.zeros((2, 6))
    rows[0, 1], rows[0, 3], rows[1, 2] = 1.5, -2.0, 0.5
    for same in (model, pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(same.decision_function(test), model.decision_function(rows), rtol=1e-12)
    # a fit on arrays forgets it
    model.fit(X, y)
    rows = np.roll(rows, -1, axis=1)
    np.testing.assert_allclose(model.decision_function(test), model.decision_function(rows), rtol=1e-12)


def test_lines_of_all_kinds(tmp_path):
    text = "# a comment\n+1 1:0.5 3:2e0 # another\r\n\n-1\n1 qid:3 2:-1.5\n-1 1:1 2:1 3:1"
    path = tmp_path / "odd"
    path.write_text(text)
    model = UniSVMClassifier(rank=None).fit(path)
    rows = [[0.5, 0, 2], [0, 0, 0], [0, -1.5, 0], [1, 1, 1]]
    held = UniSVMClassifier(rank=None).fit(sparse.csr_matrix(rows), [1, -1, 1, -1])
    np.testing.assert_allclose(model.decision_function(path), held.decision_function(rows), rtol=1e-9)


# ------------------------------------------------------------------ settings


@pytest.mark.parametrize("kind", ["npy", "parquet", "svm"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"landmarks": "pivoted_cholesky"},
        {"landmarks": "uniform", "solver": "dca"},
        {"landmarks": np.array([3, 600, 4])},
        {"kernel": "linear"},
        {"kernel": "laplacian"},
        {"kernel": "poly", "degree": 2},
        {"memory_limit": "0.5MB"},
        {"rank": 5},
        {"class_weight": "balanced"},
    ],
    ids=lambda p: "-".join(map(str, p)),
)
def test_settings(write, scratch, kind, parameters):
    weights = np.arange(len(X)) % 3.0
    weights[[3, 4]] = 1
    path = write(kind, X)
    rows = sparse.csr_matrix(X) if kind == "svm" else X
    settings = SETTINGS | {"tol": 1e-4, "scratch_dir": scratch} | parameters
    held = UniSVMClassifier(**settings).fit(rows, y, sample_weight=weights)
    filed = UniSVMClassifier(**settings).fit(path, y, sample_weight=weights)
    assert_same(filed, held, rows, path)


def test_precomputed_kernel_in_a_file(write):
    K = rbf_kernel(X, gamma=0.3)
    settings = SETTINGS | {"kernel": "precomputed"}
    held = UniSVMClassifier(**settings).fit(K, y)
    path = write("npy", K)
    assert_same(UniSVMClassifier(**settings).fit(path, y), held, K, path)


def test_warm_start(write):
    path = write("npy", X)
    model = UniSVMRegressor(warm_start=True, **SETTINGS).fit(path, WAVE)
    first = model.n_iter_
    assert model.fit(path, WAVE).n_iter_ < first


@pytest.mark.parametrize("kind", ["npy", "parquet", "svm"])
def test_search(write, scratch, kind):
    path = write(kind, X, y)
    settings = {"losses": ["squared_hinge", "saturating"], "Cs": [1.0, 10.0], "gammas": [0.1], "cv": 3}
    settings |= {"rank": 40, "random_state": 0}
    held = UniSVMClassifierCV(**settings).fit(X, y)
    filed = UniSVMClassifierCV(scratch_dir=scratch, **settings).fit(path, y)
    np.testing.assert_array_equal(filed.cv_results_["mean_test_score"], held.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(filed.predict(path), held.predict(X))
    np.testing.assert_allclose(filed.predict_proba(path), held.predict_proba(X), atol=1e-6)


def test_checkpoint_of_rows_in_a_file(tmp_path):
    # a checkpoint of rows in a file is only for the same rows
    rng = np.random.RandomState(0)
    X = rng.randn(500, 3)
    y = X[:, 0] * X[:, 1] > 0
    np.save(tmp_path / "X.npy", X)
    model = UniSVMClassifier(rank=20, random_state=0, checkpoint=tmp_path / "kept")
    first = model.fit(tmp_path / "X.npy", y).decision_function(X)
    np.testing.assert_array_equal(model.fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y).decision_function(X), first)
    X[-1, -1] += 1
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="contents of X differ"):
        model.fit(tmp_path / "X.npy", y)
