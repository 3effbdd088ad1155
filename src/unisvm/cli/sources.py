"""Where data come from: files by their kind, and standard input."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from unisvm._checks import one_of
from unisvm.io.libsvm import PACKED

#: kinds of data, by the names that `--format` takes
FORMATS = ("libsvm", "csv", "tsv", "parquet", "npz", "npy")
STDIN = "-"

_SUFFIXES = {
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
    ".npy": "npy",
}
_MAGIC = {b"PAR1": "parquet", b"PK\x03\x04": "npz", b"\x93NUMPY": "npy"}
_PACKED_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2"}
_LIBSVM_LINE = re.compile(rb"[^\s:]+(\s+(qid|\d+):\S+)*\s*(#.*)?")
_LIBSVM_ENTRY = re.compile(rb"\s\d+:\S")
# lines by which the text of LIBSVM is told from other text
_FIRST_LINES, _FIRST_BYTES = 20, 2**16


class Source(NamedTuple):
    """A file to read, its kind, and its name for people."""

    path: Path
    format: str
    name: str


@contextmanager
def open_source(given: str, format: str | None = None) -> Iterator[Source]:
    """The source of data that the user names: a file, a folder of Parquet files, or "-" for standard input.

    Standard input is copied into a temporary file. Errors in the context name it as the user does.
    """
    if format is not None:
        one_of("format", format, FORMATS)
    if given != STDIN:
        path = Path(given)
        if not path.exists():
            raise FileNotFoundError(f"There is no file {given!r}.")
        yield Source(path, format or format_of(path), given)
        return
    with tempfile.TemporaryDirectory(prefix="unisvm-") as folder:
        path = _spooled(Path(folder))
        try:
            yield Source(path, format or format_of(path), "standard input")
        except (ValueError, OSError) as error:
            raise type(error)(str(error).replace(str(path), "standard input")) from error


def _spooled(folder: Path) -> Path:
    """Standard input in a file, whose suffix tells how it is packed."""
    if sys.stdin.isatty():
        raise ValueError("- stands for standard input, which is the keyboard here: give a file, or a pipe.")
    path = folder / "stdin"
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with open(path, "rb") as file:
        start = file.read(4)
    suffix = next((suffix for magic, suffix in _PACKED_MAGIC.items() if start.startswith(magic)), "")
    return path.rename(folder / f"stdin{suffix}")


def format_of(path: Path) -> str:
    """Kind of a file, by its suffix or by how it begins."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    if path.is_dir():
        return "parquet"
    if suffixes and suffixes[-1] in _SUFFIXES:
        return _SUFFIXES[suffixes[-1]]
    try:
        with PACKED.get(path.suffix.lower(), open)(path, "rb") as file:
            start = file.read(_FIRST_BYTES)
    except (OSError, EOFError) as error:
        raise ValueError(f"{path} cannot be unpacked: {error}") from error
    for magic, format in _MAGIC.items():
        if start.startswith(magic):
            return format
    return "libsvm" if _is_libsvm(start) else "csv"


def _is_libsvm(start: bytes) -> bool:
    lines = [line.strip() for line in start.split(b"\n")[:_FIRST_LINES]]
    lines = [line for line in lines if line and not line.startswith(b"#")]
    if len(start) == _FIRST_BYTES and len(lines) < _FIRST_LINES:
        # the last one may be cut
        lines = lines[:-1] or [lines[0].rsplit(None, 1)[0]]
    return any(_LIBSVM_ENTRY.search(line) for line in lines) and all(map(_LIBSVM_LINE.fullmatch, lines))
