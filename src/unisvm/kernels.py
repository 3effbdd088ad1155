"""Kernels: blocks of k(x, z), and the diagonal k(x, x) without the matrix.

A kernel is called as ``kernel(X, Z)``. For many blocks of X against the same points, ``kernel.against(Z)`` does
what depends on Z once and returns the function that is left.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.utils.extmath import row_norms

from unisvm import compiled
from unisvm._checks import is_number, one_of
from unisvm._manhattan import Manhattan
from unisvm.rows.stored import StoredRows

__all__ = ["RBF", "Function", "Kernel", "Laplacian", "Linear", "Polynomial", "Precomputed", "Sigmoid", "get"]

#: maps rows X, and optionally an array `out` to write into, to k(X, Z)
Block = Callable[..., np.ndarray]

# sparse landmarks are made dense up to this size: sparse rows times a dense matrix is several times faster
_DENSE_BYTES = 2**28


class Kernel(BaseEstimator):
    """Base class of the kernels."""

    #: whether a matrix that is not positive semidefinite is refused, rather than its negative part left out
    refuses_indefinite: bool = False
    #: whether a point is the number of a column, rather than a row
    points_are_numbers: bool = False

    @property
    def is_psd(self) -> bool:
        """Whether the kernel matrix is positive semidefinite whatever the rows."""
        return True

    def __call__(self, X, Z) -> np.ndarray:
        """The matrix of k(x, z) for the rows x of X and z of Z, in X's precision."""
        return self.against(as_rows(Z))(as_rows(X))

    @abstractmethod
    def against(self, Z) -> Block:
        """The function that maps a block of rows X to k(X, Z)."""

    @abstractmethod
    def diagonal(self, X) -> np.ndarray:
        """k(x, x) for each row of X, in double precision."""

    def diagonal_at(self, X, indices: np.ndarray) -> np.ndarray:
        """The diagonal for some rows of X."""
        return self.diagonal(X[indices])

    def points(self, rows, indices: np.ndarray):
        """What stands for the rows of these numbers in ``against``."""
        return rows.take(indices)

    def resolve(self, n_features: int, variance: Callable[[], float]) -> Kernel:
        """A kernel whose gamma is a number. `variance` is called only if it is needed."""
        parameters = self.get_params(deep=False)
        if not is_number(parameters.get("coef0", 0.0)):
            raise ValueError(f"coef0 must be a finite number, got {parameters['coef0']!r}.")
        degree = parameters.get("degree", 1)
        if not (is_number(degree) and degree >= 1 and float(degree).is_integer()):
            raise ValueError(f"degree must be a positive whole number, got {degree!r}.")
        if "gamma" not in parameters:
            return self
        gamma = parameters["gamma"]
        if not isinstance(gamma, str):
            if not (is_number(gamma) and gamma > 0):
                raise ValueError(f"gamma must be a positive number, 'scale' or 'auto', got {gamma!r}.")
            return self
        if one_of("gamma", gamma, ("scale", "auto")) == "auto":
            number = 1.0 / n_features
        else:
            number = self.gamma_of_scale(n_features, variance())
        return type(self)(**{**parameters, "gamma": number})

    def gamma_of_scale(self, n_features: int, variance: float) -> float:
        """The gamma that "scale" stands for: what it multiplies is about 1 then, in whatever units X is."""
        return _inverse(n_features * variance)


class _Dot(Kernel):
    """Kernels that are a function of x·z."""

    @abstractmethod
    def _of_products(self, products: np.ndarray) -> np.ndarray:
        """The kernel from x·z; may write over its argument."""

    def against(self, Z):
        Z = _dense_if_small(Z)
        return lambda X, out=None: self._of_products(_products(X, Z, out))

    def diagonal(self, X):
        return self._of_products(row_norms(X, squared=True).astype(np.float64))


