"""The classifier that chooses loss, C, kernel and gamma by cross-validation, a whole grid at the cost of a few fits."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin

from unisvm._checks import one_of
from unisvm._validation import check_rows_and_targets
from unisvm.classifier import UniSVMClassifier
from unisvm.distributed.collections import is_dask
from unisvm.distributed.predictions import map_predictions
from unisvm.losses.base import CLASSIFICATION
from unisvm.model_selection.base import BaseSearch, begin_search, fit_search
from unisvm.model_selection.calibration import METHODS, calibrate
from unisvm.model_selection.outcome import store_outcome
from unisvm.model_selection.suspects import refit_without_suspects
from unisvm.targets import check_labels, signs_of


@dataclass(eq=False, repr=False)
class UniSVMClassifierCV(ClassifierMixin, BaseSearch):
    """Kernel support vector classifier that chooses its loss, C, kernel and gamma by cross-validation.

    For each kernel and gamma the landmarks and the features are made once, from all rows but without their labels.
    Every fold, loss and class is then a column of one batched solve, started from the solution for the C before, or
    from that of the squared hinge. A whole grid costs as much as a few fits. For convex losses the scores are those
    that `GridSearchCV` over `UniSVMClassifier` with the same landmarks would give; the others have several minima, and
    may end in another one. Their refit starts from the mean of the folds' functions, to end where they were scored.

    Parameters
    ----------
    losses : sequence of str or Loss, or None, default=None
        The losses to choose from. None stands for "squared_hinge", "smooth_hinge" and "saturating": the last
        ignores rows that are far on the wrong side.
    Cs : int or array-like, default=10
        So many values from 0.01 to 100, or the values themselves.
    gammas : int, array-like, str or None, default=None
        So many values a factor of 4 apart around the scale of the rows, five when None, or the values themselves.
        Kernels without a gamma ignore it.
    cv : int, splitter, iterable or None, default=None
        The splits, as in `GridSearchCV`; None is five stratified folds.
    scoring : str, callable or None, default=None
        Any scorer of scikit-learn. None is the accuracy, which wrong labels in the held-out folds lower for all cells
        alike.
    refit : bool, default=True
        Whether to fit the best cell on all rows.
    search : {"auto", "adaptive", "halving", "full"}, default="auto"
        "full" scores all cells. "adaptive" judges kernels and values of gamma by leave-one-out errors of least squares
        on at most 10,000 rows. For the best three, if they are close, it scores every loss with the C that suits it,
        then the best loss with the values of C beside it, both with few landmarks, and the best cell with all
        landmarks. "halving" rules out kernels on samples of 2,000, 8,000, … rows. Scores of cells that are not tried
        are NaN. "auto" is "adaptive" where `Cs` and `gammas` are numbers of values or None, and "full" where the
        values are given.
    drop_suspects : bool, default=True
        With three classes or more: find the rows whose label is clearly contradicted by fits that did not see them
        and, if they are many, and as frequent where the fits are sure as elsewhere, leave them out of the refit where
        the score then rises, by more than its standard error and by 0.005, on rows that had no part in finding them. A
        `FitWarning` says how many rows of which classes are left out. Not for several labels a row.
    calibration : {"sigmoid", "isotonic", "temperature"}, default="sigmoid"
        Curve from decisions f to probabilities in `predict_proba`, one for each class; or one temperature T for all
        of them, softmax(f / T).
    kernel : str, Kernel, callable or a sequence of them, default="auto"
        The kernel as in `UniSVMClassifier`, or several to choose from. "auto" stands for "rbf" and "laplacian", each
        with its own range of gamma: the second one suits columns that matter one by one, as trees treat them, and
        wrong labels. Where `gammas` is given, "auto" is "rbf", the kernel of `UniSVMClassifier`.
    cells, partitions
        As in `UniSVMClassifier`: the grid is searched in eight cells, each by itself, and the mean of their scores
        decides. No suspects are looked for then, and the default values of gamma are higher.
    degree, coef0, kernel_params, scale, rank, rank_tol, landmarks, indefinite, fit_intercept, class_weight, \
