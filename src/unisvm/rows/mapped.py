"""Rows that stay in a file: they are read block by block through a memory map, whose pages are given back at once.

Pages of a mapping that were read count as memory of the process until the system wants them back.
"""

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from scipy import sparse

from unisvm.compiled import as_native

_READ_AT_ONCE = 2**24
# Around a page that is read the system may map a large one of 2 MB: so many that are far apart are read at a time.
_FAR_APART = 8


class Pages:
    """The pages of an array that is mapped from a file."""

    def __init__(self, mapped: np.memmap, file: mmap.mmap):
        self._file = file
        self._start = np.frombuffer(file, np.uint8).ctypes.data
        # of a private copy, pages that were written to are nowhere else
        self._can_give_back = mapped.mode != "c" and hasattr(file, "madvise") and hasattr(mmap, "MADV_DONTNEED")

    @classmethod
    def of(cls, array: np.ndarray) -> Pages | None:
        """Pages of an array, or of the one that it is a view of; None when it is in memory."""
        mapped: np.memmap | None = None
        owner: Any = array
        while isinstance(owner, np.ndarray):
            mapped = owner if isinstance(owner, np.memmap) else mapped
            owner = owner.base
        return cls(mapped, owner) if mapped is not None and isinstance(owner, mmap.mmap) else None

    def give_back(self, part: np.ndarray) -> None:
        """Let go of the pages that this part of the array is on; they are read again when they are needed."""
        if not self._can_give_back or part.size == 0:
            return
        first, last = (address - self._start for address in byte_bounds(part))
        first -= first % mmap.PAGESIZE
        self._file.madvise(mmap.MADV_DONTNEED, first, last - first)


class MappedArray:
    """A mapped array whose rows or entries are copied as they are asked for.

    Parameters
    ----------
    array : ndarray
        Mapped from a file.
    dtype : dtype, optional
        Type of the copies; that of the array when None.
    """

    def __init__(self, array: np.ndarray, dtype: np.dtype | None = None):
        self._array = np.asarray(array)
        self._pages = Pages.of(array)
        self._dtype = dtype

    def __getitem__(self, chosen: slice | np.ndarray) -> np.ndarray:
        if not isinstance(chosen, slice):
            low, high = (int(chosen.min()), int(chosen.max()) + 1) if len(chosen) else (0, 0)
            return self._copy(self._array[low:high], chosen - low)
        return self._copy(self._array[chosen], slice(None))

    def _copy(self, part: np.ndarray, chosen: slice | np.ndarray) -> np.ndarray:
        if part.ndim == 2 and abs(part.strides[0]) < abs(part.strides[1]) and part.shape[1] > _FAR_APART:
            # columns that follow each other in the file are far apart as well
            groups = range(0, part.shape[1], _FAR_APART)
            return np.concatenate([self._copy(part[:, j : j + _FAR_APART], chosen) for j in groups], axis=1)
        copy = as_native(np.array(part[chosen], dtype=self._dtype, order="C"))
        if self._pages is not None:
            self._pages.give_back(part)
        return copy


