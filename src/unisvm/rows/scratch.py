"""Features that are too large for memory: a file without a name, written once and read block by block."""

from __future__ import annotations

import errno
import mmap
import os
import shutil
import tempfile
import threading
import weakref
from pathlib import Path

import numpy as np

from unisvm.rows.budget import readable


class Scratch:
    """A matrix in a scratch file.

    The file has no name in its folder, so that the system removes it however the process ends. It is read rather than
    mapped: what the system keeps of it in its cache is not memory of the process.

    Parameters
    ----------
    shape : (int, int)
    dtype : dtype
    folder : str or Path or None
        Where the file is; the system's folder for temporary files when None.

    Raises
    ------
    OSError
        When there is not enough room.
    """

    def __init__(self, shape: tuple[int, int], dtype: np.dtype, folder: str | Path | None = None):
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self._row_bytes = shape[1] * self.dtype.itemsize
        needed = shape[0] * self._row_bytes
        folder = Path(folder or tempfile.gettempdir())
        free = shutil.disk_usage(folder).free
        if needed > free:
            raise _no_room(folder, needed, free)
        with tempfile.TemporaryFile(dir=folder) as file:
            try:
                _reserve(file.fileno(), needed)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                raise _no_room(folder, needed, free) from error
            self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._descriptor)
        self._buffers = threading.local()

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def write(self, low: int, rows: np.ndarray) -> None:
        """Put rows at `low` and after."""
        view = np.ascontiguousarray(rows, dtype=self.dtype).data.cast("B")
        offset = low * self._row_bytes
        while len(view):
            written = os.pwrite(self._descriptor, view, offset)
            view, offset = view[written:], offset + written

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray:
        """A block of rows, which is good until the thread reads the next one; or rows by their numbers."""
        if not isinstance(rows, slice):
            with mmap.mmap(self._descriptor, 0, access=mmap.ACCESS_READ) as mapped:
                return np.frombuffer(mapped, self.dtype).reshape(self.shape)[rows]
        low, high, _ = rows.indices(self.shape[0])
        block = self._buffer(high - low)
        view = block.data.cast("B")
        offset = low * self._row_bytes
        # the next block is on its way while this one is worked on
        _announce(self._descriptor, offset + len(view), len(view))
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


def _reserve(descriptor: int, n_bytes: int) -> None:
    """Have the system set the room aside, so that writing cannot run out of it."""
    if hasattr(os, "posix_fallocate") and n_bytes:
        os.posix_fallocate(descriptor, 0, n_bytes)


def _announce(descriptor: int, offset: int, n_bytes: int) -> None:
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, offset, n_bytes, os.POSIX_FADV_WILLNEED)


def _no_room(folder: Path, needed: int, free: int) -> OSError:
    return OSError(
        errno.ENOSPC,
        f"The features need {readable(needed)} in the scratch folder {folder}, where {readable(free)} are free. Give "
        f"another folder as scratch_dir, raise memory_limit, or lower rank",
    )
