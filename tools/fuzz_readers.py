"""Read hostile files: each must be read, or refused by a ValueError or MemoryError with a message.

Anything else, more than five seconds, or more than a gigabyte is a finding: the exit status is 1 then, and the file is
kept.

    python tools/fuzz_readers.py csv|libsvm|npz --seconds 60 [--seed N]
    python tools/fuzz_readers.py csv --seed 0 --first 17 --cases 1      one case, as a finding names it
"""

from __future__ import annotations

import argparse
import bz2
import faulthandler
import gzip
import io
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy import sparse

from unisvm.io import files
from unisvm.io.npz import read_npz
from unisvm.memory_budget import MemoryBudget
from unisvm.tables import TableEncoder, read_table, split_target

MOST_SECONDS = 5
MOST_MEMORY = 2**30
MEMORY = "200MB"

Rng = random.Random

# ------------------------------------------------------------------ damage

HUGE = [-(2**63), -1, 0, 1, 255, 2**16, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**64, 10**30]
WORDS = [
    "nan",
    "inf",
    "-inf",
    "1e999",
    "1e-999",
    "0x1p3",
    "1_0",
    "1,5",
    "٣",
    "1" * 400,
    "1e",
    "+",
    "-0",
    "NA",
    "?",
    '"',
]
WORDS += ['""', '"""', '"a\nb"', '"a', ",", ";", "\t", "|", " ", "\0", "\r", "\r\n", "\n", "\x0b", "\x1c", "\x85"]
WORDS += ["\u2028", "\ufeff", "1:2", "1:2:3", ":", "qid:3", "#", "true", "FALSE", "é", "😀", "ı", "x" * 3000, "\n" * 50]
WORDS += ["\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), ",,,,", "\\", "'", "\\x", "\x1a"]


def some_bytes(rng: Rng, most: int) -> bytes:
    """Bytes of any kind."""
    return rng.randbytes(rng.randint(1, most))


def damaged(rng: Rng, good: bytes) -> bytes:
    """The text with a few damages."""
    for _ in range(rng.choice([0, 0, 1, 1, 1, 2, 3, 8])):
        low = rng.randint(0, len(good))
        high = min(len(good), low + rng.choice([0, 0, 1, 1, 4, 50, 1000]))
        word = rng.choice(WORDS).encode("utf-8", "surrogateescape")
        number = str(rng.choice(HUGE)).encode()
        kinds = [word] * 8 + [number] * 4 + [good[low:high], good[:high], b""] + [some_bytes(rng, 4)]
        good = good[:low] + rng.choice(kinds) + good[high:]
    return good[: rng.randint(0, len(good))] if rng.random() < 0.05 else good


def overwritten(rng: Rng, good: bytes) -> bytes:
    """The bytes with a few others in their places; at times some more or less."""
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        low = rng.choice([rng.randint(0, len(good)), rng.randint(0, min(len(good), 150))])
        number = struct.pack("<Q", rng.choice(HUGE) % 2**64)[: rng.choice([2, 4, 8])]
        digits = str(rng.choice(HUGE)).encode()
        new = rng.choice([number, digits, some_bytes(rng, 4), bytes([rng.randrange(256)])])
        good = good[:low] + new + good[low + rng.choice([len(new)] * 9 + [0]) :]
    return good[: rng.randint(0, len(good))] if rng.random() < 0.05 else good


def packed(rng: Rng, data: bytes) -> bytes:
    """The file, at times packed, and damaged then."""
    kind = rng.choice([None] * 6 + [gzip.compress, bz2.compress])
    if kind is None:
        return data
    data = kind(data, 1)
    return overwritten(rng, data) if rng.random() < 0.3 else data


# ------------------------------------------------------------------ readers


def number(rng: Rng) -> str:
    """A number as people write them."""
    return rng.choice([str(rng.randint(-99, 99)), f"{rng.gauss(0, 1):.3f}", f"{rng.gauss(0, 1):.2e}", "0", "1"])


def table_text(rng: Rng) -> bytes:
    """A table, more or less."""
    shape = rng.choice([(0, 1), (5, 1), (1, 3), (3, 500), (5000, 2), *[(30, 3), (300, 6), (60, 4)] * 3])
    delimiter = rng.choice([",", ",", ";", "\t", "|", " ", "  "])
    end = rng.choice(["\n", "\n", "\r\n"])
    makers: list[Callable[[], str]] = [
        lambda: number(rng),
        lambda: number(rng),
        lambda: rng.choice(["a", "b", "c d", "é"]),
        lambda: rng.choice([number(rng)] * 30 + ["x", "NA", ""]),
        lambda: f'"{rng.choice(["a", "b,c", "d e", "fg"])}"',
        lambda: rng.choice(["true", "False", ""]),
        lambda: f"{rng.getrandbits(40)}x",
        lambda: rng.choice(["1,5", "2,25"]),
    ]
    columns = [rng.choice(makers) for _ in range(shape[1])]
    header = [delimiter.join(f"c{j}" for j in range(shape[1]))] if rng.random() < 0.6 else []
    lines = [*header, *(delimiter.join(make() for make in columns) for _ in range(shape[0]))]
    text = end.join(lines) + rng.choice(["", end])
    return text.encode(rng.choice(["utf-8"] * 20 + ["utf-8-sig", "utf-16", "latin-1"]))


def fuzz_csv(rng: Rng, folder: Path) -> None:
    """Read a table, and encode it."""
    made = rng.random()
    if made < 0.1:
        alphabet = ",,,;\t|\"\n\n\r '0123456789.eE+-NA?ab\0\x85é"
        data = "".join(rng.choice(alphabet) for _ in range(rng.randint(0, 400))).encode()
    elif made < 0.13:
        # much from little
        unit = rng.choice([b"\n", b"\0", b"1\n", b",", b'"', b"a,", b"1", b" \n", b'"\n', b'"",', b'"a\n",'])
        data = gzip.compress(unit * rng.choice([10**4, 10**6]), 1)
    else:
        data = damaged(rng, table_text(rng))
    path = folder / f"case.{rng.choice(['csv', 'tsv', 'txt', 'gz'])}"
    path.write_bytes(packed(rng, data))
    options = {"memory_limit": MEMORY}
    if rng.random() < 0.3:
        options["header"] = rng.random() < 0.5
    if rng.random() < 0.2:
        options["delimiter"] = rng.choice([",", ";", "\t", "|", " "])
    if rng.random() < 0.2:
        options["text"] = [rng.choice(["c0", "column 1"])]
    table = read_table(path, **options)
    assert len(table.columns) == len(table.names) > 0
    assert {len(column) for column in table.columns} == {table.n_rows} == {len(table.lines)}
    encoder = TableEncoder(sparse_output=rng.choice([True, False, "auto"])).fit(table)
    X = encoder.transform(table)
    assert X.shape == (table.n_rows, len(encoder.get_feature_names_out()))
    assert np.isfinite(X.data if sparse.issparse(X) else X).all()
    again = TableEncoder.from_state(encoder.to_state()).transform(table)
    assert (abs(again - X)).sum() == 0
    if len(table.names) > 1:
        split_target(table, rng.choice(["first", "last"]))


def fuzz_libsvm(rng: Rng, folder: Path) -> None:
    """Read the text of LIBSVM, as a fit and as a prediction does."""
    first = rng.randint(0, 1)
    lines = []
    for _ in range(rng.choice([0, 1, 5, 50, 500])):
        indices = sorted(rng.sample(range(first, first + 30), rng.randint(0, 8)))
        lines.append(" ".join([rng.choice(["1", "-1", "+1", "2.5"]), *(f"{i}:{number(rng)}" for i in indices)]))
    data = damaged(rng, "\n".join(lines).encode() + rng.choice([b"", b"\n"]))
    if rng.random() < 0.03:
        unit = rng.choice([b"\n", b"\0", b"1\n", b"1 1:1\n", b"1:", b"1 1:1 ", b"#", b"1 1:1\r"])
        data = gzip.compress(unit * rng.choice([10**4, 10**6]), 1)
        path = folder / "case.svm.gz"
    else:
        path = folder / f"case.{rng.choice(['svm', 'txt', 'svm.gz', 'svm.bz2'])}"
        data = {".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)(data)
        data = overwritten(rng, data) if rng.random() < 0.1 else data
    path.write_bytes(data)
    budget = MemoryBudget.parse(MEMORY)
    expected = files.Expected(30, None, rng.choice([None, 0, 1])) if rng.random() < 0.3 else None
    rows, _, _ = files.open_rows(path, expected=expected, check_columns=lambda most: budget.check_columns(most, 1))
    n_rows = 0
    for block in rows.blocks():
        assert block.shape[1] == rows.shape[1]
        assert np.isfinite(block.data).all()
        n_rows += block.shape[0]
    assert n_rows == rows.shape[0]


def fuzz_npz(rng: Rng, folder: Path) -> None:
    """Read an archive of arrays."""
    n_rows, n_columns = rng.choice([(0, 0), (1, 1), (20, 3), (2000, 4)])
    dtype = rng.choice(["f8", "f4", ">f8", "i2", "u1", "?", "c16", "O", "U3", "S2", "M8[s]", "f2", "V4", "f8,f8"])
    X = np.arange(n_rows * n_columns).reshape(n_rows, n_columns)
    arrays = {
        rng.choice(["X", "data", "X_train", "a/b", ""]): X.astype(rng.choice(["f8", "f4", dtype])),
        rng.choice(["y", "target", "y_train", "X"]): np.arange(n_rows).astype(rng.choice(["f8", "U2", dtype])),
    }
    held = io.BytesIO()
    if rng.random() < 0.3:
        of_sparse = sparse.random_array((20, 5), density=0.3, format=rng.choice(["csr", "csr", "csc", "coo"]))
        sparse.save_npz(held, of_sparse, compressed=rng.random() < 0.5)
        if rng.random() < 0.7:
            with np.load(io.BytesIO(held.getvalue())) as archive:
                arrays = dict(archive)
            name = rng.choice(list(arrays))
            spoilt = arrays[name].copy()
            if spoilt.size and spoilt.dtype.kind in "if":
                spoilt.flat[rng.randrange(spoilt.size)] = rng.choice([-1, 0, 3, 2**31 - 1, 10**6])
            arrays[name] = rng.choice([spoilt, spoilt[None], spoilt.ravel()[:-1]])
            held = io.BytesIO()
            np.savez(held, **arrays)
    elif rng.random() < 0.1:
        np.savez_compressed(held, X=np.zeros((10**6, 30)))
    else:
        rng.choice([np.savez, np.savez_compressed])(held, **arrays)
    data = held.getvalue()
    path = folder / "case.npz"
    path.write_bytes(with_checksums(rng, overwritten(rng, data)) if rng.random() < 0.8 else data)
    X, y = read_npz(path, MEMORY)
    assert len(X.shape) == 2
    assert y is None or len(y) == X.shape[0]
    if sparse.issparse(X):
        assert X.toarray().shape == X.shape if X.shape[0] * X.shape[1] < 10**6 else True


def with_checksums(rng: Rng, data: bytes) -> bytes:
    """The archive, at times with the checksum of the first part as if it were not damaged."""
    if rng.random() < 0.5 or data[:4] != b"PK\x03\x04" or len(data) < 60:
        return data
    size = struct.unpack("<I", data[18:22])[0]
    start = 30 + struct.unpack("<H", data[26:28])[0] + struct.unpack("<H", data[28:30])[0]
    checksum = struct.pack("<I", zlib.crc32(data[start : start + size]))
    directory = data.find(b"PK\x01\x02")
    data = data[:14] + checksum + data[18:]
    return data if directory < 0 else data[: directory + 16] + checksum + data[directory + 20 :]


READERS: dict[str, Callable[[Rng, Path], None]] = {"csv": fuzz_csv, "libsvm": fuzz_libsvm, "npz": fuzz_npz}

# ------------------------------------------------------------------ the run


class TooSlow(BaseException):
    """A case took too long."""


def stop(*_: object) -> None:
    """End a case that takes too long."""
    raise TooSlow(f"more than {MOST_SECONDS} seconds")


def outcome(reader: str, rng: Rng, folder: Path) -> str:
    """ "read" or "refused"; raises for anything else."""
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        READERS[reader](rng, folder)
    except (ValueError, MemoryError) as error:
        if not str(error):
            raise AssertionError("an error without a message") from error
        return "refused"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return "read"


def run_cases(given: argparse.Namespace, folder: Path) -> int:
    """Try cases in this process, and print what came of them. The file of the last one is left in the folder."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, stop)
    counts, started = Counter[str](), perf_counter()
    for case in range(given.first, given.first + given.cases):
        if perf_counter() - started > given.seconds:
            break
        if case == given.first + 20:
            # libraries have been loaded
            with open("/proc/self/statm") as file:
                now = int(file.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (now + MOST_MEMORY, resource.RLIM_INFINITY))
        for old in folder.glob("case.*"):
            old.unlink()
        print(case, file=sys.stderr, flush=True)
        # where the signal does not end it
        faulthandler.dump_traceback_later(4 * MOST_SECONDS, exit=True)
        try:
            counts[outcome(given.reader, Rng(f"{given.seed} {case}"), folder)] += 1
        except BaseException:
            traceback.print_exc()
            return 1
        faulthandler.cancel_dump_traceback_later()
    print(f"{given.reader}: {sum(counts.values())} cases, {dict(counts)}")
    return 0


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", choices=READERS)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=10**9)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.folder is not None:
        return run_cases(given, given.folder)
    with tempfile.TemporaryDirectory() as folder:
        # a child, which a file can end without ending this
        command = [sys.executable, *sys.argv, "--folder", folder]
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace")
        print(ran.stdout, end="")
        if ran.returncode == 0:
            return 0
        said = ran.stderr.splitlines()
        case = next((line for line in reversed(said) if line.isdecimal()), "?")
        for path in Path(folder).glob("case.*"):
            kept = Path(f"finding-{given.reader}-{given.seed}-{case}{''.join(path.suffixes)}")
            shutil.copy(path, kept)
            print(f"{given.reader}, seed {given.seed}, case {case}: the file is kept as {kept}")
        print("\n".join(line for line in said if not line.isdecimal()))
    return 1


if __name__ == "__main__":
    sys.exit(main())
