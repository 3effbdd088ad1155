"""Parquet files, and folders of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from unisvm._checks import one_of
from unisvm.io.reading import reading
from unisvm.rows.mapped import DenseRows, Pages
from unisvm.rows.scratch import Scratch

SUFFIXES = (".parquet", ".pq")

_KIND = "Parquet file"
_BLOCK_BYTES = 2**23
# Columns are read through buffers of this size, rather than whole parts of them at once. What is unpacked of a column
# takes some megabytes beside, so that few are read at a time.
_BUFFER_BYTES = 2**18
_COLUMNS_AT_ONCE = 32


def read(
    path: Path, beside: dict[str, Any], scratch_dir, names: list[str] | None = None
) -> tuple[DenseRows, dict[str, Any]]:
    """The rows, in a scratch file, and what is beside them, in memory.

    Parameters
    ----------
    path : Path
        Of a file, or of a folder whose files are read in the order of their names.
    beside : dict
        The targets ``y`` and ``sample_weight``: names of columns; whatever else they are, they are given back.
    scratch_dir : str or Path or None
    names : list of str, optional
        The columns to read; when None all but those beside them and the index of a pandas table.
    """
    pq = pyarrow_parquet()
    parts = open_parts(pq, path)
    n_rows, first = sum(part.n_rows for part in parts), parts[0]
    given = {role: _column(value, first.schema.names, path) for role, value in beside.items()}
    named = {role: name for role, name in given.items() if name is not None}
    columns = [name for name in first.schema.names if name not in {*named.values(), *first.index_columns}]
    if names is not None:
        columns = names
    for role, name in named.items():
        if name in columns:
            raise ValueError(f"{path}: the model was fitted on the column {name!r}, so that it cannot be {role}.")
    for part in parts:
        _check_names(part, columns, named, first.path, strict=names is None)
    if n_rows == 0:
        raise ValueError(f"{path} has no rows.")
    if not columns:
        raise ValueError(f"{path} has no columns for X.")
    for role, values in beside.items():
        if role not in named and isinstance(values, np.ndarray | list | tuple) and len(values) != n_rows:
            raise ValueError(f"{path} has {n_rows} rows, but {role} has {len(values)}.")
    for part in parts:
        for role, name in named.items():
            _BESIDE[role](part.path, part.schema.field(name))
    single = [_is_single(part.path, part.schema.field(name)) for part in parts for name in columns]
    dtype = np.dtype(np.float32 if all(single) else np.float64)

    scratch = Scratch((n_rows, len(columns)), dtype, scratch_dir, f"The rows of {path}", "")
    found = _copy(pq, parts, columns, list(dict.fromkeys(named.values())), scratch)
    rows = DenseRows(scratch.mapped(), columns, is_finite=True)
    return rows, beside | {role: np.concatenate(found[name]) for role, name in named.items()}


def _copy(
    pq: Any, parts: list[Part], columns: list[str], beside: list[str], scratch: Scratch
) -> dict[str, list[np.ndarray]]:
    """The columns beside the rows, block by block; those of the rows in all files are copied to the scratch file."""
    matrix = scratch.mapped(writeable=True)
    pages = Pages.of(matrix)
    length = int(np.clip(_BLOCK_BYTES // (8 * len(columns)), 1, 2**16))
    found: dict[str, list[np.ndarray]] = {name: [] for name in beside}
    start = 0
    for part in parts:
        for first in range(0, len(columns), _COLUMNS_AT_ONCE):
            group = columns[first : first + _COLUMNS_AT_ONCE]
            kept = beside if first == 0 else []
            low = start
            for batch in _batches(pq, part, [*group, *kept], length):
                block = np.empty((batch.num_rows, len(group)), scratch.dtype)
                for j, name in enumerate(group):
                    block[:, j] = _values(part.path, batch, name)
                _check_finite(part.path, block, group, low - start)
                matrix[low : low + len(block), first : first + len(group)] = block
                if pages is not None:
                    pages.give_back(matrix[low : low + len(block)])
                low += len(block)
                for name in kept if len(block) else []:
                    found[name].append(_labels(_values(part.path, batch, name)))
        start += part.n_rows
    return found


class Part(NamedTuple):
    """A file: its columns, the names of those that are the index of a pandas table, and its number of rows."""

    path: Path
    schema: Any
    index_columns: set[str]
    n_rows: int


def open_parts(pq: Any, path: Path) -> list[Part]:
    """The file, or those of a folder in the order of their names."""
    return [_open_part(pq, part) for part in _files(path)]


def _open_part(pq: Any, path: Path) -> Part:
    with reading(path, _KIND), pq.ParquetFile(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
        index = (schema.pandas_metadata or {}).get("index_columns", [])
        # a dictionary stands for rows that are counted
        names = {name for name in index if isinstance(name, str)}
        groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        if min(groups, default=0) < 0 or sum(groups) != metadata.num_rows:
            raise ValueError(f"its parts have {groups} rows, all of them {metadata.num_rows}")
    return Part(path, schema, names, metadata.num_rows)


def _batches(pq: Any, part: Part, columns: list[str], length: int) -> Iterator[Any]:
    """Some columns of a file, so many rows at a time."""
    left = part.n_rows
    with reading(part.path, _KIND), pq.ParquetFile(part.path, buffer_size=_BUFFER_BYTES) as file:
        for batch in file.iter_batches(length, columns=columns, use_threads=False):
            left -= batch.num_rows
            if left < 0:
                break
            yield batch
        if left != 0:
            raise ValueError(f"its columns do not have the {part.n_rows} rows that it says it has")


def pyarrow_parquet() -> Any:
    """pyarrow's reader and writer of Parquet."""
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


