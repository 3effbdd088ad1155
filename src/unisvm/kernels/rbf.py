"""The RBF kernel: exp(−γ‖x − z‖²) from one matrix product a block, with few digits lost."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils.extmath import row_norms

from unisvm.kernels.base import Kernel, decay, into
from unisvm.kernels.gradients import about_mean, fewest_functions, times_rows, weighted_points
from unisvm.kernels.points import Points

# most error that the precision of the rows may leave in an exponent
_MAX_EXPONENT_ERROR = 1e-4


class RBF(Kernel):
    """k(x, z) = exp(−γ ‖x − z‖²).

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"

    Examples
    --------
    >>> from unisvm.kernels import RBF
    >>> RBF(gamma=0.5)([[1.0, 2.0]], [[1.0, 2.0], [1.0, 20.0]]).round(3)
    array([[1., 0.]])
    """

    compares_columns = True
    has_gradients = True

    def __init__(self, gamma: float | str = "scale"):
        self.gamma = gamma

    def diagonal(self, X):
        return np.ones(X.shape[0])

    def against(self, Z):
        return _AgainstPoints(Z, float(self.gamma))

    def squared_gradients(self, X, Z, dual):
        # ∂f/∂x_j = −2γ (x_j Σ_b k_b α_b − Σ_b k_b α_b z_bj)
        K, sums = self(X, Z).astype(np.float64, copy=False), np.zeros(X.shape)
        X, Z = about_mean(X, Z)
        for coefficients in fewest_functions(dual):
            factors = K * coefficients
            sums += (times_rows(factors.sum(axis=1), X) - weighted_points(factors, Z)) ** 2
        return sums * (2 * float(self.gamma)) ** 2


class _AgainstPoints:
    """Maps rows X to exp(−γ‖x − z‖²) for the same points z.

    −γ‖x − z‖² = 2γ x·z − γ‖x‖² − γ‖z‖² is one product of rows and points that have two columns more.
    """

    def __init__(self, Z, gamma: float):
        self._points = Points(Z)
        self._gamma = gamma
        # Distances do not change when the origin moves to the middle of Z, but far fewer digits cancel.
        # Sparse rows stay where they are: moving them would fill in their zeros.
        # The origin is a number that both sides can subtract exactly.
        has_origin = not sparse.issparse(Z) and len(Z) > 0
        self._origin = np.mean(Z, axis=0, dtype=np.float64).astype(Z.dtype) if has_origin else 0
        self._widened: dict[np.dtype, tuple[np.ndarray, float]] = {}

    def __reduce__(self):
        return _AgainstPoints, (self._points.Z, self._gamma)

    def __call__(self, X, out: np.ndarray | None = None) -> np.ndarray:
        """k(X, Z), of shape (n_rows, n_points), in X's precision: in `out` if it is given."""
        exponent = self._of_sparse(X, out) if self._points.meet_sparsely(X) else self._of_dense(X, out)
        return into(out, decay(exponent).astype(X.dtype, copy=False))

    def _of_dense(self, X: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        # in the precision of both, since either is exact
        dtype = np.result_type(X, self._points.Z)
        wide = self._widened_rows(X, dtype)
        if dtype != np.float64 and self._is_rounded_off(wide):
            wide = self._widened_rows(X, np.dtype(np.float64))
        if self._is_rounded_off(wide):
            # some rows are far from all others
            return -self._gamma * cdist(X, self._points.Z, "sqeuclidean")
        points, _ = self._widened_points(wide.dtype)
        return np.matmul(wide, points.T, out=out if wide.dtype == X.dtype else None)

    def _of_sparse(self, X, out: np.ndarray | None) -> np.ndarray:
        gamma, points = self._gamma, self._points
        row_squares = row_norms(X, squared=True)
        largest = gamma * (row_squares.max(initial=0.0) + points.squares.max(initial=0.0))
        if X.dtype != np.float64 and _loses_digits(largest, X.dtype):
            X, out = X.astype(np.float64), None
            row_squares = row_norms(X, squared=True)
        exponent = points.products(X, out)
        exponent *= 2 * gamma
        exponent -= (gamma * row_squares)[:, None]
        exponent -= (gamma * points.squares).astype(X.dtype)
        return exponent

    def _widened_points(self, dtype: np.dtype) -> tuple[np.ndarray, float]:
        """(2γz, −γ, −γ‖z‖²) of each point, from the origin, and the largest γ‖z‖²."""
        if dtype not in self._widened:
            moved = self._points.Z.astype(np.float64) - self._origin
            norms = self._gamma * row_norms(moved, squared=True)
            # the norms are two further columns of the product, which spares two visits of all its entries
            wide = np.column_stack([moved * (2 * self._gamma), np.full(len(moved), -self._gamma), -norms])
            self._widened[dtype] = wide.astype(dtype), norms.max(initial=0.0)
        return self._widened[dtype]

    def _widened_rows(self, X: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """(x, ‖x‖², 1) of each row, from the origin."""
        wide = np.empty((len(X), X.shape[1] + 2), dtype)
        rows = np.subtract(X, self._origin, out=wide[:, :-2], dtype=dtype)
        wide[:, -2] = row_norms(rows, squared=True)
        wide[:, -1] = 1
        return wide

    def _is_rounded_off(self, wide: np.ndarray) -> bool:
        """Whether exponents of these widened rows lose their digits."""
        largest = self._gamma * wide[:, -2].max(initial=0.0) + self._widened_points(wide.dtype)[1]
        return _loses_digits(largest, wide.dtype)


def _loses_digits(largest: float, dtype: np.dtype) -> bool:
    """Whether this precision is too low for a difference of numbers as large as γ(‖x‖² + ‖z‖²)."""
    return not largest * np.finfo(dtype).eps <= _MAX_EXPONENT_ERROR
