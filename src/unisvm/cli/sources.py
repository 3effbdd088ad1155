"""Where data come from: files by their kind, and standard input."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

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

    Standard input and pipes are copied into a temporary file. Errors in the context name the source as the user does.
    """
    if format is not None:
        one_of("format", format, FORMATS)
    if given != STDIN and not Path(given).exists():
        raise FileNotFoundError(f"There is no file {given!r}.")
    name = "standard input" if given == STDIN else given
    with tempfile.TemporaryDirectory(prefix="unisvm-") as folder:
        path = _file_of(given, Path(folder))
        kind = format or format_of(path)
        # LIBSVM's text is read whatever it is called
        is_told = _kind_by_suffix(path) == kind or (kind == "libsvm" and format is None)
        if not path.is_dir() and not is_told:
            path = _under_its_kind(path, kind, Path(folder))
        try:
            yield Source(path, kind, name)
        except (ValueError, OSError) as error:
            if str(path) not in str(error) or str(path) == name:
                raise
            raise type(error)(str(error).replace(str(path), name)) from error


def _file_of(given: str, folder: Path) -> Path:
    """The file itself, or a copy in a folder of what can be read only once."""
    if given != STDIN:
        path = Path(given)
        if path.is_file() or path.is_dir():
            return path
        with open(path, "rb") as stream:
            return _spooled(stream, folder)
    if sys.stdin.isatty():
        raise ValueError("- stands for standard input, which is the keyboard here: give a file, or a pipe.")
    return _spooled(sys.stdin.buffer, folder)


def _spooled(stream: BinaryIO, folder: Path) -> Path:
    """A copy of a stream, whose suffix tells how it is packed."""
    path = folder / "stream"
    with open(path, "wb") as file:
        shutil.copyfileobj(stream, file)
    with open(path, "rb") as file:
        start = file.read(4)
    suffix = next((suffix for magic, suffix in _PACKED_MAGIC.items() if start.startswith(magic)), "")
    return path.rename(folder / f"stream{suffix}")


def _under_its_kind(path: Path, kind: str, folder: Path) -> Path:
    """Another name of a file, with the suffix of its kind, by which it is read."""
    packed = path.suffix.lower() if path.suffix.lower() in PACKED else ""
    suffix = next(suffix for suffix, other in _SUFFIXES.items() if other == kind)
    link = folder / f"data{suffix}{packed}"
    try:
        link.symlink_to(path.resolve())
    except OSError:
        # not every system lets everybody make links
        shutil.copyfile(path, link)
    return link


def _kind_by_suffix(path: Path) -> str | None:
    """Kind of a file by its suffix; None if that tells none."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return _SUFFIXES.get(suffixes[-1]) if suffixes else None


def format_of(path: Path) -> str:
    """Kind of a file, by its suffix or by how it begins."""
    if path.is_dir():
        return "parquet"
    by_suffix = _kind_by_suffix(path)
    if by_suffix is not None:
        return by_suffix
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
    lines = [line.strip() for line in start.split(b"\n")]
    if len(start) == _FIRST_BYTES:
        # the last one may be cut
        lines[-1] = lines[-1].rpartition(b" ")[0]
    lines = [line for line in lines if line and not line.startswith(b"#")][:_FIRST_LINES]
    return any(_LIBSVM_ENTRY.search(line) for line in lines) and all(map(_LIBSVM_LINE.fullmatch, lines))
