"""Readers of files: what they read, how it is damaged, and what a reading must give."""

import bz2
import gzip
import io
import json
from decimal import Decimal

import numpy as np
import pandas as pd
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from hard.damage import any_of, as_matrix, damaged, other_header, other_lines, other_word
from unisvm import UniSVMClassifier, UniSVMClassifierCV
from unisvm.checkpoint import file_format, open_stages, stages
from unisvm.io import files
from unisvm.memory_budget import MemoryBudget
from unisvm.whole_files import first_line

MEMORY = "200MB"
SETTINGS = {"rank": 8, "C": 1.0, "tol": 1e-2, "random_state": 0, "n_jobs": 1, "memory_limit": MEMORY}
LABELS = np.arange(60) % 2


class Rows:
    """A reader of rows; a case is a file of one kind, damaged, or of another kind and whole.

    Attributes
    ----------
    good : dict of bytes
        Files by their names.
    of_format : list of callables
        Damages of their own.
    target : str or None
        Name of the targets' column.
    """

    of_format: list = []
    target = None

    def __init__(self, folder, rng):
        self.folder = folder
        self.good = {}
        self.write(as_matrix(rng))
        X = as_matrix(rng)
        self.model = UniSVMClassifier(**SETTINGS).fit(X, LABELS)
        np.save(folder / "other", X)
        self.others = [(folder / "other.npy").read_bytes(), b"PK\x03\x04" + bytes(60), b"\x7fELF" + bytes(60)]
        self.others += [b"%PDF-1.4\n", b"<?xml version='1.0'?>\n", b"a,b\n1,2\n", b'{"a": 1}\n', b"PAR1", b"PAR1PAR1"]

    def keep(self, name):
        """Take a file that was written into the folder as one of the good ones."""
        path = self.folder / name
        self.good[name] = path.read_bytes()
        path.unlink()

    def case(self, rng):
        """The path of a damaged file, and how it was damaged."""
        name = any_of(rng, list(self.good))
        good = self.good[name]
        if rng.integers(50) == 0:
            others = [*self.others, *self.good.values()]
            bad, how = any_of(rng, others), ["another file"]
        else:
            bad, how = self.damage(name, good, rng)
        path = self.folder / name
        path.write_bytes(bad)
        return path, [name, *how]

    def damage(self, name, good, rng):
        return damaged(good, rng, self.of_format)

    def read(self, path, rng):
        """Read all of it as a fit does, and check what comes of it; and, at times, fit or predict."""
        budget = MemoryBudget.parse(MEMORY)
        rows, y, _ = files.open_rows(path, self.target, check_columns=lambda n: budget.check_columns(n, 1))
        n_rows = 0
        # the check of a fit comes before its rows are read
        if min(rows.shape) > 0:
            for block in rows.blocks():
                assert block.shape[1] == rows.shape[1]
                assert block.dtype == rows.dtype
                assert rows.dtype.kind == "f"
                n_rows += block.shape[0]
            assert n_rows == rows.shape[0]
        self.compare(path, rows, y)

    def use(self, path, rng):
        """Fit to a file, or predict for it; it may be refused for what it says."""
        if rng.integers(2):
            self.model.predict(path)
        else:
            UniSVMClassifier(**SETTINGS).fit(path, LABELS if self.target is None else self.target)

    def names(self, path, message):
        """Whether a message names the file."""
        return str(path) in message

    def compare(self, path, rows, y):
        """Raise when another library reads other rows or targets."""


class Arrays(Rows):
    of_format = [other_header]

    def write(self, X):
        wide = np.round(np.abs(X) * 10)
        for i, array in enumerate([X, np.asfortranarray(wide.astype(">i2")), X.astype(np.float32), wide > 5]):
            np.save(self.folder / f"rows{i}.npy", array)
            self.keep(f"rows{i}.npy")
        with open(self.folder / "rows9.npy", "wb") as file:
            np.lib.format.write_array(file, X, version=(2, 0))
        self.keep("rows9.npy")
        np.save(self.folder / "targets0.npy", np.array(["yes", "no"] * 30))
        np.save(self.folder / "targets1.npy", LABELS)
        self.keep("targets0.npy")
        self.keep("targets1.npy")

    def read(self, path, rng):
        if path.name.startswith("rows"):
            super().read(path, rng)
            return
        self.compare(path, None, files.open_beside("y", path))

    def use(self, path, rng):
        if path.name.startswith("rows"):
            super().use(path, rng)
        else:
            UniSVMClassifier(**SETTINGS).fit(as_matrix(rng), path)

    def compare(self, path, rows, y):
        try:
            array = np.load(path, allow_pickle=False)
        except ValueError:
            # it does not read types that are arrays, which it does not write either
            return
        if rows is None:
            np.testing.assert_array_equal(y, array)
        elif min(rows.shape) > 0:
            np.testing.assert_array_equal(rows[:], array.astype(rows.dtype))


