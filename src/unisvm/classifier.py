"""The classifier."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import column_or_1d
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from unisvm._base import BaseUniSVM
from unisvm._validation import check_rows_and_targets, check_rows_to_score
from unisvm.bases import uses_columns
from unisvm.class_pairs import class_scores
from unisvm.distributed.collections import is_dask
from unisvm.distributed.predictions import map_predictions
from unisvm.fitting import fit_estimator
from unisvm.losses.base import CLASSIFICATION, Loss
from unisvm.nystrom.column_map import has_many_columns
from unisvm.targets import SignEncoder, check_labels


@dataclass(eq=False, repr=False)
class UniSVMClassifier(ClassifierMixin, BaseUniSVM):
    """Kernel support vector classifier with any least-squares DC loss.

    It minimises λ‖f‖² + mean ψ(1 − y f(x)) with C = 1/(2λm), as scikit-learn's SVC does for the hinge loss. The kernel
    is approximated by `rank` landmark rows, so that a fit costs a few tens of sweeps over an m × rank matrix. Several
    classes are fitted in pairs, all together. By default C follows from the data: low where labels are often wrong.

    Parameters
    ----------
    loss : str or Loss, default="feng"
        A name from ``unisvm.losses.names("classification")``, or an instance with parameters of its own. The default
        ignores rows that are far on the wrong side, and so shrugs off wrong labels.
    loss_params : dict, optional
        Parameters of a loss that is given by its name, such as ``{"a": 2.0}``; those of an instance they override.
        ``set_params(loss__a=2.0)``, and so a grid search over ``loss__a``, sets them as well.
    C : float or "auto", default="auto"
        Inverse of the regularisation, as in SVC: C = 1/(2λm), where m is the sum of the weights. "auto" chooses it by
        leave-one-out errors of least squares on the same features, on at most 5,000 rows or five times the rank, and
        carries it over to the loss; `C_` is the choice and `C_scores_` its reason.
    kernel : {"linear", "rbf", "laplacian", "poly", "sigmoid", "precomputed"}, Kernel or callable, default="rbf"
        A callable is given two arrays of rows and returns the matrix between them, as in SVC.
    gamma : float, "scale" or "auto", default="scale"
        Of the rbf, laplacian, poly and sigmoid kernels. "scale" is 1/(n_features · X.var()), as in SVC, and
        1/(n_features · X.std()) for the laplacian kernel, whose distances are not squared; "auto" is 1/n_features.
    degree, coef0 : float, default=3 and 0.0
        Of the poly kernel; `coef0` also of the sigmoid kernel.
    kernel_params : dict, optional
        Further arguments of a kernel function.
    scale : {"standard", "minmax"} or None, default=None
        Scale the columns of X inside, by the training rows: "standard" to mean 0 and variance 1, "minmax" to the range
        from 0 to 1. Zeros of sparse rows stay zeros: they are divided by the deviation, or by the largest absolute
        value. Rows are scaled as they are read, also those in files and on Dask; new rows and landmarks of your own are
        given in the units of X. None takes X as it is.
    rank : int or None, default=1000
        Most landmarks, of each cell if there are `cells`. None uses the full kernel, which needs memory for m² numbers.
        When there are no more rows than this, all distinct rows are landmarks.
    rank_tol : float, default=1e-3
        Use fewer landmarks when the trace they leave out falls below this share, on the rows that they are chosen from:
        all for "pivoted_cholesky", else those of a sample that are no landmarks.
    landmarks : {"rpcholesky", "pivoted_cholesky", "uniform"}, LandmarkRule or array, default="rpcholesky"
        Randomly pivoted Cholesky on a sample of rows, greedily pivoted Cholesky on all rows, or rows at random. A 1-D
        array of integers gives row indices, a 2-D array the points themselves. An object with a method ``choose`` is a
        rule of your own: see `unisvm.nystrom.LandmarkRule`.
    indefinite : {"flip", "clip", "krein", "raise"}, default="flip"
        For a kernel that is not positive semidefinite, such as a sigmoid or a similarity of your own, k = k₊ − k₋ with
        two that are. "flip" penalises both parts of f, ‖f₊‖² + ‖f₋‖², so that nothing is lost and every loss has a
        minimum. "clip" leaves f₋ out. "krein" has the penalty ‖f₊‖² − ‖f₋‖² of the kernel itself, and finds a
        stationary point. There f₋ is bounded by the loss alone: "least_squares" does that, with small negative
        eigenvalues penalised as in "flip"; a loss that does not, since it grows more slowly than the square of every
        residual, is refused. "raise" refuses the kernel. With fewer landmarks than rows, the smallest eigenvalues that
        make up the share `rank_tol` are left out. See docs/indefinite.md.
    fit_intercept : bool or "penalised", default=True
        Whether to add an offset. It is not penalised, unless it is "penalised": then b² is added to ‖f‖², as for the
        kernel k + 1, or for a further column of ones with a linear kernel.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weights of each class's rows, as in SVC.
    multi_class : {"auto", "ovo", "ovr"}, default="auto"
        Three classes or more are fitted in pairs, as in SVC, or each against the rest. In pairs they bear wrong labels
        better: against the rest, a bounded loss may give up all rows of a class. "auto" stands for pairs, but of a
        linear kernel with more than 2,000 columns for each against the rest (benchmarks/linear.py), and of an
        indefinite one with ``indefinite="krein"``, whose negative part all rows hold better than those of two classes.
    cells : int, "auto" or None, default=None
        Part the space of the columns into cells of at most so many different rows, each with a machine of its own, of
        the same kernel and C: many rows are told apart by many more landmarks, in a time that grows as their number.
        "auto" stands for 2,000 rows. High gammas suit small cells; see docs/cells.md.
    partitions : int, default=1
        With `cells`, the rows are parted so many times, each time otherwise, and decisions are the mean.
    relevance : "learned", array-like of shape (n_features,) or None, default=None
        What the kernel multiplies the columns of X by, after `scale`; one of relevance 0 has no part. "learned" takes
        the root of the mean squared derivative of f along a column, by a few fits to a sample of rows, and stays at 1
        where leave-one-out errors do not gain by it.
    solver : {"lbfgs", "dca"} or Solver, default="lbfgs"
        "dca" is the paper's Algorithm 1, ``unisvm.solvers.DCA``. An object with a method ``begin`` is a solver of your
        own: see `unisvm.solvers.Solver`.
    tol : float, default=1e-4
        Stop when the decrease that is still to be had is below this share of the objective, both by one more step of
        the majoriser and by the solver's own model of the curvature.
    max_iter : int, default=1000
        Most iterations.
    warm_start : bool, default=False
        Start from the function of the previous fit.
    memory_limit : str, int, float or None, default=None
        Memory that a fit may take beside X: a size such as "4GB", bytes, or a share of the machine's. Features that
        take more go to a scratch file. A fit that would need more even so is refused before it starts.
    scratch_dir : str or Path, optional
        For that file, which is gone after the fit, and rows that are read from Parquet files or text; the system's
        folder for temporary files when None.
    checkpoint : str or Path, optional
        A folder, made if it is not there, for the stages of the fit. The same call resumes from there after the process
        was killed, and returns the finished model at once when the fit had ended. Each fit needs its own: one of other
        data or parameters is refused. A function of yours, such as a kernel, is known by its code, its closure and the
        global numbers, texts and arrays that it reads; after a change of what else it uses, give another folder.
    n_jobs : int or None, default=None
        Threads, at most one a processor: a larger number stands for all processors, as -1 does. None takes as many as
        NumPy's matrix products do.
    verbose : int, default=0
        1 prints the stages of a fit, and while it takes more than a few seconds how far it is; 2 each iteration, too.
    random_state : int, RandomState or None, default=None
        Chooses the landmarks.

    Attributes
    ----------
    classes_ : ndarray
        The labels; column indices for multilabel targets.
    C_ : float
        C of the fit.
    C_scores_ : dict of ndarray
        For ``C="auto"``, the values of ``C`` of least squares that were compared and the mean squared leave-one-out
        ``error`` of each; empty arrays otherwise.
    dual_coef_ : ndarray of shape (n_columns, rank)
        Coefficients of the landmarks. There is one column for two classes, and for more of them one for each pair, in
        the order (0, 1), (0, 2), …, (1, 2), …, or one for each class with ``multi_class="ovr"``.
    intercept_ : ndarray of shape (n_columns,)
    landmarks_ : ndarray of int or None
        Row indices of the landmarks; None when points were given.
    landmark_vectors_ : ndarray or CSR matrix
        The landmarks; their indices for a precomputed kernel.
    kernel_ : Kernel
        The kernel with its gamma as a number.
    relevances_, feature_importances_ : ndarray of shape (n_features,)
        With `relevance`: what columns are multiplied by after `scale`, and the share of each in the mean squared
        derivatives of f along columns of variance 1, on a sample of rows.
    rank_ : int
        Number of landmarks, less those that add nothing to the others.
    signature_ : (int, int)
        Numbers of positive and of negative eigenvalues of the kernel matrix of the landmarks that have a part.
    trace_error_ : float
        Share of the kernel's trace that they leave out; of a kernel that is not positive semidefinite, the share of the
        sum of its absolute eigenvalues, on a sample of rows.
    objective_, stationarity_ : float, or ndarray of shape (n_columns,)
        The final objective, and the decrease that one more step of the majoriser promises, relative to it.
    n_iter_, n_sweeps_ : int, or n_sweeps_ an ndarray of shape (n_columns,)
        Numbers of entries of `history_`, and of sweeps over the training rows.
    history_ : dict of lists
        ``objective``, ``stationarity``, ``seconds`` and ``n_sweeps``: where the solver starts, and an entry for each
        iteration that has moved it.
    partitions_ : list of CellTree
        With `cells`: ``partitions_[0].cells_of(X)`` is the cell of each row.
    cells_ : list of UniSVMClassifier
        With `cells`, their machines, which have the landmarks and coefficients; `rank_`, `trace_error_`, `objective_`,
        `stationarity_` and `n_sweeps_` then have an entry for each of them.
    pairs_ : ndarray of int of shape (n_columns, 2) or None
        Indices in `classes_` of the two classes of each column, for classes fitted in pairs.
    multilabel_ : bool
        Whether y was a multilabel indicator matrix.
    n_features_in_, feature_names_in_ : int and ndarray of str

    See Also
    --------
    UniSVMRegressor : The same for real targets.
    UniSVMClassifierCV : The same with loss, C and kernel chosen by cross-validation, and with `predict_proba`.
    sklearn.calibration.CalibratedClassifierCV : Probabilities for this classifier.
    sklearn.svm.SVC : The hinge loss with the full kernel.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm import UniSVMClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> y[:20] = 1 - y[:20]
    >>> model = UniSVMClassifier(random_state=0).fit(X, y)
    >>> model.score(X[20:], y[20:])
    1.0
    >>> int((model.trust(X, y) < 0.5)[:20].sum()), int((model.trust(X, y) < 0.5)[20:].sum())
    (18, 0)
    """

    _task = CLASSIFICATION
    # `out` is nothing that meta-estimators should pass on
    __metadata_request__decision_function = {"out": UNUSED}

    loss: str | Loss = "feng"
    _: KW_ONLY
    class_weight: dict | str | None = None
    multi_class: str = "auto"

    def fit(self, X, y=None, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, path, or Dask collection
            float32 stays float32. For a precomputed kernel, the square kernel matrix. A path is that of a .npy file, of
            a Parquet file or a folder of them, or of a text file of LIBSVM. Rows in files stay there, and are read by
            blocks; those on Dask stay where their blocks are.
        y : array-like of shape (n_samples,) or (n_samples, n_labels), path of a .npy file, or name of a column
            Labels of any type, or a multilabel indicator matrix. It may be the name of a column of a Parquet file, and
            be left out for a file of LIBSVM, which has the labels.
        sample_weight : array-like of shape (n_samples,), path of a .npy file, or name of a column, optional
            A row of weight 2 counts as one given twice. It may be the name of a column of a Parquet file.

        Returns
        -------
        self : UniSVMClassifier
        """
        return fit_estimator(self, X, y, sample_weight)

    def _target_encoder(self, n_features: int) -> SignEncoder:
        kind = self.multi_class
        if kind == "auto":
            kernel = self._requested_kernel()
            of_many_columns = uses_columns(kernel, self.landmarks) and has_many_columns(n_features)
            # a loss of all rows holds more of a negative part than one of the rows of two classes
            of_krein = self.indefinite == "krein" and not kernel.is_psd
            kind = "ovr" if of_many_columns or of_krein else "ovo"
        return SignEncoder(self.class_weight, one_vs_one=kind == "ovo")

    def _validate(self, X, y, sample_weight):
        X, y, sample_weight = check_rows_and_targets(self, X, y, sample_weight, multi_output=True)
        return X, check_labels(y), sample_weight

    def decision_function(self, X, *, out=None):
        """Signed distance from the boundary, in units of the margin.

        For classes fitted in pairs, that of each class against the class that does best against it: at most one is
        positive.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path
        out : ndarray or memory map, optional
            Where they go: an array of the right shape and type.

        Returns
        -------
        decision : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        if is_dask(X):
            check_is_fitted(self)
            width = None if len(self.classes_) == 2 and not self._multilabel else len(self.classes_)
            return map_predictions(self, "decision_function", X, n_columns=width, out=out)
        return self._decision(X, self._squeeze, out)

    def predict(self, X, *, out=None):
        """Predicted labels.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path
        out : ndarray or memory map, optional
            Where they go: an array of the right shape and of the type of `classes_`; of integers for several labels.

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_labels)
        """
        if is_dask(X):
            check_is_fitted(self)
            dtype, width = (np.dtype(int), len(self.classes_)) if self._multilabel else (self.classes_.dtype, None)
            return map_predictions(self, "predict", X, dtype=dtype, n_columns=width, out=out)
        return self._decision(X, self._labels_of, out)

    @property
    def multilabel_(self) -> bool:
        """Whether y was a multilabel indicator matrix."""
        return self._multilabel

    @property
    def pairs_(self) -> np.ndarray | None:
        """Indices of the two classes of each column, of shape (n_columns, 2); None if there are no pairs."""
        return self._pairs

    @property
    def predict_proba(self):
        """Not there, like `predict_log_proba`: asking for it raises an error that says what has probabilities."""
        raise AttributeError(
            "UniSVMClassifier has no probabilities: they are made from decisions on rows that were held out. Use "
            "UniSVMClassifierCV, which has predict_proba, or "
            "sklearn.calibration.CalibratedClassifierCV(UniSVMClassifier())."
        )

    predict_log_proba = predict_proba

    def _of_classes(self, decision: np.ndarray) -> np.ndarray:
        return decision if self._pairs is None else class_scores(decision, self._pairs)

    def _squeeze(self, decision: np.ndarray) -> np.ndarray:
        decision = self._of_classes(decision)
        return decision[:, 0] if decision.shape[1] == 1 and not self._multilabel else decision

    def _labels_of(self, decision: np.ndarray) -> np.ndarray:
        decision = self._squeeze(decision)
        if self._multilabel:
            return (decision > 0).astype(int)
        return self.classes_[(decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)]

    def score(self, X, y=None, sample_weight=None):
        """Accuracy of the predicted labels.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path
        y : array-like of shape (n_samples,) or (n_samples, n_labels), path of a .npy file, or name of a column
            As in `fit`.
        sample_weight : array-like of shape (n_samples,), path of a .npy file, or name of a column, optional

        Returns
        -------
        accuracy : float
        """
        if is_dask(X):
            return super().score(X, y, sample_weight)
        check_is_fitted(self)
        rows, y, sample_weight = check_rows_to_score(self, X, y, sample_weight)
        return accuracy_score(y, self._decision_of(rows, self._labels_of), sample_weight=sample_weight)

    def trust(self, X, y=None):
        """Trust in each label, from 0 to 1: it falls with the row's loss.

        For a bounded loss it is 1 − ψ(u)/sup ψ. A row of trust 0 is ignored: ψ'(u) = 0 there, and the fit would be the
        same without it; losses that are cut off ignore no others. Of smooth ones with their default parameters, a row
        of trust below 0.01 pulls less than a fifth as much as a row can, and below 0.001 less than a twentieth. Another
        label is predicted below 1 − ψ(1)/sup ψ, which is 0.61 for the default loss. For a loss that is not bounded,
        trust is 1/(1 + ψ(u)), and no row is ignored.

        With several classes u is that of the row's own class: in pairs, against the class that does best against it.
        With several labels it is that of the largest loss.

        A fit follows its own training rows, wrong ones as well: trust in their labels is best asked of fits that have
        not seen them, as in the example. `UniSVMClassifierCV` lists the rows that such fits contradict, `suspects_`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), memory map, or path
        y : array-like of shape (n_samples,) or (n_samples, n_labels), path of a .npy file, or name of a column
            As in `fit`.

        Returns
        -------
        trust : ndarray of shape (n_samples,)

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_moons
        >>> from sklearn.model_selection import StratifiedKFold
        >>> from unisvm import UniSVMClassifier
        >>> X, y = make_moons(200, noise=0.1, random_state=0)
        >>> y[:20] = 1 - y[:20]
        >>> trust = np.empty(len(y))
        >>> for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        ...     trust[test] = UniSVMClassifier(random_state=0).fit(X[train], y[train]).trust(X[test], y[test])
        >>> int((trust < 0.5)[:20].sum()), int((trust < 0.5)[20:].sum())
        (20, 1)
        """
        if is_dask(X):
            return map_predictions(self, "trust", X, y)
        check_is_fitted(self)
        rows, y, _ = check_rows_to_score(self, X, y)
        trust = self._trust(1 - self._margins(self._decision_of(rows, self._of_classes), y))
        return trust.min(axis=1) if self._multilabel else trust

    def _margins(self, decision: np.ndarray, y) -> np.ndarray:
        """Signed distances of rows from the boundary of their own label, or from those of each of several labels."""
        y = np.asarray(y.toarray() if sparse.issparse(y) else y)
        check_consistent_length(decision, y)
        if self._multilabel:
            if y.shape != decision.shape:
                raise ValueError(f"y must be an indicator matrix of shape {decision.shape}, got {y.shape}.")
            return np.where(y != 0, decision, -decision)
        y = column_or_1d(y)
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has labels that the model was not trained on: {unknown[:5].tolist()}.")
        codes = np.searchsorted(self.classes_, y)
        if decision.shape[1] == 1:
            return np.where(codes == 1, decision[:, 0], -decision[:, 0])
        return np.take_along_axis(decision, codes[:, None], axis=1)[:, 0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
