"""Kernels that are worth cross-validation, by leave-one-out errors of least squares on a sample of the rows.

The errors of all C come from one spectrum (`unisvm.leave_one_out`), so that a kernel is judged in the time of a small
fit, and by squared errors, which wrong labels blur less than counts of mistakes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from unisvm import engine
from unisvm.leave_one_out import CChoice, mean_choice
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
# Cells that are fitted one by one are judged with all of their landmarks: in the first round so many, then all.
_CELLS_OF_FIRST_ROUND = 3
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
    for round_ in _ROUNDS:
        *_, n_left = round_
        judged = _judge_all(job, axes, [choices[g] for g in left.tolist()], _samples(job, round_))
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


class _Sample(NamedTuple):
    """Rows that kernels are judged on, with the units of their targets, and most landmarks."""

    rows: MemoryRows
    units: TargetUnits
    rank: int


def _samples(job: SearchJob, round_: tuple[int, float, int, int, int]) -> list[_Sample]:
    """The rows of a round: a sample of all, or of cells that are fitted one by one some or all."""
    least, share, most, rank, _ = round_
    if job.drawn is not None:
        parts = job.drawn.parts[: _CELLS_OF_FIRST_ROUND if round_ is _ROUNDS[0] else None]
        stores = [whole_rows(job, part) for part in parts]
        return [_Sample(rows.with_threads(1), units, min(rows.n_rows, _MAX_RANK)) for rows, units in stores]
    n_rows = int(min(max(least, share * np.count_nonzero(job.weights)), most))
    rows, units = whole_rows(job, _sample(job, n_rows))
    return [_Sample(rows.with_threads(1), units, min(max(rank, rows.n_rows // _ROWS_A_LANDMARK), _MAX_RANK))]


def _judge_all(
    job: SearchJob, axes: Axes, choices: Sequence[KernelChoice], samples: list[_Sample]
) -> list[list[CChoice]]:
    """C that suits the rows for each kernel and loss: the mean over the samples."""
    tasks = [partial(_judge, job, axes, choice, *sample) for choice in choices for sample in samples]
    n_threads = min(count_threads(job.template.n_jobs), len(tasks))
    with blas_threads(1):
        judged = run(tasks, n_threads)
    n = len(samples)
    return [
        [mean_choice(of_samples) if n > 1 else of_samples[0] for of_samples in zip(*judged[k : k + n], strict=True)]
        for k in range(0, len(judged), n)
    ]


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
