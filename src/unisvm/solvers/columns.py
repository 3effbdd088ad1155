"""Columns that L-BFGS works on together: where each stands, what it tries next, and the curvature it has seen.

Columns are independent: each has its own curvature pairs and step length, joins the sweeps when it is wanted and leaves
them when it is done. Every sweep tries one point per column; a column whose point is rejected shortens its step in the
next sweep while the others move on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from unisvm.majoriser import Coordinates, Majorising
from unisvm.objective import Objective
from unisvm.solvers.result import State, StopReason, names_of, reasons_of, relative_decrease

_SUFFICIENT_DECREASE = 1e-4
# Where the slope of the loss jumps, an estimate of what is left says little about what lies behind the next jump: on
# Adult, fits that trusted it ended up to eight times further above the minimum than tol allows.
_CAUTION = 0.1
_REJECTIONS_BEFORE_RESTART = 3
_REJECTIONS_BEFORE_STOP = 12


class Group:
    """Columns that join together, and where they stand; the coordinates know them by their places in it.

    Attributes
    ----------
    columns : ndarray of int
        Which columns of the objective they are, rising.
    coordinates : Coordinates
    z : ndarray of shape (n_coordinates, n_columns)
    value, stationarity : ndarray of shape (n_columns,)
        At z; infinite before the first sweep.
    n_sweeps : ndarray of int of shape (n_columns,)
    reasons : list of StopReason
    n_left : int
        How many are under way.
    """

    def __init__(self, columns: np.ndarray, coordinates: Coordinates, weights: np.ndarray, n_sweeps: int = 0):
        n_columns = len(columns)
        self.columns = columns
        self.coordinates = coordinates
        self.z = coordinates.from_weights(weights, np.arange(n_columns))
        self.value = np.full(n_columns, np.inf)
        self.stationarity = np.full(n_columns, np.inf)
        self.n_sweeps = np.full(n_columns, n_sweeps)
        self.reasons = [StopReason.MAX_ITER] * n_columns
        self.n_left = n_columns

    @property
    def weights(self) -> np.ndarray:
        """Where they stand."""
        return self.coordinates.to_weights(self.z, np.arange(len(self.columns)))

    def state(self) -> State:
        """Itself as arrays, but for columns and coordinates."""
        return {
            "final": self.z,
            "all_values": self.value,
            "all_stationarity": self.stationarity,
            "n_sweeps": self.n_sweeps,
            "reasons": names_of(self.reasons),
        }

    @classmethod
    def from_state(cls, state: State, coordinates: Coordinates) -> Group:
        """What `state` told of all columns of an objective."""
        group = cls.__new__(cls)
        group.columns = np.arange(len(state["n_sweeps"]))
        group.coordinates = coordinates
        group.z, group.value, group.stationarity = (state[name] for name in ("final", "all_values", "all_stationarity"))
        group.n_sweeps, group.reasons = state["n_sweeps"], reasons_of(state["reasons"])
        group.n_left = len(state["columns"])
        return group


class Run:
    """Sweeps over columns of an objective.

    Parameters
    ----------
    objective : Objective
    majoriser : Majorising
        Measures stationarity.
    tol : float
    max_iter : int
        Points that a column may try.
    memory : int
        Curvature pairs that are remembered.
    """

    def __init__(self, objective: Objective, majoriser: Majorising, *, tol: float, max_iter: int, memory: int):
        self._objective = objective
        self._majoriser = majoriser
        self._units = objective.units
        self._enough = tol * np.where(objective.has_jumps, _CAUTION, 1.0)
        self._max_iter = max_iter
        # what the sums over the rows cannot resolve
        self._noise = 10 * np.finfo(objective.rows.dtype).eps
        self._groups: list[Group] = []
        self._place_of = np.zeros(objective.n_columns, dtype=int)
        self._active = _Columns.beginning(np.empty(0, dtype=int), np.empty((0, 0)), 1.0)
        self._pairs = _Pairs(memory)

    @property
    def n_active(self) -> int:
        """How many columns are under way."""
        return len(self._active.columns)

    @property
    def stationarity(self) -> np.ndarray:
        """Of the columns under way."""
        return self._active.at.stationarity

    def join(self, group: Group, first_step: float = 1.0) -> None:
        """Let the columns of a group begin in the next sweep; the step after it is so long."""
        self._take(group)
        order = np.argsort(np.concatenate([self._active.columns, group.columns]))
        self._pairs.join(len(group.z), len(group.columns), order)
        self._active = self._active.joined(_Columns.beginning(group.columns, group.z, first_step), order)

    def _take(self, group: Group) -> None:
        self._groups = [*(other for other in self._groups if other.n_left), group]
        self._place_of[group.columns] = np.arange(len(group.columns))

    def state(self) -> State:
        """Itself as arrays, while there is one group."""
        (group,) = self._groups
        return self._active.state() | self._pairs.state() | group.state()

    def go_on(self, group: Group, state: State) -> None:
        """Take on what a state told of a group's columns, and of those that were under way."""
        self._take(group)
        self._active = _Columns.from_state(state)
        self._pairs = _Pairs.from_state(state, self._pairs.memory)

    def sweep(self) -> None:
        """Try one point for each column under way, and let those go that are done."""
        active = self._active
        active.move(self._evaluate(active.trial(), active.columns), self._pairs, self._noise)
        bar = self._enough[active.columns]
        done = active.at.stationarity <= bar
        done &= active.remaining <= bar * np.minimum(active.at.value, self._units[active.columns])
        stuck = ~done & (active.rejections >= _REJECTIONS_BEFORE_STOP)
        leaving = done | stuck | (active.tries >= self._max_iter)
        for group, own, places in self._by_group(active.columns):
            group.n_sweeps[places] += 1
            group.z[:, places] = active.at.z[:, own]
            group.value[places] = active.at.value[own]
            group.stationarity[places] = active.at.stationarity[own]
            group.n_left -= int(leaving[own].sum())
            for reached, reason in ((done, StopReason.CONVERGED), (stuck, StopReason.PRECISION)):
                for place in places[reached[own]].tolist():
                    group.reasons[place] = reason
        if leaving.any():
            self._active = active.select(~leaving)
            self._pairs.select(~leaving)

    def _by_group(self, columns: np.ndarray) -> list[tuple[Group, slice | np.ndarray, np.ndarray]]:
        """The groups under way, with which of these columns are theirs, and their places in the group."""
        groups = [group for group in self._groups if group.n_left]
        if len(groups) == 1:
            return [(groups[0], slice(None), self._place_of[columns])]
        owned: list[tuple[Group, slice | np.ndarray, np.ndarray]] = []
        for group in groups:
            own = np.flatnonzero(np.isin(columns, group.columns))
            owned.append((group, own, self._place_of[columns[own]]))
        return owned

    def _evaluate(self, z: np.ndarray, columns: np.ndarray) -> _Point:
        groups = self._by_group(columns)

        def turned(method: str, array: np.ndarray) -> np.ndarray:
            if len(groups) == 1:
                return getattr(groups[0][0].coordinates, method)(array, groups[0][2])
            result = np.empty_like(array)
            for group, own, places in groups:
                result[:, own] = getattr(group.coordinates, method)(array[:, own], places)
            return result

        value, gradient = self._objective(turned("to_weights", z), columns)
        moved = turned("gradient", gradient)
        same = len(groups) == 1 and groups[0][0].coordinates is self._majoriser
        promised = moved if same else self._majoriser.gradient(gradient, columns)
        return _Point(z, value, moved, relative_decrease(promised, value))


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


