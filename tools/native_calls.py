"""Random calls of every function of the extension module, with what each has to answer.

Each class of `CALLS` makes up arguments, and says which arguments the function has to accept and what it writes then:
the same in double precision with NumPy. Rounding is allowed for a thousand times over, and no wrong index is so near.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from unisvm import compiled, losses

MODULE = compiled._sweeps
DTYPES = np.float32, np.float64
#: rounding errors that are allowed
MOST_ROUNDINGS = 1000
#: most products of a call
MOST_WORK = 10**6
#: a normal number whose square is subnormal, and a subnormal one
SMALL, SUBNORMAL = 2.0**-530, 2.0**-1070


class Unfit(Exception):
    """The function has to refuse these arguments."""


class Expected(NamedTuple):
    """Numbers that a function writes, and how far off they may be; numbers of NaN may be anything."""

    values: np.ndarray
    tolerance: np.ndarray


def require(condition: bool) -> None:
    """Raise Unfit if the condition does not hold."""
    if not condition:
        raise Unfit


def view(argument: Any, formats: str, *, contiguous: bool = True, writable: bool = False) -> np.ndarray:
    """An argument's buffer as an array, if it has one of these formats of one character."""
    try:
        buffer = memoryview(argument)
    except (TypeError, ValueError, BufferError):
        raise Unfit from None
    require(buffer.format in list(formats) and (buffer.c_contiguous or not contiguous))
    require(not (writable and buffer.readonly))
    return np.asarray(buffer)


def integers(argument: Any, n_columns: int) -> np.ndarray:
    """An argument as a matrix of int64 with so many columns."""
    matrix = view(argument, "lq")
    require(matrix.ndim == 2 and matrix.shape[1] == n_columns and matrix.itemsize == 8)
    return matrix


def floats(argument: Any, kind: str, shape: tuple[int, ...], **conditions: bool) -> np.ndarray:
    """An argument of this precision and shape, in double precision."""
    array = view(argument, kind, **conditions)
    require(array.shape == shape and all(stride % array.itemsize == 0 for stride in array.strides))
    return array.astype(np.float64)


def truth(argument: Any) -> bool:
    """Whether an argument is true, if that can be told."""
    try:
        return bool(argument)
    except (TypeError, ValueError):
        raise Unfit from None


def around(rng: np.random.Generator, *marks: int) -> int:
    """A size near one of these, at least 0."""
    return max(0, int(rng.choice(marks)) + int(rng.integers(-2, 3)))


def rounding(kind: str) -> float:
    """The relative error that is allowed in a precision."""
    return MOST_ROUNDINGS * float(np.finfo(kind).eps)


class Calls(ABC):
    """Calls of one function; an instance is one call.

    Attributes
    ----------
    arguments : list
    """

    #: arguments that are written to
    outputs: ClassVar[tuple[int, ...]] = ()
    #: whether it needs AVX2
    needs_wide_vectors: ClassVar[bool] = False

    @abstractmethod
    def __init__(self, rng: np.random.Generator): ...

    @abstractmethod
    def expect(self, arguments: list[Any]) -> dict[int, Expected]:
        """What is written to the outputs; raises Unfit if these arguments have to be refused."""

    def answers(self, arguments: list[Any], result: Any) -> bool:
        """Whether the function returned what it should."""
        return result is None


class Decay(Calls):
    """exp(min(x, 0))."""

    outputs = (0,)

    def __init__(self, rng):
        shape = [around(rng, 0, 1, 4, 8, 16, 32, 100) for _ in range(rng.integers(1, 3))]
        scale = rng.choice([1e-3, 1, 100, 1e4])
        self.arguments = [(rng.standard_normal(shape) * scale).astype(rng.choice(DTYPES))]

    def expect(self, arguments):
        require(len(arguments) == 1)
        x = view(arguments[0], "fd", writable=True)
        values = np.exp(np.minimum(x.astype(np.float64), 0))
        # results that are smaller are 0
        least = np.exp(-87.0 if x.dtype == np.float32 else -708.0)
        return {0: Expected(values, rounding(x.dtype.char) * values + least)}