class Tables(Rows):
    target = "label"

    def write(self, X):
        table = pd.DataFrame(X, columns=list("abcd")).assign(label=["x", "y"] * 30)
        mixed = pd.DataFrame(
            {
                "a": X[:, 0].astype(np.float32),
                "b": np.arange(60),
                "c": X[:, 1] > 0,
                "d": [Decimal(i) / 4 for i in range(60)],
                "label": pd.Categorical(["x", "y", "z"] * 20),
            }
        )
        for compression in (None, "snappy", "gzip", "zstd"):
            table.to_parquet(self.folder / f"{compression}.parquet", compression=compression, row_group_size=25)
            self.keep(f"{compression}.parquet")
        mixed.to_parquet(self.folder / "mixed.parquet")
        table.set_index(np.arange(60) ** 2).to_parquet(self.folder / "indexed.pq", use_dictionary=False)
        table.to_parquet(self.folder / "new.parquet", data_page_version="2.0", write_page_checksum=True)
        for name in ("mixed.parquet", "indexed.pq", "new.parquet"):
            self.keep(name)

    def damage(self, name, good, rng):
        if rng.integers(2) or len(good) < 20:
            return damaged(good, rng, self.of_format)
        # the footer says how the rest is to be read
        length = int.from_bytes(good[-8:-4], "little")
        start = len(good) - 8 - length
        bad, how = damaged(good[start:-8], rng, [])
        ended = len(bad).to_bytes(4, "little") if rng.integers(8) else rng.bytes(4)
        return good[:start] + bad + ended + good[-4:], ["footer", *how]

    def compare(self, path, rows, y):
        assert len(y) == rows.shape[0]


class Texts(Rows):
    of_format = [other_word, other_lines]

    def write(self, X):
        sparse = X * (np.abs(X) > 0.5)
        for name, zero_based in (("one.svm", False), ("zero.txt", True)):
            dump_svmlight_file(sparse, LABELS, str(self.folder / name), zero_based=zero_based, comment="rows")
            self.keep(name)
        self.good["rows.svm.gz"] = self.good["rows.bz2"] = self.good["one.svm"]

    def damage(self, name, good, rng):
        pack = {"gz": gzip.compress, "bz2": bz2.compress}.get(name.split(".")[-1])
        if pack is None:
            return super().damage(name, good, rng)
        if rng.integers(2):
            bad, how = super().damage(name, good, rng)
            return pack(bad), ["packed", *how]
        return damaged(pack(good), rng, [])

    def compare(self, path, rows, y):
        if path.suffix in (".svm", ".txt"):
            X, labels = load_svmlight_file(io.BytesIO(path.read_bytes()), n_features=rows.shape[1])
            assert (rows[:] != X).nnz == 0
            np.testing.assert_array_equal(y, labels)

    def use(self, path, rng):
        if rng.integers(2):
            self.model.predict(path)
        else:
            UniSVMClassifier(**SETTINGS).fit(path)


class Broken(BaseException):
    """The end of a run before its result."""