def _column(value: Any, names: list[str], path: Path) -> str | None:
    """The name of a column, if the value is one and not the path of a file."""
    if not isinstance(value, str) or (value not in names and value.lower().endswith(".npy")):
        return None
    return one_of(f"column of {path}", value, names)


def _check_names(part: Part, columns: list[str], beside: dict[str, str], first: Path, *, strict: bool) -> None:
    """Raise when a file does not have the columns that it must have."""
    path, names = part.path, part.schema.names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path} has more than one column of the name {twice[0]!r}.")
    wanted = [*columns, *beside.values()]
    missing = [name for name in wanted if name not in names]
    further = [name for name in names if name not in wanted and name not in part.index_columns] if strict else []
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
    if not _is_number(kind):
        raise ValueError(
            f"{path}: the column {field.name!r} does not hold numbers but {kind}. Leave it out of the file, or encode "
            f"it as numbers."
        )
    return types.is_float32(kind)


def _is_number(kind) -> bool:
    from pyarrow import types

    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)


def _check_target(path: Path, field) -> None:
    """Raise when a column cannot be that of the targets."""
    from pyarrow import types

    kind = field.type.value_type if types.is_dictionary(field.type) else field.type
    is_bytes = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    if is_bytes or types.is_nested(kind) or types.is_time(kind):
        raise ValueError(f"{path}: the column {field.name!r} of the targets does not hold numbers or text but {kind}.")


def _check_weights(path: Path, field) -> None:
    """Raise when a column cannot be that of the weights."""
    if not _is_number(field.type):
        raise ValueError(f"{path}: the column {field.name!r} of sample_weight does not hold numbers but {field.type}.")


#: checks of the columns beside the rows
_BESIDE = {"y": _check_target, "sample_weight": _check_weights}


def _values(path: Path, batch, name: str) -> np.ndarray:
    from pyarrow import types

    column = batch.column(batch.schema.get_field_index(name))
    if column.null_count:
        raise ValueError(f"{path}: the column {name!r} has nulls. Fill them in, or leave such rows or the column out.")
    with reading(path, _KIND):
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
