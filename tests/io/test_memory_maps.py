"""Memory maps as X, predictions into given arrays, and the memory that both take."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.utils.metadata_routing import get_routing_for_object

from unisvm import UniSVMClassifier, UniSVMRegressor

X, y = make_classification(500, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
SETTINGS = {"rank": 40, "random_state": 0}


# ------------------------------------------------------------------ fit and predict

VIEWS = {
    "read": ("r", lambda rows: rows),
    "write": ("r+", lambda rows: rows),
    "plain": ("r", np.asarray),
    "slice": ("r", lambda rows: rows[50:450:2]),
    "columns": ("r", lambda rows: rows[:, 1::2]),
    "backwards": ("r", lambda rows: rows[::-1]),
}


@pytest.mark.usefixtures("small_reads")
@pytest.mark.parametrize(("mode", "view"), VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_model_of_a_memory_map_is_that_of_the_array(as_map, mode, view, order):
    rows, labels = view(as_map(np.asarray(X, order=order), mode)), y[: len(view(X))]
    array = np.array(rows)
    held = UniSVMClassifier(**SETTINGS).fit(array, labels)
    filed = UniSVMClassifier(**SETTINGS).fit(rows, labels)
    np.testing.assert_allclose(filed.objective_, held.objective_, rtol=1e-9)
    np.testing.assert_array_equal(filed.predict(rows), held.predict(array))
    np.testing.assert_array_equal(rows, array)


def test_changes_to_a_private_copy_are_not_lost(as_map):
    rows = as_map(X, "c")
    rows[100:200] += 3
    changed = np.array(rows)
    filed, held = UniSVMClassifier(**SETTINGS).fit(rows, y), UniSVMClassifier(**SETTINGS).fit(changed, y)
    np.testing.assert_allclose(filed.objective_, held.objective_, rtol=1e-9)
    np.testing.assert_array_equal(rows, changed)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite(as_map, value):
    bad = X.copy()
    bad[321, 3] = value
    model = UniSVMClassifier(**SETTINGS)
    with pytest.raises(ValueError, match="Input X contains") as in_memory:
        model.fit(bad, y)
    with pytest.raises(ValueError, match="Input X contains") as in_file:
        model.fit(as_map(bad), y)
    assert str(in_file.value) == str(in_memory.value)
    model.fit(X, y)
    out = np.full(500, -1)
    with pytest.raises(ValueError, match="Input X contains"):
        model.predict(as_map(bad), out=out)
    assert (out == -1).all()


def test_other_width(as_map):
    model = UniSVMClassifier(**SETTINGS).fit(as_map(X), y)
    with pytest.raises(ValueError, match="X has 5 features, but UniSVMClassifier is expecting 6"):
        model.predict(as_map(X[:, :5]))


# ------------------------------------------------------------------ predictions into given arrays


@pytest.mark.parametrize("labels", [y, y % 2, np.array(["a", "bc", "d"])[y]], ids=["three", "two", "text"])
@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_out_of_classifier(as_map, tmp_path, labels, method):
    model = UniSVMClassifier(**SETTINGS).fit(X, labels)
    expected = getattr(model, method)(X)
    out = np.lib.format.open_memmap(tmp_path / "out.npy", "w+", expected.dtype, expected.shape)
    assert getattr(model, method)(as_map(X), out=out) is out
    out.flush()
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)


def test_out_of_several_labels_and_targets():
    several = np.column_stack([y == 0, y == 1]).astype(int)
    for model in (UniSVMClassifier(**SETTINGS).fit(X, several), UniSVMRegressor(**SETTINGS).fit(X, several)):
        expected = model.predict(X)
        out = np.empty_like(expected)
        model.predict(X, out=out)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("out", "got"),
    [
        (np.zeros(499), r"one of shape \(499,\) and type float64"),
        (np.zeros((500, 1)), r"one of shape \(500, 1\)"),
        (np.zeros(500, np.float32), "type float32"),
        (np.broadcast_to(0.0, 500), "read-only"),
        ([0.0] * 500, "list"),
    ],
)
def test_wrong_out(out, got):
    def kernel(A, B):
        assert not fitted, "work was done"
        return A @ B.T

    fitted = False
    model = UniSVMRegressor(kernel=kernel, **SETTINGS).fit(X, X[:, 0])
    fitted = True
    with pytest.raises(
        ValueError, match=rf"out must be a writeable array of shape \(500,\) and type float64; got .*{got}"
    ):
        model.predict(X, out=out)


def test_out_is_no_metadata():
    requests = get_routing_for_object(UniSVMClassifier())
    for method in ("predict", "decision_function"):
        assert getattr(requests, method).requests == {}


# ------------------------------------------------------------------ memory

# the peak of a process that is started from a large one counts the large one: a small one stands between
LAUNCHER = """
import json, os, sys
pid = os.spawnv(os.P_NOWAIT, sys.executable, [sys.executable, *sys.argv[1:]])
_, status, usage = os.wait4(pid, 0)
print(json.dumps([status, usage.ru_maxrss]))
"""

FIT_AND_PREDICT = """
import sys
import numpy as np
from unisvm import UniSVMClassifier
path, n_rows = sys.argv[1], int(sys.argv[2])
X = np.load(path, mmap_mode="r")[:n_rows]
y = np.arange(len(X)) % 2
model = UniSVMClassifier(rank=10, max_iter=2, tol=0.1, memory_limit="50MB", random_state=0)
# rows of weight 0 are left out without a copy of the others
model.fit(X, y, sample_weight=np.arange(len(X)) % 5 > 0)
out = np.lib.format.open_memmap(path + ".out", "w+", np.float32, (len(X),))
model.decision_function(X, out=out)
assert np.ptp(out[-1000:]) > 0
"""


def peak_bytes(path, n_rows):
    said = subprocess.run(
        [sys.executable, "-c", LAUNCHER, "-c", FIT_AND_PREDICT, str(path), str(n_rows)],
        stdout=subprocess.PIPE,
        check=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    status, kilobytes = json.loads(said.stdout)
    assert status == 0
    return kilobytes * 1000


@pytest.mark.skipif(sys.platform != "linux", reason="the system counts the memory of a process in other units")
def test_large_map_is_never_in_memory(tmp_path):
    n_rows, n_columns = 300_000, 500
    path = tmp_path / "large.npy"
    block = np.random.RandomState(0).randn(n_rows // 20, n_columns).astype(np.float32)
    with open(path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, n_columns)}
        np.lib.format.write_array_header_1_0(file, header)
        for _ in range(20):
            file.write(block.data)
    assert path.stat().st_size > 600e6
    beside = peak_bytes(path, n_rows) - peak_bytes(path, 1000)
    # blocks and some arrays with an entry for each row
    assert beside < 180e6
