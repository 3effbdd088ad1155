"""What a solver hands back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from time import perf_counter
from typing import NamedTuple

import numpy as np

from unisvm.majoriser import Coordinates


class StopReason(Enum):
    """Why a column's iteration ended."""

    CONVERGED = "the stationarity fell below tol"
    MAX_ITER = "max_iter was reached"
    PRECISION = "no further decrease can be told from rounding error"


@dataclass
class History:
    """Objective and stationarity of every column at each iteration, and the seconds since the start."""

    objective: list[np.ndarray] = field(default_factory=list)
    stationarity: list[np.ndarray] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    callback: Callable[[History], None] | None = None
    _started: float = field(default_factory=perf_counter)

    def record(self, objective: np.ndarray, stationarity: np.ndarray) -> None:
        self.objective.append(objective.copy())
        self.stationarity.append(stationarity.copy())
        self.seconds.append(perf_counter() - self._started)
        if self.callback is not None:
            self.callback(self)


class Start(NamedTuple):
    """Where a solver starts, by its own choice when None, and in which coordinates, the majoriser's when None.

    `n_sweeps` is how often all rows were swept to find out.
    """

    weights: np.ndarray | None = None
    coordinates: Coordinates | None = None
    n_sweeps: int = 0


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


def relative_decrease(gradient: np.ndarray, objective: np.ndarray) -> np.ndarray:
    """What a unit gradient step in the majoriser's coordinates promises, relative to the objective."""
    return 0.5 * np.einsum("ij,ij->j", gradient, gradient) / np.maximum(objective, np.finfo(float).tiny)
