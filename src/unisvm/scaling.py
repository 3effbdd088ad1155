"""Scaling of the columns inside a fit: shifts and divisors by the training rows, kept in the kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unisvm.kernels import Kernel, Scaled
from unisvm.rows import RowStore

#: names of the scalings
SCALES = ("standard", "minmax")


class ColumnScaling(NamedTuple):
    """Shift and divisor of each column, and the variance of all entries once they are scaled."""

    centre: np.ndarray
    divisor: np.ndarray
    variance: float


def read_scaling(rows: RowStore, scale: str) -> ColumnScaling:
    """Scaling of the columns of a store, by one pass over its rows.

    Parameters
    ----------
    rows : RowStore
    scale : {"standard", "minmax"}
        (x − mean)/deviation, or (x − least)/(most − least). Sparse rows are not shifted, so that their zeros stay
        zeros: x/deviation, or x/max |x|.
    """
    moments = rows.column_moments()
    mean, variance = moments.mean, moments.variance
    if scale == "standard":
        # squares of very small numbers vanish
        centre, divisor = mean, np.where(variance > 0, np.sqrt(variance), moments.most - moments.least)
        divisor = np.where(moments.most > moments.least, divisor, 0.0)
    elif rows.is_sparse:
        centre, divisor = mean, np.maximum(moments.most, -moments.least)
    else:
        centre, divisor = moments.least, moments.most - moments.least
    if rows.is_sparse:
        centre = np.zeros_like(mean)
    divisor = np.where(divisor > 0, divisor, 1.0)
    means = (mean - centre) / divisor
    return ColumnScaling(centre, divisor, float(np.mean(variance / divisor**2) + np.var(means)))


def resolve_kernel(kernel: Kernel, rows: RowStore, scale: str | None) -> Kernel:
    """The kernel with its gamma as a number; of scaled columns unless `scale` is None."""
    if scale is None:
        return kernel.resolve(rows.n_features, rows.variance)
    centre, divisor, variance = read_scaling(rows, scale)
    return Scaled(kernel.resolve(rows.n_features, lambda: variance), centre, divisor)
