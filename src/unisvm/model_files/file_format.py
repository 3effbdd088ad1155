"""The file format of models: a line with a checksum, a line of JSON, and arrays as they are in memory.

docs/model_files.md describes it for readers in other languages. Arrays are not compressed, so that none takes more
memory than the file has bytes. A file is written under a temporary name and renamed when all of it is on the disk.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from unisvm._version import __version__
from unisvm.model_files.decoding import check_entries, read_shape, read_type
from unisvm.model_files.encoding import type_code
from unisvm.whole_files import first_line_bytes, write_whole

FORMAT = 1
MAGIC = b"unisvm model %d " % FORMAT
#: arrays begin at multiples of this from the beginning of the file
ALIGNMENT = 64
#: Most bytes of the line of JSON. As Python's objects it takes up to 25 times as many.
MOST_JSON_BYTES = 2**25
_BLOCK_BYTES = 2**16
_ANY_FORMAT = re.compile(rb"unisvm model ([0-9]{1,9}) ")
_HEADER_TYPES = {"unisvm": str, "summary": dict, "extra": dict, "model": dict, "arrays": list}


class Contents(NamedTuple):
    """What a file says: the entries of its JSON, and its arrays."""

    header: dict[str, Any]
    arrays: list[np.ndarray]


# ------------------------------------------------------------------ write


def check_path(path: Any) -> Path:
    """The path that a model is to be written to; raises when it cannot be, before any work is done."""
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise TypeError(f"path must be the path of a file, as a str or Path; got {path!r}.")
    # what a link names is written, and not over the link
    found = Path(os.path.realpath(path))
    if found.exists() and not found.is_file():
        raise IsADirectoryError(f"path must be that of a file, but {str(path)!r} is a folder or a device.")
    if not found.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(found.parent)!r} to save {str(path)!r} in: make it first.")
    if not os.access(found.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"The model cannot be saved to {str(path)!r}: its folder is not writable.")
    return found


def header_line(header: dict[str, Any], arrays: Sequence[np.ndarray]) -> bytes:
    """The line of JSON, filled up with blanks so that the arrays begin where they may.

    Raises
    ------
    ValueError
        If it would be too long to be read.
    """
    described = [
        {"type": type_code(array.dtype), "shape": list(array.shape), "order": _order(array)} for array in arrays
    ]
    text = json.dumps(header | {"arrays": described}, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-(first_line_bytes(MAGIC) + len(text) + 1) % ALIGNMENT) + b"\n"
    if len(text) > MOST_JSON_BYTES:
        raise ValueError(f"it takes {len(text)} bytes beside its arrays, more than {MOST_JSON_BYTES}")
    return text


def write(path: Path, line: bytes, arrays: Sequence[np.ndarray]) -> None:
    """Write a model file as a whole; the file that was there before stays as it is until then."""

    def write_rest(file: BinaryIO) -> None:
        file.write(line)
        for array in arrays:
            file.write(bytes(-file.tell() % ALIGNMENT))
            little = np.asarray(array, dtype=array.dtype.newbyteorder("<"))
            in_order = np.ascontiguousarray(little.T if _order(array) == "F" else little)
            file.write(in_order.reshape(-1).view(np.uint8).data if array.size else b"")
        file.flush()
        with suppress(FileNotFoundError):
            shutil.copymode(path, temporary)

    temporary = path.with_name(f".unisvm-{uuid.uuid4().hex[:12]}.tmp")
    try:
        write_whole(path, temporary, MAGIC, write_rest)
    except OSError as error:
        raise OSError(
            error.errno,
            f"{error.strerror}, when a model was saved to {str(path)!r}. What was there before is as it was: make "
            "room, or save to another folder",
        ) from error


def _order(array: np.ndarray) -> str:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


# ------------------------------------------------------------------ read


def read(path: Any) -> Contents:
    """The contents of a model file, which have been compared with its checksum.

    Whoever made the file may have computed the checksum, and so nothing is relied on that is not checked here or by
    `decoding`. All of the file is in memory once, and the arrays are parts of it.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be the path of a file, as a str or Path; got {path!r}.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise IsADirectoryError(f"path must be that of a model file, but {str(path)!r} is a folder or a device.")
    with open(path, "rb") as file:
        start = file.read(first_line_bytes(MAGIC))
        _check_format(path, start)
        data = _aligned(os.fstat(file.fileno()).st_size)
        file.seek(0)
        with refused(path):
            if file.readinto(data.data) != len(data) or file.read(1):
                raise ValueError("it was changed while it was read")
    with refused(path):
        return _parse(data)