class Checkpoints:
    """A reader of checkpoints; a case is a folder with one file that is damaged, or forged with its checksum."""

    def __init__(self, folder, rng):
        self.X, self.y = np.round(rng.normal(size=(80, 3)), 3), np.arange(80) % 3
        self.folders, self.good = {}, {}
        search = {key: SETTINGS[key] for key in ("rank", "tol", "random_state", "n_jobs")}
        self.estimators = {
            "broken": UniSVMClassifier(**SETTINGS),
            "whole": UniSVMClassifier(**SETTINGS),
            "search": UniSVMClassifierCV(Cs=2, gammas=2, cv=2, **search),
        }
        for name, model in self.estimators.items():
            model.set_params(checkpoint=folder / name)
            self.fit(name, broken=name == "broken")
            for path in sorted((folder / name).glob("*.ckpt")):
                self.good[path] = path.read_bytes()

    def fit(self, name, *, broken=False):
        real = stages.Checkpoint.save, stages._SECONDS_BETWEEN, stages._SHARE

        def save(checkpoint, stage, arrays):
            if stage == "result" and broken:
                raise Broken
            real[0](checkpoint, stage, arrays)

        stages.Checkpoint.save, stages._SECONDS_BETWEEN, stages._SHARE = save, 0, 0
        try:
            return self.estimators[name].fit(self.X, self.y)
        except Broken:
            return None
        finally:
            stages.Checkpoint.save, stages._SECONDS_BETWEEN, stages._SHARE = real

    def case(self, rng):
        for path, good in self.good.items():
            path.write_bytes(good)
        for folder in {path.parent for path in self.good}:
            for path in set(folder.glob("*.ckpt")) - self.good.keys():
                path.unlink()
        path = any_of(rng, list(self.good))
        self.forged = bool(rng.integers(2))
        bad, how = self.forge(self.good[path], rng) if self.forged else damaged(self.good[path], rng, [])
        path.write_bytes(bad)
        self.same = bad == self.good[path]
        return path, [path.parent.name, path.name, *how]

    def forge(self, good, rng):
        """A file with the checksum of what it holds, which is damaged."""
        head = good.index(b"\n") + 1
        if rng.integers(3) == 0:
            bad, how = damaged(good[head:], rng, [])
        else:
            bad, how = self.other_array(good[head:], rng)
        return first_line(file_format.MAGIC, io.BytesIO(bad)) + bad, ["forged", *how]

    def other_array(self, archive, rng):
        """An archive with another array, whose description in the header may be changed as well."""
        with np.load(io.BytesIO(archive), allow_pickle=False) as opened:
            arrays = dict(opened)
        header = json.loads(arrays.pop("meaning").tobytes())
        # known: a number of pairs that is forged with its description and checksum ends in a KeyError of the solver
        names = [name for name in arrays if name != "n_pairs"]
        if names:
            name = any_of(rng, names)
            arrays[name], how = other_values(arrays[name], rng)
            if rng.integers(2):
                header["arrays"] = stages._kinds(arrays)
        else:
            name, how = "meaning", "more"
            header[any_of(rng, list(header))] = any_of(rng, [None, 1, [], "a", {}])
        packed = io.BytesIO()
        np.savez(packed, meaning=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
        return packed.getvalue(), [name, how]

    def read(self, path, rng):
        with file_format.read_file(path) as archive:
            for name in archive.files:
                archive[name]
            header = json.loads(archive["meaning"].tobytes())
        assert self.same or self.forged
        with open_stages(path.parent, lambda: header["identity"], 0) as opened:
            for stage in opened.finished:
                opened.load(stage)

    def names(self, path, message):
        return str(path) in message or repr(str(path.parent)) in message

    def use(self, path, rng):
        try:
            self.fit(path.parent.name)
        except ArithmeticError:
            # known: a matrix of the right shape that has no factor, as its numbers are forged, and no landmarks at all
            assert self.forged
            assert path.name in ("unisvm-gram.ckpt", "unisvm-landmarks.ckpt")
        else:
            assert self.same or self.forged


def other_values(array, rng):
    """An array with entries, or a type or shape, that it should not have, and how it was changed."""
    how = any_of(rng, ["some", "all", "sign", "huge", "type", "shape", "longer", "empty"])
    value = any_of(rng, [np.nan, np.inf, -1.0, 0.0, 1e300, -1e300] if array.dtype.kind == "f" else [0, -1, 10**9, 1])
    other = array.copy()
    if how == "some" and array.size:
        other.flat[rng.integers(array.size)] = value
    elif how == "all" and array.dtype.kind in "iuf":
        other[...] = np.array(value).astype(array.dtype)
    elif how == "sign" and array.dtype.kind in "if":
        other = -other
    elif how == "huge" and array.dtype.kind == "f":
        other = other * 1e200
    elif how == "type":
        other = other.astype(
            any_of(rng, ["S9", "U3"] if array.dtype.kind == "U" else ["f4", "i8", "c16", "U3", "?", "f8"])
        )
    elif how == "shape":
        other = any_of(rng, [other.ravel(), other[None], other.T, np.asfortranarray(other)])
    elif how == "longer" and array.ndim:
        other = np.concatenate([other, other])
    elif how == "empty":
        other = other[:0] if array.ndim else other
    return other, how


READERS = {"npy": Arrays, "parquet": Tables, "libsvm": Texts, "checkpoint": Checkpoints}