class Distances(Calls):
    """‖x − z‖₁ to points in panels."""

    outputs = (2,)
    needs_wide_vectors = True

    def __init__(self, rng):
        n, r = around(rng, 0, 1, 4, 8, 20), around(rng, 0, 1, 8, 16, 32, 64)
        d = around(rng, 1, 8, 30, 256, 512)
        dtype = rng.choice(DTYPES)
        rows, points = (rng.standard_normal((size, d)).astype(dtype) for size in (n, r))
        width = MODULE.PANEL_BYTES // points.itemsize
        n_panels = -(-r // width)
        filled = np.zeros((n_panels * width, d), dtype)
        filled[:r] = points
        panels = np.ascontiguousarray(filled.reshape(n_panels, width, d).transpose(0, 2, 1))
        self.arguments = [rows, panels, np.full((n, r), 7, dtype)]

    def expect(self, arguments):
        require(len(arguments) == 3 and MODULE.wide_vectors)
        out = view(arguments[2], "fd", writable=True)
        kind = out.dtype.char
        rows, panels = view(arguments[0], kind), view(arguments[1], kind)
        require(rows.ndim == out.ndim == 2 and panels.ndim == 3)
        (n, n_points), d, width = out.shape, rows.shape[1], MODULE.PANEL_BYTES // out.itemsize
        require(len(rows) == n and d >= 1 and panels.shape == (-(-n_points // width), d, width))
        points = panels.transpose(0, 2, 1).reshape(-1, d)[:n_points].astype(np.float64)
        values = np.abs(rows.astype(np.float64)[:, None] - points).sum(axis=2)
        return {2: Expected(values, rounding(kind) * values)}


class SparseProducts(Calls):
    """x·z, or ‖x − z‖₁ − ‖x‖₁ − ‖z‖₁, of sparse rows and transposed sparse points."""

    outputs = (7,)

    def __init__(self, rng):
        n, d, r = (around(rng, 0, 1, 4, 8, 30) for _ in range(3))
        dtype = rng.choice(DTYPES)
        rows, points = self._csr(rng, n, d, dtype), self._csr(rng, d, r, dtype)
        self.arguments = [*rows, *points, bool(rng.integers(2)), np.full((n, r), 7, dtype)]

    @staticmethod
    def _csr(rng, n_rows, n_columns, dtype):
        """A random CSR matrix, whose indices are in any order and may occur twice."""
        lengths = rng.integers(0, 6, n_rows) * (n_columns > 0)
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        indices = rng.integers(0, max(n_columns, 1), indptr[-1])
        return indptr[:, None], indices[:, None], rng.standard_normal(indptr[-1]).astype(dtype)

    def expect(self, arguments):
        require(len(arguments) == 8)
        out = view(arguments[7], "fd", writable=True)
        kind, of_distances = out.dtype.char, truth(arguments[6])
        points = self._triplet(arguments[3:6], kind)
        rows = self._triplet(arguments[:3], kind)
        require(out.ndim == 2 and len(rows[0]) - 1 == len(out))
        self._check(rows, len(points[0]) - 1)
        self._check(points, out.shape[1])
        values, sizes = np.zeros((2, *out.shape))
        row_of = np.repeat(np.arange(len(out)), np.diff(rows[0]))
        for i, j, x in zip(row_of, rows[1], rows[2], strict=True):
            part = slice(points[0][j], points[0][j + 1])
            z = points[2][part]
            terms = np.abs(x - z) - np.abs(x) - np.abs(z) if of_distances else x * z
            np.add.at(values[i], points[1][part], terms)
            np.add.at(sizes[i], points[1][part], 2 * (np.abs(x) + np.abs(z)) if of_distances else np.abs(terms))
        return {7: Expected(values, rounding(kind) * sizes)}

    @staticmethod
    def _triplet(arguments, kind):
        """indptr, indices and data, without regard to the numbers in them."""
        indptr, indices = (integers(argument, 1)[:, 0] for argument in arguments[:2])
        data = view(arguments[2], kind).ravel().astype(np.float64)
        require(len(indptr) >= 1 and len(data) == len(indices))
        return indptr, indices, data

    @staticmethod
    def _check(matrix, n_columns):
        """Raise Unfit unless indptr rises from 0 to the number of entries, and all indices are below n_columns."""
        indptr, indices, _ = matrix
        require(indptr[0] == 0 and indptr[-1] == len(indices) and bool((indptr[1:] >= indptr[:-1]).all()))
        require(bool(((indices >= 0) & (indices < n_columns)).all()))


class Sweep(Calls):
    """Sums over rows of the values and gradients of losses."""

    outputs = (8, 9)

    def __init__(self, rng):
        n, r = around(rng, 0, 1, 4, 16, 48, 96, 384), around(rng, 8, 16, 32, 64, 341, 410, 512)
        q = max(1, around(rng, 1, 2, 3, 9, 12, 16, 64, 70)) if MODULE.wide_vectors and rng.integers(3) else 1
        r = max(r, MODULE.MIN_FEATURES) if rng.integers(20) else r
        n = min(n, MOST_WORK // max(1, r * q))
        dtype = rng.choice(DTYPES)
        scale = rng.choice([0.1, 1, 30]) / np.sqrt(max(r, 1))
        y, weights = rng.choice([-1.0, 1.0], (n, q)), rng.uniform(0, 2, (n, q))
        arrays = [rng.standard_normal((n, r)), y, weights, rng.standard_normal((r, q)) * scale, rng.standard_normal(q)]
        arrays = [array.astype(dtype) for array in arrays]
        for place in (1, 2, 3):
            arrays[place] = relaid(rng, arrays[place])
        arrays[2] = arrays[2] if rng.integers(3) else None
        self.loss_slices = random_losses(rng, q)
        self.table = encoded(self.loss_slices)
        n_all = q + int(rng.integers(3))
        columns = rng.permutation(n_all)[:q] if rng.integers(4) else rng.integers(0, n_all, q)
        sums = np.full((n_all, r), 3.0), np.full((2, n_all), 3.0), columns.astype(np.int64)[:, None]
        self.arguments = [*arrays, *(array.copy() for array in self.table), bool(rng.integers(2)), *sums]

    def expect(self, arguments):
        require(len(arguments) == 11)
        *arrays, entries, parameters, is_margin, gradients, sums, columns = arguments
        F = view(arrays[0], "fd")
        kind = F.dtype.char
        b = view(arrays[4], kind)
        require(F.ndim == 2 and F.shape[1] >= MODULE.MIN_FEATURES and b.ndim == 1)
        n, r, q = *F.shape, len(b)
        require(q == 1 or (q > 1 and MODULE.wide_vectors))
        y, dual = (floats(arrays[k], kind, shape, contiguous=False) for k, shape in ((1, (n, q)), (3, (r, q))))
        weights = np.ones((n, q)) if arrays[2] is None else floats(arrays[2], kind, (n, q), contiguous=False)
        table, is_margin, columns = table_of(entries, parameters, q), truth(is_margin), integers(columns, 1)[:, 0]
        gradients, sums = view(gradients, "d", writable=True), view(sums, "d", writable=True)
        require(gradients.ndim == 2 and gradients.shape[1] == r and sums.size == 2 * len(gradients))
        require(len(columns) == q and bool(((columns >= 0) & (columns < len(gradients))).all()))
        if not all(map(np.array_equal, table, self.table)):
            # of other losses than those that are known
            return {}
        data = F.astype(np.float64), y, weights, dual, b.astype(np.float64)
        added, off = sums_of(self.loss_slices, *data, is_margin, rounding(kind))
        of_gradients = summed(gradients, columns, added[:, :r], off[:, :r])
        of_sums = summed(sums.reshape(2, -1).T, columns, added[:, r:], off[:, r:])
        return {8: of_gradients, 9: Expected(*(array.T.reshape(sums.shape) for array in of_sums))}


class SetFlushBits(Calls):
    """The bits that were set before."""

    def __init__(self, rng):
        self.before = int(rng.choice([0, 0x8000, 0x0040, 0x8040])) & MODULE.FLUSHED
        self.arguments = [int(rng.choice([0, 0x8040, 0x8000, 0x0040, -1, 2**40, int(rng.integers(2**62))]))]

    def expect(self, arguments):
        require(len(arguments) == 1)
        try:
            require(-(2**63) <= arguments[0].__index__() < 2**63)
        except (AttributeError, TypeError):
            raise Unfit from None
        MODULE.set_flush_bits(self.before)
        return {}

    def answers(self, arguments, result):
        products = [SMALL * SMALL, SUBNORMAL * 2.0**100]
        bits = MODULE.set_flush_bits(0)
        # subnormals are told from 0 where nothing flushes
        flushed = [product == 0 for product in products]
        expected = arguments[0].__index__() & MODULE.FLUSHED
        return result == self.before and bits == expected and flushed == [bool(bits & 0x8000), bool(bits & 0x0040)]


CALLS: dict[str, type[Calls]] = {
    "decay": Decay,
    "distances": Distances,
    "set_flush_bits": SetFlushBits,
    "sparse_products": SparseProducts,
    "sweep": Sweep,
}


def relaid(rng: np.random.Generator, matrix: np.ndarray) -> np.ndarray:
    """The matrix, or one of its shape, with other strides."""
    layout = rng.integers(6)
    if layout == 0:
        return np.asfortranarray(matrix)
    if layout == 1:
        return np.repeat(np.repeat(matrix, 2, axis=0), 3, axis=1)[::2, ::3]
    if layout == 2:
        return matrix[::-1, ::-1]
    if layout == 3:
        return np.broadcast_to(matrix[:, :1].copy(), matrix.shape)
    return matrix


def random_losses(rng: np.random.Generator, q: int) -> list[tuple[losses.Loss, slice]]:
    """Up to three of the registered losses, with their columns."""
    edges = sorted({0, q, *rng.integers(0, q + 1, 2).tolist()})
    found = []
    for low, high in pairwise(edges):
        name = str(rng.choice(losses.names()))
        loss = losses.get(name)
        scaled = {key: value * rng.uniform(0.5, 2) for key, value in loss.get_params().items()}
        # the defaults are in their range, where these may not be
        with suppress(ValueError):
            loss = losses.get(name, **scaled).validate()
        found.append((loss, slice(low, high)))
    return found


def encoded(loss_slices: list[tuple[losses.Loss, slice]]) -> tuple[np.ndarray, np.ndarray]:
    """Entries and parameters of these losses, whether or not so many columns are swept here."""
    forms = [(loss.form, columns.stop - columns.start) for loss, columns in loss_slices]
    entries = [(getattr(MODULE, form.name.upper()), q, len(form.parameters)) for form, q in forms]
    return np.array(entries, np.int64), np.concatenate([form.parameters for form, _ in forms])


def table_of(entries: Any, parameters: Any, q: int) -> tuple[np.ndarray, np.ndarray]:
    """Entries and parameters, if they are of losses of q columns."""
    entries, parameters = integers(entries, 3), view(parameters, "d").ravel()
    known = {MODULE.SOFTPLUS: 7, MODULE.SATURATING: 4, MODULE.LOGARITHM: 4, MODULE.BIWEIGHT: 1}
    rows = entries.tolist()
    for form, n_columns, length in rows:
        require(n_columns >= 1 and (form in known or form == MODULE.PARABOLAS))
        require(length == known[form] if form in known else length >= 3 and length % 4 == 3)
    require(sum(row[1] for row in rows) == q and sum(row[2] for row in rows) == len(parameters))
    return entries, parameters


def summed(before: np.ndarray, columns: np.ndarray, added: np.ndarray, off: np.ndarray) -> Expected:
    """Rows of sums, to some of which the sums of columns are added."""
    values, tolerance = before.copy(), rounding("d") * np.abs(before)
    np.add.at(values, columns, added)
    np.add.at(tolerance, columns, off)
    return Expected(values, tolerance)


def sums_of(loss_slices, F, y, weights, dual, intercept, is_margin, relative) -> tuple[np.ndarray, np.ndarray]:
    """Fᵀ v, Σ v and Σ s ψ(u) of each column, of shape (q, r + 2), and how far off they may be.

    NaN in columns with numbers that are too large, or none, for them to be told.
    """
    with np.errstate(all="ignore"):
        f, sizes = F @ dual + intercept, np.abs(F) @ np.abs(dual) + np.abs(intercept)
        u = 1 - y * f if is_margin else y - f
        near = relative * (1 + np.abs(y) + (np.abs(y) if is_margin else 1) * sizes)
        s, sign = weights, y if is_margin else np.ones_like(y)
        added, tolerance = np.empty((2, len(intercept), F.shape[1] + 2))
        for loss, part in loss_slices:
            v, value = loss.derivative(u[:, part]), loss.value(u[:, part])
            more = [u[:, part] + near[:, part], u[:, part] - near[:, part]]
            size = relative * (1 + loss.A) * (1 + np.abs(u[:, part]))
            v_off = relative * np.abs(v) + size + sum(np.abs(loss.derivative(other) - v) for other in more)
            value_off = size * (1 + np.abs(u[:, part])) + sum(np.abs(loss.value(other) - value) for other in more)
            v, v_off = (s * sign)[:, part] * v, np.abs(s * sign)[:, part] * v_off
            added[part] = np.c_[v.T @ F, v.sum(axis=0), (s[:, part] * value).sum(axis=0)]
            value_off = (np.abs(s[:, part]) * (value_off + relative * np.abs(value))).sum(axis=0)
            v_off += relative * np.abs(v)
            tolerance[part] = np.c_[v_off.T @ np.abs(F), v_off.sum(axis=0), value_off]
        told = (np.abs(u) < 1e5).all(axis=0) & (np.abs(s) < 1e5).all(axis=0) & (np.abs(y) < 1e5).all(axis=0)
        told &= bool((np.abs(F) < 1e5).all()) & (np.abs(dual) < 1e5).all(axis=0)
    added[~told] = np.nan
    return added, tolerance
