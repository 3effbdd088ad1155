"""Files that are damaged at random: their rows, or a ValueError or OSError that names the file."""

import bz2
import gzip
import itertools
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unisvm import UniSVMClassifier
from unisvm.io import files

N_TRIALS = 250
X = np.random.RandomState(0).randn(60, 4)
TEXT = "".join(f"{i % 2} 1:{i / 7!r} 3:{i % 5}\n" for i in range(60)).encode()


def parquet(path: Path) -> None:
    table = pd.DataFrame(X, columns=list("abcd")).assign(label=["x", "y"] * 30, whole=np.arange(60))
    table.to_parquet(path, row_group_size=25)


def text_targets(path: Path) -> None:
    np.save(path, np.array(["yes", "no"] * 30))


WRITE = {
    "rows.npy": lambda path: np.save(path, X),
    "columns.npy": lambda path: np.save(path, np.asfortranarray(X.astype(">i2"))),
    "targets.npy": text_targets,
    "rows.parquet": parquet,
    "rows.svm": lambda path: path.write_bytes(TEXT),
    "rows.svm.gz": lambda path: path.write_bytes(gzip.compress(TEXT, mtime=0)),
    "rows.svm.bz2": lambda path: path.write_bytes(bz2.compress(TEXT)),
}


def damaged(good: bytes, rng: np.random.RandomState) -> bytes:
    """The bytes with some flipped, written over, put in, or cut out or off; most of them near an end."""
    bad = bytearray(good)
    for _ in range(rng.randint(1, 4)):
        if not bad:
            break
        near = min(len(bad), 130)
        at = rng.choice([rng.randint(len(bad)), rng.randint(near), len(bad) - 1 - rng.randint(near)])
        kind = rng.choice(["flip", "write", "insert", "cut out", "cut off"])
        if kind == "flip":
            bad[at] ^= 1 << rng.randint(8)
        elif kind == "write":
            bad[at] = rng.randint(256)
        elif kind == "insert":
            bad[at:at] = rng.bytes(rng.randint(1, 9))
        elif kind == "cut out":
            del bad[at : at + rng.randint(1, 20)]
        else:
            del bad[at:]
    return bytes(bad)


def read(path: Path) -> None:
    """Read all of a file as a fit does."""
    if path.name == "targets.npy":
        files.open_beside("y", path)
        return
    rows = files.open_rows(path, "label" if path.suffix == ".parquet" else None).rows
    for _ in rows.blocks():
        pass


@pytest.mark.parametrize("name", WRITE)
def test_damage_at_random(tmp_path, name):
    path = tmp_path / name
    WRITE[name](path)
    read(path)
    good, rng = path.read_bytes(), np.random.RandomState(0)
    refusals = []
    for _ in range(N_TRIALS):
        bad = damaged(good, rng)
        path.write_bytes(bad)
        try:
            with warnings.catch_warnings():
                # of NumPy and of Python's parser, which reads the header of a .npy file
                warnings.simplefilter("ignore")
                read(path)
        except (ValueError, OSError) as error:
            refusals.append(str(error))
    assert [refusal for refusal in refusals if str(path) not in refusal] == []
    assert len(refusals) > N_TRIALS / 4


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (60, 4), ",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (60, 4',), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 4), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000, 4), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-60, 4), }",
        "{'descr': '<f8', 'fortran_order': False, b'shape': (60, 4), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (60, 4), }",
        # the first ended the process by a division by zero, the second took all memory as targets
        "{'descr': '<U0', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '|S0', 'fortran_order': False, 'shape': (1000000000000000,), }",
        "",
    ],
)
@pytest.mark.parametrize("kind", ["rows", "targets"])
@pytest.mark.filterwarnings("ignore")
def test_header_of_an_array(tmp_path, header, kind):
    path = tmp_path / f"{kind}.npy"
    text = header.encode().ljust(117) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + X.tobytes())
    with pytest.raises(ValueError, match=rf"{kind}.npy is no .npy file of numbers or text, or it is damaged: ."):
        read(path)


