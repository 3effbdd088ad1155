"""The quadratic that lies above the objective: the one matrix of the method, factorised once.

H = λI + A · (second moments of the features), and coordinates z = Cᵀw with C Cᵀ = 2H in which it is round:
there a step of Algorithm 1 is a gradient step of length one.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from unisvm.features import GramSample


class Majoriser:
    """H for one penalty and one loss.

    With an intercept, the features are taken about their mean, which uncouples it: it is the last coordinate, is not
    penalised, and has curvature A.

    Parameters
    ----------
    sample : GramSample
    penalty : float
        λ.
    A : float
        The loss's constant.
    intercept : bool
    """

    def __init__(self, sample: GramSample, penalty: float, A: float, intercept: bool):
        gram = sample.gram - np.outer(sample.mean, sample.mean) if intercept else sample.gram
        self._factor = _cholesky(gram, 2 * A, 2 * penalty)
        self._A = A
        self._intercept = intercept

    def to_weights(self, Z: np.ndarray) -> np.ndarray:
        """w = C⁻ᵀ z."""
        return self._map(
            Z, lambda z: solve_triangular(self._factor, z, lower=True, trans="T", check_finite=False), -0.5
        )

    def from_weights(self, W: np.ndarray) -> np.ndarray:
        """z = Cᵀ w."""
        return self._map(W, lambda w: self._factor.T @ w, 0.5)

    def gradient(self, gradient: np.ndarray) -> np.ndarray:
        """The gradient in z, from that in w."""
        return self._map(gradient, lambda g: solve_triangular(self._factor, g, lower=True, check_finite=False), -0.5)

    def least_squares(self, correlation: np.ndarray) -> np.ndarray:
        """The minimiser of λ‖w‖² + A · mean (y − f)², given the mean of y times the features."""
        return self._map(correlation, lambda c: cho_solve((self._factor, True), c, check_finite=False), -1.0) * (
            2 * self._A
        )

    def _map(self, array, body, power):
        if not self._intercept:
            return body(array)
        return np.concatenate([body(array[:-1]), (2 * self._A) ** power * array[-1:]])


def _cholesky(gram: np.ndarray, scale: float, ridge: float) -> np.ndarray:
    """The lower factor of scale · gram + ridge · I, of which the lower triangle is given."""
    # Rounding in a Gram matrix can leave it indefinite by a little when λ is tiny; any H serves, so it is lifted.
    for lift in (0.0, 1e-14, 1e-12, 1e-10):
        # in the order that LAPACK works in place on
        H = np.multiply(gram, scale, order="F")
        diagonal = H.diagonal()
        H[np.diag_indices_from(H)] = diagonal + (ridge + lift * (diagonal.max() + ridge))
        try:
            return cholesky(H, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
    raise FloatingPointError("The majoriser could not be factorised; the kernel or the weights are degenerate.")
