"""The regularised risk with a saturating penalty of each weight, and that of chosen columns alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from unisvm.column_spec import ColumnSpec
from unisvm.feature_selection.penalties import Penalty
from unisvm.kernels import Linear
from unisvm.nystrom.column_map import ColumnMap
from unisvm.objective import Objective
from unisvm.preconditioner import SpectralMajoriser, Spectrum
from unisvm.rows import RowStore


class StandardisedColumns(ColumnMap):
    """(x − c)/scale for rows x: the weights w are those of standardised columns, whatever X is measured in.

    The features are the columns less c, or sparse rows as they are; the scale is applied to coefficients.

    Parameters
    ----------
    centre : ndarray of shape (n_features,)
        c, near the mean of dense rows; 0 for sparse ones.
    scale : ndarray of shape (n_features,)
        Positive.
    """

    def __init__(self, centre: np.ndarray, scale: np.ndarray):
        super().__init__(Linear(), centre)
        self.scale = scale

    def to_dual(self, W: np.ndarray) -> np.ndarray:
        """Coefficients of the columns of X, from weights."""
        return (W.T / self.scale).T

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """A gradient in w, from that in the coefficients of the columns."""
        return (values.T / self.scale).T

    def of_function(self, values: np.ndarray) -> np.ndarray:
        """Weights, from coefficients of the columns."""
        return (values.T * self.scale).T

    def whitener(self, dtype: np.dtype, rank: int | None = None) -> Callable[[np.ndarray], np.ndarray]:
        """Function that divides features by the scale, where they are."""
        scale = self.scale.astype(dtype)
        return lambda values: np.divide(values, scale, out=values)


class PenalisedObjective(Objective):
    """F(w) = λ‖w‖² + (1/Σs) Σ s ψ(r) + μ Σ_j φ(w_j) for each column; an intercept is not penalised.

    Parameters
    ----------
    rows, features, basis, spec, is_margin, mean
        As in `Objective`.
    penalty : Penalty
        φ, with a width for each column.
    strengths : ndarray of shape (n_columns,)
        μ.
    """

    def __init__(
        self,
        rows: RowStore,
        features: Any,
        basis: StandardisedColumns,
        spec: ColumnSpec,
        is_margin: bool,
        mean: np.ndarray | None,
        penalty: Penalty,
        strengths: np.ndarray,
    ):
        super().__init__(rows, features, basis, spec, is_margin, mean)
        self._penalty = penalty
        self._strengths = strengths
        self._rank = basis.rank

    def __call__(self, W: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values, of shape (q,), and gradients at W."""
        value, gradient = super().__call__(W, columns)
        penalty, strengths, body = self._penalty.take(columns), self._strengths[columns], W[: self._rank]
        gradient[: self._rank] += strengths * penalty.derivative(body)
        return value + strengths * penalty.value(body).sum(axis=0), gradient


class RestrictedObjective(Objective):
    """λ‖w‖² + (1/Σs) Σ s ψ(r) of weights that are 0 but for those of chosen columns of X.

    Parameters
    ----------
    rows, features, basis, spec, is_margin, mean
        As in `Objective`.
    supports : ndarray of bool of shape (n_features, n_columns)
        The columns of X that each column of the problem may use.
    """

    def __init__(
        self,
        rows: RowStore,
        features: Any,
        basis: StandardisedColumns,
        spec: ColumnSpec,
        is_margin: bool,
        mean: np.ndarray | None,
        supports: np.ndarray,
    ):
        super().__init__(rows, features, basis, spec, is_margin, mean)
        self._free = supports if mean is None else np.concatenate([supports, np.ones_like(supports[:1])])

    def __call__(self, W: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values, of shape (q,), and gradients at W, of which the weights of other columns count as 0."""
        value, gradient = super().__call__(self.restrict(W, columns), columns)
        return value, gradient * self._free[:, columns]

    def restrict(self, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """W with zeros for the columns of X that are not chosen."""
        return W * self._free[:, columns]


class ColumnMajoriser(SpectralMajoriser):
    """Majorisers of columns that differ in λ, or in μ/b, by the eigenvectors V of the moments of the columns of X.

    The weights remain those of the columns of X, since the penalty is of these: w = V (z/√(2(λ + A e))) for the
    eigenvalues e.

    Parameters
    ----------
    spectrum : Spectrum
    penalties : ndarray of shape (n_columns,)
        λ + μ/b.
    constants : ndarray of shape (n_columns,)
        A.
    intercept : bool
    """

    def __init__(self, spectrum: Spectrum, penalties: np.ndarray, constants: np.ndarray, *, intercept: bool):
        super().__init__(spectrum, penalties, constants, intercept=intercept)
        self._spectrum = spectrum
        self._rank = len(spectrum.values)

    def _rotated(self, rotate: Callable[[np.ndarray], np.ndarray], W: np.ndarray) -> np.ndarray:
        """W, of which all but the coordinate of an intercept are rotated."""
        return np.concatenate([rotate(W[: self._rank]), W[self._rank :]])

    def to_weights(self, Z: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Weights of the columns of X."""
        return self._rotated(self._spectrum.to_dual, super().to_weights(Z, columns))

    def from_weights(self, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Inverse of `to_weights`."""
        return super().from_weights(self._rotated(self._spectrum.from_values, W), columns)

    def gradient(self, gradient: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Gradient in these coordinates, from that in the weights."""
        return super().gradient(self._rotated(self._spectrum.from_values, gradient), columns)

    def least_squares(self, correlation: np.ndarray) -> np.ndarray:
        """Least-squares solutions, given the mean of y times the features, one or more for each column."""
        solutions = super().least_squares(self._rotated(self._spectrum.from_values, correlation))
        return self._rotated(self._spectrum.to_dual, solutions)
