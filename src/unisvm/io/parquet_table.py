"""Parquet files as tables of numbers and text, read and written."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unisvm.io.parquet import open_parts, pyarrow_parquet
from unisvm.io.reading import reading
from unisvm.io.table import Table

_KIND = "Parquet file"


def column_names(path: Path) -> list[str]:
    """Names of the columns, without the index of a pandas table."""
    first = open_parts(pyarrow_parquet(), path)[0]
    names = [name for name in first.schema.names if name not in first.index_columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{first.path} has more than one column of the name {twice[0]!r}.")
    return names


def holds_only_numbers(path: Path, target: str | None) -> bool:
    """Whether all columns but the target are numbers, of which none is missing as far as the file tells."""
    from pyarrow import types

    pq = pyarrow_parquet()
    for part in open_parts(pq, path):
        for field in part.schema:
            if field.name == target or field.name in part.index_columns:
                continue
            if not (types.is_integer(field.type) or types.is_floating(field.type) or types.is_decimal(field.type)):
                return False
        if _has_nulls(pq, part.path, {target, *part.index_columns}):
            return False
    return True


def _has_nulls(pq: Any, path: Path, others: set[str | None]) -> bool:
    """Whether a column has nulls, or does not say."""
    with reading(path, _KIND):
        metadata = pq.read_metadata(path)
        for i in range(metadata.num_row_groups):
            group = metadata.row_group(i)
            for j in range(group.num_columns):
                column = group.column(j)
                if column.path_in_schema in others:
                    continue
                statistics = column.statistics
                if statistics is None or not statistics.has_null_count or statistics.null_count > 0:
                    return True
    return False


def read_table(path: Path, name: str) -> Table:
    """The table in a Parquet file, or in the files of a folder.

    Parameters
    ----------
    path : Path
    name : str
        Of the source, for messages.
    """
    pq = pyarrow_parquet()
    parts = open_parts(pq, path)
    names = column_names(path)
    n_rows = sum(part.n_rows for part in parts)
    if n_rows == 0 or not names:
        raise ValueError(f"{name} has {n_rows} rows and {len(names)} columns; at least one of each was expected.")
    pieces: list[list[np.ndarray]] = []
    for part in parts:
        missing = [column for column in names if column not in part.schema.names]
        if missing:
            raise ValueError(f"{part.path} has no column {missing[0]!r}, which {parts[0].path} has.")
        with reading(part.path, _KIND), pq.ParquetFile(part.path) as file:
            read = file.read(columns=names)
            if read.num_rows != part.n_rows:
                raise ValueError(f"it has {read.num_rows} rows, and says that it has {part.n_rows}")
        pieces.append([_column(part.path, column, read.column(column)) for column in names])
    columns = []
    for column, arrays in zip(names, zip(*pieces, strict=True), strict=True):
        if len({array.dtype for array in arrays}) > 1:
            raise ValueError(f"The column {column!r} of {name} is numbers in some files, and text in others.")
        columns.append(np.concatenate(arrays))
    return Table(names, columns, n_rows, True, name, range(n_rows), unit="row")


def _column(path: Path, name: str, column: Any) -> np.ndarray:
    """A column as numbers with NaN for nulls, or as text with None; truth values and dates are text."""
    import pyarrow as pa
    from pyarrow import types

    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_dictionary(column.type):
        column = column.cast(kind)
    if (
        types.is_nested(kind)
        or types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_fixed_size_binary(kind)
    ):
        raise ValueError(f"{path}: the column {name!r} holds {kind}; numbers or text were expected.")
    with reading(path, _KIND):
        if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
            return column.cast(pa.float64(), safe=False).to_numpy().astype(np.float64)
        if types.is_null(kind):
            return np.full(len(column), np.nan)
        text = np.empty(len(column), dtype=object)
        # truth values as Python, and so pandas in CSV, writes them
        entries = column.to_pylist() if types.is_boolean(kind) else column.cast(pa.string()).to_pylist()
        text[:] = [entry if entry is None else str(entry) for entry in entries]
        return text


def write_table(table: Table, file: BinaryIO) -> None:
    """Write a table as Parquet; missing entries are nulls."""
    import pyarrow as pa

    arrays = [
        pa.array(column, from_pandas=True) if column.dtype != object else pa.array(column.tolist(), pa.string())
        for column in table.columns
    ]
    pyarrow_parquet().write_table(pa.table(arrays, names=table.names), file)
