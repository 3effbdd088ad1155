"""The paper's data sets: real files where they are, small stand-ins served over HTTP, and files that are refused."""

import bz2
import io
import os
import socket
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from unisvm.datasets import PAPER_SETS, download, load, load_paper, paper

#: training rows, test rows, columns, λ, γ as printed in the paper, but for Ijcnn's test rows
PRINTED = {
    "adult": (32561, 16281, 123, 1e-5, 2**-10),
    "ijcnn": (49990, 91701, 22, 1e-5, 1),
    "shuttle": (43500, 14500, 9, 1e-5, 2),
    "vehicle": (78823, 19705, 100, 1e-2, 2**-3),
    "cadata": (10640, 10000, 8, 1e-2, 1),
    "spatial3d": (234874, 200000, 3, 1e-3, 2**6),
    "slice": (43500, 10000, 385, 1e-9, 2**-5),
    "covtype": (381012, 200000, 54, 1e-8, 2**-2),
    "checkerboard3m": (3000000, 1000000, 2, 1e-7, 2**4),
}
REGRESSION = {"cadata", "spatial3d", "slice"}


def needs(file):
    """A mark that skips a test where the real file is not there."""
    folder = os.environ.get("UNISVM_DATA")
    there = bool(folder) and (Path(folder) / f"{file}.npz").is_file()
    return pytest.mark.skipif(not there, reason=f"set UNISVM_DATA to a folder with {file}.npz")


def check_record(data, name, n_test=None):
    """Shapes, types, labels and parameters."""
    n_train, printed_test, n_features, penalty, gamma = PRINTED[name]
    n_test = n_test or printed_test
    assert data.name == name
    assert data.X_train.shape == (n_train, n_features)
    assert data.X_test.shape == (n_test, n_features)
    assert data.y_train.shape == (n_train,)
    assert data.y_test.shape == (n_test,)
    assert data.X_train.dtype == data.X_test.dtype == np.float32
    assert data.X_train.flags.c_contiguous
    assert (data.penalty, data.gamma) == (penalty, gamma)
    assert data.rank == (300 if name == "checkerboard3m" else 1000)
    if name in REGRESSION:
        assert data.task == "regression"
        assert data.y_train.dtype == data.y_test.dtype == np.float64
    else:
        assert data.task == "classification"
        assert data.y_train.dtype == data.y_test.dtype == np.int8
        assert set(data.y_train.tolist()) == set(data.y_test.tolist()) == {-1, 1}


def test_names():
    assert set(PAPER_SETS) == set(PRINTED)
    with pytest.raises(ValueError, match="did you mean 'slice'"):
        load_paper("slices")


@pytest.mark.parametrize("name", ["vehicle", "spatial3d", "slice"])
def test_parameters_of_the_sets_that_are_seldom_at_hand(name):
    source = paper._SOURCES[name]
    assert (source.n_train, source.n_test, source.n_features, source.penalty, source.gamma) == PRINTED[name]


@pytest.mark.parametrize(
    ("name", "file"),
    [pytest.param("adult", "a9a", marks=needs("a9a")), pytest.param("ijcnn", "ijcnn1", marks=needs("ijcnn1"))],
)
def test_sets_taken_as_they_are(name, file):
    data, raw = load_paper(name, download=False), load(file)
    check_record(data, name)
    for part in raw:
        np.testing.assert_array_equal(getattr(data, part), raw[part])


@needs("shuttle")
def test_shuttle():
    data, raw = load_paper("shuttle", download=False), load("shuttle")
    check_record(data, "shuttle")
    assert data.remark == ""
    assert (data.y_train == 1).sum() == 34108
    np.testing.assert_array_equal(data.X_train.min(axis=0), -1)
    np.testing.assert_array_equal(data.X_train.max(axis=0), 1)
    low, high = raw["X_train"].min(axis=0), raw["X_train"].max(axis=0)
    np.testing.assert_allclose(data.X_test, 2 * (raw["X_test"] - low) / (high - low) - 1, rtol=1e-5, atol=1e-5)


@needs("cadata")
def test_cadata_and_seeds():
    data, again, other = (load_paper("cadata", random_state=seed, download=False) for seed in (0, 0, 1))
    check_record(data, "cadata")
    for part in (data.X_train, data.y_train[:, None]):
        np.testing.assert_array_equal(part.min(axis=0), -1)
        np.testing.assert_array_equal(part.max(axis=0), 1)
    np.testing.assert_array_equal(data.X_test, again.X_test)
    np.testing.assert_array_equal(data.y_test, again.y_test)
    assert (data.y_test != other.y_test).mean() > 0.9
    # the rows of the file, each once: lowest and highest price are known
    y = np.concatenate([data.y_train, data.y_test])
    np.testing.assert_allclose(np.sort((y + 1) / 2 * (500001 - 14999) + 14999), np.sort(load("cadata")["y"]), atol=1e-6)


