"""Minima found by other means than the library's: cvxpy, explicit monomials, and L-BFGS from random starts."""

import warnings
from contextlib import suppress
from itertools import combinations_with_replacement
from math import factorial
from typing import NamedTuple

import cvxpy as cp
import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

KERNELS = {
    "rbf": lambda X, Z, gamma, degree: np.exp(-gamma * cdist(X, Z, "sqeuclidean")),
    "laplacian": lambda X, Z, gamma, degree: np.exp(-gamma * cdist(X, Z, "cityblock")),
    "linear": lambda X, Z, gamma, degree: X @ Z.T,
    "poly": lambda X, Z, gamma, degree: (gamma * X @ Z.T + 1) ** degree,
}


def softplus(u, p):
    """softplus(p u)/p, for cvxpy."""
    return cp.logistic(p * u) / p


#: ψ of the convex losses, for cvxpy
CONVEX = {
    "least_squares": cp.square,
    "squared_hinge": lambda u: cp.square(cp.pos(u)),
    "smooth_hinge": softplus,
    "logistic": lambda u: cp.logistic(u - 1),
    "smooth_epsilon_insensitive": lambda u, epsilon, p: softplus(-u - epsilon, p) + softplus(u - epsilon, p),
    # cvxpy's is u² up to δ
    "huber": lambda u, delta: cp.huber(u, delta) / (2 * delta),
    "smooth_absolute": lambda u, p: softplus(u, p) + softplus(-u, p),
    "smooth_pinball": lambda u, tau, p: tau * softplus(u, p) + (1 - tau) * softplus(-u, p),
    "expectile": lambda u, tau: tau * cp.square(cp.pos(u)) + (1 - tau) * cp.square(cp.neg(u)),
}


class Problem(NamedTuple):
    """λ‖f‖² + Σ s ψ(r)/total over one column of targets, with λ = 1/(2 C total).

    Attributes
    ----------
    K : ndarray of shape (n_rows, n_rows)
        The kernel matrix.
    y : ndarray
        Targets: ±1, or real ones in units of their scale.
    weights : ndarray
        s.
    C, total : float
        `total` is the sum of the weights of the fit, of which the column may use a part.
    is_margin, fit_intercept : bool
    """

    K: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    C: float
    total: float
    is_margin: bool
    fit_intercept: bool

    @property
    def penalty(self):
        return 1 / (2 * self.C * self.total)

    def residuals(self, f):
        return 1 - self.y * f if self.is_margin else self.y - f

    def root(self):
        """G with G Gᵀ = K, so that f = G w has the norm of w."""
        values, vectors = np.linalg.eigh(self.K)
        return vectors * np.sqrt(np.maximum(values, 0))

    def value(self, psi, f, square):
        """The objective of a function by its values at the rows and ‖f‖²."""
        return self.penalty * square + self.weights @ psi(self.residuals(f)) / self.total


def convex_minimum(problem, psi):
    """The minimum by an interior-point method; `psi` is ψ for cvxpy."""
    w, b = cp.Variable(len(problem.y)), cp.Variable()
    f = problem.root() @ w + (b if problem.fit_intercept else 0)
    u = 1 - cp.multiply(problem.y, f) if problem.is_margin else problem.y - f
    risk = problem.weights @ psi(u) / problem.total
    program = cp.Problem(cp.Minimize(problem.penalty * cp.sum_squares(w) + risk))
    # the last digits are not always to be had
    for tol in (1e-9, 1e-8, 1e-7):
        with warnings.catch_warnings(), suppress(cp.SolverError):
            warnings.filterwarnings("ignore", "Solution may be inaccurate")
            program.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=tol, tol_feas=tol)
        if program.status == "optimal":
            return program.value
    with suppress(cp.SolverError):
        program.solve(solver="SCS", eps_abs=1e-10, eps_rel=1e-10, max_iters=1_000_000)
        if program.status == "optimal":
            return program.value
    raise AssertionError(f"cvxpy ends with {program.status} on {problem}.")


