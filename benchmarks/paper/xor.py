"""The xor problem of the paper's figures: its settings, the systems on it, and how their boundaries are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from paper.common import SOLVERS
from unisvm import UniSVMClassifier, losses
from unisvm.baselines import L1SVM, L2SVM, MultiStageSVM, RampSVM, ReweightedL2SVM, RobustL2SVM
from unisvm.datasets import flip_labels, make_xor

LAMBDA = 1e-5
GAMMA = 0.5
SIZE = 400
LOW_RANK = 10
#: where the bounded losses are cut
A = 2
SHARE_FLIPPED = 0.1

ROBUST_LOSSES = {
    "smoothed ramp": losses.QuadraticRamp(a=A),
    "truncated squared hinge": losses.TruncatedSquaredHinge(a=A),
    "loss (2, 2, 2)": losses.Feng(a=A),
    "loss (2, 2, 4)": losses.Saturating(a=A, b=2, c=4),
}
#: robust SVMs that solve quadratic programs, and their classes
ROBUST_PROGRAMS: dict[str, Callable[..., Any]] = {
    "robust L1SVM": RampSVM,
    "MS-SVM": MultiStageSVM,
    "re-weighted L2SVM": ReweightedL2SVM,
}
#: the DCA for the robust L2SVM, which Tao et al. and the paper call unsatisfactory
ROBUST_DCA = "robust L2SVM by DCA"


def settings(m: int) -> dict[str, float]:
    """C and gamma for so many training rows."""
    return {"C": 1 / (2 * LAMBDA * m), "gamma": GAMMA}


def unisvm(loss, m: int, rank: int | None, solver: str, /, **more: Any) -> UniSVMClassifier:
    """The paper's model, with this rank whatever trace is left out."""
    fixed = {"rank": rank, "rank_tol": 0, "fit_intercept": False, "random_state": 0}
    return UniSVMClassifier(loss, **{**settings(m), **fixed, **SOLVERS[solver], **more})


def libsvm(m: int) -> SVC:
    """The L1SVM as the paper solved it, with an intercept."""
    return SVC(**settings(m))


def l1svm(m: int) -> L1SVM:
    """The L1SVM as the paper writes it, without an intercept like UniSVM."""
    return L1SVM(**settings(m))


def robust_l2svm(m: int) -> RobustL2SVM:
    return RobustL2SVM(A, **settings(m))


def l2svm(m: int) -> L2SVM:
    return L2SVM(**settings(m))


def make(m: int, seed: int, share: float = 0.0, n_test: int | None = None):
    """Training rows with a share of wrong labels, the indices of these, and clean test rows."""
    rng = np.random.RandomState(seed)
    X, y = make_xor(m, random_state=rng)
    X_test, y_test = make_xor(n_test or m, random_state=rng)
    y, flipped = flip_labels(y, share, random_state=rng)
    return X, y, flipped, X_test, y_test


def accuracy(model, X, y) -> float:
    """Accuracy in per cent."""
    return 100 * float(model.score(X, y))


def objective(model, value: Callable[[np.ndarray], np.ndarray], X, y, kernel=None) -> float:
    """λ‖f‖² + mean ψ(1 − y f(x)) of any of these models, with the RBF kernel if no other is given."""
    points = model.support_vectors_ if isinstance(model, SVC) else model.landmark_vectors_
    matrix = rbf_kernel(points, gamma=GAMMA) if kernel is None else kernel(points, points)
    beta = np.ravel(model.dual_coef_)
    return float(LAMBDA * beta @ matrix @ beta + np.mean(value(1 - y * model.decision_function(X))))


def draw_boundary(ax, model, X, y, flipped=()) -> None:
    """Draw the rows, with wrong labels as crosses, and the boundary as a curve; the true one is dotted."""
    reach = 1.02 * np.abs(X).max()
    ticks = np.linspace(-reach, reach, 161)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1)
    decision = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    wrong = np.isin(np.arange(len(y)), flipped)
    for label, colour in ((1, "tab:orange"), (-1, "tab:blue")):
        ax.scatter(*X[(y == label) & ~wrong].T, c=colour, s=5)
        ax.scatter(*X[(y == label) & wrong].T, c=colour, s=28, marker="x", linewidths=1.3)
    ax.contour(ticks, ticks, decision, levels=[0], colors="tab:red", linewidths=1.6)
    for line in (ax.axhline, ax.axvline):
        line(0, color="black", linewidth=0.8, linestyle=":")
    ax.set(xticks=[], yticks=[], xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
