"""Files that are written whole or not at all, and text on standard output."""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
from bz2 import BZ2File
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

STDOUT = "-"

_PACKERS: dict[str, Any] = {".gz": gzip.GzipFile, ".bz2": BZ2File}


def check_place(path: str) -> None:
    """Raise when nothing could be written there, before any work is done."""
    if path == STDOUT:
        return
    place = Path(path)
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
            out = sys.stdout.buffer if path == STDOUT else open(path, "wb")
            while block := file.read(2**20):
                out.write(block)
            out.flush()
        return
    place = Path(path).resolve()
    descriptor, temporary = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with open(descriptor, "wb") as file:
            packer = _PACKERS.get(place.suffix.lower())
            if packer is None:
                yield file
            else:
                with packer(file, "wb") as packed:
                    yield packed
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, place.stat().st_mode if place.exists() else 0o666 & ~_umask())
        os.replace(temporary, place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
