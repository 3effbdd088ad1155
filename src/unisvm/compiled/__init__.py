"""Sweeps over rows, and exponentials, distances and sparse products for kernels, in compiled code.

Where the extension module was not built, or the environment variable ``UNISVM_COMPILED=0`` turns it off, the functions
return None or False, and their callers compute the same with NumPy and SciPy, more slowly.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

try:
    from unisvm.compiled import _sweeps  # type: ignore[attr-defined]
except ImportError:
    _sweeps = None
if os.environ.get("UNISVM_COMPILED") == "0":
    _sweeps = None

#: constants of types.h, which are taken from the extension module; the forms of losses have their names in upper case
_CONSTANTS = ("FLUSHED", "MIN_FEATURES", "PANEL_BYTES", "PARABOLAS", "SOFTPLUS", "SATURATING", "LOGARITHM", "BIWEIGHT")
if _sweeps is not None and not all(hasattr(_sweeps, name) for name in _CONSTANTS):
    raise ImportError(f"{_sweeps.__file__} was built from other sources than these; install unisvm again.")


def is_available() -> bool:
    """Whether sweeps are compiled here.

    Examples
    --------
    >>> from unisvm import compiled
    >>> compiled.is_available() in (True, False)
    True
    """
    return _sweeps is not None


class LossTable(NamedTuple):
    """The losses of columns as `sweep` reads them.

    Attributes
    ----------
    entries : ndarray of int64 of shape (n_losses, 3)
        The number of each loss's form, of its columns and of its parameters.
    parameters : ndarray
        The parameters of all losses, one after the other.
    """

    entries: np.ndarray
    parameters: np.ndarray


def encode_losses(loss_slices: Sequence[tuple[Any, slice]]) -> LossTable | None:
    """Losses with their columns, for `sweep`; None if one of the losses, or so many columns, is not compiled here."""
    if not _sweeps_columns(sum(columns.stop - columns.start for _, columns in loss_slices)):
        return None
    entries: list[tuple[int, int, int]] = []
    parameters: list[float] = []
    for loss, columns in loss_slices:
        if loss.form is None:
            return None
        form = getattr(_sweeps, loss.form.name.upper())
        entries.append((form, columns.stop - columns.start, len(loss.form.parameters)))
        parameters.extend(loss.form.parameters)
    return LossTable(np.array(entries, dtype=np.int64).reshape(-1, 3), np.array(parameters, dtype=np.float64))


def sweep(
    table: LossTable | None,
    features: np.ndarray,
    y: np.ndarray,
    weights: np.ndarray | None,
    dual: np.ndarray,
    intercept: np.ndarray,
    is_margin: bool,
    gradients: np.ndarray,
    sums: np.ndarray,
    columns: np.ndarray,
) -> bool:
    """Add Fᵀ v, Σ v and Σ s ψ(u) over n rows to the sums of q columns; False if nothing was done.

    The residuals are u = 1 − y f or y − f with f = F a + b; the pointwise gradients are v = s y ψ'(u) or s ψ'(u).

    Parameters
    ----------
    table : LossTable or None
    features : ndarray or CSR matrix of shape (n, r)
        F; nothing is done with sparse ones.
    y, weights : ndarray of shape (n, q) or (n, 1)
        The weights s are 1 if None.
    dual : ndarray of shape (r, q)
        a.
    intercept : ndarray of shape (q,)
        b.
    is_margin : bool
        Whether u = 1 − y f or y − f.
    gradients : ndarray of shape (n_all, r)
        Column c adds Fᵀ v to row ``columns[c]``.
    sums : ndarray of shape (2, n_all)
        Column c adds Σ v and Σ s ψ(u) to column ``columns[c]``.
    columns : ndarray of int of shape (q,)
    """
    # a worker of a cluster may be another machine than the one that encoded the losses
    if table is None or not (_sweeps_columns(len(intercept)) and can_read(features)):
        return False
    shape = len(features), len(intercept)
    if features.shape[1] < _sweeps.MIN_FEATURES:
        return False
    if any(array is not None and array.dtype != features.dtype for array in (y, weights, dual, intercept)):
        return False
    # arrays that came over a network may lie at addresses that their type does not allow
    y, dual = np.broadcast_to(as_native(y), shape), as_native(dual)
    weights = None if weights is None else np.broadcast_to(as_native(weights), shape)
    columns = columns.astype(np.int64, copy=False)[:, None]
    table = LossTable(*map(as_native, table))
    intercept = _readable(intercept)
    _sweeps.sweep(features, y, weights, dual, intercept, *table, is_margin, gradients, sums, columns)
    return True


class _FlushState(threading.local):
    """Number of blocks of this thread that flush subnormals, and the bits of the processor that the first one found."""

    n_blocks = 0
    found = 0


_flush_state = _FlushState()


@contextmanager
def flush_subnormals() -> Iterator[None]:
    """Flush subnormal numbers to 0 in this thread, until the last of such blocks has ended.

    Intel's processors are a hundred times slower with them. Narrow kernels have them in most of their products, where
    they are far below rounding error.
    """
    sweeps = _sweeps
    if sweeps is None:
        yield
        return
    if _flush_state.n_blocks == 0:
        _flush_state.found = sweeps.set_flush_bits(sweeps.FLUSHED)
    _flush_state.n_blocks += 1
    try:
        yield
    finally:
        _flush_state.n_blocks -= 1
        if _flush_state.n_blocks == 0:
            sweeps.set_flush_bits(_flush_state.found)


@contextmanager
def keep_subnormals() -> Iterator[None]:
    """Have the processor as it was before `flush_subnormals` in this thread, for functions that are not ours."""
    n_blocks = _flush_state.n_blocks
    if n_blocks == 0 or _sweeps is None:
        yield
        return
    sweeps, found = _sweeps, _flush_state.found
    # whatever flushes inside begins anew
    _flush_state.n_blocks = 0
    bits = sweeps.set_flush_bits(found)
    try:
        yield
    finally:
        sweeps.set_flush_bits(bits)
        _flush_state.n_blocks, _flush_state.found = n_blocks, found


def decay(exponents: np.ndarray) -> bool:
    """Write exp(min(x, 0)) over every x; False if nothing was done."""
    if not can_read(exponents):
        return False
    _sweeps.decay(exponents)
    return True


def takes_distances() -> bool:
    """Whether `distances` are compiled here."""
    return _sweeps is not None and _sweeps.wide_vectors


def panels(points: np.ndarray) -> np.ndarray:
    """Points for `distances`, of shape (n_panels, n_features, w): w at a time, of which the last are filled up with 0.

    The w numbers of a feature lie side by side and take ``PANEL_BYTES``, a line of the cache.
    """
    width = _sweeps.PANEL_BYTES // points.itemsize
    shape = -(-len(points) // width), width, points.shape[1]
    filled = np.zeros(shape, dtype=points.dtype.newbyteorder("="))
    filled.reshape(-1, points.shape[1])[: len(points)] = points
    return np.ascontiguousarray(filled.transpose(0, 2, 1))


def distances(rows: np.ndarray, panels: np.ndarray, out: np.ndarray) -> None:
    """Write ‖x − z‖₁ between rows x and points z into `out`, of shape (n_rows, n_points)."""
    _sweeps.distances(_readable(rows), panels, out)


def sparse_products(rows, by_column, of_distances: bool, out: np.ndarray) -> bool:
    """Write x·z, or ‖x − z‖₁ − ‖x‖₁ − ‖z‖₁, between sparse rows x and points z; False if nothing was done.

    Both are sums over the columns in which x and z have entries.

    Parameters
    ----------
    rows : CSR matrix of shape (n_rows, n_columns)
    by_column : CSR matrix of shape (n_columns, n_points)
        The points, transposed.
    of_distances : bool
    out : ndarray of shape (n_rows, n_points)
    """
    if not can_read(out):
        return False
    _sweeps.sparse_products(*_csr_arrays(rows), *_csr_arrays(by_column), of_distances, out)
    return True


def _csr_arrays(matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """indptr and indices as columns of int64, and data."""
    indptr, indices = (_readable(numbers.astype(np.int64, copy=False)) for numbers in (matrix.indptr, matrix.indices))
    return indptr[:, None], indices[:, None], _readable(matrix.data)


def _sweeps_columns(n_columns: int) -> bool:
    """Whether sweeps of so many columns are compiled here."""
    return _sweeps is not None and (n_columns == 1 or _sweeps.wide_vectors)


def as_native(array: np.ndarray) -> np.ndarray:
    """The array, aligned and in the processor's order of bytes: itself, if it is so already.

    Fields of packed records and buffers with an offset need not be aligned. Arrays that were read from a file may name
    the order of their bytes; if it is the processor's, they are the same to NumPy, but not to compiled code.
    """
    if array.flags.aligned and array.dtype.byteorder in "=|":
        return array
    dtype = array.dtype.newbyteorder("=")
    return np.require(array.view(dtype) if array.dtype.isnative else array.astype(dtype), requirements="A")


def _readable(array: np.ndarray) -> np.ndarray:
    """The array, contiguous, aligned and in the processor's order of bytes."""
    return np.ascontiguousarray(as_native(array))


def can_read(array: Any) -> bool:
    """Whether compiled code reads this: an array that is contiguous, native, of float32 or float64."""
    if not isinstance(array, np.ndarray):
        return False
    flags, dtype = array.flags, array.dtype
    is_native_floating = dtype.char in "fd" and dtype.byteorder == "="
    return _sweeps is not None and is_native_floating and flags.c_contiguous and flags.aligned
