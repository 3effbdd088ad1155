"""Errors of least squares on rows that were held out, at several C, where there are too many columns for a spectrum.

For targets y, a few steps of Lanczos' method from Pᵀ S (y − ȳ), S the weights over their sum, give an orthonormal basis
V of the space in which w is, and a tridiagonal T with Vᵀ (Pᵀ S P − p̄ p̄ᵀ) V = T. So the solution for every C is

    w = ‖Pᵀ S (y − ȳ)‖ V (T + I / (2 C Σs))⁻¹ e₁.

Every step is two products with the features, for all targets at once. Each target has a T of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# One row in so many is held out.
_ONE_IN = 5
# steps after which the errors hardly change at the C that are chosen (benchmarks/linear.py)
_N_STEPS = 15


class HeldOut:
    """Predictions of least squares, fitted to the other rows, for rows that are held out, at several C.

    Parameters
    ----------
    P : ndarray or CSR matrix of shape (n_rows, rank)
        Features in an orthonormal basis, in random order.
    weights : ndarray of shape (n_rows,)
    Cs : ndarray of shape (n_C,)
    fit_intercept : bool

    Attributes
    ----------
    rows : slice
        The rows that are held out.
    """

    #: targets of the rows that are predicted do not change the predictions
    uses_all_targets = False

    def __init__(self, P: Any, weights: np.ndarray, Cs: np.ndarray, fit_intercept: bool):
        n_held_out = P.shape[0] // _ONE_IN
        self.rows = slice(0, n_held_out)
        self._held_out, self._fitted = P[:n_held_out], P[n_held_out:]
        total = weights[n_held_out:].sum()
        self._shares = weights[n_held_out:, None] / total
        self._intercept = fit_intercept
        self._mean = (self._fitted.T @ self._shares if fit_intercept else np.zeros((P.shape[1], 1))).T
        self._ridges = 1 / (2 * Cs * total)

    def predictions(self, y: np.ndarray) -> np.ndarray:
        """Predictions at every C, of shape (n_C, n_held_out, n_columns), for targets of shape (n_rows, n_columns)."""
        y = y[self.rows.stop :]
        mean = (self._shares * y).sum(axis=0) if self._intercept else np.zeros(y.shape[1])
        direction = self._from_rows(y - mean)
        length = np.linalg.norm(direction, axis=0)
        values, diagonal, beside = self._lanczos(direction)
        n_steps, n_columns = diagonal.shape
        found = np.empty((n_columns, len(self._ridges), values.shape[2]))
        for column in range(n_columns):
            T = np.diag(diagonal[:, column])
            T[np.arange(1, n_steps), np.arange(n_steps - 1)] = beside[:-1, column]
            eigenvalues, U = np.linalg.eigh(T)
            filters = 1 / (np.maximum(eigenvalues, 0) + self._ridges[:, None])
            coefficients = length[column] * (filters * U[0]) @ U.T
            found[column] = coefficients @ values[column] + mean[column]
        return np.moveaxis(found, 0, 2)

    def _lanczos(self, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Values of the basis on the rows held out, of shape (n_columns, n_steps, n_held_out), and the diagonal and the
        other entries of each T, of shape (n_steps, n_columns)."""
        before, v, beside = np.zeros_like(direction), _unit(direction), np.zeros(direction.shape[1])
        values, diagonals, besides = [], [], []
        for _ in range(min(_N_STEPS, len(direction))):
            offset = self._mean @ v
            values.append(self._held_out @ v - offset)
            image = self._from_rows(self._fitted @ v - offset) - beside * before
            diagonal = (image * v).sum(axis=0)
            image -= diagonal * v
            beside = np.linalg.norm(image, axis=0)
            # what is left of a space that is exhausted is rounding error
            beside = np.where(beside > np.sqrt(np.finfo(direction.dtype).eps) * diagonal, beside, 0)
            before, v = v, _unit(image) * (beside > 0)
            diagonals.append(diagonal)
            besides.append(beside)
        at_rows = np.ascontiguousarray(np.moveaxis(np.array(values), 2, 0), dtype=np.float64)
        return at_rows, np.array(diagonals, dtype=np.float64), np.array(besides, dtype=np.float64)

    def _from_rows(self, values: np.ndarray) -> np.ndarray:
        """(P − p̄)ᵀ S v for values v on the fitted rows."""
        weighted = (self._shares * values).astype(self._fitted.dtype)
        return np.asarray(self._fitted.T @ weighted) - self._mean.T.astype(weighted.dtype) * weighted.sum(axis=0)


def _unit(vectors: np.ndarray) -> np.ndarray:
    """The columns over their lengths; zeros stay."""
    lengths = np.linalg.norm(vectors, axis=0)
    return vectors / np.where(lengths > 0, lengths, 1)
