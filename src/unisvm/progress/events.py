"""Events of fits and searches: plain records of what began or ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unisvm.memory_budget import readable


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened in a fit.

    Attributes
    ----------
    path : tuple of str
        Names of the tasks that it is part of, outermost first: none in a plain fit; ("losses", "RBF(gamma=0.5)") in the
        round of that name and for that kernel of a search; ("refit",) in its refit.
    """

    path: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StageBegins(Event):
    """A stage begins.

    Attributes
    ----------
    name : str
        "landmarks", "features", "gram", "C", "majoriser", "start" or "solver"; "result" for all of these; of a search,
        "kernels" or "suspects".
    label : str
        The name for people.
    """

    name: str
    label: str


@dataclass(frozen=True, kw_only=True)
class StageEnds(Event):
    """A stage ends.

    Attributes
    ----------
    name, label : str
    seconds : float
        That it took.
    failed : bool
        Whether an exception ended it.
    """

    name: str
    label: str
    seconds: float
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class FeaturesBuilt(Event):
    """The features of all rows are there.

    Attributes
    ----------
    n_bytes : float
        Their size; 0 if they are the sparse rows themselves.
    location : str
        Where they are, for people.
    """

    n_bytes: float
    location: str

    @property
    def text(self) -> str:
        """Size and place."""
        return f"{readable(self.n_bytes) if self.n_bytes else 'the sparse rows themselves,'} {self.location}"


@dataclass(frozen=True, kw_only=True)
class IterationEnds(Event):
    """The solver has moved, or evaluated where it starts. A listener that returns True ends the solver.

    Attributes
    ----------
    number : int
        From 1, and at most `max_iter`.
    objective, stationarity : ndarray of shape (n_columns,)
    n_sweeps : int
        Sweeps over the rows until now.
    seconds : float
        Since the solver began, those before it was resumed among them.
    tol : float
        The stationarity that is asked for.
    max_iter : int
    fitted : callable
        Makes the `engine.Fitted` that the fit would end with here.
    """

    number: int
    objective: np.ndarray
    stationarity: np.ndarray
    n_sweeps: int
    seconds: float
    tol: float
    max_iter: int
    fitted: Callable[[], Any]


@dataclass(frozen=True, kw_only=True)
class CellFitted(Event):
    """A cell of the rows has its machine, of a fit with ``cells``; others may be under way in threads.

    Attributes
    ----------
    number, n_cells : int
        Of the cells that have theirs, this one included, and of all.
    n_rows : int
    seconds : float
        That it took.
    """

    number: int
    n_cells: int
    n_rows: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class RoundBegins(Event):
    """A round of a search begins.

    Attributes
    ----------
    name : str
        "grid" for all of a grid; "losses", "Cs" and "best cells" in an adaptive search; "2000 rows" and the like when
        kernels are halved.
    n_kernels, n_cells : int
        That it tries.
    """

    name: str
    n_kernels: int
    n_cells: int


@dataclass(frozen=True, kw_only=True)
class RoundEnds(Event):
    """A round of a search ends.

    Attributes
    ----------
    name : str
    seconds : float
    best_score : float
        Of its cells, and of those that a checkpoint had; NaN if none has a finite score.
    best_params : dict
    failed : bool
        Whether an exception ended it.
    """

    name: str
    seconds: float
    best_score: float
    best_params: dict[str, Any]
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class KernelBegins(Event):
    """A kernel of a round begins; several may be under way in threads.

    Attributes
    ----------
    index : int
        Among the kernels of the whole search.
    name : str
        The kernel with its gamma.
    number, n_kernels : int
        Its place in the round, from 1, and the number of kernels there.
    n_cells : int
        That are tried with it.
    """

    index: int
    name: str
    number: int
    n_kernels: int
    n_cells: int


@dataclass(frozen=True, kw_only=True)
class CellScored(Event):
    """A cell of a grid has its score.

    Attributes
    ----------
    index : int
        Of its kernel.
    params : dict
        C, loss, gamma and kernel, as `cv_results_` has them.
    score : float
        Mean over the splits.
    best_score : float
        Of the round until now; NaN if there is none yet.
    best_params : dict
    """

    index: int
    params: dict[str, Any]
    score: float
    best_score: float
    best_params: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class KernelEnds(Event):
    """A kernel of a round ends. A listener that returns True ends the search: no other kernel begins.

    Attributes
    ----------
    index : int
    name : str
    seconds : float
    failed : bool
        Whether an exception ended it.
    """

    index: int
    name: str
    seconds: float
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class Note(Event):
    """A line for people.

    Attributes
    ----------
    text : str
    """

    text: str