# ------------------------------------------------------------------ losses that are not convex


def _slope(psi, u, h=1e-6):
    return (psi(u + h) - psi(u - h)) / (2 * h)


def objective(problem, psi, G, point):
    """The objective of weights on the root G of K and an intercept, and its gradient."""
    w, b = point[:-1], point[-1]
    u = problem.residuals(G @ w + b)
    pointwise = problem.weights * _slope(psi, u) * (problem.y if problem.is_margin else 1) / problem.total
    gradient = np.r_[2 * problem.penalty * w - G.T @ pointwise, -pointwise.sum() * problem.fit_intercept]
    return problem.penalty * w @ w + problem.weights @ psi(u) / problem.total, gradient


def random_minima(problem, psi, n_starts, rng):
    """Local minima that L-BFGS reaches from functions of random coefficients, about as large as the targets."""
    G, minima = problem.root(), []
    for _ in range(n_starts):
        alpha = rng.standard_normal(len(G))
        alpha *= np.std(problem.y) / np.std(problem.K @ alpha)
        start = np.r_[G.T @ alpha, 0.0]
        minima.append(minimize(lambda point: objective(problem, psi, G, point), start, jac=True, method="L-BFGS-B").fun)
    return np.array(minima)


def majoriser(problem, G, A):
    """λI + A · (second moments of G), bordered by those of the constant if there is an intercept."""
    rows = np.c_[G, np.full(len(G), float(problem.fit_intercept))]
    H = A * (rows.T * problem.weights) @ rows / problem.total
    H[np.diag_indices(len(H) - 1)] += problem.penalty
    # the intercept that is not there
    H[-1, -1] += not problem.fit_intercept
    return H


def least_squares_value(problem, psi, A):
    """The objective of the minimiser of λ‖f‖² + A · mean (y − f)²."""
    G = problem.root()
    targets = A * problem.weights * problem.y / problem.total
    right = np.r_[G.T @ targets, targets.sum() * problem.fit_intercept]
    return objective(problem, psi, G, np.linalg.solve(majoriser(problem, G, A), right))[0]


def descended(problem, psi, A, f, intercept, n_steps):
    """The objective after steps of the paper's Algorithm 1, w − ½ H⁻¹∇F, from a function by its values at the rows."""
    G = problem.root()
    H = majoriser(problem, G, A)
    point = np.r_[np.linalg.lstsq(G, f - intercept, rcond=1e-9)[0], intercept]
    for _ in range(n_steps):
        point -= 0.5 * np.linalg.solve(H, objective(problem, psi, G, point)[1])
    return objective(problem, psi, G, point)[0]


# ------------------------------------------------------------------ least squares over polynomials


def monomials(X, degree, gamma, coef0):
    """Features whose products are (γ x·z + coef0)^degree: exact where the kernel has lost its digits."""
    Z = np.c_[np.sqrt(gamma) * X, np.full(len(X), np.sqrt(coef0))]
    columns = []
    for chosen in combinations_with_replacement(range(Z.shape[1]), degree):
        powers = np.bincount(chosen, minlength=Z.shape[1])
        n_orders = factorial(degree) / np.prod([factorial(power) for power in powers])
        columns.append(np.sqrt(n_orders) * Z[:, chosen].prod(axis=1))
    return np.stack(columns, axis=1)


def ridge(features, y, alpha):
    """Predictions of ridge regression with a free intercept, by an orthogonal factorisation of scaled features."""
    centred, level = features - features.mean(axis=0), y.mean()
    stacked = np.r_[centred, np.sqrt(alpha) * np.eye(features.shape[1])]
    lengths = np.linalg.norm(stacked, axis=0)
    targets = np.r_[y - level, np.zeros(features.shape[1])]
    w = np.linalg.lstsq(stacked / lengths, targets, rcond=1e-16)[0] / lengths
    return level + centred @ w
