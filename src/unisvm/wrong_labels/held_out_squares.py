"""Predictions of least squares for rows that were left out, one by one or fold by fold, at several C.

With features p about their weighted mean, total weight t and λ = 1/(2 C t), least squares is

    w = (Σ s p pᵀ/t + λ I)⁻¹ Σ s p y/t

and one eigendecomposition of the moments Σ s p pᵀ/t serves every C. Without row i it predicts

    y_i − (y_i − f_i) / (1 − s_i h_i/t),    h_i = 1 + pᵢᵀ (Σ s p pᵀ/t + λ I)⁻¹ pᵢ

and without a fold it is fitted to what the moments of all folds are less those of that one. The rows are visited block
by block: features may be in a file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from unisvm.nystrom.base import BaseFeatureMap
from unisvm.nystrom.column_map import dense
from unisvm.nystrom.gram import weighted_moments
from unisvm.rows import MemoryRows

# a row that the fit follows all the way tells nothing of itself
_MAX_LEVERAGE = 1 - 1e-6
# rows that are whitened at a time
_BLOCK = 4096


class _Fit(NamedTuple):
    """Least squares without a fold: moments of the other rows in the basis of their eigenvectors.

    Attributes
    ----------
    matrix : ndarray of shape (rank, rank)
        From features as they are built to those in the basis of eigenvectors.
    mean : ndarray of shape (rank,)
        Of the latter.
    filters : ndarray of shape (rank, n_C)
    total : float
        Weight of the rows.
    """

    matrix: np.ndarray
    mean: np.ndarray
    filters: np.ndarray
    total: float


class HeldOutSquares:
    """Predictions of least squares for each row by fits without it, at several C.

    Parameters
    ----------
    rows : MemoryRows
    feature_map : BaseFeatureMap
    features
        Of these rows, built by the store.
    Cs : ndarray of shape (n_C,)
    folds : ndarray of int of shape (n_rows,) or None
        The fold of each row of the store, from 0 on; None leaves out one row after the other.
    """

    def __init__(
        self, rows: MemoryRows, feature_map: BaseFeatureMap, features: Any, Cs: np.ndarray, folds: np.ndarray | None
    ):
        self._rows, self._map, self._features = rows, feature_map, features
        self._leaves_one_out = folds is None
        self._folds = np.zeros(rows.n_rows, dtype=np.intp) if folds is None else folds
        self._n_folds = int(self._folds.max()) + 1
        # with zeros in place of targets: the folds' indices are all that is read
        matrices, sums, totals = self._moments(rows.with_targets(self._folds[:, None]))
        if not np.isfinite(matrices).all():
            raise ValueError("Features of the rows overflow: scale the columns of X, as scale='standard' does.")
        if not self._leaves_one_out:
            matrices, sums, totals = (of_all.sum(axis=0) - of_all for of_all in (matrices, sums, totals))
        self._fits = [self._fit(*each, Cs) for each in zip(matrices, sums, totals.tolist(), strict=True)]

    def predictions(self, targets: np.ndarray, Cs: slice = slice(None)) -> np.ndarray:
        """Predictions at some of the C, of shape (n_C, n_rows, n_columns), by targets of shape (n_rows, n_columns)."""
        products, sums = self._products(self._rows.with_targets(np.column_stack([targets, self._folds])))
        if not self._leaves_one_out:
            products, sums = products.sum(axis=0) - products, sums.sum(axis=0) - sums
        n_C, n_columns = len(range(*Cs.indices(self._fits[0].filters.shape[1]))), targets.shape[1]
        found = np.empty((n_C, len(targets), n_columns))
        for k, fit in enumerate(self._fits):
            in_fold = np.flatnonzero(self._folds == k)
            mean, filters = sums[k] / fit.total, fit.filters[:, Cs]
            correlation = fit.matrix.T @ products[k] / fit.total - np.outer(fit.mean, mean)
            coefficients = (filters[:, :, None] * correlation[:, None]).reshape(len(filters), -1)
            values = self._map_rows(fit, coefficients, filters, in_fold)
            f = values[:, : n_C * n_columns].reshape(-1, n_C, n_columns) + mean
            if self._leaves_one_out:
                leverage = (self._rows.weights / fit.total)[:, None] * (1 + values[:, n_C * n_columns :])
                remaining = 1 - np.minimum(leverage, _MAX_LEVERAGE)
                f = targets[:, None] - (targets[:, None] - f) / remaining[:, :, None]
            found[:, in_fold] = np.moveaxis(f, 1, 0)
        return found

    def _map_rows(self, fit: _Fit, coefficients: np.ndarray, filters: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Values of the functions on some rows, and beside them p (Σ s p pᵀ/t + λ)⁻¹ p if one row is left out."""
        dtype = self._rows.dtype
        matrix, mean = fit.matrix.astype(dtype), fit.mean.astype(dtype)
        coefficients, filters = coefficients.astype(dtype), filters.astype(dtype)

        def block(values: Any) -> np.ndarray:
            p = dense(values) @ matrix - mean
            if not self._leaves_one_out:
                return (p @ coefficients).astype(np.float64)
            return np.concatenate([p @ coefficients, np.square(p) @ filters], axis=1, dtype=np.float64)

        return self._rows.map_rows(block, self._features, indices)

    def _moments(self, rows: MemoryRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Σ s p pᵀ, Σ s p and Σ s of each fold, whose indices are the targets."""
        rank, n_folds, whiten = self._map.rank, self._n_folds, self._map.whitener(rows.dtype)

        def block(values: Any, folds: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, ...]:
            matrices, sums = np.zeros((n_folds, rank, rank)), np.zeros((n_folds, rank))
            totals = np.zeros(n_folds)
            for low in range(0, len(folds), _BLOCK):
                part = slice(low, low + _BLOCK)
                of_part = np.ones(len(folds[part])) if weights is None else weights[part, 0].astype(np.float64)
                p, index = whiten(np.array(dense(values[part]))), folds[part, 0].astype(np.intp)
                for k in np.unique(index).tolist():
                    inside = np.flatnonzero(index == k)
                    matrix, total = weighted_moments(p, of_part[inside], inside)
                    matrices[k] += matrix
                    sums[k] += total
                    totals[k] += of_part[inside].sum()
            return matrices, sums, totals

        matrices, sums, totals = rows.reduce(block, self._features, n_sums=n_folds * rank**2)
        return matrices, sums, totals

    def _products(self, rows: MemoryRows) -> tuple[np.ndarray, np.ndarray]:
        """Σ s z yᵀ of features as they are built, of shape (n_folds, rank, n_columns), and Σ s y of each fold."""
        n_folds, n_columns = self._n_folds, rows.n_columns - 1

        def block(values: Any, targets: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, ...]:
            values = dense(values)
            y, index = np.asarray(targets[:, :-1]), targets[:, -1].astype(np.intp)
            weighted = y if weights is None else y * weights
            products, sums = np.zeros((n_folds, values.shape[1], n_columns)), np.zeros((n_folds, n_columns))
            for k in np.unique(index).tolist():
                inside = slice(None) if n_folds == 1 else np.flatnonzero(index == k)
                products[k] = values[inside].T @ weighted[inside]
                sums[k] = weighted[inside].sum(axis=0, dtype=np.float64)
            return products, sums

        products, sums = rows.reduce(block, self._features, n_columns, n_folds * self._map.rank * n_columns)
        return products, sums

    def _fit(self, matrix: np.ndarray, sums: np.ndarray, total: float, Cs: np.ndarray) -> _Fit:
        mean = sums / total
        matrix = np.tril(matrix) / total - np.tril(np.outer(mean, mean))
        precision = np.finfo(self._rows.dtype).eps
        values, vectors = np.linalg.eigh(matrix.astype(self._rows.dtype))
        values = np.maximum(values.astype(np.float64), precision * max(float(values.max(initial=0.0)), 0.0))
        filters = 1 / (values[:, None] + 1 / (2 * Cs * total))
        vectors = vectors.astype(np.float64)
        return _Fit(self._map.to_dual(vectors), vectors.T @ mean, filters, total)
