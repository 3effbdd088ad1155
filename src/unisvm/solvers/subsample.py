"""A solution for a sample of rows, which tells the solver for all rows where to start and how the objective curves.

The majoriser overstates the curvature at every row that the loss no longer cares about. The Hessian at the sample's
solution does not: in its coordinates a fit takes about half the sweeps.
"""

from __future__ import annotations

import numpy as np

from unisvm.nystrom.gram import Gram, Sample
from unisvm.objective import Objective, Orthonormal
from unisvm.preconditioner import Majoriser
from unisvm.solvers.base import Start
from unisvm.solvers.driver import minimise
from unisvm.solvers.lbfgs import LBFGS, best_least_squares

# the sample's solution is only a guide: steps beyond these cost more than they save
_MAX_STEPS = 8
# most that the sample's solution may cost on all rows, relative to its cost on the sample, to be a start
MAX_OVERFIT_RATIO = 1.1


def solve_subsample(
    objective: Objective, majoriser: Majoriser, gram: Gram, sample: Sample, init: np.ndarray | None
) -> Start:
    """Weights and coordinates to start from, by a solution for the rows of a sample; weights `init` remain the start.

    Parameters
    ----------
    objective : Objective
        Of one loss and penalty.
    majoriser : Majoriser
    gram : Gram
        Of the sample.
    sample : Sample
    init : ndarray or None
    """
    small = objective.on_sample(sample, Orthonormal())
    result = minimise(LBFGS(), small, majoriser, Start(init), tol=1e-3, max_iter=_MAX_STEPS, max_steps=_MAX_STEPS)
    (curvature,) = small.curvatures(result.weights)
    moments = gram.reweighted(sample, curvature)
    (loss,), penalty = objective.spec.losses, float(objective.spec.penalties[0])
    coordinates = Majoriser(gram, penalty, loss.A, objective.mean is not None, moments)
    if init is not None:
        return Start(init, coordinates)
    if loss.is_convex:
        return Start(result.weights, coordinates)
    # From a solution that fits its sample too well, a nonconvex loss falls into a worse valley than from least squares.
    on_all = objective.values_along(result.weights, np.arange(objective.n_columns), np.ones(1))[0]
    holds = on_all <= MAX_OVERFIT_RATIO * result.objective
    if holds.all():
        return Start(result.weights, coordinates, n_sweeps=1)
    weights = np.where(holds, result.weights, best_least_squares(objective, majoriser)[0])
    return Start(weights, coordinates, n_sweeps=3)
