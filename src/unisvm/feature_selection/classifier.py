"""The classifier that selects columns."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.model_selection import StratifiedKFold

from unisvm.feature_selection.base import BaseSparseUniSVM, n_splits_of
from unisvm.losses.base import CLASSIFICATION, Loss
from unisvm.targets import SignEncoder, check_labels


@dataclass(eq=False, repr=False)
class SparseUniSVMClassifier(ClassifierMixin, BaseSparseUniSVM):
    """Linear support vector classifier that selects columns of X, with any least-squares DC loss and penalty.

    For standardised columns it minimises

        λ‖w‖² + mean ψ(1 − y f(x)) + α Σ_j φ(w_j),    f(x) = w·x + c,    λ = 1/(2Cm),

    where φ saturates: φ(t) = 1 − exp(−t²/b), or min(t²/b, 1). A weight in use costs about α, however large it is, so
    that it is not pulled to 0 as an ℓ1 penalty pulls it, and the others stay near 0. The columns whose weights are
    beyond the steepest place of φ are selected, in more than half of the fits to all rows and to each split's, and the
    machine is fitted to them alone, without φ. Since t²/b − φ(t) is convex, φ is of the least-squares DC type that the
    loss is of, and one matrix majorises both.

    The strength α is chosen along a path, and the width b among a few, by losses on held-out rows. A bounded loss lets
    the choice bear wrong labels.

    Parameters
    ----------
    loss : str or Loss, default="feng"
        A name from ``unisvm.losses.names("classification")``, or an instance with parameters of its own.
    loss_params : dict, optional
        Parameters of the loss, as in `UniSVMClassifier`.
    C : float, default=1.0
        Inverse of the regularisation λ, as in `UniSVMClassifier`, of standardised columns.
    penalty : {"exponential", "truncated"}, default="exponential"
        φ(t) = 1 − exp(−t²/b) or min(t²/b, 1).
    width : float or "auto", default="auto"
        b, in units of squared weights of standardised columns. Columns whose weight is less than √(b/2) for
        "exponential", or √b for "truncated", are not selected. "auto" chooses among 0.001, 0.003, 0.01 and 0.03.
    alpha : float or "auto", default="auto"
        Strength α of the penalty. With a number, the path ends there. With a number for `width` as well, nothing is
        chosen, and no rows are held out.
    n_alphas : int, default=25
        Values along the path, evenly spaced on a logarithmic scale from about where the first column comes in down to a
        thousandth of it, or to `alpha`.
    alphas : array-like, optional
        The values themselves, for ``alpha="auto"``.
    cv : int, splitter or iterable, optional
        Splits of the rows that choose. A number shuffles the rows by `random_state`; None stands for 5, or as many as
        the smallest class has rows.
    rule : {"best", "one_standard_error"}, default="best"
        "best" takes the width and strength of the least held-out loss. "one_standard_error" takes the fewest columns
        whose loss is above it by no more than a standard error of the difference, estimated from the splits.
    fit_intercept : bool, default=True
        Whether to add an offset, which is not penalised. Without it, columns are scaled but not centred.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weights of each class's rows, as in SVC.
    tol : float, default=1e-4
        As in `UniSVMClassifier`.
    max_iter : int, default=1000
        Most iterations of a step of the path.
    n_jobs : int or None, default=None
        Threads over blocks of rows, as in `UniSVMClassifier`.
    random_state : int, RandomState or None, default=None
        Shuffles the rows for the splits.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    coef_ : ndarray of shape (n_columns, n_features)
        Coefficients of the columns of X as they were given, 0 for those that are not selected. There is one row for two
        classes; for more of them each is fitted against the rest, with the columns that any of them selects.
    intercept_ : ndarray of shape (n_columns,)
    support_ : ndarray of bool of shape (n_features,)
        The columns that are selected; `get_support` gives their indices.
    alpha_, width_ : float
        Of the penalty.
    path_ : SelectionPath
        All candidates: ``width``, ``alpha``, ``support``, ``coef``, ``intercept``, ``objective`` and ``held_out_loss``.
    objective_, stationarity_ : float, or ndarray of shape (n_columns,)
        Of the fit of the selected columns, as in `UniSVMClassifier`.
    n_iter_ : int
        Iterations of the whole path.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    SparseUniSVMRegressor : The same for real targets.
    sklearn.feature_selection.SelectFromModel : Selection by coefficients of another machine.

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm.feature_selection import SparseUniSVMClassifier
    >>> X = np.random.RandomState(0).randn(300, 40)
    >>> y = np.where(X[:, 3] - X[:, 17] + X[:, 30] > 0, "yes", "no")
    >>> y[:30] = np.where(y[:30] == "yes", "no", "yes")
    >>> model = SparseUniSVMClassifier(random_state=0).fit(X, y)
    >>> model.get_support(indices=True)
    array([ 3, 17, 30])
    >>> model.transform(X).shape
    (300, 3)
    """

    _task = CLASSIFICATION

    loss: str | Loss = "feng"
    _: KW_ONLY
    class_weight: dict | str | None = None

    def fit(self, X, y, sample_weight=None):
        """Select columns and fit the machine to them.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or memory map
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as one given twice.

        Returns
        -------
        self : SparseUniSVMClassifier
        """
        return self._fit(X, y, sample_weight)

    def _check_targets(self, y):
        return check_labels(y)

    def _target_encoder(self) -> SignEncoder:
        return SignEncoder(self.class_weight)

    def _splitter(self, y: np.ndarray, weights: np.ndarray, rng: np.random.RandomState) -> Any:
        _, counts = np.unique(y[weights > 0], return_counts=True)
        return StratifiedKFold(n_splits_of(self.cv, counts.min()), shuffle=True, random_state=rng)

    def decision_function(self, X):
        """Signed distance from the boundary, in units of the margin.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or memory map

        Returns
        -------
        decision : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        decision = self._decision(X)
        return decision[:, 0] if decision.shape[1] == 1 else decision

    def predict(self, X):
        """Predicted labels.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or memory map

        Returns
        -------
        labels : ndarray of shape (n_samples,)
        """
        decision = self.decision_function(X)
        return self.classes_[(decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]
