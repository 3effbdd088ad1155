"""L-BFGS in the majoriser's coordinates, or in better ones that a pilot found, for many columns at once.

Columns are independent: each has its own curvature pairs and step length, and leaves the sweeps when it is done.
Every sweep tries one point per column; a column whose point is rejected shortens its step in the next sweep while
the others move on.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from unisvm.majoriser import Majorising
from unisvm.objective import Objective
from unisvm.rows.threads import blas_threads
from unisvm.solvers.result import History, Result, Start, State, StopReason, names_of, reasons_of, relative_decrease

# Multiples of the least-squares solution that are tried as starts for labels: saturating losses want larger margins.
_MARGIN_SCALES = (1.0, 2.0, 4.0)
# The majoriser overstates the curvature, so that a first step of this length is usually accepted.
_FIRST_STEP = 4.0
_SUFFICIENT_DECREASE = 1e-4
# Where the slope of the loss jumps, an estimate of what is left says little about what lies behind the next jump: on
# Adult, fits that trusted it ended up to eight times further above the minimum than tol allows.
_CAUTION = 0.1
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
        every = np.arange(objective.n_columns)
        units, enough = objective.units, tol * np.where(objective.has_jumps, _CAUTION, 1.0)
        coordinates = majoriser if start.coordinates is None else start.coordinates
        noise = 10 * np.finfo(objective.rows.dtype).eps

        def evaluate(z, columns):
            value, gradient = objective(coordinates.to_weights(z, columns), columns)
            moved = coordinates.gradient(gradient, columns)
            promised = moved if coordinates is majoriser else majoriser.gradient(gradient, columns)
            return _Point(z, value, moved, relative_decrease(promised, value))

        if start.state is None:
            n_sweeps, weights = start.n_sweeps + 1, start.weights
            if weights is None:
                n_sweeps += 2
                weights, _ = best_least_squares(objective, majoriser)
            first = evaluate(coordinates.from_weights(weights, every), every)
            run = _Run.begin(first, _FIRST_STEP if coordinates is majoriser else 1.0, noise, self.memory, n_sweeps)
            history.record(run.value, run.stationarity)
        else:
            run = _Run.from_state(start.state, noise, self.memory)
            history.go_on(start.state)
        active, pairs = run.active, run.pairs

        while True:
            history.offer(run.state)
            bar = enough[active.columns]
            done = active.at.stationarity <= bar
            done &= active.remaining <= bar * np.minimum(active.at.value, units[active.columns])
            stuck = active.rejections >= _REJECTIONS_BEFORE_STOP
            for j in active.columns[done]:
                run.reasons[j] = StopReason.CONVERGED
            for j in active.columns[stuck & ~done]:
                run.reasons[j] = StopReason.PRECISION
            keep = ~(done | stuck)
            if not keep.all():
                active.select(keep)
                pairs.select(keep)
            if len(active.columns) == 0 or len(history.objective) >= max_iter:
                break
            active.move(evaluate(active.trial(), active.columns), pairs)
            run.note()
            history.record(run.value, run.stationarity)

        weights = coordinates.to_weights(run.final, every)
        return Result(weights, run.value, run.stationarity, run.n_sweeps, run.reasons, history)


class _Point(NamedTuple):
    """Coordinates of some columns, with the objective, its gradient and the stationarity there."""

    z: np.ndarray
    value: np.ndarray
    gradient: np.ndarray
    stationarity: np.ndarray

    def select(self, keep: np.ndarray) -> _Point:
        """The columns that are kept."""
        return _Point(*(array[..., keep] for array in self))

    def replaced(self, where: np.ndarray, other: _Point) -> _Point:
        """The columns of `other` where it is to be, and its own elsewhere."""
        return _Point(*(np.where(where, new, old) for new, old in zip(other, self, strict=True)))


class _Columns:
    """Where the columns that are not done yet stand, and what they try next."""

    _MOVING = ("columns", "direction", "step", "rejections", "remaining")

    def __init__(self, at: _Point, first_step: float, noise: float):
        q = len(at.value)
        self.columns = np.arange(q)
        self.at = at
        self.direction = -at.gradient
        self.step = np.full(q, first_step)
        self.rejections = np.zeros(q, dtype=int)
        # what is still to be gained, by the solver's own model of the curvature: a far better guess than stationarity
        self.remaining = 0.5 * _dot(at.gradient, at.gradient)
        # what the sums over the rows cannot resolve
        self._noise = noise

    def state(self) -> State:
        """Itself as arrays."""
        return {name: getattr(self, name) for name in self._MOVING} | self.at._asdict()

    @classmethod
    def from_state(cls, state: State, noise: float) -> _Columns:
        """What `state` told of."""
        columns = cls(_Point(*(state[name] for name in _Point._fields)), 1.0, noise)
        for name in cls._MOVING:
            setattr(columns, name, state[name])
        return columns

    def select(self, keep: np.ndarray) -> None:
        """Drop the columns that are not kept."""
        self.at = self.at.select(keep)
        self.direction = self.direction[:, keep]
        for name in ("columns", "step", "rejections", "remaining"):
            setattr(self, name, getattr(self, name)[keep])

    def trial(self) -> np.ndarray:
        """The coordinates to try next."""
        return self.at.z + self.step * self.direction

    def move(self, trial: _Point, pairs: _Pairs) -> None:
        """Go where the objective fell enough, in a new direction next; shorten the step where it did not."""
        at = self.at
        slope = _dot(at.gradient, self.direction)
        decreased = trial.value <= at.value + _SUFFICIENT_DECREASE * self.step * slope
        pairs.add(trial.z - at.z, trial.gradient - at.gradient, decreased)
        shorter = _shortened(self.step, slope, trial.value - at.value)
        # a predicted decrease below the noise cannot be seen, however short the step
        hopeless = ~decreased & (-slope * self.step < self._noise * at.value)
        self.at = at = at.replaced(decreased, trial)
        self.rejections = np.where(decreased, 0, self.rejections + 1)
        self.rejections[hopeless] = _REJECTIONS_BEFORE_STOP

        restart = self.rejections == _REJECTIONS_BEFORE_RESTART
        pairs.forget(restart)
        fresh = decreased | restart
        proposed = -pairs.apply(at.gradient)
        proposed = np.where(_dot(at.gradient, proposed) < 0, proposed, -at.gradient)
        self.direction = np.where(fresh, proposed, self.direction)
        self.step = np.where(fresh, 1.0, shorter)
        self.remaining = np.where(fresh, -0.5 * _dot(at.gradient, self.direction), self.remaining)


@dataclass
class _Run:
    """All that changes from one iteration to the next: the columns under way, and where every column stands."""

    active: _Columns
    pairs: _Pairs
    final: np.ndarray
    value: np.ndarray
    stationarity: np.ndarray
    n_sweeps: np.ndarray
    reasons: list[StopReason]

    @classmethod
    def begin(cls, first: _Point, first_step: float, noise: float, memory: int, n_sweeps: int) -> _Run:
        """A run at its first point, which took so many sweeps."""
        q = len(first.value)
        return cls(
            _Columns(first, first_step, noise),
            _Pairs(memory),
            first.z.copy(),
            first.value.copy(),
            first.stationarity.copy(),
            np.full(q, n_sweeps),
            [StopReason.MAX_ITER] * q,
        )

    def note(self) -> None:
        """Take down where one more sweep has brought the columns under way."""
        columns, at = self.active.columns, self.active.at
        self.n_sweeps[columns] += 1
        self.final[:, columns] = at.z
        self.value[columns] = at.value
        self.stationarity[columns] = at.stationarity

    def state(self) -> State:
        """Itself as arrays."""
        reached = {
            "final": self.final,
            "all_values": self.value,
            "all_stationarity": self.stationarity,
            "n_sweeps": self.n_sweeps,
            "reasons": names_of(self.reasons),
        }
        return self.active.state() | self.pairs.state() | reached

    @classmethod
    def from_state(cls, state: State, noise: float, memory: int) -> _Run:
        """What `state` told of."""
        return cls(
            _Columns.from_state(state, noise),
            _Pairs.from_state(state, memory),
            state["final"],
            state["all_values"],
            state["all_stationarity"],
            state["n_sweeps"],
            reasons_of(state["reasons"]),
        )


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


class _Pairs:
    """The last steps s and gradient differences y of all columns, and the inverse Hessian they stand for."""

    def __init__(self, memory: int):
        self._pairs: deque[tuple[np.ndarray, np.ndarray, np.ndarray]] = deque(maxlen=memory)

    def state(self) -> State:
        """Itself as arrays, each on its own: in another order in memory, sums would be rounded otherwise."""
        arrays = {"n_pairs": np.array(len(self._pairs))}
        for i, (s, y, rho) in enumerate(self._pairs):
            arrays |= {f"s_{i}": s, f"y_{i}": y, f"rho_{i}": rho}
        return arrays

    @classmethod
    def from_state(cls, state: State, memory: int) -> _Pairs:
        """What `state` told of."""
        pairs = cls(memory)
        pairs._pairs.extend((state[f"s_{i}"], state[f"y_{i}"], state[f"rho_{i}"]) for i in range(int(state["n_pairs"])))
        return pairs

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
