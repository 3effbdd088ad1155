"""Random row indices: the same ones for the same seed, wherever the rows are and however they are cut into blocks."""

from __future__ import annotations

import numpy as np
from sklearn.utils.random import sample_without_replacement

# a smaller share than this is drawn without a list of all rows
_FEW = 0.01


def distinct(n_rows: int, n: int, rng: np.random.RandomState) -> np.ndarray:
    """Indices of `n` distinct rows, in random order."""
    if n < _FEW * n_rows:
        drawn = sample_without_replacement(n_rows, n, method="tracking_selection", random_state=rng)
        return np.asarray(drawn, dtype=np.intp)
    return rng.choice(n_rows, n, replace=False)


def by_weight(weights: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Indices of the rows at which shares `at` of the total weight are passed; a row may come more than once."""
    reached = np.cumsum(weights, dtype=np.float64)
    return np.asarray(np.searchsorted(reached, at * reached[-1], side="right")).clip(max=len(weights) - 1)


def seed(rng: np.random.RandomState) -> int:
    """A seed for `first_by_weight`."""
    return int(rng.randint(2**31 - 1))


def first_by_weight(weights: np.ndarray, n: int, seed: int, low: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the first `n` rows of a race in which a row is twice as fast if its weight is, and their times.

    It draws without replacement, as if rows were drawn by weight one after the other. `low` is the index of the first
    row: the times of a block are those that its rows have among all.
    """
    generator = np.random.PCG64(seed)
    generator.advance(low)
    times = -np.log1p(-np.random.Generator(generator).random(len(weights))) / weights
    first = np.argsort(times, kind="stable")[:n]
    return first, times[first]
