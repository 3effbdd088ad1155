"""`unisvm convert`: data in another form, and models as ONNX."""

from __future__ import annotations

import csv
import io
import shlex
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from scipy import sparse

from unisvm._warnings import FitWarning
from unisvm.cli import output
from unisvm.cli.data import MATRICES, MOST_ENTRIES, Data, TableOptions, read_matrix, read_rows
from unisvm.cli.estimators import ENCODER, MACHINE, has_encoder
from unisvm.cli.messages import Messages
from unisvm.cli.sources import Source, open_source
from unisvm.io.libsvm import PACKED
from unisvm.io.parquet_table import write_table
from unisvm.model_files import load
from unisvm.onnx_export import to_onnx
from unisvm.rows.mapped import StoredRows
from unisvm.tables import Table, split_target

# endings of text, which may be packed
_TEXT = (".svm", ".libsvm", ".csv", ".tsv")
_BLOCK = 20_000


class Converted(NamedTuple):
    """Data to write: columns by their names, or a matrix with targets."""

    source: Source
    table: Table | None
    X: Any
    y: np.ndarray | None
    target: str | None


def convert(given: str, format: str | None, options: TableOptions, out: str, messages: Messages) -> None:
    """Write data, or a model, in the form that the ending of `out` says."""
    output.check_place(out, given)
    suffix = form_of(out)
    if suffix == ".onnx":
        model = load(given)
        if has_encoder(model):
            raise ValueError(
                f"{given} takes tables, whose encoder has no form in ONNX. Its machine has: in Python, "
                f"model = unisvm.load({given!r}); unisvm.to_onnx(model[{MACHINE!r}], {out!r}), for rows that "
                f"model[{ENCODER!r}].transform has encoded."
            )
        to_onnx(model, out)
        messages.say(f"{out}, {Path(out).stat().st_size:,} bytes")
        return
    if suffix not in WRITERS:
        raise _no_form(out, ".onnx")
    with open_source(given, format) as source, messages.collected_warnings():
        data = _read(source, options)
        with output.written(out) as file:
            WRITERS[suffix](data, file)
    n_rows = data.table.n_rows if data.table is not None else data.X.shape[0]
    messages.say(f"{out}, {n_rows:,} rows")


def form_of(out: str) -> str:
    """Ending of a name that says what to write, without that of packed text."""
    suffixes = [suffix.lower() for suffix in Path(out).suffixes]
    if len(suffixes) > 1 and suffixes[-1] in PACKED and suffixes[-2] in _TEXT:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def check_form(out: str) -> None:
    """Raise when the ending of a name is that of no form of data."""
    if form_of(out) not in WRITERS:
        raise _no_form(out)


def _no_form(out: str, *others: str) -> ValueError:
    forms = ", ".join([*WRITERS, *others])
    return ValueError(f"{out}: the ending must be one of {forms}; .gz or .bz2 may follow one of text.")


def _read(source: Source, options: TableOptions) -> Converted:
    if source.format in MATRICES:
        data: Data = read_matrix(source, options, None)
        X = data.X[:] if isinstance(data.X, StoredRows) else data.X
        return Converted(source, None, X, data.y, None)
    table = read_rows(source, options)
    for name in table.names:
        column = table[name]
        if column.dtype != object and (np.abs(column) >= 2**53).any():
            warnings.warn(
                f"The column {name!r} of {source.name} has numbers beyond 2⁵³, which are rounded. If they are "
                f"names, keep them as they are by --text {shlex.quote(name)}.",
                FitWarning,
                stacklevel=2,
            )
    return Converted(source, table, None, None, options.target)


def _as_table(data: Converted) -> Table:
    """All columns by their names, the target last."""
    if data.table is not None:
        return data.table
    if sparse.issparse(data.X) and np.prod(data.X.shape, dtype=float) > MOST_ENTRIES:
        raise ValueError(
            f"{data.source.name} has {data.X.shape[0]:,} × {data.X.shape[1]:,} entries, most of them zeros: "
            "convert it to .npz, which leaves zeros out."
        )
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    columns = {f"column {j + 1}": X[:, j] for j in range(X.shape[1])}
    if data.y is not None:
        columns["target"] = data.y
    return Table.of(columns, data.source.name)


