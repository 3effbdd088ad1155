"""Fits of estimators: the data are loaded, the engine is called for one machine or for those of cells, and the fitted
attributes are set."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from unisvm import engine
from unisvm._base import BaseUniSVM, describe_estimator, read_settings, target_encoder, validate
from unisvm._validation import (
    check_kernel_matrix,
    check_weights,
    drop_zero_weights,
    is_precomputed,
    noted_columns,
    unchanged_on_failure,
)
from unisvm.checkpoint import fingerprint, open_stages
from unisvm.class_pairs import order_by_class
from unisvm.distributed import fit as dask_fit
from unisvm.distributed.collections import is_dask
from unisvm.engine import FitSettings, Fitted
from unisvm.fit_checks import warn_if_doubtful, warn_of_cells, warn_unless_converged
from unisvm.fitted_attributes import certificate, fitted_attributes, replace_attributes, set_attributes
from unisvm.kernel_expansion import KernelExpansion
from unisvm.kernels.base import as_rows
from unisvm.local.fit import LocalFit, check_possible, fit_cells, partitions_of, rows_of_a_cell
from unisvm.local.tree import CellTree
from unisvm.parallel import blas_threads, count_threads
from unisvm.progress import Report, StageRunner
from unisvm.progress.callbacks import CallbackListener, callbacks_of
from unisvm.relevance import with_relevance
from unisvm.rows import MemoryRows
from unisvm.rows.mapped import StoredRows
from unisvm.targets import Attributes, TargetEncoder, TargetUnits


def fit_estimator(
    estimator: BaseUniSVM,
    X,
    y,
    sample_weight=None,
    init: KernelExpansion | None = None,
    outer: Report | None = None,
) -> BaseUniSVM:
    """The estimator, fitted. If the fit fails, it is as before.

    NumPy's warnings are off: checks of the result say what overflowed.

    Parameters
    ----------
    estimator : BaseUniSVM
    X, y, sample_weight
        As given by the user.
    init : KernelExpansion, optional
        Functions in the units of y to start from; with ``warm_start``, those of the last fit.
    outer : Report, optional
        Of the search whose refit it is.
    """
    with np.errstate(all="ignore"):
        settings = read_settings(estimator)
    report = Report(estimator.verbose) if outer is None else outer.within("refit")
    n_stages = engine.count_stages(settings) if estimator.cells is None else None
    tasks = callbacks_of(estimator, report, X, y, sample_weight, n_stages)
    with report, tasks as called_back:
        with unchanged_on_failure(estimator), np.errstate(all="ignore"):
            outcome = _fit(estimator, settings, report, called_back, X, y, sample_weight, init)
        replace_attributes(estimator, outcome.attributes)
        report.say(outcome.certificate)
    outcome.warn()
    return estimator


class _Outcome(NamedTuple):
    """Fitted attributes, how the fit ended, on one line, and a function that warns where it cannot be good."""

    attributes: Attributes
    certificate: str
    warn: Callable[[], None]


class _Loaded(NamedTuple):
    """Training rows with their targets, the units of these, and the attributes that say what they mean."""

    rows: Any
    units: TargetUnits
    attributes: Attributes


def _fit(
    estimator: BaseUniSVM,
    settings: FitSettings,
    report: Report,
    called_back: CallbackListener | None,
    X,
    y,
    sample_weight,
    init: KernelExpansion | None,
) -> _Outcome:
    """The outcome of a fit."""
    encoder = partial(target_encoder, estimator)
    load: Callable[..., tuple[Any, TargetUnits, Attributes]] = _load
    describe: Callable[[Any], dict[str, str]] = fingerprint.describe_store
    if is_dask(X):
        dask_fit.check_possible(estimator, settings)
        load, describe = dask_fit.load, dask_fit.describe
    loaded = _Loaded(*load(estimator, X, y, sample_weight, encoder, count_threads(estimator.n_jobs)))
    rows, units, _ = loaded
    most_rows = rows_of_a_cell(estimator.cells, rows.n_rows)
    if most_rows is not None:
        check_possible(settings)
    starts = [] if init is None else [init]
    if init is None and estimator.warm_start:
        starts = _last_functions(estimator, loaded)
    # one that starts elsewhere is of a sample that lacks a class
    starts = [start for start in starts if len(start.dual_coef) == units.n_columns]

    def identity() -> dict[str, str]:
        of_starts = [part for each in starts for part in (each.dual_coef, each.intercept, each.points, each.kernel)]
        return (
            describe_estimator(estimator)
            | describe(rows)
            | {"the units of y": fingerprint.describe_together((units.offset, units.scale))}
            | {"the function that it starts from": fingerprint.describe_together(of_starts)}
        )

    with open_stages(estimator.checkpoint, identity, estimator.random_state) as stages, blas_threads(rows.n_threads):
        runner = StageRunner(stages, report)
        settings, of_columns = with_relevance(rows, units, settings, runner)
        loaded = loaded._replace(attributes=loaded.attributes | of_columns)
        trees = []
        if most_rows is not None:
            earlier = getattr(estimator, "partitions_", []) if starts else []
            trees = partitions_of(rows, settings, most_rows, estimator.partitions, runner, earlier)
        if trees:
            # those from a checkpoint are copies
            is_kept = len(trees) == len(earlier) and all(map(CellTree.is_same, trees, earlier))
            fitted = fit_cells(rows, units, settings, trees, runner, starts if is_kept else [])
            return _of_cells(estimator, loaded, settings, fitted)
        start = starts[0] if len(starts) == 1 else None
        return _of_one_machine(loaded, settings, runner, start, called_back)


def _of_one_machine(
    loaded: _Loaded,
    settings: FitSettings,
    runner: StageRunner,
    init: KernelExpansion | None,
    called_back: CallbackListener | None,
) -> _Outcome:
    rows, units, of_targets = loaded

    def attributes_of(fitted: Fitted) -> Attributes:
        return of_targets | fitted_attributes(fitted)

    if called_back is not None:
        called_back.attributes_of = attributes_of
    fitted = runner.stage(
        "result",
        lambda: engine.fit(rows, units, settings, runner, init),
        lambda saved: Fitted.from_state(saved, rows, settings),
        label="whole fit",
    )

    def warn() -> None:
        result, worst = fitted.result, float(fitted.result.stationarity.max())
        single = fitted.expansion.dual_coef.dtype == np.float32
        is_krein = settings.indefinite == "krein" and bool(fitted.basis.feature_map.signature[1])
        warn_unless_converged(result.reasons, worst, settings, single=single, is_krein=is_krein)
        with np.errstate(all="ignore"):
            warn_if_doubtful(rows, fitted, settings)

    return _Outcome(attributes_of(fitted), certificate(fitted), warn)


def _of_cells(estimator: BaseUniSVM, loaded: _Loaded, settings: FitSettings, fitted: LocalFit) -> _Outcome:
    rows, _, of_targets = loaded
    noted = noted_columns(estimator)
    plain = {**estimator.get_params(deep=False), "cells": None, "checkpoint": None, "verbose": 0}
    cells = []
    for cell in fitted.cells:
        machine = type(estimator)(**plain)
        set_attributes(machine, noted | of_targets | cell.attributes)
        cells.append(machine)

    def warn() -> None:
        single = rows.dtype == np.float32
        warn_unless_converged(fitted.reasons, fitted.stationarity, settings, single=single)
        with np.errstate(all="ignore"):
            warn_of_cells(rows, fitted.kernel, fitted.of_cells("trace_error_"), fitted.of_cells("rank_"))

    return _Outcome(of_targets | fitted.attributes() | {"cells_": cells}, fitted.certificate, warn)


def _load(
    estimator: BaseUniSVM, X, y, sample_weight, encoder: Callable[[int], TargetEncoder], n_threads: int
) -> tuple[MemoryRows, TargetUnits, Attributes]:
    """Rows with their training targets, the units of these, and the attributes that say what they mean."""
    X, y, sample_weight = validate(estimator, X, y, sample_weight)
    X = as_rows(X)
    weights, precomputed = check_weights(sample_weight, X), is_precomputed(estimator.kernel)
    if precomputed:
        check_kernel_matrix(X)
    targets, attributes = encoder(X.shape[1]).encode(y, weights, X.dtype)
    kept, present = drop_zero_weights(X, targets.weights, precomputed=precomputed)
    values, weights = targets.values, targets.weights
    if len(present) < len(weights):
        values, weights = values[present], weights[present]
    values = np.ascontiguousarray(values, dtype=X.dtype)
    # rows of a class are kept together, where pairs of classes read no others; in files they stay where they are
    order = None if isinstance(kept, StoredRows) else order_by_class(values, targets.units.pairs)
    rows = MemoryRows(kept, values, weights, n_threads, order, estimator.scratch_dir, present, given=X)
    return rows, targets.units, attributes


def _last_functions(estimator: BaseUniSVM, loaded: _Loaded) -> list[KernelExpansion]:
    """The functions of the last fit, of each of its cells, if they have the columns of this one and mean the same."""
    machines = getattr(estimator, "cells_", [estimator])
    if not hasattr(machines[0], "dual_coef_") or is_precomputed(estimator.kernel):
        return []
    points, coefficients = machines[0].landmark_vectors_, machines[0].dual_coef_
    has_columns = coefficients.shape[1] if points is None else points.shape[1] if points.ndim == 2 else None
    same_shape = has_columns == loaded.rows.n_features and len(coefficients) == loaded.units.n_columns
    same_classes = np.array_equal(loaded.attributes.get("classes_", []), getattr(estimator, "classes_", []))
    if not (same_shape and same_classes):
        return []
    return [
        KernelExpansion(each.kernel_, each.landmark_vectors_, each.dual_coef_, each.intercept_) for each in machines
    ]
