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
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from unisvm._checks import one_of
from unisvm.majoriser import Majoriser
from unisvm.objective import Objective
from unisvm.solvers.result import History, Result, Start, State, StopReason, names_of, reasons_of, relative_decrease

Fit = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

_STATE = ("w", "b", "active", "final", "value", "stationarity", "n_sweeps", "pull_before")


@dataclass(frozen=True)
class DCA:
    """The paper's solver.

    It starts from least squares as the paper does. A few huge targets can spoil that start for a bounded loss; the
    default solver guards against them.

    Parameters
    ----------
    form : {"sparse", "woodbury", "full"}, default="sparse"
        The closed form of a step.
    stop : {"stationarity", "change"}, default="stationarity"
        "change" is the paper's rule: the Euclidean norm of the change of ψ'/(2A) over all rows falls below `change`.
    change : float, default=0.01

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from unisvm import UniSVMClassifier, solvers
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = UniSVMClassifier("hinge", solver=solvers.DCA(form="woodbury", stop="change")).fit(X, y)
    >>> bool(model.history_["objective"][-1] < model.history_["objective"][0])
    True
    """

    #: what it reports as stationarity is read off its own steps
    needs_exact_majoriser: ClassVar[bool] = True
    copies_of_features: ClassVar[int] = 2

    form: str = "sparse"
    stop: str = "stationarity"
    change: float = 0.01

    def __post_init__(self):
        one_of("form", self.form, FORMS)
        one_of("stop", self.stop, ("stationarity", "change"))

    def solve(
        self,
        objective: Objective,
        majoriser: Majoriser,
        *,
        start: Start,
        tol: float,
        max_iter: int,
        history: History,
    ) -> Result:
        """Iterate from `start`, or from the least-squares solution; or go on from its state."""
        rows, loss = objective.rows, objective.loss
        P = rows.build(_whitened(objective.feature_map), objective.features.shape[1])
        y, s = rows.targets, rows.weights[:, None]
        intercept = objective.centre is not None
        fit = FORMS[self.form](P, s, objective.penalty * objective.total / loss.A, intercept)

        def coordinates(w, b):
            return np.concatenate([w, (b + objective.centre @ w)[None]]) if intercept else w

        given, q = start.weights, objective.n_columns
        # what the paper's rule compares with; the other needs none of it
        pull_before = np.full((rows.n_rows if self.stop == "change" else 0, q), np.inf)
        if start.state is not None:
            w, b, active, final, value, stationarity, n_sweeps, pull_before = (start.state[name] for name in _STATE)
            reasons = reasons_of(start.state["reasons"])
            history.go_on(start.state)
        else:
            if given is None:
                w, b = fit(y)
            else:
                w = given[:-1] if intercept else given
                b = given[-1] - objective.centre @ w if intercept else np.zeros(w.shape[1])
            active = np.arange(q)
            final = coordinates(w, b)
            value, stationarity = np.full(q, np.inf), np.full(q, np.inf)
            n_sweeps = np.full(q, 1)
            reasons = [StopReason.MAX_ITER] * q

        def state() -> State:
            arrays = (w, b, active, final, value, stationarity, n_sweeps, pull_before)
            return dict(zip(_STATE, arrays, strict=True)) | {"reasons": names_of(reasons)}

        # a state may be that of a run that had ended
        while len(active) and len(history.objective) < max_iter:
            f = P @ w.astype(P.dtype) + b.astype(P.dtype)
            targets = y[:, active]
            u = objective.residuals(f.copy(), targets)
            pull = loss.derivative(u) / (2 * loss.A)
            if objective.margins:
                pull *= targets
            mean_loss = np.einsum("ij,ij->j", np.broadcast_to(s, u.shape), loss.value(u), dtype=np.float64)
            value[active] = objective.penalty * np.einsum("ij,ij->j", w, w) + mean_loss / objective.total
            next_w, next_b = fit(f + pull)
            # in the majoriser's coordinates the step is minus the gradient
            step = majoriser.from_weights(coordinates(w, b) - coordinates(next_w, next_b))
            stationarity[active] = relative_decrease(step, value[active])
            n_sweeps[active] += 1
            history.record(value, stationarity)

            if self.stop == "stationarity":
                done = stationarity[active] <= tol
            else:
                done = np.linalg.norm(pull - pull_before[:, active], axis=0) < self.change
                pull_before[:, active] = pull
            for j in active[done]:
                reasons[j] = StopReason.CONVERGED
            final[:, active] = coordinates(w, b)
            active, w, b = active[~done], next_w[:, ~done], next_b[~done]
            history.offer(state)
        return Result(final, value, stationarity, n_sweeps, reasons, history)


def _whitened(feature_map):
    def block(X, out):
        out[...] = feature_map.from_values(feature_map.block(X).T.astype(np.float64)).T

    return block


def _sparse(P, s, ridge, intercept) -> Fit:
    weighted = P * s
    M = (weighted.T @ P).astype(np.float64)
    M[np.diag_indices_from(M)] += ridge
    if intercept:
        sums = weighted.sum(axis=0, dtype=np.float64)
        M = np.block([[M, sums[:, None]], [sums[None], np.sum(s, dtype=np.float64)]])
    factor = cho_factor(M, lower=True)

    def fit(t):
        right = weighted.T @ t
        if not intercept:
            return cho_solve(factor, right.astype(np.float64)), np.zeros(t.shape[1])
        solution = cho_solve(factor, np.concatenate([right, (s * t).sum(axis=0, dtype=np.float64)[None]]))
        return solution[:-1], solution[-1]

    return fit


def _dense(P, solve, intercept) -> Fit:
    """From dense coefficients α = Q(t − b), where Q = (PPᵀ + ridge S⁻¹)⁻¹ and b makes them sum to zero."""
    towards_one = solve(np.ones((len(P), 1), dtype=P.dtype))

    def fit(t):
        alpha = solve(t)
        b = alpha.sum(axis=0) / towards_one.sum() if intercept else np.zeros(t.shape[1])
        return (P.T @ (alpha - towards_one * b)).astype(np.float64), b.astype(np.float64)

    return fit


def _woodbury(P, s, ridge, intercept) -> Fit:
    weighted = P * s
    inner = (weighted.T @ P).astype(np.float64)
    inner[np.diag_indices_from(inner)] += ridge
    factor = cho_factor(inner, lower=True)
    return _dense(P, lambda t: (s * t - weighted @ cho_solve(factor, weighted.T @ t)) / ridge, intercept)


def _full(P, s, ridge, intercept) -> Fit:
    K = (P @ P.T).astype(np.float64)
    K[np.diag_indices_from(K)] += ridge / s.ravel()
    factor = cho_factor(K, lower=True)
    return _dense(P, lambda t: cho_solve(factor, t), intercept)


FORMS: dict[str, Callable[..., Fit]] = {"sparse": _sparse, "woodbury": _woodbury, "full": _full}
