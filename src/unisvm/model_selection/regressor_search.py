"""The regressor that chooses loss, C, kernel and gamma by cross-validation, with prediction intervals."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from unisvm._checks import check_number, one_of
from unisvm._validation import check_rows_and_targets
from unisvm.distributed.collections import is_dask
from unisvm.distributed.predictions import map_predictions
from unisvm.kernels.base import as_rows
from unisvm.losses.base import REGRESSION
from unisvm.model_selection.axes import KernelChoice
from unisvm.model_selection.base import BaseSearch, begin_search, fit_search
from unisvm.model_selection.outcome import store_outcome
from unisvm.model_selection.residual_quantiles import INTERVALS, fit_intervals
from unisvm.parallel import count_threads
from unisvm.regressor import UniSVMRegressor
from unisvm.robust_scale import as_columns

# the default scoring
_MEDIAN_ERROR = "neg_median_absolute_error"


@dataclass(eq=False, repr=False)
class UniSVMRegressorCV(RegressorMixin, BaseSearch):
    """Kernel support vector regressor that chooses its loss, C, kernel and gamma by cross-validation.

    It works as `UniSVMClassifierCV` does. Each fold has its own robust scale of the target. `score` is that of the
    search's scorer, as in `GridSearchCV`: by default the median absolute error with a minus sign, and not R² as in
    `UniSVMRegressor`; ``scoring="r2"`` searches by R², and `best_estimator_` has it as its `score` in any case.

    Parameters
    ----------
    losses : sequence of str or Loss, or None, default=None
        The losses to choose from. None stands for "huber", "welsch" and "truncated_huber": the last two ignore
        targets that are far off.
    Cs : int or array-like, default=10
        So many values from 0.1 to 1000, or the values themselves.
    gammas, kernel, cv, refit, search
        As in `UniSVMClassifierCV`; the default folds are not stratified.
    scoring : str, callable or None, default="neg_median_absolute_error"
        Any scorer of scikit-learn. The default does not let wrong targets in the held-out folds decide; None is R².
        Losses that are not symmetric, such as "pinball" with ``tau=0.1``, aim elsewhere than the default does, and are
        refused with it: they need a scorer of their own, such as ``make_scorer(mean_pinball_loss, alpha=0.1,
        greater_is_better=False)``.
    intervals : {"auto", "constant"}, default="auto"
        Widths of `predict_interval`: "auto" fits quantiles of the residuals as functions of the rows, in a small part
        of the search's time, and takes them where they are better than a constant width; "constant" does not try, and
        neither does a search with `cells`.
    cells, partitions
        As in `UniSVMClassifierCV`.
    degree, coef0, kernel_params, scale, rank, rank_tol, landmarks, indefinite, fit_intercept, tol, max_iter, \
memory_limit, scratch_dir, n_jobs, verbose, random_state
        As in `UniSVMRegressor`, but ``indefinite="krein"`` is refused.
    checkpoint : str or Path, optional
        As in `UniSVMClassifierCV`.

    Attributes
    ----------
    best_estimator_ : UniSVMRegressor
        The best cell fitted on all rows.
    oof_decision_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Predictions of the best cell for the rows that its folds left out.
    intervals_ : PredictionIntervals
        What `predict_interval` knows of the residuals: their `scores` in rising order, with the `weights` of their
        rows; `varies` says for which targets the width varies with the rows. Not there with ``refit=False``.
    best_params_, best_score_, best_index_, cv_results_, C_, gamma_, loss_, kernel_, n_splits_, scorer_, \