@dataclass
class _Columns:
    """Where the columns that are not done yet stand, and what they try next.

    Attributes
    ----------
    columns : ndarray of int
    at : _Point
    direction : ndarray of shape (n_coordinates, n_columns)
    step : ndarray
    rejections, tries : ndarray of int
    remaining : ndarray
        What is still to be gained, by the solver's own model of the curvature: a far better guess than stationarity.
    """

    columns: np.ndarray
    at: _Point
    direction: np.ndarray
    step: np.ndarray
    rejections: np.ndarray
    remaining: np.ndarray
    tries: np.ndarray

    @classmethod
    def beginning(cls, columns: np.ndarray, z: np.ndarray, first_step: float) -> _Columns:
        """Columns whose first point is where they start: it is accepted, since the value is infinite before."""
        q = len(columns)
        unknown = np.full(q, np.inf)
        return cls(
            columns,
            _Point(z, unknown, np.zeros_like(z), unknown),
            np.zeros_like(z),
            np.full(q, first_step),
            np.zeros(q, dtype=int),
            unknown,
            np.zeros(q, dtype=int),
        )

    def state(self) -> State:
        """Itself as arrays."""
        moving = {name: getattr(self, name) for name in self._names()}
        return moving | self.at._asdict()

    @classmethod
    def from_state(cls, state: State) -> _Columns:
        """What `state` told of."""
        at = _Point(*(state[name] for name in _Point._fields))
        return cls(at=at, **{name: state[name] for name in cls._names()})

    @classmethod
    def _names(cls) -> list[str]:
        return [field.name for field in fields(cls) if field.name != "at"]

    def select(self, keep: np.ndarray) -> _Columns:
        """The columns that are kept, or all of them in another order."""
        kept = {name: getattr(self, name)[..., keep] for name in self._names()}
        return replace(self, at=self.at.select(keep), **kept)

    def joined(self, other: _Columns, order: np.ndarray) -> _Columns:
        """These and others, in an order of all of them."""
        if len(self.columns) == 0:
            return other.select(order)
        at = _Point(*(np.concatenate(pair, axis=-1) for pair in zip(self.at, other.at, strict=True)))
        both = {name: np.concatenate([getattr(self, name), getattr(other, name)], axis=-1) for name in self._names()}
        return replace(self, at=at, **both).select(order)

    def trial(self) -> np.ndarray:
        """The coordinates to try next."""
        return self.at.z + self.step * self.direction

    def move(self, trial: _Point, pairs: _Pairs, noise: float) -> None:
        """Go where the objective fell enough, in a new direction next; shorten the step where it did not."""
        at = self.at
        begins = np.isinf(at.value)
        slope = _dot(at.gradient, self.direction)
        decreased = trial.value <= at.value + _SUFFICIENT_DECREASE * self.step * slope
        pairs.add(trial.z - at.z, trial.gradient - at.gradient, decreased & ~begins)
        shorter = _shortened(self.step, slope, trial.value - at.value)
        # a predicted decrease below the noise cannot be seen, however short the step
        hopeless = ~decreased & (-slope * self.step < noise * at.value)
        self.at = at = at.replaced(decreased, trial)
        self.tries = self.tries + 1
        self.rejections = np.where(decreased, 0, self.rejections + 1)
        self.rejections[hopeless] = _REJECTIONS_BEFORE_STOP

        restart = self.rejections == _REJECTIONS_BEFORE_RESTART
        pairs.forget(restart)
        fresh = decreased | restart
        proposed = -pairs.apply(at.gradient)
        proposed = np.where(_dot(at.gradient, proposed) < 0, proposed, -at.gradient)
        self.direction = np.where(fresh, proposed, self.direction)
        self.step = np.where(begins, self.step, np.where(fresh, 1.0, shorter))
        self.remaining = np.where(fresh, -0.5 * _dot(at.gradient, self.direction), self.remaining)


