"""Comparators that solve linear systems: least-squares SVMs in the dual and the primal, and the robust sparse one.

A row's residual is y − f(x) for labels ±1 too, since |1 − y f(x)| = |y − f(x)|: classifiers and regressors share all.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.utils import check_random_state

from unisvm.baselines.base import BinaryKernelClassifier, KernelComparator, KernelRegressor
from unisvm.bases import LandmarkBasis
from unisvm.nystrom.landmarks import choose_landmarks
from unisvm.targets import Attributes


@dataclass(eq=False, repr=False, kw_only=True)
class _Dual(KernelComparator):
    """All rows' coefficients, (K + λm I) β = y."""

    def _coefficients(self, K, y, weights):
        K[np.diag_indices_from(K)] += 1 / (2 * self.C * weights)
        return cho_solve(cho_factor(K, lower=True, overwrite_a=True), y), {}


@dataclass(eq=False, repr=False)
class LSSVM(_Dual, BinaryKernelClassifier):
    """The least-squares SVM in the dual, (K + λm I) β = y, without an intercept.

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
        All rows of positive weight.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients β.
    kernel_ : Kernel

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm.baselines import LSSVM
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> LSSVM(C=10.0).fit(X, y).score(X, y)
    1.0
    """

    C: float = 1.0


@dataclass(eq=False, repr=False)
class LSSVR(_Dual, KernelRegressor):
    """The least-squares SVM for regression in the dual, (K + λm I) β = y, without an intercept.

    Parameters
    ----------
    C : float, default=1.0
        C = 1/(2λm).
    kernel, gamma, degree, coef0, kernel_params
        As in `UniSVMClassifier`.

    Attributes
    ----------
    support_ : ndarray of int
        All rows of positive weight.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients β.
    kernel_ : Kernel

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm.baselines import LSSVR
    >>> X = np.linspace(-3, 3, 100)[:, None]
    >>> LSSVR(C=10.0).fit(X, np.sin(X).ravel()).score(X, np.sin(X).ravel()) > 0.99
    True
    """

    C: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class _LowRank(KernelComparator):
    """Coefficients on landmarks that greedy pivoted Cholesky chose, from least squares on the low-rank features."""

    rank: int = 1000
    rank_tol: float = 1e-3
    random_state: Any = None

    def _solve(self, rows, kernel, targets, weights):
        rng = check_random_state(self.random_state)
        landmarks = choose_landmarks("pivoted_cholesky", rows, kernel, self.rank, self.rank_tol, rng)
        feature_map = LandmarkBasis.of(kernel, landmarks, rows.dtype).feature_map
        P = feature_map.from_values(feature_map.block(rows.X).T).T
        gram = (P.T * weights) @ P
        gram[np.diag_indices_from(gram)] += 1 / (2 * self.C)
        factor = cho_factor(gram, lower=True, overwrite_a=True)

        def least_squares(values: np.ndarray) -> np.ndarray:
            return cho_solve(factor, P.T @ (weights * values))

        w, fitted = self._weights(P, targets, weights, least_squares)
        return np.asarray(landmarks.store_indices)[feature_map.kept], feature_map.to_dual(w[:, None])[:, 0], fitted

    @abstractmethod
    def _weights(
        self, P, y, weights, least_squares: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, Attributes]:
        """Coefficients in the basis of P, and fitted attributes."""


@dataclass(eq=False, repr=False, kw_only=True)
class _Primal(_LowRank):
    """(λm I + PᵀP) w = Pᵀy."""

    def _weights(self, P, y, weights, least_squares):
        return least_squares(y), {}


@dataclass(eq=False, repr=False)
class PrimalLSSVM(_Primal, BinaryKernelClassifier):
    """The least-squares SVM in the primal, with the sparse solution of a low-rank kernel (Zhou 2016).

    Parameters
    ----------
    C : float, default=1.0
        As in `UniSVMClassifier`: C = 1/(2λm).
    kernel, gamma, degree, coef0, kernel_params
        As in `UniSVMClassifier`.
    rank : int, default=1000
        Most landmarks.
    rank_tol : float, default=1e-3
        Fewer are used once they leave out no more than this share of the kernel's trace.
    random_state : int, RandomState or None, default=None
        Chooses the first landmark.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    support_ : ndarray of int
        The landmarks.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients.
    kernel_ : Kernel

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm.baselines import PrimalLSSVM
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = PrimalLSSVM(C=10.0, rank=30, random_state=0).fit(X, y)
    >>> model.score(X, y), len(model.support_) <= 30
    (1.0, True)
    """

    C: float = 1.0