multi_class, tol, max_iter, memory_limit, scratch_dir, n_jobs, verbose, random_state
        As in `UniSVMClassifier`, but ``indefinite="krein"``, which has no minimum for some losses and C, is
        refused.
    checkpoint : str or Path, optional
        A folder for the scores of every kernel and gamma that is done, and for the stages of the refit. The same call
        resumes from there after it was killed, to the same model.

    Attributes
    ----------
    best_params_ : dict
        C, gamma and loss of the best cell, and its kernel if there were several to choose from.
    C_, gamma_, loss_, kernel_
        The same, one by one.
    best_score_ : float
    best_index_ : int
    best_estimator_ : UniSVMClassifier
        The best cell fitted on all rows; if suspects were left out, on the others, and perhaps with the next higher C
        of the grid. Its `signature_` and `trace_error_` tell what was kept of the kernel.
    suspects_ : ndarray of int
        Row indices that the refit left out.
    cv_results_ : dict
        Scores of all cells in the layout of `GridSearchCV`. The times are a cell's share of its batch. After an
        adaptive search ``n_landmarks`` says how many landmarks a cell was tried with, 0 if it was not, and the best
        cell is the best of those with the most.
    oof_decision_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Decisions of the best cell on the rows that its folds left out, as `decision_function` gives them; fitted
        without suspects if the refit is.
    calibration_ : Calibration or Temperature
        The curve from decisions to probabilities, one for each column, or the temperature of all.
    searched_rows_ : ndarray of int
        For rows on Dask, and with `cells`, the indices of those that were searched on, which `oof_decision_` is of.
    classes_ : ndarray
    n_splits_ : int
    scorer_ : callable
    refit_time_ : float
        Seconds.
    n_iter_ : int
        Iterations of the refit.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    UniSVMRegressorCV : The same for real targets.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm import UniSVMClassifierCV
    >>> X, y = make_moons(300, noise=0.2, random_state=0)
    >>> model = UniSVMClassifierCV(Cs=[0.1, 1.0, 10.0], gammas=[0.5, 2.0], random_state=0).fit(X, y)
    >>> sorted(model.best_params_)
    ['C', 'gamma', 'loss']
    >>> model.best_score_ > 0.95, model.predict_proba(X).shape
    (True, (300, 2))
    """

    _plain, _task = UniSVMClassifier, CLASSIFICATION
    _default_losses = ("squared_hinge", "smooth_hinge", "saturating")
    _C_range = 1e-2, 1e2
    _switches = ("refit", "drop_suspects")
    _usable_scorings = ("accuracy", "balanced_accuracy", "f1_macro", "roc_auc", "average_precision")
    score = BaseSearch.score

    losses: Any = None
    _: KW_ONLY
    drop_suspects: bool = True
    calibration: str = "sigmoid"
    class_weight: dict | str | None = None
    multi_class: str = "auto"

    def fit(self, X, y=None, sample_weight=None, **params):
        """Score the grid, and fit its best cell on all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, path, or Dask collection
            Of rows on Dask, at most 50,000 are searched on, drawn evenly; `searched_rows_` has their indices, and the
            refit is on all rows.
        y : array-like of shape (n_samples,) or (n_samples, n_labels), path of a .npy file, or name of a column
            Labels of any type, or a multilabel indicator matrix; from files as in `UniSVMClassifier.fit`.
        sample_weight : array-like of shape (n_samples,), path of a .npy file, or name of a column, optional
            Weights of the rows, in training and in scores by a scorer that takes them, as in `GridSearchCV`. With
            metadata routing, a scorer that is given as an object has to ask for them.
        **params : dict
            ``groups`` for the splitter; with metadata routing, whatever the splitter and the scorer ask for.

        Returns
        -------
        self : UniSVMClassifierCV
        """
        one_of("calibration", self.calibration, METHODS)
        with begin_search(self, X, y, sample_weight) as start:
            job, scores, attributes, clean = fit_search(self, start, X, y, sample_weight, params)
            classes, best = job.target_attributes["classes_"], scores if clean is None else clean
            decision, functions = best.decision, best.functions
            as_new = decision
            if functions is not None:
                as_new = functions.decide_as_new(job.X, job.splits, decision)
            multilabel = job.y.ndim == 2
            positive = signs_of(job.y, classes, decision.dtype) > 0
            # a class of weight 0 is left out
            weights = job.weights if multilabel else job.weights * np.isin(job.y, classes)
            attributes |= {
                "classes_": classes,
                "_multilabel": multilabel,
                "suspects_": np.empty(0, dtype=np.intp) if clean is None else np.flatnonzero(clean.suspects),
                "oof_decision_": decision if multilabel or decision.shape[1] > 1 else decision[:, 0],
                "calibration_": calibrate(self.calibration, as_new, positive, weights, exclusive=not multilabel),
            }
            store_outcome(self, attributes)
        return self

    def _validate(self, X, y, sample_weight):
        X, y, sample_weight = check_rows_and_targets(self, X, y, sample_weight, multi_output=True)
        return X, check_labels(y), sample_weight

    def _refit_without_suspects(self, job, cell, scores, report):
        if not self.drop_suspects or job.y.ndim == 2:
            return None
        return refit_without_suspects(job, cell, scores.few_values, scores.decision, report)

    def _check_splits(self, y, weights, splits) -> None:
        if y.ndim == 2:
            return
        for k, (train, _) in enumerate(splits):
            if len(found := np.unique(y[train][weights[train] > 0])) < 2:
                raise ValueError(
                    f"cv: split {k} has training rows of one class only, {found.item(0)!r}. "
                    "Use stratified folds, as cv=5 does, or shuffle the rows."
                )

    def decision_function(self, X):
        """Signed distances of the best estimator.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path

        Returns
        -------
        decision : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        X = self._rows(X)
        return self.best_estimator_.decision_function(X)

    def predict_proba(self, X):
        """Probabilities of the classes, or of each label.

        They are made from the decisions by a curve that was fitted to those on the rows left out, as
        `CalibratedClassifierCV` with ``ensemble=False`` and the same folds does: to `oof_decision_`, of which those on
        landmarks are as if the row were none.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        if is_dask(X):
            return map_predictions(self, "predict_proba", X, dtype=np.dtype(np.float64), n_columns=len(self.classes_))
        decision = self.decision_function(X)
        columns = decision[:, None] if decision.ndim == 1 else decision
        return self.calibration_.probabilities(columns, exclusive=not self._multilabel)

    def predict_log_proba(self, X):
        """Logarithms of the probabilities.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path

        Returns
        -------
        log_probabilities : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
