"""The formulas written out on whole matrices: slow, and too plain to be wrong. For tests only."""

import numpy as np


def nystrom(K, chosen):
    """K(X, B) K(B, B)⁺ K(B, X)."""
    columns = K[:, chosen]
    return columns @ np.linalg.pinv(K[np.ix_(chosen, chosen)], rcond=1e-10, hermitian=True) @ columns.T


def trace_left(K, chosen, weights=None):
    """Share of the weighted trace that the Nyström approximation from these rows leaves out."""
    weights = np.ones(len(K)) if weights is None else weights
    approximation = nystrom(K, chosen) if len(chosen) else np.zeros_like(K)
    return weights @ np.diagonal(K - approximation) / (weights @ np.diagonal(K))


def orthonormal_features(K_xb, K_bb):
    """P = K(X, B) L⁻ᵀ with L Lᵀ = K(B, B)."""
    return np.linalg.solve(np.linalg.cholesky(K_bb), K_xb.T).T


def moments(P, weights):
    """Weighted mean of p and of p pᵀ, row by row."""
    mean, gram = np.zeros(P.shape[1]), np.zeros((P.shape[1], P.shape[1]))
    for p, weight in zip(P, weights, strict=True):
        mean += weight * p
        gram += weight * np.outer(p, p)
    return mean / weights.sum(), gram / weights.sum()


def decision(P, w, mean=None):
    """f at each row. With the mean of the features, the last coordinate of w is the value of f there."""
    return P @ w if mean is None else (P - mean) @ w[:-1] + w[-1]


def objective(P, y, weights, w, loss, penalty, is_margin, mean=None):
    """λ‖w‖² + Σ s ψ(r) / Σ s for one column of targets."""
    f = decision(P, w, mean)
    residuals = 1 - y * f if is_margin else y - f
    body = w if mean is None else w[:-1]
    return penalty * (body @ body) + weights @ loss.value(residuals) / weights.sum()


def slope(function, w, step=1e-6):
    """Gradient by central differences."""
    gradient = np.empty_like(w)
    for i in range(len(w)):
        move = np.zeros_like(w)
        move[i] = step
        gradient[i] = (function(w + move) - function(w - move)) / (2 * step)
    return gradient


def majoriser(P, weights, penalty, A, intercept):
    """λI + A · (second moments of the features), about their mean when there is an intercept of curvature A."""
    mean, gram = moments(P, weights)
    if not intercept:
        return penalty * np.eye(len(gram)) + A * gram
    H = np.zeros((len(gram) + 1, len(gram) + 1))
    H[:-1, :-1] = penalty * np.eye(len(gram)) + A * (gram - np.outer(mean, mean))
    H[-1, -1] = A
    return H