refit_time_, n_iter_, searched_rows_
        As in `UniSVMClassifierCV`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    UniSVMClassifierCV : The same for labels.

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm import UniSVMRegressorCV
    >>> X = np.linspace(-3, 3, 200)[:, None]
    >>> y = np.sinc(X[:, 0])
    >>> y[::10] += 100
    >>> model = UniSVMRegressorCV(Cs=[1.0, 10.0, 100.0], gammas=[1.0, 4.0], cv=4, random_state=0).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sinc(X[:, 0])).max() < 0.05)
    True
    """

    _plain, _task = UniSVMRegressor, REGRESSION
    _default_losses = ("huber", "welsch", "truncated_huber")
    _C_range = 1e-1, 1e3
    _usable_scorings = (_MEDIAN_ERROR, "neg_mean_absolute_error", "r2")

    losses: Any = None
    _: KW_ONLY
    scoring: Any = _MEDIAN_ERROR
    intervals: str = "auto"

    def fit(self, X, y=None, sample_weight=None, **params):
        """Score the grid, and fit its best cell on all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, path, or Dask collection
            Of rows on Dask, at most 50,000 are searched on, drawn evenly; `searched_rows_` has their indices, and the
            refit is on all rows.
        y : array-like of shape (n_samples,) or (n_samples, n_targets), path of a .npy file, or name of a column
            From files as in `UniSVMRegressor.fit`.
        sample_weight : array-like of shape (n_samples,), path of a .npy file, or name of a column, optional
            Weights of the rows, in training and in scores by a scorer that takes them, as in `GridSearchCV`. With
            metadata routing, a scorer that is given as an object has to ask for them.
        **params : dict
            ``groups`` for the splitter; with metadata routing, whatever the splitter and the scorer ask for.

        Returns
        -------
        self : UniSVMRegressorCV
        """
        one_of("intervals", self.intervals, INTERVALS)
        with begin_search(self, X, y, sample_weight) as start:
            job, scores, attributes, _ = fit_search(self, start, X, y, sample_weight, params)
            if self.refit:
                choice = KernelChoice(attributes["kernel_"], attributes["gamma_"])
                attributes["intervals_"] = fit_intervals(self.intervals, job, choice, scores.decision, start.report)
            decision = scores.decision[:, 0] if job.y.ndim == 1 else scores.decision
            store_outcome(self, attributes | {"oof_decision_": decision})
        return self

    def _validate(self, X, y, sample_weight):
        return check_rows_and_targets(self, X, y, sample_weight, multi_output=True, y_numeric=True)

    def _check_scoring(self, losses) -> None:
        if not (isinstance(self.scoring, str) and self.scoring == _MEDIAN_ERROR):
            return
        for i, loss in enumerate(losses):
            if not loss.is_symmetric:
                raise ValueError(
                    f"scoring={_MEDIAN_ERROR!r}, the default, judges fits by their distance from the middle of the "
                    f"targets, where losses[{i}], {loss!r}, does not aim. Pass a scorer of what it aims at, with "
                    "sklearn.metrics.make_scorer: for a quantile scoring=make_scorer(mean_pinball_loss, alpha=tau, "
                    "greater_is_better=False), for any loss make_scorer(lambda y, predicted: "
                    "loss.value(y - predicted).mean(), greater_is_better=False)."
                )

    def score(self, X, y=None, **params):
        """Score of the best estimator by the scorer of the search, as in `GridSearchCV`: R² only if that is the scorer.

        By default it is the median absolute error with a minus sign, at most 0. ``best_estimator_.score`` is R².

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path
        y : array-like of shape (n_samples,) or (n_samples, n_targets), path of a .npy file, or name of a column
            As in `fit`.
        **params : dict
            Further arguments of the scorer, such as sample_weight.

        Returns
        -------
        score : float
        """
        return BaseSearch.score(self, X, y, **params)

    def predict_interval(self, X, coverage=0.9):
        """Intervals that hold this share of the targets of new rows.

        They are made from the residuals of `oof_decision_`, without further fits of the model: any coverage can be
        asked for, and intervals of a higher one contain those of a lower one. A share holds over rows as those of the
        fit, not at every x.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, path, or Dask collection
        coverage : float, default=0.9
            Between 0 and 1. At most (n − 1)/(n + 1) for n rows of equal weight.

        Returns
        -------
        intervals : ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper ends, in double precision.

        Examples
        --------
        >>> import numpy as np
        >>> from unisvm import UniSVMRegressorCV
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-2, 2, (600, 1))
        >>> y = X[:, 0] + (0.1 + (X[:, 0] > 0)) * rng.normal(size=600)
        >>> model = UniSVMRegressorCV(Cs=[0.1, 1.0], gammas=[0.5], random_state=0).fit(X, y)
        >>> low, high = model.predict_interval([[-1.0], [1.0]], coverage=0.8).T
        >>> (high - low).round(1)
        array([0.2, 2.6])
        """
        check_number("coverage", coverage, 0, 1)
        X = self._rows(X)
        if not hasattr(self, "intervals_"):
            raise AttributeError(
                "This model was fitted by a version of unisvm without prediction intervals. Fit it anew to have them."
            )
        if is_dask(X):
            width = (*self.oof_decision_.shape[1:], 2)
            arguments, dtype = {"coverage": coverage}, np.dtype(np.float64)
            return map_predictions(self, "predict_interval", X, dtype=dtype, n_columns=width, arguments=arguments)
        predicted = self.best_estimator_.predict(X)
        with np.errstate(all="ignore"):
            ends = self.intervals_(as_columns(predicted), as_rows(X), coverage, count_threads(self.n_jobs))
        return ends[:, 0] if predicted.ndim == 1 else ends
