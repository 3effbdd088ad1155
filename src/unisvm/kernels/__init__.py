"""Kernels: blocks of k(x, z), and the diagonal k(x, x) without the matrix.

A kernel is called as ``kernel(X, Z)``. For many blocks of X against the same points, ``kernel.against(Z)`` does
what depends on Z once and returns the function that is left.
"""

from __future__ import annotations

from unisvm._checks import one_of
from unisvm.kernels.base import Kernel
from unisvm.kernels.given import Function, Precomputed
from unisvm.kernels.laplacian import Laplacian
from unisvm.kernels.products import Linear, Polynomial, Sigmoid
from unisvm.kernels.rbf import RBF
from unisvm.kernels.scaled import Scaled

__all__ = ["RBF", "Function", "Kernel", "Laplacian", "Linear", "Polynomial", "Precomputed", "Scaled", "Sigmoid", "get"]


def __dir__() -> list[str]:
    return sorted(__all__)


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
    named: dict[str, Kernel] = {
        "linear": Linear(),
        "rbf": RBF(gamma),
        "laplacian": Laplacian(gamma),
        "poly": Polynomial(gamma, degree, coef0),
        "sigmoid": Sigmoid(gamma, coef0),
        "precomputed": Precomputed(),
    }
    return named[one_of("kernel", kernel, named)]
