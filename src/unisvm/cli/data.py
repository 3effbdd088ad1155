"""Training data from a source: rows, targets and weights, whatever file they come from."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from unisvm._warnings import FitWarning
from unisvm.cli.sources import Source
from unisvm.io import files
from unisvm.io.npz import read_npz
from unisvm.io.parquet_table import column_names, holds_only_numbers
from unisvm.io.parquet_table import read_table as read_parquet_table
from unisvm.losses.base import CLASSIFICATION
from unisvm.rows.mapped import StoredRows
from unisvm.tables import Table, guess_task, read_table, split_target
from unisvm.tables.targets import target_name, usual_targets

# how people write a tab in a shell
_TABS = {"\\t": "\t", "tab": "\t"}
# a matrix of zeros is not filled in beyond so many entries
MOST_ENTRIES = 2 * 10**8
# rows that are looked at together
_BLOCK = 10_000
#: kinds of files that hold a matrix of numbers; the others hold tables
MATRICES = ("libsvm", "npz", "npy")


@dataclass(frozen=True)
class TableOptions:
    """How text is read as a table, and which of its columns mean what.

    Attributes
    ----------
    target : str or None
        Column of the targets, or the path of a .npy file of them.
    weights : str or None
        Column of the weights.
    header : bool or None
        Whether the first line has the names of the columns; found out when None.
    delimiter : str or None
        Found out when None.
    text : sequence of str
        Columns that are text whatever they hold.
    drop_unlabelled : bool
        Whether rows without a target are left out.
    ignore : sequence of str
        Columns that are left out.
    """

    target: str | None = None
    weights: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    text: Sequence[str] = ()
    drop_unlabelled: bool = False
    ignore: Sequence[str] = ()


@dataclass
class Data:
    """Rows with what is known of them.

    Attributes
    ----------
    source : Source
    X : ndarray, CSR matrix, StoredRows or Table
    y : ndarray or None
    weights : ndarray or None
    target : str or None
        Name of the targets' column.
    """

    source: Source
    X: Any
    y: Any = None
    weights: np.ndarray | None = None
    target: str | None = None

    @property
    def is_table(self) -> bool:
        """Whether the columns have to be encoded as numbers."""
        return isinstance(self.X, Table)

    @property
    def is_sparse(self) -> bool:
        """Whether most entries are zeros that are not stored."""
        return sparse.issparse(self.X) or (isinstance(self.X, StoredRows) and sparse.issparse(self.X[:1]))

    @property
    def n_rows(self) -> int:
        return self.X.n_rows if isinstance(self.X, Table) else self.X.shape[0]

    @property
    def n_columns(self) -> int:
        return len(self.X.names) if isinstance(self.X, Table) else self.X.shape[1]

    def take(self, rows: np.ndarray) -> Any:
        """Some of the rows, in memory."""
        return take_rows(self.X, rows)

    def sample(self, n: int) -> np.ndarray:
        """Indices of about `n` rows, evenly spaced, or of all."""
        return np.unique(np.linspace(0, self.n_rows - 1, min(n, self.n_rows)).astype(int))


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Rows of X by their indices, in memory."""
    return X.take_rows(rows) if isinstance(X, Table) else X[rows]


def read_training_data(source: Source, options: TableOptions, scratch_dir: str | None = None) -> Data:
    """Rows with targets, and weights if a column of these is named."""
    if holds_matrix(source, options):
        data = read_matrix(source, options, scratch_dir)
    else:
        data = split_table(source, read_rows(source, options), options)
    if data.y is None:
        raise ValueError(f"{source.name} has no targets: name their column by --target, or give a file that has them.")
    return data


def holds_matrix(source: Source, options: TableOptions) -> bool:
    """Whether a source is read as a matrix of numbers, and not as a table."""
    return source.format in MATRICES or (source.format == "parquet" and _is_matrix(source, options))


def _is_matrix(source: Source, options: TableOptions) -> bool:
    """Whether a Parquet file holds only numbers beside its target."""
    if options.drop_unlabelled or options.ignore:
        return False
    target = options.target
    return holds_only_numbers(source.path, target or _one_of(usual_targets(column_names(source.path))))


def _one_of(names: list[str]) -> str | None:
    return names[0] if len(names) == 1 else None


def read_rows(source: Source, options: TableOptions) -> Table:
    """The table of a source of any kind but matrices, with all of its columns."""
    if source.format == "parquet":
        return read_parquet_table(source.path, source.name)
    delimiter = _TABS.get(options.delimiter or "", options.delimiter) or ("\t" if source.format == "tsv" else "auto")
    header: bool | str = "auto" if options.header is None else options.header
    return read_table(source.path, header=header, delimiter=delimiter, name=source.name, text=options.text)


