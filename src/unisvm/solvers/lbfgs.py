"""L-BFGS in the majoriser's coordinates, or in better ones that a pilot found, for many columns at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unisvm.majoriser import Majorising
from unisvm.objective import Objective
from unisvm.rows.threads import blas_threads
from unisvm.solvers.columns import Group, Run
from unisvm.solvers.result import History, Result, Start

# Multiples of the least-squares solution that are tried as starts for labels: saturating losses want larger margins.
_MARGIN_SCALES = (1.0, 2.0, 4.0)
# The majoriser overstates the curvature, so that a first step of this length is usually accepted.
_FIRST_STEP = 4.0


@dataclass(frozen=True)
class LBFGS:
    """The default solver.

    Parameters
    ----------
    memory : int, default=10
        Curvature pairs that are remembered.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm import UniSVMClassifier, solvers
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = UniSVMClassifier("hinge", solver=solvers.LBFGS(memory=20)).fit(X, y)
    >>> bool(model.stationarity_ < 1e-4)
    True
    """

    #: any majoriser serves: it only shapes the steps
    needs_exact_majoriser: ClassVar[bool] = False
    copies_of_features: ClassVar[int] = 1

    memory: int = 10

    def solve(
        self,
        objective: Objective,
        majoriser: Majorising,
        *,
        start: Start,
        tol: float,
        max_iter: int,
        history: History,
    ) -> Result:
        """Minimise from `start`, or from the best of a few least-squares solutions; or go on from its state."""
        # the solves between two sweeps are small, and threads that they wake would spin on into the next sweep
        with blas_threads(1):
            return self._solve(objective, majoriser, start, tol, max_iter, history)

    def _solve(self, objective, majoriser, start, tol, max_iter, history) -> Result:
        run = Run(objective, majoriser, tol=tol, max_iter=max_iter, memory=self.memory)
        coordinates = majoriser if start.coordinates is None else start.coordinates
        if start.state is None:
            n_sweeps, weights = start.n_sweeps, start.weights
            if weights is None:
                n_sweeps += 2
                weights, _ = best_least_squares(objective, majoriser)
            group = Group(np.arange(objective.n_columns), coordinates, weights, n_sweeps)
            run.join(group, _FIRST_STEP if coordinates is majoriser else 1.0)
        else:
            group = Group.from_state(start.state, coordinates)
            run.go_on(group, start.state)
            history.go_on(start.state)
        while run.n_active:
            run.sweep()
            history.record(group.value, group.stationarity)
            history.offer(run.state)
        return Result(group.weights, group.value, group.stationarity, group.n_sweeps, group.reasons, history)


def best_least_squares(objective: Objective, majoriser: Majorising) -> tuple[np.ndarray, np.ndarray]:
    """The least-squares solution of each column, or another near it where the objective is lower, and its value."""
    q = objective.n_columns
    scales = np.asarray(_MARGIN_SCALES if objective.margins else [1.0])
    solutions = majoriser.least_squares(objective.correlate_targets())
    n_solutions = solutions.shape[1] // q
    values = objective.values_along(solutions, np.tile(np.arange(q), n_solutions), scales)
    # candidates by column of targets: every multiple of every solution
    values = values.reshape(len(scales) * n_solutions, q)
    best = values.argmin(axis=0)
    weights = scales[best // n_solutions] * solutions[:, best % n_solutions * q + np.arange(q)]
    return weights, values[best, np.arange(q)]
