"""A damaged or forged model file is an error that names it, within the memory that it takes itself."""

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

import unisvm
from model_files.forging import FIRST, joined, mutated_array, mutated_json, places, split, with_checksum
from model_files.saved_models import NAMES, TARGETS, X, answers, assert_same, plain, small_models
from unisvm import model_files
from unisvm.model_files import file_format

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Every kind of model with the bytes of its file."""
    path = tmp_path_factory.mktemp("models") / "model.unisvm"
    files = {}
    for name, (model, rows, y) in small_models().items():
        unisvm.save(model, path, extra={"a": [1, {"b": "c"}]})
        files[name] = model, rows, y, path.read_bytes()
    return files


@pytest.fixture(scope="module")
def smallest(tmp_path_factory):
    """The bytes of a small file."""
    path = tmp_path_factory.mktemp("small") / "model.unisvm"
    unisvm.save(plain("two classes", "linear").fit(X, TARGETS["two classes"]), path)
    return path.read_bytes()


@pytest.fixture
def refuses(tmp_path):
    """Raises unless a file of these bytes is refused by its name, and returns the message."""

    def check(data, read=unisvm.load):
        (tmp_path / "bad.unisvm").write_bytes(data)
        with pytest.raises(ValueError, match=r"bad\.unisvm") as caught:
            read(tmp_path / "bad.unisvm")
        return str(caught.value)

    return check


# ------------------------------------------------------------------ damage by accident


def test_every_truncation(refuses, smallest):
    for length in range(len(smallest)):
        said = refuses(smallest[:length])
        assert length < FIRST or "checksum" in said or "damaged" in said


def test_bit_flips(refuses, smallest):
    rng = np.random.default_rng(0)
    every_bit_of_the_head = range(8 * FIRST)
    others = rng.choice(np.arange(8 * FIRST, 8 * len(smallest)), 500, replace=False).tolist()
    for bit in (*every_bit_of_the_head, *others):
        bad = bytearray(smallest)
        bad[bit // 8] ^= 1 << bit % 8
        refuses(bytes(bad))


def test_bytes_that_are_added_swapped_or_left_out(refuses, smallest):
    rng = np.random.default_rng(0)
    for _ in range(200):
        a, b, c = np.sort(rng.integers(0, len(smallest), 3)).tolist()
        swapped = smallest[:a] + smallest[b:c] + smallest[a:b] + smallest[c:]
        for bad in (smallest + rng.bytes(1), smallest[:a] + smallest[b:], swapped, smallest[:b] + smallest[a:]):
            if bad != smallest:
                refuses(bad)


def test_parts_of_two_files(refuses, saved):
    one, other = saved["classifier"][3], saved["regressor"][3]
    refuses(one[:FIRST] + other[FIRST:])
    for read in (unisvm.load, model_files.read_summary):
        refuses(one[:2000] + other[2000:], read)
    (header, _), (_, rest) = split(one), split(other)
    refuses(joined(header, rest))


# ------------------------------------------------------------------ forged checksums


def test_a_forged_file_is_read_if_it_is_right(tmp_path, saved):
    for model, rows, y, data in saved.values():
        header, rest = split(data)
        (tmp_path / "forged").write_bytes(joined(header, rest))
        loaded = unisvm.load(tmp_path / "forged")
        assert_same(answers(model, rows, y), answers(loaded, rows, y))


def read_or_refused(path, data, rows):
    """Raise unless a file is refused by its name, or its model predicts for rows that it takes."""
    path.write_bytes(data)
    try:
        loaded = unisvm.load(path)
    except ValueError as error:
        if path.name not in str(error):
            raise
        return
    if loaded.n_features_in_ == rows.shape[1]:
        with np.errstate(all="ignore"):
            assert loaded.predict(rows).shape[0] == rows.shape[0]
            if hasattr(loaded, "intervals_") and (coverage := loaded.intervals_.max_coverage / 2) > 0:
                assert loaded.predict_interval(rows, coverage).shape[0] == rows.shape[0]


@pytest.mark.parametrize("name", NAMES)
def test_parts_of_the_json_that_are_left_out(tmp_path, saved, name):
    _, rows, _, data = saved[name]
    header, rest = split(data)
    n_places = len(places(header["model"]))
    for place in range(0, n_places, max(n_places // 80, 1)):
        forged = json.loads(json.dumps(header))
        container, key = places(forged["model"])[place]
        del container[key]
        read_or_refused(tmp_path / "bad.unisvm", joined(forged, rest), rows)


@settings(max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_parts_of_forged_files_that_are_something_else(tmp_path, saved, data):
    _, rows, _, good = saved[data.draw(st.sampled_from(NAMES))]

    def choose(options):
        return data.draw(st.sampled_from(list(options)))

    header, rest = split(good)
    of_json = choose([True, False])
    bad = joined(mutated_json(header, choose), rest) if of_json else mutated_array(header, rest, choose)
    read_or_refused(tmp_path / "bad.unisvm", bad, rows)


def header_of(smallest):
    header, rest = split(smallest)
    return json.loads(json.dumps(header)), rest


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{}", "entries are none that are written"),
        (b"[]", "entries are none"),
        (b"", "damaged"),
        (b"[" * 100_000, "damaged: RecursionError"),
        (b'{"a":' * 100_000, "damaged: RecursionError"),
        (b'{"unisvm": "1", "unisvm": "2"}', "name twice"),
        (b'{"unisvm": NaN}', "NaN, which is no JSON"),
        (b'{"unisvm": ' + b"9" * 5000 + b"}", "damaged"),
        (b'{"unisvm": "\xff"}', "damaged"),
        (b"\x80\x04cos\nsystem\n(S'true'\ntR.", "damaged"),
    ],
)
def test_json_that_is_none(refuses, line, said):
    assert said in refuses(joined(line, b""))
    assert said in refuses(joined(line, b""), model_files.read_summary)


def test_a_file_without_json(refuses):
    assert "no line of JSON" in refuses(with_checksum(b"a" * 1000))


@pytest.mark.parametrize(
    ("array", "said"),
    [
        ({"type": "|O", "shape": [1], "order": "C"}, "no arrays of type '|O'"),
        ({"type": ">f8", "shape": [1], "order": "C"}, "no arrays of type '>f8'"),
        ({"type": "<f8", "shape": [2**60], "order": "C"}, "no shape of an array in a file of"),
        ({"type": "<f8", "shape": [2**60, 0], "order": "C"}, "no shape of an array"),
        ({"type": "<f8", "shape": [-1], "order": "C"}, "no shape of an array"),
        ({"type": "<f8", "shape": [True], "order": "C"}, "no shape of an array"),
        ({"type": "<f8", "shape": [1] * 9, "order": "C"}, "is no shape"),
        ({"type": "<f8", "shape": [1000, 1000], "order": "C"}, "ends before its arrays do"),
        ({"type": "<f8", "shape": [1], "order": "K"}, "no order 'K'"),
        ({"type": "<f8", "shape": [1], "order": "C", "offset": 0}, "not described as"),
        ({"type": "<U99999999999", "shape": [0], "order": "C"}, "no arrays of type"),
        ("<f8", "not described as"),
    ],
)
def test_arrays_that_are_none(refuses, smallest, array, said):
    header, rest = header_of(smallest)
    header["arrays"][0] = array
    assert said in refuses(joined(header, rest))


def parts(header):
    """The fields of the estimator."""
    return header["model"]["fields"]


def test_an_array_that_stands_for_two(refuses, smallest):
    header, rest = header_of(smallest)
    parts(header)["intercept_"] = parts(header)["dual_coef_"]
    assert "two values share it" in refuses(joined(header, rest))


def test_an_array_that_is_no_part_of_the_model(refuses, smallest):
    header, rest = header_of(smallest)
    header["arrays"].append({"type": "<f8", "shape": [8], "order": "C"})
    assert "1 arrays are no part of it" in refuses(joined(header, rest + bytes(-len(rest) % 64 + 64)))


def test_bytes_after_the_arrays(refuses, smallest):
    header, rest = header_of(smallest)
    assert "64 bytes after its arrays" in refuses(joined(header, rest + bytes(64)))


@pytest.mark.parametrize("kind", ["losses.Huber", "NotSaved", "kernels.RBF", "sklearn.StandardScaler", "os.system"])
def test_a_file_of_what_is_no_model(refuses, smallest, kind):
    header, _ = header_of(smallest)
    header["model"], header["arrays"] = {"is": "object", "type": kind, "fields": {}}, []
    assert "damaged" in refuses(joined(header, b""))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("classes_", {"is": "objects", "shape": [2], "items": ["a", "a"]}, "at least 2 labels in their order"),
        ("classes_", {"is": "objects", "shape": [2], "items": ["a", 1]}, "an array of 2 texts"),
        ("classes_", None, "classes_ must be"),
        ("n_features_in_", 4, "landmark_vectors_ must be"),
        ("n_features_in_", 0, "n_features_in_ must be a whole number of at least 1, got 0"),
        ("n_features_in_", True, "n_features_in_ must be a whole number"),
        ("kernel_", {"is": "object", "type": "kernels.RBF", "fields": {"gamma": "scale"}}, "must be a number"),
        ("kernel_", {"is": "object", "type": "kernels.RBF", "fields": {"gamma": 0.5}}, "landmark_vectors_ must be"),
        ("kernel_", {"is": "object", "type": "kernels.RBF", "fields": {"gamma": -1.0}}, "gamma must be a positive"),
        ("kernel_", {"is": "object", "type": "kernels.RBF", "fields": {"degree": 1}}, "no parameter degree"),
        ("kernel_", "linear", "kernel_ must be Kernel, got 'linear'"),
        ("C_", 0, "C_ must be a finite number above 0"),
        ("_multilabel", True, "must be the coefficients of 2 classes"),
        ("_multilabel", 1, "_multilabel must be bool"),
        ("_pairs", [], "_pairs must be"),
        ("signature_", {"is": "tuple", "items": [1]}, "two whole numbers"),
        ("history_", {"is": "dict", "items": []}, "history_ must be lists"),
        ("predict", 3, "there is no field predict in this version"),
        ("__class__", 3, "there is no field __class__"),
        ("parameters", {"is": "dict", "items": [["n_jobs", 0]]}, "n_jobs must be"),
        ("parameters", {"is": "dict", "items": [["eval", 0]]}, "has no parameter eval in this version"),
        ("parameters", {"is": "dict", "items": [["C", 0], ["C", 1]]}, "a dict has a key twice"),
        ("parameters", {"is": "dict", "items": [[[], 0]]}, "damaged: TypeError: unhashable"),
    ],
)
def test_fields_that_estimators_do_not_have(refuses, smallest, name, value, said):
    header, rest = header_of(smallest)
    parts(header)[name] = value
    assert said in refuses(joined(header, rest))


def test_another_version_is_named(refuses, smallest):
    header, rest = header_of(smallest)
    header["unisvm"], parts(header)["new_"] = "9.1", 3
    assert "It was written by unisvm 9.1" in refuses(joined(header, rest))


@pytest.mark.parametrize(
    ("field", "array", "said"),
    [
        ("indices", [0, 1, 7], "in columns that it has not"),
        ("indices", [0, 2, 1], "not in their order"),
        ("indices", [0, 1, 1], "not in their order"),
        ("indices", [-1, 1, 2], "in columns that it has not"),
        ("indptr", [0, 2, 3, 4], "do not follow each other"),
        ("indptr", [1, 2, 3], "do not follow each other"),
        ("indptr", [0, 4, 3], "do not follow each other"),
        ("indptr", [0, -1, 3], "do not follow each other"),
        ("indptr", [0, 2**31 - 1, 3], "do not follow each other"),
        ("data", [1.0, np.inf, 2.0], "CSR matrix of finite numbers"),
    ],
)
def test_sparse_landmarks_whose_indices_lead_elsewhere(refuses, tmp_path, field, array, said):
    """Compiled code follows these indices."""
    model = unisvm.UniSVMClassifier(landmarks=np.arange(2), random_state=0)
    model.fit(sparse.csr_array(np.array([[1.0, 0, 0], [0, 2, 3], [1, 0, 0], [0, 1, 2]])), [0, 1, 0, 1])
    arrays = {"data": [1.0, 2.0, 3.0], "indices": [0, 1, 2], "indptr": [0, 1, 3]} | {field: array}
    unisvm.save(model, tmp_path / "model")
    header, rest = split((tmp_path / "model").read_bytes())
    matrix = parts(header)["landmark_vectors_"]
    new = b""
    for name, dtype in (("data", "<f8"), ("indices", "<i4"), ("indptr", "<i4")):
        numbers = np.array(arrays[name], dtype=dtype)
        matrix[name] = {"is": "array", "at": len(header["arrays"])}
        header["arrays"].append({"type": dtype, "shape": [len(numbers)], "order": "C"})
        new += numbers.tobytes() + bytes(-numbers.nbytes % 64)
    assert "damaged" in refuses(joined(header, rest + bytes(-len(rest) % 64) + new.rstrip(b"\0")))


# ------------------------------------------------------------------ memory


def peak_of(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def bombs(smallest):
    """Files that would take much more memory than they are long, if they were believed."""
    header, rest = header_of(smallest)
    yield joined(header | {"arrays": [{"type": "<f8", "shape": [0, 10**4, 10**4, 10**4], "order": "C"}] * 900}, rest)
    tree = {"is": "objects", "shape": [10**9], "items": []}
    yield joined(header | {"model": tree}, rest)
    rows = [{"is": "rows", "at": 0}] * 1000
    yield joined(header | {"model": {"is": "tuple", "items": rows}}, rest)
    zeros = {"type": "<f8", "shape": [900, 0], "order": "C"}
    yield joined(header | {"model": rows[0], "arrays": [zeros]}, b"")
    texts = {"type": "<U99999", "shape": [900], "order": "C"}
    yield joined(header | {"model": {"is": "texts", "at": 0}, "arrays": [texts]}, rest)
    matrix = {"is": "csr_array", "shape": [10**15, 10**15]} | {name: [] for name in ("data", "indices", "indptr")}
    yield joined(header | {"model": matrix}, rest)
    yield joined(header | {"model": {"is": "tuple", "items": [[]] * 50_000}}, rest)


def test_no_file_takes_much_more_memory_than_it_is_long(refuses, smallest):
    for bomb in bombs(smallest):
        assert peak_of(lambda bomb=bomb: refuses(bomb)) < 40 * len(bomb) + 2**20


def test_a_model_takes_its_memory_once(tmp_path):
    rows = np.random.RandomState(0).randn(300, 2000)
    unisvm.save(plain("two classes", rank=300).fit(rows, np.arange(300) % 2), tmp_path / "model")
    size = (tmp_path / "model").stat().st_size
    assert size > 4e6
    assert peak_of(lambda: unisvm.load(tmp_path / "model")) < 1.5 * size
    assert peak_of(lambda: unisvm.save(unisvm.load(tmp_path / "model"), tmp_path / "again")) < 1.7 * size


def test_a_long_line_of_json_is_refused_before_it_is_parsed(refuses, smallest, monkeypatch):
    monkeypatch.setattr(file_format, "MOST_JSON_BYTES", 2000)
    assert "no line of JSON" in refuses(smallest)


# ------------------------------------------------------------------ writing


def test_a_save_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.unisvm"
    small, large = plain("two classes").fit(X, TARGETS["two classes"]), plain("two classes", rank=60)
    large.fit(X, TARGETS["two classes"])
    unisvm.save(small, path)
    before = path.read_bytes()
    unisvm.save(large, tmp_path / "large.unisvm")
    script = """
