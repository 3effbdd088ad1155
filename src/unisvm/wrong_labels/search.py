"""Search for rows whose label or target is contradicted by the other rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import norm
from sklearn.model_selection import GroupKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from unisvm._checks import check_number, is_integer, one_of
from unisvm._validation import is_precomputed
from unisvm._warnings import FitWarning, warn_caller
from unisvm.distributed.collections import refuse_collections
from unisvm.io import files
from unisvm.losses.base import CLASSIFICATION, REGRESSION, TASKS
from unisvm.model_selection import UniSVMClassifierCV, UniSVMRegressorCV
from unisvm.model_selection.base import BaseSearch, plan, read_axes
from unisvm.model_selection.folds import SearchJob
from unisvm.parallel import blas_threads
from unisvm.progress import Report
from unisvm.rows.mapped import StoredRows
from unisvm.scaling import SCALES
from unisvm.tables import Table, TableEncoder, guess_task
from unisvm.tables.columns import is_named
from unisvm.tables.targets import usual_targets
from unisvm.wrong_labels.label_noise import FittedNoise, LabelNoise, fit_label_noise
from unisvm.wrong_labels.machines import HeldOut, held_out_predictions
from unisvm.wrong_labels.report import ClassCount, SuspectReport
from unisvm.wrong_labels.target_noise import Residuals, fit_target_noise

# groups are left out in so many folds
_GROUP_FOLDS = 10
# whole numbers are labels if each occurs so often
_LEAST_ROWS_OF_A_LABEL = 10
# The predictions of labels must be better than a guess by so many standard errors. The best of 20 kernels was by up to
# 2.2 where labels were drawn at random, on 100 to 3,000 rows.
_CLEARLY = 3.0
_UNKNOWN = (
    "The rows hardly tell their labels: fits without a row predict it no better than a guess. No row is flagged, and "
    "the number of wrong labels is not known. Are the right columns in X, and y in the order of its rows?"
)
# fewer rows tell nothing of each other
_FEWEST_ROWS = 10
_PARAMETERS = {"kernel", "gammas", "degree", "coef0", "kernel_params", "rank", "rank_tol", "landmarks", "indefinite"}
_PARAMETERS |= {"memory_limit", "scratch_dir", "n_jobs", "verbose", "random_state"}


def suspects(
    X, y=None, *, task=None, sample_weight=None, groups=None, cv=None, scale="auto", confidence=0.95, **params
) -> SuspectReport:
    """Report of the rows whose label or target is contradicted by the other rows.

    Each row is predicted by fits that did not see it: least squares with the kernels that suit the rows best. A model
    of the noise then tells wrong labels from those of classes that overlap, and wrong targets from those that vary.

    Parameters
    ----------
    X : DataFrame, Table, array-like or CSR matrix of shape (n_samples, n_features), memory map, or path
        Columns of tables may be text, with missing entries. A path is that of a .npy, Parquet or LIBSVM file.
    y : array-like of shape (n_samples,), path of a .npy file, or name of a column, optional
        Labels of any type, or real targets. A LIBSVM file has them; of a table, None is the column that is named
        target, label, class or y.
    task : {"classification", "regression"}, optional
        Told from y if not given. Text, truth values, and integers that occur ten times on average are labels, and so
        are floats that are at most 20 whole numbers.
    sample_weight : array-like of shape (n_samples,), path of a .npy file, or name of a column, optional
        A row of weight 0 is left out, and has no score.
    groups : array-like of shape (n_samples,), optional
        Rows of a group are left out together: copies of a row would confirm each other's labels.
    cv : int, splitter, iterable or None, default=None
        None leaves out one row after the other, and groups in ten folds. An integer is a number of random folds.
    scale : {"auto", "standard", "minmax"} or None, default="auto"
        Of columns of numbers: "auto" is "minmax" for sparse rows, whose zeros stay zeros, and else "standard".
    confidence : float, default=0.95
        Of the interval of the number of wrong labels.
    **params
        ``kernel, gammas, degree, coef0, kernel_params, rank, rank_tol, landmarks, indefinite, memory_limit,
        scratch_dir, n_jobs, verbose, random_state`` as in `UniSVMClassifierCV`.

    Returns
    -------
    report : SuspectReport

    Examples
    --------
    >>> import unisvm
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> y[:10] = 1 - y[:10]
    >>> report = unisvm.suspects(X, y, random_state=0)
    >>> sorted(report.ranking[:10].tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    >>> bool(report.flagged[:10].all()), bool(report.flagged[10:].mean() < 0.02)
    (True, True)
    """
    with np.errstate(all="ignore"):
        asked = _Asked.read(X, y, task, sample_weight, scale, confidence, params)
        return asked.answer(cv, groups)


class _Asked(NamedTuple):
    """Rows to look at, as they were given and as numbers with their targets, and the search that judges kernels."""

    given: Any
    target: str | None
    X: Any
    y: Any
    sample_weight: Any
    search: BaseSearch
    confidence: float

    @classmethod
    def read(cls, X, y, task, sample_weight, scale, confidence, params: dict[str, Any]) -> _Asked:
        """What the arguments of `suspects` ask for; raises when one of them is wrong."""
        refuse_collections(X, "suspects cannot be searched for in")
        check_number("confidence", confidence, 0, 1)
        if scale is not None:
            one_of("scale", scale, ("auto", *SCALES))
        unknown = sorted(params.keys() - _PARAMETERS)
        if unknown:
            raise TypeError(f"suspects has no parameter {unknown[0]!r}: it has {', '.join(sorted(_PARAMETERS))}.")
        given, target = X, None
        if is_named(X):
            X, y, target = _split_table(X, y)
        elif files.is_path(X):
            X, y, sample_weight = files.open_rows(X, y, sample_weight, scratch_dir=params.get("scratch_dir"))
        y = files.open_beside("y", y)
        if y is None:
            raise ValueError("y is None. It may be left out where X is a file of LIBSVM, which has the targets.")
        task = _task_of(y) if task is None else one_of("task", task, TASKS)
        if is_named(X):
            X, scale = TableEncoder(scale="standard" if scale == "auto" else scale).fit_transform(X), None
        if scale == "auto" and is_precomputed(params.get("kernel")):
            scale = None
        if scale == "auto":
            is_sparse = sparse.issparse(X[:1] if isinstance(X, StoredRows) else X)
            scale = "minmax" if is_sparse else "standard"
        search: BaseSearch
        if task == CLASSIFICATION:
            search = UniSVMClassifierCV(["least_squares"], scale=scale, multi_class="ovr", **params)
        else:
            search = UniSVMRegressorCV(["least_squares"], scale=scale, **params)
        return cls(given, target, X, y, sample_weight, search, confidence)

    def answer(self, cv: Any, groups: Any) -> SuspectReport:
        """The report."""
        search, rng = self.search, check_random_state(self.search.random_state)
        axes = read_axes(search)
        job = plan(search, axes, self.X, self.y, self.sample_weight, {}, whole=True).seeded(rng)
        _check_job(job)
        is_label = isinstance(search, UniSVMClassifierCV)
        folds = _folds(job, cv, groups, is_label, rng)
        with_ranks = isinstance(search.kernel, str) and search.kernel == "auto" and search.gammas is None
        with Report(search.verbose) as report:
            held_out = held_out_predictions(job, axes, folds, report, with_ranks=with_ranks)
            with report.stage("noise"), blas_threads(1):
                found = (_labels if is_label else _targets)(job, held_out, self.confidence, rng)
        return replace(found, X=self.given, target=self.target)


# ------------------------------------------------------------------ what is given


def _split_table(X: Any, y: Any) -> tuple[Any, Any, str | None]:
    """A table without its target, the target, and the name of its column if it was one."""
    if y is not None and not isinstance(y, str):
        return X, y, None
    names = X.names if isinstance(X, Table) else [str(name) for name in X] if isinstance(X, dict) else list(X.columns)
    if y is None:
        usual = usual_targets([str(name) for name in names])
        if len(usual) != 1:
            raise ValueError(
                "Say which column of X has the labels or targets, by its name as y. X has "
                f"{', '.join(map(str, names))}."
            )
        y = usual[0]
    if y not in names:
        raise ValueError(f"X has no column {y!r}; its columns are {', '.join(map(repr, names))}.")
    if isinstance(X, Table):
        return X.without([y]), X[y], y
    if isinstance(X, dict):
        return {name: column for name, column in X.items() if name != y}, X[y], y
    return X[[name for name in names if name != y]], X[y], y


def _task_of(y: Any) -> str:
    """The task that targets ask for."""
    y = np.asarray(y)
    if y.ndim != 1:
        return CLASSIFICATION
    if y.dtype.kind not in "iu":
        return guess_task(y)
    n_distinct = len(np.unique(y))
    return CLASSIFICATION if n_distinct <= max(2, len(y) / _LEAST_ROWS_OF_A_LABEL) else REGRESSION


def _check_job(job: SearchJob) -> None:
    """Raise when the rows cannot be judged by each other."""
    n_present = np.count_nonzero(job.weights)
    if n_present < _FEWEST_ROWS:
        raise ValueError(
            f"{n_present} rows of positive weight are too few to judge each other: {_FEWEST_ROWS} are needed."
        )
    if job.y.ndim == 2 and job.y.shape[1] > 1:
        raise ValueError("y must have one label or target for each row: call suspects for each column of y.")


def _folds(job: SearchJob, cv: Any, groups: Any, is_label: bool, rng: np.random.RandomState) -> np.ndarray | None:
    """The fold of each row, from 0 on; None where one row after the other is left out."""
    n_rows = len(job.weights)
    if groups is not None:
        groups = np.asarray(groups)
        check_consistent_length(groups, job.weights)
    if cv is None and groups is None:
        return None
    if groups is not None and (cv is None or is_integer(cv)):
        cv = GroupKFold(min(_GROUP_FOLDS, len(np.unique(groups))) if cv is None else cv)
    elif is_integer(cv):
        return _random_folds(job, int(cv), is_label, rng)
    folds = np.full(n_rows, -1)
    times = np.zeros(n_rows, dtype=int)
    splitter = check_cv(cv, job.y, classifier=is_label)
    for k, (_, test) in enumerate(splitter.split(np.zeros((n_rows, 1)), job.y, groups)):
        folds[test] = k
        times += np.bincount(np.arange(n_rows)[test], minlength=n_rows)
    if (times != 1).any():
        raise ValueError(
            f"cv must leave out each row exactly once, but row {int((times != 1).argmax())} is left out "
            f"{times[times != 1][0]} times. Use KFold, StratifiedKFold or GroupKFold, or None."
        )
    return folds


def _random_folds(job: SearchJob, n_folds: int, is_label: bool, rng: np.random.RandomState) -> np.ndarray:
    """So many folds at random, with about as many rows of each label."""
    n_rows = len(job.weights)
    if not 2 <= n_folds <= n_rows:
        raise ValueError(f"cv must be at least 2 and at most the number of rows, {n_rows}; got {n_folds}.")
    order = rng.permutation(n_rows)
    if is_label:
        _, codes = np.unique(job.y, return_inverse=True)
        order = order[np.argsort(codes[order], kind="stable")]
    folds = np.empty(n_rows, dtype=np.intp)
    folds[order] = np.arange(n_rows) % n_folds
    return folds


# ------------------------------------------------------------------ answers


def _labels(job: SearchJob, held_out: HeldOut, confidence: float, rng: np.random.RandomState) -> SuspectReport:
    """Report of labels."""
    present, labels = held_out.row_indices, np.asarray(job.target_attributes["classes_"])
    codes = np.searchsorted(labels, job.y[present])
    decision = held_out.predictions
    weights = job.weights[present].astype(np.float64)
    is_known = _is_known(held_out, weights)
    if is_known:
        noise = fit_label_noise(decision, codes, weights, confidence, rng)
    else:
        warn_caller(_UNKNOWN, FitWarning)
        noise = FittedNoise(*[LabelNoise.of_shares(codes, weights, len(labels))] * 3)
    classes = noise.best.classes(decision)
    probability, wrong = noise.best.of_given(classes, codes)
    ends = [each.of_given(each.classes(decision), codes)[1] for each in (noise.low, noise.high)]
    suggested = classes.argmax(axis=1)
    # a class of one row has no other to be known by
    has_others = np.bincount(codes, minlength=len(labels))[codes] > 1
    flagged = (wrong > 0.5) & (suggested != codes) & has_others
    if not is_known:
        # any number of labels may be wrong
        ends[1] = np.ones(len(codes))
    of_class = {label: _count(codes == k, wrong, ends, flagged, confidence) for k, label in enumerate(labels.tolist())}
    whole = _count(np.ones(len(codes), dtype=bool), wrong, ends, flagged, confidence)
    return SuspectReport(
        CLASSIFICATION,
        np.asarray(job.y),
        _spread(1 - wrong, present, job),
        _spread(flagged, present, job, False),
        _spread(labels[suggested], present, job, job.y),
        _spread(probability, present, job),
        _spread(_margins(decision, codes), present, job),
        whole.n_wrong,
        whole.n_wrong_interval,
        of_class,
        confidence,
        held_out.kernels,
    )


def _is_known(held_out: HeldOut, weights: np.ndarray) -> bool:
    """Whether held-out predictions tell labels clearly better than the other rows' mean does, by squared errors."""
    y, total = held_out.targets.astype(np.float64), weights.sum()
    mean = (weights @ y - weights[:, None] * y) / (total - weights)[:, None]
    gain = (np.square(y - mean) - np.square(y - held_out.predictions)).mean(axis=1)
    average = np.average(gain, weights=weights)
    deviation = np.sqrt(np.average((gain - average) ** 2, weights=weights))
    n_rows = total**2 / (weights**2).sum()
    return bool(average > _CLEARLY * deviation / np.sqrt(n_rows))


def _targets(job: SearchJob, held_out: HeldOut, confidence: float, rng: np.random.RandomState) -> SuspectReport:
    """Report of real targets."""
    present, y = held_out.row_indices, np.asarray(job.y, dtype=np.float64).reshape(len(job.y))
    centre, unit = (float(job.target_attributes[name][0]) for name in ("target_centre_", "target_scale_"))
    predicted = held_out.predictions[:, 0] * unit + centre
    residuals = y[present] - predicted
    spread = held_out.spread[:, 0] * unit
    of_rows = Residuals(residuals, spread, max(float(np.ptp(y[present])), np.finfo(float).tiny))
    noise = fit_target_noise(of_rows, job.weights[present].astype(np.float64), confidence, rng)
    wrong = noise.best.wrong(of_rows)
    flagged = wrong > 0.5
    ends = [noise.low.wrong(of_rows), noise.high.wrong(of_rows)]
    whole = _count(np.ones(len(present), dtype=bool), wrong, ends, flagged, confidence)
    return SuspectReport(
        REGRESSION,
        y,
        _spread(1 - wrong, present, job),
        _spread(flagged, present, job, False),
        _spread(predicted, present, job, y),
        _spread(noise.best.further(of_rows), present, job),
        _spread(-np.abs(residuals) / (noise.best.factor * spread), present, job),
        whole.n_wrong,
        whole.n_wrong_interval,
        {},
        confidence,
        held_out.kernels,
    )


def _count(
    rows: np.ndarray, wrong: np.ndarray, ends: list[np.ndarray], flagged: np.ndarray, confidence: float
) -> ClassCount:
    """Estimate of the wrong labels among some rows, by the probability that each is wrong.

    The interval has the ends of the noise's rates, and beyond them what the numbers vary by at these rates.
    """
    quantile = norm.ppf((1 + confidence) / 2)
    low, high = (each[rows] for each in ends)
    lowest = low.sum() - quantile * np.sqrt((low * (1 - low)).sum())
    highest = high.sum() + quantile * np.sqrt((high * (1 - high)).sum())
    n_rows = int(rows.sum())
    interval = max(int(np.floor(lowest)), 0), min(int(np.ceil(highest)), n_rows)
    return ClassCount(n_rows, round(float(wrong[rows].sum())), interval, int(flagged[rows].sum()))


def _margins(decision: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """How far the decision of each row's label is ahead of the best other one."""
    if decision.shape[1] == 1:
        return np.where(codes == 1, decision[:, 0], -decision[:, 0])
    own = np.take_along_axis(decision, codes[:, None], axis=1)[:, 0]
    others = decision.copy()
    np.put_along_axis(others, codes[:, None], -np.inf, axis=1)
    return own - others.max(axis=1)


def _spread(values: np.ndarray, present: np.ndarray, job: SearchJob, missing: Any = np.nan) -> np.ndarray:
    """An array for all rows from one for those of positive weight, with something else for the others."""
    n_rows = len(job.weights)
    if len(present) == n_rows:
        return values
    whole = np.array(missing) if isinstance(missing, np.ndarray) else np.full(n_rows, missing)
    whole[present] = values
    return whole
