"""The fitted function f(x) = Σ_b k(x, b) α_b + intercept of each column, evaluated block by block in threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from unisvm.kernels import Kernel
from unisvm.parallel import run
from unisvm.rows.mapped import Pages, StoredRows

_BLOCK_BYTES = 2**22

#: maps decisions of a block of rows, of shape (n_rows, n_columns), to the rows of a result
Postprocess = Callable[[np.ndarray], np.ndarray]


def identity(decision: np.ndarray) -> np.ndarray:
    """The decisions themselves."""
    return decision


class KernelExpansion(NamedTuple):
    """Functions on the landmarks, or on the columns of X for a linear kernel.

    Attributes
    ----------
    kernel : Kernel
    points
        The landmarks, as `Kernel.against` takes them; None for columns.
    dual_coef : ndarray of shape (n_columns, n_landmarks)
        Or of shape (n_columns, n_features).
    intercept : ndarray of shape (n_columns,)
    """

    kernel: Kernel
    points: Any
    dual_coef: np.ndarray
    intercept: np.ndarray

    def check_finite(self) -> None:
        """Raise when a coefficient is infinite or NaN."""
        for coefficients in (self.dual_coef, self.intercept):
            if not np.isfinite(coefficients).all():
                dtype = coefficients.dtype
                advice = "Give X in float64, or y in larger units." if dtype == np.float32 else "Scale X and y."
                raise ValueError(f"The coefficients of the fit overflow in {dtype}. {advice}")

    def __call__(
        self, X, postprocess: Postprocess = identity, out: np.ndarray | None = None, n_threads: int = 1
    ) -> np.ndarray:
        """Rows that `postprocess` makes of f(x), a row of X each: in `out` if it is given."""
        against = identity if self.points is None else self.kernel.against(self.points)
        dtype = np.result_type(X.dtype, self.dual_coef.dtype)
        empty = postprocess(np.empty((0, len(self.dual_coef)), dtype=dtype))
        shape = (X.shape[0], *empty.shape[1:])
        result = np.empty(shape, empty.dtype) if out is None else checked_out(out, shape, empty.dtype)
        pages = Pages.of(result)
        # a block of rows that are in a file is in memory beside its features
        width = max(self.dual_coef.shape[1], X.entries_a_row if isinstance(X, StoredRows) else 1, 1)
        length = max(64, _BLOCK_BYTES // (width * X.dtype.itemsize))

        def fill(low: int) -> None:
            part = slice(low, low + length)
            result[part] = postprocess(against(X[part]) @ self.dual_coef.T + self.intercept)
            if pages is not None:
                pages.give_back(result[part])

        run([partial(fill, low) for low in range(0, X.shape[0], length)], n_threads)
        return result


def checked_out(out: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The array that results are asked for in; raises when it is none for results of this shape and type."""
    if not isinstance(out, np.ndarray) or out.shape != shape or out.dtype != dtype or not out.flags.writeable:
        is_what = f"one of shape {out.shape} and type {out.dtype}" if isinstance(out, np.ndarray) else repr(type(out))
        if isinstance(out, np.ndarray) and not out.flags.writeable:
            is_what += ", which is read-only"
        raise ValueError(f"out must be a writeable array of shape {shape} and type {dtype}; got {is_what}.")
    return out
