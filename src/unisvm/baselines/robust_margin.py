"""Comparators with bounded losses that solve a quadratic program per step: the robust L1SVM and three robust L2SVMs."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from unisvm.baselines.base import BinaryKernelClassifier
from unisvm.baselines.margin import signed, solve_hinge, solve_squared_hinge
from unisvm.baselines.quadratic import BoxProgram

# a row whose loss has so little slope left changes nothing in the function
_NEGLIGIBLE = 1e-12


@dataclass(eq=False, repr=False)
class _RobustSVM(BinaryKernelClassifier):
    """A comparator with a bounded loss: at most `max_iter` quadratic programs, one after the other."""

    _further_matrices = 2

    a: float = 2.0
    _: KW_ONLY
    max_iter: int = 50


class RampSVM(_RobustSVM):
    """The robust SVM with the ramp loss min(u₊, a) of Collobert et al., and of Wu and Liu, by CCCP.

    The ramp is the hinge minus a shifted hinge. Each step replaces the latter by its slope, which moves the bounds of
    the L1SVM's dual for the rows beyond it, and solves that program.

    Parameters
    ----------
    a : float, default=2.0
        Where the loss stops growing.
    C : float, default=1.0
        As in `UniSVMClassifier`: C = 1/(2λm).
    kernel, gamma, degree, coef0, kernel_params
        As in `UniSVMClassifier`.
    max_iter : int, default=50
        Most programs.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    support_ : ndarray of int
        The rows whose coefficients are not zero.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients, with the sign of the label.
    n_iter_ : int
        Programs that were solved.
    history_ : dict of list
        ``objective``: λ‖f‖² + mean ramp loss after each of them.
    kernel_ : Kernel

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm.baselines import RampSVM
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> RampSVM(C=10.0).fit(X, y).score(X, y)
    1.0
    """

    def _coefficients(self, K, y, weights):
        program = BoxProgram(signed(K, y))
        most = self.C * weights
        beyond = np.zeros(len(y), dtype=bool)
        objective: list[float] = []
        while True:
            alpha = solve_hinge(program, most, beyond)
            margin = program.Q @ alpha
            u = 1 - margin
            ramp = np.minimum(np.maximum(u, 0), self.a)
            objective.append(float(alpha @ margin / (2 * self.C) + weights @ ramp) / weights.sum())
            now = u > self.a
            if np.array_equal(now, beyond):
                break
            if len(objective) == self.max_iter:
                self._warn_unfinished("while rows still crossed the end of the ramp")
                break
            beyond = now
        return y * alpha, {"n_iter_": len(objective), "history_": {"objective": objective}}


@dataclass(eq=False, repr=False)
class RobustL2SVM(_RobustSVM):
    """The robust L2SVM with the truncated squared hinge loss min(u₊², a), u = 1 − y f(x), by DCA.

    The loss is u₊² − (u₊² − a)₊. Each step replaces the second part by its slope, 2u at the rows with u > √a, and
    solves the L2SVM with that slope taken off. It changes u there by α/(2C) only, so that a large C needs many steps.
    Tao et al. found this not satisfactory, and leave the rows out at once instead (`MultiStageSVM`).

    Parameters
    ----------
    a : float, default=2.0
        The most that one row can cost.
    C : float, default=1.0
        As in `UniSVMClassifier`: C = 1/(2λm).
    kernel, gamma, degree, coef0, kernel_params
        As in `UniSVMClassifier`.
    tol : float, default=1e-4
        Stop when the objective falls by less than this share of itself.
    max_iter : int, default=500
        Most programs.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    support_ : ndarray of int
        The rows whose coefficients are not zero.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients, with the sign of the label.
    n_iter_ : int
        Programs that were solved.
    history_ : dict of list
        ``objective``: λ‖f‖² + mean loss after each of them.
    kernel_ : Kernel

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm.baselines import RobustL2SVM
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> RobustL2SVM(C=10.0).fit(X, y).score(X, y)
    1.0
    """

    _: KW_ONLY
    tol: float = 1e-4
    max_iter: int = 500

    def _coefficients(self, K, y, weights):
        program = BoxProgram(signed(K, y))
        excess = np.zeros(len(y))
        objective: list[float] = []
        while True:
            alpha = solve_squared_hinge(program, self.C, weights, excess)
            margin = program.Q @ alpha
            u = np.maximum(1 - margin, 0)
            loss = weights @ np.minimum(u * u, self.a)
            objective.append(float(alpha @ margin / (2 * self.C) + loss) / weights.sum())
            if self._has_settled(objective):
                return y * alpha, {"n_iter_": len(objective), "history_": {"objective": objective}}
            excess = np.where(u * u > self.a, u, 0.0)


class MultiStageSVM(_RobustSVM):
    """The multistage SVM of Tao et al. for the truncated squared hinge loss min(u₊², a).

    An L2SVM is solved, the rows with 1 − y f(x) > √a are left out, and so on until no row is.

    Parameters
    ----------
    a : float, default=2.0
        The most that one row can cost.
    C : float, default=1.0
        As in `UniSVMClassifier`: C = 1/(2λm), where m stays the number of all rows.
    kernel, gamma, degree, coef0, kernel_params
        As in `UniSVMClassifier`.
    max_iter : int, default=50
        Most stages.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    support_ : ndarray of int
        The rows whose coefficients are not zero.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients, with the sign of the label.
    n_iter_ : int
        Stages.
    history_ : dict of list
        ``rows``: how many rows each stage was trained on.
    kernel_ : Kernel

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm.baselines import MultiStageSVM
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> MultiStageSVM(C=10.0).fit(X, y).score(X, y)
    1.0
    """

    def _coefficients(self, K, y, weights):
        program = BoxProgram(signed(K, y))
        kept = np.ones(len(y), dtype=bool)
        sizes: list[int] = []
        while True:
            alpha = solve_squared_hinge(program, self.C, np.where(kept, weights, 0.0))
            sizes.append(int(kept.sum()))
            believed = kept & (1 - program.Q @ alpha <= np.sqrt(self.a))
            if not believed.any() or np.array_equal(believed, kept):
                break
            if len(sizes) == self.max_iter:
                self._warn_unfinished("while rows were still left out")
                break
            kept = believed
        return y * alpha, {"n_iter_": len(sizes), "history_": {"rows": sizes}}


@dataclass(eq=False, repr=False)
class ReweightedL2SVM(_RobustSVM):
    """The robust SVM of Feng et al. with the smooth loss a(1 − exp(−u₊²/a)), by re-weighted L2SVMs.

    The loss is a concave function of u₊²; each step replaces it by its tangent, so that a row counts exp(−u₊²/a).

    Parameters
    ----------
    a : float, default=2.0
        The most that one row can cost.
    C : float, default=1.0
        As in `UniSVMClassifier`: C = 1/(2λm).
    kernel, gamma, degree, coef0, kernel_params
        As in `UniSVMClassifier`.
    tol : float, default=1e-4
        Stop when the objective falls by less than this share of itself.
    max_iter : int, default=50
        Most programs.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    support_ : ndarray of int
        The rows whose coefficients are not zero.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients, with the sign of the label.
    n_iter_ : int
        Programs that were solved.
    history_ : dict of list
        ``objective``: λ‖f‖² + mean loss after each of them.
    kernel_ : Kernel

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm.baselines import ReweightedL2SVM
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> ReweightedL2SVM(C=10.0).fit(X, y).score(X, y)
    1.0
    """

    _: KW_ONLY
    tol: float = 1e-4

    def _coefficients(self, K, y, weights):
        program = BoxProgram(signed(K, y))
        counts = np.ones(len(y))
        objective: list[float] = []
        while True:
            # a row whose weight has vanished has no part in the program
            counted = np.where(counts > _NEGLIGIBLE, weights * counts, 0.0)
            alpha = solve_squared_hinge(program, self.C, counted)
            margin = program.Q @ alpha
            counts = np.exp(-(np.maximum(1 - margin, 0) ** 2) / self.a)
            loss = weights @ (self.a * (1 - counts))
            objective.append(float(alpha @ margin / (2 * self.C) + loss) / weights.sum())
            if self._has_settled(objective):
                return y * alpha, {"n_iter_": len(objective), "history_": {"objective": objective}}
