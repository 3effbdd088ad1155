"""The two places that checkpoints and reports hang on: a stage of a fit, and an iteration of its solver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Protocol, TypeVar

import numpy as np

from unisvm.checkpoint import Arrays, Stages
from unisvm.solvers.base import History


class Restorable(Protocol):
    """A result of a stage that can be kept as arrays."""

    def state(self) -> Arrays: ...


T = TypeVar("T")
R = TypeVar("R", bound=Restorable)


class Report:
    """Lines on the standard output: stages and the certificate for verbose ≥ 1, each iteration for verbose ≥ 2."""

    def __init__(self, verbose: int = 0):
        self.verbose = int(verbose)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Say how long a stage took, when it is over."""
        started = perf_counter()
        yield
        self.say(f"{name:<10} {perf_counter() - started:8.3f} s")

    def iteration(self, history: History) -> None:
        if self.verbose < 2:
            return
        objective, stationarity = history.objective[-1], history.stationarity[-1]
        self.say(
            f"  {len(history):4d}  objective {np.mean(objective):.8g}  "
            f"stationarity {np.max(stationarity):.2e}  {history.seconds[-1]:.2f} s"
        )

    def say(self, line: str) -> None:
        """Print a line for verbose ≥ 1."""
        if self.verbose >= 1:
            print(f"[unisvm] {line}", flush=True)


class StageRunner:
    """Runs the stages of a fit: loads those that a checkpoint has, saves the others, and reports all of them.

    Parameters
    ----------
    stages : Stages
        Where results of stages are kept, and the source of random numbers.
    report : Report
    """

    def __init__(self, stages: Stages, report: Report):
        self._stages = stages
        self.report = report
        if stages.finished:
            report.say(f"resumes from the checkpoint after: {', '.join(stages.finished)}")

    @property
    def rng(self) -> np.random.RandomState:
        """Random numbers of the fit."""
        return self._stages.rng

    def run(self, name: str, compute: Callable[[], T]) -> T:
        """Result of a stage that is computed anew in every run."""
        with self.report.timed(name):
            return compute()

    def stage(self, name: str, compute: Callable[[], R], restore: Callable[[Arrays], R], label: str | None = None) -> R:
        """Result of a stage: restored if an earlier run has finished it, else computed and kept."""
        with self.report.timed(label or name):
            saved = self._stages.load(name)
            if saved is not None:
                with self._stages.restoring(name):
                    return restore(saved)
            result = compute()
            self._stages.save(name, result.state())
            return result

    def saved_iteration(self) -> Arrays | None:
        """State of the solver in which an earlier run was broken off."""
        return self._stages.load("solver")

    def iteration(self, history: History, state: Callable[[], Arrays]) -> None:
        """Report an iteration of the solver, and keep its state from time to time."""
        self.report.iteration(history)
        self._stages.save_at_times("solver", state)
