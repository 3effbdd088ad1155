"""Rows and targets in .npz archives of NumPy, and matrices that scipy.sparse.save_npz wrote. Nothing is unpickled."""

from __future__ import annotations

import errno
import math
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from unisvm.io.reading import reading
from unisvm.memory_budget import parse_memory, readable

_ROWS, _TARGETS = ("X", "data", "X_train"), ("y", "target", "y_train")
_SPARSE = {"data", "indices", "indptr", "shape", "format"}
# kinds of NumPy's types
_NUMBERS, _NUMBERS_AND_TEXT = "biuf", "biufUSMm"
# more than deflate can pack a byte into
_MOST_UNPACKED = 1040
_MOST_HEADER_BYTES = 10_000


def read_npz(path: str | os.PathLike, memory_limit: int | float | str | None = None) -> tuple[Any, np.ndarray | None]:
    """The rows and, if there are any, the targets in a .npz file.

    Parameters
    ----------
    path : str or Path
        Of an archive with an array X, data or X_train of shape (n_rows, n_columns), and maybe one y, target or
        y_train; or with a CSR matrix, as scipy.sparse.save_npz writes it.
    memory_limit : int, float, str or None, default=None
        Bytes that the arrays may take, or "4GB", or a share of the machine's memory; all of it when None.

    Returns
    -------
    X : ndarray or csr_array of shape (n_rows, n_columns)
    y : ndarray or None

    Raises
    ------
    ValueError
        For what is no such archive, or is damaged.
    MemoryError
        When the arrays are larger than `memory_limit`.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from unisvm.io.npz import read_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rows.npz")
    ...     np.savez(path, X=np.eye(2), y=[0, 1])
    ...     X, y = read_npz(path)
    >>> X.shape, y
    ((2, 2), array([0, 1]))
    """
    path, limit = Path(path), parse_memory(memory_limit)
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    refused: list[MemoryError] = []
    with reading(path, ".npz file of rows and targets"):
        try:
            with zipfile.ZipFile(path) as archive:
                return _read(_Archive(archive, limit))
        except MemoryError as error:
            refused.append(error)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            raise ValueError("a place in it is none") from error
    raise MemoryError(f"{path}: {refused[0] or 'its arrays do not fit into memory.'}")


def _read(archive: _Archive) -> tuple[Any, np.ndarray | None]:
    names = archive.names
    target = next((name for name in _TARGETS if name in names), None)
    if names >= _SPARSE:
        X: Any = _sparse_rows(archive)
    else:
        rows = next((name for name in _ROWS if name in names), None)
        if rows is None:
            raise ValueError(f"it has no array {_list(_ROWS)}, but {_list(sorted(names)[:10]) or 'none at all'}")
        X = archive.array(rows, _NUMBERS, (2,))
    y = None if target is None else archive.array(target, _NUMBERS_AND_TEXT, (1, 2))
    if y is not None and len(y) != X.shape[0]:
        raise ValueError(f"it has {X.shape[0]} rows, but {len(y)} targets")
    return X, y


def _sparse_rows(archive: _Archive) -> sparse.csr_array:
    kind = archive.array("format", "US", (0,)).item()
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else kind
    if kind != "csr":
        raise ValueError(f"its matrix is in the format {kind!r}, but rows are read from CSR: save X.tocsr()")
    shape = archive.array("shape", "iu", (1,)).tolist()
    if len(shape) != 2 or not (0 <= shape[0] < 2**62 and 0 <= shape[1] < 2**62):
        raise ValueError(f"its matrix has the shape {shape}, where rows and columns were expected")
    data = archive.array("data", _NUMBERS, (1,))
    indices, bounds = archive.array("indices", "iu", (1,)), archive.array("indptr", "iu", (1,))
    if len(bounds) != shape[0] + 1 or len(indices) != len(data):
        raise ValueError(
            f"its matrix of {shape[0]} rows has {len(bounds)} bounds of rows, {len(indices)} indices and {len(data)} "
            "entries"
        )
    if bounds[0] != 0 or bounds[-1] != len(data) or (bounds[1:] < bounds[:-1]).any():
        raise ValueError(f"the bounds of its rows do not rise from 0 to the {len(data)} entries")
    if len(indices) and not (indices.min() >= 0 and indices.max() < shape[1]):
        raise ValueError(f"its indices are from {indices.min()} to {indices.max()}, of {shape[1]} columns")
    # SciPy has no sparse matrices of half precision
    data = data.astype(np.float32) if data.dtype == np.float16 else data
    X = sparse.csr_array((data, indices, bounds), shape=tuple(shape))
    # entries of the same place, as a hostile file may have them, would count twice in some sums and once in others
    X.sum_duplicates()
    return X


class _Archive:
    """Arrays in a zip archive. They are read when their size is known to be that of their part of the file."""

    def __init__(self, archive: zipfile.ZipFile, limit: int | None):
        self._archive, self._left = archive, limit
        self._parts = {part.filename.removesuffix(".npy"): part for part in archive.infolist()}
        if len(self._parts) < len(archive.infolist()):
            raise ValueError("it has two arrays of the same name")

    @property
    def names(self) -> set[str]:
        """Names of the arrays."""
        return set(self._parts)

    def array(self, name: str, kinds: str, n_dimensions: tuple[int, ...]) -> np.ndarray:
        """An array. Raises unless its type is of one of the kinds, and it has so many dimensions."""
        part = self._parts[name]
        if part.flag_bits & 1 or part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is packed or encrypted as NumPy does not do it")
        if part.file_size > _MOST_UNPACKED * part.compress_size:
            raise ValueError(f"{name} cannot unpack from {part.compress_size} to {part.file_size} bytes")
        with self._archive.open(part) as file:
            shape, dtype = self._header(name, file)
            n_header = file.tell()
        if dtype.kind not in kinds or dtype.itemsize == 0 or dtype.subdtype is not None:
            raise ValueError(f"{name} must hold numbers{' or text' if 'U' in kinds else ''}; its type is {dtype}")
        if len(shape) not in n_dimensions:
            expected = " or ".join(map(str, n_dimensions))
            raise ValueError(f"{name} must have {expected} dimensions; its shape is {shape}")
        needed = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or n_header + needed != part.file_size:
            raise ValueError(f"{name} has {part.file_size} bytes, but its header says {dtype} of shape {shape}")
        if self._left is not None:
            if needed > self._left:
                raise MemoryError(
                    f"{name} takes {readable(needed)}, more than the {readable(self._left)} that are left of the "
                    "limit. Give the rows as a .npy file, which need not fit into memory."
                )
            self._left -= needed
        with self._archive.open(part) as file:
            return np.lib.format.read_array(file, allow_pickle=False)

    @staticmethod
    def _header(name: str, file: Any) -> tuple[tuple[int, ...], np.dtype]:
        version = np.lib.format.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"{name} is in version {version} of NumPy's format, where 1 or 2 was expected")
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = header(file, max_header_size=_MOST_HEADER_BYTES)
        return shape, dtype


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
