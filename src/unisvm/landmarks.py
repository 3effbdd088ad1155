"""Which rows the kernel is approximated by.

All rules work on a partial Cholesky factorisation of the kernel matrix of some candidate rows: uniform and randomly
pivoted landmarks on a random sample, greedily pivoted ones on all rows, which costs O(m r²) and is the paper's way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular

from unisvm._names import one_of
from unisvm.kernels import Kernel

#: how many candidates a randomly pivoted landmark is chosen from
CANDIDATES_PER_LANDMARK = 5
_LEAST_CANDIDATES = 2000


class PartialCholesky:
    """A growing factor F with K ≈ F Fᵀ, exact in the pivots' rows.

    Parameters
    ----------
    kernel : Kernel
    rows : row store
    candidates : ndarray of int
        Numbers of the rows that K is about.
    weights : ndarray
        What each candidate counts in the trace.
    rank : int
        Most pivots.

    Attributes
    ----------
    residual : ndarray
        The diagonal of K − F Fᵀ, never negative.
    pivots : list of int
        Positions among the candidates.
    """

    def __init__(self, kernel: Kernel, rows, candidates: np.ndarray, weights: np.ndarray, rank: int):
        self._kernel = kernel
        self._rows = rows
        self._candidates = candidates
        self._vectors = rows.take(candidates)
        diagonal = rows.diagonal(kernel, candidates)
        # below this a pivot is rounding error
        self.floor = 10 * np.finfo(rows.dtype).eps * max(diagonal.max(initial=0.0), 0.0)
        self.residual = np.where(diagonal > self.floor, diagonal, 0.0)
        self.weights = weights
        self.pivots: list[int] = []
        self._trace = float(weights @ self.residual)
        # stored by columns, so that ranks which are never reached cost nothing
        self._factor = np.empty((rank, len(candidates)), dtype=rows.dtype)

    @property
    def trace_left(self) -> float:
        """The share of the trace that the pivots have left out."""
        return float(self.weights @ self.residual) / self._trace if self._trace > 0 else 0.0

    def entries(self, rows: np.ndarray | None, columns: np.ndarray) -> np.ndarray:
        """K − F Fᵀ at these positions."""
        points = self._kernel.points(self._rows, self._candidates[columns])
        entries = self._kernel.against(points)(self._vectors[rows] if rows is not None else self._vectors)
        factor = self._factor[: len(self.pivots)]
        return entries - (factor.T if rows is None else factor[:, rows].T) @ factor[:, columns]

    def add(self, positions: np.ndarray, tolerance: float) -> bool:
        """Add pivots in this order, but those that are already spanned; True when full or when `tolerance` is met."""
        if len(positions) == 0:
            return False
        columns = self.entries(None, positions).astype(np.float64)
        independent, factor = self._eliminate(columns[positions], positions)
        if len(independent) == 0:
            return False
        new = solve_triangular(factor, columns[:, independent].T, lower=True, check_finite=False)
        squares = new**2
        trace = float(self.weights @ self.residual)
        met = np.flatnonzero(trace - np.cumsum(squares @ self.weights) <= tolerance * self._trace)
        room = len(self._factor) - len(self.pivots)
        count = min(len(new), room, met[0] + 1 if len(met) else len(new))
        self._factor[len(self.pivots) : len(self.pivots) + count] = new[:count]
        self.pivots.extend(positions[independent[:count]].tolist())
        self.residual -= squares[:count].sum(axis=0)
        self.residual[self.residual < self.floor] = 0.0
        self.residual[self.pivots] = 0.0
        return len(met) > 0 or count == room

    def _eliminate(
        self, matrix: np.ndarray, positions: np.ndarray, accept: Callable[[int, float], bool] = lambda i, left: True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which of the accepted positions the ones before them do not span, and Cholesky's factor of their matrix."""
        kept: list[int] = []
        columns: list[np.ndarray] = []
        for i in range(len(matrix)):
            left = matrix[i, i] - sum(column[i] ** 2 for column in columns)
            if matrix[i, i] <= self.floor:
                # spanned by the pivots, whatever rounding left in its residual: it must not be proposed for ever
                self.residual[positions[i]] = 0.0
            elif left > self.floor and accept(i, left):
                known = np.array([column[i] for column in columns])
                explained = known @ np.array(columns) if columns else 0.0
                columns.append((matrix[:, i] - explained) / np.sqrt(left))
                kept.append(i)
        rows = np.asarray(kept, dtype=np.intp)
        return rows, np.array(columns).reshape(len(kept), len(matrix)).T[rows]

    def thin_out(self, proposals: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Reject proposals drawn by `residual` so that those left are as if drawn one after the other."""
        drawn_with = self.residual[proposals]
        residual = self.entries(proposals, proposals).astype(np.float64)
        kept, _ = self._eliminate(residual, proposals, lambda i, left: rng.uniform() * drawn_with[i] < left)
        return proposals[kept]


def choose(rule: str, rows, kernel: Kernel, rank: int, tolerance: float, rng: np.random.RandomState) -> np.ndarray:
    """Numbers of the landmark rows.

    Parameters
    ----------
    rule : {"rpcholesky", "pivoted_cholesky", "uniform"}
    rows : row store
    kernel : Kernel
    rank : int
        Most landmarks. When there are no more rows than this, all of them are landmarks.
    tolerance : float
        Stop once the trace left out is at most this share of the trace.
    rng : RandomState

    Returns
    -------
    indices : ndarray of int
    """
    one_of("landmark rule", rule, RULES)
    if rank >= rows.n_rows:
        return np.arange(rows.n_rows)
    return RULES[rule](rows, kernel, rank, tolerance, rng)


def _rpcholesky(rows, kernel, rank, tolerance, rng):
    candidates, weights = rows.represent(max(CANDIDATES_PER_LANDMARK * rank, _LEAST_CANDIDATES), rng)
    cholesky = PartialCholesky(kernel, rows, candidates, weights, rank)
    block = max(10, rank // 20)
    while len(cholesky.pivots) < rank:
        mass = cholesky.weights * cholesky.residual
        total = mass.sum()
        if total <= 0:
            break
        proposals = rng.choice(len(candidates), block, p=mass / total)
        if cholesky.add(cholesky.thin_out(proposals, rng), tolerance):
            break
    return candidates[cholesky.pivots]


def _pivoted_cholesky(rows, kernel, rank, tolerance, rng):
    # a random order settles ties, so that the first landmark of a kernel with a constant diagonal is a random one
    candidates = rng.permutation(rows.n_rows)
    weights = rows.weights[candidates].astype(np.float64)
    cholesky = PartialCholesky(kernel, rows, candidates, weights, rank)
    while cholesky.residual.max() > 0:
        pivot = np.argmax(cholesky.residual)
        if cholesky.add(np.array([pivot]), tolerance):
            break
    return candidates[cholesky.pivots]


def _uniform(rows, kernel, rank, tolerance, rng):
    drawn = rows.draw(rank, rng)
    # the trace is measured on other rows, which stand for all
    measured, weights = rows.represent(_LEAST_CANDIDATES, rng)
    candidates = np.concatenate([drawn, measured])
    cholesky = PartialCholesky(kernel, rows, candidates, np.concatenate([np.zeros(rank), weights]), rank)
    block = max(10, rank // 20)
    for start in range(0, rank, block):
        if cholesky.add(np.arange(start, min(start + block, rank)), tolerance):
            break
    return candidates[cholesky.pivots]


RULES: dict[str, Callable[..., np.ndarray]] = {
    "rpcholesky": _rpcholesky,
    "pivoted_cholesky": _pivoted_cholesky,
    "uniform": _uniform,
}
