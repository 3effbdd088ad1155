"""The regressor that selects columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.model_selection import KFold

from unisvm.feature_selection.base import BaseSparseUniSVM, n_splits_of
from unisvm.losses.base import REGRESSION, Loss
from unisvm.targets import TargetScaler


@dataclass(eq=False, repr=False)
class SparseUniSVMRegressor(RegressorMixin, BaseSparseUniSVM):
    """Linear support vector regressor that selects columns of X, with any least-squares DC loss and penalty.

    For standardised columns it minimises λ‖w‖² + mean ψ((y − f(x))/scale) + α Σ_j φ(w_j) with the penalties φ of
    `SparseUniSVMClassifier`, where scale is the target's robust scale as in `UniSVMRegressor`; the columns whose
    weights φ lets go of are selected, and the machine is fitted to them alone, without φ.

    Parameters
    ----------
    loss : str or Loss, default="welsch"
        A name from ``unisvm.losses.names("regression")``, or an instance with parameters of its own. The default is
        bounded, and ignores rows whose targets are far off.
    loss_params, C, penalty, width, alpha, n_alphas, alphas, rule, fit_intercept
        As in `SparseUniSVMClassifier`; weights are those of the scaled target.
    cv : int, splitter or iterable, optional
        Splits of the rows that choose. A number shuffles the rows by `random_state`; None stands for 5.
    tol, max_iter, n_jobs, random_state
        As in `SparseUniSVMClassifier`.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        Coefficients of the columns of X as they were given, 0 for those that are not selected.
    intercept_ : ndarray of shape (1,)
    target_scale_, target_centre_ : ndarray of shape (1,)
        As in `UniSVMRegressor`.
    support_, alpha_, width_, path_, objective_, stationarity_, n_iter_
        As in `SparseUniSVMClassifier`; objectives and losses are those of the scaled target.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    SparseUniSVMClassifier : The same for classes.

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm.feature_selection import SparseUniSVMRegressor
    >>> X = np.random.RandomState(0).randn(300, 40)
    >>> y = 10 * X[:, 3] - 5 * X[:, 17] + 1
    >>> y[:30] += 500
    >>> model = SparseUniSVMRegressor(random_state=0).fit(X, y)
    >>> model.get_support(indices=True)
    array([ 3, 17])
    >>> model.coef_[0, [3, 17]].round(1)
    array([10., -5.])
    """

    _task = REGRESSION

    loss: str | Loss = "welsch"

    def fit(self, X, y, sample_weight=None):
        """Select columns and fit the machine to them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or memory map
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as one given twice.

        Returns
        -------
        self : SparseUniSVMRegressor
        """
        return self._fit(X, y, sample_weight)

    def _check_targets(self, y):
        return y

    def _target_encoder(self) -> TargetScaler:
        return TargetScaler(bool(self.fit_intercept))

    def _splitter(self, y: np.ndarray, weights: np.ndarray, rng: np.random.RandomState) -> Any:
        return KFold(n_splits_of(self.cv, int((weights > 0).sum())), shuffle=True, random_state=rng)

    def predict(self, X):
        """Predicted targets.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or memory map

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._decision(X)[:, 0]
