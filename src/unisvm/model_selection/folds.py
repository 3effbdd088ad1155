"""Splits of the rows as columns: their targets and weights in one row store, and scores of what they leave out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from unisvm._estimator import BaseUniSVM, Problem, in_units_of_y
from unisvm._prepared import Prepared
from unisvm.kernels.base import as_rows
from unisvm.losses.base import CLASSIFICATION, REGRESSION
from unisvm.model_selection.grid import Layout, Stage
from unisvm.rows import MemoryRows
from unisvm.rows.stored import only
from unisvm.rows.threads import count_threads

# rows that the same splits leave out, so many that a block of them is worth having
_WORTH_SORTING = 100
Splits = Sequence[tuple[np.ndarray, np.ndarray]]


class Folds(NamedTuple):
    """Rows that count, with the problems of all splits.

    Attributes
    ----------
    X : ndarray or CSR matrix
        All rows, as they were given.
    y : ndarray
    present : ndarray of int
        Numbers of the rows of positive weight, which are the rows of the store.
    rows : row store
    layout : Layout
    tests : list of ndarray
        What each split leaves out, as numbers of rows in the store.
    problems : list of Problem
    own : list of dict
        What an estimator of each split knows about its targets.
    """

    X: Any
    y: np.ndarray
    present: np.ndarray
    rows: MemoryRows
    layout: Layout
    tests: list[np.ndarray]
    problems: list[Problem]
    own: list[dict[str, Any]]


def fold(
    template: BaseUniSVM, X, y: np.ndarray, weights: np.ndarray, splits: Splits, subset: np.ndarray | None = None
) -> Folds:
    """Bring the splits into columns, of all rows or of a subset. Rows of weight 0 are left out, as if not there."""
    every_row = as_rows(X)
    whole, own = template._specify(y, weights, X.dtype)
    if subset is not None:
        inside = np.zeros_like(weights)
        inside[subset] = weights[subset]
        weights = inside
        whole, _ = template._specify(y, weights, X.dtype, own)
    problems, owned = [], []
    for train, _ in splits:
        # a row may be drawn more than once
        counts = np.bincount(train, minlength=len(weights)).astype(weights.dtype)
        problem, of_split = template._specify(y, weights * counts, X.dtype, own)
        problems.append(problem)
        owned.append(of_split)
    present = np.flatnonzero(whole.weights)
    place = np.full(len(weights), -1)
    place[present] = np.arange(len(present))
    tests = [place[test][place[test] >= 0] for _, test in splits]

    n_splits, n_outputs = len(splits), whole.targets.shape[1]
    if template._task == REGRESSION:
        # each split has a scale of its own
        columns = [problem.targets for problem in problems]
        target_of = np.arange(n_splits * n_outputs).reshape(n_splits, n_outputs)
        middle = np.concatenate([problem.middle for problem in problems])
    else:
        columns, middle = [whole.targets], None
        target_of = np.tile(np.arange(n_outputs), (n_splits, 1))
    n_targets = target_of.max() + 1
    stored = np.empty((len(present), n_targets + n_splits), dtype=X.dtype, order="F")
    stored[:, :n_targets] = np.concatenate(columns, axis=1)[present]
    for k, problem in enumerate(problems):
        stored[:, n_targets + k] = problem.weights[present]
    totals = np.array([problem.weights.sum(dtype=np.float64) for problem in problems])

    kept = every_row
    if len(present) < len(weights):
        kept = every_row[present][:, present] if template._is_precomputed() else only(every_row, present)
    # rows that the same splits leave out are kept together, if there are few ways to be left out
    ways = np.packbits(stored[:, n_targets:] > 0, axis=1)
    # up to eight splits are one number, which is sorted many times faster than a row
    ways = ways[:, 0] if ways.shape[1] == 1 else ways
    _, way, n_rows = np.unique(ways, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(way, kind="stable") if n_rows.min() >= _WORTH_SORTING else None
    n_threads = count_threads(template.n_jobs)
    rows = MemoryRows(kept, stored, whole.weights[present], n_threads, order, template.scratch_dir, present)
    return Folds(X, y, present, rows, Layout(target_of, int(n_targets), middle, totals), tests, problems, owned)


def held_out(folds: Folds, prepared: Prepared, stage: Stage, costs: slice, split: int) -> np.ndarray:
    """Decision values on the rows that a split leaves out, of shape (n_test, n_losses, n_costs, n_outputs)."""
    intercept = stage.intercept[:, costs, split]
    coefficients = stage.coefficients[:, :, costs, split].reshape(len(stage.coefficients), -1)
    coefficients = np.ascontiguousarray(coefficients)

    def block(features: np.ndarray) -> np.ndarray:
        return features @ coefficients + intercept.ravel()

    values = folds.rows.values(block, prepared.features, folds.tests[split])
    values = values.reshape(len(values), *intercept.shape)
    problem = folds.problems[split]
    return (values * problem.scale + problem.centre).astype(values.dtype, copy=False)


def remembering(cls: type[BaseUniSVM]) -> type[BaseUniSVM]:
    """A kind of estimator that has its decisions on some rows at hand, for scorers that ask it for them."""

    class Remembering(cls):  # type: ignore[valid-type, misc]
        def remember(self, X, decision: np.ndarray) -> None:
            self._remembered = X, decision

        def _decision(self, X, turn=lambda decision: decision, out=None):
            known, decision = self._remembered
            return turn(decision) if X is known and out is None else super()._decision(X, turn, out)

        def score(self, X, y, sample_weight=None):
            # what accuracy_score does, without its checks, which take longer
            if self._task == CLASSIFICATION and y.ndim == 1 and sample_weight is None:
                return float(np.mean(self.predict(X) == y))
            return super().score(X, y, sample_weight)

    Remembering.__name__ = Remembering.__qualname__ = cls.__name__
    return Remembering


def attributes(folds: Folds, prepared: Prepared, stage: Stage, cell: tuple[int, int, int]) -> dict[str, Any]:
    """The fitted attributes of an estimator for a loss, C and split, given by their places in the stage."""
    problem = folds.problems[cell[-1]]
    dual, intercept = in_units_of_y(stage.dual[(slice(None), *cell)], stage.intercept[cell], problem)
    return prepared.model(dual, intercept) | folds.own[cell[-1]]


def mean_model(folds: Folds, prepared: Prepared, stage: Stage, cell: tuple[int, int]) -> dict[str, Any]:
    """The attributes of an estimator whose function is the mean over the splits, for a loss and C."""
    duals, intercepts = [], []
    for split, problem in enumerate(folds.problems):
        of_split = stage.dual[(slice(None), *cell, split)], stage.intercept[(*cell, split)]
        dual, intercept = in_units_of_y(*of_split, problem)
        duals.append(dual)
        intercepts.append(intercept)
    return prepared.model(np.mean(duals, axis=0), np.mean(intercepts, axis=0))