@needs("covtype")
def test_covtype():
    rows = len(load("covtype")["y"])
    data = load_paper("covtype", download=False)
    check_record(data, "covtype", n_test=rows - 381012)
    if rows == 581012:
        assert data.remark == ""
    else:
        expected = f"{rows:,} of the 581,012 rows: {rows - 381012:,} instead of 200,000 test rows"
        assert data.remark == expected
    assert (data.X_train.min(axis=0) == 0).all()
    assert (data.X_train.max(axis=0) == 1).all()
    # the binary columns stay as they are: one wilderness area and one soil for each row
    np.testing.assert_array_equal(data.X_test[:, 10:14].sum(axis=1), 1)
    np.testing.assert_array_equal(data.X_test[:, 14:].sum(axis=1), 1)
    positive = (load("covtype")["y"] == 2).sum()
    assert (data.y_train == 1).sum() + (data.y_test == 1).sum() == positive
    assert abs((data.y_test == 1).mean() - positive / rows) < 0.02


def test_checkerboard():
    data = load_paper("checkerboard3m", download=False)
    check_record(data, "checkerboard3m")
    assert data.remark == ""
    cells = np.floor(np.concatenate([data.X_train, data.X_test]) * 2000).astype(np.int32)
    # every point of the grid once, in either part
    assert (np.bincount(cells[:, 0] * 2000 + cells[:, 1], minlength=4_000_000) == 1).all()
    fields = cells // 500
    y = np.concatenate([data.y_train, data.y_test])
    np.testing.assert_array_equal(y, np.where(fields.sum(axis=1) % 2 == 0, 1, -1))
    # both parts are spread over the board
    assert abs(data.X_test.mean() - 0.5) < 0.01
    assert abs(data.y_test.mean()) < 0.01


class Site:
    """A web server on this machine: `files` by path, each with the length it promises."""

    def __init__(self):
        site = self
        self.files, self.requests = {}, []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                site.requests.append(self.path)
                if self.path not in site.files:
                    self.send_error(404)
                    return
                content, promised = site.files[self.path]
                self.send_response(200)
                if promised is not None:
                    self.send_header("Content-Length", str(promised))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def serve(self, file, content, promised="length"):
        self.files[f"/{file}"] = (content, len(content) if promised == "length" else promised)

    def url(self, file):
        return f"http://127.0.0.1:{self.server.server_port}/{file}"


@pytest.fixture
def site():
    site = Site()
    thread = threading.Thread(target=site.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield site
    site.server.shutdown()
    site.server.server_close()
    thread.join()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for data, and a home for scikit-learn's."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("UNISVM_DATA", str(folder))
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    return folder


@pytest.fixture
def small(site, monkeypatch):
    """Make a set of the table a small one that is published on the site."""

    def replace_source(name, n_train, n_test, n_features, **changes):
        source = paper._SOURCES[name]
        urls = tuple(site.url(url.rsplit("/")[-1]) for url in source.urls)
        sizes = {"n_train": n_train, "n_test": n_test, "n_features": n_features}
        monkeypatch.setitem(paper._SOURCES, name, replace(source, urls=urls, **sizes, **changes))
        return [url.rsplit("/")[-1] for url in urls]

    return replace_source


def libsvm_file(X, y):
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=False)
    return file.getvalue()


def zip_file(table, header=""):
    content = "\n".join([*([header] if header else []), *(",".join(map(repr, row)) for row in table.tolist())])
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", content + "\n")
    return file.getvalue()


def classes(labels, n, n_features=4, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, n_features)).round(3)
    return X, np.resize(labels, n)


@pytest.mark.parametrize(
    ("name", "labels", "positive", "pack"),
    [
        ("adult", [-1, 1], 1, bytes),
        ("ijcnn", [-1, 1], 1, bz2.compress),
        ("vehicle", [1, 2, 3], 3, bz2.compress),
    ],
)
def test_download_of_a_split_set(name, labels, positive, pack, site, folder, small):
    files = small(name, 9, 6, 4)
    (X_train, y_train), (X_test, y_test) = classes(labels, 9), classes(labels, 6, seed=1)
    # the last column is not in the test file, as in a9a.t
    X_test[:, 3] = 0
    for file, X, y in zip(files, (X_train, X_test), (y_train, y_test), strict=True):
        site.serve(file, pack(libsvm_file(X, y)))
    data = load_paper(name)
    np.testing.assert_allclose(data.X_train, X_train, rtol=1e-6)
    np.testing.assert_allclose(data.X_test, X_test, rtol=1e-6)
    np.testing.assert_array_equal(data.y_train, np.where(y_train == positive, 1, -1))
    np.testing.assert_array_equal(data.y_test, np.where(y_test == positive, 1, -1))
    assert data.y_train.dtype == np.int8
    # the files are kept under their own names, with nothing beside them, and are not fetched again
    assert sorted(path.name for path in folder.iterdir()) == sorted(files)
    load_paper(name)
    np.testing.assert_array_equal(load_paper(name, download=False).X_test, data.X_test)
    assert site.requests == [f"/{file}" for file in files]


