"""The text of LIBSVM and SVMlight, a row a line: ``<label> <index>:<value> <index>:<value> …``."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from unisvm.rows.mapped import SparseRows
from unisvm.rows.scratch import Appended

#: how packed text is opened
PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}

_CHUNK_BYTES = 2**22
# of a line, which is some eight million entries: text of this length without an end of line is none of LIBSVM's
_MAX_LINE_BYTES = 2**27


class _Refused(ValueError):
    """A line that can be read, but not used."""


def read(
    path: Path,
    scratch_dir,
    n_features: int | None = None,
    index_base: int | None = None,
    check_columns: Callable[[int], None] | None = None,
    *,
    with_labels: bool = True,
) -> tuple[SparseRows, np.ndarray]:
    """The rows, in scratch files, and the labels, in memory.

    Parameters
    ----------
    path : Path
    scratch_dir : str or Path or None
    n_features : int, optional
        How many columns a model knows. When None, as many as the largest index says.
    index_base : {0, 1}, optional
        The index of the first column. When None it is 0 if that index occurs, else 1, as in scikit-learn.
    check_columns : callable, optional
        Raises MemoryError for more columns than a fit has memory for.
    with_labels : bool
        Otherwise they are passed over.
    """
    what = f"The rows of {path}"
    labels: list[np.ndarray] = []
    least, most, n_rows, n_entries = np.inf, -1, 0, 0

    parse = partial(
        _parse, n_features=n_features, index_base=index_base, check_columns=check_columns, with_labels=with_labels
    )
    with ExitStack() as stack:
        entries, indices, bounds = (
            stack.enter_context(closing(Appended(dtype, scratch_dir, what)))
            for dtype in (np.float64, np.int32, np.int64)
        )
        bounds.append(np.zeros(1))
        for X, y in _parsed(path, parse):
            entries.append(X.data)
            indices.append(X.indices)
            bounds.append(X.indptr[1:] + np.int64(n_entries))
            n_rows += len(y)
            n_entries += X.nnz
            if with_labels:
                labels.append(y)
            if X.nnz:
                least, most = min(least, X.indices.min()), max(most, X.indices.max())
        if n_rows == 0:
            raise ValueError(f"{path} has no rows.")
        base = int(0 < least < np.inf) if index_base is None else index_base
        n_columns = max(int(most) + 1 - base, 1)
        if n_features is not None and n_columns > n_features:
            raise ValueError(
                f"{path} has the index {most}, and indices that count from {base}, but the model was fitted on "
                f"{n_features} features."
            )
        rows = SparseRows(entries.mapped(), indices.mapped(), bounds.mapped(), n_features or n_columns, base)
    return rows, np.concatenate([np.empty(0), *labels])


def _parse(
    text: bytes,
    n_features: int | None,
    index_base: int | None,
    check_columns: Callable[[int], None] | None,
    with_labels: bool,
) -> tuple[Any, np.ndarray]:
    """Rows and labels of some lines. Raises ValueError for what `read` may not use; its parameters are those."""
    from sklearn.datasets import load_svmlight_file

    if text.count(b"\r") > text.count(b"\r\n"):
        raise _Refused("it has a carriage return (CR) without a line feed (LF): end the lines with LF or CRLF")
    if b"\0" in text:
        raise _Refused("it has a byte of zeros, as no text has")
    if len(text) > _MAX_LINE_BYTES and b"\n" not in text:
        raise _Refused(f"it does not end within {_MAX_LINE_BYTES} bytes")
    X, y = load_svmlight_file(io.BytesIO(text), zero_based=True)
    if not np.isfinite(X.data).all():
        raise _Refused("it has a value that is NaN or infinite")
    if with_labels and not np.isfinite(y).all():
        raise _Refused("its label is NaN or infinite")
    if X.nnz == 0:
        return X, y
    most = int(X.indices.max())
    if index_base == 1 and X.indices.min() == 0:
        raise _Refused("it has the index 0, but in the file of the fit indices count from 1")
    # as long as the base is not known, the indices may count from 1
    if n_features is not None and most > n_features - 1 + (1 if index_base is None else index_base):
        raise _Refused(f"it has the index {most}, but the model was fitted on {n_features} features")
    if check_columns is not None:
        try:
            check_columns(most)
        except MemoryError as error:
            raise _Refused(f"it has the index {most}, and {str(error).removesuffix('.')}") from None
    return X, y


def _parsed(path: Path, parse: Callable[[bytes], Any]) -> Iterator[Any]:
    """Results of `parse` for each chunk of lines."""
    n_lines = 0
    with PACKED.get(path.suffix.lower(), open)(path, "rb") as file:
        for text in _chunks(path, file):
            try:
                yield parse(text)
            except (ValueError, OverflowError):
                _tell_line(path, io.BytesIO(text).readlines(), n_lines, parse)
                raise
            n_lines += text.count(b"\n")


def _chunks(path: Path, file: BinaryIO) -> Iterator[bytes]:
    """The file in parts that end where a line does, or in a line that `_parse` refuses."""
    rest: list[bytes] = []
    while True:
        try:
            text = file.read(_CHUNK_BYTES)
        except (OSError, EOFError, zlib.error) as error:
            if path.suffix.lower() not in PACKED:
                raise
            raise ValueError(f"{path} cannot be unpacked: {error}") from error
        if not text:
            break
        end = text.rfind(b"\n") + 1
        if end:
            yield b"".join([*rest, text[:end]])
            rest = []
        rest.append(text[end:])
        # no line that is read has one of these within, or is so long: there is no need to look for its end
        if b"\r" in rest[-1][:-1] or b"\0" in rest[-1] or sum(map(len, rest)) > _MAX_LINE_BYTES:
            break
    if any(rest):
        yield b"".join(rest)


def _tell_line(path: Path, lines: list[bytes], n_before: int, parse: Callable[[bytes], Any]) -> None:
    """Raise for the first line that cannot be parsed."""
    low, high = 0, len(lines)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            parse(b"".join(lines[low:middle]))
            low = middle
        except (ValueError, OverflowError):
            high = middle
    try:
        parse(lines[low])
    except _Refused as error:
        raise ValueError(f"{path}, line {n_before + low + 1}: {error}.") from None
    except (ValueError, OverflowError) as error:
        start = lines[low][:60].decode("utf-8", "replace").rstrip()
        raise ValueError(
            f"{path}, line {n_before + low + 1}: {start!r} is not '<label> <index>:<value> <index>:<value> ...' with "
            f"whole indices that rise: {error}"
        ) from None
