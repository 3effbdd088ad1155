"""The comparator with the ε-insensitive loss, by its dual quadratic program."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from unisvm.baselines.base import KernelRegressor
from unisvm.baselines.quadratic import BoxProgram


@dataclass(eq=False, repr=False)
class SVR(KernelRegressor):
    """The SVM with the ε-insensitive loss, min ½ (β−β̂)ᵀK(β−β̂) + ε Σ(β+β̂) − yᵀ(β−β̂) with 0 ≤ β, β̂ ≤ C.

    It minimises λ‖f‖² + mean max(|y − f(x)| − ε, 0), and f = Σ (β_i − β̂_i) k(·, x_i) has no intercept. scikit-learn's
    `SVR` has the same loss and an intercept.

    Parameters
    ----------
    C : float, default=1.0
        C = 1/(2λm).
    epsilon : float, default=0.1
        Half the width of the tube in which residuals cost nothing, in units of y.
    kernel, gamma, degree, coef0, kernel_params
        As in `UniSVMClassifier`.

    Attributes
    ----------
    support_ : ndarray of int
        The rows whose coefficients are not zero, or one row if f = 0.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients β − β̂.
    kernel_ : Kernel

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm.baselines import SVR
    >>> X = np.linspace(-3, 3, 100)[:, None]
    >>> model = SVR(C=10.0).fit(X, np.sin(X).ravel())
    >>> bool(np.abs(model.predict(X) - np.sin(X).ravel()).max() <= 0.1 + 1e-9), len(model.support_) < 20
    (True, True)
    """

    # the matrices of the program have twice the rows and columns
    _further_matrices = 8

    C: float = 1.0
    _: KW_ONLY
    epsilon: float = 0.1

    def _coefficients(self, K, y, weights):
        unit = np.abs(y).max() or 1.0
        y, epsilon, most = y / unit, self.epsilon / unit, self.C * weights / unit
        if epsilon == 0:
            # only the difference of β and β̂ is determined then
            return unit * BoxProgram(K).solve(y, -most, most), {}
        program = BoxProgram(np.block([[K, -K], [-K, K]]))
        c = np.concatenate([y, -y]) - epsilon
        above, below = np.split(program.solve(c, np.zeros(len(c)), np.tile(most, 2)), 2)
        return unit * (above - below), {}
