"""Solvers: the default L-BFGS in the majoriser's coordinates, and the paper's Algorithm 1."""

from unisvm._checks import one_of
from unisvm.solvers.dca import DCA
from unisvm.solvers.lbfgs import LBFGS
from unisvm.solvers.result import History, Result, StopReason

__all__ = ["DCA", "LBFGS", "History", "Result", "StopReason", "get"]

_SOLVERS = {"lbfgs": LBFGS, "dca": DCA}


def get(solver: str | LBFGS | DCA) -> LBFGS | DCA:
    """The solver of that name, or the instance itself.

    Parameters
    ----------
    solver : {"lbfgs", "dca"} or a solver

    Returns
    -------
    solver : LBFGS or DCA

    Examples
    --------
    >>> from unisvm import solvers
    >>> solvers.get("lbfgs")
    LBFGS(memory=10)
    """
    if isinstance(solver, LBFGS | DCA):
        return solver
    return _SOLVERS[one_of("solver", solver, _SOLVERS)]()
