"""The Laplacian kernel, and the distances that it is made of."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances

from unisvm import compiled
from unisvm.kernels.base import Kernel, decay, into, inverse, room
from unisvm.kernels.gradients import column, columns_of, fewest_functions
from unisvm.kernels.points import Points
from unisvm.parallel import cached_property


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

    compares_columns = True
    has_gradients = True

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

    def squared_gradients(self, X, Z, dual):
        # ∂f/∂x_j = −γ Σ_b k_b α_b sign(x_j − z_bj)
        K, dual = self(X, Z).astype(np.float64, copy=False), fewest_functions(dual).T
        sums = np.empty(X.shape)
        by_column, points_by_column = columns_of(X), columns_of(Z)
        for j in range(X.shape[1]):
            x, z = column(by_column, j), column(points_by_column, j)
            # sparse rows have few entries, and a row without one is apart from the points that have one
            points, rows = np.flatnonzero(z), np.flatnonzero(x)
            if len(points) + len(rows) < len(z):
                gradients = K[:, points] @ (-np.sign(z[points])[:, None] * dual[points])
                gradients[rows] = (K[rows] * np.sign(x[rows, None] - z)) @ dual
            else:
                gradients = (K * np.sign(x[:, None] - z)) @ dual
            sums[:, j] = np.einsum("ij,ij->i", gradients, gradients)
        return sums * float(self.gamma) ** 2


class Manhattan:
    """‖x − z‖₁ between blocks of rows and the same points.

    Distances of dense rows in single precision are summed in it: all terms are positive, and nothing cancels. Of sparse
    rows, what entries change that they share with a point is added to both norms, in double precision.

    Parameters
    ----------
    Z : ndarray or CSR matrix of shape (n_points, n_features)
    """

    def __init__(self, Z):
        self._points = Points(Z)
        self._panels: dict[np.dtype, np.ndarray] = {}

    def __reduce__(self):
        return Manhattan, (self._points.Z,)

    @cached_property
    def _norms(self) -> np.ndarray:
        return _norms(self._points.Z)

    def __call__(self, X, out: np.ndarray | None = None) -> np.ndarray:
        """The distances of rows, of shape (n_rows, n_points), in X's precision, in `out` if given."""
        meet_sparsely = self._points.meet_sparsely(X)
        distances = self._of_sparse(sparse.csr_array(X), out) if meet_sparsely else self._of_dense(X, out)
        return into(out, distances.astype(X.dtype, copy=False))

    def _of_dense(self, X: np.ndarray, out: np.ndarray | None) -> np.ndarray:
        points = self._points.Z
        if not compiled.takes_distances():
            return cdist(X, points, "cityblock")
        dtype = np.dtype(np.float32 if X.dtype == points.dtype == np.float32 else np.float64)
        if dtype not in self._panels:
            self._panels[dtype] = compiled.panels(points.astype(dtype, copy=False))
        distances = room((len(X), len(points)), dtype, out)
        compiled.distances(X.astype(dtype, copy=False), self._panels[dtype], distances)
        return distances

    def _of_sparse(self, X, out: np.ndarray | None) -> np.ndarray:
        double = np.dtype(np.float64)
        rows, by_column = X.astype(double, copy=False), self._points.by_column(double)
        distances = room((X.shape[0], len(self._points)), double, out)
        if not compiled.sparse_products(rows, by_column, of_distances=True, out=distances):
            return manhattan_distances(*map(_with_short_numbers, (rows, self._points.Z)))
        distances += _norms(X)[:, None]
        distances += self._norms
        return distances


def _norms(X) -> np.ndarray:
    """‖x‖₁ of every row."""
    return np.asarray(abs(X.astype(np.float64)).sum(axis=1)).ravel()


def _with_short_numbers(X):
    """X as scikit-learn's distances want it."""
    X = sparse.csr_array(X)
    return sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
