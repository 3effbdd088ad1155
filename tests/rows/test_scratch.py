"""Features in a scratch file: the same model as in memory, nothing left behind, and a disk that is full."""

import errno
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression

from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor
from unisvm.rows import MemoryRows
from unisvm.rows.scratch import Scratch

X, y = make_classification(3000, 6, n_informative=4, n_classes=3, random_state=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_written_is_read(tmp_path, dtype):
    matrix = np.random.RandomState(0).randn(57, 5).astype(dtype)
    scratch = Scratch(matrix.shape, np.dtype(dtype), tmp_path)
    for low in (40, 0, 20):
        scratch.write(low, matrix[low : low + 20])
    for rows in (slice(0, 20), slice(50, 80), slice(13, 14), slice(0, 57)):
        np.testing.assert_array_equal(scratch[rows], matrix[rows])
    np.testing.assert_array_equal(scratch[np.array([56, 3, 3])], matrix[[56, 3, 3]])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("order", [None, np.random.RandomState(1).permutation(500)])
def test_store_works_alike_on_both(tmp_path, order):
    rng = np.random.RandomState(0)
    rows = MemoryRows(rng.randn(500, 3), rng.randn(500, 2), np.ones(500), 2, order, tmp_path)

    def square(block, out=None):
        return np.square(block, out=out)

    def sums(features, targets, weights):
        return features.T @ targets, features.sum(axis=0)

    held, filed = rows.build(square, 3), rows.build(square, 3, room=100)
    assert isinstance(filed, Scratch)
    for left, right in zip(rows.reduce(sums, held), rows.reduce(sums, filed), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-12)
    chosen = np.array([7, 499, 0])
    np.testing.assert_array_equal(rows.map_rows(np.negative, filed, chosen), -(rows.X[chosen] ** 2))


def test_only_features_in_memory_are_transformed(tmp_path):
    rng = np.random.RandomState(0)
    rows = MemoryRows(rng.randn(3000, 2), rng.randn(3000, 1), np.ones(3000), 2, None, tmp_path)
    matrix, square = rng.randn(2, 40), rng.randn(40, 40)

    def block(X, out=None):
        return np.dot(X, matrix, out=out)

    held, filed = rows.build(block, 40), rows.build(block, 40, room=0)
    expected = held @ square
    assert rows.transform(held, square)
    np.testing.assert_allclose(held, expected, rtol=1e-12)
    assert not rows.transform(filed, square)
    np.testing.assert_array_equal(filed[:], rows.X @ matrix)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("labels", [y, y == 1], ids=["classes", "two classes"])
@pytest.mark.parametrize("loss", ["squared_hinge", "saturating"])
def test_classifier_is_the_same(tmp_path, loss, labels, dtype):
    # many blocks for both threads
    rows, labels = np.tile(X.astype(dtype), (20, 1)), np.tile(labels, 20)
    settings = {"rank": 80, "tol": 1e-4, "random_state": 0, "scratch_dir": tmp_path, "n_jobs": 2}
    held = UniSVMClassifier(loss, C=1.0, **settings).fit(rows, labels)
    filed = UniSVMClassifier(loss, C=1.0, memory_limit="6MB", **settings).fit(rows, labels)
    np.testing.assert_array_equal(filed.landmarks_, held.landmarks_)
    # to the last bit, also in single precision
    np.testing.assert_array_equal(filed.dual_coef_, held.dual_coef_)
    np.testing.assert_array_equal(filed.objective_, held.objective_)
    assert os.listdir(tmp_path) == []


def test_regressor_and_search_are_the_same(tmp_path):
    rows, target = make_regression(2000, 4, noise=3, random_state=0)
    settings = {"rank": 60, "random_state": 0, "scratch_dir": tmp_path}
    held, filed = (UniSVMRegressor(C=1.0, memory_limit=limit, **settings).fit(rows, target) for limit in (None, "1MB"))
    np.testing.assert_allclose(filed.objective_, held.objective_, rtol=1e-9)
    settings |= {"Cs": [1.0, 10.0], "gammas": 1, "cv": 3}
    held, filed = (UniSVMClassifierCV("hinge", memory_limit=limit, **settings).fit(X, y) for limit in (None, "1.8MB"))
    np.testing.assert_array_equal(filed.cv_results_["mean_test_score"], held.cv_results_["mean_test_score"])


def test_is_used_only_beyond_the_limit(tmp_path, monkeypatch):
    made = []
    reserve = os.posix_fallocate
    monkeypatch.setattr(os, "posix_fallocate", lambda *args: made.append(args[2]) or reserve(*args))
    settings = {"rank": 50, "scratch_dir": tmp_path, "random_state": 0}
    UniSVMClassifier(C=1.0, memory_limit="100MB", **settings).fit(X, y)
    assert made == []
    UniSVMClassifier(C=1.0, memory_limit="1MB", **settings).fit(X, y)
    assert made == [3000 * 50 * 8]


def test_no_room_names_the_folder_and_the_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    with pytest.raises(OSError, match=r"1.2 MB in the scratch folder .* 1 KB are free") as caught:
        UniSVMClassifier(C=1.0, rank=50, memory_limit="1MB", scratch_dir=tmp_path, random_state=0).fit(X, y)
    assert caught.value.errno == errno.ENOSPC
    assert str(tmp_path) in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_disk_that_fills_up_meanwhile(tmp_path, monkeypatch):
    def full(descriptor, offset, n_bytes):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="scratch folder"):
        Scratch((10, 10), np.dtype(np.float64), tmp_path)
    assert os.listdir(tmp_path) == []