class Linear(_Dot):
    """k(x, z) = x·z.

    Examples
    --------
    >>> from unisvm.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    def _of_products(self, products):
        return products


class Polynomial(_Dot):
    """k(x, z) = (γ x·z + coef0)^degree.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
    degree : float, default=3
    coef0 : float, default=0.0

    Examples
    --------
    >>> from unisvm.kernels import Polynomial
    >>> Polynomial(gamma=1.0, degree=2, coef0=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    def __init__(self, gamma: float | str = "scale", degree: float = 3, coef0: float = 0.0):
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0

    @property
    def is_psd(self):
        return self.coef0 >= 0 and self.degree >= 1 and float(self.degree).is_integer()

    def _of_products(self, products):
        products *= float(self.gamma)
        products += float(self.coef0)
        return np.power(products, self.degree, out=products)


class Sigmoid(_Dot):
    """k(x, z) = tanh(γ x·z + coef0), which is positive semidefinite for few choices of its parameters.

    Parameters
    ----------
    gamma : float, "scale" or "auto", default="scale"
    coef0 : float, default=0.0

    Examples
    --------
    >>> from unisvm.kernels import Sigmoid
    >>> Sigmoid(gamma=1.0)([[0.0, 0.0]], [[3.0, 4.0]])
    array([[0.]])
    """

    is_psd = False

    def __init__(self, gamma: float | str = "scale", coef0: float = 0.0):
        self.gamma = gamma
        self.coef0 = coef0

    def _of_products(self, products):
        products *= float(self.gamma)
        products += float(self.coef0)
        return np.tanh(products, out=products)


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

    def __init__(self, gamma: float | str = "scale"):
        self.gamma = gamma

    def diagonal(self, X):
        return np.ones(X.shape[0])

    def against(self, Z):
        gamma = float(self.gamma)
        Z = _dense_if_small(Z)
        # Distances do not change when the origin moves to the middle of Z, but far fewer digits cancel.
        # Sparse rows stay where they are: moving them would fill in their zeros.
        # The origin is a number that both sides can subtract exactly.
        origin = None if sparse.issparse(Z) else np.mean(Z, axis=0, dtype=np.float64).astype(Z.dtype)
        prepared: dict[tuple[bool, np.dtype], tuple[Any, np.ndarray]] = {}

        def prepare(moved: bool, dtype: np.dtype):
            if (moved, dtype) not in prepared:
                points = Z.astype(np.float64) - origin if moved else Z.astype(np.float64)
                norms = gamma * row_norms(points, squared=True)
                points = points * (2 * gamma)
                if moved:
                    # the norms are two further columns of the product, which spares two visits of all its entries
                    points = np.column_stack([points, np.full(len(points), -gamma), -norms])
                prepared[moved, dtype] = points.astype(dtype), norms
            return prepared[moved, dtype]

        def block(X, out=None):
            moved = origin is not None and not sparse.issparse(X)
            rows = X - origin if moved else X
            # The exponent is a difference of numbers as large as γ(‖x‖² + ‖z‖²): where single precision would leave
            # an error of 1e-4 in it, the block is worked out in double precision.
            row_squares = row_norms(rows, squared=True)
            largest = gamma * row_squares.max(initial=0.0) + prepare(moved, rows.dtype)[1].max()
            if not largest * np.finfo(rows.dtype).eps <= 1e-4 and rows.dtype != np.float64:
                rows = X.astype(np.float64) - origin if moved else X.astype(np.float64)
                row_squares = row_norms(rows, squared=True)
            points, norms = prepare(moved, rows.dtype)
            target = out if rows.dtype == X.dtype else None
            if moved:
                wide = np.column_stack([rows, row_squares, np.ones_like(row_squares)])
                exponent = np.matmul(wide, points.T, out=target)
            else:
                exponent = _products(rows, points, target)
                exponent -= (gamma * row_squares)[:, None]
                exponent -= norms.astype(rows.dtype)
            return _into(out, _decay(exponent).astype(X.dtype, copy=False))

        return block


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
        return _inverse(n_features * float(np.sqrt(variance)))

    def diagonal(self, X):
        return np.ones(X.shape[0])

    def against(self, Z):
        gamma = float(self.gamma)
        Z = _dense_if_small(Z)

        stored = sparse.csr_array(Z)
        points = [] if sparse.issparse(Z) else [Manhattan(Z)]

        def distances(X):
            if not sparse.issparse(X):
                if not points:
                    # many sparse points become dense only for rows that are, and only once
                    points.append(Manhattan(Z.toarray()))
                return points[0].of_dense(X)
            if not sparse.issparse(Z) and points[0].have_two_values:
                return points[0].of_sparse(X)
            return manhattan_distances(X, stored)

        def block(X, out=None):
            exponent = _into(out, distances(X).astype(X.dtype, copy=False))
            exponent *= -gamma
            return _decay(exponent)

        return block


class Precomputed(Kernel):
    """The rows are themselves rows of a kernel matrix; a point is the number of a column.

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm.kernels import Precomputed
    >>> Precomputed()(np.array([[2.0, 1.0], [1.0, 2.0]]), [1])
    array([[1.],
           [2.]])
    """

    is_psd = False
    refuses_indefinite = True
    points_are_numbers = True

    def __call__(self, X, Z):
        return self.against(Z)(as_rows(X))

    def against(self, Z):
        columns = np.asarray(Z)

        def block(X, out=None):
            part = X[:, columns].toarray() if sparse.issparse(X) else X[:, columns]
            return _into(out, np.ascontiguousarray(part))

        return block

    def diagonal(self, X):
        return np.asarray(X.diagonal(), dtype=np.float64)

    def diagonal_at(self, X, indices):
        return np.asarray(X[indices, indices], dtype=np.float64).ravel()

    def points(self, rows, indices):
        return np.asarray(indices)


class Function(Kernel):
    """A user's function ``function(X, Z, **params)`` that returns the matrix of k(x, z), as in scikit-learn's SVC.

    Parameters
    ----------
    function : callable
    params : dict, optional
        Further arguments.

    Examples
    --------
    >>> from unisvm.kernels import Function
    >>> Function(lambda X, Z, power: (X @ Z.T) ** power, {"power": 2})(np.ones((1, 3)), np.ones((1, 3)))
    array([[9.]])
    """

    is_psd = False

    def __init__(self, function: Callable[..., Any], params: dict[str, Any] | None = None):
        self.function = function
        self.params = params

    def against(self, Z):
        def block(X, out=None):
            matrix = np.asarray(self.function(X, Z, **(self.params or {})))
            if matrix.shape != (X.shape[0], Z.shape[0]):
                raise ValueError(
                    f"The kernel function must return a matrix with a row for each row of its first argument and a "
                    f"column for each row of its second: expected shape {(X.shape[0], Z.shape[0])}, got {matrix.shape}."
                )
            if not np.isfinite(matrix).all():
                raise ValueError("The kernel function returned NaN or infinity.")
            return _into(out, matrix.astype(X.dtype, copy=False))

        return block

    def diagonal(self, X):
        # small squares along the diagonal: the function only makes matrices
        side = 32
        blocks = (X[start : start + side] for start in range(0, X.shape[0], side))
        return np.concatenate([self(block, block).diagonal() for block in blocks]).astype(np.float64)


NAMES = ("linear", "rbf", "laplacian", "poly", "sigmoid", "precomputed")


def get(kernel, *, gamma="scale", degree=3, coef0=0.0, kernel_params=None) -> Kernel:
    """The kernel of that name, function or object.

    Parameters
    ----------
    kernel : str, callable or Kernel
        A name; a function of two arrays of rows that returns the matrix between them; or a kernel object, which
        brings its own parameters.
    gamma, degree, coef0
        Parameters of the named kernels.
    kernel_params : dict, optional
        Further arguments of a kernel function.

    Returns
    -------
    kernel : Kernel

    Examples
    --------
    >>> from unisvm import kernels
    >>> kernels.get("rbf", gamma=0.5)
    RBF(gamma=0.5)
    """
    if kernel_params is not None and (isinstance(kernel, str | Kernel) or not callable(kernel)):
        raise ValueError("kernel_params are the arguments of a kernel function; the kernel given here takes none.")
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise ValueError(f"kernel must be an instance: use {kernel.__name__}() instead of the class.")
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel):
        return Function(kernel, kernel_params)
    match one_of("kernel", kernel, NAMES):
        case "linear":
            return Linear()
        case "rbf":
            return RBF(gamma)
        case "laplacian":
            return Laplacian(gamma)
        case "poly":
            return Polynomial(gamma, degree, coef0)
        case "sigmoid":
            return Sigmoid(gamma, coef0)
        case _:
            return Precomputed()