def test_archive_by_the_name_of_an_array(tmp_path):
    for name in ("rows", "targets"):
        np.savez(tmp_path / f"{name}.npz", X)
        path = (tmp_path / f"{name}.npz").rename(tmp_path / f"{name}.npy")
        with pytest.raises(ValueError, match=rf"{name}.npy is no .npy file"):
            read(path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_array_that_is_not_finite(tmp_path, value):
    bad = X.copy()
    bad[40, 1] = value
    np.save(tmp_path / "good.npy", X)
    np.save(tmp_path / "bad.npy", bad)
    with pytest.raises(ValueError, match=r"Input X in .*bad.npy contains"):
        UniSVMClassifier().fit(tmp_path / "bad.npy", np.arange(60) % 2)
    model = UniSVMClassifier(random_state=0).fit(tmp_path / "good.npy", np.arange(60) % 2)
    with pytest.raises(ValueError, match=r"Input X in .*bad.npy contains"):
        model.predict(tmp_path / "bad.npy")


def test_file_that_the_system_does_not_let_read(tmp_path):
    (tmp_path / "rows.npy").mkdir()
    with pytest.raises(ValueError, match=r"folder .*rows.npy has no .parquet files"):
        read(tmp_path / "rows.npy")
    (tmp_path / "targets.npy").mkdir()
    with pytest.raises(IsADirectoryError, match=r"targets.npy"):
        read(tmp_path / "targets.npy")


@pytest.mark.parametrize(("before", "after"), [(60, 40), (40, 60)])
def test_footer_with_another_number_of_rows(tmp_path, before, after):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": np.arange(1.0, before + 1)}), path, use_dictionary=False)
    good = path.read_bytes()
    # the footer's own, its columns' and its part's, as 64-bit numbers in one byte
    places = [match.start() + 1 for match in re.finditer(rb"\x16" + bytes([2 * before]), good)]
    refusals = []
    for chosen in itertools.product([False, True], repeat=len(places)):
        bad = bytearray(good)
        for place in itertools.compress(places, chosen):
            bad[place] = 2 * after
        path.write_bytes(bad)
        try:
            rows = files.open_rows(path).rows
        except ValueError as error:
            refusals.append(str(error))
        else:
            assert np.concatenate(list(rows.blocks())).all()
    start = f"{path} is no Parquet file, or it is damaged: its "
    assert refusals
    assert all(refusal.startswith(start) for refusal in refusals)


# ------------------------------------------------------------------ the index of a pandas table


@pytest.mark.parametrize("index", [pd.Index(np.arange(60) ** 2), pd.Index(np.arange(60) ** 2, name="id")])
def test_stored_index_is_no_feature(tmp_path, index):
    table = pd.DataFrame(X, columns=list("abcd")).assign(label=["x", "y"] * 30)
    table.to_parquet(tmp_path / "plain.parquet")
    table.set_index(index).to_parquet(tmp_path / "indexed.parquet")
    plain, indexed = (
        UniSVMClassifier(random_state=0).fit(tmp_path / name, "label") for name in ("plain.parquet", "indexed.parquet")
    )
    assert indexed.feature_names_in_.tolist() == list("abcd")
    decisions = [model.decision_function(tmp_path / "indexed.parquet") for model in (plain, indexed)]
    np.testing.assert_array_equal(*decisions)


def test_files_with_and_without_an_index(tmp_path):
    table = pd.DataFrame(X, columns=list("abcd"))
    table.to_parquet(tmp_path / "0.parquet")
    table.set_index(pd.Index(np.arange(60), name="id")).to_parquet(tmp_path / "1.parquet")
    rows = files.open_rows(tmp_path).rows
    assert rows.names == list("abcd")
    assert rows.shape == (120, 4)


def test_index_as_the_target(tmp_path):
    table = pd.DataFrame(X, columns=list("abcd"))
    table.set_index(pd.Index(np.arange(60) % 3, name="kind")).to_parquet(tmp_path / "rows.parquet")
    rows, y, _ = files.open_rows(tmp_path / "rows.parquet", "kind")
    assert rows.names == list("abcd")
    np.testing.assert_array_equal(y, np.arange(60) % 3)
