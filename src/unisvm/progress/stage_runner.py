"""The two places that reports, checkpoints and callbacks hang on: a stage of a fit, and an iteration of its solver."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Protocol, TypeVar

import numpy as np

from unisvm.checkpoint import Arrays, Stages
from unisvm.progress.events import IterationEnds
from unisvm.progress.report import Report
from unisvm.solvers.driver import Reached, Result


class Restorable(Protocol):
    """A result of a stage that can be kept as arrays."""

    def state(self) -> Arrays: ...


T = TypeVar("T")
R = TypeVar("R", bound=Restorable)


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
        self._is_ended_early = False
        self._lock = Lock()
        if stages.finished:
            report.say(f"resumes from the checkpoint after: {', '.join(stages.finished)}")

    @property
    def rng(self) -> np.random.RandomState:
        """Random numbers of the fit."""
        return self._stages.rng

    def run(self, name: str, compute: Callable[[], T]) -> T:
        """Result of a stage that is computed anew in every run."""
        with self.report.stage(name):
            return compute()

    def stage(self, name: str, compute: Callable[[], R], restore: Callable[[Arrays], R], label: str | None = None) -> R:
        """Result of a stage: restored if an earlier run has finished it, else computed and kept.

        A fit that a callback has ended is not kept as a result: without that callback, it goes on from there.
        """
        with self.report.stage(name, label):
            saved = self._stages.load(name)
            if saved is not None:
                with self._stages.restoring(name):
                    return restore(saved)
            result = compute()
            if not self._is_ended_early:
                self._stages.save(name, result.state())
            return result

    def parallel_stage(self, name: str, compute: Callable[[], R], restore: Callable[[Arrays], R]) -> R:
        """The same for one of several stages at the same time, in threads, of which nothing is told."""
        with self._lock:
            saved = self._stages.load(name)
        if saved is not None:
            with self._stages.restoring(name):
                return restore(saved)
        result = compute()
        with self._lock:
            self._stages.save(name, result.state())
        return result

    def apart(self, seed: int) -> StageRunner:
        """Runner of a fit that is part of this one, with random numbers of its own: it keeps and tells nothing."""
        return StageRunner(Stages(np.random.RandomState(seed)), self.report.silent())

    def saved_iteration(self) -> Arrays | None:
        """State of the solver in which an earlier run was broken off."""
        return self._stages.load("solver")

    def iteration(self, reached: Reached, fitted: Callable[[Result], Any], tol: float, max_iter: int) -> bool:
        """Whether a callback ends the solver; an iteration is reported, and its state kept from time to time.

        Parameters
        ----------
        reached : Reached
        fitted : callable
            Makes the outcome of the fit of a result of the solver.
        tol, max_iter
            Of the solver.
        """
        if not self.report.is_heard:
            self._stages.save_at_times("solver", reached.state)
            return False
        history = reached.history
        self._is_ended_early = self.report.emit(
            IterationEnds,
            number=len(history),
            objective=history.objective[-1],
            stationarity=history.stationarity[-1],
            n_sweeps=history.n_sweeps[-1],
            seconds=history.seconds[-1],
            tol=tol,
            max_iter=max_iter,
            fitted=lambda: fitted(reached.result()),
        )
        if self._is_ended_early:
            self._stages.save("solver", reached.state())
            self.report.say(f"a callback ended the solver after iteration {len(history)}")
        else:
            self._stages.save_at_times("solver", reached.state)
        return self._is_ended_early
