"""The regressor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from unisvm._base import BaseUniSVM
from unisvm._validation import check_rows_and_targets, check_rows_to_score
from unisvm.distributed.collections import is_dask
from unisvm.distributed.predictions import map_predictions
from unisvm.fitting import fit_estimator
from unisvm.losses.base import REGRESSION, Loss
from unisvm.targets import TargetScaler


@dataclass(eq=False, repr=False)
class UniSVMRegressor(RegressorMixin, BaseUniSVM):
    """Kernel support vector regressor with any least-squares DC loss.

    It minimises λ‖f‖² + mean ψ((y − f(x))/scale) with C = 1/(2λm), where scale is the target's robust scale: 1.4826
    times the median distance from its median. Fitting a·y + b therefore gives a·f + b, and the widths of the losses
    are in units of that scale. Several targets are fitted together.

    Parameters
    ----------
    loss : str or Loss, default="huber"
        A name from ``unisvm.losses.names("regression")``, or an instance with parameters of its own.
    loss_params : dict, optional
        Parameters of a loss that is given by its name, such as ``{"delta": 0.5}``; those of an instance they override.
        ``set_params(loss__delta=0.5)``, and so a grid search over ``loss__delta``, sets them as well.
    C : float or "auto", default="auto"
        Inverse of the regularisation, as in SVR for a target divided by its scale. "auto" chooses it by leave-one-out
        errors of least squares, as in `UniSVMClassifier`; targets that are far from their prediction have no part in
        it.
    kernel, gamma, degree, coef0, kernel_params
        The kernel, as in `UniSVMClassifier`.
    scale : {"standard", "minmax"} or None, default=None
        Scale the columns of X inside, as in `UniSVMClassifier`.
    rank, rank_tol, landmarks
        Its approximation, as in `UniSVMClassifier`.
    indefinite : {"flip", "clip", "krein", "raise"}, default="flip"
        As in `UniSVMClassifier`.
    fit_intercept : bool or "penalised", default=True
        Whether to add an offset, which is not penalised, or is, as in `UniSVMClassifier`. If it is not True, the target
        is scaled but not shifted.
    cells, partitions, relevance, solver, tol, max_iter, warm_start, memory_limit, scratch_dir, checkpoint, n_jobs, \
verbose, random_state
        As in `UniSVMClassifier`.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_targets, rank)
        Coefficients of the landmarks, in the target's units.
    intercept_ : ndarray of shape (n_targets,)
    target_scale_ : ndarray of shape (n_targets,)
        The robust scale of each target.
    target_centre_ : ndarray of shape (n_targets,)
        Its median; 0 without an intercept.
    C_, C_scores_, landmarks_, landmark_vectors_, kernel_, relevances_, feature_importances_, rank_, signature_, \
trace_error_, partitions_, cells_
        As in `UniSVMClassifier`.
    objective_, stationarity_, n_iter_, n_sweeps_, history_
        As in `UniSVMClassifier`; the objective is that of the scaled target.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    UniSVMClassifier : The same for classes.
    sklearn.svm.SVR : The ε-insensitive loss with the full kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm import UniSVMRegressor
    >>> X = np.linspace(-6, 6, 200)[:, None]
    >>> y = np.sinc(X.ravel())
    >>> y[::10] += 5
    >>> model = UniSVMRegressor("welsch", gamma=1.0, random_state=0).fit(X, y)
    >>> bool(np.median(np.abs(model.predict(X) - np.sinc(X.ravel()))) < 0.02)
    True
    """

    _task = REGRESSION

    loss: str | Loss = "huber"

    def fit(self, X, y=None, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, path, or Dask collection
            float32 stays float32. For a precomputed kernel, the square kernel matrix. A path is that of a .npy file, of
            a Parquet file or a folder of them, or of a text file of LIBSVM. Rows in files stay there, and are read by
            blocks; those on Dask stay where their blocks are.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), path of a .npy file, or name of a column
            It may be the name of a column of a Parquet file, and be left out for a file of LIBSVM, which has the
            targets.
        sample_weight : array-like of shape (n_samples,), path of a .npy file, or name of a column, optional
            A row of weight 2 counts as one given twice. It may be the name of a column of a Parquet file.

        Returns
        -------
        self : UniSVMRegressor
        """
        return fit_estimator(self, X, y, sample_weight)

    def _target_encoder(self, n_features: int) -> TargetScaler:
        # a penalised offset depends on where the targets' origin is
        return TargetScaler(bool(self.fit_intercept) and self.fit_intercept != "penalised")

    def _validate(self, X, y, sample_weight):
        return check_rows_and_targets(self, X, y, sample_weight, multi_output=True, y_numeric=True)

    def predict(self, X, *, out=None):
        """Predicted targets.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path
        out : ndarray or memory map, optional
            Where they go: an array of the right shape and type.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        if is_dask(X):
            check_is_fitted(self)
            width = None if self._one_target else len(self.target_scale_)
            return map_predictions(self, "predict", X, n_columns=width, out=out)
        return self._decision(X, self._squeeze, out)

    def _squeeze(self, decision: np.ndarray) -> np.ndarray:
        return decision[:, 0] if self._one_target else decision

    def score(self, X, y=None, sample_weight=None):
        """R² of the predicted targets.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path
        y : array-like of shape (n_samples,) or (n_samples, n_targets), path of a .npy file, or name of a column
            As in `fit`.
        sample_weight : array-like of shape (n_samples,), path of a .npy file, or name of a column, optional

        Returns
        -------
        score : float
        """
        if is_dask(X):
            return super().score(X, y, sample_weight)
        check_is_fitted(self)
        rows, y, sample_weight = check_rows_to_score(self, X, y, sample_weight)
        return r2_score(y, self._decision_of(rows, self._squeeze), sample_weight=sample_weight)

    def trust(self, X, y=None):
        """Trust in each target, from 0 to 1: it falls with the row's loss.

        For a bounded loss it is 1 − ψ(u)/sup ψ, and a row of trust 0 is ignored; `UniSVMClassifier.trust` says below
        which trust a row hardly pulls. For a loss that is not bounded it is 1/(1 + ψ(u)), and no row is ignored. With
        several targets it is the smallest.

        A fit follows its own training rows, wrong ones as well: trust in their targets is best asked of fits that have
        not seen them, as in the example of `UniSVMClassifier.trust` with ``KFold`` for the splits.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path
        y : array-like of shape (n_samples,) or (n_samples, n_targets), path of a .npy file, or name of a column
            As in `fit`.

        Returns
        -------
        trust : ndarray of shape (n_samples,)
        """
        if is_dask(X):
            return map_predictions(self, "trust", X, y, dtype=np.dtype(np.float64))
        check_is_fitted(self)
        rows, y, _ = check_rows_to_score(self, X, y)
        decision = self._decision_of(rows)
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        check_consistent_length(decision, targets)
        targets = targets.reshape(len(targets), -1)
        if targets.shape != decision.shape:
            raise ValueError(f"y must have {decision.shape[1]} columns, as in fit, but has {targets.shape[1]}.")
        return self._trust((targets - decision) / self.target_scale_).min(axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