def read_matrix(source: Source, options: TableOptions, scratch_dir: str | None) -> Data:
    """The data of a source that holds a matrix."""
    of_tables: dict[str, Any] = {"--ignore": options.ignore, "--text": options.text, "--header": options.header}
    of_tables |= {"--drop-unlabelled": options.drop_unlabelled, "--delimiter": options.delimiter}
    of_tables |= {"--no-header": options.header is False}
    for option, given in of_tables.items():
        if given and source.format != "parquet":
            raise ValueError(f"{option} is for tables of text, and {source.name} is {source.format}.")
    if source.format == "parquet":
        names = column_names(source.path)
        target = options.target or _one_of(usual_targets(names))
        if target is None:
            raise ValueError(
                f"Say which column of {source.name} is the target, by --target: it has {', '.join(names[:20])}."
            )
        X, y, weights = files.open_rows(source.path, target, options.weights, scratch_dir=scratch_dir)
        y, weights = files.open_beside("--target", y), files.open_beside("--weights", weights)
        return Data(source, X, whole_numbers(y), weights, target if target in names else None)
    if source.format == "npz":
        X, y = read_npz(source.path)
    else:
        X, y, _ = files.open_rows(source.path, scratch_dir=scratch_dir)
    if options.target is not None:
        y = files.open_beside("--target", options.target)
    check_numbers(X, source)
    return Data(source, X, whole_numbers(y), files.open_beside("--weights", options.weights))


def check_numbers(X: Any, source: Source) -> None:
    """Raise for the first entry of a matrix that is missing or infinite; LIBSVM's text has none once it is read."""
    if source.format == "libsvm":
        return
    for low in range(0, X.shape[0], _BLOCK):
        block = X[low : low + _BLOCK]
        is_finite = np.isfinite(block.data if sparse.issparse(block) else block)
        if is_finite.all():
            continue
        at = np.argwhere(~is_finite)[0].tolist()
        if sparse.issparse(block):
            at = [int(np.searchsorted(block.indptr, at[0], side="right")) - 1, int(block.indices[at[0]])]
        raise ValueError(
            f"{source.name}: the entry of row {low + at[0]}, column {at[1]} is missing or infinite. Fill such entries "
            "in, or give a table (CSV or Parquet), whose missing entries become medians."
        )


def split_table(source: Source, table: Table, options: TableOptions) -> Data:
    """The columns of a table as rows, targets and weights."""
    table, weights = table.without(options.ignore), None
    target = target_name(table, options.target)
    rest, y = split_target(table, target, missing="drop" if options.drop_unlabelled else "error")
    if options.weights is not None:
        weights = rest[options.weights]
        if weights.dtype == object:
            raise ValueError(f"The column {options.weights!r} of {source.name} must hold weights, but it holds text.")
        rest = rest.without([options.weights])
    _warn_of_counters(rest)
    return Data(source, rest, y, weights, target)


def _warn_of_counters(table: Table) -> None:
    """Warn of columns that only count the rows, as the index of a pandas table does."""
    for name in table.names:
        column = table[name]
        if column.dtype != object and len(column) > 2 and (np.diff(column) == 1).all() and column[0] in (0, 1):
            warnings.warn(
                f"The column {name!r} of {table.source} only counts the rows. Leave it out by --ignore "
                f"{shlex.quote(name)}, unless it means something.",
                FitWarning,
                stacklevel=2,
            )


def whole_numbers(y: Any) -> Any:
    """Targets as integers, if they are whole: labels read as they were written then."""
    if not isinstance(y, np.ndarray) or y.dtype.kind != "f" or not np.isfinite(y).all():
        return y
    return y.astype(np.int64) if (np.abs(y) < 2**53).all() and (y == np.rint(y)).all() else y


def task_of(data: Data, asked: str | None) -> str:
    """The task that was asked for, or the one that the targets look like."""
    return asked or guess_task(data.y)


def check_labels(data: Data, task: str) -> None:
    """Raise when the targets cannot be those of the task."""
    if task == CLASSIFICATION and len(np.unique(data.y)) < 2:
        raise ValueError(
            f"All rows of {data.source.name} have the label {str(data.y[0])!r}: a classifier needs two classes."
        )
    if task != CLASSIFICATION and np.asarray(data.y).dtype.kind in "OUS":
        raise ValueError(
            f"The targets of {data.source.name} are text, such as {str(data.y[0])!r}: use --task classification."
        )
