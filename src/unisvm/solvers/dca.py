"""Algorithm 1 of the paper: DCA, each step one linear solve with a matrix that never changes.

A step fits the working response t = ξ + ψ'/(2A), with its label's sign for classification, by weighted regularised
least squares; the paper solves that in three closed forms, which give the same function:

- "sparse": r equations for coefficients on the landmarks alone;
- "woodbury": one coefficient a row, by the Sherman–Morrison–Woodbury identity, r equations;
- "full": one coefficient a row, m equations.

This is the reference that the default solver is measured against. It keeps the whitened features of all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from unisvm._checks import check_number, one_of
from unisvm.losses.base import Loss
from unisvm.nystrom.column_map import dense
from unisvm.objective import Objective
from unisvm.preconditioner import MajoriserCoordinates
from unisvm.rows import MemoryRows
from unisvm.solvers.base import Iteration, Start, relative_decrease
from unisvm.sweep import residuals

# rows that are whitened, or summed, at a time
_WHITENED_ROWS = 4096
# no step raises the objective but by rounding; more of it than so many units in the last place ends the iteration
_MOST_ROUNDING = 100
# share by which a constant that was computed by another formula may fall below the loss's own
_ROUNDING_OF_A = 1e-12

#: maps a working response, and what is added to Pᵀ times it, to weights w and intercepts b
Fit = Callable[[np.ndarray, np.ndarray | float], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class DCA:
    """The paper's solver.

    It starts from least squares as the paper does. A few huge targets can spoil that start for a bounded loss; the
    default solver guards against them.

    Parameters
    ----------
    form : {"sparse", "woodbury", "full"}, default="sparse"
        The closed form of a step.
    stop : {"stationarity", "change", "derivative_change"}, default="stationarity"
        The paper stops when a Euclidean norm over all rows falls below `change`: that of the change of ψ'/(2A) in the
        authors' published code ("change"), of the change of ψ' in the paper's Appendix C ("derivative_change").
    change : float, default=0.01
    A : float, optional
        The constant of the iteration, at least the loss's own `A`, which is the default and converges fastest. With a
        larger one, such as those that the paper's tables print, it is the paper's iteration to the step.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm import UniSVMClassifier, solvers
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = UniSVMClassifier("hinge", solver=solvers.DCA(form="woodbury", stop="change")).fit(X, y)
    >>> bool(model.history_["objective"][-1] < model.history_["objective"][0])
    True
    """

    #: its stationarity is read off its own steps
    needs_exact_majoriser: ClassVar[bool] = True
    copies_of_features: ClassVar[int] = 2

    form: str = "sparse"
    stop: str = "stationarity"
    change: float = 0.01
    A: float | None = None

    def __post_init__(self) -> None:
        one_of("form", self.form, FORMS)
        one_of("stop", self.stop, ("stationarity", "change", "derivative_change"))
        check_number("change", self.change, 0, np.inf)
        if self.A is not None:
            check_number("A", self.A, 0, np.inf)

    def constant(self, loss: Loss) -> float:
        """A of the iteration for this loss; raises ValueError for one that makes no majoriser of it."""
        if self.A is None:
            return loss.A
        if self.A < loss.A * (1 - _ROUNDING_OF_A):
            raise ValueError(
                f"DCA(A={self.A:g}) is too small for {loss}: A u² − ψ(u) is convex for A ≥ {loss.A:.10g} only. Raise "
                "A, or leave it out to use that number."
            )
        return float(self.A)

    def begin(self, objective: Objective, majoriser: MajoriserCoordinates, start: Start) -> Algorithm1:
        """The iteration from `start`, or from the least-squares solution."""
        return Algorithm1(self, objective, majoriser, start)


class Algorithm1(Iteration):
    """w⁺ = argmin over w of λm/A ‖w‖² + Σ s (t − f)² for the working response t = f + σψ'(r)/(2A) at w.

    A regulariser λ wᵀSw is λ‖w‖² less 2λ‖w₋‖², whose slope at w is taken in place of it, as that of the concave part of
    the loss is: 2(λm/A) w₋ is added to Pᵀt. The matrix is the same.

    Attributes
    ----------
    w, b : ndarray of shape (rank, n_active) and (n_active,)
        Weights without their intercepts, and the intercepts.
    next_w, next_b
        After the next step.
    response : ndarray of shape (n_rows, n_active), or (0, n_active) unless a rule of the paper's compares it
        σψ'(r)/(2A).
    change : ndarray of shape (n_active,)
        Norm of the last change of it, or of ψ', a row of weight 2 counting as two.
    rose : ndarray of bool of shape (n_active,)
        Whether the last step would have raised the objective, and was not made.
    """

    arrays = ("columns", "w", "b", "next_w", "next_b", "value", "stationarity", "response", "change", "rose")

    def __init__(self, solver: DCA, objective: Objective, majoriser: MajoriserCoordinates, start: Start):
        # copies_of_features tells that the rows are in memory
        rows, (loss,) = cast(MemoryRows, objective.rows), objective.spec.losses
        self._solver = solver
        self._A = solver.constant(loss)
        # of every column
        self._targets, _ = objective.spec.take_targets(rows.ordered_targets, None)
        self._is_pairs = objective.spec.pairs is not None
        self._loss = loss
        self._penalty, self._total = float(objective.spec.penalties[0]), float(objective.spec.totals[0])
        self._P = np.empty(objective.features.shape, rows.dtype)
        for low in range(0, rows.n_rows, _WHITENED_ROWS):
            part = slice(low, low + _WHITENED_ROWS)
            self._P[part] = objective.basis.from_values(dense(objective.features[part]).T.astype(np.float64)).T
        self._weights = rows.ordered_weights[:, None]
        self._mean = objective.mean
        self._ridge = ridge = self._penalty * self._total / self._A
        if objective.signs is not None and solver.form != "sparse":
            raise ValueError(f"indefinite='krein' needs DCA(form='sparse'), got form={solver.form!r}.")
        self._fit = FORMS[solver.form](self._P, self._weights, ridge, objective.mean is not None)
        if start.weights is None:
            self.w, self.b = self._fit(self._targets, 0.0)
        else:
            self.weights = start.weights
        super().__init__(objective, majoriser, self.weights, n_sweeps=1)
        self.next_w, self.next_b = self.w, self.b
        # Appendix C compares the first ψ' with 0, the authors' code with nothing
        before = 0.0 if solver.stop == "derivative_change" else np.inf
        n_compared = 0 if solver.stop == "stationarity" else rows.n_rows
        self.response = np.full((n_compared, objective.n_columns), before)
        self.change = np.full(objective.n_columns, np.inf)
        self.rose = np.zeros(objective.n_columns, dtype=bool)

    @property
    def weights(self) -> np.ndarray:
        return self._join_intercept(self.w, self.b)

    @weights.setter
    def weights(self, weights: np.ndarray) -> None:
        if self._mean is None:
            self.w, self.b = weights, np.zeros(weights.shape[1])
        else:
            self.w, self.b = weights[:-1], weights[-1] - self._mean @ weights[:-1]

    def _join_intercept(self, w: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Weights whose last coordinate is the value of f at the mean of the features."""
        return w if self._mean is None else np.concatenate([w, (b + self._mean @ w)[None]])

    def step(self) -> None:
        w, b = self.next_w, self.next_b
        P, loss, is_margin = self._P, self._loss, self.objective.is_margin
        f = P @ w.astype(P.dtype) + b.astype(P.dtype)
        y = self._targets[:, self.columns]
        u = residuals(f.copy(), y, is_margin)
        response = loss.derivative(u) / (2 * self._A)
        if is_margin:
            response *= y
        # a row counts for nothing in pairs that do not have its class
        weights = self._weights * np.abs(y) if self._is_pairs else np.broadcast_to(self._weights, u.shape)
        risk = np.einsum("ij,ij->j", weights, loss.value(u), dtype=np.float64)
        value = self._penalty * np.einsum("ij,ij->j", w, self.objective.signed(w)) + risk / self._total
        self.objective.check_bounded(value, self._join_intercept(w, b), self.columns)
        self.next_w, self.next_b = self._fit(f + response, self._ridge * (w - self.objective.signed(w)))
        step = self._join_intercept(w, b) - self._join_intercept(self.next_w, self.next_b)
        reached = {"w": w, "b": b, "value": value, "stationarity": relative_decrease(self._gradient(step), value)}
        self.rose = ~(value <= self.value + np.abs(self.value) * _MOST_ROUNDING * np.finfo(P.dtype).eps)
        for name, new in reached.items():
            setattr(self, name, np.where(self.rose, getattr(self, name), new) if self.rose.any() else new)
        if self._solver.stop != "stationarity":
            change = response - self.response
            norm = np.sqrt(np.einsum("ij,ij,ij->j", self._weights, change, change, dtype=np.float64))
            self.change = norm if self._solver.stop == "change" else 2 * self._A * norm
            self.response = response

    def _gradient(self, step: np.ndarray) -> np.ndarray:
        """Gradient in the majoriser's coordinates, C⁻¹∇F, from the step H⁻¹∇F/2 with the matrix H of this iteration.

        The majoriser C Cᵀ/2 has the loss's own A₀: H = (A/A₀) C Cᵀ/2 − (A/A₀ − 1) λI, with no λ for an intercept.
        """
        ratio = self._A / self._loss.A
        gradient = ratio * self.majoriser.from_weights(step, self.columns)
        if ratio != 1:
            penalised = step.copy()
            penalised[len(self.w) :] = 0
            gradient -= 2 * self._penalty * (ratio - 1) * self.majoriser.gradient(penalised, self.columns)
        return gradient

    def moved(self) -> np.ndarray:
        return ~self.rose

    def stalled(self) -> np.ndarray:
        return self.rose

    def converged(self, tol: float) -> np.ndarray:
        return super().converged(tol) if self._solver.stop == "stationarity" else self.change < self._solver.change


