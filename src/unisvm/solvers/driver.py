"""The one driver that iterates every solver: convergence, history, resuming, callbacks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from enum import Enum
from time import perf_counter
from typing import NamedTuple

import numpy as np

from unisvm.objective import Objective
from unisvm.parallel import blas_threads
from unisvm.preconditioner import MajoriserCoordinates
from unisvm.solvers.base import Iteration, Solver, Start, State, trait

# Steps for each iteration: no solver tries so many points one after the other.
_MOST_TRIALS = 20


class StopReason(Enum):
    """Why a column's iteration ended."""

    CONVERGED = "the stationarity fell below tol"
    MAX_ITER = "max_iter was reached"
    PRECISION = "no further decrease can be told from rounding error"
    CALLBACK = "a callback ended it"


@dataclass
class History:
    """Course of an iteration: where it starts, and each point that it moves to.

    Attributes
    ----------
    objective, stationarity : list of ndarray
        Of every column, at each iteration.
    seconds : list of float
        Since the start, at each iteration.
    n_sweeps : list of int
        Sweeps over all rows until then, those in which no column moved among them.
    """

    objective: list[np.ndarray] = field(default_factory=list)
    stationarity: list[np.ndarray] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    n_sweeps: list[int] = field(default_factory=list)
    _started: float = field(default_factory=perf_counter)

    def __len__(self) -> int:
        return len(self.objective)

    def record(self, objective: np.ndarray, stationarity: np.ndarray, n_sweeps: int) -> None:
        """Add an iteration, which has just ended."""
        self.objective.append(objective.copy())
        self.stationarity.append(stationarity.copy())
        self.seconds.append(perf_counter() - self._started)
        self.n_sweeps.append(n_sweeps)

    def copy(self) -> History:
        """The history up to now."""
        lists = list(self.objective), list(self.stationarity), list(self.seconds), list(self.n_sweeps)
        return History(*lists, self._started)

    def state(self) -> State:
        """The history as arrays."""
        return {
            "history_objective": np.array(self.objective),
            "history_stationarity": np.array(self.stationarity),
            "history_seconds": np.array(self.seconds),
            "history_n_sweeps": np.array(self.n_sweeps, dtype=np.int64),
        }

    @classmethod
    def from_state(cls, state: State) -> History:
        """Inverse of `state`; time goes on from the last iteration."""
        seconds = state["history_seconds"].tolist()
        started = perf_counter() - (seconds[-1] if seconds else 0.0)
        values = list(state["history_objective"]), list(state["history_stationarity"])
        return cls(*values, seconds, state["history_n_sweeps"].tolist(), started)


@dataclass
class Result:
    """The minimisers and how they were reached, per column.

    Attributes
    ----------
    weights : ndarray of shape (n_coordinates, n_columns)
    objective, stationarity : ndarray of shape (n_columns,)
        Stationarity is the decrease that one more step of the majoriser promises, relative to the objective.
    n_sweeps : ndarray of int
        Sweeps over all rows.
    reasons : list of StopReason
    history : History
    n_steps : int
        Steps of the solver: as many as there are iterations in the history, and those in which no column moved.
    """

    weights: np.ndarray
    objective: np.ndarray
    stationarity: np.ndarray
    n_sweeps: np.ndarray
    reasons: list[StopReason]
    history: History
    n_steps: int = 0

    @classmethod
    def empty(cls, iteration: Iteration) -> Result:
        """The result before the first step."""
        q = iteration.objective.n_columns
        if np.shape(iteration.weights)[1:] != (q,):
            raise ValueError(
                f"{type(iteration).__name__}: weights must have shape (n_coordinates, {q}), a column for each of the "
                f"objective's; got {np.shape(iteration.weights)}."
            )
        unknown = np.full(q, np.inf)
        weights, n_sweeps = np.zeros_like(iteration.weights), np.full(q, iteration.n_sweeps)
        return cls(weights, unknown, unknown.copy(), n_sweeps, [StopReason.MAX_ITER] * q, History())

    def update(self, iteration: Iteration, moved: bool) -> None:
        """Take in where the columns under way stand after a step that moved one of them or none, but for weights."""
        for name in ("value", "stationarity"):
            if np.shape(getattr(iteration, name)) != iteration.columns.shape:
                raise ValueError(
                    f"{type(iteration).__name__}.step must set {name} to a number for each column under way, an array "
                    f"of shape {iteration.columns.shape}; got shape {np.shape(getattr(iteration, name))}."
                )
        for name in ("value", "stationarity"):
            numbers = getattr(iteration, name)
            if not np.isfinite(numbers).all():
                found = f"The {'objective' if name == 'value' else name} is {numbers.max()}"
                raise ValueError(f"{found} after a step of {type(iteration).__name__}. Scale X and y, or lower C.")
        self.objective[iteration.columns] = iteration.value
        self.stationarity[iteration.columns] = iteration.stationarity
        self.n_sweeps[iteration.columns] += 1
        self.n_steps += 1
        if moved:
            self.history.record(self.objective, self.stationarity, int(self.n_sweeps.max()))

    def finish(self, iteration: Iteration, mask: np.ndarray, reason: StopReason) -> None:
        """Take in the weights of some of the columns under way, which end for this reason."""
        if mask.any():
            ended = iteration.columns[mask]
            self.weights[:, ended] = iteration.take_weights(mask)
            for column in ended.tolist():
                self.reasons[column] = reason

    def with_columns_under_way(self, iteration: Iteration) -> Result:
        """A copy of the result, with the weights that the columns under way have now."""
        weights = self.weights.copy()
        weights[:, iteration.columns] = iteration.take_weights(np.ones(len(iteration.columns), dtype=bool))
        numbers = self.objective.copy(), self.stationarity.copy(), self.n_sweeps.copy()
        return Result(weights, *numbers, list(self.reasons), self.history.copy(), self.n_steps)

    def state(self) -> State:
        """The result as arrays."""
        return {
            "result_weights": self.weights,
            "result_objective": self.objective,
            "result_stationarity": self.stationarity,
            "result_n_sweeps": self.n_sweeps,
            "result_reasons": np.array([reason.name for reason in self.reasons], dtype=str),
            "result_n_steps": np.array(self.n_steps),
        } | self.history.state()

    @classmethod
    def from_state(cls, state: State) -> Result:
        """Inverse of `state`."""
        weights, objective, stationarity, n_sweeps = (
            state[f"result_{name}"] for name in ("weights", "objective", "stationarity", "n_sweeps")
        )
        names = state["result_reasons"].tolist()
        if not set(names) <= set(StopReason.__members__):
            raise ValueError(f"Unknown reasons to stop: {names}.")
        reasons = [StopReason[name] for name in names]
        history, n_steps = History.from_state(state), int(state["result_n_steps"])
        return cls(weights, objective, stationarity, n_sweeps, reasons, history, n_steps)