def _as_matrix(data: Converted) -> tuple[Any, np.ndarray | None]:
    """A matrix of numbers, and the targets."""
    if data.table is None:
        return data.X, data.y
    table, y = split_target(data.table, data.target)
    for name in table.names:
        if table[name].dtype == object:
            raise ValueError(
                f"The column {name!r} of {data.source.name} holds text, which this form has no place for: convert to "
                ".csv or .parquet, or train on the table itself, which encodes it."
            )
    X = np.column_stack([table[name] for name in table.names])
    if np.isnan(X).any():
        row, column = np.argwhere(np.isnan(X))[0]
        raise ValueError(
            f"{table.place(row)}: the column {table.names[column]!r} is missing, which this form cannot say."
        )
    return X, y


# ------------------------------------------------------------------ forms


def _write_libsvm(data: Converted, file: BinaryIO) -> None:
    X, y = _as_matrix(data)
    if y is None:
        raise ValueError(
            f"{data.source.name} has no targets, with which every row of LIBSVM's form begins: give --target."
        )
    if y.dtype.kind in "OUS":
        raise ValueError(
            f"The targets of {data.source.name} are text, such as {str(y[0])!r}: LIBSVM's form has numbers only."
        )
    rows = sparse.csr_array(X)
    for low in range(0, rows.shape[0], _BLOCK):
        block, labels = rows[low : low + _BLOCK], y[low : low + _BLOCK].tolist()
        pairs = zip(block.indices.tolist(), block.data.tolist(), strict=True)
        entries, ends = [f" {j + 1}:{_shortest(value)}" for j, value in pairs], pairwise(block.indptr.tolist())
        of_rows = zip(labels, ends, strict=True)
        lines = [f"{_shortest(label)}{''.join(entries[slice(*bounds)])}\n" for label, bounds in of_rows]
        file.write("".join(lines).encode())


def _write_delimited(data: Converted, file: BinaryIO, delimiter: str = ",") -> None:
    table = _as_table(data)
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.names)
    for low in range(0, table.n_rows, _BLOCK):
        some = (column[low : low + _BLOCK].tolist() for column in table.columns)
        writer.writerows(zip(*map(_fields, some), strict=True))
    # the file stays open
    text.detach()


def _fields(column: list[Any]) -> list[Any]:
    """Entries as CSV has them: whole numbers without a point, nothing where one is missing."""
    return ["" if entry is None or entry != entry else _shortest(entry) for entry in column]


def _shortest(entry: Any) -> Any:
    is_whole = isinstance(entry, float) and entry.is_integer() and 0 < abs(entry) < 2**53
    return int(entry) if is_whole or (entry == 0 and str(entry) == "0.0") else entry


def _write_parquet(data: Converted, file: BinaryIO) -> None:
    write_table(_as_table(data), file)


def _write_npz(data: Converted, file: BinaryIO) -> None:
    X, y = _as_matrix(data)
    arrays: dict[str, Any] = {} if y is None else {"y": y.astype(str) if y.dtype == object else y}
    if sparse.issparse(X):
        X = sparse.csr_array(X)
        arrays |= {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
        np.savez_compressed(file, format=np.array("csr"), **arrays)
    else:
        np.savez_compressed(file, X=X, **arrays)


def _write_tsv(data: Converted, file: BinaryIO) -> None:
    _write_delimited(data, file, "\t")


#: writers of data, by the endings of names
WRITERS: dict[str, Callable[[Converted, BinaryIO], None]] = {
    ".svm": _write_libsvm,
    ".libsvm": _write_libsvm,
    ".csv": _write_delimited,
    ".tsv": _write_tsv,
    ".parquet": _write_parquet,
    ".npz": _write_npz,
}
