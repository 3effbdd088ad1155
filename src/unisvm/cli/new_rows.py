"""Rows to predict, in the columns that a model was trained on, whatever file they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from unisvm._validation import expected_columns
from unisvm.cli.data import MATRICES, MOST_ENTRIES, TableOptions, check_numbers, read_rows, whole_numbers
from unisvm.cli.estimators import ENCODER, has_encoder
from unisvm.cli.sources import Source
from unisvm.io import files
from unisvm.io.npz import read_npz
from unisvm.io.parquet_table import column_names
from unisvm.io.table import is_missing
from unisvm.kernels import Scaled
from unisvm.rows.mapped import StoredRows
from unisvm.tables import Table, TableEncoder


class NewRows(NamedTuple):
    """Rows as the model takes them, their targets if the data have these, and columns that are not used."""

    X: Any
    y: np.ndarray | None
    unused: Sequence[str] = ()


def read_new_rows(source: Source, model: Any, options: TableOptions, target: str | None) -> NewRows:
    """The rows of a source for a model.

    Parameters
    ----------
    source : Source
    model : estimator or Pipeline
        Fitted.
    options : TableOptions
        How a table is read; its target goes before that of the training.
    target : str or None
        Name of the targets' column in training.
    """
    takes_tables = has_encoder(model)
    if source.format in MATRICES:
        X, y = _read_matrix(source, model, options, takes_tables=takes_tables)
        return NewRows(_as_table(X, model, source) if takes_tables else _in_the_form_of(X, model, source), y)
    if source.format == "parquet" and not takes_tables:
        name = options.target or (target if target in column_names(source.path) else None)
        X, y, _ = files.open_rows(source.path, name, expected=expected_columns(model))
        y = files.open_beside("--target", y)
        return NewRows(X, None if y is None else whole_numbers(y))
    table = read_rows(source, options)
    if takes_tables:
        # codes such as 012 look like numbers in a file that has no others
        codes = [name for name in _text_columns(model[ENCODER], table) if table[name].dtype != object]
        table = read_rows(source, replace(options, text=codes)) if codes else table
    y, name = None, options.target or target
    if name is not None and (options.target is not None or name in table.names):
        y = _known_targets(table[name])
        table = table.without([name])
    if takes_tables:
        return NewRows(table, y, model[ENCODER].unused_columns(table))
    return NewRows(_as_matrix(table, model, source), y)


def _text_columns(encoder: TableEncoder, table: Table) -> list[str]:
    """Columns of a table that were text in training."""
    pairs = zip(encoder.feature_names_in_, encoder.encodings_, strict=True)
    return [name for name, encoding in pairs if encoding.categories and name in table.names]


def _known_targets(column: np.ndarray) -> np.ndarray | None:
    """The targets; None if all are missing."""
    return None if is_missing(column).all() else whole_numbers(column)


def _read_matrix(source: Source, model: Any, options: TableOptions, *, takes_tables: bool) -> tuple[Any, Any]:
    if source.format == "npz":
        X, y = read_npz(source.path)
    elif source.format == "npy" or takes_tables:
        X, y, _ = files.open_rows(source.path)
    else:
        X, y, _ = files.open_rows(source.path, expected=expected_columns(model))
    check_numbers(X, source)
    if options.target is not None:
        y = files.open_beside("--target", options.target)
    return X, None if y is None else whole_numbers(y)


def _in_the_form_of(X: Any, model: Any, source: Source) -> Any:
    """Sparse rows as an array, for a model whose kernel shifts columns."""
    kernel = getattr(getattr(model, "best_estimator_", model), "kernel_", None)
    shifts = isinstance(kernel, Scaled) and np.any(kernel.centre)
    if not shifts or not (sparse.issparse(X) or (isinstance(X, StoredRows) and sparse.issparse(X[:1]))):
        return X
    if np.prod(X.shape, dtype=float) > MOST_ENTRIES:
        raise ValueError(
            f"The model shifts columns, which would fill in the zeros of {source.name}: train it on sparse rows, or "
            "with --scale minmax or none."
        )
    return X[:].toarray()


def _as_table(X: Any, model: Pipeline, source: Source) -> Table:
    """Rows of numbers as a table with the columns that the encoder knows, in their order."""
    names = list(model.named_steps[ENCODER].feature_names_in_)
    if X.shape[1] != len(names):
        raise ValueError(
            f"{source.name} has {X.shape[1]} columns, but the model was trained on the {len(names)} of a table: "
            f"{', '.join(names[:5])}{', …' if len(names) > 5 else ''}."
        )
    X = X[:] if isinstance(X, StoredRows) else X
    X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    return Table.of(dict(zip(names, X.T, strict=True)), source.name)


def _as_matrix(table: Table, model: Any, source: Source) -> np.ndarray:
    """Columns of a table as numbers, for a model of a matrix: by their names, if the model knows any."""
    known = getattr(model, "feature_names_in_", None)
    names = table.names if known is None else list(known)
    missing = [name for name in names if name not in table.names]
    if missing:
        raise ValueError(f"{source.name} has no column {missing[0]!r}, on which the model was trained.")
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"{source.name} has {len(names)} columns, but the model was trained on {model.n_features_in_}. Name the "
            "column of the targets, if there is one, by --target."
        )
    for name in names:
        if table[name].dtype == object:
            raise ValueError(f"The column {name!r} of {source.name} holds text, but the model was trained on numbers.")
    return np.column_stack([table[name] for name in names])
