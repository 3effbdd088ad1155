"""Cells of a grid that are worth cross-validation, by leave-one-out errors of least squares on a sample of the rows.

The errors of all C come from one spectrum (`unisvm.leave_one_out`), so that a kernel is judged in the time of a small
fit, and by squared errors, which wrong labels blur less than counts of mistakes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.utils import check_random_state

from unisvm import engine
from unisvm.checkpoint import Stages
from unisvm.leave_one_out import CChoice
from unisvm.model_selection.axes import Axes, KernelChoice
from unisvm.model_selection.folds import SearchJob, whole_rows
from unisvm.parallel import blas_threads, count_threads, run
from unisvm.progress import Report, StageRunner
from unisvm.rows import MemoryRows
from unisvm.targets import TargetUnits

# rows that kernels are judged on, and landmarks
_JUDGED_ROWS, _JUDGED_RANK = 3000, 500
# so many kernels are cross-validated at the most, if their error is no higher than the least times this
_MAX_KERNELS, _CLOSE = 2, 1.03
# values of C that are cross-validated for each loss: the nearest to the one that suits the rows
_N_CS = 3


def promising_cells(job: SearchJob, axes: Axes, choices: Sequence[KernelChoice], report: Report) -> np.ndarray:
    """Mask of the cells that are worth cross-validation, of shape (n_C, n_choices, n_losses)."""
    rows, units = whole_rows(job, _sample(job))
    n_threads = min(count_threads(job.template.n_jobs), len(choices))
    tasks = [partial(_judge, job, axes, choice, rows.with_threads(1), units) for choice in choices]
    with blas_threads(1):
        judged = run(tasks, n_threads)
    errors = np.array([of_losses[0].errors.min() for of_losses in judged])
    order = np.argsort(errors, kind="stable")[:_MAX_KERNELS]
    promising = np.zeros((len(axes.Cs), len(choices), len(axes.losses)), dtype=bool)
    for g in order[errors[order] <= _CLOSE * errors.min()].tolist():
        for j, choice in enumerate(judged[g]):
            nearest = np.argsort(np.abs(np.log(axes.Cs / choice.C)), kind="stable")[:_N_CS]
            promising[nearest, g, j] = True
        report.say(f"{choices[g].kernel}, gamma={choices[g].gamma}: leave-one-out error {errors[g]:.4g}")
    return promising


def _sample(job: SearchJob) -> np.ndarray | None:
    """Indices of the rows that kernels are judged on; None for all."""
    present = np.flatnonzero(job.weights)
    if len(present) <= _JUDGED_ROWS:
        return None
    rng = check_random_state(job.template.random_state)
    return np.sort(rng.permutation(present)[:_JUDGED_ROWS])


def _judge(job: SearchJob, axes: Axes, choice: KernelChoice, rows: MemoryRows, units: TargetUnits) -> list[CChoice]:
    """C that suits the rows for each loss, with the leave-one-out errors of this kernel."""
    settings = job.settings(choice)
    rank = _JUDGED_RANK if settings.rank is None else min(settings.rank, _JUDGED_RANK)
    if not isinstance(settings.landmarks, str):
        # landmarks of the user's are for all rows
        settings = replace(settings, landmarks="rpcholesky")
    settings = replace(settings, rank=rank)
    runner = StageRunner(Stages(check_random_state(job.template.random_state)), Report(0))
    nystrom = engine.prepare(rows, settings, runner)
    return engine.suitable_Cs(rows, nystrom, units, settings, axes.losses, runner.rng)