def as_rows(X):
    """X as a floating array, or as a CSR matrix that stores no entry twice, as norms and distances take it to be.

    Rows in a file stay there: what is read of them is like that.
    """
    if isinstance(X, StoredRows):
        return X
    if not sparse.issparse(X):
        X = np.asarray(X)
        return X if np.issubdtype(X.dtype, np.floating) else X.astype(np.float64)
    X = X.tocsr() if np.issubdtype(X.dtype, np.floating) else X.tocsr().astype(np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _inverse(number: float) -> float:
    """1/number, or 1 for rows that are all alike."""
    return 1.0 / number if number > 0 else 1.0


def _dense_if_small(Z):
    if sparse.issparse(Z) and Z.shape[0] * Z.shape[1] * Z.dtype.itemsize <= _DENSE_BYTES:
        return Z.toarray()
    return Z


def _products(X, Z, out=None) -> np.ndarray:
    """X Zᵀ as a dense array in X's precision, in `out` if given."""
    if not sparse.issparse(X) and not sparse.issparse(Z):
        return np.matmul(X, Z.T.astype(X.dtype, copy=False), out=out)
    products = X @ Z.T
    dense = products.toarray() if sparse.issparse(products) else np.asarray(products)
    return _into(out, dense.astype(X.dtype, copy=False))


def _decay(exponents: np.ndarray) -> np.ndarray:
    """e to the power of the exponents, which are at most 0 but for rounding, written over them."""
    if not compiled.decay(exponents):
        np.minimum(exponents, 0, out=exponents)
        np.exp(exponents, out=exponents)
    return exponents


def _into(out: np.ndarray | None, result: np.ndarray) -> np.ndarray:
    """Put the result where it was asked for, if it is not there already."""
    if out is None or out is result:
        return result
    out[...] = result
    return out
