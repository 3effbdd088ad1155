"""L-BFGS in the majoriser's coordinates, or in better ones, for many columns at once.

Columns are independent: each has its own curvature pairs and step length, and leaves the sweeps when it is done. Every
sweep tries one point per column; a column whose point is rejected shortens its step in the next sweep while the others
move on.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from unisvm.column_spec import unit_cost
from unisvm.objective import Objective
from unisvm.preconditioner import Coordinates, MajoriserCoordinates
from unisvm.solvers.base import Iteration, Start, State, relative_decrease

# Multiples of the least-squares solution that are tried as starts for labels: saturating losses want larger margins.
_MARGIN_SCALES = (1.0, 2.0, 4.0)
# The majoriser overstates the curvature, so that a first step of this length is usually accepted.
_FIRST_STEP = 4.0
_SUFFICIENT_DECREASE = 1e-4
# Where the slope of the loss jumps, an estimate of what is left says little about what lies behind the next jump: on
# Adult, fits that trusted it ended up to eight times further above the minimum than tol allows.
_CAUTION = 0.1
# Decreases are relative to the objective, or to this share of the cost of a residual of one unit where that is more: of
# a column whose targets are all +1 the objective falls for ever, as the intercept rises.
_LEAST_VALUE = 1e-6
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

    has_small_products: ClassVar[bool] = True

    memory: int = 10

    def begin(self, objective: Objective, majoriser: MajoriserCoordinates, start: Start) -> BatchedLBFGS:
        """The iteration from `start`, or from the best of a few least-squares solutions."""
        n_sweeps, weights = start.n_sweeps, start.weights
        if weights is None:
            n_sweeps += 2
            weights, _ = best_least_squares(objective, majoriser)
        return BatchedLBFGS(objective, majoriser, weights, n_sweeps, start.coordinates, self.memory)


def best_least_squares(objective: Objective, majoriser: MajoriserCoordinates) -> tuple[np.ndarray, np.ndarray]:
    """The least-squares solution of each column, or another near it where the objective is lower, and its value."""
    q = objective.n_columns
    scales = np.asarray(_MARGIN_SCALES if objective.is_margin else [1.0])
    solutions = majoriser.least_squares(objective.correlate_targets())
    n_solutions = solutions.shape[1] // q
    values = objective.values_along(solutions, np.tile(np.arange(q), n_solutions), scales)
    # candidates by column of targets: every multiple of every solution
    values = values.reshape(len(scales) * n_solutions, q)
    best = values.argmin(axis=0)
    weights = scales[best // n_solutions] * solutions[:, best % n_solutions * q + np.arange(q)]
    return weights, values[best, np.arange(q)]


class BatchedLBFGS(Iteration):
    """L-BFGS of all columns, z⁺ = z − t B g with a step t and an inverse Hessian B for each column.

    Attributes
    ----------
    z, gradient, direction : ndarray of shape (n_coordinates, n_active)
        Where the columns stand, the gradient there, and the direction that they try next.
    length : ndarray of shape (n_active,)
        Step lengths t.
    rejections : ndarray of int
        Points that were rejected one after the other.
    remaining : ndarray
        The decrease still to be had by the solver's own model of the curvature: a far better guess than stationarity.
    """

    arrays = ("columns", "z", "value", "gradient", "stationarity", "direction", "length", "rejections", "remaining")

    def __init__(
        self,
        objective: Objective,
        majoriser: MajoriserCoordinates,
        weights: np.ndarray,
        n_sweeps: int,
        coordinates: Coordinates | None,
        memory: int,
    ):
        q = objective.n_columns
        self._coordinates = majoriser if coordinates is None else coordinates
        super().__init__(objective, majoriser, weights, n_sweeps)
        # the first point is the start itself, which is accepted since the value is infinite before
        self.gradient, self.direction = np.zeros_like(self.z), np.zeros_like(self.z)
        self.length = np.full(q, _FIRST_STEP if coordinates is None else 1.0)
        self.rejections = np.zeros(q, dtype=int)
        self.remaining = np.full(q, np.inf)
        self._pairs = _CurvaturePairs(memory)
        self._unit_costs = objective.spec.of_losses(unit_cost)
        self._caution = np.where(objective.spec.of_losses(lambda loss: loss.has_jumps), _CAUTION, 1.0)
        # decreases that sums over the rows cannot resolve
        self._noise = 10 * np.finfo(objective.rows.dtype).eps

    @property
    def weights(self) -> np.ndarray:
        return self._coordinates.to_weights(self.z, self.columns)

    @weights.setter
    def weights(self, weights: np.ndarray) -> None:
        self.z = self._coordinates.from_weights(weights, self.columns)

    def take_weights(self, mask: np.ndarray) -> np.ndarray:
        return self._coordinates.to_weights(self.z[:, mask], self.columns[mask])

    def step(self) -> None:
        self._move(self._evaluate(self.z + self.length * self.direction))

    def converged(self, tol: float) -> np.ndarray:
        bar, unit_costs = tol * self._caution[self.columns], self._unit_costs[self.columns]
        least, size = _LEAST_VALUE * unit_costs, np.abs(self.value)
        done = self.stationarity * size <= bar * np.maximum(size, least)
        return np.asarray(done & (self.remaining <= bar * np.maximum(np.minimum(size, unit_costs), least)))

    def moved(self) -> np.ndarray:
        return np.asarray(self.rejections == 0)

    def stalled(self) -> np.ndarray:
        return self.rejections >= _REJECTIONS_BEFORE_STOP

    def keep(self, mask: np.ndarray) -> None:
        super().keep(mask)
        self._pairs.keep(mask)

    def state(self) -> State:
        return super().state() | self._pairs.state()

    def resume(self, state: State) -> None:
        super().resume(state)
        self._pairs.resume(state)

    def _evaluate(self, z: np.ndarray) -> _Point:
        weights = self._coordinates.to_weights(z, self.columns)
        value, gradient = self.objective(weights, self.columns)
        moved = self._coordinates.gradient(gradient, self.columns)
        same = self._coordinates is self.majoriser
        promised = moved if same else self.majoriser.gradient(gradient, self.columns)
        return _Point(z, value, moved, relative_decrease(promised, value))

    def _move(self, trial: _Point) -> None:
        """Go where the objective fell enough, in a new direction next; shorten the step where it did not."""
        begins = np.isinf(self.value)
        slope = _dot(self.gradient, self.direction)
        decreased = trial.value <= self.value + _SUFFICIENT_DECREASE * self.length * slope
        self._pairs.add(trial.z - self.z, trial.gradient - self.gradient, decreased & ~begins)
        shorter = _shortened(self.length, slope, trial.value - self.value)
        # a predicted decrease below the noise cannot be seen, however short the step
        hopeless = ~decreased & (-slope * self.length < self._noise * np.abs(self.value))
        for name, array in trial._asdict().items():
            setattr(self, name, np.where(decreased, array, getattr(self, name)))
        self.rejections = np.where(decreased, 0, self.rejections + 1)
        self.rejections[hopeless] = _REJECTIONS_BEFORE_STOP

        restart = self.rejections == _REJECTIONS_BEFORE_RESTART
        self._pairs.forget(restart)
        fresh = decreased | restart
        proposed = -self._pairs.apply(self.gradient)
        proposed = np.where(_dot(self.gradient, proposed) < 0, proposed, -self.gradient)
        self.direction = np.where(fresh, proposed, self.direction)
        self.length = np.where(begins, self.length, np.where(fresh, 1.0, shorter))
        self.remaining = np.where(fresh, -0.5 * _dot(self.gradient, self.direction), self.remaining)


class _Point(NamedTuple):
    """Coordinates of the columns under way, with the objective, its gradient and the stationarity there."""

    z: np.ndarray
    value: np.ndarray
    gradient: np.ndarray
    stationarity: np.ndarray


class _Pair(NamedTuple):
    """A step s and gradient difference y of each column, with 1/sᵀy and sᵀy/yᵀy, which are 0 where unusable."""

    s: np.ndarray
    y: np.ndarray
    rho: np.ndarray
    scale: np.ndarray


class _CurvaturePairs:
    """The last steps s and gradient differences y of all columns, and the inverse Hessian B that they stand for."""

    def __init__(self, memory: int):
        self._pairs: deque[_Pair] = deque(maxlen=memory)

    def state(self) -> State:
        """The pairs as arrays, each on its own: in another order in memory, sums would be rounded otherwise."""
        arrays = {"n_pairs": np.array(len(self._pairs))}
        for i, pair in enumerate(self._pairs):
            arrays |= {f"{name}_{i}": array for name, array in pair._asdict().items()}
        return arrays

    def resume(self, state: State) -> None:
        """Inverse of `state`."""
        self._pairs.clear()
        for i in range(int(state["n_pairs"])):
            self._pairs.append(_Pair(*(state[f"{name}_{i}"] for name in _Pair._fields)))

    def add(self, s: np.ndarray, y: np.ndarray, accepted: np.ndarray) -> None:
        """Remember the pairs of the columns that moved along positive curvature."""
        sy, ss, yy = _dot(s, y), _dot(s, s), _dot(y, y)
        usable = accepted & (sy > 1e-10 * np.sqrt(ss * yy))
        if usable.any():
            rho = np.divide(1.0, sy, out=np.zeros_like(sy), where=usable)
            self._pairs.append(_Pair(s, y, rho, np.divide(sy, yy, out=np.zeros_like(sy), where=usable)))

    def forget(self, columns: np.ndarray) -> None:
        """Drop all pairs of these columns."""
        for pair in self._pairs:
            pair.rho[columns] = pair.scale[columns] = 0.0

    def keep(self, mask: np.ndarray) -> None:
        """Go on with these of the columns."""
        kept = (_Pair(*(array[..., mask] for array in pair)) for pair in self._pairs)
        # a pair of columns that have all left is of no use
        self._pairs = deque((pair for pair in kept if pair.rho.any()), maxlen=self._pairs.maxlen)

    def apply(self, gradient: np.ndarray) -> np.ndarray:
        """B g by the two-loop recursion; a pair with rho = 0 does nothing."""
        q = gradient.copy()
        coefficients = []
        for s, y, rho, _ in reversed(self._pairs):
            a = rho * _dot(s, q)
            coefficients.append(a)
            q -= a * y
        q *= self._initial_scale(gradient.shape[1])
        for (s, y, rho, _), a in zip(self._pairs, reversed(coefficients), strict=True):
            q += (a - rho * _dot(y, q)) * s
        return q

    def _initial_scale(self, n_columns: int) -> np.ndarray:
        # the mean over the pairs is steadier than the last one and took fewer sweeps in all measurements
        total = sum((pair.scale for pair in self._pairs), np.zeros(n_columns))
        count = sum((pair.rho > 0 for pair in self._pairs), np.zeros(n_columns))
        return np.divide(total, count, out=np.ones(n_columns), where=count > 0)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("ij,ij->j", a, b))


def _shortened(step: np.ndarray, slope: np.ndarray, rise: np.ndarray) -> np.ndarray:
    """Minimiser of the parabola through value, slope and trial value, kept within a tenth and a half."""
    rise = np.where(np.isfinite(rise), rise, np.finfo(float).max)
    curvature = np.maximum(rise - step * slope, np.finfo(float).tiny)
    return np.asarray(np.clip(-0.5 * slope * step**2 / curvature, 0.1 * step, 0.5 * step))