def test_download_of_shuttle_is_scaled_by_its_training_rows(site, folder, small):
    files = small("shuttle", 14, 7, 4)
    (X_train, y_train), (X_test, y_test) = classes(range(1, 8), 14), classes(range(1, 8), 7, seed=1)
    for file, X, y in zip(files, (X_train, X_test), (y_train, y_test), strict=True):
        site.serve(file, libsvm_file(X, y))
    data = load_paper("shuttle")
    low, high = X_train.min(axis=0), X_train.max(axis=0)
    np.testing.assert_allclose(data.X_test, 2 * (X_test - low) / (high - low) - 1, atol=1e-5)
    np.testing.assert_array_equal(data.y_train, np.where(y_train == 1, 1, -1))


def test_download_of_cadata(site, folder, small):
    (file,) = small("cadata", 20, 10, 4)
    X, _ = classes([0], 30)
    # the target repeats a column: both are to be scaled alike
    site.serve(file, libsvm_file(X, 1000 * X[:, 1]))
    data = load_paper("cadata", random_state=3)
    assert data.y_train.min() == -1
    assert data.y_train.max() == 1
    np.testing.assert_allclose(data.X_train[:, 1], data.y_train, atol=1e-5)
    np.testing.assert_allclose(data.X_test[:, 1], data.y_test, atol=1e-5)


