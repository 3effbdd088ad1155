"""Labels and real targets ↔ training targets: ±1, or real numbers about their median in units of their robust scale.

An encoder works on whole arrays, and block by block on targets that stay on a cluster. The attributes that it returns
are those of a fitted estimator that say what its columns mean.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from unisvm.class_pairs import class_pairs
from unisvm.robust_scale import as_columns, location_and_scale, location_and_scale_of_blocks

Attributes = dict[str, Any]
# squares of more than this overflow in single precision when many are added
_MAX_SINGLE = 1e15


class TargetUnits(NamedTuple):
    """Units of the training targets t: y = t · scale + offset, a number for each column.

    `median` is that of real targets, in training units; None for labels. `pairs` are the classes of each column when
    these are fitted one against one; the training targets are those of each class against the rest.
    """

    median: np.ndarray | None
    offset: np.ndarray
    scale: np.ndarray
    pairs: np.ndarray | None = None

    @property
    def n_columns(self) -> int:
        """Number of functions that are fitted."""
        return len(self.offset)

    def to_training(self, values: np.ndarray) -> np.ndarray:
        """Values in training units, from those in the units of y."""
        return (values - self.offset) / self.scale

    def restore(self, dual: np.ndarray, intercept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients, of shape (rank, n_columns), and intercepts in the units of y."""
        dtype = dual.dtype
        with np.errstate(over="ignore"):
            restored = dual * self.scale, intercept * self.scale + self.offset
        largest = max(np.abs(each).max(initial=0.0) for each in restored)
        if 0 < largest < np.finfo(dtype).tiny:
            advice = "Give X in float64, or y in smaller units." if dtype == np.float32 else "Give y in smaller units."
            raise ValueError(f"The coefficients of the fit, up to {largest:.2g}, vanish in {dtype}. {advice}")
        with np.errstate(over="ignore"):
            return restored[0].astype(dtype), restored[1].astype(dtype)


class TrainingTargets(NamedTuple):
    """Training targets, of shape (n_rows, n_columns), with the weights of the rows."""

    values: np.ndarray
    weights: np.ndarray
    units: TargetUnits


# ------------------------------------------------------------------ labels


class SignEncoder:
    """Labels as ±1: one column for two classes, else one for each class or label.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Multiplies the weights of each class's rows.
    one_vs_one : bool
        Whether three classes or more are fitted in pairs, and not each against the rest.
    """

    def __init__(self, class_weight: Any = None, one_vs_one: bool = False):
        self._class_weight = class_weight
        self._one_vs_one = one_vs_one

    def encode(
        self, y: np.ndarray, weights: np.ndarray, dtype: np.dtype, reference: Attributes | None = None
    ) -> tuple[TrainingTargets, Attributes]:
        """Training targets and attributes; `reference` are the attributes of a set of which these rows are a part."""
        weights = self._times_class_weights(weights, y, self._class_weight)
        classes = _classes_of(y, weights) if reference is None else reference["classes_"]
        signs = signs_of(y, classes, dtype)
        pairs = self._pairs(classes, y.ndim == 2)
        attributes = {"classes_": classes, "_multilabel": y.ndim == 2, "_pairs": pairs}
        return TrainingTargets(signs, weights, _unscaled(signs.shape[1], pairs)), attributes

    def _pairs(self, classes: np.ndarray, multilabel: bool) -> np.ndarray | None:
        return class_pairs(len(classes)) if self._one_vs_one and len(classes) > 2 and not multilabel else None

    def encode_blocks(self, blocks: Any) -> tuple[_BlockSigns, Attributes]:
        """Function that encodes the targets of a block where it is, and attributes."""
        found = blocks.map_targets(_labels_of_block)
        if found[0].counts is None:
            entries = np.unique(np.concatenate([block.labels for block in found]))
            check_labels(np.column_stack([entries, entries]))
            if self._class_weight is not None:
                raise ValueError("class_weight is not supported for a multilabel y on Dask; give sample_weight.")
            classes = np.arange(found[0].n_columns)
            return _BlockSigns(classes, classes, None, None), {"classes_": classes, "_multilabel": True, "_pairs": None}
        # rows of weight 0 are left out, and so are their labels
        labels, place = np.unique(np.concatenate([block.labels for block in found]), return_inverse=True)
        factors, positive = None, np.ones(len(labels))
        if self._class_weight is not None and len(labels):
            class_weight = self._class_weight
            if isinstance(class_weight, str):
                counts = np.bincount(place, np.concatenate([block.counts for block in found]))
                class_weight = dict(zip(labels.tolist(), counts.sum() / (len(labels) * counts), strict=True))
            factors = positive = self._times_class_weights(np.ones(len(labels)), labels, class_weight)
        classes = _classes_of(labels, positive)
        pairs = self._pairs(classes, False)
        attributes = {"classes_": classes, "_multilabel": False, "_pairs": pairs}
        return _BlockSigns(classes, labels, factors, pairs), attributes

    def _times_class_weights(self, weights: np.ndarray, y: np.ndarray, class_weight: Any) -> np.ndarray:
        if class_weight is None:
            return weights
        present = weights > 0
        weights = weights.copy()
        weights[present] *= compute_sample_weight(class_weight, y[present])
        if not np.isfinite(weights).all() or weights.min() < 0 or not weights.any():
            raise ValueError(
                f"class_weight must be 'balanced' or give each class a weight that is not negative or NaN, and "
                f"some class a positive one; got {self._class_weight!r}."
            )
        return weights


