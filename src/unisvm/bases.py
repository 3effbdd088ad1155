"""The basis that the functions of a fit are written in: landmarks, or the columns of X for a linear kernel."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from unisvm.checkpoint import Arrays
from unisvm.kernel_expansion import KernelExpansion
from unisvm.kernels import Kernel
from unisvm.nystrom.column_map import ColumnMap
from unisvm.nystrom.feature_map import FeatureMap
from unisvm.nystrom.landmarks import Landmarks
from unisvm.parallel import single_thread_if_small
from unisvm.rows import RowStore

# rows whose mean the features of a linear kernel are about
_CENTRE_ROWS = 1000


class Basis(Protocol):
    """What a fit asks of the basis of its functions.

    Attributes
    ----------
    kernel : Kernel
        With its gamma as a number.
    feature_map : FeatureMap or ColumnMap
    landmarks : Landmarks or None
    store_indices, row_indices : ndarray of int or None
        Of the landmarks among the rows of the store and among all that were given, if they are rows.
    """

    @property
    def kernel(self) -> Kernel: ...

    @property
    def feature_map(self) -> Any: ...

    @property
    def landmarks(self) -> Landmarks | None: ...

    @property
    def store_indices(self) -> np.ndarray | None: ...

    @property
    def row_indices(self) -> np.ndarray | None: ...

    def state(self) -> Arrays:
        """The basis as arrays, but for the kernel."""

    def expansion(self, coefficients: np.ndarray, intercept: np.ndarray) -> KernelExpansion:
        """Functions with these coefficients on the features, of shape (rank, n_columns)."""

    def read(self, functions: KernelExpansion, n_threads: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Values that the feature map makes coefficients of, of shape (rank, n_columns), and the intercepts that are
        in them; None where functions cannot be written in this basis."""


class LandmarkBasis(NamedTuple):
    """The kernel with its gamma as a number, the landmarks, and the feature map of those that are independent."""

    kernel: Kernel
    landmarks: Landmarks
    feature_map: FeatureMap

    @property
    def store_indices(self) -> np.ndarray | None:
        """Store indices of the landmarks of the feature map, if they are rows of the store."""
        indices = self.landmarks.store_indices
        return None if indices is None else indices[self.feature_map.kept]

    @property
    def row_indices(self) -> np.ndarray | None:
        """Row indices of the landmarks of the feature map; None when they are points that the user gave."""
        indices = self.landmarks.row_indices
        return None if indices is None else indices[self.feature_map.kept]

    @classmethod
    def of(cls, kernel: Kernel, landmarks: Landmarks, dtype: np.dtype) -> LandmarkBasis:
        """Basis of these landmarks for rows of this precision."""
        vectors = landmarks.vectors.astype(np.float64)
        # NumPy's threads would spin on into the factorisation
        with single_thread_if_small(vectors.shape[0] ** 2 * vectors.shape[1]):
            matrix = kernel.against(landmarks.kernel_points)(vectors)
        return cls(kernel, landmarks, FeatureMap(kernel, landmarks.kernel_points, matrix, dtype))

    def state(self) -> Arrays:
        """The basis as arrays, but for the kernel."""
        return self.landmarks.state() | {"kept": self.feature_map.kept, "factor": self.feature_map.factor}

    def expansion(self, coefficients: np.ndarray, intercept: np.ndarray) -> KernelExpansion:
        """Functions with these dual coefficients, of shape (rank, n_columns)."""
        points = self.row_indices if self.kernel.points_are_indices else self.feature_map.points
        return KernelExpansion(self.kernel, points, np.ascontiguousarray(coefficients.T), intercept)

    def read(self, functions: KernelExpansion, n_threads: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Values at the landmarks, and the intercepts in them."""
        vectors = self.landmarks.vectors.astype(np.float64)[self.feature_map.kept]
        return functions(vectors, n_threads=n_threads).astype(np.float64), functions.intercept.astype(np.float64)


class ColumnBasis(NamedTuple):
    """The columns of X, less a constant each, for the linear kernel."""

    kernel: Kernel
    feature_map: ColumnMap

    @classmethod
    def of(cls, kernel: Kernel, rows: RowStore, rng: np.random.RandomState, *, centred: bool) -> ColumnBasis:
        """Basis whose centre is near the mean of the rows, or 0 if they are sparse or must not be `centred`."""
        centre = np.zeros(rows.n_features, rows.dtype)
        if centred and not rows.is_sparse:
            centre = rows.take(rows.draw(_CENTRE_ROWS, rng)).mean(axis=0, dtype=np.float64).astype(rows.dtype)
        return cls(kernel, ColumnMap(kernel, centre))

    @property
    def landmarks(self) -> None:
        """None: there are none."""
        return None

    @property
    def store_indices(self) -> None:
        """None: there are no landmarks."""
        return None

    @property
    def row_indices(self) -> None:
        """None: there are no landmarks."""
        return None

    def state(self) -> Arrays:
        """The basis as arrays."""
        return {"centre": self.feature_map.centre}

    def expansion(self, coefficients: np.ndarray, intercept: np.ndarray) -> KernelExpansion:
        """Functions with these coefficients on the columns less their centre, of shape (n_features, n_columns)."""
        centre = self.feature_map.centre.astype(np.float64)
        about_zero = (intercept - centre @ coefficients).astype(intercept.dtype)
        return KernelExpansion(self.kernel, None, np.ascontiguousarray(coefficients.T), about_zero)

    def read(self, functions: KernelExpansion, n_threads: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Coefficients of linear functions plus their values at the centre, and these; None for other functions."""
        if functions.points is not None:
            return None
        coefficients = functions.dual_coef.T.astype(np.float64)
        intercept = functions.intercept + self.feature_map.centre.astype(np.float64) @ coefficients
        return coefficients + intercept, intercept


def uses_columns(kernel: Kernel, landmarks: Any) -> bool:
    """Whether a fit needs no landmarks: the kernel is linear, and the user gives none."""
    return kernel.is_linear and isinstance(landmarks, str)


def restore_basis(state: Arrays, rows: RowStore, kernel: Kernel, landmarks: Any) -> Basis:
    """Basis from its `state`, for the same rows, kernel and landmarks; without a factor, its feature map has none."""
    kernel = kernel.resolve(rows.n_features, rows.variance)
    if "centre" in state:
        return ColumnBasis(kernel, ColumnMap(kernel, state["centre"]))
    chosen = Landmarks.from_state(state, landmarks, rows, kernel)
    factor = state.get("factor", np.empty((0, 0)))
    return LandmarkBasis(kernel, chosen, FeatureMap.from_factor(kernel, chosen.kernel_points, state["kept"], factor))
