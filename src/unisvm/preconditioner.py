"""Preconditioners: the quadratic majoriser of the objective, its spectrum, and Hessians on a sample.

The majoriser has the one matrix of the method, H = λI + A · (second moments of the features), factorised once. In
coordinates z = Cᵀw with C Cᵀ = 2H it is round: there a step of Algorithm 1 is a gradient step of length one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from unisvm.nystrom.base import BaseFeatureMap
from unisvm.nystrom.gram import Gram, Moments
from unisvm.parallel import single_thread_if_small


class Coordinates(Protocol):
    """Linear coordinates z of the weights w in which a solver moves, of each column or shared by all.

    Arrays are of shape (n_coordinates, n_columns); `columns` are the indices of their columns in the objective.
    """

    def to_weights(self, Z: np.ndarray, columns: np.ndarray) -> np.ndarray: ...

    def from_weights(self, W: np.ndarray, columns: np.ndarray) -> np.ndarray: ...

    def gradient(self, gradient: np.ndarray, columns: np.ndarray) -> np.ndarray: ...


class MajoriserCoordinates(Coordinates, Protocol):
    """Coordinates in which the quadratic above the objective is round."""

    def least_squares(self, correlation: np.ndarray) -> np.ndarray: ...


class Majoriser:
    """H for one penalty and one loss.

    With an intercept, the last coordinate is the value of f at the mean of the features; it is not penalised.

    Parameters
    ----------
    gram : Gram
    penalty : float
        λ.
    A : float
        The loss's constant.
    intercept : bool
    moments : (ndarray, ndarray, float), optional
        Moments that `Gram.reweighted` gives for the curvature of the loss at each row, as a share of the most that A
        allows. With them, H is the objective's own Hessian there: no longer a majoriser, but better coordinates.
    """

    def __init__(self, gram: Gram, penalty: float, A: float, intercept: bool, moments: Moments | None = None):
        matrix, sums, total = (gram.matrix, gram.mean, 1.0) if moments is None else moments
        if intercept:
            matrix = _about(gram.mean, matrix, sums, total)
        self._factor = _cholesky(matrix, 2 * A, 2 * penalty, free=int(intercept))
        self._A = A

    @property
    def factor(self) -> np.ndarray:
        """The lower triangular C."""
        return self._factor

    @classmethod
    def from_factor(cls, factor: np.ndarray, A: float) -> Majoriser:
        """Majoriser with this C."""
        majoriser = cls.__new__(cls)
        majoriser._factor, majoriser._A = factor, A
        return majoriser

    def to_weights(self, Z: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """w = C⁻ᵀ z; all columns share one C."""
        return solve_triangular(self._factor, Z, lower=True, trans="T", check_finite=False)

    def from_weights(self, W: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """z = Cᵀ w."""
        return self._factor.T @ W

    def gradient(self, gradient: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Gradient in z, from that in w."""
        return solve_triangular(self._factor, gradient, lower=True, check_finite=False)

    def least_squares(self, correlation: np.ndarray) -> np.ndarray:
        """Minimiser of λ‖w‖² + A · mean (y − f)², given the mean of y times the features."""
        return 2 * self._A * cho_solve((self._factor, True), correlation, check_finite=False)


def _about(origin: np.ndarray, gram: np.ndarray, sums: np.ndarray, total: float) -> np.ndarray:
    """Second moments of (p − origin, 1) from those of p, its sum and the weight."""
    moved = sums - total * origin
    body = gram - np.outer(sums, origin) - np.outer(origin, moved)
    return np.block([[body, moved[:, None]], [moved[None], np.array([[total]])]])