def check_labels(y: Any) -> np.ndarray:
    """Labels of shape (n_samples,), or an indicator matrix; raises for anything else."""
    if y.ndim == 2 and y.shape[1] == 1 and not sparse.issparse(y):
        y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    kind = type_of_target(y, input_name="y")
    if kind == "multilabel-indicator":
        return y.toarray() if sparse.issparse(y) else np.asarray(y)
    if kind == "multiclass-multioutput":
        raise ValueError(
            "y must be labels of shape (n_samples,) or a multilabel indicator matrix of zeros and ones; several "
            "columns of classes are not supported. Wrap it in sklearn.multioutput.MultiOutputClassifier."
        )
    return y


def signs_of(y: np.ndarray, classes: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """+1 and −1 for each column: the second of two classes, each of several, or each label."""
    if y.ndim == 2:
        member = y != 0
    elif len(classes) == 2:
        member = (y == classes[1])[:, None]
    else:
        member = y[:, None] == classes
    return np.where(member, dtype.type(1), dtype.type(-1))


def _classes_of(y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Labels of rows of positive weight; column indices of an indicator matrix."""
    if y.ndim == 2:
        return np.arange(y.shape[1])
    classes = np.unique(y[weights > 0])
    if len(classes) < 2:
        raise ValueError(
            f"A classifier needs at least two classes, but y holds only one class, {classes.item(0)!r}. "
            "Check y, or the rows of positive weight."
        )
    return classes


def _unscaled(n_columns: int, pairs: np.ndarray | None) -> TargetUnits:
    n_columns = n_columns if pairs is None else len(pairs)
    return TargetUnits(None, np.zeros(n_columns), np.ones(n_columns), pairs)


class _BlockSigns(NamedTuple):
    """Signs of a block of labels; `factors` are the class weights of the `labels`."""

    classes: np.ndarray
    labels: np.ndarray
    factors: np.ndarray | None
    pairs: np.ndarray | None

    def __call__(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.factors is not None:
            # a label that is not among them is that of rows of weight 0
            place = np.minimum(np.searchsorted(self.labels, y), len(self.labels) - 1)
            weights = (weights * self.factors[place]).astype(weights.dtype)
        return signs_of(y, self.classes, weights.dtype), weights

    def units(self, n_columns: int) -> TargetUnits:
        return _unscaled(n_columns, self.pairs)


class _BlockLabels(NamedTuple):
    """Labels of the rows of positive weight of a block, and how many rows have each; of an indicator matrix some of
    its entries, with counts that are None."""

    labels: np.ndarray
    counts: np.ndarray | None
    n_columns: int


def _labels_of_block(y: np.ndarray, weights: np.ndarray) -> _BlockLabels:
    if y.ndim == 2:
        # three are too many already
        return _BlockLabels(np.unique(y)[:3], None, y.shape[1])
    # each twice: scikit-learn warns of many classes for the rows, of which these are few
    check_classification_targets(np.repeat(np.unique(y), 2))
    return _BlockLabels(*np.unique(y[weights > 0], return_counts=True), 1)


# ------------------------------------------------------------------ real targets


class TargetScaler:
    """Real targets in units of their robust scale, about their median if there is an intercept.

    Parameters
    ----------
    fit_intercept : bool
    """

    def __init__(self, fit_intercept: bool = True):
        self._fit_intercept = fit_intercept

    def encode(
        self, y: np.ndarray, weights: np.ndarray, dtype: np.dtype, reference: Attributes | None = None
    ) -> tuple[TrainingTargets, Attributes]:
        """Training targets and attributes; `reference` are the attributes of a set of which these rows are a part."""
        targets = as_columns(y)
        scaled = self._scaled(*location_and_scale(targets, weights))
        values = scaled.values(targets)
        _check_distance(targets, values, weights, dtype)
        return TrainingTargets(values, weights, scaled.units()), scaled.attributes(y.ndim)

    def encode_blocks(self, blocks: Any) -> tuple[_BlockScaler, Attributes]:
        """Function that encodes the targets of a block where it is, and attributes."""
        scaled = self._scaled(*location_and_scale_of_blocks(blocks))
        return scaled, scaled.attributes(blocks.map_targets(_n_dimensions)[0])

    def _scaled(self, median: np.ndarray, scale: np.ndarray) -> _BlockScaler:
        if self._fit_intercept:
            return _BlockScaler(median, median, np.where(scale > 0, scale, 1.0))
        constant = np.where(median == 0, 1.0, np.abs(median))
        return _BlockScaler(median, np.zeros_like(median), np.where(scale > 0, scale, constant))


class _BlockScaler(NamedTuple):
    """(y − offset)/scale of a block of targets; the median is in the units of y."""

    median: np.ndarray
    offset: np.ndarray
    scale: np.ndarray
    pairs: None = None

    def values(self, targets: np.ndarray) -> np.ndarray:
        return (targets - self.offset) / self.scale

    def __call__(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.values(as_columns(y)), weights

    def units(self, n_columns: int | None = None) -> TargetUnits:
        return TargetUnits(self.values(self.median), self.offset, self.scale)

    def attributes(self, n_dimensions: int) -> Attributes:
        return {"target_centre_": self.offset, "target_scale_": self.scale, "_one_target": n_dimensions == 1}


def _check_distance(targets: np.ndarray, values: np.ndarray, weights: np.ndarray, dtype: np.dtype) -> None:
    """Raise when squares of the training targets would overflow in single precision."""
    if dtype != np.float32:
        # losses that grow slowly bear any target, and the solver refuses an objective that is not finite
        return
    distance = np.where(weights > 0, np.abs(values).max(axis=1), 0.0)
    row = int(distance.argmax())
    if not distance[row] <= _MAX_SINGLE:
        worst = targets[row, np.abs(values[row]).argmax()]
        raise ValueError(
            f"y has the value {worst:.3g} in row {row}, {distance[row]:.2g} times as far off as targets usually are: "
            "too far for float32. Give X in float64, or leave the row out."
        )


def _n_dimensions(y: np.ndarray, weights: np.ndarray) -> int:
    return y.ndim


#: turns y into training targets, whole or block by block
TargetEncoder = SignEncoder | TargetScaler
