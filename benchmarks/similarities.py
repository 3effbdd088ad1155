"""Sets of rows with a similarity that is no positive semidefinite kernel, for benchmarks/indefinite.py.

Real rows with kernels that are known not to be positive semidefinite, and generated strings and series, which have no
columns at all: only distances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from unisvm import datasets

#: rows of a pool whose similarities are all computed
POOL = 1000
#: pairs whose distance is computed at a time
_PAIRS_AT_ONCE = 20_000


class Similarities(NamedTuple):
    """Similarities between all rows of a pool, and their labels."""

    K: np.ndarray
    y: np.ndarray


def real_rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    """At most `POOL` rows of a set, always the same ones."""
    arrays = datasets.load(name)
    X, y = (arrays[part if part in arrays else f"{part}_train"] for part in ("X", "y"))
    rows = np.random.RandomState(0).permutation(len(X))[:POOL]
    return X[rows].astype(np.float64), y[rows]


def sigmoid(name: str, gamma: float, coef0: float) -> Similarities:
    """tanh(γ x·z + c) of columns with mean 0 and variance 1."""
    X, y = real_rows(name)
    X = StandardScaler().fit_transform(X)
    return Similarities(np.tanh(gamma * X @ X.T + coef0), y)


def truncated_distance(name: str) -> Similarities:
    """max(ρ − d, 0) with d = ‖x − z‖₁ and its median ρ, of columns from 0 to 1.

    With the ρ that its authors propose, 0.7 times the number of columns, hardly any distance is truncated: the matrix
    is positive semidefinite on all sets that were tried.
    """
    X, y = real_rows(name)
    X = MinMaxScaler().fit_transform(X)
    d = cdist(X, X, "cityblock")
    return Similarities(np.maximum(np.median(d) - d, 0), y)


def strings(n_families: int = 4, length: int = 30, between: float = 0.3, within: float = 0.5) -> Similarities:
    """1 − d/ℓ of strings of four letters, with the edit distance d and the length ℓ of the longer one.

    A family has an ancestor, which itself descends from one of all families. A letter is replaced, inserted or deleted
    with these probabilities in all.
    """
    rng = np.random.RandomState(0)
    first = rng.randint(4, size=length)
    ancestors = [_mutated(first, between, rng) for _ in range(n_families)]
    y = rng.randint(n_families, size=POOL)
    words = [_mutated(ancestors[family], within, rng) for family in y]
    lengths = np.array([len(word) for word in words])
    letters = np.full((POOL, lengths.max()), -1)
    for row, word in zip(letters, words, strict=True):
        row[: len(word)] = word
    d = of_pairs(POOL, lambda i, j: edit_distances(letters[i], letters[j], lengths[i], lengths[j]))
    return Similarities(1 - d / np.maximum.outer(lengths, lengths), y)


def _mutated(word: np.ndarray, rate: float, rng: np.random.RandomState) -> np.ndarray:
    letters: list[int] = []
    for letter in word.tolist():
        kind = rng.randint(3) if rng.rand() < rate else None
        if kind == 0:
            letters += [rng.randint(4)]
        elif kind == 1:
            letters += [letter, rng.randint(4)]
        elif kind is None:
            letters += [letter]
    return np.array(letters)


def series(length: int = 60, noise: float = 2.0) -> Similarities:
    """exp(−d²/(2σ²)) of series with the distance d of dynamic time warping, and its median σ.

    The series are cylinders, bells and funnels: plateaus, ramps up and ramps down with random ends, in noise.
    """
    rng = np.random.RandomState(0)
    y = rng.randint(3, size=POOL)
    start, end = rng.randint(length // 8, length // 3, size=POOL), rng.randint(length // 2, length, size=POOL)
    t, start, end = np.arange(length), start[:, None], end[:, None]
    ramp = (t - start) / (end - start)
    shapes = np.choose(y[:, None], [np.ones_like(ramp), ramp, 1 - ramp]) * ((t >= start) & (t <= end))
    Z = (6 + rng.randn(POOL, 1)) * shapes + noise * rng.randn(POOL, length)
    d = of_pairs(POOL, lambda i, j: warped_distances(Z[i], Z[j]))
    return Similarities(np.exp(-((d / np.median(d)) ** 2) / 2), y)


def of_pairs(n: int, distances: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """Symmetric matrix of the distances between all pairs of n rows."""
    first, second = np.triu_indices(n, 1)
    matrix = np.zeros((n, n))
    for low in range(0, len(first), _PAIRS_AT_ONCE):
        i, j = first[low : low + _PAIRS_AT_ONCE], second[low : low + _PAIRS_AT_ONCE]
        matrix[i, j] = matrix[j, i] = distances(i, j)
    return matrix


def edit_distances(a: np.ndarray, b: np.ndarray, length_a: np.ndarray, length_b: np.ndarray) -> np.ndarray:
    """Levenshtein distances of pairs of padded strings, of shape (n_pairs, width).

    D[i, j] = min(D[i − 1, j] + 1, D[i − 1, j − 1] + [a_i ≠ b_j], D[i, j − 1] + 1), all j at once: the last term makes
    D[i, j] − j a running minimum.
    """
    steps = np.arange(b.shape[1] + 1)
    D = np.tile(steps, (len(a), 1))
    found = np.where(length_a == 0, length_b, 0)
    for i in range(1, a.shape[1] + 1):
        row = np.empty_like(D)
        row[:, 0] = i
        row[:, 1:] = np.minimum(D[:, 1:] + 1, D[:, :-1] + (a[:, i - 1, None] != b))
        D = np.minimum.accumulate(row - steps, axis=1) + steps
        ends = length_a == i
        found[ends] = D[ends, length_b[ends]]
    return found


def warped_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distances of dynamic time warping of pairs of series, of shape (n_pairs, length): the root of the least sum.

    D[i, j] = c_ij + min(D[i − 1, j], D[i − 1, j − 1], D[i, j − 1]) with c_ij = (a_i − b_j)², all j at once: less the
    running sum of c, D[i, ·] is a running minimum.
    """
    D = np.cumsum((a[:, :1] - b) ** 2, axis=1)
    for i in range(1, a.shape[1]):
        sums = np.cumsum((a[:, i, None] - b) ** 2, axis=1)
        best = D.copy()
        best[:, 1:] = np.minimum(D[:, 1:], D[:, :-1]) - sums[:, :-1]
        D = np.minimum.accumulate(best, axis=1) + sums
    return np.sqrt(np.maximum(D[:, -1], 0))


#: the sets by their names
SETS: dict[str, Callable[[], Similarities]] = {
    "spambase, sigmoid": lambda: sigmoid("spambase", 1 / 57, 0.0),
    "phoneme, sigmoid": lambda: sigmoid("phoneme", 0.2, -0.5),
    "diabetes, truncated distance": lambda: truncated_distance("diabetes"),
    "strings, edit distance": strings,
    "series, time warping": series,
}