class StoredRows(ABC):
    """A matrix in a file, of which only the rows that are asked for are in memory.

    It has what the algorithms ask of a matrix of rows: ``shape``, ``dtype``, ``X[low:high]`` and ``X[indices]``, which
    are arrays or CSR matrices in memory.

    Attributes
    ----------
    names : list of str or None
        Names of the columns.
    index_base : int or None
        The least index of a column in the file, where it has such.
    entries_a_row : int
        Numbers that a row takes in memory.
    is_finite : bool
        Whether it is known to have neither NaN nor infinity.
    """

    ndim = 2
    shape: tuple[int, int]
    dtype: np.dtype
    entries_a_row: int
    names: list[str] | None = None
    index_base: int | None = None
    is_finite = False

    @abstractmethod
    def _between(self, low: int, high: int) -> Any:
        """The rows from `low` to before `high`."""

    @abstractmethod
    def _some(self, indices: np.ndarray) -> Any:
        """The rows of a few indices."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            return self._entries(*key)
        if isinstance(key, slice):
            low, high, _ = key.indices(self.shape[0])
            return self._between(low, max(low, high))
        indices = np.asarray(key)
        parts = [self._some(part) for part in self._few_at_a_time(indices)]
        return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)

    def _entries(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        entries, low = [], 0
        for part in self._few_at_a_time(rows):
            at = columns[low : low + len(part)]
            entries.append(np.asarray(self._some(part)[np.arange(len(part)), at]).ravel())
            low += len(part)
        return np.concatenate(entries)

    def _few_at_a_time(self, indices: np.ndarray) -> Iterator[np.ndarray]:
        """The indices in parts whose rows can be read without too many pages being mapped for them."""
        length = self._block_length
        for low in range(0, max(len(indices), 1), length):
            part = indices[low : low + length]
            if len(part) <= _FAR_APART or np.ptp(part) < 4 * length:
                yield part
            else:
                yield from (part[first : first + _FAR_APART] for first in range(0, len(part), _FAR_APART))

    @property
    def _block_length(self) -> int:
        return max(1, _READ_AT_ONCE // max(self.entries_a_row * self.dtype.itemsize, 1))

    def blocks(self) -> Iterator[Any]:
        """All rows, one block after the other."""
        for low in range(0, self.shape[0], self._block_length):
            yield self[low : low + self._block_length]

    def take(self, indices: np.ndarray) -> StoredRows:
        """Rows at these indices, still in the file."""
        return _Subset(self, indices)


class DenseRows(StoredRows):
    """The rows of a mapped array: float32 stays as it is, other numbers become float64 as they are read.

    Parameters
    ----------
    array : ndarray
        Mapped from a file, of shape (n_rows, n_columns) and any type of numbers.
    names : list of str, optional
    is_finite : bool
    """

    def __init__(self, array: np.ndarray, names: list[str] | None = None, *, is_finite: bool = False):
        self.shape = array.shape
        self.dtype = np.dtype(np.float32 if array.dtype == np.float32 else np.float64)
        self.entries_a_row = self.shape[1]
        self.names = names
        self.is_finite = is_finite or array.dtype.kind in "iub"
        self._array = MappedArray(array, self.dtype)

    def _between(self, low: int, high: int) -> Any:
        return self._array[low:high]

    def _some(self, indices: np.ndarray) -> Any:
        return self._array[indices]


class SparseRows(StoredRows):
    """The rows of a CSR matrix whose three arrays are mapped.

    Parameters
    ----------
    entries, indices, bounds : ndarray
        The CSR arrays data, indices and indptr; the indices of a row are rising.
    n_columns : int
    index_base : {0, 1}
        The index of the first column.
    """

    is_finite = True

    def __init__(self, entries: np.ndarray, indices: np.ndarray, bounds: np.ndarray, n_columns: int, index_base: int):
        self._data, self._indices, self._bounds = MappedArray(entries), MappedArray(indices), MappedArray(bounds)
        self.shape = (len(bounds) - 1, n_columns)
        self.dtype = np.dtype(entries.dtype)
        self.entries_a_row = -(-len(entries) // max(self.shape[0], 1))
        self.index_base = index_base

    def _between(self, low: int, high: int) -> Any:
        bounds = self._bounds[low : high + 1]
        part = slice(bounds[0], bounds[-1])
        return self._matrix(self._data[part], self._indices[part], bounds - bounds[0])

    def _some(self, indices: np.ndarray) -> Any:
        starts, ends = self._bounds[indices], self._bounds[indices + 1]
        bounds = np.concatenate([[0], np.cumsum(ends - starts)])
        places = np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], ends - starts)
        return self._matrix(self._data[places], self._indices[places], bounds)

    def _matrix(self, entries: np.ndarray, indices: np.ndarray, bounds: np.ndarray) -> sparse.csr_matrix:
        # CSR matrices whose indices are 32 bits wide are multiplied faster
        indices = (indices - self.index_base).astype(np.int32, copy=False)
        bounds = bounds.astype(np.int32 if bounds[-1] < 2**31 else np.int64, copy=False)
        matrix = sparse.csr_matrix((entries, indices, bounds), shape=(len(bounds) - 1, self.shape[1]))
        matrix.has_canonical_format = True
        return matrix


class _Subset(StoredRows):
    """Some of the rows, in their order."""

    def __init__(self, rows: StoredRows, indices: np.ndarray):
        self._rows = rows
        self._indices = indices
        self.shape = (len(indices), rows.shape[1])
        self.dtype, self.entries_a_row = rows.dtype, rows.entries_a_row
        self.names, self.index_base, self.is_finite = rows.names, rows.index_base, rows.is_finite

    def _between(self, low: int, high: int) -> Any:
        return self._rows[self._indices[low:high]]

    def _some(self, indices: np.ndarray) -> Any:
        return self._rows[self._indices[indices]]


def take_rows(X: Any, indices: np.ndarray) -> Any:
    """Rows of X at these indices: in memory if X is, else in its file."""
    return X.take(indices) if isinstance(X, StoredRows) else X[indices]