class Reached(NamedTuple):
    """Where an iteration has led, for a callback.

    Attributes
    ----------
    history : History
        The solver's own, which grows.
    state : callable
        Makes a state from which `minimise` resumes.
    result : callable
        Makes the result as if the solver had ended here.
    """

    history: History
    state: Callable[[], State]
    result: Callable[[], Result]


#: called after each iteration; True ends the solver
IterationCallback = Callable[[Reached], bool | None]


def minimise(
    solver: Solver,
    objective: Objective,
    majoriser: MajoriserCoordinates,
    start: Start,
    *,
    tol: float,
    max_iter: int,
    callback: IterationCallback | None = None,
    state: State | None = None,
    max_steps: int | None = None,
) -> Result:
    """Minimisers of all columns: the loop of every solver.

    Parameters
    ----------
    solver, objective, start, tol
    majoriser : MajoriserCoordinates
        Measures stationarity.
    max_iter : int
        Most iterations: steps that move a column, the first of which evaluates the start.
    callback : callable, optional
        Called after each iteration; True ends the solver.
    state : State, optional
        A state that `callback` was offered: the iteration resumes from there.
    max_steps : int, optional
        Most steps, those in which points are tried and no column moves among them.
    """
    max_steps = _MOST_TRIALS * max_iter if max_steps is None else max_steps
    # threads that small products wake would spin on into the next sweep
    with blas_threads(1) if trait(solver, "has_small_products") else nullcontext():
        if state is None:
            iteration = solver.begin(objective, majoriser, start)
            if not isinstance(iteration, Iteration):
                raise TypeError(f"{type(solver).__name__}.begin must return an Iteration, got {type(iteration)}.")
            result = Result.empty(iteration)
        else:
            state = _copied(state)
            result = Result.from_state(state)
            # any weights will do, and a solver that is given some looks for none
            iteration = solver.begin(objective, majoriser, start._replace(weights=result.weights))
            iteration.resume(state)
        reached, why_left = _reached(iteration, result), StopReason.MAX_ITER
        while len(iteration.columns) and len(result.history) < max_iter and result.n_steps < max_steps:
            iteration.step()
            moved = bool(iteration.moved().any())
            result.update(iteration, moved)
            converged = iteration.converged(tol)
            stalled = iteration.stalled() & ~converged
            result.finish(iteration, converged, StopReason.CONVERGED)
            result.finish(iteration, stalled, StopReason.PRECISION)
            if (converged | stalled).any():
                iteration.keep(~(converged | stalled))
            if moved and callback is not None and callback(reached):
                why_left = StopReason.CALLBACK
                break
        result.finish(iteration, np.ones(len(iteration.columns), dtype=bool), why_left)
    return result


def _reached(iteration: Iteration, result: Result) -> Reached:
    return Reached(
        result.history,
        state=lambda: _copied(iteration.state() | result.state()),
        result=lambda: result.with_columns_under_way(iteration),
    )


def _copied(state: State) -> State:
    """Arrays that the iteration does not write to, in the same order in memory, by which sums are rounded alike."""
    copied = {name: np.array(array, order="K") for name, array in state.items()}
    objects = [name for name, array in copied.items() if array.dtype.hasobject]
    if objects:
        raise TypeError(f"The state of a solver must be arrays of numbers or text; {', '.join(objects)} is of objects.")
    return copied
