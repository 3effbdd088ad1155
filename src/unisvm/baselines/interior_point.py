"""Quadratic programs with bounds, min ½ αᵀQα − cᵀα with lower ≤ α ≤ upper, by an interior-point code.

It factorises the whole matrix at each step, where `BoxProgram` needs that of the free variables alone. It is the
reference for that class, and solves the programs that are too badly conditioned for it.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

# a coefficient this close to a bound, in units of the distance of the bounds or of the largest coefficient, is at it
_AT_BOUND = 1e-6
_POLISHING_STEPS = 10


def solve_by_interior_point(Q: np.ndarray, c: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The minimiser, to about the precision of the machine.

    Parameters
    ----------
    Q : ndarray of shape (n, n)
        Positive semidefinite.
    c, lower, upper : ndarray of shape (n,)
        `lower` is finite, `upper` may be infinite.
    """
    piqp = _require_piqp()
    alpha = lower.copy()
    # a variable that cannot move has no interior
    free = np.flatnonzero(lower < upper)
    right = c[free] - Q[free] @ np.where(lower < upper, 0.0, lower)
    # units in which the diagonal is 1: a row of tiny weight has a huge ridge
    diagonal = Q.diagonal()[free]
    unit = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled, right = unit[:, None] * Q[np.ix_(free, free)] * unit, unit * right
    low, high = lower[free] / unit, upper[free] / unit
    bounds = np.abs([low, high])
    # the solver's tolerance is absolute
    reach = min(bounds.max(where=np.isfinite(bounds), initial=0.0), 1.0) or 1.0
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = 1e-10
    solver.settings.eps_rel = 1e-10
    solver.setup(reach * scaled, -right, x_l=low / reach, x_u=high / reach)
    status = solver.solve()
    if status not in (piqp.PIQP_SOLVED, piqp.PIQP_MAX_ITER_REACHED):
        raise RuntimeError(f"The quadratic program could not be solved: {status}.")
    near = np.clip(reach * np.asarray(solver.result.x), low, high)
    # where the bounds are far apart, the unit may round a bound away from itself
    alpha[free] = np.clip(unit * _polished(near, scaled, right, low, high), lower[free], upper[free])
    return alpha


def _polished(alpha, Q, c, lower, upper) -> np.ndarray:
    """A solution near `alpha` to the precision of the machine, by guessing which bounds hold.

    An interior-point solution touches its bounds only nearly, so that every row would be a support vector.
    """
    scale = np.where(np.isfinite(upper), upper - lower, np.abs(alpha).max(initial=0.0))
    slope = Q @ alpha - c
    low = (alpha - lower <= _AT_BOUND * scale) & (slope > 0)
    high = (upper - alpha <= _AT_BOUND * scale) & (slope < 0)

    def error(point: np.ndarray) -> float:
        """Largest change that a projected gradient step of length one makes: 0 at the minimiser."""
        return float(np.abs(np.clip(point - (Q @ point - c), lower, upper) - point).max(initial=0.0))

    for _ in range(_POLISHING_STEPS):
        free = ~(low | high)
        trial = np.where(low, lower, np.where(high, upper, alpha))
        try:
            # the oldest SciPy refuses a system without unknowns
            if free.any():
                factor = cho_factor(Q[np.ix_(free, free)], lower=True, check_finite=False)
                trial[free] += cho_solve(factor, (c - Q @ trial)[free], check_finite=False)
        except LinAlgError:
            return alpha
        # variables that crossed a bound are held there; those that a bound holds back are released
        slope = Q @ trial - c
        wrong = (low & (slope < 0)) | (high & (slope > 0))
        below, above = trial < lower, trial > upper
        if not (wrong.any() or below.any() or above.any()):
            # values would not tell: their rounding errors exceed the difference if the bounds are far apart
            return min(trial, alpha, key=error)
        low, high = (low | below) & ~wrong, (high | above) & ~wrong
    return alpha


def _require_piqp():
    try:
        import piqp
    except ImportError as error:
        raise ImportError(
            "This quadratic program is badly conditioned, and piqp, which may solve it, is not there. Lower C, or "
            "install piqp with: pip install 'unisvm[baselines]'"
        ) from error
    return piqp
