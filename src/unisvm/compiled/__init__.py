"""Sweeps, and what kernels are made of, in compiled code. Where it was not built, NumPy and SciPy do it, more slowly.

The environment variable ``UNISVM_COMPILED=0`` turns it off.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from unisvm.losses.base import Loss

try:
    from unisvm.compiled import _sweeps  # type: ignore[attr-defined]
except ImportError:
    _sweeps = None
if os.environ.get("UNISVM_COMPILED") == "0":
    _sweeps = None

#: forms of losses, in the order in which the compiled code numbers them
_FORMS = ("parabolas", "softplus", "saturating", "logarithm", "biweight")
# a line of the cache
_BYTES_OF_PANEL = 64
# shorter rows fill no vector
_LEAST_WIDTH = 8


def is_available() -> bool:
    """Whether sweeps are compiled here.

    Examples
    --------
    >>> from unisvm import compiled
    >>> compiled.is_available() in (True, False)
    True
    """
    return _sweeps is not None


class Known(NamedTuple):
    """The losses of some columns as the compiled code knows them.

    Attributes
    ----------
    table : ndarray of int64 of shape (n_losses, 3)
        The form of each, how many columns it has, and how many parameters.
    parameters : ndarray
        Those of all losses.
    """

    table: np.ndarray
    parameters: np.ndarray


def known(runs: Sequence[tuple[Loss, slice]]) -> Known | None:
    """The losses of runs of columns for `sweep`; None if it does not compute one of them, or so many columns."""
    table: list[tuple[int, int, int]] = []
    parameters: list[float] = []
    for loss, columns in runs:
        if loss.form is None:
            return None
        table.append((_FORMS.index(loss.form.name), columns.stop - columns.start, len(loss.form.parameters)))
        parameters.extend(loss.form.parameters)
    if not _takes(sum(n_columns for _, n_columns, _ in table)):
        return None
    return Known(np.array(table, dtype=np.int64).reshape(-1, 3), np.array(parameters, dtype=np.float64))


def sweep(
    losses: Known | None,
    features: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    dual: np.ndarray,
    intercept: np.ndarray,
    margins: bool,
    gradients: np.ndarray,
    sums: np.ndarray,
    places: np.ndarray,
) -> bool:
    """Add what rows do to the gradients of columns, and to those of their intercepts and to their risks.

    False if nothing was done, since NumPy must do it.

    Parameters
    ----------
    losses : Known or None
    features : ndarray of shape (n_rows, n_features)
    y, weights : ndarray of shape (n_rows, n_columns) or (n_rows, 1)
        Every row counts once if the weights are None.
    dual : ndarray of shape (n_features, n_columns)
    intercept : ndarray of shape (n_columns,)
    margins : bool
        Whether the residual is 1 − y f or y − f.
    gradients : ndarray of shape (n_places, n_features)
    sums : ndarray of shape (2, n_places)
    places : ndarray of int of shape (n_columns,)
        Which of them each column adds to.
    """
    shape = len(features), len(intercept)
    # a worker of a cluster may be another machine than the one where the losses were known
    if losses is None or features.shape[1] < _LEAST_WIDTH or not (_takes(shape[1]) and _can_read(features)):
        return False
    if any(array is not None and array.dtype != features.dtype for array in (y, weights, dual, intercept)):
        return False
    y = np.broadcast_to(y, shape)
    weights = None if weights is None else np.broadcast_to(weights, shape)
    places = places.astype(np.int64, copy=False)[:, None]
    _sweeps.sweep(
        features, y, weights, dual, np.ascontiguousarray(intercept), *losses, margins, gradients, sums, places
    )
    return True


class _Flushing(threading.local):
    """How many blocks of this thread want tiny numbers to be 0, and what the first of them found."""

    n_blocks = 0
    found = 0


_flushing = _Flushing()


@contextmanager
def flushing() -> Iterator[None]:
    """Take numbers that are too small to be normal as 0 in this thread, until the last of such blocks has ended.

    Intel's processors are a hundred times slower with them. Narrow kernels have them in most of their products, where
    they are far below rounding error.
    """
    sweeps = _sweeps
    if sweeps is None:
        yield
        return
    if _flushing.n_blocks == 0:
        _flushing.found = sweeps.flush(sweeps.FLUSHED)
    _flushing.n_blocks += 1
    try:
        yield
    finally:
        _flushing.n_blocks -= 1
        if _flushing.n_blocks == 0:
            sweeps.flush(_flushing.found)


def decay(exponents: np.ndarray) -> bool:
    """Write e to the power of min(x, 0) over every x; False if nothing was done."""
    if not _can_read(exponents):
        return False
    _sweeps.decay(exponents)
    return True


def takes_distances() -> bool:
    """Whether there is compiled code here for `distances`."""
    return _sweeps is not None and _sweeps.wide_vectors


def panels(points: np.ndarray) -> np.ndarray:
    """Points as `distances` reads them: some side by side, number after number; the last ones are filled up with 0."""
    wide = _BYTES_OF_PANEL // points.itemsize
    filled = np.zeros((-(-len(points) // wide), wide, points.shape[1]), dtype=points.dtype)
    filled.reshape(-1, points.shape[1])[: len(points)] = points
    return np.ascontiguousarray(filled.transpose(0, 2, 1))


def distances(rows: np.ndarray, panels: np.ndarray, out: np.ndarray) -> None:
    """Write ‖x − z‖₁ between rows and points into an array of shape (n_rows, n_points)."""
    _sweeps.distances(rows, panels, out)


def shared(rows, by_column, of_distances: bool, out: np.ndarray) -> bool:
    """Write what entries in the same columns add to x·z, or to ‖x − z‖₁ − ‖x‖₁ − ‖z‖₁; False if nothing was done.

    Parameters
    ----------
    rows : CSR matrix of shape (n_rows, n_columns)
    by_column : CSR matrix of shape (n_columns, n_points)
        The points, transposed.
    of_distances : bool
    out : ndarray of shape (n_rows, n_points)
    """
    if not _can_read(out):
        return False
    _sweeps.shared(*_parts(rows), *_parts(by_column), of_distances, out)
    return True


def _parts(matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where rows start, which columns they have entries in, and the entries."""
    starts, columns = (numbers.astype(np.int64, copy=False)[:, None] for numbers in (matrix.indptr, matrix.indices))
    return starts, columns, matrix.data


def _takes(n_columns: int) -> bool:
    """Whether there is compiled code here for so many columns."""
    return _sweeps is not None and (n_columns == 1 or _sweeps.wide_vectors)


def _can_read(array: np.ndarray) -> bool:
    """Whether there is compiled code here, for an array of this precision that lies in memory as it needs it."""
    return _sweeps is not None and array.dtype in (np.float32, np.float64) and array.flags.c_contiguous

encode_losses = known
