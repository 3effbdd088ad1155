"""Kernels that are worth cross-validation, by leave-one-out errors of least squares on a sample of the rows.

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
from unisvm.leave_one_out import CChoice
from unisvm.model_selection.axes import Axes, KernelChoice
from unisvm.model_selection.folds import SearchJob, whole_rows
from unisvm.parallel import blas_threads, count_threads, run
from unisvm.progress import Report
from unisvm.rows import MemoryRows
from unisvm.targets import TargetUnits

# Rounds in which kernels are judged: on so many rows or a share of all of them, at most so many, with so many landmarks
# or more; and so many kernels are left.
_ROUNDS = ((1500, 0.25, 5000, 200, 4), (3000, 1.0, 10_000, 500, 3))
# with many rows there is a landmark for so many: few of them would favour smooth kernels
_ROWS_A_LANDMARK, _MAX_RANK = 6, 1000
# in the end, those whose error is no higher than the least times the first number, and those with the best gamma of
# their kernel if it is no higher than the least times the second
_CLOSE, _CLOSE_KERNELS = 1.05, 1.1


def suitable_Cs(job: SearchJob, axes: Axes, choices: Sequence[KernelChoice], report: Report) -> np.ndarray:
    """C that suits the rows for each kernel and loss, of shape (n_choices, n_losses); NaN for kernels ruled out.

    Parameters
    ----------
    job : SearchJob
    axes : Axes
        Its losses.
    choices : sequence of KernelChoice
    report : Report
    """
    left = np.arange(len(choices))
    for least, share, most, rank, n_left in _ROUNDS:
        n_rows = int(min(max(least, share * np.count_nonzero(job.weights)), most))
        judged = _judge_all(job, axes, [choices[g] for g in left.tolist()], n_rows, rank)
        errors = np.array([of_losses[0].errors.min() for of_losses in judged])
        order = np.argsort(errors, kind="stable")[:n_left]
        left, errors, judged = left[order], errors[order], [judged[i] for i in order]
    suited = np.full((len(choices), len(axes.losses)), np.nan)
    kernels = [choices[g].kernel for g in left.tolist()]
    for i, (g, error, of_losses) in enumerate(zip(left.tolist(), errors, judged, strict=True)):
        is_best_gamma = not any(kernel is kernels[i] for kernel in kernels[:i])
        if error <= (_CLOSE_KERNELS if is_best_gamma else _CLOSE) * errors[0]:
            suited[g] = [choice.C for choice in of_losses]
            report.say(f"{choices[g].kernel}, gamma={choices[g].gamma}: leave-one-out error {error:.4g}")
    return suited


def _judge_all(
    job: SearchJob, axes: Axes, choices: Sequence[KernelChoice], n_rows: int, rank: int
) -> list[list[CChoice]]:
    """C that suits the rows for each kernel and loss, by so many rows and landmarks."""
    rows, units = whole_rows(job, _sample(job, n_rows))
    rank = min(max(rank, rows.n_rows // _ROWS_A_LANDMARK), _MAX_RANK)
    n_threads = min(count_threads(job.template.n_jobs), len(choices))
    tasks = [partial(_judge, job, axes, choice, rows.with_threads(1), units, rank) for choice in choices]
    with blas_threads(1):
        return run(tasks, n_threads)


def _sample(job: SearchJob, n_rows: int) -> np.ndarray | None:
    """Indices of the rows that kernels are judged on; None for all."""
    present = np.flatnonzero(job.weights)
    if len(present) <= n_rows:
        return None
    rng = check_random_state(job.template.random_state)
    return np.sort(rng.permutation(present)[:n_rows])


def _judge(
    job: SearchJob, axes: Axes, choice: KernelChoice, rows: MemoryRows, units: TargetUnits, rank: int
) -> list[CChoice]:
    """C that suits the rows for each loss, with the leave-one-out errors of this kernel."""
    settings = job.few_landmarks(rank).settings(choice)
    if not isinstance(settings.landmarks, str):
        # landmarks of the user's are for all rows
        settings = replace(settings, landmarks="rpcholesky", rank=rank)
    rng = check_random_state(job.template.random_state)
    basis = engine.choose_basis(rows, settings, rng)
    features = basis.feature_map.build(rows)
    return engine.suitable_Cs(rows, basis, features, units, settings, axes.losses, rng)
