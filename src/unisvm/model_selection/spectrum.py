"""Coordinates of a grid: a basis where the majorisers of all C and losses are diagonal, and Hessians seen from it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from unisvm.features import FeatureMap, GramSample, Moments
from unisvm.majoriser import Majoriser


class Spectrum:
    """Eigenvalues and -vectors of the second moments of the features, about their mean if there is an intercept.

    Parameters
    ----------
    sample : GramSample
    intercept : bool
    dtype : dtype
        The precision of the vectors, that of the features.
    """

    def __init__(self, sample: GramSample, intercept: bool, dtype: np.dtype):
        gram = sample.gram
        if intercept:
            # there the intercept is a coordinate apart
            gram = gram - np.tril(np.outer(sample.mean, sample.mean))
        # NumPy's leaves the interpreter's lock to the other values of gamma
        values, self.vectors = np.linalg.eigh(gram.astype(dtype))
        # what is lost in single precision is no more than in the features themselves
        self.values = np.maximum(values, 0.0).astype(np.float64)

    def turn_back(self, W: np.ndarray) -> np.ndarray:
        """V w."""
        return self.vectors @ W.astype(self.vectors.dtype, copy=False)


class EigenMap:
    """The feature map whose basis are the eigenvectors of the features' moments, as one matrix.

    Parameters
    ----------
    feature_map : FeatureMap
    spectrum : Spectrum
        Of the features in the basis of `feature_map`.

    Attributes
    ----------
    matrix : ndarray
        What features are multiplied by to be in that basis.
    """

    def __init__(self, feature_map: FeatureMap, spectrum: Spectrum):
        dtype = spectrum.vectors.dtype
        self.matrix = feature_map.to_dual(spectrum.vectors.astype(np.float64)).astype(dtype)

    def to_dual(self, W: np.ndarray) -> np.ndarray:
        """Coefficients of K(x, B)."""
        return self.matrix @ W.astype(self.matrix.dtype)

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """Coefficients of the function with these values at the landmarks."""
        return (self.matrix.T @ values.astype(self.matrix.dtype)).astype(np.float64)


class GridMajoriser:
    """The majorisers of columns that differ in penalty and loss, of weights in the basis where all are diagonal.

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
        """The diagonals."""
        constants = self._constants[columns]
        squares = 2 * (self._penalties[columns] + np.outer(self._values, constants))
        return np.concatenate([squares, 2 * constants[None]]) if self._intercept else squares

    def to_weights(self, Z: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Coefficients in the basis."""
        return Z / np.sqrt(self._squares(columns))

    def from_weights(self, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The inverse of `to_weights`."""
        return W * np.sqrt(self._squares(columns))

    def gradient(self, gradient: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The gradient in these coordinates, from that in the basis."""
        return gradient / np.sqrt(self._squares(columns))

    def least_squares(self, correlation: np.ndarray) -> np.ndarray:
        """The least-squares solutions, given the mean of y times the features, one or more for each column."""
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
    sample : GramSample
    moments : (ndarray, ndarray, float)
        Of the sample, with the curvature of the loss as weights.
    spectrum : Spectrum
        Of the sample; weights are in its basis.
    penalties : ndarray of shape (n_columns,)
    constant : float
        A.
    intercept : bool
    """

    def __init__(
        self,
        sample: GramSample,
        moments: Moments,
        spectrum: Spectrum,
        penalties: np.ndarray,
        constant: float,
        *,
        intercept: bool,
    ):
        middle = float(np.exp(np.log(penalties).mean()))
        dtype, rank = spectrum.vectors.dtype, len(spectrum.values)
        self._factor = Majoriser(sample, middle, constant, intercept, moments).factor.astype(dtype)
        self._basis = np.eye(len(self._factor), dtype=dtype)
        self._basis[:rank, :rank] = spectrum.vectors
        # the inverse, since products with it are needed in every sweep
        self._inverse = solve_triangular(self._factor, self._basis, lower=True, check_finite=False)
        self._scales = np.ones((len(self._factor), len(penalties)))
        share = np.trace(moments[0]) / np.trace(sample.gram)
        curvatures = share * constant * spectrum.values[:, None]
        self._scales[:rank] = np.sqrt((penalties + curvatures) / (middle + curvatures))

    def to_weights(self, Z: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Coefficients in the basis."""
        return (self._inverse.T @ Z.astype(self._inverse.dtype, copy=False)) / self._scales[:, columns]

    def from_weights(self, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The inverse of `to_weights`."""
        scaled = (self._scales[:, columns] * W).astype(self._basis.dtype, copy=False)
        return (self._factor.T @ (self._basis @ scaled)).astype(W.dtype, copy=False)

    def gradient(self, gradient: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The gradient in these coordinates, from that in the basis."""
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
            own = self._loss_of[columns] == loss
            result[:, own] = getattr(self._coordinates[loss], method)(W[:, own], columns[own] - self._first[loss])
        return result

    def to_weights(self, Z: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Coefficients in the orthonormal basis."""
        return self._each("to_weights", Z, columns)

    def from_weights(self, W: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The inverse of `to_weights`."""
        return self._each("from_weights", W, columns)

    def gradient(self, gradient: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The gradient in these coordinates, from that in the basis."""
        return self._each("gradient", gradient, columns)
