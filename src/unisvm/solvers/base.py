"""The solver protocol, and the one driver that iterates every solver: convergence, history, resuming, callbacks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from enum import Enum
from time import perf_counter
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from unisvm.objective import Objective
from unisvm.parallel import blas_threads
from unisvm.preconditioner import Coordinates, Majoriser, MajoriserCoordinates

#: a solver's state as arrays by their names, from which it can resume
State = dict[str, np.ndarray]


class StopReason(Enum):
    """Why a column's iteration ended."""

    CONVERGED = "the stationarity fell below tol"
    MAX_ITER = "max_iter was reached"
    PRECISION = "no further decrease can be told from rounding error"


class Start(NamedTuple):
    """Where a solver starts.

    Attributes
    ----------
    weights : ndarray of shape (n_coordinates, n_columns) or None
        By the solver's own choice when None.
    coordinates : Coordinates or None
        Preconditioner; the majoriser when None.
    n_sweeps : int
        Sweeps over all rows that it took to find out.
    """

    weights: np.ndarray | None = None
    coordinates: Coordinates | None = None
    n_sweeps: int = 0

    def state(self) -> State:
        """The start as arrays, without entries that are None."""
        arrays = {"n_sweeps": np.array(self.n_sweeps)}
        if self.weights is not None:
            arrays["weights"] = self.weights
        if isinstance(self.coordinates, Majoriser):
            arrays["coordinates"] = self.coordinates.factor
        return arrays

    @classmethod
    def from_state(cls, state: State, A: float) -> Start:
        """Inverse of `state`, for a loss with this constant."""
        factor = state.get("coordinates")
        coordinates = None if factor is None else Majoriser.from_factor(factor, A)
        return cls(state.get("weights"), coordinates, int(state["n_sweeps"]))


class Iteration(ABC):
    """The columns that a solver has under way: where they stand, and how they move.

    The driver calls `step`, takes the columns that are done out by `keep`, and saves and restores `state`. A subclass
    has to write `step`, which sets `weights`, `value` and `stationarity`.

    Attributes
    ----------
    objective : Objective
    majoriser : MajoriserCoordinates
    columns : ndarray of int of shape (n_active,)
        Indices of the columns under way.
    weights : ndarray of shape (n_coordinates, n_active)
    value, stationarity : ndarray of shape (n_active,)
        The objective, and the relative decrease that one more step of the majoriser promises there: see
        `relative_decrease`.
    n_sweeps : int
        Sweeps over all rows before the first step.
    """

    #: attributes whose last axis are the columns under way
    arrays: tuple[str, ...] = ("columns", "weights", "value", "stationarity")

    def __init__(self, objective: Objective, majoriser: MajoriserCoordinates, weights: np.ndarray, n_sweeps: int = 0):
        self.objective = objective
        self.majoriser = majoriser
        self.columns = np.arange(objective.n_columns)
        self.weights = weights
        self.value = np.full(objective.n_columns, np.inf)
        self.stationarity = np.full(objective.n_columns, np.inf)
        self.n_sweeps = n_sweeps

    @abstractmethod
    def step(self) -> None:
        """Move every column under way once, and evaluate the objective there: one sweep."""

    def converged(self, tol: float) -> np.ndarray:
        """Mask of the columns that are done."""
        return self.stationarity <= tol

    def stalled(self) -> np.ndarray:
        """Mask of the columns for which rounding error hides any further decrease."""
        return np.zeros(len(self.columns), dtype=bool)

    def take_weights(self, mask: np.ndarray) -> np.ndarray:
        """Weights of these of the columns."""
        return self.weights[:, mask]

    def keep(self, mask: np.ndarray) -> None:
        """Go on with these of the columns."""
        for name in self.arrays:
            setattr(self, name, getattr(self, name)[..., mask])

    def state(self) -> State:
        """All that `step` needs, as arrays."""
        return {name: getattr(self, name) for name in self.arrays}

    def resume(self, state: State) -> None:
        """Inverse of `state`."""
        for name in self.arrays:
            setattr(self, name, state[name])


@runtime_checkable
class Solver(Protocol):
    """A method that minimises the objective: an object with the method `begin`, such as one of the user's.

    Three attributes are optional: ``needs_exact_majoriser = True`` asks for a majoriser of all rows instead of a
    sample, ``copies_of_features`` is how many m × r matrices the solver holds, features included (1 if it is absent),
    and ``has_small_products = True`` says that matrix products between sweeps are too small for several threads.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from unisvm import UniSVMClassifier, solvers
    >>> class Descent(solvers.Iteration):
    ...     arrays = (*solvers.Iteration.arrays, "move")
    ...     move = np.zeros(1)
    ...     def step(self):
    ...         self.weights = self.weights - self.move
    ...         self.value, gradient = self.objective(self.weights, self.columns)
    ...         z = self.majoriser.gradient(gradient, self.columns)
    ...         self.stationarity = solvers.relative_decrease(z, self.value)
    ...         self.move = self.majoriser.to_weights(z, self.columns)
    >>> class GradientDescent:
    ...     needs_exact_majoriser = True
    ...     def begin(self, objective, majoriser, start):
    ...         weights = start.weights
    ...         if weights is None:
    ...             solutions = majoriser.least_squares(objective.correlate_targets())
    ...             weights = solutions[:, : objective.n_columns]
    ...         return Descent(objective, majoriser, weights)
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = UniSVMClassifier("hinge", C=1.0, solver=GradientDescent()).fit(X, y)
    >>> bool(model.stationarity_ <= model.tol)
    True
    """

    def begin(self, objective: Objective, majoriser: MajoriserCoordinates, start: Start) -> Iteration:
        """The iteration of all columns of the objective, before its first step."""


