"""Files that are written whole or not at all, and text on standard output."""

from __future__ import annotations

import os
import sys
import tempfile
from bz2 import BZ2File
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from gzip import GzipFile
from pathlib import Path
from typing import Any, BinaryIO

from unisvm.whole_files import replacing, temporary_beside

STDOUT = "-"

_PACKERS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda file: GzipFile(fileobj=file, mode="wb", mtime=0),
    ".bz2": lambda file: BZ2File(file, "wb"),
}
_BLOCK = 2**20


def check_place(path: str, *inputs: str) -> None:
    """Raise when nothing could be written there, or it would take the place of an input, before any work is done."""
    if path == STDOUT:
        return
    place = Path(path)
    for given in inputs:
        if place.is_file() and Path(given).exists() and place.samefile(given):
            raise ValueError(f"{path} is what is read: it would be overwritten. Give another name to write to.")
    if place.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file.")
    if not place.absolute().parent.is_dir():
        raise FileNotFoundError(f"There is no folder {str(place.absolute().parent)!r} to write {place.name!r} into.")
    if not os.access(place.absolute().parent, os.W_OK) or (place.exists() and not os.access(place, os.W_OK)):
        raise PermissionError(f"{path} cannot be written: permission denied.")


@contextmanager
def written(path: str) -> Iterator[BinaryIO]:
    """The file to write, which takes its name when the context ends well, and is gone otherwise.

    A name that ends in .gz or .bz2 is packed. Standard output, "-", gets all of it at the end; what is no plain file,
    such as /dev/stdout or a named pipe, is written to as it is.
    """
    if path == STDOUT or (Path(path).exists() and not Path(path).is_file()):
        with tempfile.TemporaryFile() as file:
            yield file
            file.seek(0)
            with nullcontext(sys.stdout.buffer) if path == STDOUT else open(path, "wb") as out:
                while block := file.read(_BLOCK):
                    out.write(block)
                out.flush()
        return
    place, temporary = temporary_beside(Path(path))
    packer = _PACKERS.get(place.suffix.lower())
    try:
        with replacing(place, temporary) as file:
            if packer is None:
                yield file
                return
            with packer(file) as packed:
                yield packed
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, path) from error
