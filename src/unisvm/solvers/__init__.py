"""Solvers: the default L-BFGS in the majoriser's coordinates, and the paper's Algorithm 1."""

from collections.abc import Callable

from unisvm._checks import one_of
from unisvm.solvers.base import Iteration, Solver, Start, relative_decrease
from unisvm.solvers.dca import DCA
from unisvm.solvers.driver import Result, StopReason
from unisvm.solvers.lbfgs import LBFGS

__all__ = ["DCA", "LBFGS", "Iteration", "Result", "Solver", "Start", "StopReason", "get", "relative_decrease"]

_SOLVERS: dict[str, Callable[[], Solver]] = {"lbfgs": LBFGS, "dca": DCA}


def __dir__() -> list[str]:
    return sorted(__all__)


def get(solver: str | Solver) -> Solver:
    """The solver of that name, or the object itself.

    Parameters
    ----------
    solver : {"lbfgs", "dca"} or Solver
        An object with a method `begin`, as `Solver` describes it.

    Returns
    -------
    solver : Solver

    Examples
    --------
    >>> from unisvm import solvers
    >>> solvers.get("lbfgs")
    LBFGS(memory=10)
    """
    if isinstance(solver, type) and hasattr(solver, "begin"):
        raise ValueError(f"solver must be an object: use {solver.__name__}() instead of the class.")
    if isinstance(solver, Solver):
        return solver
    if not isinstance(solver, str):
        raise ValueError(f"solver must be 'lbfgs', 'dca' or an object with a method begin; got {solver!r}.")
    return _SOLVERS[one_of("solver", solver, _SOLVERS)]()
