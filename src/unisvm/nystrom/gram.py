"""Second moments of the features, (1/Σs) Σ s p pᵀ, over all rows or over a sample of them: the majoriser's material."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from unisvm.memory_budget import PER_THREAD_GRAM_LIMIT, per_thread_gram_bytes
from unisvm.nystrom.base import BaseFeatureMap
from unisvm.nystrom.column_map import dense
from unisvm.parallel import in_threads, run, threads_for
from unisvm.rows import MemoryRows, RowStore

# A sample of at most this share of the rows is solved first, as a start.
_MAX_SUBSAMPLE_SHARE = 0.5
# A majoriser from all rows is worth no more multiplications than this.
_EXACT_GRAM_COST = 4e9
_LEAST_SAMPLE = 1000
# Rows a landmark in a sample at least. Of many landmarks, where a row more for each takes seconds, from four to six by
# how many rows the sweeps have: a fifth and a sixth saved eleven sweeps of covtype each, which took twice their time.
_ROWS_A_LANDMARK, _MANY_LANDMARKS, _ROWS_A_LANDMARK_OF_MANY, _ROWS_OF_ONE_MORE = 5, 2000, (4, 6), 16
# bands of a shared Gram matrix for each thread: enough that no thread waits long for the last one
_BANDS_A_THREAD = 4
# most rows that are multiplied by their weights at a time
_MOMENTS_BLOCK = 4096

#: weighted means of p pᵀ (its lower triangle), of p and of 1
Moments = tuple[np.ndarray, np.ndarray, float]
Arrays = dict[str, np.ndarray]


class Sample(NamedTuple):
    """Rows that were sampled, with their features in the orthonormal basis."""

    rows: MemoryRows
    features: np.ndarray


@dataclass(frozen=True, eq=False)
class Gram:
    """Second moments of the features in the orthonormal basis.

    Attributes
    ----------
    mean : ndarray of shape (rank,)
        Weighted mean of the features.
    matrix : ndarray of shape (rank, rank) or (rank,)
        Weighted mean of p pᵀ: its lower triangle, or its diagonal alone.
    trace_error : float
        Share of the kernel's trace that the features leave out.
    indices, weights : ndarray of shape (n_sampled,)
        Store indices and weights of the sample; empty when the moments are those of all rows.
    sample : Sample or None
        The sampled rows, as long as they are needed.
    """

    mean: np.ndarray
    matrix: np.ndarray
    trace_error: float
    indices: np.ndarray
    weights: np.ndarray
    sample: Sample | None = None

    @property
    def is_diagonal(self) -> bool:
        """Whether only the diagonal of the moments is known."""
        return self.matrix.ndim == 1

    def about(self, mean: np.ndarray | None) -> np.ndarray:
        """Weighted mean of p pᵀ, or of (p − mean)(p − mean)ᵀ: its lower triangle."""
        return self.matrix if mean is None else self.matrix - np.outer(mean, mean)

    def without_sample(self) -> Gram:
        """The same moments, without the sampled rows."""
        return replace(self, sample=None)

    def state(self) -> Arrays:
        """The moments as arrays, with the indices that the sample can be read again from."""
        names = ("mean", "matrix", "indices", "weights")
        return {name: getattr(self, name) for name in names} | {"trace_error": np.array(self.trace_error)}

    @classmethod
    def from_state(cls, state: Arrays) -> Gram:
        """Inverse of `state`."""
        trace_error = float(state["trace_error"])
        return cls(state["mean"], state["matrix"], trace_error, state["indices"], state["weights"])

    def reweighted(self, sample: Sample, factors: np.ndarray) -> Moments:
        """Moments of the sample when the weight of each of its rows is multiplied by a factor."""
        # most factors are often the least one, whose share of the moments is known
        least = factors.min()
        others = np.flatnonzero(factors > least)
        weights = (sample.rows.weights[others] * (factors[others] - least)) / sample.rows.total_weight
        matrix, sums = weighted_moments(sample.features, weights, others)
        matrix += least * self.matrix
        return matrix, sums + least * self.mean, float(weights.sum() + least)


def sample_size(n_rows: int, rank: int) -> int:
    """Number of rows of a sample: more rows save sweeps, up to 20 a landmark.

    They should take a small share of the time of all sweeps: their cost grows with the square of the rank, that of the
    sweeps with rows times rank.
    """
    of_many = np.clip(n_rows / (_ROWS_OF_ONE_MORE * rank), *_ROWS_A_LANDMARK_OF_MANY)
    least = _ROWS_A_LANDMARK if rank <= _MANY_LANDMARKS else of_many
    return max(int(np.clip(100 * n_rows / rank, least * rank, 20 * rank)), _LEAST_SAMPLE)


def is_subsample(n_sampled: int, n_rows: int) -> bool:
    """Whether a sample is so much smaller than all rows that solving it first saves time."""
    return n_sampled <= _MAX_SUBSAMPLE_SHARE * n_rows


def second_moments(
    rows: RowStore,
    feature_map: BaseFeatureMap,
    features: Any,
    rng: np.random.RandomState,
    landmarks: np.ndarray | None,
    *,
    exact: bool = False,
    quadratic: bool = False,
    keep_sample: bool = False,
) -> Gram:
    """Second moments over a sample of the rows, or over all of them if these are few or must be exact.

    Parameters
    ----------
    rows : RowStore
    feature_map : BaseFeatureMap
    features
        Built from it by the store.
    rng : RandomState
    landmarks : ndarray of int or None
        Store indices of the landmarks, if they are rows.
    exact : bool
        The moments of all rows are needed, whatever they cost.
    quadratic : bool
        The moments are all that the solver needs, so that a subsample would be solved for nothing.
    keep_sample : bool
        The moments must be those of a sample whose rows are at hand.
    """
    if feature_map.is_wide and not exact:
        return diagonal_gram(rows, feature_map, features)
    m, r = rows.n_rows, feature_map.rank
    n_sampled = sample_size(m, r)
    cheap = m * r**2 <= _EXACT_GRAM_COST and (quadratic or not is_subsample(n_sampled, m))
    if (exact or cheap) and not keep_sample:
        return gram_of_all(rows, feature_map, features)
    return sampled_gram(rows, feature_map, features, n_sampled, rng, landmarks)


def gram_of_all(rows: RowStore, feature_map: BaseFeatureMap, features: Any) -> Gram:
    """Moments over all rows."""
    whiten = feature_map.whitener(rows.dtype)

    def block(values: Any, targets: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, ...]:
        matrix, sums = np.zeros((feature_map.rank, feature_map.rank)), np.zeros(feature_map.rank)
        # blocks of sparse rows are too long to be made dense at once
        for low in range(0, values.shape[0], _MOMENTS_BLOCK):
            part = dense(values[low : low + _MOMENTS_BLOCK])
            of_part = np.ones(len(part)) if weights is None else weights[low : low + _MOMENTS_BLOCK, 0]
            added = weighted_moments(whiten(part.copy()), of_part)
            matrix += added[0]
            sums += added[1]
        return matrix, sums

    matrix, sums = rows.reduce(block, features, n_sums=feature_map.rank**2)
    total = rows.total_weight
    trace_error = feature_map.trace_error(rows, matrix, lambda: rows.trace(feature_map.kernel))
    return Gram(sums / total, matrix / total, trace_error, np.empty(0, dtype=np.intp), np.empty(0))


def diagonal_gram(rows: RowStore, feature_map: BaseFeatureMap, features: Any) -> Gram:
    """The diagonal of the moments over all rows, of features that are columns."""

    def block(values: Any, targets: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, ...]:
        s = np.ones(values.shape[0]) if weights is None else weights[:, 0].astype(np.float64)
        squares = values.multiply(values) if sparse.issparse(values) else values * values
        return s @ squares, s @ values

    squares, sums = rows.reduce(block, features, n_sums=2 * feature_map.rank)
    total = rows.total_weight
    # the map between the features and the basis is diagonal, as the moments are
    squares = feature_map.from_values(feature_map.from_values(squares[:, None]))[:, 0]
    sums = feature_map.from_values(sums[:, None])[:, 0]
    return Gram(sums / total, squares / total, 0.0, np.empty(0, dtype=np.intp), np.empty(0))


def sampled_gram(
    rows: RowStore,
    feature_map: BaseFeatureMap,
    features: Any,
    n_rows: int,
    rng: np.random.RandomState,
    landmarks: np.ndarray | None = None,
) -> Gram:
    """Moments over a sample of so many rows, drawn by weight, and the landmarks.

    Landmarks are in every sample: a landmark is often the one row of its kind, and a majoriser that has not seen it
    takes its direction to be flat.
    """
    indices, weights = rows.weighted_subsample(n_rows, rng)
    if landmarks is not None:
        landmark_weights = rows.take_weights(landmarks)
        other = ~np.isin(indices, landmarks)
        indices, weights = indices[other], weights[other]
        # the others stand for all rows that are no landmarks
        weights *= (rows.total_weight - landmark_weights.sum()) / max(weights.sum(), np.finfo(float).tiny)
        indices, weights = np.concatenate([landmarks, indices]), np.concatenate([landmark_weights, weights])
    sample = read_sample(rows, feature_map, features, indices, weights, 0 if landmarks is None else len(landmarks))
    total = weights.sum()
    matrix, sums = weighted_moments(sample.features, weights / total)
    trace_error = feature_map.trace_error(
        rows, matrix, lambda: float(weights @ rows.diagonal(feature_map.kernel, indices) / total)
    )
    return Gram(sums, matrix, trace_error, indices, weights, sample)


def read_sample(
    rows: RowStore,
    feature_map: BaseFeatureMap,
    features: Any,
    indices: np.ndarray,
    weights: np.ndarray,
    n_landmarks: int,
) -> Sample:
    """Sample of the rows at these store indices, of which the first `n_landmarks` are the landmarks in their order."""
    subset = rows.subset(indices, weights)
    values = rows.map_rows(dense, features, indices)
    # a majoriser in single precision serves as well
    whiten = feature_map.whitener(values.dtype)
    others = values[n_landmarks:]
    in_threads(lambda part: whiten(others[part]), len(others), others.size * feature_map.rank)
    if n_landmarks:
        values[:n_landmarks] = feature_map.landmark_features
    return Sample(subset, values)


def weighted_moments(
    P: np.ndarray, weights: np.ndarray, rows: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Σ s p pᵀ, its lower triangle, and Σ s p over the rows p of P, or over those at these indices, with weights s."""
    summation = _Summation(P, np.sqrt(weights).astype(P.dtype)[:, None], rows)
    n_multiplications = len(weights) * P.shape[1] ** 2
    n_threads = threads_for(n_multiplications)
    if per_thread_gram_bytes(P.shape[1], P.dtype, n_threads) > PER_THREAD_GRAM_LIMIT:
        parts = [summation.in_bands(n_threads)]
    else:
        parts = in_threads(summation.of_rows, len(weights), n_multiplications)
    matrix, sums = (array.astype(np.float64) for array in parts[0])
    for other_matrix, other_sums in parts[1:]:
        matrix += other_matrix
        sums += other_sums
    return matrix, sums[:, 0]


