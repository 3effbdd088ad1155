"""A solution for a sample of rows, which tells the solver for all rows where to start and how the objective curves.

The majoriser overstates the curvature at every row that the loss no longer cares about. The Hessian at the sample's
solution does not: in its coordinates a fit takes about half the sweeps.
"""

from __future__ import annotations

import numpy as np

from unisvm.features import GramSample
from unisvm.majoriser import Majoriser
from unisvm.objective import Objective
from unisvm.solvers.lbfgs import LBFGS, best_least_squares
from unisvm.solvers.result import History, Start

# the sample's solution is only a guide: iterations beyond these cost more than they save
_MOST_ITERATIONS = 8
# what the sample's solution may cost on all rows, relative to its cost on the sample, to be believed
_BELIEVED = 1.1


def explore(objective: Objective, majoriser: Majoriser, sample: GramSample, start: Start) -> Start:
    """Where to start and in which coordinates, from the rows of `sample`; a given start remains it."""
    small = objective.on_sample(sample)
    result = LBFGS().solve(small, majoriser, start=start, tol=1e-3, max_iter=_MOST_ITERATIONS, history=History())
    moments = sample.moments(small.curvature(result.weights))
    coordinates = Majoriser(sample, objective.penalty, objective.loss.A, objective.centre is not None, moments)
    if start.weights is not None:
        return Start(start.weights, coordinates)
    if objective.loss.is_convex:
        return Start(result.weights, coordinates)
    # From a solution that fits its sample too well, a nonconvex loss falls into a worse valley than from least squares.
    on_all = objective.values_along(result.weights, np.arange(objective.n_columns), np.ones(1))[0]
    believed = on_all <= _BELIEVED * result.objective
    if believed.all():
        return Start(result.weights, coordinates, n_sweeps=1)
    weights = np.where(believed, result.weights, best_least_squares(objective, majoriser)[0])
    return Start(weights, coordinates, n_sweeps=3)
