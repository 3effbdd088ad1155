"""The quadratic that lies above the objective: the one matrix of the method, factorised once.

H = λI + A · (second moments of the features), and coordinates z = Cᵀw with C Cᵀ = 2H in which it is round:
there a step of Algorithm 1 is a gradient step of length one.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from unisvm.features import GramSample, Moments
from unisvm.rows.threads import one_if_small


class Coordinates(Protocol):
    """What a solver moves in, whether all columns share it or not; `columns` says which they are."""

    def to_weights(self, Z: np.ndarray, columns: np.ndarray) -> np.ndarray: ...

    def from_weights(self, W: np.ndarray, columns: np.ndarray) -> np.ndarray: ...

    def gradient(self, gradient: np.ndarray, columns: np.ndarray) -> np.ndarray: ...


class Majorising(Coordinates, Protocol):
    """Coordinates in which the quadratic above the objective is round."""

    def least_squares(self, correlation: np.ndarray) -> np.ndarray: ...


class Majoriser:
    """H for one penalty and one loss.

    With an intercept, the last coordinate is the value of f at the mean of the features; it is not penalised.

    Parameters
    ----------
    sample : GramSample
    penalty : float
        λ.
    A : float
        The loss's constant.
    intercept : bool
    moments : (ndarray, ndarray, float), optional
        What `sample.moments` gives for the curvature of the loss at each row, as a share of the most that A allows.
        With it, H is the objective's own Hessian there: no longer a majoriser, but better coordinates.
    """

    def __init__(self, sample: GramSample, penalty: float, A: float, intercept: bool, moments: Moments | None = None):
        gram, sums, total = (sample.gram, sample.mean, 1.0) if moments is None else moments
        if intercept:
            gram = _about(sample.mean, gram, sums, total)
        self._factor = _cholesky(gram, 2 * A, 2 * penalty, free=int(intercept))
        self._A = A

    @property
    def factor(self) -> np.ndarray:
        """The lower triangular C."""
        return self._factor

    @classmethod
    def from_factor(cls, factor: np.ndarray, A: float) -> Majoriser:
        """The same coordinates again, from C."""
        majoriser = cls.__new__(cls)
        majoriser._factor, majoriser._A = factor, A
        return majoriser

    def to_weights(self, Z: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """w = C⁻ᵀ z; all columns share one C."""
        return solve_triangular(self._factor, Z, lower=True, trans="T", check_finite=False)

    def from_weights(self, W: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """z = Cᵀ w."""
        return self._factor.T @ W

    def gradient(self, gradient: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """The gradient in z, from that in w."""
        return solve_triangular(self._factor, gradient, lower=True, check_finite=False)

    def least_squares(self, correlation: np.ndarray) -> np.ndarray:
        """The minimiser of λ‖w‖² + A · mean (y − f)², given the mean of y times the features."""
        return 2 * self._A * cho_solve((self._factor, True), correlation, check_finite=False)


def _about(centre: np.ndarray, gram: np.ndarray, sums: np.ndarray, total: float) -> np.ndarray:
    """Second moments of (p − centre, 1) from those of p, its sum and the weight."""
    moved = sums - total * centre
    body = gram - np.outer(sums, centre) - np.outer(centre, moved)
    return np.block([[body, moved[:, None]], [moved[None], np.array([[total]])]])


def _cholesky(gram: np.ndarray, scale: float, ridge: float, free: int = 0) -> np.ndarray:
    """The lower factor of scale · gram + ridge · I, of which the lower triangle is given.

    The last `free` coordinates get no ridge.
    """
    lifted = np.arange(len(gram)) < len(gram) - free
    # Rounding in a Gram matrix can leave it indefinite by a little when λ is tiny; any H serves, so it is lifted.
    for lift in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
        # in the order that LAPACK works in place on
        H = np.multiply(gram, scale, order="F")
        diagonal = H.diagonal()
        H[np.diag_indices_from(H)] = diagonal + (ridge + lift * (diagonal.max() + ridge)) * lifted
        try:
            with one_if_small(len(H) ** 3 / 6):
                return cholesky(H, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raise FloatingPointError("The majoriser could not be factorised; the kernel or the weights are degenerate.")