class _Summation(NamedTuple):
    """Sums of s p pᵀ and s p, in the precision of P, over blocks of its rows.

    Attributes
    ----------
    P : ndarray of shape (n, rank)
    roots : ndarray of shape (n_rows, 1)
        √s.
    rows : ndarray of shape (n_rows,) or None
        Indices of the rows in P; all rows when None.
    """

    P: np.ndarray
    roots: np.ndarray
    rows: np.ndarray | None

    def _zeros(self) -> tuple[np.ndarray, np.ndarray]:
        r = self.P.shape[1]
        return np.zeros((r, r), dtype=self.P.dtype), np.zeros((r, 1), dtype=self.P.dtype)

    def _weighted_blocks(self, part: slice) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks of √s p for a range of the rows, and their √s."""
        # made once: fresh memory for every block would take as long as a third of the products
        buffer = np.empty((min(_MOMENTS_BLOCK, part.stop - part.start), self.P.shape[1]), dtype=self.P.dtype)
        for low in range(part.start, part.stop, _MOMENTS_BLOCK):
            some = slice(low, min(low + _MOMENTS_BLOCK, part.stop))
            block, roots = buffer[: some.stop - some.start], self.roots[some]
            if self.rows is None:
                np.multiply(self.P[some], roots, out=block)
            else:
                # all indices are in range; to check them, NumPy would write to memory of its own first
                np.take(self.P, self.rows[some], axis=0, out=block, mode="clip")
                block *= roots
            yield block, roots

    def of_rows(self, part: slice) -> tuple[np.ndarray, np.ndarray]:
        """Both sums over a range of the rows."""
        matrix, sums = self._zeros()
        product = np.empty_like(matrix)
        for block, roots in self._weighted_blocks(part):
            # of a matrix and its own transpose NumPy computes one triangle only
            matrix += np.dot(block.T, block, out=product)
            sums += np.dot(block.T, roots)
        return matrix, sums

    def in_bands(self, n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """Both sums over all rows, by threads that share the triangle, in the memory of one."""
        matrix, sums = self._zeros()
        r = len(matrix)
        edges = (r * np.sqrt(np.linspace(0, 1, _BANDS_A_THREAD * n_threads + 1))).astype(int).tolist()
        bands = [slice(*ends) for ends in pairwise(edges)]
        products = [np.empty((band.stop - band.start, band.stop), dtype=matrix.dtype) for band in bands]

        def add(band: slice, product: np.ndarray, block: np.ndarray) -> None:
            matrix[band, : band.stop] += np.dot(block[:, band].T, block[:, : band.stop], out=product)

        for block, roots in self._weighted_blocks(slice(0, len(self.roots))):
            run([partial(add, *each, block) for each in zip(bands, products, strict=True)], n_threads)
            sums += np.dot(block.T, roots)
        return matrix, sums