def _check_format(path: Any, start: bytes) -> None:
    """Raise for a file that is none of this format, with a word about what it may be."""
    if (found := _ANY_FORMAT.match(start)) is None:
        advice = "unisvm.save writes model files."
        if start.startswith(b"unisvm checkpoint"):
            advice = "It is the checkpoint of a fit: give its folder as checkpoint= to the same fit."
        elif start.startswith((b"\x80", b"PK", b"x\x9c", b"\x1f\x8b")):
            advice = "It may be of pickle, joblib or skops: load it with these, if you trust whoever made it."
        raise ValueError(f"{str(path)!r} is no model file of unisvm. {advice}")
    if int(found[1]) > FORMAT:
        raise ValueError(
            f"The model file {str(path)!r} is of format {int(found[1])}, and unisvm {__version__} reads format "
            f"{FORMAT}: upgrade unisvm."
        )


@contextmanager
def refused(path: Any, written_by: str = __version__) -> Iterator[None]:
    """Have any error say that the file is damaged, and what to do."""
    try:
        yield
    except MemoryError:
        # a file takes a few times as much as it is long
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else error
        advice = "Get another copy of it, or save the model again."
        if written_by != __version__:
            advice = f"It was written by unisvm {written_by:.40}, and this is {__version__}: if that is newer, upgrade."
        raise ValueError(f"The model file {str(path)!r} is damaged: {reason}. {advice}") from error


def _aligned(n_bytes: int) -> np.ndarray:
    """Room for so many bytes, from an address that is a multiple of the alignment."""
    room = np.empty(n_bytes + ALIGNMENT, dtype=np.uint8)
    start = -room.ctypes.data % ALIGNMENT
    return room[start : start + n_bytes]


def _parse(data: np.ndarray) -> Contents:
    n_first = first_line_bytes(MAGIC)
    checksum = hashlib.sha256(data[n_first:].data).hexdigest().encode()
    if data[:n_first].tobytes() != MAGIC + checksum + b"\n":
        raise ValueError("its checksum is not that of its contents")
    line = data[n_first : _end_of_line(data, n_first)].tobytes()
    header = json.loads(line.decode("ascii"), object_pairs_hook=_unique, parse_constant=_no_constant)
    if not isinstance(header, dict) or header.keys() != _HEADER_TYPES.keys():
        raise ValueError("its entries are none that are written")
    for name, kind in _HEADER_TYPES.items():
        if not isinstance(header[name], kind):
            raise ValueError(f"its entry {name} is no {kind.__name__}")
    return Contents(header, _read_arrays(data, n_first + len(line) + 1, header["arrays"]))


def _end_of_line(data: np.ndarray, start: int) -> int:
    """Place of the first end of a line after a place; raises when there is none for a long way."""
    end = min(len(data), start + MOST_JSON_BYTES)
    for low in range(start, end, _BLOCK_BYTES):
        ends = np.flatnonzero(data[low : min(low + _BLOCK_BYTES, end)] == ord("\n"))
        if len(ends):
            return low + int(ends[0])
    raise ValueError("it has no line of JSON")


def _read_arrays(data: np.ndarray, place: int, described: list[Any]) -> list[np.ndarray]:
    """The arrays, one after the other from `place` on, to the end of the data."""
    arrays = []
    for entry in described:
        if not isinstance(entry, dict) or entry.keys() != {"type", "shape", "order"}:
            raise ValueError("an array is not described as those that are written")
        dtype, shape = read_type(entry["type"]), read_shape(entry["shape"], len(data))
        if entry["order"] not in ("C", "F"):
            raise ValueError(f"there is no order {entry['order']!r:.80} of arrays")
        begin = place + -place % ALIGNMENT
        place = begin + math.prod(shape) * dtype.itemsize
        if place > len(data):
            raise ValueError("it ends before its arrays do")
        array = data[begin:place].view(dtype).reshape(shape, order=entry["order"])
        check_entries(array)
        arrays.append(array.astype(dtype.newbyteorder("="), copy=False))
    if place != len(data):
        raise ValueError(f"it has {len(data) - place} bytes after its arrays")
    return arrays


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("its JSON has a name twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"its JSON has {name}, which is no JSON")
