"""Comparators that solve one quadratic program: L1SVM and L2SVM, and the programs that robust SVMs solve repeatedly.

With Q_ij = y_i y_j k(x_i, x_j) and λm = 1/(2C), the dual of λ‖f‖² + mean s ψ(1 − y f) has

- for the squared hinge the matrix Q + diag(1/(2C s)) and α ≥ 0;
- for the hinge the matrix Q and 0 ≤ α ≤ C s;

and f = Σ α_i y_i k(·, x_i). The paper's β is α/(C m) for the hinge and α/(2C m) for the squared hinge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unisvm.baselines.base import BinaryKernelClassifier
from unisvm.baselines.quadratic import BoxProgram


def signed(K: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Q_ij = y_i y_j K_ij, in memory of its own."""
    Q = y[:, None] * K
    Q *= y
    return Q


def solve_hinge(program: BoxProgram, most: np.ndarray, beyond: np.ndarray | None = None) -> np.ndarray:
    """α of the weighted L1SVM, the minimiser of ½ αᵀQα − Σ α_i within 0 ≤ α ≤ `most`.

    Where `beyond` is true, the slope 1 is taken off that of the loss: there, −`most` ≤ α ≤ 0.
    """
    beyond = np.zeros(len(most), dtype=bool) if beyond is None else beyond
    return program.solve(np.ones(len(most)), np.where(beyond, -most, 0.0), np.where(beyond, 0.0, most))


def solve_squared_hinge(
    program: BoxProgram, C: float, weights: np.ndarray, excess: np.ndarray | None = None
) -> np.ndarray:
    """α of the weighted L2SVM, the minimiser of ½ αᵀQα + Σ α_i²/(4C s_i) − Σ α_i over α ≥ 0.

    Parameters
    ----------
    program : BoxProgram
        Of Q.
    C : float
    weights : ndarray of shape (n,)
        s. A row of weight 0 has no part in the program, and α = 0.
    excess : ndarray of shape (n,), optional
        u_i ≥ 0 whose slopes 2u_i are taken off those of the losses: α_i = 2C s_i (max(1 − y f, 0) − u_i), at least
        −2C s_i u_i.
    """
    excess = np.zeros(len(weights)) if excess is None else excess
    counts = weights > 0
    ridge = 1 / (2 * C * np.where(counts, weights, 1.0))
    lower = np.where(counts, -excess / ridge, 0.0)
    return program.solve(1 - excess, lower, np.where(counts, np.inf, 0.0), ridge)


@dataclass(eq=False, repr=False)
class L1SVM(BinaryKernelClassifier):
    """The SVM with the hinge loss, by its dual min ½ αᵀQα − Σ α_i with 0 ≤ α ≤ C, without an intercept.

    It minimises λ‖f‖² + mean max(1 − y f(x), 0). scikit-learn's `SVC` has the same loss and an intercept.

    Parameters
    ----------
    C : float, default=1.0
        As in `UniSVMClassifier`: C = 1/(2λm).
    kernel, gamma, degree, coef0, kernel_params
        As in `UniSVMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    support_ : ndarray of int
        The rows whose coefficients are not zero.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients, with the sign of the label.
    kernel_ : Kernel

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm.baselines import L1SVM
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> L1SVM(C=10.0).fit(X, y).score(X, y)
    1.0
    """

    _further_matrices = 2

    C: float = 1.0

    def _coefficients(self, K, y, weights):
        return y * solve_hinge(BoxProgram(signed(K, y)), self.C * weights), {}


@dataclass(eq=False, repr=False)
class L2SVM(BinaryKernelClassifier):
    """The SVM with the squared hinge loss, by its dual quadratic program, without an intercept.

    Parameters
    ----------
    C : float, default=1.0
        As in `UniSVMClassifier`: C = 1/(2λm).
    kernel, gamma, degree, coef0, kernel_params
        As in `UniSVMClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    support_ : ndarray of int
        The rows whose coefficients are not zero.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients, with the sign of the label.
    kernel_ : Kernel

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm.baselines import L2SVM
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> L2SVM(C=10.0).fit(X, y).score(X, y)
    1.0
    """

    _further_matrices = 2

    C: float = 1.0

    def _coefficients(self, K, y, weights):
        return y * solve_squared_hinge(BoxProgram(signed(K, y)), self.C, weights), {}
