"""What a fit needs before it knows C and the loss: landmarks, the features of the rows, and their second moments."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from unisvm import kernels, landmarks
from unisvm.checkpoint import Arrays
from unisvm.features import MOST_APART, FeatureMap, GramSample, bytes_apart, gram_of_all, gram_sample

# A sample of at most this share of the rows is solved first, as a guide.
_WORTH_A_PILOT = 0.5
# A majoriser from all rows is worth no more multiplications than this.
_EXACT_GRAM_COST = 4e9
_LEAST_SAMPLE = 1000
# Rows a landmark in a sample at least. Of many landmarks, where a row more for each takes seconds, from four to six by
# how many rows the sweeps have: a fifth and a sixth saved eleven sweeps of covtype each, which took twice their time.
_ROWS_A_LANDMARK, _MANY_LANDMARKS, _ROWS_A_LANDMARK_OF_MANY, _ROWS_OF_ONE_MORE = 5, 2000, (4, 6), 16


class Landmarks(NamedTuple):
    """Landmarks as row numbers of X and of the store, None where they are not rows of it; as points and as rows."""

    numbers: np.ndarray | None
    stored: np.ndarray | None
    points: Any
    vectors: Any

    @classmethod
    def of_store(cls, rows, kernel: kernels.Kernel, numbers: np.ndarray, stored: np.ndarray) -> Landmarks:
        """Landmarks that are rows of the store."""
        vectors = rows.take(stored)
        return cls(numbers, stored, stored if kernel.points_are_numbers else vectors, vectors)

    @classmethod
    def given(cls, given: Any, rows, kernel: kernels.Kernel, every_row) -> Landmarks:
        """Landmarks that the user gave, as row numbers or as points."""
        given = given if sparse.issparse(given) else np.asarray(given)
        if given.ndim == 1 and np.issubdtype(given.dtype, np.integer) and len(given):
            return cls._numbered(np.unique(given), rows, kernel, every_row)
        if given.ndim != 2 or kernel.points_are_numbers:
            kinds = "row numbers (1-D integers)" + ("" if kernel.points_are_numbers else " or points (2-D)")
            raise ValueError(
                f"landmarks must be one of {', '.join(map(repr, landmarks.RULES))}, or an array of {kinds}; "
                f"got an array of shape {given.shape} and type {given.dtype}."
            )
        points = check_array(given, accept_sparse="csr", dtype=rows.dtype, input_name="landmarks")
        if points.shape[1] != rows.n_features:
            raise ValueError(f"The landmarks have {points.shape[1]} columns, but X has {rows.n_features}.")
        return cls(None, None, points, points)

    @classmethod
    def _numbered(cls, numbers: np.ndarray, rows, kernel: kernels.Kernel, every_row) -> Landmarks:
        n_given = rows.n_given if every_row is None else every_row.shape[0]
        if numbers[0] < 0 or numbers[-1] >= n_given:
            raise ValueError(
                f"Landmark indices must be row numbers from 0 to {n_given - 1}; "
                f"got values from {numbers[0]} to {numbers[-1]}."
            )
        stored = rows.locate(numbers)
        if stored is not None:
            return cls.of_store(rows, kernel, numbers, stored)
        if every_row is None or kernel.points_are_numbers:
            raise ValueError("Landmarks given by their row numbers must be rows of positive weight here.")
        vectors = every_row[numbers]
        return cls(numbers, None, vectors, vectors)


class Prepared(NamedTuple):
    """All that a fit needs before it knows C: the landmarks, and the features of the rows with their moments."""

    kernel: kernels.Kernel
    chosen: Landmarks
    feature_map: FeatureMap
    features: Any
    sample: GramSample

    def state(self) -> Arrays:
        """What `model` needs of it, as arrays, but for the kernel and the rows."""
        stored = {} if self.chosen.stored is None else {"stored": self.chosen.stored}
        return stored | {"kept": self.feature_map.kept, "trace_error": np.array(self.sample.trace_error)}

    def model(self, dual: np.ndarray, intercept: np.ndarray) -> dict[str, Any]:
        """The attributes of an estimator with these coefficients, a column for each function."""
        numbers = self.chosen.numbers
        landmark_rows = None if numbers is None else numbers[self.feature_map.kept]
        return {
            "kernel_": self.kernel,
            "landmarks_": landmark_rows,
            "landmark_vectors_": landmark_rows if self.kernel.points_are_numbers else self.feature_map.points,
            "dual_coef_": np.ascontiguousarray(dual.T),
            "intercept_": intercept,
            "rank_": self.feature_map.rank,
            "trace_error_": self.sample.trace_error,
        }


def second_moments(
    rows,
    feature_map: FeatureMap,
    features,
    solver,
    rng: np.random.RandomState,
    landmarks: np.ndarray | None,
    *,
    quadratic: bool,
    with_rows: bool,
) -> GramSample:
    """What the majoriser is made from: a sample of the rows, or all of them if they are few or must be exact.

    More rows save sweeps, up to 20 a landmark, and should take a small share of the time that all sweeps do: their
    cost grows with the square of the rank, that of the sweeps with rows times rank.
    """
    m, r = rows.n_rows, feature_map.rank
    n_sampled = _sample_size(m, r)
    enough = not quadratic and worth_a_pilot(n_sampled, m)
    if not with_rows and (solver.needs_exact_majoriser or (m * r**2 <= _EXACT_GRAM_COST and not enough)):
        return gram_of_all(rows, feature_map, features)
    return gram_sample(rows, feature_map, features, n_sampled, rng, landmarks)


def worth_a_pilot(n_sampled: int, n_rows: int) -> bool:
    """Whether a sample is so much smaller than all rows that solving it first saves time."""
    return n_sampled <= _WORTH_A_PILOT * n_rows


def bytes_of_moments(rows, rank: int) -> int:
    """Bytes of the majoriser and of the sample that it is made from."""
    # beside the sum, either what threads add to it or two matrices that are made of it
    summing = min(bytes_apart(rank, rows.dtype, rows.n_threads), MOST_APART)
    of_sample = min(_sample_size(rows.n_rows, rank), rows.n_rows) * rank * rows.dtype.itemsize
    return 8 * rank**2 + max(summing, 2 * 8 * rank**2) + of_sample


def _sample_size(m: int, r: int) -> int:
    many = np.clip(m / (_ROWS_OF_ONE_MORE * r), *_ROWS_A_LANDMARK_OF_MANY)
    least = _ROWS_A_LANDMARK if r <= _MANY_LANDMARKS else many
    return max(int(np.clip(100 * m / r, least * r, 20 * r)), _LEAST_SAMPLE)
