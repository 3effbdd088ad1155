"""Scaling of the columns inside a fit: shifts and divisors by the training rows, kept in the kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unisvm.kernels import Kernel, Scaled
from unisvm.rows import RowStore

#: names of the scalings
SCALES = ("standard", "minmax")


class ColumnScaling(NamedTuple):
    """Shift and divisor of each column, and the mean and variance of its entries once they are scaled.

    The divisor of a column without a part is infinite.
    """

    centre: np.ndarray
    divisor: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    @property
    def variance(self) -> float:
        """Variance of all scaled entries of the columns that have a part."""
        has_part = np.isfinite(self.divisor)
        return float(np.mean(self.variances[has_part]) + np.var(self.means[has_part]))

    def times(self, factors: np.ndarray) -> ColumnScaling:
        """The same with scaled columns multiplied by factors from 0."""
        with np.errstate(divide="ignore"):
            divisor = self.divisor / factors
        return ColumnScaling(self.centre, divisor, self.means * factors, self.variances * factors**2)

    def kernel_of(self, kernel: Kernel) -> Scaled:
        """The kernel of scaled columns, with its gamma as a number."""
        n_features = int(np.isfinite(self.divisor).sum())
        return Scaled(kernel.resolve(n_features, lambda: self.variance), self.centre, self.divisor)


def read_scaling(rows: RowStore, scale: str | None) -> ColumnScaling:
    """Scaling of the columns of a store, by one pass over its rows.

    Parameters
    ----------
    rows : RowStore
    scale : {"standard", "minmax"} or None
        (x − mean)/deviation, (x − least)/(most − least), or x. Sparse rows are not shifted, so that their zeros stay
        zeros: x/deviation, or x/max |x|.
    """
    moments = rows.column_moments()
    mean, variance = moments.mean, moments.variance
    if scale is None:
        centre, divisor = np.zeros_like(mean), np.ones_like(mean)
    elif scale == "standard":
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
    return ColumnScaling(centre, divisor, (mean - centre) / divisor, variance / divisor**2)


def resolve_kernel(kernel: Kernel, rows: RowStore, scale: str | None) -> Kernel:
    """The kernel with its gamma as a number; of scaled columns unless `scale` is None."""
    if scale is None:
        return kernel.resolve(rows.n_features, rows.variance)
    return read_scaling(rows, scale).kernel_of(kernel)
