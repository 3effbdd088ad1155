"""Rows and targets from files: .npy, Parquet, and the text of LIBSVM.

A .npy file is mapped where it is. Parquet and text are read in a stream, block by block into scratch files that are
mapped then, so that they are never in memory as a whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unisvm.io import libsvm, parquet
from unisvm.io.reading import reading
from unisvm.rows.mapped import DenseRows, Pages, StoredRows

# surely not the text of LIBSVM, whose files have all kinds of suffixes
_OTHER_KINDS = re.compile(
    r"\.(csv|tsv|npz|jsonl?|h5|hdf5|feather|arrow|orc|avro|pkl|pickle|joblib|xlsx?|ods|mat|arff|zip|tar|tgz|7z|xz|zst)"
)
# kinds of NumPy's types that a .npy file of targets may have
_TARGETS = "biufUMm"
_READ = ".npy, .parquet, a folder of .parquet files, or the text of LIBSVM (.svm, .libsvm, .txt; also .gz or .bz2)"


class Expected(NamedTuple):
    """Columns that a model was fitted on: their number, and their names and the least index in its file, if any."""

    n_features: int
    names: list[str] | None
    index_base: int | None


class Opened(NamedTuple):
    """Rows in files, and what is beside them: targets and weights as they were given, or as the file has them."""

    rows: StoredRows
    y: Any
    sample_weight: Any


def is_path(given: Any) -> bool:
    """Whether it is the path of a file, rather than numbers."""
    return isinstance(given, str | os.PathLike)


def stored(X) -> StoredRows | None:
    """Rows that are in a file already, or an array that is mapped from one; None for what is in memory."""
    if isinstance(X, StoredRows):
        return X
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "biuf" or Pages.of(X) is None:
        return None
    return DenseRows(X)


def open_rows(
    given: str | os.PathLike,
    y: Any = None,
    sample_weight: Any = None,
    *,
    scratch_dir=None,
    expected: Expected | None = None,
    with_labels: bool = True,
    check_columns: Callable[[int], None] | None = None,
) -> Opened:
    """The rows of a file or folder, their targets and their weights.

    Parameters
    ----------
    given : str or Path
    y
        The targets, or the name of their column in a Parquet file; when None, those of a LIBSVM file.
    sample_weight
        The weights, or the name of their column in a Parquet file.
    scratch_dir : str or Path, optional
        The folder for scratch files; the system's folder for temporary files when None.
    expected : Expected, optional
        Columns that the rows must have.
    with_labels : bool, default=True
        Whether labels of a LIBSVM file are read.
    check_columns : callable, optional
        Raises MemoryError for more columns than a fit has memory for.
    """
    path = Path(given)
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {str(path)!r}.")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] in libsvm.PACKED
    suffix = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
    if path.is_dir() or (suffix in parquet.SUFFIXES and not packed):
        names = None if expected is None else expected.names
        rows, beside = parquet.read(path, {"y": y, "sample_weight": sample_weight}, scratch_dir, names)
        return Opened(rows, **beside)
    if suffix == ".npy" and not packed:
        return Opened(DenseRows(_matrix(path)), y, sample_weight)
    if _OTHER_KINDS.fullmatch(suffix) or suffix == ".npy" or suffix in parquet.SUFFIXES:
        raise ValueError(f"{path}: files of this kind are not read. Give {_READ}.")
    n_features, index_base = (None, None) if expected is None else (expected.n_features, expected.index_base)
    text, labels = libsvm.read(
        path, scratch_dir, n_features, index_base, check_columns, with_labels=with_labels and y is None
    )
    return Opened(text, labels if with_labels and y is None else y, sample_weight)


def open_beside(role: str, values: Any) -> Any:
    """The targets or weights, as `role` says: those in a .npy file if its path is given."""
    if not is_path(values):
        return values
    path = Path(values)
    if path.suffix.lower() != ".npy":
        raise ValueError(
            f"{role} must be an array, the path of a .npy file, or, where X is a Parquet file, the name of a column; "
            f"got {str(values)!r}."
        )
    if not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    found = _mapped(path)
    if found.ndim not in (1, 2):
        raise ValueError(f"{path}: {role} must have one dimension, or two; its shape is {found.shape}.")
    if found.dtype.kind not in _TARGETS:
        raise ValueError(f"{path}: {role} must hold numbers, text or times; its type is {found.dtype}.")
    return np.array(found)


def _matrix(path: Path) -> np.ndarray:
    array = _mapped(path)
    if array.ndim != 2:
        raise ValueError(f"{path}: X must have two dimensions, rows and columns; its shape is {array.shape}.")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{path}: X must hold numbers; its type is {array.dtype}.")
    return array


def _mapped(path: Path) -> np.ndarray:
    """The array in a .npy file. Mapping it takes no memory, whatever shape the file claims to have."""
    with reading(path, ".npy file of numbers or text"):
        with open(path, "rb") as file:
            is_first = np.lib.format.read_magic(file) == (1, 0)
            header = np.lib.format.read_array_header_1_0 if is_first else np.lib.format.read_array_header_2_0
            shape, _, dtype = header(file)
        # of entries without a byte, a map has any number, and one of a negative length divides by zero in NumPy
        if dtype.itemsize == 0 or min(shape, default=0) < 0:
            raise ValueError(f"its header says that it holds {dtype} of shape {shape}")
        return np.lib.format.open_memmap(path, mode="r")