def _factorise(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    """Cholesky factor of the matrix of Algorithm 1."""
    try:
        factor, is_lower = cho_factor(matrix, lower=True, check_finite=False)
        return factor, bool(is_lower)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "Algorithm 1's matrix is not positive definite in floating-point numbers: C is too high for these rows. "
            "Lower C, or use solver='lbfgs', whose solution does not depend on such a matrix."
        ) from error


def _sparse(P: np.ndarray, s: np.ndarray, ridge: float, intercept: bool) -> Fit:
    # no second matrix of the size of P
    M = np.zeros((P.shape[1], P.shape[1]))
    for low in range(0, len(P), _WHITENED_ROWS):
        part = slice(low, low + _WHITENED_ROWS)
        M += (P[part] * s[part]).T @ P[part]
    M[np.diag_indices_from(M)] += ridge
    if intercept:
        sums = (P.T @ s)[:, 0].astype(np.float64)
        M = np.block([[M, sums[:, None]], [sums[None], np.sum(s, dtype=np.float64)]])
    factor = _factorise(M)

    def fit(t: np.ndarray, added: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        right = P.T @ (s * t) + added
        if not intercept:
            return cho_solve(factor, right.astype(np.float64), check_finite=False), np.zeros(t.shape[1])
        of_ones = (s * t).sum(axis=0, dtype=np.float64)
        solution = cho_solve(factor, np.concatenate([right, of_ones[None]]), check_finite=False)
        return solution[:-1], solution[-1]

    return fit


def _dense(P: np.ndarray, solve: Callable[[np.ndarray], np.ndarray], intercept: bool) -> Fit:
    """From dense coefficients α = Q(t − b), where Q = (PPᵀ + ridge S⁻¹)⁻¹ and b makes them sum to zero."""
    towards_one = solve(np.ones((len(P), 1), dtype=P.dtype))

    def fit(t: np.ndarray, added: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        alpha = solve(t)
        b = alpha.sum(axis=0) / towards_one.sum() if intercept else np.zeros(t.shape[1])
        return (P.T @ (alpha - towards_one * b)).astype(np.float64), b.astype(np.float64)

    return fit


def _woodbury(P: np.ndarray, s: np.ndarray, ridge: float, intercept: bool) -> Fit:
    weighted = P * s
    inner = (weighted.T @ P).astype(np.float64)
    inner[np.diag_indices_from(inner)] += ridge
    factor = _factorise(inner)

    def solve(t: np.ndarray) -> np.ndarray:
        return np.asarray((s * t - weighted @ cho_solve(factor, weighted.T @ t, check_finite=False)) / ridge)

    return _dense(P, solve, intercept)


def _full(P: np.ndarray, s: np.ndarray, ridge: float, intercept: bool) -> Fit:
    K = (P @ P.T).astype(np.float64)
    K[np.diag_indices_from(K)] += ridge / s.ravel()
    factor = _factorise(K)
    return _dense(P, lambda t: cho_solve(factor, t, check_finite=False), intercept)


FORMS: dict[str, Callable[..., Fit]] = {"sparse": _sparse, "woodbury": _woodbury, "full": _full}