import resource, signal, sys, unisvm
model = unisvm.load(sys.argv[2])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))
try:
    unisvm.save(model, sys.argv[1])
except OSError as error:
    print(error)
"""
    ran = subprocess.run(
        [sys.executable, "-c", script, path, tmp_path / "large.unisvm"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert f"when a model was saved to {str(path)!r}. What was there before is as it was" in ran.stdout
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["large.unisvm", "model.unisvm"]


def test_an_error_in_the_middle_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.unisvm"
    unisvm.save(plain("two classes").fit(X, TARGETS["two classes"]), path)
    before = path.read_bytes()

    def interrupted(array):
        raise KeyboardInterrupt

    monkeypatch.setattr(file_format, "_order", interrupted)
    with pytest.raises(KeyboardInterrupt):
        file_format.write(path, b"{}\n", [np.ones(3)])
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.unisvm"]


def test_a_link_stays_a_link_and_permissions_stay(tmp_path):
    model = plain("two classes").fit(X, TARGETS["two classes"])
    unisvm.save(model, tmp_path / "model.unisvm")
    (tmp_path / "model.unisvm").chmod(0o640)
    (tmp_path / "link").symlink_to("model.unisvm")
    unisvm.save(plain("two classes", rank=5).fit(X, TARGETS["two classes"]), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "model.unisvm").stat().st_mode & 0o777 == 0o640
    assert unisvm.load(tmp_path / "model.unisvm").rank_ == 5


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_not_writable(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="its folder is not writable"):
        unisvm.save(plain("two classes").fit(X, TARGETS["two classes"]), tmp_path / "model.unisvm")


def test_folders_of_a_forged_file_are_not_written_into(tmp_path, smallest):
    header, rest = split(smallest)
    parameters = header["model"]["fields"]["parameters"]["items"]
    folders = [pair for pair in parameters if pair[0] in ("checkpoint", "scratch_dir")]
    assert len(folders) == 2
    for pair in folders:
        pair[1] = str(tmp_path / "of the author's choice")
    (tmp_path / "forged.unisvm").write_bytes(joined(header, rest))
    model = unisvm.load(tmp_path / "forged.unisvm")
    assert (model.checkpoint, model.scratch_dir) == (None, None)
