"""Quadratic programs with bounds, min ½ αᵀ(Q + diag(d))α − cᵀα with lower ≤ α ≤ upper, by a semismooth Newton method.

For d > 0 the minimiser is α = clip((c − Qα)/d, lower, upper). Newton's method for that equation solves one system with
the matrix of the free variables, those strictly between their bounds; the dual of the program,

    Φ(β) = ½ βᵀQβ + Σ φ_i(c_i − (Qβ)_i),   φ_i(v) = max over a in [lower_i, upper_i] of a v − ½ d_i a²,

is convex and piecewise quadratic, so that with exact line searches on Φ a few steps lead to the minimiser.
Where d is zero, or too small for a factorisation, the proximal point method supplies it: d is ε there and c is c + εα
of the last solution, with a smaller and smaller ε, until the conditions of optimality of the program itself hold.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import brentq

from unisvm.baselines.interior_point import solve_by_interior_point

_EPS = np.finfo(np.float64).eps
# rows within this distance of the margin, in units of c, are free in the first program of a sequence
_FIRST_BAND = 0.1
# and in that of a program that starts from the solution of a similar one; RampSVM on 2,000 rows needs 340 steps with
# this, 410 with a tenth of it and 550 with a hundredth
_NEXT_BAND = 1e-2
_SHRINKAGE = 0.1
# least ε, in units of the largest diagonal element of Q
_LEAST_DAMPING = 1e-12
_MOST_PROXIMAL_STEPS, _MOST_NEWTON_STEPS, _MOST_IN_VAIN = 60, 300, 8
# a step that is hardly more than rounding errors, in units of the solution
_ROUNDING = 1e-10
# slope at the end of a step that makes it a whole one, in units of that at its beginning
_WHOLE_STEP = 1e-10
# relative error of the length of a shorter step; with a hundredth RampSVM needs half as many steps again
_LENGTH_TOLERANCE = 1e-3
# slopes of a solved system, in units of the rounding errors of a product with Q
_NOISE_OF_SOLUTION = 100
# slopes that are zero in exact arithmetic, in units of c; beyond the second one the interior-point code is tried
_TOLERANCE, _REFUSED = 1e-13, 1e-5


class BoxProgram:
    """Programs that share Q. Each starts from the solution of the one before.

    Parameters
    ----------
    Q : ndarray of shape (n, n)
        Symmetric and positive semidefinite.

    Attributes
    ----------
    alpha : ndarray of shape (n,)
        The last solution.
    """

    def __init__(self, Q: np.ndarray):
        self.Q = Q
        self.alpha = np.zeros(len(Q))
        self._unit = float(Q.diagonal().max(initial=0.0)) or 1.0
        self._is_first = True

    def solve(self, c: np.ndarray, lower: np.ndarray, upper: np.ndarray, ridge: np.ndarray | None = None) -> np.ndarray:
        """The minimiser, to about the precision of the machine.

        Parameters
        ----------
        c, lower, upper : ndarray of shape (n,)
            `lower` is finite, `upper` may be infinite. A variable whose bounds are equal has no part in the program.
        ridge : ndarray of shape (n,), optional
            d ≥ 0, zero by default.
        """
        ridge = np.zeros(len(c)) if ridge is None else ridge
        size, width = float(np.abs(c).max(initial=0.0)) or 1.0, float((upper - lower).max(initial=0.0))
        least = _LEAST_DAMPING * self._unit
        damping = max((_FIRST_BAND if self._is_first else _NEXT_BAND) * size / width, least) if width else least
        self._is_first = False
        best, smallest, since = np.clip(self.alpha, lower, upper), np.inf, 0
        self.alpha, product = best, self.Q @ best
        for _ in range(_MOST_PROXIMAL_STEPS):
            d = np.maximum(ridge, damping)
            try:
                alpha = self._newton(product, c + (d - ridge) * self.alpha, lower, upper, d)
            except LinAlgError:
                damping *= 100
                continue
            self.alpha, product = alpha, self.Q @ alpha
            violation = _violation(alpha, product + ridge * alpha - c, lower, upper)
            best, since = (alpha, 0) if violation < smallest else (best, since + 1)
            smallest = min(violation, smallest)
            noise = _EPS * self._unit * np.abs(alpha).sum()
            # without damping, a further round would only repeat the last step
            enough = max(_TOLERANCE * size, noise if (d > ridge).any() else _NOISE_OF_SOLUTION * noise)
            if smallest <= enough or since == _MOST_IN_VAIN:
                break
            damping = max(_SHRINKAGE * damping, least)
        if not smallest <= _REFUSED * size:
            best = solve_by_interior_point(self.Q + np.diag(ridge), c, lower, upper)
        self.alpha = best
        return best

    def _newton(self, product, c, lower, upper, d) -> np.ndarray:
        """The minimiser for this d > 0, from the last solution and Q times it."""
        beta = self.alpha
        # what the variables that are not free are held at, 0 for the others, and Q times that
        held, held_product = beta, product
        settled = None
        for _ in range(_MOST_NEWTON_STEPS):
            target = (c - product) / d
            low, high = target <= lower, target >= upper
            piece = low + 2 * high
            # the last step was a whole one and ended in the piece that it was made for: β is the minimiser of it
            if settled is not None and np.array_equal(piece, settled):
                break
            before, held = held, np.where(low, lower, np.where(high, upper, 0.0))
            held_product = held_product + self._times(held - before)
            goal, goal_product = self._minimiser_of_piece(held, held_product, c, d, np.flatnonzero(piece == 0))
            step = goal - beta
            if np.abs(step).max() <= _ROUNDING * np.abs(goal).max():
                beta = goal
                break
            change = goal_product - product
            length = _line_search(beta, step, target, change, d, lower, upper)
            if length == 0:
                break
            if length == 1:
                beta, product, settled = goal, goal_product, piece
            else:
                beta, product, settled = beta + length * step, product + length * change, None
        return np.clip(beta, lower, upper)

    def _minimiser_of_piece(self, held, held_product, c, d, free) -> tuple[np.ndarray, np.ndarray]:
        """Minimiser over the free variables, given by index, with the others held, and Q times it."""
        if not len(free):
            return held, held_product
        # the transpose is in the order of LAPACK, which then needs no copy
        matrix = self.Q[np.ix_(free, free)].T
        matrix[np.diag_indices_from(matrix)] += d[free]
        factor = cho_factor(matrix, overwrite_a=True, check_finite=False)
        added = np.zeros_like(held)
        added[free] = cho_solve(factor, (c - held_product)[free], check_finite=False)
        return held + added, held_product + self._times(added)

    def _times(self, vector: np.ndarray) -> np.ndarray:
        """Q times a vector, by the rows where it is not zero if they are few, since Q is symmetric."""
        used = np.flatnonzero(vector)
        return self.Q @ vector if 4 * len(used) > len(vector) else vector[used] @ self.Q[used]


def _line_search(beta, step, target, change, d, lower, upper) -> float:
    """Length in [0, 1] at which Φ(β + length · step) is least; 0 where rounding leaves no descent."""
    constant, linear, drift = beta @ change, step @ change, change / d

    def slope(length: float) -> float:
        alpha = np.minimum(np.maximum(target - length * drift, lower), upper)
        return float(constant + length * linear - alpha @ change)

    first, last = slope(0.0), slope(1.0)
    if last <= _WHOLE_STEP * abs(first):
        return 1.0
    return float(brentq(slope, 0.0, 1.0, xtol=1e-12, rtol=_LENGTH_TOLERANCE)) if first < 0 else 0.0


def _violation(alpha: np.ndarray, slope: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """Largest slope that a variable could follow downhill: 0 at the minimiser."""
    descent = np.where(alpha > lower, np.maximum(slope, 0), 0) + np.where(alpha < upper, np.maximum(-slope, 0), 0)
    return float(descent.max(initial=0.0))
