"""Quadratic programs with bounds: min ½ αᵀQα − cᵀα with lower ≤ α ≤ upper, by an interior-point solver."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

# a coefficient this close to a bound, in units of the distance of the bounds or of the largest coefficient, is at it
_AT_BOUND = 1e-6
_POLISHING_STEPS = 10


class BoxProgram:
    """Programs that share Q and c and differ in their bounds.

    Parameters
    ----------
    Q : ndarray of shape (n, n)
        Positive semidefinite.
    c : ndarray of shape (n,)
    """

    def __init__(self, Q: np.ndarray, c: np.ndarray):
        self._piqp = _require_piqp()
        self.Q, self.c = Q, c
        self._solver: Any = None
        self._unit = 1.0

    def solve(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """The minimiser, to about the precision of the machine."""
        if self._solver is None:
            bounds = np.abs([lower, upper])
            # the solver's tolerance is absolute
            self._unit = min(bounds.max(where=np.isfinite(bounds), initial=0.0), 1.0) or 1.0
            self._solver = self._piqp.DenseSolver()
            self._solver.settings.eps_abs = 1e-10
            self._solver.settings.eps_rel = 1e-10
            self._solver.setup(self._unit * self.Q, -self.c, x_l=lower / self._unit, x_u=upper / self._unit)
        else:
            # only the bounds are new: the matrix is neither copied nor scaled again
            self._solver.update(x_l=lower / self._unit, x_u=upper / self._unit)
        status = self._solver.solve()
        if status not in (self._piqp.PIQP_SOLVED, self._piqp.PIQP_MAX_ITER_REACHED):
            raise RuntimeError(f"The quadratic program could not be solved: {status}.")
        return self._polished(np.clip(self._unit * np.asarray(self._solver.result.x), lower, upper), lower, upper)

    def _polished(self, alpha: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """A solution near `alpha` to the precision of the machine, by guessing which bounds hold.

        An interior-point solution touches its bounds only nearly, so that every row would be a support vector.
        """
        scale = np.where(np.isfinite(upper), upper - lower, np.abs(alpha).max(initial=0.0))
        slope = self.Q @ alpha - self.c
        low = (alpha - lower <= _AT_BOUND * scale) & (slope > 0)
        high = (upper - alpha <= _AT_BOUND * scale) & (slope < 0)
        for _ in range(_POLISHING_STEPS):
            free = ~(low | high)
            trial = np.where(low, lower, np.where(high, upper, alpha))
            try:
                # the oldest SciPy refuses a system without unknowns
                if free.any():
                    factor = cho_factor(self.Q[np.ix_(free, free)], lower=True, check_finite=False)
                    trial[free] += cho_solve(factor, (self.c - self.Q @ trial)[free], check_finite=False)
            except LinAlgError:
                return alpha
            # variables that crossed a bound are held there; those that a bound holds back are released
            slope = self.Q @ trial - self.c
            wrong = (low & (slope < 0)) | (high & (slope > 0))
            below, above = trial < lower, trial > upper
            if not (wrong.any() or below.any() or above.any()):
                # values would not tell: their rounding errors exceed the difference if the bounds are far apart
                return min(trial, alpha, key=lambda point: self._error(point, lower, upper))
            low, high = (low | below) & ~wrong, (high | above) & ~wrong
        return alpha

    def _error(self, alpha: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
        """Largest change that a projected gradient step of length one makes: 0 at the minimiser."""
        step = np.clip(alpha - (self.Q @ alpha - self.c), lower, upper) - alpha
        return float(np.abs(step).max(initial=0.0))


def _require_piqp():
    try:
        import piqp
    except ImportError as error:
        raise ImportError(
            "This comparator solves quadratic programs with piqp. Install it with: pip install 'unisvm[baselines]'"
        ) from error
    return piqp
