"""Checkpoints of another fit are refused by a message that says how it differs; other files are left alone."""

import copy
import errno
import functools
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from checkpoint.interrupted import Broken, assert_same, model_arrays, rows
from unisvm import UniSVMClassifier, UniSVMRegressor, kernels, losses
from unisvm.checkpoint import file_format, stages
from unisvm.checkpoint.fingerprint import describe, describe_together
from unisvm.rows import MemoryRows
from unisvm.whole_files import first_line

X, y = rows(400)
SETTINGS = {"rank": 30, "tol": 1e-2, "random_state": 0}


@pytest.fixture(scope="module")
def broken_off(tmp_path_factory):
    """A folder with every stage but the result."""
    return break_off(tmp_path_factory.mktemp("checkpoint"), SETTINGS)


def break_off(folder, settings):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "_SECONDS_BETWEEN", 0)
        patch.setattr(stages, "_SHARE", 0)
        real = stages.Checkpoint.save

        def save(self, stage, arrays):
            if stage == "result":
                raise Broken
            real(self, stage, arrays)

        patch.setattr(stages.Checkpoint, "save", save)
        with pytest.raises(Broken):
            UniSVMClassifier(checkpoint=folder, **settings).fit(X, y)
    return folder


@pytest.fixture
def folder(broken_off, tmp_path):
    return shutil.copytree(broken_off, tmp_path / "copy")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"C": 2.5}, "C was 'auto' and is 2.5"),
        ({"loss": "hinge"}, "loss was 'feng' and is 'hinge'"),
        ({"loss": losses.Saturating(2, 2, 4)}, r"loss was 'feng' and is unisvm.losses.*\(a=2, b=2, c=4\)"),
        ({"kernel": "laplacian"}, "kernel was 'rbf' and is 'laplacian'"),
        ({"kernel": kernels.RBF(0.5)}, r"kernel was 'rbf' and is unisvm.kernels.rbf.RBF\(gamma=0.5\)"),
        ({"landmarks": np.arange(9)}, r"landmarks was 'rpcholesky' and is a int64 array of shape \(9,\)"),
        ({"random_state": 1}, "random_state was 0 and is 1"),
        ({"random_state": None}, "random_state was 0 and is None"),
        ({"class_weight": {0: 2.0}}, "class_weight was None and is {0: 2}; the contents of the weights differ"),
        ({"C": 2.0, "tol": 0.1}, "C was 'auto' and is 2; tol was 0.01 and is 0.1"),
    ],
)
def test_other_parameters(folder, change, said):
    before = contents(folder)
    with pytest.raises(ValueError, match=said) as caught:
        UniSVMClassifier(checkpoint=folder, **(SETTINGS | change)).fit(X, y)
    assert str(folder) in str(caught.value)
    assert "Give another folder" in str(caught.value)
    assert contents(folder) == before


def one_other(array):
    array = array.copy()
    array[-1] = array[0]
    return array


def in_blocks(rows, length=200):
    return da.from_array(rows, chunks=(length, rows.shape[1]))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ((one_other(X), y), "the contents of X differ"),
        ((X[:-1], y[:-1]), r"X was a float64 array of shape \(400, 6\) and is a float64 array of shape \(399, 6\)"),
        ((X.astype(np.float32), y), "X was a float64 array of shape .* and is a float32"),
        ((sparse.csr_array(X), y), "X was a float64 array of shape .* and is a float64 CSR matrix"),
        ((X, y[::-1]), "fit: the contents of y differ"),
        ((X, y, np.arange(1.0, 401)), "fit: the contents of the weights differ"),
    ],
)
def test_other_data(folder, data, said):
    with pytest.raises(ValueError, match=said):
        UniSVMClassifier(checkpoint=folder, **SETTINGS).fit(*data)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ((in_blocks(one_other(X)), y), "fit: the contents of X differ"),
        ((in_blocks(X, 100), y), "fit: X was 2 blocks.* and is 4 blocks"),
        ((X, y), "X was 2 blocks, the first a float64 array .* and is a float64 array"),
        ((in_blocks(X), y[::-1]), "fit: the contents of y differ"),
        ((in_blocks(X), y, np.arange(1.0, 401)), "fit: the contents of the weights differ"),
        ((in_blocks(X), y, np.arange(400) % 2.0), "X was 2 blocks"),
    ],
)
def test_other_data_on_dask(tmp_path, data, said):
    model = UniSVMClassifier(checkpoint=tmp_path, **SETTINGS)
    model.fit(in_blocks(X), y)
    model.fit(in_blocks(X), y)
    with pytest.raises(ValueError, match=said):
        model.fit(*data)


