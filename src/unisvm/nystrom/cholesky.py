"""The partial Cholesky factorisation of a kernel matrix that landmarks are chosen by."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from unisvm.kernels import Kernel
from unisvm.nystrom.kernel_checks import check_diagonal, check_finite, check_remainder
from unisvm.parallel import run
from unisvm.rows import RowStore

# so many new entries of the factor are worth sharing out
_WORTH_THREADS = 20_000
# candidates whose new entries stay in cache until they are finished
_BLOCK_ROWS = 4096
# greedy pivots are searched for among this share of the candidates, and at least so many. In one thread, ijcnn1 with
# rank 1000 takes a fifth of the textbook's time, shuttle with rank 90 as long (benchmarks/greedy_pivots.py).
_SEARCHED_SHARE, _FEWEST_SEARCHED = 1 / 32, 500


class PartialCholesky:
    """A growing factor F with K ≈ F Fᵀ, exact in the pivots' rows.

    Parameters
    ----------
    kernel : Kernel
    rows : row store
    candidates : ndarray of int
        Store indices of the rows that K is about.
    weights : ndarray
        Weight of each candidate in the trace.
    rank : int
        Most pivots.
    sampled : bool
        The candidates stand for more rows. Those that are pivots leave nothing out, and say nothing of other rows.

    Attributes
    ----------
    residual : ndarray
        The diagonal of K − F Fᵀ, never negative. For kernels that grow with x, K has ones on its diagonal.
    pivots : list of int
        Positions among the candidates.
    """

    def __init__(
        self, kernel: Kernel, rows: RowStore, candidates: np.ndarray, weights: np.ndarray, rank: int, *, sampled: bool
    ):
        self._kernel = kernel
        self._n_threads = rows.n_threads
        self._vectors = rows.take(candidates)
        self._points = candidates if kernel.points_are_indices else self._vectors
        diagonal = rows.diagonal(kernel, candidates) if kernel.points_are_indices else kernel.diagonal(self._vectors)
        check_diagonal(kernel, diagonal, rows.row_indices(candidates))
        # k(x, z) / √(k(x, x) k(z, z)) where lengths differ: what is left of a short row is told from rounding, too
        self._inverse_lengths: np.ndarray | None = None
        if not kernel.is_judged_by_trace:
            lengths = np.sqrt(diagonal)
            self._inverse_lengths = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
            diagonal = (diagonal > 0).astype(diagonal.dtype)
        # below this a pivot is rounding error
        self._largest = float(diagonal.max())
        self.floor = 10 * np.finfo(rows.dtype).eps * self._largest
        self.residual = np.where(diagonal > self.floor, diagonal, 0.0)
        self.weights = weights
        self.pivots: list[int] = []
        self._trace = float(weights @ self.residual)
        self._sampled = sampled
        # stored by columns, so that ranks which are never reached cost nothing
        self._factor = np.empty((rank, len(candidates)), dtype=rows.dtype)

    def entries(self, positions: np.ndarray) -> np.ndarray:
        """K − F Fᵀ between these positions."""
        entries = self._kernel_matrix(positions, positions)
        factor = self._factor[: len(self.pivots), positions]
        entries -= factor.T @ factor
        return entries

    def _kernel_matrix(self, rows: Any, pivots: np.ndarray) -> np.ndarray:
        """K between these positions, of shape (n_rows, n_pivots)."""
        K = self._kernel.against(self._points[pivots])(self._vectors[rows])
        if self._inverse_lengths is not None:
            K *= self._inverse_lengths[rows, None] * self._inverse_lengths[pivots]
        return K

    def greedy_pivots(self) -> np.ndarray:
        """Positions of the next pivots by the largest residual, one or more, in their order.

        Those with the largest residuals are eliminated among themselves for as long as none of the others, whose
        residuals can only fall, can be larger: one after the other, these are the pivots of the whole matrix.
        """
        n_searched = max(int(_SEARCHED_SHARE * len(self.residual)), _FEWEST_SEARCHED)
        searched, largest_other = _largest(self.residual, n_searched)
        left = self.residual[searched]
        before = self._factor[: len(self.pivots), searched]
        most = len(self._factor) - len(self.pivots)
        columns = np.empty((min(most, len(searched)), len(searched)), dtype=self._factor.dtype)
        chosen: list[int] = []
        while len(chosen) < len(columns):
            pivot = int(np.argmax(left))
            if chosen and (left[pivot] <= self.floor or left[pivot] < largest_other):
                break
            column = self._kernel_matrix(searched, searched[[pivot]])[:, 0]
            column -= before[:, pivot] @ before
            column -= columns[: len(chosen), pivot] @ columns[: len(chosen)]
            columns[len(chosen)] = column / np.sqrt(left[pivot])
            left -= columns[len(chosen)] ** 2
            left[pivot] = 0
            chosen.append(pivot)
        return np.asarray(searched[chosen])

    def add(self, positions: np.ndarray, tol: float, rng: np.random.RandomState | None = None) -> bool:
        """Add pivots in this order, but those that are already spanned; True when full or when `tol` is met.

        With `rng`, the positions are proposals that were drawn by `residual`, some of which are rejected so that those
        left are as if they had been drawn one after the other.
        """
        if len(positions) == 0:
            return False
        drawn_with = self.residual[positions]
        matrix = self.entries(positions).astype(np.float64)
        check_finite(self._kernel, matrix)
        independent, factor = self._eliminate(
            matrix, positions, lambda i, left: rng is None or rng.uniform() * drawn_with[i] < left
        )
        if len(independent) == 0:
            return False
        room = len(self._factor) - len(self.pivots)
        independent, factor = independent[:room], factor[:room, :room]
        new = self._new_rows(positions[independent], factor)
        squares = new**2
        trace = float(self.weights @ self.residual)
        left = trace - np.cumsum(squares @ self.weights)
        check_finite(self._kernel, left)
        met = np.flatnonzero(left <= tol * self._trace * self._share_of_others(positions[independent]))
        count = met[0] + 1 if len(met) else len(new)
        self.pivots.extend(positions[independent[:count]].tolist())
        self.residual -= squares[:count].sum(axis=0, dtype=np.float64)
        check_remainder(self._kernel, self.residual, self._largest)
        self.residual[self.residual < self.floor] = 0.0
        self.residual[self.pivots] = 0.0
        return len(met) > 0 or count == room

    def _share_of_others(self, new: np.ndarray) -> np.ndarray | float:
        """Share of the candidates' weight that is not on pivots, after each of the new ones."""
        if not self._sampled:
            return 1.0
        taken = self.weights[self.pivots].sum() + np.cumsum(self.weights[new])
        return np.asarray(np.maximum(1 - taken / self.weights.sum(), 0.0))

    def _new_rows(self, pivots: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Rows that these pivots add to F, in their place; `factor` is the Cholesky factor of K − F Fᵀ between them."""
        n_before = len(self.pivots)
        before, new = self._factor[:n_before], self._factor[n_before : n_before + len(pivots)]
        between = np.ascontiguousarray(before[:, pivots])
        inverse = np.linalg.inv(factor).astype(new.dtype)

        def fill(first: int, last: int) -> None:
            for low in range(first, last, _BLOCK_ROWS):
                part = slice(low, min(low + _BLOCK_ROWS, last))
                left = self._kernel_matrix(part, pivots)
                left -= before[:, part].T @ between
                np.matmul(inverse, left.T, out=new[:, part])

        n_parts = self._n_threads if new.size > _WORTH_THREADS else 1
        bounds = np.linspace(0, new.shape[1], n_parts + 1).astype(int).tolist()
        run([partial(fill, *ends) for ends in pairwise(bounds)], n_parts)
        return new

    def _eliminate(
        self, matrix: np.ndarray, positions: np.ndarray, accept: Callable[[int, float], bool]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Accepted positions that the ones before them do not span, and the Cholesky factor of their matrix."""
        kept: list[int] = []
        columns = np.empty_like(matrix)
        left = matrix.diagonal().copy()
        for i in range(len(matrix)):
            if matrix[i, i] <= self.floor:
                # spanned by the pivots, whatever rounding left in its residual: it must not be proposed for ever
                self.residual[positions[i]] = 0.0
            elif left[i] > self.floor and accept(i, left[i]):
                before = columns[: len(kept)]
                column = columns[len(kept)] = (matrix[i] - before[:, i] @ before) / np.sqrt(left[i])
                left -= column * column
                kept.append(i)
        rows = np.asarray(kept, dtype=np.intp)
        return rows, columns[: len(kept), rows].T


def _largest(values: np.ndarray, n: int) -> tuple[np.ndarray, float]:
    """Positions of the n largest values, in rising order and earlier ones where they are equal; the largest other."""
    if n >= len(values):
        return np.arange(len(values)), -np.inf
    threshold = np.partition(values, -n)[-n]
    larger, equal = np.flatnonzero(values > threshold), np.flatnonzero(values == threshold)
    taken = n - len(larger)
    bound = threshold if len(equal) > taken else values[values < threshold].max()
    return np.sort(np.concatenate([larger, equal[:taken]])), float(bound)
