"""The file format of checkpoints.

A file is a line with the checksum of the rest, which is an npz archive. It is written under a temporary name and
renamed when all of it is on the disk, so that it is whole or not there. Nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from unisvm.whole_files import first_line, first_line_bytes, write_whole

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows, where two fits at once are not noticed
    fcntl = None  # type: ignore[assignment]

MAGIC = b"unisvm checkpoint 1 "
_LOCK = "unisvm-lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Have the folder, made if it is not there, to oneself. The system takes the lock back however the process ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / _LOCK, "ab") as file:
        if fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RuntimeError(
                    f"Another fit is using the checkpoint {str(folder)!r}. Give each fit a folder of its own."
                ) from None
        yield


@contextmanager
def read_file(path: Path) -> Iterator[Any]:
    """The npz archive in a file, read as it is asked for.

    Raises when a bit of the file is not as it was written, and for whatever goes wrong with what is read from it: a
    file can be forged with its checksum.
    """
    with open(path, "rb") as file, refused(path):
        if file.read(first_line_bytes(MAGIC)) != first_line(MAGIC, file):
            raise ValueError("its checksum is not that of its contents")
        file.seek(first_line_bytes(MAGIC))
        with np.load(file, allow_pickle=False) as archive:
            yield archive


@contextmanager
def refused(path: Path) -> Iterator[None]:
    """Have any error say that the file is damaged, and what to do."""
    try:
        yield
    except Exception as error:
        reason = f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else error
        raise ValueError(
            f"The checkpoint file {str(path)!r} is damaged: {reason}. Delete it, and the fit goes on from the stage "
            "before; if that is refused too, give another folder."
        ) from error


def write_file(path: Path, contents: dict[str, Any]) -> None:
    """Write a file that is there as a whole or not at all, even if the power fails."""
    try:
        write_whole(path, temporary_path(path), MAGIC, lambda file: np.savez(file, **contents))
    except OSError as error:
        raise OSError(
            error.errno,
            f"{error.strerror}, when a stage of the fit was written to the checkpoint {str(path.parent)!r}. The stages "
            "before are kept: make room there, and the same call goes on from them; or give another folder",
        ) from error


def temporary_path(path: Path) -> Path:
    return path.with_name(path.name + ".tmp")
