"""The Laplacian kernel, and the distances that it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances

from unisvm import compiled
from unisvm.kernels.base import Kernel, decay, into, inverse
from unisvm.kernels.points import Points


class Laplacian(Kernel):
    """k(x, z) = exp(−γ ‖x − z‖₁).

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
        "scale" is 1/(n_features · X.std()).

    Examples
    --------
    >>> from unisvm.kernels import Laplacian
    >>> Laplacian(gamma=1.0)([[1.0, 2.0]], [[1.0, 2.0]])
    array([[1.]])
    """

    def __init__(self, gamma: float | str = "scale"):
        self.gamma = gamma

    def gamma_of_scale(self, n_features, variance):
        # distances grow with X, and not with its square
        return inverse(n_features * float(np.sqrt(variance)))

    def diagonal(self, X):
        return np.ones(X.shape[0])

    def against(self, Z):
        gamma = float(self.gamma)
        distances = Manhattan(Z)

        def block(X, out=None):
            exponent = distances(X, out)
            exponent *= -gamma
            return decay(exponent)

        return block


class Manhattan:
    """‖x − z‖₁ between blocks of rows and the same points.

    Differences of dense rows are taken in their own precision: all of them are positive, and nothing cancels. Of sparse
    rows what their entries change in the distances of 0 is added up, in double precision.

    Parameters
    ----------
    Z : ndarray or CSR matrix of shape (n_points, n_features)
    """

    def __init__(self, Z):
        self._points = Points(Z)
        self._prepared: dict[tuple[str, np.dtype], Any] = {}

    def __reduce__(self):
        return Manhattan, (self._points.Z,)

    def __call__(self, X, out: np.ndarray | None = None) -> np.ndarray:
        """The distances of rows, of shape (n_rows, n_points), in X's precision, in `out` if given."""
        outside, rows = self._split(X)
        distances = self._of_sparse(rows, out) if sparse.issparse(X) else self._of_dense(rows, out)
        if outside is not None:
            distances += outside
        return into(out, distances.astype(X.dtype, copy=False))

    def _of_dense(self, rows: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        if not compiled.is_available():
            return cdist(rows, self._points.dense, "cityblock")
        points = self._points.dense
        dtype = np.result_type(rows, points)
        panels = self._once("panels", dtype, lambda: compiled.panels(points.astype(dtype, copy=False)))
        distances = _room((len(rows), len(points)), dtype, out)
        compiled.distances(np.ascontiguousarray(rows, dtype), panels, distances)
        return distances

    def _of_sparse(self, rows, out: np.ndarray | None) -> np.ndarray:
        if not (compiled.is_available() and self._points.are_few):
            return manhattan_distances(*map(_with_short_numbers, (rows, self._points.of(self._points.Z))))
        double = np.dtype(np.float64)
        by_column = self._points.by_column(double)
        norms = self._once("norms", double, lambda: np.abs(by_column).sum(axis=0))
        distances = _room((rows.shape[0], len(norms)), double, out)
        compiled.distances_of_sparse(rows.astype(double, copy=False), by_column, norms, distances)
        return distances

    def _split(self, X) -> tuple[np.ndarray | None, Any]:
        """What columns in which all points are 0 add to the distances of each row, and the other columns."""
        rows = self._points.of(X)
        if rows is X:
            return None, X
        in_all, inside = (np.asarray(abs(part).sum(axis=1, dtype=np.float64)).reshape(-1, 1) for part in (X, rows))
        return np.maximum(in_all - inside, 0.0), rows

    def _once(self, name: str, dtype: np.dtype, make) -> np.ndarray:
        if (name, dtype) not in self._prepared:
            self._prepared[name, dtype] = make()
        return self._prepared[name, dtype]


def _with_short_numbers(X):
    """X as scikit-learn's distances want it."""
    X = sparse.csr_array(X)
    return sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _room(shape: tuple[int, int], dtype: np.dtype, out: np.ndarray | None) -> np.ndarray:
    """Where distances of this precision are written: `out` itself, if it will do."""
    if out is not None and out.dtype == dtype and out.flags.c_contiguous:
        return out
    return np.empty(shape, dtype)
