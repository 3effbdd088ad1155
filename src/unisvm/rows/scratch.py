"""Matrices that are too large for memory: files without a name, written once and read block by block."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from unisvm.memory_budget import readable


class Scratch:
    """A matrix in a scratch file.

    The file has no name in its folder, so that the system removes it however the process ends. It is read rather than
    mapped: the system's cache of it is not memory of the process.

    Parameters
    ----------
    shape : (int, int)
    dtype : dtype
    folder : str or Path or None
        Where the file is; the system's folder for temporary files when None.
    what, instead : str
        Names of the matrix and of ways out other than another folder, for the message that there is no room.

    Raises
    ------
    OSError
        When there is not enough room.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        dtype: np.dtype,
        folder: str | Path | None = None,
        what: str = "The features",
        instead: str = ", raise memory_limit, or lower rank",
    ):
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self._row_bytes = shape[1] * self.dtype.itemsize
        folder = Path(folder or tempfile.gettempdir())
        with tempfile.TemporaryFile(dir=folder) as file:
            _reserve(file.fileno(), 0, shape[0] * self._row_bytes, folder, what, instead)
            self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._descriptor)
        self._buffers = threading.local()

    def write(self, low: int, rows: np.ndarray) -> None:
        """Put rows at `low` and after."""
        _write(self._descriptor, np.ascontiguousarray(rows, dtype=self.dtype), low * self._row_bytes)

    def mapped(self, *, writeable: bool = False) -> np.ndarray:
        """The matrix as a memory map, which keeps the file when the scratch is gone."""
        with open(os.dup(self._descriptor), "r+b" if writeable else "rb") as file:
            return np.memmap(file, self.dtype, "r+" if writeable else "r", shape=self.shape)

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        """A block of rows, which is good until the thread reads the next one; or rows at these indices."""
        if not isinstance(rows, slice):
            # a mapping would bring in far more than these rows
            chosen = np.empty((len(rows), self.shape[1]), dtype=self.dtype)
            for place, row in enumerate(rows.tolist()):
                self._read(row, chosen[place : place + 1])
            return chosen
        low, high, _ = rows.indices(self.shape[0])
        block = self._buffer(high - low)
        # the next block is on its way while this one is worked on
        _announce(self._descriptor, high * self._row_bytes, block.nbytes)
        return self._read(low, block)

    def _read(self, low: int, block: np.ndarray) -> np.ndarray:
        """Fill a block with the rows at `low` and after."""
        view = block.data.cast("B")
        offset = low * self._row_bytes
        while len(view):
            read = os.preadv(self._descriptor, [view], offset)
            if read == 0:
                raise OSError("The scratch file ended too early: it was changed from outside.")
            view, offset = view[read:], offset + read
        return block

    def _buffer(self, n_rows: int) -> np.ndarray:
        """The thread's own memory for a block."""
        buffer = getattr(self._buffers, "rows", None)
        if buffer is None or len(buffer) < n_rows:
            buffer = self._buffers.rows = np.empty((n_rows, self.shape[1]), dtype=self.dtype)
        return buffer[:n_rows]


class Appended:
    """Numbers that are appended to a scratch file, and mapped in the end.

    Parameters
    ----------
    dtype : dtype
    folder : str or Path or None
        Where the file is; the system's folder for temporary files when None.
    what : str
        Name of the rows that the numbers belong to, for the message that there is no room.
    """

    def __init__(self, dtype: Any, folder: str | Path | None, what: str):
        self.dtype = np.dtype(dtype)
        self._folder = Path(folder or tempfile.gettempdir())
        self._what = what
        self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
        self._size = 0

    def append(self, numbers: np.ndarray) -> None:
        numbers = np.ascontiguousarray(numbers, dtype=self.dtype)
        _reserve(self._file.fileno(), self._size, numbers.nbytes, self._folder, self._what, "")
        _write(self._file.fileno(), numbers, self._size)
        self._size += numbers.nbytes

    def mapped(self) -> np.ndarray:
        """All numbers as a memory map; nothing can be appended any more."""
        with self._file as file:
            # an empty file cannot be mapped
            return np.memmap(file, self.dtype, "r") if self._size else np.empty(0, self.dtype)

    def close(self) -> None:
        self._file.close()


def _write(descriptor: int, numbers: np.ndarray, offset: int) -> None:
    view = numbers.data.cast("B") if numbers.size else memoryview(b"")
    while len(view):
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def _reserve(descriptor: int, offset: int, n_bytes: int, folder: Path, what: str, instead: str) -> None:
    """Have the system set the room aside, so that writing cannot run out of it."""
    free = shutil.disk_usage(folder).free
    no_room = OSError(
        errno.ENOSPC,
        f"{what} need {readable(offset + n_bytes)} in the scratch folder {folder}, where {readable(offset + free)} are "
        f"free. Give another folder as scratch_dir{instead}",
    )
    if n_bytes > free:
        raise no_room
    try:
        if hasattr(os, "posix_fallocate") and n_bytes:
            os.posix_fallocate(descriptor, offset, n_bytes)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise no_room from error


def _announce(descriptor: int, offset: int, n_bytes: int) -> None:
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, offset, n_bytes, os.POSIX_FADV_WILLNEED)