class _Pair(NamedTuple):
    """A step and gradient difference of each column, with 1/sᵀy and sᵀy/yᵀy, which are 0 where they are of no use."""

    s: np.ndarray
    y: np.ndarray
    rho: np.ndarray
    scale: np.ndarray

    def select(self, keep: np.ndarray) -> _Pair:
        """The columns that are kept."""
        return _Pair(*(array[..., keep] for array in self))


class _Pairs:
    """The last steps s and gradient differences y of all columns, and the inverse Hessian they stand for."""

    def __init__(self, memory: int):
        self.memory = memory
        self._pairs: deque[_Pair] = deque(maxlen=memory)

    def state(self) -> State:
        """Itself as arrays, each on its own: in another order in memory, sums would be rounded otherwise."""
        arrays = {"n_pairs": np.array(len(self._pairs))}
        for i, pair in enumerate(self._pairs):
            arrays |= {f"{name}_{i}": array for name, array in pair._asdict().items()}
        return arrays

    @classmethod
    def from_state(cls, state: State, memory: int) -> _Pairs:
        """What `state` told of."""
        pairs = cls(memory)
        for i in range(int(state["n_pairs"])):
            pairs._pairs.append(_Pair(*(state[f"{name}_{i}"] for name in _Pair._fields)))
        return pairs

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

    def join(self, n_coordinates: int, n_columns: int, order: np.ndarray) -> None:
        """So many columns more, of which no pairs are known, and all of them in another order."""
        of_vectors, of_numbers = np.zeros((n_coordinates, n_columns)), np.zeros(n_columns)
        more = _Pair(of_vectors, of_vectors, of_numbers, of_numbers)
        both = (zip(pair, more, strict=True) for pair in self._pairs)
        self._replace(_Pair(*(np.concatenate(arrays, axis=-1) for arrays in pair)).select(order) for pair in both)

    def select(self, keep: np.ndarray) -> None:
        """Drop the columns that are not kept."""
        self._replace(pair.select(keep) for pair in self._pairs)

    def _replace(self, pairs: Iterable[_Pair]) -> None:
        # a pair of columns that have all left says nothing
        self._pairs = deque((pair for pair in pairs if pair.rho.any()), maxlen=self.memory)

    def apply(self, gradient: np.ndarray) -> np.ndarray:
        """The inverse Hessian times the gradient, by the two-loop recursion; a pair with rho = 0 does nothing."""
        q = gradient.copy()
        coefficients = []
        for s, y, rho, _ in reversed(self._pairs):
            a = rho * _dot(s, q)
            coefficients.append(a)
            q -= a * y
        q *= self._scale(gradient.shape[1])
        for (s, y, rho, _), a in zip(self._pairs, reversed(coefficients), strict=True):
            q += (a - rho * _dot(y, q)) * s
        return q

    def _scale(self, n_columns: int) -> np.ndarray:
        # the mean over the pairs is steadier than the last one and took fewer sweeps in all measurements
        total = sum((pair.scale for pair in self._pairs), np.zeros(n_columns))
        count = sum((pair.rho > 0 for pair in self._pairs), np.zeros(n_columns))
        return np.divide(total, count, out=np.ones(n_columns), where=count > 0)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->j", a, b)


def _shortened(step: np.ndarray, slope: np.ndarray, rise: np.ndarray) -> np.ndarray:
    """The minimiser of the parabola through value, slope and trial value, kept within a tenth and a half."""
    rise = np.where(np.isfinite(rise), rise, np.finfo(float).max)
    curvature = np.maximum(rise - step * slope, np.finfo(float).tiny)
    return np.clip(-0.5 * slope * step**2 / curvature, 0.1 * step, 0.5 * step)
