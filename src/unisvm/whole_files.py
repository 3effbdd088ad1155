"""Files that are there as a whole or not at all, and those whose first line has the checksum of the others."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

#: length of a SHA-256 checksum in hexadecimal digits
DIGITS = 64


def first_line(magic: bytes, rest: Any) -> bytes:
    """The first line of a file whose other lines come next in `rest`: the magic text and their SHA-256 checksum."""
    return magic + hashlib.file_digest(rest, "sha256").hexdigest().encode() + b"\n"


def first_line_bytes(magic: bytes) -> int:
    """Length of the first line."""
    return len(magic) + DIGITS + 1


def temporary_beside(path: Path) -> tuple[Path, Path]:
    """The file that a name leads to, and another name in its folder that nobody else uses."""
    place = path.resolve()
    return place, place.with_name(f".{place.name}.{uuid4().hex}.tmp")


@contextmanager
def replacing(path: Path, temporary: Path) -> Iterator[BinaryIO]:
    """Context with a file in the place of `temporary`, which becomes `path` at the end, or is gone after an error."""
    try:
        with open(temporary, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


def write_whole(path: Path, temporary: Path, magic: bytes, write: Callable[[BinaryIO], None]) -> None:
    """Write a file that is there as a whole or not at all, even if the power fails.

    Parameters
    ----------
    path : Path
    temporary : Path
        Where it is written first, in the same folder; nothing is left there.
    magic : bytes
        The beginning of the first line.
    write : callable
        Writes all that comes after the first line.
    """
    with replacing(path, temporary) as file:
        # the checksum is filled in at last, so that no copy of the contents is needed for it
        n_bytes = first_line_bytes(magic)
        file.write(bytes(n_bytes))
        write(file)
        file.seek(n_bytes)
        line = first_line(magic, file)
        file.seek(0)
        file.write(line)


def flush_folder(folder: Path) -> None:
    """Have the system write down the names in a folder, where it lets one ask for it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
