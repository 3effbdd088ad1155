"""Multiples of the C of least squares that suit the losses: the constants of src/unisvm/leave_one_out.py.

UNISVM_DATA=folder python benchmarks/c_units.py [--sets ...] [--losses ...] [--noise ...] [--seeds ...] [--rows N]

Trains on some of the training rows of each set and scores on others of them; test rows have no part in it. Prints a row
of a Markdown table for each loss and share of wrong labels: the mean accuracy in % if the C that the estimator chooses
is multiplied by each factor, and in the last column the best that any of them has, set by set.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np
from sklearn.preprocessing import StandardScaler

from defaults import MANY_CLASSES, TWO_CLASSES, split
from unisvm import UniSVMClassifier, datasets, losses

FACTORS = [1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8]
NAMES = ["least_squares", "squared_hinge", "smooth_hinge", "logistic", "saturating", "quadratic_ramp", "feng"]
MAX_SCORED_ROWS = 4000


def training_parts(name: str, n_rows: int, seed: int) -> tuple[np.ndarray, ...]:
    """Scaled training rows to fit on and others to score on, with their labels."""
    X, y, _, _ = split(name)
    order = np.random.RandomState(seed).permutation(len(y))
    n_rows = min(n_rows, 3 * len(y) // 4)
    fitted, scored = order[:n_rows], order[n_rows : n_rows + MAX_SCORED_ROWS]
    scaler = StandardScaler().fit(X[fitted].astype(np.float32))
    rows = (scaler.transform(X[part].astype(np.float32)) for part in (fitted, scored))
    return *rows, y[fitted].astype(int), y[scored].astype(int)


def accuracies(name: str, loss: str, noise: float, seed: int, n_rows: int) -> list[float]:
    """Accuracy in % for each factor."""
    X, X_scored, y, y_scored = training_parts(name, n_rows, seed)
    if noise:
        y, _ = datasets.flip_labels(y, noise, random_state=seed)
    model = UniSVMClassifier(loss, random_state=seed).fit(X, y)
    chosen = model.C_
    return [100 * model.set_params(C=factor * chosen).fit(X, y).score(X_scored, y_scored) for factor in FACTORS]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=TWO_CLASSES, choices=[*TWO_CLASSES, *MANY_CLASSES])
    parser.add_argument("--losses", nargs="+", default=NAMES, choices=losses.names("classification"))
    parser.add_argument("--noise", nargs="+", type=float, default=[0.0, 0.2, 0.4])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--rows", type=int, default=2500)
    arguments = parser.parse_args()
    print("| loss | wrong | " + " | ".join(f"{factor:g}" for factor in FACTORS) + " | best |")
    print("|---" * (3 + len(FACTORS)) + "|")
    for loss, noise in product(arguments.losses, arguments.noise):
        cells = product(arguments.sets, arguments.seeds)
        found = np.array([accuracies(name, loss, noise, seed, arguments.rows) for name, seed in cells])
        means = " | ".join(f"{mean:.2f}" for mean in found.mean(axis=0))
        print(f"| {loss} | {100 * noise:.0f} % | {means} | {found.max(axis=1).mean():.2f} |", flush=True)


if __name__ == "__main__":
    main()
