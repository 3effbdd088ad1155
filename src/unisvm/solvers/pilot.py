"""A solution for a sample of rows, which tells the solver for all rows where to start and how the objective curves.

The majoriser overstates the curvature at every row that the loss no longer cares about. The Hessian at the sample's
solution does not: in its coordinates a fit takes about half the sweeps.
"""

from __future__ import annotations

from unisvm.features import GramSample
from unisvm.majoriser import Majoriser
from unisvm.objective import Objective
from unisvm.solvers.lbfgs import LBFGS
from unisvm.solvers.result import History, Start

# the sample's solution is only a guide: iterations beyond these cost more than they save

_MOST_ITERATIONS = 8


def explore(objective: Objective, majoriser: Majoriser, sample: GramSample, start: Start | None) -> Start:
    """Where to start and in which coordinates, from the rows of `sample`; a given start remains it."""
    small = objective.on_sample(sample)
    result = LBFGS().solve(
        small,
        majoriser,
        start=start,
        tol=1e-3,
        max_iter=_MOST_ITERATIONS,
        history=History(),
    )
    curvature = small.curvature(result.weights)
    coordinates = Majoriser(sample, objective.penalty, objective.loss.A, objective.centre is not None, curvature)
    return Start(result.weights if start is None else start.weights, coordinates)
