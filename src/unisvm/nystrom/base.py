"""What a fit asks of a feature map, whatever its features are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from unisvm.rows import RowStore


class BaseFeatureMap(Protocol):
    """Features of rows as they are built, and the linear map T between these and an orthonormal basis.

    A row has the features z as they are built, such as k(x, B), and p = Tᵀ z in the orthonormal basis. A function is
    f(x) = z·α = p·w with α = T w, and k(x, x') ≈ p(x)ᵀ S p(x') with the signs S.

    Attributes
    ----------
    kernel : Kernel
    rank : int
        Number of features.
    has_landmarks : bool
        Whether z are values of a kernel at landmarks.
    is_wide : bool
        Whether there are too many features for matrices of their moments.
    signs : ndarray of shape (rank,)
        S: 1, −1, or 0 for a feature that is always 0.
    signature : (int, int)
        Numbers of positive and of negative eigenvalues of the kernel that have a part in the features.
    landmark_features : ndarray of shape (rank, rank) or None
        p of each landmark; None without landmarks.
    """

    kernel: Any

    @property
    def rank(self) -> int: ...

    @property
    def has_landmarks(self) -> bool: ...

    @property
    def is_wide(self) -> bool: ...

    @property
    def signs(self) -> np.ndarray: ...

    @property
    def signature(self) -> tuple[int, int]: ...

    @property
    def landmark_features(self) -> np.ndarray | None: ...

    def build(self, rows: RowStore, room: float = np.inf) -> Any:
        """Features z of all rows of a store; they do not stay in memory if they take more than `room` bytes."""

    def block(self, X: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Features z of a block of rows, in `out` if it is given."""

    def whitener(self, dtype: np.dtype, rank: int | None = None) -> Callable[[np.ndarray], np.ndarray]:
        """Function that turns rows z into p, where they are; with `rank`, those of the first `rank` features alone."""

    def to_dual(self, W: np.ndarray) -> np.ndarray:
        """α = T w."""

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """Tᵀ v: p from z, and a gradient in w from that in α."""

    def of_function(self, values: np.ndarray) -> np.ndarray:
        """Coefficients w of a function from what `Basis.read` says of it."""

    def diagonal(self, rows: RowStore, indices: np.ndarray, features: Any) -> np.ndarray:
        """A scale of ‖f‖² for rows of the store with these features p: k(x, x), or ‖p‖²."""

    def trace_error(self, rows: RowStore, matrix: np.ndarray, trace: Callable[[], float]) -> float:
        """Share of the kernel that the features leave out.

        Parameters
        ----------
        rows : RowStore
        matrix : ndarray
            Sum or mean of p pᵀ over some rows, or its diagonal alone.
        trace : callable
            Returns that of k(x, x) over the same rows.
        """