def test_failed_fit_leaves_nothing(tmp_path):
    def kernel(A, B):
        if len(A) == 3000:
            raise KeyboardInterrupt
        return A @ B.T

    with pytest.raises(KeyboardInterrupt):
        UniSVMClassifier(
            C=1.0,
            rank=50,
            kernel=kernel,
            landmarks="uniform",
            memory_limit="1MB",
            scratch_dir=tmp_path,
            random_state=0,
        ).fit(X, y)
    assert os.listdir(tmp_path) == []


def test_folder_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match="scratch_dir must be a folder"):
        UniSVMClassifier(scratch_dir=tmp_path / "nowhere").fit(X, y)


# ---------------------------------------------------------------------- a file system that is really full

FIT = """
import os
import numpy as np
from sklearn.datasets import make_classification
from unisvm import UniSVMClassifier

folder = {folder!r}
X, y = make_classification(20_000, 6, random_state=0)
if {filled}:
    # room that is promised but not there: another process fills the disk once it has been looked at
    reserve = os.posix_fallocate
    def others_first(*args):
        with open(os.path.join(folder, "others"), "wb") as file:
            reserve(file.fileno(), 0, 30 * 2**20)
        reserve(*args)
    os.posix_fallocate = others_first
try:
    UniSVMClassifier(C=1.0, rank=100, rank_tol=0.0, memory_limit="6MB", scratch_dir=folder, random_state=0).fit(X, y)
except OSError as error:
    print(error)
print(sorted(set(os.listdir(folder)) - {{"others"}}), os.statvfs(folder).f_bfree * os.statvfs(folder).f_bsize)
"""


def small_disk(folder, megabytes, script):
    """Run a script in a namespace where the folder is a file system of its own."""
    mount = f"mount -t tmpfs -o size={megabytes}m tmpfs '{folder}'"
    inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", f'{mount} || exit 77; exec "$0" -c "$1"']
    return subprocess.run([*inside, sys.executable, script], capture_output=True, text=True, check=False)


def can_mount(folder):
    return shutil.which("unshare") is not None and small_disk(folder, 1, "print(1)").returncode == 0


@pytest.mark.parametrize(("megabytes", "filled"), [(10, False), (40, True)])
def test_names_the_folder_and_the_bytes_and_leaves_nothing(tmp_path, megabytes, filled):
    if not can_mount(tmp_path):
        pytest.skip("needs the right to mount a file system in a namespace")
    done = small_disk(tmp_path, megabytes, FIT.format(folder=str(tmp_path), filled=filled))
    assert done.returncode == 0, done.stderr
    message, left = done.stdout.splitlines()
    assert f"The features need 16 MB in the scratch folder {tmp_path}" in message
    assert "scratch_dir" in message
    # no file, and no bytes but those of the others
    assert left == f"[] {(megabytes - (30 if filled else 0)) * 2**20}"