#: optional attributes of a solver, and their defaults
_TRAITS = {"needs_exact_majoriser": False, "copies_of_features": 1, "has_small_products": False}


def trait(solver: Solver, name: str) -> Any:
    """An optional attribute of a solver, or its default."""
    return getattr(solver, name, _TRAITS[name])


@dataclass
class History:
    """Course of an iteration.

    Attributes
    ----------
    objective, stationarity : list of ndarray
        Of every column, at each iteration.
    seconds : list of float
        Since the start, at each iteration.
    """

    objective: list[np.ndarray] = field(default_factory=list)
    stationarity: list[np.ndarray] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    _started: float = field(default_factory=perf_counter)

    def __len__(self) -> int:
        return len(self.objective)

    def record(self, objective: np.ndarray, stationarity: np.ndarray) -> None:
        """Add an iteration, which has just ended."""
        self.objective.append(objective.copy())
        self.stationarity.append(stationarity.copy())
        self.seconds.append(perf_counter() - self._started)

    def state(self) -> State:
        """The history as arrays."""
        return {
            "history_objective": np.array(self.objective),
            "history_stationarity": np.array(self.stationarity),
            "history_seconds": np.array(self.seconds),
        }

    @classmethod
    def from_state(cls, state: State) -> History:
        """Inverse of `state`; time goes on from the last iteration."""
        seconds = state["history_seconds"].tolist()
        started = perf_counter() - (seconds[-1] if seconds else 0.0)
        return cls(list(state["history_objective"]), list(state["history_stationarity"]), seconds, started)


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
    """

    weights: np.ndarray
    objective: np.ndarray
    stationarity: np.ndarray
    n_sweeps: np.ndarray
    reasons: list[StopReason]
    history: History

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

    def update(self, iteration: Iteration) -> None:
        """Take in where the columns under way stand after a step, but for their weights."""
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
        self.history.record(self.objective, self.stationarity)

    def finish(self, iteration: Iteration, mask: np.ndarray, reason: StopReason) -> None:
        """Take in the weights of some of the columns under way, which end for this reason."""
        if mask.any():
            ended = iteration.columns[mask]
            self.weights[:, ended] = iteration.take_weights(mask)
            for column in ended.tolist():
                self.reasons[column] = reason

    def state(self) -> State:
        """The result as arrays."""
        return {
            "result_weights": self.weights,
            "result_objective": self.objective,
            "result_stationarity": self.stationarity,
            "result_n_sweeps": self.n_sweeps,
            "result_reasons": np.array([reason.name for reason in self.reasons], dtype=str),
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
        return cls(weights, objective, stationarity, n_sweeps, reasons, History.from_state(state))


#: called after each iteration with the history and a function that makes the solver's state; True ends the iteration
IterationCallback = Callable[[History, Callable[[], State]], bool | None]


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
) -> Result:
    """Minimisers of all columns: the loop of every solver.

    Parameters
    ----------
    solver : Solver
    objective : Objective
    majoriser : MajoriserCoordinates
        Measures stationarity.
    start : Start
    tol : float
    max_iter : int
        Steps that a column may take.
    callback : callable, optional
    state : State, optional
        A state that `callback` was offered: the iteration resumes from there.
    """
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
        while len(iteration.columns) and len(result.history) < max_iter:
            iteration.step()
            result.update(iteration)
            converged = iteration.converged(tol)
            stalled = iteration.stalled() & ~converged
            result.finish(iteration, converged, StopReason.CONVERGED)
            result.finish(iteration, stalled, StopReason.PRECISION)
            if (converged | stalled).any():
                iteration.keep(~(converged | stalled))
            if callback is not None and callback(result.history, lambda: _copied(iteration.state() | result.state())):
                break
        result.finish(iteration, np.ones(len(iteration.columns), dtype=bool), StopReason.MAX_ITER)
    return result


def _copied(state: State) -> State:
    """Arrays that the iteration does not write to, in the same order in memory, by which sums are rounded alike."""
    copied = {name: np.array(array, order="K") for name, array in state.items()}
    objects = [name for name, array in copied.items() if array.dtype.hasobject]
    if objects:
        raise TypeError(f"The state of a solver must be arrays of numbers or text; {', '.join(objects)} is of objects.")
    return copied


def relative_decrease(gradient: np.ndarray, objective: np.ndarray) -> np.ndarray:
    """½‖g‖²/|F|: the decrease that a unit step along the gradient g in the majoriser's coordinates promises.

    Parameters
    ----------
    gradient : ndarray of shape (n_coordinates, n_columns)
    objective : ndarray of shape (n_columns,)
        F of each column; negative only for a regulariser that is not convex.

    Returns
    -------
    decrease : ndarray of shape (n_columns,)

    Examples
    --------
    >>> import numpy as np
    >>> from unisvm import solvers
    >>> solvers.relative_decrease(np.array([[0.3], [0.4]]), np.array([0.5]))
    array([0.25])
    """
    squares = np.einsum("ij,ij->j", gradient, gradient)
    return np.asarray(0.5 * squares / np.maximum(np.abs(objective), np.finfo(float).tiny))
