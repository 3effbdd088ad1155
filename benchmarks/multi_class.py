"""Several classes as one problem: four ways to fit them, and how they bear wrong labels.

UNISVM_DATA=folder python benchmarks/multi_class.py [--sets ...] [--loss ...] [--noise ...] [--seeds ...] [--rows N]

Trains on some of the training rows of each set and scores on others of them; test rows have no part in it. Beside
``multi_class="ovo"`` and "ovr" of the library, with C chosen by it, two ways that it does not have are fitted here, by
L-BFGS of SciPy on the same features: "angle", where each class is a vertex w of a simplex in K − 1 dimensions and the
residual is 1 − ⟨f(x), w⟩, and "rest", whose residual is 1 minus the margin of a row's class against a soft maximum of
the others. These two have the best C of five, by the rows that are scored, which favours them. "votes" are the pairs of
"ovo", counted as SVC counts them. Prints a row of a Markdown table for each set and share of wrong labels.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from c_units import training_parts
from defaults import MANY_CLASSES
from unisvm import UniSVMClassifier, datasets, losses
from unisvm.class_pairs import class_pairs
from unisvm.losses.base import Loss

#: multiples of the C that the library chooses
FACTORS = [1 / 4, 1 / 2, 1, 2, 4]
#: width of the soft maximum
WIDTH = 0.5
MAX_ITER = 150
#: value and gradient of the mean loss in the decisions f, of shape (n_rows, n_columns)
Risk = Callable[[np.ndarray], tuple[float, np.ndarray]]


def simplex(n_classes: int) -> np.ndarray:
    """Vertices of length 1, a row for each class, in n_classes − 1 dimensions."""
    centred = np.eye(n_classes) - 1 / n_classes
    _, _, axes = np.linalg.svd(centred)
    vertices = centred @ axes[:-1].T
    return vertices / np.linalg.norm(vertices, axis=1, keepdims=True)


def angle_risk(loss: Loss, vertices: np.ndarray, labels: np.ndarray) -> Risk:
    """Mean of ψ(1 − ⟨f, w_y⟩)."""
    own = vertices[labels]

    def risk(f: np.ndarray) -> tuple[float, np.ndarray]:
        u = 1 - np.einsum("ij,ij->i", f, own)
        return float(loss.value(u).mean()), -loss.derivative(u)[:, None] * own / len(u)

    return risk


def rest_risk(loss: Loss, labels: np.ndarray) -> Risk:
    """Mean of ψ(1 − f_y + soft maximum of the others)."""
    rows = np.arange(len(labels))

    def risk(f: np.ndarray) -> tuple[float, np.ndarray]:
        others = f / WIDTH
        others[rows, labels] = -np.inf
        top = others.max(axis=1, keepdims=True)
        shares = np.exp(others - top)
        total = shares.sum(axis=1, keepdims=True)
        soft = WIDTH * (top + np.log(total / (f.shape[1] - 1)))[:, 0]
        u = 1 - f[rows, labels] + soft
        slope = loss.derivative(u) / len(u)
        gradient = shares / total * slope[:, None]
        gradient[rows, labels] = -slope
        return float(loss.value(u).mean()), gradient

    return risk


def fit(P: np.ndarray, risk: Risk, n_columns: int, C: float) -> np.ndarray:
    """Weights and, in the last row, intercepts that minimise ‖w‖²/(2Cm) + risk."""
    penalty, rank = 1 / (2 * C * len(P)), P.shape[1]
    scale = np.sqrt(np.append(penalty + (P**2).mean(axis=0), 1.0))[:, None]

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        w = z.reshape(rank + 1, n_columns) / scale
        value, gradient = risk(P @ w[:-1] + w[-1])
        in_w = np.concatenate([P.T @ gradient + 2 * penalty * w[:-1], gradient.sum(axis=0, keepdims=True)])
        return value + penalty * float((w[:-1] ** 2).sum()), (in_w / scale).ravel()

    start = np.zeros((rank + 1) * n_columns)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": MAX_ITER})
    return found.x.reshape(rank + 1, n_columns) / scale


def features_of(model: UniSVMClassifier) -> Callable[[np.ndarray], np.ndarray]:
    """Features of rows in an orthonormal basis, with the landmarks of a fitted model."""
    points = model.landmark_vectors_.astype(np.float64)
    factor = np.linalg.cholesky(model.kernel_.against(points)(points) + 1e-7 * np.eye(len(points)))
    return lambda X: solve_triangular(factor, model.kernel_.against(points)(X.astype(np.float64)).T, lower=True).T


def votes(decision: np.ndarray, n_classes: int) -> np.ndarray:
    """Classes that win the most pairs; of equals, the one with the larger sum of decisions."""
    pairs = class_pairs(n_classes)
    incidence = np.eye(n_classes)[pairs[:, 1]] - np.eye(n_classes)[pairs[:, 0]]
    clear = decision @ incidence
    return (np.sign(decision) @ incidence + clear / (1 + np.abs(clear))).argmax(axis=1)


def measure(name: str, loss_name: str, noise: float, seed: int, n_rows: int) -> list[float]:
    """Accuracies in % of the ways, in the order of the table."""
    X, X_scored, y, y_scored = training_parts(name, n_rows, seed)
    labels = datasets.flip_labels(y, noise, random_state=seed)[0] if noise else y
    pairs, rest = (
        UniSVMClassifier(loss_name, multi_class=way, random_state=seed).fit(X, labels) for way in ("ovo", "ovr")
    )
    classes = pairs.classes_
    kernel = pairs.kernel_.against(pairs.landmark_vectors_)(X_scored)
    counted = classes[votes(kernel @ pairs.dual_coef_.T + pairs.intercept_, len(classes))]
    found = [100 * model.score(X_scored, y_scored) for model in (pairs, rest)]
    found.append(100 * float(np.mean(counted == y_scored)))
    features, loss = features_of(pairs), losses.get(loss_name)
    P, Q = features(X), features(X_scored)
    codes, vertices = np.searchsorted(classes, labels), simplex(len(classes))
    for risk, columns in (
        (angle_risk(loss, vertices, codes), vertices),
        (rest_risk(loss, codes), np.eye(len(classes))),
    ):
        scores = []
        for factor in FACTORS:
            w = fit(P, risk, columns.shape[1], factor * pairs.C_)
            decided = ((Q @ w[:-1] + w[-1]) @ columns.T).argmax(axis=1)
            scores.append(100 * float(np.mean(classes[decided] == y_scored)))
        found.append(max(scores))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=MANY_CLASSES, choices=MANY_CLASSES)
    parser.add_argument("--loss", default="feng", choices=losses.names("classification"))
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.2, 0.4])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--rows", type=int, default=2500)
    arguments = parser.parse_args()
    print("| set | wrong | ovo | ovr | votes | angle | rest |")
    print("|---" * 7 + "|")
    for name, noise in product(arguments.sets, arguments.noise):
        runs = [measure(name, arguments.loss, noise, seed, arguments.rows) for seed in arguments.seeds]
        means = " | ".join(f"{mean:.2f}" for mean in np.mean(runs, axis=0))
        print(f"| {name} | {100 * noise:.0f} % | {means} |", flush=True)


if __name__ == "__main__":
    main()
