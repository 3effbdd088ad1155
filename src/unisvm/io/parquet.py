"""Parquet files, and folders of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from unisvm._checks import one_of
from unisvm.rows.mapped import DenseRows, Pages
from unisvm.rows.scratch import Scratch

SUFFIXES = (".parquet", ".pq")

_BLOCK_BYTES = 2**23
# Columns are read through buffers of this size, rather than whole parts of them at once. What is unpacked of a column
# takes some megabytes beside, so that few are read at a time.
_BUFFER_BYTES = 2**18
_COLUMNS_AT_ONCE = 32


def read(path: Path, y: Any, scratch_dir, names: list[str] | None = None) -> tuple[DenseRows, Any]:
    """The rows, in a scratch file, and the targets, in memory.

    Parameters
    ----------
    path : Path
        Of a file, or of a folder whose files are read in the order of their names.
    y
        The name of the targets' column; whatever else it is, it is given back.
    scratch_dir : str or Path or None
    names : list of str, optional
        The columns to read; all but `y` when None.
    """
    pq = _pyarrow()
    paths = _files(path)
    schemas, n_rows = [], 0
    for part in paths:
        with _opened(pq, part) as file:
            schemas.append(file.schema_arrow)
            n_rows += file.metadata.num_rows
    target = _target(y, schemas[0].names, path)
    columns = [name for name in schemas[0].names if name != target] if names is None else names
    for part, schema in zip(paths, schemas, strict=True):
        _check_names(part, schema.names, columns, target, paths[0], strict=names is None)
    if n_rows == 0:
        raise ValueError(f"{path} has no rows.")
    if not columns:
        raise ValueError(f"{path} has no columns for X.")
    if target is None and isinstance(y, np.ndarray | list | tuple) and len(y) != n_rows:
        raise ValueError(f"{path} has {n_rows} rows, but y has {len(y)}.")
    single = [
        _is_single(part, schema.field(name)) for part, schema in zip(paths, schemas, strict=True) for name in columns
    ]
    dtype = np.dtype(np.float32 if all(single) else np.float64)

    scratch = Scratch((n_rows, len(columns)), dtype, scratch_dir, f"The rows of {path}", "")
    targets = _copy(pq, paths, columns, target, scratch)
    return DenseRows(scratch.mapped(), columns, is_finite=True), y if target is None else np.concatenate(targets)


def _copy(pq: Any, paths: list[Path], columns: list[str], target: str | None, scratch: Scratch) -> list[np.ndarray]:
    """Targets, block by block; the other columns of all files are copied to the scratch file."""
    matrix = scratch.mapped(writeable=True)
    pages = Pages.of(matrix)
    length = int(np.clip(_BLOCK_BYTES // (8 * len(columns)), 1, 2**16))
    targets: list[np.ndarray] = []
    start = 0
    for part in paths:
        for first in range(0, len(columns), _COLUMNS_AT_ONCE):
            group = columns[first : first + _COLUMNS_AT_ONCE]
            label = target if first == 0 else None
            low = start
            with _opened(pq, part) as file:
                wanted = group if label is None else [*group, label]
                for batch in file.iter_batches(length, columns=wanted, use_threads=False):
                    block = np.empty((batch.num_rows, len(group)), scratch.dtype)
                    for j, name in enumerate(group):
                        block[:, j] = _values(part, batch, name)
                    _check_finite(part, block, group, low - start)
                    matrix[low : low + len(block), first : first + len(group)] = block
                    if pages is not None:
                        pages.give_back(matrix[low : low + len(block)])
                    low += len(block)
                    if label is not None and len(block):
                        targets.append(_labels(_values(part, batch, label)))
        start = low
    return targets


def _pyarrow():
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("Reading Parquet needs pyarrow: pip install 'unisvm[parquet]'.") from error
    return parquet


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    inside = [part for part in path.rglob("*") if part.suffix.lower() in SUFFIXES and part.name[0] not in "._"]
    if not inside:
        raise ValueError(f"The folder {path} has no .parquet files.")
    deeper = [part for part in inside if part.parent != path]
    if deeper:
        raise ValueError(
            f"The folder {path} has Parquet files in folders of its own, such as {deeper[0]}: give the folder that "
            f"holds the files themselves. Columns that are only in the names of folders are not read."
        )
    return sorted(inside)


def _opened(pq, path: Path):
    from pyarrow import ArrowException

    try:
        return pq.ParquetFile(path, buffer_size=_BUFFER_BYTES)
    except ArrowException as error:
        raise ValueError(f"{path} is no Parquet file: {error}") from error


def _target(y: Any, names: list[str], path: Path) -> str | None:
    """The name of the targets' column, if `y` is one and not the path of a file."""
    if not isinstance(y, str) or (y not in names and y.lower().endswith(".npy")):
        return None
    return one_of(f"column of {path}", y, names)


def _check_names(
    path: Path, names: list[str], columns: list[str], target: str | None, first: Path, *, strict: bool
) -> None:
    """Raise when a file does not have the columns that it must have."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path} has more than one column of the name {twice[0]!r}.")
    wanted = columns if target is None else [*columns, target]
    missing = [name for name in wanted if name not in names]
    further = [name for name in names if name not in wanted] if strict else []
    if not (missing or further):
        return
    whose = f"those of {first}" if strict else "those that the model was fitted on"
    said = [
        f"{what}: {', '.join(map(repr, some[:5]))}" for what, some in (("missing", missing), ("more", further)) if some
    ]
    raise ValueError(f"The columns of {path} are not {whose}; {'; '.join(said)}.")


def _is_single(path: Path, field) -> bool:
    """Whether a column is in single precision. Raises when it does not hold numbers."""
    from pyarrow import types

    kind = field.type
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)):
        raise ValueError(
            f"{path}: the column {field.name!r} does not hold numbers but {kind}. Leave it out of the file, or encode "
            f"it as numbers."
        )
    return types.is_float32(kind)


def _values(path: Path, batch, name: str) -> np.ndarray:
    from pyarrow import types

    column = batch.column(batch.schema.get_field_index(name))
    if column.null_count:
        raise ValueError(f"{path}: the column {name!r} has nulls. Fill them in, or leave such rows or the column out.")
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_decimal(column.type):
        column = column.cast("float64")
    return column.to_numpy(zero_copy_only=False)


def _check_finite(path: Path, block: np.ndarray, columns: list[str], low: int) -> None:
    finite = np.isfinite(block)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise ValueError(
            f"{path}: the column {columns[column]!r} has NaN or infinity in row {low + row}. Fill such values in, or "
            f"leave such rows or the column out."
        )


def _labels(values: np.ndarray) -> np.ndarray:
    # text as NumPy's own takes a fraction of the memory of Python's
    return values.astype(str) if values.dtype == object and isinstance(values[0], str) else values
