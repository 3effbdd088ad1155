"""Which rows the kernel is approximated by.

All rules work on a partial Cholesky factorisation of the kernel matrix of some candidate rows: uniform and randomly
pivoted landmarks on a random sample, greedily pivoted ones on all rows, which costs O(m r²) and is the paper's way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from unisvm._checks import one_of
from unisvm.kernels import Kernel
from unisvm.rows.threads import blas_threads, run

# how many candidates a randomly pivoted landmark is chosen from
_FEWEST_CANDIDATES, _MOST_CANDIDATES = 3, 10
_LEAST_CANDIDATES = 2000
# so many new entries of the factor are worth sharing out
_WORTH_THREADS = 20_000


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
    sampled : bool
        The candidates stand for more rows. Those that are pivots leave nothing out, and say nothing of other rows.

    Attributes
    ----------
    residual : ndarray
        The diagonal of K − F Fᵀ, never negative.
    pivots : list of int
        Positions among the candidates.
    """

    def __init__(self, kernel: Kernel, rows, candidates: np.ndarray, weights: np.ndarray, rank: int, *, sampled: bool):
        self._kernel = kernel
        self._n_threads = rows.n_threads
        self._vectors = rows.take(candidates)
        self._points = candidates if kernel.points_are_numbers else self._vectors
        diagonal = rows.diagonal(kernel, candidates) if kernel.points_are_numbers else kernel.diagonal(self._vectors)
        # below this a pivot is rounding error
        self.floor = 10 * np.finfo(rows.dtype).eps * max(diagonal.max(initial=0.0), 0.0)
        self.residual = np.where(diagonal > self.floor, diagonal, 0.0)
        self.weights = weights
        self.pivots: list[int] = []
        self._trace = float(weights @ self.residual)
        self._sampled = sampled
        # stored by columns, so that ranks which are never reached cost nothing
        self._factor = np.empty((rank, len(candidates)), dtype=rows.dtype)

    def entries(self, positions: np.ndarray) -> np.ndarray:
        """K − F Fᵀ between these positions."""
        entries = self._kernel.against(self._points[positions])(self._vectors[positions])
        factor = self._factor[: len(self.pivots), positions]
        entries -= factor.T @ factor
        return entries

    def add(self, positions: np.ndarray, tolerance: float, rng: np.random.RandomState | None = None) -> bool:
        """Add pivots in this order, but those that are already spanned; True when full or when `tolerance` is met.

        With `rng`, the positions are proposals that were drawn by `residual`, some of which are rejected so that those
        left are as if they had been drawn one after the other.
        """
        if len(positions) == 0:
            return False
        drawn_with = self.residual[positions]
        matrix = self.entries(positions).astype(np.float64)
        independent, factor = self._eliminate(
            matrix, positions, lambda i, left: rng is None or rng.uniform() * drawn_with[i] < left
        )
        if len(independent) == 0:
            return False
        new = self._new_rows(positions[independent], factor)
        squares = new**2
        trace = float(self.weights @ self.residual)
        left = trace - np.cumsum(squares @ self.weights)
        met = np.flatnonzero(left <= tolerance * self._trace * self._share_of_others(positions[independent]))
        room = len(self._factor) - len(self.pivots)
        count = min(len(new), room, met[0] + 1 if len(met) else len(new))
        self._factor[len(self.pivots) : len(self.pivots) + count] = new[:count]
        self.pivots.extend(positions[independent[:count]].tolist())
        self.residual -= squares[:count].sum(axis=0, dtype=np.float64)
        self.residual[self.residual < self.floor] = 0.0
        self.residual[self.pivots] = 0.0
        return len(met) > 0 or count == room

    def _share_of_others(self, new: np.ndarray) -> np.ndarray | float:
        """Of the candidates' weight, what is not on pivots, after each of the new ones."""
        if not self._sampled:
            return 1.0
        taken = self.weights[self.pivots].sum() + np.cumsum(self.weights[new])
        return np.maximum(1 - taken / self.weights.sum(), 0.0)

    def _new_rows(self, pivots: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """What these pivots add to the factor, whose matrix left over has Cholesky's factor `factor`."""
        known = self._factor[: len(self.pivots)]
        between = np.ascontiguousarray(known[:, pivots].T)
        against = self._kernel.against(self._points[pivots])
        new = np.empty((len(pivots), len(self.weights)), dtype=self._factor.dtype)
        inverse = np.linalg.inv(factor).astype(new.dtype)

        def fill(part: slice) -> None:
            left = against(self._vectors[part]).T
            left -= between @ known[:, part]
            np.matmul(inverse, left, out=new[:, part])

        n_parts = self._n_threads if new.size > _WORTH_THREADS else 1
        bounds = np.linspace(0, new.shape[1], n_parts + 1).astype(int).tolist()
        run([partial(fill, slice(*ends)) for ends in pairwise(bounds)], n_parts)
        return new

    def _eliminate(
        self, matrix: np.ndarray, positions: np.ndarray, accept: Callable[[int, float], bool]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which of the accepted positions the ones before them do not span, and Cholesky's factor of their matrix."""
        kept: list[int] = []
        columns = np.empty_like(matrix)
        left = matrix.diagonal().copy()
        for i in range(len(matrix)):
            if matrix[i, i] <= self.floor:
                # spanned by the pivots, whatever rounding left in its residual: it must not be proposed for ever
                self.residual[positions[i]] = 0.0
            elif left[i] > self.floor and accept(i, left[i]):
                known = columns[: len(kept)]
                column = columns[len(kept)] = (matrix[i] - known[:, i] @ known) / np.sqrt(left[i])
                left -= column * column
                kept.append(i)
        rows = np.asarray(kept, dtype=np.intp)
        return rows, columns[: len(kept), rows].T


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
    # threads of BLAS would spin on between its many small products
    with blas_threads(1):
        return RULES[rule](rows, kernel, rank, tolerance, rng)


def _rpcholesky(rows, kernel, rank, tolerance, rng):
    candidates, weights = rows.represent(_candidates(rows.n_rows, rank), rng)
    sampled = len(candidates) < rows.n_rows
    cholesky = PartialCholesky(kernel, rows, candidates, weights, rank, sampled=sampled)
    block = max(10, rank // 20)
    while len(cholesky.pivots) < rank:
        mass = cholesky.weights * cholesky.residual
        total = mass.sum()
        if total <= 0:
            break
        proposals = rng.choice(len(candidates), block, p=mass / total)
        if cholesky.add(proposals, tolerance, rng):
            break
    return candidates[cholesky.pivots]


def _candidates(n_rows: int, rank: int) -> int:
    """How many rows to choose from: all when that is cheap, else few enough to cost little beside the sweeps.

    Data with heavy tails want many, since rare rows matter there: on cpu_act, three a landmark left an error a tenth
    higher than ten did.
    """
    most = _MOST_CANDIDATES * rank
    enough = n_rows if n_rows <= most else np.clip(n_rows // 40, _FEWEST_CANDIDATES * rank, most)
    return max(int(enough), _LEAST_CANDIDATES)


def _pivoted_cholesky(rows, kernel, rank, tolerance, rng):
    # a random order settles ties, so that the first landmark of a kernel with a constant diagonal is a random one
    candidates = rng.permutation(rows.n_rows)
    weights = rows.weights_of(candidates)
    cholesky = PartialCholesky(kernel, rows, candidates, weights, rank, sampled=False)
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
    cholesky = PartialCholesky(kernel, rows, candidates, np.concatenate([np.zeros(rank), weights]), rank, sampled=True)
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