def test_targets_of_another_scale_on_dask(tmp_path):
    model = UniSVMRegressor(checkpoint=tmp_path, **SETTINGS)
    model.fit(in_blocks(X), X[:, 0])
    with pytest.raises(ValueError, match="the contents of the units of y differ"):
        model.fit(in_blocks(X), 2 * X[:, 0])


def test_targets_of_another_scale(tmp_path):
    # which are the same in units of their scale
    UniSVMRegressor(checkpoint=tmp_path, **SETTINGS).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="the contents of the units of y differ"):
        UniSVMRegressor(checkpoint=tmp_path, **SETTINGS).fit(X, 2 * X[:, 0])


def test_a_rule_whose_code_has_changed(tmp_path):
    def rule(first):
        class First:
            def choose(self, rows, kernel, rank, tol, rng):
                return np.arange(rank)

        class Last:
            def choose(self, rows, kernel, rank, tol, rng):
                return np.arange(rows.n_rows - rank, rows.n_rows)

        Last.__name__, Last.__qualname__ = First.__name__, First.__qualname__
        return First() if first else Last()

    UniSVMClassifier(checkpoint=tmp_path, landmarks=rule(True), **SETTINGS).fit(X, y)
    UniSVMClassifier(checkpoint=tmp_path, landmarks=rule(True), **SETTINGS).fit(X, y)
    with pytest.raises(ValueError, match="is of another fit: the contents of landmarks differ"):
        UniSVMClassifier(checkpoint=tmp_path, landmarks=rule(False), **SETTINGS).fit(X, y)


POWER, SCALES, N_CALLS, TABLE = 1, {"all": [np.ones(6)]}, 0, [len]


def kernel_of_globals(A, B):
    global N_CALLS
    N_CALLS += 1

    def scaled(rows):
        return rows * SCALES["all"][0]

    return len(TABLE) * np.matmul(scaled(A), scaled(B).T) ** POWER


@pytest.mark.parametrize(("name", "value"), [("POWER", 2), ("SCALES", {"all": [np.arange(6.0)]})])
def test_a_kernel_whose_globals_have_changed(tmp_path, monkeypatch, name, value):
    model = UniSVMClassifier(kernel=kernel_of_globals, checkpoint=tmp_path, **SETTINGS)
    first = model_arrays(model.fit(X, y))
    assert N_CALLS > 0
    # what it sets itself is its own affair, and what is no data is not looked at
    monkeypatch.setitem(globals(), "TABLE", [max])
    assert_same(first, model_arrays(model.fit(X, y)))
    monkeypatch.setitem(globals(), name, value)
    with pytest.raises(ValueError, match="is of another fit: the contents of kernel differ"):
        model.fit(X, y)


def test_other_estimator_and_version(folder, monkeypatch):
    with pytest.raises(ValueError, match=r"estimator was unisvm.classifier.UniSVMClassifier and is unisvm.regressor"):
        UniSVMRegressor(checkpoint=folder, **SETTINGS).fit(X, y)
    monkeypatch.setattr("unisvm._base.__version__", "9.9")
    with pytest.raises(ValueError, match=r"unisvm's version was '.*' and is '9.9'"):
        UniSVMClassifier(checkpoint=folder, **SETTINGS).fit(X, y)


def test_same_parameters_and_data_of_other_types(tmp_path):
    settings = SETTINGS | {"C": 1.0}
    folder = break_off(tmp_path, settings)
    same = settings | {"rank": np.int64(30), "C": 1, "tol": np.float64(0.01)}
    model = UniSVMClassifier(checkpoint=str(folder), **same).fit(
        np.asfortranarray(X).tolist(), y.tolist(), np.ones(400)
    )
    assert_same(model_arrays(UniSVMClassifier(**settings).fit(X, y)), model_arrays(model))


