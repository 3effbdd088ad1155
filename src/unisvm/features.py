"""The low-rank kernel: P = K(X, B) L⁻ᵀ with K(B, B) = L Lᵀ, where L⁻¹ is applied to coefficients, never to the rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh, solve_triangular
from scipy.linalg.lapack import dpstrf

from unisvm.kernels import Kernel
from unisvm.rows.threads import blas_threads, in_threads, one_if_small, run, threads_for

# Pivots of K(B, B) below this share of its largest entry are not told from rounding error in the features.
_LEAST_PIVOT = {np.dtype(np.float32): 2e-5, np.dtype(np.float64): 1e-13}
_CHECKED_FOR_SIGN = 500
# rows and columns that are whitened at a time
_WHITENED_ROWS, _PANEL = 512, 128
#: most bytes for threads that sum up moments of their own; beyond, they cut common ones into so many bands
MOST_APART = 2**30
_BANDS_A_THREAD = 4
# most rows that are multiplied by their weights at a time
_MOMENTS_BLOCK = 4096


class FeatureMap:
    """Features K(x, B) of a row, and the factor that turns coefficients on them into ones of an orthonormal basis.

    Parameters
    ----------
    kernel : Kernel
    points
        The landmarks, as the kernel's `against` takes them.
    matrix : ndarray
        K(B, B) in double precision, which is written over.
    dtype : dtype
        The precision of the rows.

    Attributes
    ----------
    kept : ndarray of int
        Which of the landmarks are left: those that the others span are not needed.
    points
        The landmarks that are left.
    factor : ndarray
        The lower triangular L.
    """

    def __init__(self, kernel: Kernel, points, matrix: np.ndarray, dtype: np.dtype):
        if not kernel.is_psd:
            check_positive_semidefinite(matrix, refuse=kernel.refuses_indefinite)
        largest = matrix.diagonal().max(initial=0.0)
        if largest <= 0:
            raise ValueError(
                "The kernel is zero on all landmarks, so that there is nothing to learn from. Scale the columns of X, "
                "or choose another kernel."
            )
        least = max(_LEAST_PIVOT[dtype], len(matrix) * np.finfo(np.float64).eps)
        # the transpose is the same matrix in the order of LAPACK, which needs no copy then
        with one_if_small(len(matrix) ** 3 / 6):
            factor, pivots, rank, _ = dpstrf(matrix.T, tol=least * largest, lower=1, overwrite_a=1)
        factor = np.asfortranarray(factor[:rank, :rank])
        factor *= np.tri(rank, dtype=bool)
        self._set(kernel, points, pivots[:rank] - 1, factor)

    @classmethod
    def from_factor(cls, kernel: Kernel, points, kept: np.ndarray, factor: np.ndarray) -> FeatureMap:
        """The same map again, from what was kept of the points and its factor."""
        feature_map = cls.__new__(cls)
        feature_map._set(kernel, points, kept, factor)
        return feature_map

    def _set(self, kernel: Kernel, points, kept: np.ndarray, factor: np.ndarray) -> None:
        self.kernel = kernel
        self.kept = kept
        self.points = points[kept]
        self.factor = factor
        self.block = kernel.against(self.points)

    @property
    def rank(self) -> int:
        return len(self.kept)

    def to_dual(self, W: np.ndarray) -> np.ndarray:
        """Coefficients of K(x, B) from those of the orthonormal basis."""
        return solve_triangular(self.factor, W, lower=True, trans="T", check_finite=False)

    def from_values(self, values: np.ndarray) -> np.ndarray:
        """Coefficients in the orthonormal basis of the function with these values at the landmarks.

        It is also what turns a gradient in the dual coefficients into one in the basis.
        """
        return solve_triangular(self.factor, values, lower=True, check_finite=False)


class Whitener:
    """L⁻¹ for rows of features, in products of panels: unlike a solve, they leave the interpreter's lock to others.

    Parameters
    ----------
    factor : ndarray
        The lower triangular L.
    dtype : dtype
        The precision of the rows.
    """

    def __init__(self, factor: np.ndarray, dtype: np.dtype):
        panels = [slice(low, min(low + _PANEL, len(factor))) for low in range(0, len(factor), _PANEL)]
        own = [factor[panel, panel] for panel in panels]
        with blas_threads(1):
            inverses = [solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False) for L in own]
        rounded = factor.astype(dtype)
        self._panels = [
            (panel, rounded[panel, : panel.start].T, inverse.T.astype(dtype))
            for panel, inverse in zip(panels, inverses, strict=True)
        ]

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """L⁻¹ v for every row v, written over the rows."""
        for low in range(0, len(values), _WHITENED_ROWS):
            rows = values[low : low + _WHITENED_ROWS]
            for panel, before, inverse in self._panels:
                part = rows[:, panel]
                part -= np.dot(rows[:, : panel.start], before)
                part[...] = np.dot(part, inverse)
        return values


def check_positive_semidefinite(matrix: np.ndarray, *, refuse: bool) -> None:
    """Raise, or warn, when a kernel matrix clearly has negative eigenvalues. At most 500 rows are looked at."""
    part = matrix[:_CHECKED_FOR_SIGN, :_CHECKED_FOR_SIGN]
    eigenvalues = eigvalsh((part + part.T) / 2)
    if eigenvalues[0] >= -1e-5 * max(abs(eigenvalues[-1]), np.finfo(float).tiny):
        return
    message = (
        f"The kernel matrix is not positive semidefinite: among {len(part)} rows its smallest eigenvalue is "
        f"{eigenvalues[0]:.3g}, its largest {eigenvalues[-1]:.3g}."
    )
    if refuse:
        raise ValueError(f"{message} Clip its negative eigenvalues, or use another kernel.")
    warnings.warn(f"{message} What is negative in it is left out.", UserWarning, stacklevel=2)


Moments = tuple[np.ndarray, np.ndarray, float]


@dataclass(frozen=True)
class GramSample:
    """Second moments of the features in the orthonormal basis, over all rows or over a sample of them.

    Attributes
    ----------
    mean : ndarray of shape (rank,)
        The weighted mean of the features.
    gram : ndarray of shape (rank, rank)
        The weighted mean of p pᵀ: its lower triangle.
    trace_error : float
        The share of the kernel's trace that the features leave out.
    rows : row store or None
        The rows of the sample; None when the moments are those of all rows.
    features
        Their features in the orthonormal basis.
    """

    mean: np.ndarray
    gram: np.ndarray
    trace_error: float
    rows: Any = None
    features: Any = None

    def without_rows(self) -> GramSample:
        """The same moments, without what they were made from."""
        return replace(self, rows=None, features=None)

    def state(self) -> dict[str, np.ndarray]:
        """The moments as arrays."""
        return {"mean": self.mean, "gram": self.gram, "trace_error": np.array(self.trace_error)}

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> GramSample:
        """What `state` told of."""
        return cls(state["mean"], state["gram"], float(state["trace_error"]))

    def moments(self, factors: np.ndarray) -> Moments:
        """Weighted means of p pᵀ, its lower triangle, of p and of 1, when the weights are multiplied by `factors`."""
        # most factors are often the least one, whose share of the moments is known
        least = factors.min()
        others = np.flatnonzero(factors > least)
        total = self.rows.total_weight
        weights = (self.rows.weights[others] * (factors[others] - least)) / total
        gram, sums = _moments(self.features, weights, others)
        gram += least * self.gram
        return gram, sums + least * self.mean, float(weights.sum() + least)


def gram_of_all(rows, features: FeatureMap, built) -> GramSample:
    """Moments of the features that `rows.build` made, over all rows."""
    whiten = Whitener(features.factor, rows.dtype)

    def block(values, targets, weights):
        return _moments(whiten(values.copy()), np.ones(len(values)) if weights is None else weights[:, 0])

    gram, sums = rows.reduce(block, built, n_sums=features.rank**2)
    total = rows.total_weight
    return GramSample(sums / total, gram / total, _left_out(gram, rows.trace(features.kernel)))


def gram_sample(
    rows, features: FeatureMap, built, n_rows: int, rng: np.random.RandomState, landmarks: np.ndarray | None = None
) -> GramSample:
    """Moments of the features, from a sample of rows.

    Parameters
    ----------
    rows : row store
    features : FeatureMap
    built
        What `rows.build` made of it.
    n_rows : int
        How many rows to draw by weight.
    rng : RandomState
    landmarks : ndarray of int, optional
        Which rows the landmarks are. They are in every sample: a landmark is often the one row of its kind, and a
        majoriser that has not seen it takes its direction to be flat.
    """
    total = rows.total_weight
    indices, weights = rows.represent(n_rows, rng)
    if landmarks is not None:
        own = rows.weights_of(landmarks)
        other = ~np.isin(indices, landmarks)
        indices, weights = indices[other], weights[other]
        # the others stand for all rows that are no landmarks
        weights *= (total - own.sum()) / max(weights.sum(), np.finfo(float).tiny)
        indices, weights = np.concatenate([landmarks, indices]), np.concatenate([own, weights])
    seen = rows.sample(indices, weights)
    values = rows.values(lambda block: block, built, indices)
    # a majoriser in single precision serves as well
    whiten = Whitener(features.factor, values.dtype)
    n_known = 0 if landmarks is None else len(landmarks)
    others = values[n_known:]
    in_threads(lambda part: whiten(others[part]), len(others), others.size * features.rank)
    if n_known:
        # K(B, B) L⁻ᵀ
        values[:n_known] = features.factor
    total = weights.sum()
    gram, sums = _moments(values, weights / total)
    diagonal = weights @ rows.diagonal(features.kernel, indices) / total
    return GramSample(sums, gram, _left_out(gram, diagonal), seen, values)


def _moments(P: np.ndarray, weights: np.ndarray, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Σ s p pᵀ, its lower triangle, and Σ s p over the rows p of P, or over those of these numbers, with weights s."""
    roots = np.sqrt(weights).astype(P.dtype)[:, None]
    r, n_multiplications = P.shape[1], len(weights) * P.shape[1] ** 2

    def weighted(rows_of: slice) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Blocks of these rows times the roots of their weights, and these."""
        # made once: fresh memory for every block would take as long as a third of the products
        block = np.empty((min(_MOMENTS_BLOCK, rows_of.stop - rows_of.start), r), dtype=P.dtype)
        for low in range(rows_of.start, rows_of.stop, _MOMENTS_BLOCK):
            part = slice(low, min(low + _MOMENTS_BLOCK, rows_of.stop))
            own = block[: part.stop - part.start]
            if rows is None:
                np.multiply(P[part], roots[part], out=own)
            else:
                # all numbers are in range; to check them, NumPy would write to memory of its own first
                np.take(P, rows[part], axis=0, out=own, mode="clip")
                own *= roots[part]
            yield own, roots[part]

    def of_rows(rows_of: slice) -> tuple[np.ndarray, np.ndarray]:
        gram, sums = np.zeros((r, r), dtype=P.dtype), np.zeros((r, 1), dtype=P.dtype)
        product = np.empty_like(gram)
        for own, own_roots in weighted(rows_of):
            # of a matrix and its own transpose NumPy computes one triangle only
            gram += np.dot(own.T, own, out=product)
            sums += np.dot(own.T, own_roots)
        return gram, sums

    def in_bands(n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """As `of_rows` of all rows, by threads that share the triangle, in the memory of one."""
        gram, sums = np.zeros((r, r), dtype=P.dtype), np.zeros((r, 1), dtype=P.dtype)
        # of the same size, and enough that nobody waits long for the last one
        edges = (r * np.sqrt(np.linspace(0, 1, _BANDS_A_THREAD * n_threads + 1))).astype(int).tolist()
        bands = [slice(*ends) for ends in pairwise(edges)]
        products = [np.empty((band.stop - band.start, band.stop), dtype=P.dtype) for band in bands]

        def add(band: slice, product: np.ndarray, own: np.ndarray) -> None:
            gram[band, : band.stop] += np.dot(own[:, band].T, own[:, : band.stop], out=product)

        for own, own_roots in weighted(slice(0, len(weights))):
            run([partial(add, *each, own) for each in zip(bands, products, strict=True)], n_threads)
            sums += np.dot(own.T, own_roots)
        return gram, sums

    n_threads = threads_for(n_multiplications)
    if bytes_apart(r, P.dtype, n_threads) > MOST_APART:
        (gram, sums), *others = [in_bands(n_threads)]
    else:
        (gram, sums), *others = in_threads(of_rows, len(weights), n_multiplications)
    gram, sums = gram.astype(np.float64), sums.astype(np.float64)
    for other_gram, other_sums in others:
        gram += other_gram
        sums += other_sums
    return gram, sums[:, 0]


def bytes_apart(rank: int, dtype: np.dtype, n_threads: int) -> int:
    """Bytes that threads take which sum up moments of their own."""
    return 2 * n_threads * rank**2 * dtype.itemsize


def _left_out(gram: np.ndarray, diagonal: float) -> float:
    """The share of the kernel's trace that is not in the features."""
    return max(float(1 - np.trace(gram) / diagonal), 0.0) if diagonal > 0 else 0.0
