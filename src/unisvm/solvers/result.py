"""What a solver hands back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from time import perf_counter
from typing import NamedTuple

import numpy as np

from unisvm.majoriser import Coordinates

#: what a solver needs to go on from where it stood, as arrays by their names
State = dict[str, np.ndarray]


class StopReason(Enum):
    """Why a column's iteration ended."""

    CONVERGED = "the stationarity fell below tol"
    MAX_ITER = "max_iter was reached"
    PRECISION = "no further decrease can be told from rounding error"


@dataclass
class History:
    """Objective and stationarity of every column at each iteration, and the seconds since the start.

    `callback` is called after each iteration; `keep` is offered the solver's state, as a function that makes it.
    """

    objective: list[np.ndarray] = field(default_factory=list)
    stationarity: list[np.ndarray] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    callback: Callable[[History], None] | None = None
    keep: Callable[[Callable[[], State]], None] | None = None
    _started: float = field(default_factory=perf_counter)

    def record(self, objective: np.ndarray, stationarity: np.ndarray) -> None:
        self.objective.append(objective.copy())
        self.stationarity.append(stationarity.copy())
        self.seconds.append(perf_counter() - self._started)
        if self.callback is not None:
            self.callback(self)

    def offer(self, state: Callable[[], State]) -> None:
        """Offer the solver's state between two iterations to whoever keeps it."""
        if self.keep is not None:
            self.keep(lambda: state() | self.state())

    def state(self) -> State:
        return {
            "history_objective": np.array(self.objective),
            "history_stationarity": np.array(self.stationarity),
            "history_seconds": np.array(self.seconds),
        }

    def go_on(self, state: State) -> History:
        """Take on what a state knows of the iterations before; time goes on from the last of them."""
        self.objective = list(state["history_objective"])
        self.stationarity = list(state["history_stationarity"])
        self.seconds = state["history_seconds"].tolist()
        self._started = perf_counter() - (self.seconds[-1] if self.seconds else 0.0)
        return self


class Start(NamedTuple):
    """Where a solver starts, by its own choice when None, and in which coordinates, the majoriser's when None.

    `n_sweeps` is how often all rows were swept to find out. With a `state` of an earlier run the solver goes on from
    there instead, in the same coordinates.
    """

    weights: np.ndarray | None = None
    coordinates: Coordinates | None = None
    n_sweeps: int = 0
    state: State | None = None


@dataclass
class Result:
    """The minimisers and how they were reached, per column.

    Attributes
    ----------
    weights : ndarray of shape (n_coordinates, n_columns)
    objective, stationarity : ndarray of shape (n_columns,)
        Stationarity is the decrease that one more step of the majoriser promises, relative to the objective.
    n_sweeps : ndarray of int
        How often the rows were swept.
    reasons : list of StopReason
    history : History
    """

    weights: np.ndarray
    objective: np.ndarray
    stationarity: np.ndarray
    n_sweeps: np.ndarray
    reasons: list[StopReason]
    history: History

    def state(self) -> State:
        """Itself as arrays."""
        return {
            "weights": self.weights,
            "objective": self.objective,
            "stationarity": self.stationarity,
            "n_sweeps": self.n_sweeps,
            "reasons": names_of(self.reasons),
        } | self.history.state()

    @classmethod
    def from_state(cls, state: State) -> Result:
        """What `state` told of."""
        return cls(
            state["weights"],
            state["objective"],
            state["stationarity"],
            state["n_sweeps"],
            reasons_of(state["reasons"]),
            History().go_on(state),
        )


def names_of(reasons: list[StopReason]) -> np.ndarray:
    """Stop reasons as an array of strings."""
    return np.array([reason.name for reason in reasons], dtype=str)


def reasons_of(names: np.ndarray) -> list[StopReason]:
    """Stop reasons from an array of their names."""
    return [StopReason[name] for name in names.tolist()]


def relative_decrease(gradient: np.ndarray, objective: np.ndarray) -> np.ndarray:
    """What a unit gradient step in the majoriser's coordinates promises, relative to the objective."""
    return 0.5 * np.einsum("ij,ij->j", gradient, gradient) / np.maximum(objective, np.finfo(float).tiny)
