"""The solver protocol: where an iteration starts, how its columns move, and how near a minimum they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from unisvm.objective import Objective
from unisvm.preconditioner import Coordinates, Majoriser, MajoriserCoordinates

#: a solver's state as arrays by their names, from which it can resume
State = dict[str, np.ndarray]


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

    def moved(self) -> np.ndarray:
        """Mask of the columns that the last step has moved: all, unless it may try a point and stay where it was."""
        return np.ones(len(self.columns), dtype=bool)

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
