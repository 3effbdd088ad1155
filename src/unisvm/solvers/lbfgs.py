"""L-BFGS in the majoriser's coordinates, for many columns at once.

Columns are independent: each has its own curvature pairs and step length, and leaves the sweeps when it is done.
Every sweep tries one point per column; a column whose point is rejected shortens its step in the next sweep while
the others move on.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unisvm.majoriser import Majoriser
from unisvm.objective import Objective
from unisvm.rows.threads import blas_threads
from unisvm.solvers.result import History, Result, StopReason, relative_decrease

# Multiples of the least-squares solution that are tried as starts for labels: saturating losses want larger margins.
_MARGIN_SCALES = (1.0, 2.0, 4.0)
# The majoriser overstates the curvature, so that a first step of this length is usually accepted.
_FIRST_STEP = 4.0
_SUFFICIENT_DECREASE = 1e-4
_REJECTIONS_BEFORE_RESTART = 3
_REJECTIONS_BEFORE_STOP = 12


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
        majoriser: Majoriser,
        *,
        start: np.ndarray | None,
        tol: float,
        max_iter: int,
        history: History,
    ) -> Result:
        """Minimise from `start`, or from the best of a few least-squares solutions."""
        # the solves between two sweeps are small, and threads that they wake would spin on into the next sweep
        with blas_threads(1):
            return self._solve(objective, majoriser, start, tol, max_iter, history)

    def _solve(self, objective, majoriser, start, tol, max_iter, history) -> Result:
        q = objective.n_columns
        n_sweeps = np.zeros(q, dtype=int)
        reasons = [StopReason.MAX_ITER] * q
        # What a residual of one unit costs: when a few hopeless rows make up the objective, the others still count.
        unit = max(float(objective.loss.value(1.0)), 0.01 * objective.loss.A)

        def evaluate(z, columns):
            n_sweeps[columns] += 1
            value, gradient = objective(majoriser.to_weights(z), columns)
            return value, majoriser.gradient(gradient)

        if start is None:
            n_sweeps += 2
            start = _best_least_squares(objective, majoriser)
        z = majoriser.from_weights(start)
        columns = np.arange(q)
        first_value, first_gradient = evaluate(z, columns)
        noise = 10 * np.finfo(objective.rows.dtype).eps
        active = _Columns(columns, z, first_value, first_gradient, noise)
        pairs = _Pairs(self.memory)
        final, value, stationarity = z.copy(), active.value.copy(), active.stationarity()
        history.record(value, stationarity)

        while True:
            done = (active.stationarity() <= tol) & (active.remaining <= tol * np.minimum(active.value, unit))
            stuck = active.rejections >= _REJECTIONS_BEFORE_STOP
            for j in active.columns[done]:
                reasons[j] = StopReason.CONVERGED
            for j in active.columns[stuck & ~done]:
                reasons[j] = StopReason.PRECISION
            keep = ~(done | stuck)
            if not keep.all():
                active.select(keep)
                pairs.select(keep)
            if len(active.columns) == 0 or len(history.objective) >= max_iter:
                break
            trial = active.z + active.step * active.direction
            trial_value, trial_gradient = evaluate(trial, active.columns)
            active.move(trial, trial_value, trial_gradient, pairs)
            final[:, active.columns] = active.z
            value[active.columns] = active.value
            stationarity[active.columns] = active.stationarity()
            history.record(value, stationarity)

        return Result(majoriser.to_weights(final), value, stationarity, n_sweeps, reasons, history)


class _Columns:
    """Where the columns that are not done yet stand, and what they try next."""

    def __init__(self, columns, z, value, gradient, noise: float):
        self.columns = columns
        self.z = z
        self.value = value
        self.gradient = gradient
        self.direction = -gradient
        self.step = np.full(len(columns), _FIRST_STEP)
        self.rejections = np.zeros(len(columns), dtype=int)
        # what is still to be gained, by the solver's own model of the curvature: a far better guess than stationarity
        self.remaining = 0.5 * _dot(gradient, gradient)
        # what the sums over the rows cannot resolve
        self._noise = noise

    def stationarity(self) -> np.ndarray:
        return relative_decrease(self.gradient, self.value)

    def select(self, keep: np.ndarray) -> None:
        """Drop the columns that are not kept."""
        for name in ("columns", "value", "step", "rejections", "remaining"):
            setattr(self, name, getattr(self, name)[keep])
        for name in ("z", "gradient", "direction"):
            setattr(self, name, getattr(self, name)[:, keep])

    def move(self, trial: np.ndarray, value: np.ndarray, gradient: np.ndarray, pairs: _Pairs) -> None:
        """Go where the objective fell enough, in a new direction next; shorten the step where it did not."""
        slope = _dot(self.gradient, self.direction)
        decreased = value <= self.value + _SUFFICIENT_DECREASE * self.step * slope
        pairs.add(trial - self.z, gradient - self.gradient, decreased)
        shorter = _shortened(self.step, slope, value - self.value)
        # a predicted decrease below the noise cannot be seen, however short the step
        hopeless = ~decreased & (-slope * self.step < self._noise * self.value)
        self.z = np.where(decreased, trial, self.z)
        self.value = np.where(decreased, value, self.value)
        self.gradient = np.where(decreased, gradient, self.gradient)
        self.rejections = np.where(decreased, 0, self.rejections + 1)
        self.rejections[hopeless] = _REJECTIONS_BEFORE_STOP

        restart = self.rejections == _REJECTIONS_BEFORE_RESTART
        pairs.forget(restart)
        fresh = decreased | restart
        proposed = -pairs.apply(self.gradient)
        proposed = np.where(_dot(self.gradient, proposed) < 0, proposed, -self.gradient)
        self.direction = np.where(fresh, proposed, self.direction)
        self.step = np.where(fresh, 1.0, shorter)
        self.remaining = np.where(fresh, -0.5 * _dot(self.gradient, self.direction), self.remaining)


def _best_least_squares(objective: Objective, majoriser: Majoriser) -> np.ndarray:
    """The least-squares solution, or another near it where the objective is lower, for each column."""
    q = objective.n_columns
    scales = np.asarray(_MARGIN_SCALES if objective.margins else [1.0])
    solutions = majoriser.least_squares(objective.correlate_targets())
    n_solutions = solutions.shape[1] // q
    values = objective.values_along(solutions, np.tile(np.arange(q), n_solutions), scales)
    # candidates by column of targets: every multiple of every solution
    values = values.reshape(len(scales) * n_solutions, q)
    best = values.argmin(axis=0)
    return scales[best // n_solutions] * solutions[:, best % n_solutions * q + np.arange(q)]


class _Pairs:
    """The last steps s and gradient differences y of all columns, and the inverse Hessian they stand for."""

    def __init__(self, memory: int):
        self._pairs: deque[tuple[np.ndarray, np.ndarray, np.ndarray]] = deque(maxlen=memory)

    def add(self, s: np.ndarray, y: np.ndarray, accepted: np.ndarray) -> None:
        """Remember the pairs of the columns that moved along positive curvature."""
        sy, ss, yy = _dot(s, y), _dot(s, s), _dot(y, y)
        usable = accepted & (sy > 1e-10 * np.sqrt(ss * yy))
        self._pairs.append((s, y, np.divide(1.0, sy, out=np.zeros_like(sy), where=usable)))

    def forget(self, columns: np.ndarray) -> None:
        """Drop all pairs of these columns."""
        for _, _, rho in self._pairs:
            rho[columns] = 0.0

    def select(self, keep: np.ndarray) -> None:
        """Drop the columns that are not kept."""
        kept = [(s[:, keep], y[:, keep], rho[keep]) for s, y, rho in self._pairs]
        self._pairs = deque(kept, maxlen=self._pairs.maxlen)

    def apply(self, gradient: np.ndarray) -> np.ndarray:
        """The inverse Hessian times the gradient, by the two-loop recursion; a pair with rho = 0 does nothing."""
        q = gradient.copy()
        coefficients = []
        for s, y, rho in reversed(self._pairs):
            a = rho * _dot(s, q)
            coefficients.append(a)
            q -= a * y
        q *= self._scale(gradient.shape[1])
        for (s, y, rho), a in zip(self._pairs, reversed(coefficients), strict=True):
            q += (a - rho * _dot(y, q)) * s
        return q

    def _scale(self, n_columns: int) -> np.ndarray:
        # the mean over the pairs is steadier than the last one and took fewer sweeps in all measurements
        total, count = np.zeros(n_columns), np.zeros(n_columns)
        for _, y, rho in self._pairs:
            used = rho > 0
            total[used] += 1 / (rho * _dot(y, y))[used]
            count += used
        return np.divide(total, count, out=np.ones(n_columns), where=count > 0)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", a, b)


def _shortened(step: np.ndarray, slope: np.ndarray, rise: np.ndarray) -> np.ndarray:
    """The minimiser of the parabola through value, slope and trial value, kept within a tenth and a half."""
    rise = np.where(np.isfinite(rise), rise, np.finfo(float).max)
    curvature = np.maximum(rise - step * slope, np.finfo(float).tiny)
    return np.clip(-slope * step**2 / (2 * curvature), 0.1 * step, 0.5 * step)
