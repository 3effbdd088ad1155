"""The splits of a cross-validation as columns of one problem: their targets and weights in one row store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from unisvm._base import BaseUniSVM, read_settings, target_encoder
from unisvm._validation import drop_zero_weights, is_precomputed
from unisvm.column_spec import ColumnSpec
from unisvm.engine import FitSettings
from unisvm.losses.base import Loss
from unisvm.memory_budget import MemoryBudget
from unisvm.model_selection.axes import Axes, KernelChoice
from unisvm.model_selection.drawn_cells import DrawnCells, Splits
from unisvm.parallel import count_threads
from unisvm.rows import MemoryRows
from unisvm.scaling import read_scaling
from unisvm.targets import Attributes, TargetUnits, TrainingTargets

# Fits that only have to tell cells apart have so many landmarks, or more if there is one for so many rows, and a
# tolerance that is not strict.
_FEW_LANDMARKS, _ROWS_A_LANDMARK, _LOOSE_TOL = 300, 10, 1e-3
# Cells want a higher gamma than all rows do: the default values are so many steps of their grid higher.
_STEPS_UP_FOR_CELLS = 1


class SearchJob(NamedTuple):
    """Rows, splits and scorer that the cells of a grid are fitted and scored with.

    Attributes
    ----------
    template : BaseUniSVM
        An estimator with all parameters but loss, C, kernel and gamma.
    X, y, weights
        Validated.
    target_attributes : dict
        Attributes of an estimator of all rows that say what its columns mean.
    splits : sequence of (train, test)
    scorer : callable
    score_params : dict
        Further arguments of the scorer, arrays with an entry for each row.
    memory : MemoryBudget
    drawn : DrawnCells, optional
        The cells that the rows are of, where these are fitted one by one.
    """

    template: BaseUniSVM
    X: Any
    y: np.ndarray
    weights: np.ndarray
    target_attributes: Attributes
    splits: Splits
    scorer: Callable[..., float]
    score_params: dict[str, Any]
    memory: MemoryBudget
    drawn: DrawnCells | None = None

    def seeded(self, rng: np.random.RandomState) -> SearchJob:
        """The job with one random state for all fits, so that the refit has the search's landmarks."""
        seed = int(rng.randint(2**31 - 1))
        return self._replace(template=clone(self.template).set_params(random_state=seed))

    def few_landmarks(self, rank: int | None = None) -> SearchJob:
        """The job with at most so many landmarks, unless the user gives them, and no strict tolerance."""
        template = clone(self.template)
        if rank is None:
            rank = max(_FEW_LANDMARKS, int(self._rows_of_a_column()) // _ROWS_A_LANDMARK)
        if isinstance(template.landmarks, str):
            template.set_params(rank=rank if template.rank is None else min(template.rank, rank))
        return self._replace(template=template.set_params(tol=max(template.tol, _LOOSE_TOL)))

    def _rows_of_a_column(self) -> float:
        """Number of rows that a column is fitted to: of two classes, where these are fitted in pairs."""
        pairs = self.target_attributes.get("_pairs")
        return len(self.weights) * (1.0 if pairs is None else 2 / (1 + pairs.max()))

    def settings(self, choice: KernelChoice) -> FitSettings:
        """Settings of fits with this kernel."""
        template = clone(self.template).set_params(**choice._asdict())
        settings = replace(read_settings(template), memory=self.memory)
        return settings if self.drawn is None else self.drawn.scaled(settings)


def kernel_choices(axes: Axes, job: SearchJob) -> list[KernelChoice]:
    """Every kernel of a grid with each of its values of gamma, for the rows of a job."""
    n_rows, n_features = job.X.shape
    if job.drawn is not None:
        variance = job.drawn.variance
        choices = axes.kernel_choices(n_features, variance, _STEPS_UP_FOR_CELLS)
        return [choice.resolve(n_features, variance) for choice in choices]
    rows = MemoryRows(job.X, np.empty((n_rows, 0)), job.weights)
    variance = 0.0
    if isinstance(axes.gammas, int):
        scale = job.template.scale
        variance = rows.variance() if scale is None else read_scaling(rows, scale).variance
    return axes.kernel_choices(n_features, variance)


class SplitColumns(NamedTuple):
    """Columns of the store's targets: the targets of all splits, then the weights of each split.

    Attributes
    ----------
    target_of : ndarray of int of shape (n_splits, n_outputs)
        Column of the targets; splits may share it. For pairs of classes, the index of the pair.
    n_targets : int
    target_medians : ndarray of shape (n_targets,) or None
        Medians of real targets.
    totals : ndarray of shape (n_splits,)
        Weight of each split's training rows.
    pairs : ndarray of int of shape (n_outputs, 2) or None
        The classes of each output, when these are fitted one against one.
    """

    target_of: np.ndarray
    n_targets: int
    target_medians: np.ndarray | None
    totals: np.ndarray
    pairs: np.ndarray | None

    @property
    def n_splits(self) -> int:
        return len(self.target_of)

    @property
    def n_outputs(self) -> int:
        return self.target_of.shape[1]

    def spec(self, losses: Sequence[Loss], Cs: np.ndarray) -> ColumnSpec:
        """A column for each loss, C, split and output, in this order."""
        shape = (len(losses), len(Cs), *self.target_of.shape)
        loss_of, C_of, split_of, _ = np.indices(shape).reshape(4, -1)
        target_of = np.tile(self.target_of.ravel(), len(losses) * len(Cs))
        totals = self.totals[split_of]
        medians = None if self.target_medians is None else self.target_medians[target_of]
        penalties = 1 / (2 * Cs[C_of] * totals)
        pairs = None if self.pairs is None else np.tile(self.pairs, (len(totals) // self.n_outputs, 1))
        return ColumnSpec(losses, loss_of, penalties, totals, target_of, self.n_targets + split_of, medians, pairs)


class Folds(NamedTuple):
    """Rows of positive weight, with the targets and weights of all splits.

    Attributes
    ----------
    X : ndarray, CSR matrix or StoredRows
        All rows, as they were given.
    present : ndarray of int
        Indices of the rows of positive weight, which are the rows of the store.
    rows : MemoryRows
    columns : SplitColumns
    tests : list of ndarray
        Store indices of the rows that each split leaves out.
    units : list of TargetUnits
        Of each split.
    target_attributes : list of dict
        Attributes of an estimator of each split that say what its columns mean.
    """

    X: Any
    present: np.ndarray
    rows: MemoryRows
    columns: SplitColumns
    tests: list[np.ndarray]
    units: list[TargetUnits]
    target_attributes: list[Attributes]


def whole_rows(job: SearchJob, subset: np.ndarray | None = None) -> tuple[MemoryRows, TargetUnits]:
    """All rows of a job, or a subset of them, with their training targets and the units of these."""
    weights = job.weights
    if subset is not None:
        weights = np.zeros_like(weights)
        weights[subset] = job.weights[subset]
    encoder = target_encoder(job.template, job.X.shape[1])
    targets, _ = encoder.encode(job.y, weights, job.X.dtype, job.target_attributes)
    kept, present = drop_zero_weights(job.X, targets.weights, precomputed=is_precomputed(job.template.kernel))
    values = np.ascontiguousarray(targets.values[present], dtype=job.X.dtype)
    return MemoryRows(kept, values, targets.weights[present], count_threads(job.template.n_jobs)), targets.units


def fold(job: SearchJob, subset: np.ndarray | None = None) -> Folds:
    """The splits of a job as columns, of all rows or of a subset. Rows of weight 0 are left out."""
    encoder, y, weights, dtype = target_encoder(job.template, job.X.shape[1]), job.y, job.weights, job.X.dtype
    whole, reference = encoder.encode(y, weights, dtype)
    if subset is not None:
        inside = np.zeros_like(weights)
        inside[subset] = weights[subset]
        weights = inside
        whole, _ = encoder.encode(y, weights, dtype, reference)
    encoded = []
    for train, _ in job.splits:
        # a row may be drawn more than once
        counts = np.bincount(train, minlength=len(weights)).astype(weights.dtype)
        encoded.append(encoder.encode(y, weights * counts, dtype, reference))
    of_splits = [targets for targets, _ in encoded]

    precomputed = is_precomputed(job.template.kernel)
    kept, present = drop_zero_weights(job.X, whole.weights, precomputed=precomputed)
    columns, stored = _stored_columns(whole, of_splits, present, dtype)
    rows = MemoryRows(
        kept,
        stored,
        whole.weights[present],
        count_threads(job.template.n_jobs),
        _order(stored, columns),
        job.template.scratch_dir,
        present,
        given=job.X,
    )
    place = np.full(len(weights), -1)
    place[present] = np.arange(len(present))
    tests = [place[test][place[test] >= 0] for _, test in job.splits]
    units, attributes = [targets.units for targets in of_splits], [attributes for _, attributes in encoded]
    return Folds(job.X, present, rows, columns, tests, units, attributes)


def _stored_columns(
    whole: TrainingTargets, of_splits: list[TrainingTargets], present: np.ndarray, dtype: np.dtype
) -> tuple[SplitColumns, np.ndarray]:
    """The columns, and the targets and weights of the rows that are present, stored by columns."""
    n_splits, n_outputs = len(of_splits), whole.units.n_columns
    medians = None
    if whole.units.median is not None:
        # each split has a scale of its own
        values = np.concatenate([targets.values for targets in of_splits], axis=1)
        target_of = np.arange(n_splits * n_outputs).reshape(n_splits, n_outputs)
        medians = np.concatenate([targets.units.median for targets in of_splits if targets.units.median is not None])
    else:
        values = whole.values
        target_of = np.tile(np.arange(n_outputs), (n_splits, 1))
    n_targets = values.shape[1]
    stored = np.empty((len(present), n_targets + n_splits), dtype=dtype, order="F")
    stored[:, :n_targets] = values[present]
    for k, targets in enumerate(of_splits):
        stored[:, n_targets + k] = targets.weights[present]
    totals = np.array([targets.weights.sum(dtype=np.float64) for targets in of_splits])
    return SplitColumns(target_of, n_targets, medians, totals, whole.units.pairs), stored


def _order(stored: np.ndarray, columns: SplitColumns) -> np.ndarray:
    """Order in which rows that count in the same columns follow each other: of a class, where pairs are fitted, and of
    the same splits."""
    kinds = np.packbits(stored[:, 0 if columns.pairs is not None else columns.n_targets :] > 0, axis=1)
    return np.lexsort(kinds.T[::-1])