@dataclass(eq=False, repr=False)
class PrimalLSSVR(_Primal, KernelRegressor):
    """The least-squares SVM for regression in the primal, with the sparse solution of a low-rank kernel (Zhou 2016).

    Parameters
    ----------
    C : float, default=1.0
        C = 1/(2λm).
    kernel, gamma, degree, coef0, kernel_params
        As in `UniSVMClassifier`.
    rank : int, default=1000
        Most landmarks.
    rank_tol : float, default=1e-3
        Fewer are used once they leave out no more than this share of the kernel's trace.
    random_state : int, RandomState or None, default=None
        Chooses the first landmark.

    Attributes
    ----------
    support_ : ndarray of int
        The landmarks.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients.
    kernel_ : Kernel

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm.baselines import PrimalLSSVR
    >>> X = np.linspace(-3, 3, 100)[:, None]
    >>> model = PrimalLSSVR(C=10.0, rank=10, random_state=0).fit(X, np.sin(X).ravel())
    >>> model.score(X, np.sin(X).ravel()) > 0.99, len(model.support_) <= 10
    (True, True)
    """

    C: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class _RobustSparse(_LowRank):
    """Algorithm 1 for min(u², a): rows beyond the end of the loss are given their own f(x) as target."""

    a: float = 2.0
    tol: float = 1e-6
    max_iter: int = 500

    def _weights(self, P, y, weights, least_squares):
        targets = y
        objective: list[float] = []
        while True:
            w = least_squares(targets)
            f = P @ w
            squares = (y - f) ** 2
            loss = weights @ np.minimum(squares, self.a)
            objective.append(float(w @ w / (2 * self.C) + loss) / weights.sum())
            if self._has_settled(objective):
                return w, {"n_iter_": len(objective), "history_": {"objective": objective}}
            targets = np.where(squares > self.a, f, y)


@dataclass(eq=False, repr=False)
class RobustSparseLSSVM(_RobustSparse, BinaryKernelClassifier):
    """The robust sparse least-squares SVM of Chen and Zhou: the truncated loss min(u², a), a closed form per step.

    Rows with |1 − y f(x)| > √a are given their own f(x) as target, so that their gradient is 0, and the same linear
    system is solved again.

    Parameters
    ----------
    a : float, default=2.0
        The most that one row can cost.
    C : float, default=1.0
        As in `UniSVMClassifier`: C = 1/(2λm).
    kernel, gamma, degree, coef0, kernel_params
        As in `UniSVMClassifier`.
    rank : int, default=1000
        Most landmarks.
    rank_tol : float, default=1e-3
        Fewer are used once they leave out no more than this share of the kernel's trace.
    tol : float, default=1e-6
        Stop when the objective falls by less than this share of itself.
    max_iter : int, default=500
    random_state : int, RandomState or None, default=None
        Chooses the first landmark.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    support_ : ndarray of int
        The landmarks.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients.
    n_iter_ : int
        Steps.
    history_ : dict of list
        ``objective``: λ‖f‖² + mean loss after each of them.
    kernel_ : Kernel

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm.baselines import RobustSparseLSSVM
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> RobustSparseLSSVM(C=10.0, rank=30, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    a: float = 2.0
    _: KW_ONLY
    tol: float = 1e-6
    max_iter: int = 500


@dataclass(eq=False, repr=False)
class RobustSparseLSSVR(_RobustSparse, KernelRegressor):
    """The robust sparse least-squares SVM for regression: the truncated loss min(u², a), a closed form per step.

    Rows with |y − f(x)| > √a are given their own f(x) as target, so that their gradient is 0, and the same linear
    system is solved again (Chen and Zhou).

    Parameters
    ----------
    a : float, default=2.0
        The most that one row can cost, in squared units of y.
    C : float, default=1.0
        C = 1/(2λm).
    kernel, gamma, degree, coef0, kernel_params
        As in `UniSVMClassifier`.
    rank : int, default=1000
        Most landmarks.
    rank_tol : float, default=1e-3
        Fewer are used once they leave out no more than this share of the kernel's trace.
    tol : float, default=1e-6
        Stop when the objective falls by less than this share of itself.
    max_iter : int, default=500
    random_state : int, RandomState or None, default=None
        Chooses the first landmark.

    Attributes
    ----------
    support_ : ndarray of int
        The landmarks.
    dual_coef_ : ndarray of shape (1, n_support)
        Their coefficients.
    n_iter_ : int
        Steps.
    history_ : dict of list
        ``objective``: λ‖f‖² + mean loss after each of them.
    kernel_ : Kernel

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm.baselines import RobustSparseLSSVR
    >>> X = np.linspace(-3, 3, 100)[:, None]
    >>> y = np.sin(X).ravel()
    >>> y[::10] += 5
    >>> model = RobustSparseLSSVR(C=10.0, rank=10, random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sin(X).ravel()).max() < 0.1)
    True
    """

    a: float = 2.0
    _: KW_ONLY
    tol: float = 1e-6
    max_iter: int = 500
