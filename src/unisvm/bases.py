"""The basis that the functions of a fit are written in: landmarks, or the columns of X for a linear kernel."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from unisvm.checkpoint import Arrays
from unisvm.kernel_expansion import KernelExpansion
from unisvm.kernels import Kernel, Scaled
from unisvm.nystrom.base import BaseFeatureMap
from unisvm.nystrom.column_map import ColumnMap
from unisvm.nystrom.constant_map import WithConstant
from unisvm.nystrom.feature_map import FeatureMap
from unisvm.nystrom.kernel_checks import check_finite, check_positive_semidefinite, is_indefinite
from unisvm.nystrom.landmarks import Landmarks
from unisvm.nystrom.signed_map import SignedFeatureMap
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
    feature_map : BaseFeatureMap
    kernel_map : BaseFeatureMap
        The feature map without a constant feature.
    landmarks : Landmarks or None
    store_indices, row_indices : ndarray of int or None
        Of the landmarks among the rows of the store and among all that were given, if they are rows.
    """

    @property
    def kernel(self) -> Kernel: ...

    @property
    def feature_map(self) -> BaseFeatureMap: ...

    @property
    def kernel_map(self) -> Any: ...

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
        """What `of_function` of the feature map makes coefficients of, of shape (rank, n_columns), once the intercepts
        that come with it are subtracted; None where functions cannot be written in this basis."""


class LandmarkBasis(NamedTuple):
    """The kernel with its gamma as a number, the landmarks, and the feature map of those that are independent."""

    kernel: Kernel
    landmarks: Landmarks
    feature_map: FeatureMap | SignedFeatureMap

    @property
    def kernel_map(self) -> FeatureMap | SignedFeatureMap:
        """The feature map: there is no constant feature."""
        return self.feature_map

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
    def of(
        cls,
        kernel: Kernel,
        landmarks: Landmarks,
        dtype: np.dtype,
        indefinite: str = "raise",
        small_tol: float = 0.0,
        weights: np.ndarray | None = None,
    ) -> LandmarkBasis:
        """Basis of these landmarks for rows of this precision; `indefinite` is as in `UniSVMClassifier`.

        Of a kernel that is not positive semidefinite, the share `small_tol` is left out, and the landmarks have these
        `weights` in it.
        """
        vectors = landmarks.vectors.astype(np.float64)
        # NumPy's threads would spin on into the factorisation
        with single_thread_if_small(vectors.shape[0] ** 2 * vectors.shape[1]):
            matrix = kernel.against(landmarks.kernel_points)(vectors)
        check_finite(kernel, matrix)
        points = landmarks.kernel_points
        if kernel.is_psd or not is_indefinite(matrix):
            return cls(kernel, landmarks, FeatureMap(kernel, points, matrix, dtype))
        if indefinite == "raise":
            check_positive_semidefinite(matrix)
        feature_map = SignedFeatureMap(
            kernel, points, matrix, dtype, clip=indefinite == "clip", small_tol=small_tol, weights=weights
        )
        return cls(kernel, landmarks, feature_map)

    def state(self) -> Arrays:
        """The basis as arrays, but for the kernel."""
        return self.landmarks.state() | self.feature_map.state()

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
        """Basis whose centre is near the mean of the rows, or 0 if they are sparse or must not be `centred`.

        Columns of a kernel that scales them have the centre of that kernel.
        """
        centre = np.zeros(rows.n_features, rows.dtype)
        if isinstance(kernel, Scaled):
            centre = kernel.centre.astype(rows.dtype)
        elif centred and not rows.is_sparse:
            centre = rows.take(rows.draw(_CENTRE_ROWS, rng)).mean(axis=0, dtype=np.float64).astype(rows.dtype)
        return cls(kernel, ColumnMap(kernel, centre, divisor_of(kernel)))

    @property
    def kernel_map(self) -> ColumnMap:
        """The feature map: there is no constant feature."""
        return self.feature_map

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


class WithPenalisedIntercept(NamedTuple):
    """A basis with a constant function of its own, whose coefficient is penalised: that of the kernel k + 1."""

    functions: Basis

    @property
    def kernel(self) -> Kernel:
        """The kernel without the constant."""
        return self.functions.kernel

    @property
    def feature_map(self) -> WithConstant:
        """Features of the constant and of the other functions."""
        return WithConstant(self.functions.feature_map)

    @property
    def kernel_map(self) -> Any:
        """Features of the other functions."""
        return self.functions.feature_map

    @property
    def landmarks(self) -> Landmarks | None:
        """The landmarks of the kernel without the constant."""
        return self.functions.landmarks

    @property
    def store_indices(self) -> np.ndarray | None:
        """Their store indices, if they are rows of the store."""
        return self.functions.store_indices

    @property
    def row_indices(self) -> np.ndarray | None:
        """Their row indices, if they are rows."""
        return self.functions.row_indices

    def state(self) -> Arrays:
        """The basis as arrays."""
        return self.functions.state() | {"constant": np.array(True)}

    def expansion(self, coefficients: np.ndarray, intercept: np.ndarray) -> KernelExpansion:
        """Functions whose first coefficient is that of the constant."""
        of_constant = coefficients[0].astype(intercept.dtype)
        return self.functions.expansion(coefficients[1:], intercept + of_constant)

    def read(self, functions: KernelExpansion, n_threads: int) -> tuple[np.ndarray, np.ndarray] | None:
        """The offsets before what the other functions are read as, and intercepts of 0."""
        without = functions._replace(intercept=np.zeros_like(functions.intercept))
        read = self.functions.read(without, n_threads)
        if read is None:
            return None
        values, zeros = read
        return np.concatenate([functions.intercept.astype(np.float64)[None], values - zeros]), np.zeros_like(zeros)


def divisor_of(kernel: Kernel) -> np.ndarray | None:
    """Divisors of the columns of a scaled kernel; None for another kernel."""
    return kernel.divisor if isinstance(kernel, Scaled) else None


def uses_columns(kernel: Kernel, landmarks: Any) -> bool:
    """Whether a fit needs no landmarks: the kernel is linear, and the user gives none."""
    return kernel.is_linear and isinstance(landmarks, str)


def restore_basis(state: Arrays, rows: RowStore, kernel: Kernel, landmarks: Any) -> Basis:
    """Basis from its `state`, for the same rows, kernel and landmarks; without a factor, its feature map has none."""
    basis: Basis
    if "centre" in state:
        basis = ColumnBasis(kernel, ColumnMap(kernel, state["centre"], divisor_of(kernel)))
    else:
        chosen = Landmarks.from_state(state, landmarks, rows, kernel)
        restored = SignedFeatureMap if "signs" in state else FeatureMap
        basis = LandmarkBasis(kernel, chosen, restored.from_state(kernel, chosen.kernel_points, state))
    return WithPenalisedIntercept(basis) if "constant" in state else basis