def _cholesky(gram: np.ndarray, scale: float, ridge: float, free: int = 0) -> np.ndarray:
    """Lower Cholesky factor of scale · gram + ridge · I, from the lower triangle of gram.

    The last `free` coordinates get no ridge.
    """
    lifted = np.arange(len(gram)) < len(gram) - free
    # Rounding in a Gram matrix can leave it indefinite by a little when λ is tiny; any H serves, so it is lifted.
    for lift in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
        # in the order that LAPACK works in place on
        H = np.multiply(gram, scale, order="F")
        diagonal = H.diagonal()
        H[np.diag_indices_from(H)] = diagonal + (ridge + lift * (diagonal.max() + ridge)) * lifted
        try:
            with single_thread_if_small(len(H) ** 3 / 6):
                return cholesky(H, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raise ValueError(
        "The majoriser could not be factorised: the kernel or the weights differ too much between rows. Scale the "
        "columns of X, as StandardScaler does, or bring the weights closer together."
    )


class Spectrum:
    """Eigenvalues and -vectors of the second moments of the features, about their mean if there is an intercept.

    Parameters
    ----------
    gram : Gram
    intercept : bool
    dtype : dtype
        The precision of the vectors, that of the features.
    """

    def __init__(self, gram: Gram, intercept: bool, dtype: np.dtype):
        matrix = gram.matrix
        #: None where only a diagonal is known, which stands for the whole matrix
        self.vectors: np.ndarray | None = None
        if gram.is_diagonal:
            self.values = np.maximum(matrix - gram.mean**2 if intercept else matrix, 0.0)
            return
        if intercept:
            # the intercept is a coordinate of its own then
            matrix = matrix - np.tril(np.outer(gram.mean, gram.mean))
        # NumPy's eigh releases the interpreter's lock to the other kernels of a search
        values, self.vectors = np.linalg.eigh(matrix.astype(dtype))
        # single precision loses no more here than in the features themselves
        self.values = np.maximum(values, 0.0).astype(np.float64)

    def to_dual(self, W: np.ndarray) -> np.ndarray:
        """V w: coefficients in the orthonormal basis of the features, from those of the eigenvectors V."""
        return W if self.vectors is None else self.vectors @ W.astype(self.vectors.dtype, copy=False)

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """Vᵀ v."""
        if self.vectors is None:
            return values
        return (self.vectors.T @ values.astype(self.vectors.dtype)).astype(np.float64)


class EigenBasis:
    """The basis of eigenvectors V of the features' moments: α = L⁻ᵀ V w, as one matrix.

    Parameters
    ----------
    feature_map : BaseFeatureMap
    spectrum : Spectrum
        Of the features in the orthonormal basis of `feature_map`.

    Attributes
    ----------
    matrix : ndarray
        L⁻ᵀ V, which takes K(x, B) to the features in that basis.
    """

    def __init__(self, feature_map: BaseFeatureMap, spectrum: Spectrum):
        assert spectrum.vectors is not None
        dtype = spectrum.vectors.dtype
        self.matrix = feature_map.to_dual(spectrum.vectors.astype(np.float64)).astype(dtype)

    def to_dual(self, W: np.ndarray) -> np.ndarray:
        """Dual coefficients α = L⁻ᵀ V w."""
        return self.matrix @ W.astype(self.matrix.dtype)

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """Vᵀ L⁻¹ v: the coefficients w of the function with values v at the landmarks."""
        return (self.matrix.T @ values.astype(self.matrix.dtype)).astype(np.float64)


class SpectralMajoriser:
    """Majorisers of columns that differ in penalty and loss: in the basis of eigenvectors all are diagonal.

    Parameters
    ----------
    spectrum : Spectrum
    penalties, constants : ndarray of shape (n_columns,)
        λ and A of each column.
    intercept : bool
    """

    def __init__(self, spectrum: Spectrum, penalties: np.ndarray, constants: np.ndarray, *, intercept: bool):
        self._values = spectrum.values
        self._penalties = penalties
        self._constants = constants
        self._intercept = intercept

    def _squares(self, columns: np.ndarray) -> np.ndarray:
        """Diagonals of 2H."""
        constants = self._constants[columns]
        squares = 2 * (self._penalties[columns] + np.outer(self._values, constants))
        return np.concatenate([squares, 2 * constants[None]]) if self._intercept else squares

    def to_weights(self, Z: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Weights in the basis of eigenvectors."""
        return Z / np.sqrt(self._squares(columns))

    def from_weights(self, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Inverse of `to_weights`."""
        return W * np.sqrt(self._squares(columns))

    def gradient(self, gradient: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Gradient in these coordinates, from that in the weights."""
        return gradient / np.sqrt(self._squares(columns))

    def least_squares(self, correlation: np.ndarray) -> np.ndarray:
        """Least-squares solutions, given the mean of y times the features, one or more for each column."""
        n_columns = len(self._constants)
        every = np.tile(np.arange(n_columns), correlation.shape[1] // n_columns)
        return 2 * self._constants[every] * correlation / self._squares(every)


class HessianCoordinates:
    """Coordinates of columns of one loss, from its Hessian for a penalty in the middle of theirs.

    A matrix of moments that is diagonal in the basis of eigenvectors would make the Hessian for another penalty D H D
    with D diagonal. That of a loss is nearly so: with one factor and a D for each column, fits take as many sweeps as
    with the loss's own eigenvectors.

    Parameters
    ----------
    gram : Gram
    moments : (ndarray, ndarray, float)
        Of the sample, with the curvature of the loss as weights.
    spectrum : Spectrum
        Of `gram`; weights are in its basis.
    penalties : ndarray of shape (n_columns,)
    constant : float
        A.
    intercept : bool
    """

    def __init__(
        self,
        gram: Gram,
        moments: Moments,
        spectrum: Spectrum,
        penalties: np.ndarray,
        constant: float,
        *,
        intercept: bool,
    ):
        middle = float(np.exp(np.log(penalties).mean()))
        assert spectrum.vectors is not None
        dtype, rank = spectrum.vectors.dtype, len(spectrum.values)
        self._factor = Majoriser(gram, middle, constant, intercept, moments).factor.astype(dtype)
        self._basis = np.eye(len(self._factor), dtype=dtype)
        self._basis[:rank, :rank] = spectrum.vectors
        # the inverse, since every sweep needs products with it
        self._inverse = solve_triangular(self._factor, self._basis, lower=True, check_finite=False)
        self._scales = np.ones((len(self._factor), len(penalties)))
        share = np.trace(moments[0]) / np.trace(gram.matrix)
        curvatures = share * constant * spectrum.values[:, None]
        self._scales[:rank] = np.sqrt((penalties + curvatures) / (middle + curvatures))

    def to_weights(self, Z: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Weights in the basis of eigenvectors."""
        return (self._inverse.T @ Z.astype(self._inverse.dtype, copy=False)) / self._scales[:, columns]

    def from_weights(self, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Inverse of `to_weights`."""
        scaled = (self._scales[:, columns] * W).astype(self._basis.dtype, copy=False)
        return (self._factor.T @ (self._basis @ scaled)).astype(W.dtype, copy=False)

    def gradient(self, gradient: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Gradient in these coordinates, from that in the weights."""
        scaled = (gradient / self._scales[:, columns]).astype(self._inverse.dtype, copy=False)
        return (self._inverse @ scaled).astype(gradient.dtype, copy=False)


class CoordinatesByLoss:
    """Coordinates of columns whose losses have a Hessian each.

    Parameters
    ----------
    coordinates : sequence of HessianCoordinates
        One for each loss, for its columns.
    loss_of : ndarray of int
        The loss of each column, rising.
    """

    def __init__(self, coordinates: Sequence[HessianCoordinates], loss_of: np.ndarray):
        self._coordinates = coordinates
        self._loss_of = loss_of
        self._first = np.searchsorted(loss_of, np.arange(len(coordinates)))

    def _each(self, method: str, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        result = np.empty_like(W)
        for loss in np.unique(self._loss_of[columns]).tolist():
            of_loss = self._loss_of[columns] == loss
            places = columns[of_loss] - self._first[loss]
            result[:, of_loss] = getattr(self._coordinates[loss], method)(W[:, of_loss], places)
        return result

    def to_weights(self, Z: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Weights in the basis of eigenvectors."""
        return self._each("to_weights", Z, columns)

    def from_weights(self, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Inverse of `to_weights`."""
        return self._each("from_weights", W, columns)

    def gradient(self, gradient: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Gradient in these coordinates, from that in the weights."""
        return self._each("gradient", gradient, columns)