@pytest.mark.parametrize(("name", "header"), [("spatial3d", ""), ("slice", "patientId,value0,value1,reference")])
def test_download_of_a_zip(name, header, site, folder, small):
    (file,) = small(name, 40, 20, 3)
    table = np.random.default_rng(0).normal(5, 3, size=(60, 4))
    table[:, 1] = 7
    table[:, 3] = table[:, 2]
    site.serve(file, zip_file(table, header))
    data = load_paper(name, random_state=1)
    varying = data.X_train[:, [0, 2]]
    np.testing.assert_allclose(varying.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(varying.std(axis=0), 1, atol=1e-5)
    # a constant column has no width to divide by
    np.testing.assert_array_equal(data.X_test[:, 1], 0)
    if name == "spatial3d":
        # the target too
        expected = data.y_test
        np.testing.assert_allclose(data.X_train[:, 2], data.y_train, atol=1e-5)
    else:
        np.testing.assert_array_equal(np.sort(np.concatenate([data.y_train, data.y_test])), np.sort(table[:, 3]))
        expected = (data.y_test - data.y_train.mean()) / data.y_train.std()
    np.testing.assert_allclose(data.X_test[:, 2], expected, atol=1e-5)
    assert not np.array_equal(data.y_test, load_paper(name, random_state=2).y_test)


def test_covtype_kept_by_scikit_learn(folder, monkeypatch):
    monkeypatch.setitem(paper._SOURCES, "covtype", replace(paper._SOURCES["covtype"], n_train=14, n_test=14))
    X, y = classes(range(1, 8), 21, n_features=54)
    kept = Path(os.environ["SCIKIT_LEARN_DATA"]) / "covertype"
    kept.mkdir(parents=True)
    joblib.dump(X, kept / "samples_py3")
    joblib.dump(y, kept / "targets_py3")
    data = load_paper("covtype", download=False)
    assert data.X_train.shape == (14, 54)
    assert data.remark == "21 of the 28 rows: 7 instead of 14 test rows"
    assert (data.y_train == 1).sum() + (data.y_test == 1).sum() == 3
    assert data.X_train.min() == 0
    assert data.X_train.max() == 1


def test_an_npz_comes_before_other_files(site, folder, small):
    files = small("adult", 8, 4, 3)
    (X_train, y_train), (X_test, y_test) = classes([-1, 1], 8, 3), classes([-1, 1], 4, 3, seed=1)
    np.savez(folder / "a9a.npz", X_train=X_train, y_train=y_train, X_test=X_test, y_test=y_test)
    for file in files:
        (folder / file).write_text("not this one")
    np.testing.assert_allclose(load_paper("adult").X_test, X_test, rtol=1e-6)
    assert site.requests == []


def test_files_go_home_if_the_folder_cannot_be_written(site, folder, small, monkeypatch):
    monkeypatch.setenv("UNISVM_DATA", str(folder / "is not there"))
    (file,) = small("cadata", 4, 4, 2)
    site.serve(file, libsvm_file(*classes([1, 2], 8, 2)))
    load_paper("cadata")
    assert (Path(os.environ["SCIKIT_LEARN_DATA"]) / "unisvm" / file).is_file()
    assert list(folder.iterdir()) == []


def test_a_torn_download_is_not_kept(site, folder, small):
    (file,) = small("cadata", 20, 10, 4)
    content = libsvm_file(*classes([1, 2], 30))
    # at the end of a line, where the rest still reads as a file
    torn = content[: content.rindex(b"\n", 0, -1) + 1]
    site.serve(file, torn, promised=len(content))
    with pytest.raises(FileNotFoundError, match=f"{len(torn):,} of {len(content):,} bytes") as caught:
        load_paper("cadata")
    assert site.url(file) in str(caught.value)
    assert list(folder.iterdir()) == []
    site.serve(file, content)
    assert load_paper("cadata").X_train.shape == (20, 4)


@pytest.mark.parametrize("name", ["ijcnn", "slice"])
def test_a_file_that_cannot_be_read_is_named(name, site, folder, small):
    files = small(name, 9, 6, 4)
    whole = bz2.compress(libsvm_file(*classes([-1, 1], 9))) if name == "ijcnn" else zip_file(np.eye(5))
    for file in files:
        # no length promised: only reading can tell
        site.serve(file, whole[:-10], promised=None)
    with pytest.raises(ValueError, match=f"{name}, read from") as caught:
        load_paper(name)
    assert str(folder / files[0]) in str(caught.value)


def test_a_page_that_is_not_there(site, folder, small):
    small("cadata", 4, 4, 2)
    with pytest.raises(FileNotFoundError, match="404"):
        load_paper("cadata")
    assert list(folder.iterdir()) == []


def test_no_server(site, folder, small):
    small("cadata", 4, 4, 2)
    site.server.server_close()
    with pytest.raises(FileNotFoundError, match="the download failed"):
        load_paper("cadata")


def test_a_server_that_does_not_answer(folder, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/cadata"
        monkeypatch.setitem(paper._SOURCES, "cadata", replace(paper._SOURCES["cadata"], urls=(url,)))
        with pytest.raises(FileNotFoundError, match="timed out"):
            load_paper("cadata")


@pytest.mark.parametrize("name", [name for name in PAPER_SETS if name != "checkerboard3m"])
def test_message_of_a_missing_file(name, folder):
    with pytest.raises(FileNotFoundError) as caught:
        load_paper(name, download=False)
    message = str(caught.value)
    url = paper._SOURCES[name].urls[0]
    assert url in message
    assert str(folder) in message
    assert message.startswith("covtype.npz" if name == "covtype" else url.rsplit("/")[-1])


SPLIT = dict(zip(("X_train", "y_train", "X_test", "y_test"), (*classes([-1, 1], 8), *classes([-1, 1], 6)), strict=True))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"X_train": np.ones((7, 4)), "y_train": np.ones(7)},
            "expected X_train of 8 rows and 4 columns, .* \\(7, 4\\)",
        ),
        ({"X_test": np.ones((6, 5))}, "expected X_test of 6 rows and 4 columns, found shape \\(6, 5\\)"),
        ({"X_test": np.ones(6)}, "found shape \\(6,\\)"),
        ({"y_test": np.ones(5)}, "expected one value in y_test for each of 6 rows, found shape \\(5,\\)"),
        ({"y_train": np.arange(8) % 3}, "expected 2 classes in y_train, -1, 1; found 3, 0, 1, 2"),
        ({"y_test": np.arange(6) % 2}, "expected 2 classes in y_test, -1, 1; found 2, 0, 1"),
    ],
)
def test_arrays_that_are_not_those_of_the_set(changes, message, folder, small):
    small("adult", 8, 6, 4)
    np.savez(folder / "a9a.npz", **SPLIT)
    load_paper("adult")
    np.savez(folder / "a9a.npz", **(SPLIT | changes))
    with pytest.raises(ValueError, match=message) as caught:
        load_paper("adult")
    assert str(folder / "a9a.npz") in str(caught.value)


def test_arrays_of_the_other_kind(folder, small):
    small("adult", 8, 6, 4)
    np.savez(folder / "a9a.npz", X=np.ones((14, 4)), y=np.ones(14))
    with pytest.raises(ValueError, match="expected the arrays X_train and y_train, found X, y"):
        load_paper("adult")


@pytest.mark.parametrize("rows", [14, 29])
def test_covtype_needs_its_training_rows(rows, folder, small):
    small("covtype", 14, 14, 3)
    X, y = classes(range(1, 8), rows, 3)
    np.savez(folder / "covtype.npz", X=X, y=y)
    with pytest.raises(ValueError, match="15 to 28 rows"):
        load_paper("covtype")