@pytest.mark.parametrize("stage", ["begun", "landmarks", "gram", "C", "start", "solver"])
def test_damage_is_never_taken(folder, stage):
    path = folder / f"unisvm-{stage}.ckpt"
    good = path.read_bytes()
    places = [0, 5, 40, len(good) // 3, len(good) // 2, len(good) - 1]
    flipped = [good[:i] + bytes([good[i] ^ 1]) + good[i + 1 :] for i in places]
    torn = [good[:n] for n in (0, 10, 85, len(good) // 2, len(good) - 1)]
    for bad in [*flipped, *torn, good + b"\0"]:
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=f"unisvm-{stage}.ckpt' is damaged.*Delete it"):
            UniSVMClassifier(checkpoint=folder, **SETTINGS).fit(X, y)
    # as the message says, without the file the fit resumes from the stage before; before the first, there is none
    path.unlink()
    model = UniSVMClassifier(checkpoint=folder, **SETTINGS)
    if stage == "begun":
        with pytest.raises(ValueError, match="not of one run"):
            model.fit(X, y)
    else:
        assert_same(model_arrays(UniSVMClassifier(**SETTINGS).fit(X, y)), model_arrays(model.fit(X, y)))


def test_files_of_two_runs(folder, tmp_path):
    UniSVMClassifier(checkpoint=tmp_path / "other", **SETTINGS).fit(X, y)
    shutil.copy(tmp_path / "other" / "unisvm-result.ckpt", folder)
    with pytest.raises(ValueError, match="not of one run"):
        UniSVMClassifier(checkpoint=folder, **SETTINGS).fit(X, y)


def test_pickles_are_not_read(folder):
    class Danger:
        def __reduce__(self):
            return os.mkdir, (str(folder / "danger"),)

    path = folder / "unisvm-gram.ckpt"
    with file_format.read_file(path) as archive:
        contents = dict(archive)
    payload = io.BytesIO()
    np.savez(payload, **(contents | {"mean": np.array([Danger()], dtype=object)}))
    path.write_bytes(first_line(file_format.MAGIC, io.BytesIO(payload.getvalue())) + payload.getvalue())
    with pytest.raises(ValueError, match=r"unisvm-gram.ckpt' is damaged: .*allow_pickle=False.*Delete it"):
        UniSVMClassifier(checkpoint=folder, **SETTINGS).fit(X, y)
    path.write_bytes(first_line(file_format.MAGIC, io.BytesIO(pickle.dumps(Danger()))) + pickle.dumps(Danger()))
    with pytest.raises(ValueError, match=r"unisvm-gram.ckpt' is damaged: .*Delete it"):
        UniSVMClassifier(checkpoint=folder, **SETTINGS).fit(X, y)
    assert not (folder / "danger").exists()


def other_arrays(arrays):
    """Contents of a file in which each of its arrays in turn is of another kind, or not there."""
    for name, array in arrays.items():
        forgeries = [np.zeros(array.shape, "M8[s]"), np.zeros(array.shape, "f2"), array[None], np.array(["text"]), None]
        if array.size:
            forgeries += [array.ravel()[:-1], np.zeros(array.shape, complex)]
        for forged in forgeries:
            if forged is None or (forged.shape, forged.dtype) != (array.shape, array.dtype):
                yield {key: value for key, value in (arrays | {name: forged}).items() if value is not None}
    yield arrays | {"more": np.zeros(3)}


def other_headers(header):
    """Headers of other types, without entries, or with entries of other types."""
    yield from (b"", b"{", b"[]", b"null", b"3", b"\xff\xfe")
    for name in header:
        yield json.dumps({key: value for key, value in header.items() if key != name}).encode()
        for other in (None, 3, "text", [], {}, {"state": {"pos": 10**9}}, {"a": 1}):
            # an empty identity is one of another fit, and any text is a run
            if other != header[name] and (name, other) not in [("identity", {}), ("run", "text")]:
                yield json.dumps(header | {name: other}).encode()
    for place, value in [("pos", 10**9), ("pos", -1), ("pos", "1"), ("key", [1, 2]), ("key", None)]:
        forged = copy.deepcopy(header)
        forged["random"]["state"][place] = value
        yield json.dumps(forged).encode()


@pytest.mark.parametrize("stage", ["begun", "landmarks", "gram", "C", "start", "solver"])
def test_forged_files_are_refused_as_damaged_ones(folder, stage):
    path = folder / f"unisvm-{stage}.ckpt"
    with file_format.read_file(path) as archive:
        arrays = dict(archive)
    text = arrays.pop("meaning")
    meanings = [np.frombuffer(forged, np.uint8) for forged in other_headers(json.loads(text.tobytes()))]
    forgeries = [{"meaning": text} | forged for forged in other_arrays(arrays)]
    forgeries += [{"meaning": forged} | arrays for forged in [*meanings, np.zeros((2, 2)), np.array("text")]]
    for forged in [arrays, *forgeries]:
        file_format.write_file(path, forged)
        with pytest.raises(ValueError, match=f"unisvm-{stage}.ckpt' is damaged: .*Delete it"):
            UniSVMClassifier(checkpoint=folder, **SETTINGS).fit(X, y)


@pytest.mark.parametrize("wrong", ["missing", "out of range", "type"])
def test_arrays_that_are_forged_with_their_description(folder, wrong):
    path = folder / "unisvm-landmarks.ckpt"
    with file_format.read_file(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays.pop("meaning").tobytes())
    if wrong == "missing":
        del arrays["kept"]
    else:
        chosen = arrays["store_indices"]
        arrays["store_indices"] = chosen + 10**6 if wrong == "out of range" else chosen.astype(float)
    header["arrays"] = stages._kinds(arrays)
    file_format.write_file(path, {"meaning": np.frombuffer(json.dumps(header).encode(), np.uint8)} | arrays)
    with pytest.raises(ValueError, match=r"unisvm-landmarks.ckpt' is damaged: .*Delete it"):
        UniSVMClassifier(checkpoint=folder, **SETTINGS).fit(X, y)


def test_folder_that_cannot_be_used(tmp_path, monkeypatch):
    monkeypatch.setattr(MemoryRows, "__init__", None)
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ValueError, match=r"must be a folder, but .*file' is a file"):
            UniSVMClassifier(checkpoint=place).fit(X, y)
    for given in (3, "", b""):
        with pytest.raises(ValueError, match=f"must be a folder or None, got {given!r}"):
            UniSVMClassifier(checkpoint=given).fit(X, y)
    monkeypatch.setattr(os, "access", lambda *args: False)
    with pytest.raises(PermissionError, match="is not writable"):
        UniSVMClassifier(checkpoint=tmp_path / "new").fit(X, y)
    assert sorted(os.listdir(tmp_path)) == ["file"]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder where even root cannot write")
def test_folder_that_the_system_refuses(monkeypatch):
    monkeypatch.setattr("unisvm.engine.choose_landmarks", None)
    with pytest.raises(OSError, match="/proc"):
        UniSVMClassifier(checkpoint="/proc/self/checkpoint", **SETTINGS).fit(X, y)


def test_wrong_data_leave_no_folder(tmp_path):
    with pytest.raises(ValueError, match="NaN"):
        UniSVMClassifier(checkpoint=tmp_path / "new").fit(np.full((4, 2), np.nan), [0, 1, 0, 1])
    assert os.listdir(tmp_path) == []


def test_disk_that_fills_up(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space") as caught:
        UniSVMClassifier(checkpoint=tmp_path, **SETTINGS).fit(X, y)
    assert os.listdir(tmp_path) == ["unisvm-lock"]
    assert str(tmp_path) in str(caught.value)
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on the size of files")
@pytest.mark.parametrize("n_bytes", [100, 5000, 9000])
def test_stage_that_is_too_large_for_the_file_system(tmp_path, n_bytes):
    code = f"""
import os, resource, sys
from checkpoint.test_refusal import SETTINGS, X, y
from unisvm import UniSVMClassifier
resource.setrlimit(resource.RLIMIT_FSIZE, ({n_bytes}, resource.RLIM_INFINITY))
try:
    UniSVMClassifier(checkpoint=sys.argv[1], **SETTINGS).fit(X, y)
except OSError as error:
    print(error.errno, error)
"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", code, tmp_path], env=env, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert ran.stdout.startswith(f"{errno.EFBIG} [Errno {errno.EFBIG}] ")
    assert f"written to the checkpoint {str(tmp_path)!r}" in ran.stdout
    assert "make room there, and the same call goes on" in ran.stdout
    assert not list(tmp_path.glob("*.tmp"))
    # what was written is whole: as the message says, the same call goes on from there
    model = UniSVMClassifier(checkpoint=tmp_path, **SETTINGS).fit(X, y)
    assert_same(model_arrays(UniSVMClassifier(**SETTINGS).fit(X, y)), model_arrays(model))


def test_two_fits_at_once(tmp_path):
    caught = []

    def kernel(A, B):
        if not caught:
            with pytest.raises(RuntimeError, match="Another fit is using the checkpoint") as error:
                UniSVMClassifier(checkpoint=tmp_path).fit(X, y)
            caught.append(error)
        return A @ B.T

    UniSVMClassifier(kernel=kernel, checkpoint=tmp_path, **SETTINGS).fit(X, y)
    assert len(caught) == 1


def test_other_files_are_left_alone(tmp_path):
    names = ["notes.txt", "unisvm-model.ckpt", "begun.ckpt", "unisvm-x.ckpt.tmp"]
    for name in names:
        (tmp_path / name).write_text(name)
    (tmp_path / "unisvm-solver.ckpt.tmp").write_text("half of a file, by a run that was killed")
    for _ in range(2):
        UniSVMClassifier(checkpoint=tmp_path, **SETTINGS).fit(X, y)
    assert all((tmp_path / name).read_text() == name for name in names)
    assert not (tmp_path / "unisvm-solver.ckpt.tmp").exists()


# ------------------------------------------------------------------ descriptions


def scaled(factor):
    return lambda A, B: factor * A @ B.T


def recursive():
    def count(n):
        return 0 if n == 0 else 1 + count(n - 1)

    return count


VALUES = {
    "numbers": (1, 2, 0.5, True, None, "1", 1 + 1j),
    "containers": ([1, 2], [2, 1], {1: 2}, {2: 1}, {1, 2}),
    "functions": (scaled(1), scaled(2), len, np.tanh, recursive(), functools.partial(scaled, 2), {"a": scaled(3)}),
    "objects": (
        losses.get("hinge"),
        losses.get("hinge", p=5),
        kernels.RBF(1.0),
        kernels.RBF(2.0),
        SimpleNamespace(a=1),
    ),
    "arrays": (np.arange(3), np.arange(3.0), np.arange(4), np.ones((2, 2)), sparse.csr_array(np.eye(2)), np.eye(2)),
    "generators": (np.random.RandomState(0), np.random.RandomState(1)),
    "long": (list(range(200)), [*range(199), 0]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_different_values_have_different_descriptions(kind):
    described = [describe(value) for value in VALUES[kind]]
    assert len(set(described)) == len(described)
    assert all(len(text) < 150 and "\n" not in text for text in described)


def test_same_values_have_the_same_description():
    for value, other in [
        (1, 1.0),
        ({1: 2, 3: 4}, {3: 4, 1: 2}),
        (scaled(2), scaled(2)),
        (losses.get("hinge"), losses.get("hinge")),
        (np.ones((3, 2)), np.ones((3, 2), order="F")),
        (np.float32(0.5), 0.5),
    ]:
        assert describe(value) == describe(other)


def test_descriptions_are_those_of_any_process():
    code = (
        "from unisvm import losses, kernels; from unisvm.checkpoint.fingerprint import describe; import numpy as np;"
        "print(describe([losses.custom(lambda u: u**2, lambda u: 2*u, task='both'), kernels.RBF(),"
        " {'b': {'x', 'y', 'z'}, 'a': lambda t: t in {'p', 'q', 'r'}}, np.random.RandomState(3), np.arange(5)]))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in "12"
    }
    assert len(said) == 1


def test_hash_does_not_depend_on_threads_or_layout(monkeypatch):
    monkeypatch.setattr("unisvm.checkpoint.fingerprint._BLOCK_BYTES", 1000)
    matrix = np.random.RandomState(0).randn(1000, 7)
    texts = {describe_together([array], n) for n in (1, 2) for array in (matrix, np.asfortranarray(matrix))}
    assert len(texts) == 1
    matrix[500, 3] += 1e-12
    assert describe_together([matrix]) not in texts
    for empty in (np.empty((0, 3)), np.empty((3, 0)), np.array("text"), np.array([True])):
        assert describe_together([empty]) != describe_together([np.zeros(1)])


def test_parameter_that_cannot_be_described_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"kernel_params does not go with a checkpoint.*object"):
        UniSVMClassifier(kernel=scaled(1), kernel_params={"p": object()}, checkpoint=tmp_path / "new").fit(X, y)


def test_reasons_to_stop_that_are_none(tmp_path):
    settings = {"rank": 5, "C": 1.0, "random_state": 0, "checkpoint": tmp_path / "fit"}
    rows, labels = np.random.RandomState(0).randn(60, 3), np.arange(60) % 2
    UniSVMClassifier(**settings).fit(rows, labels)
    path = tmp_path / "fit" / "unisvm-result.ckpt"
    with file_format.read_file(path) as archive:
        arrays = dict(archive)
    file_format.write_file(path, arrays | {"result_reasons": np.array(["TIRED"])})
    with pytest.raises(ValueError, match="is damaged"):
        UniSVMClassifier(**settings).fit(rows, labels)
