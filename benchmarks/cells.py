"""Machines of cells beside one machine of all rows: accuracy or error.

UNISVM_DATA=folder python benchmarks/cells.py [--sets ...] [--rows N] [--cells ...] [--partitions ...] [--wrong SHARE]

Of each set at most N training rows are taken (40,000 by default): three fifths to train on, a fifth to choose the
kernel on, RBF or Laplacian with gamma at 1, 8 or 64 times its scale, a fifth to score. Columns are scaled to [0, 1],
C follows from the data. Prints a row of a Markdown table for each set: for each size of the cells, the accuracy in % or
the root of the mean squared error in units of the targets' standard deviation, and the kernel. With --wrong, so many of
the training and choosing labels are wrong.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

from unisvm import UniSVMClassifier, UniSVMRegressor, datasets

CLASSES = ["covtype", "ijcnn1", "a9a", "w8a", "letter", "shuttle", "phoneme"]
TARGETS = ["cadata", "house_8L", "cpu_act", "kin8nm"]
KERNELS = ("rbf", "laplacian")
FACTORS = (1.0, 8.0, 64.0)


def load(name: str, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Training rows of a set, scaled to [0, 1]."""
    data = datasets.load(name)
    X, y = (data[f"{part}_train"] if f"{part}_train" in data else data[part] for part in "Xy")
    chosen = np.random.RandomState(0).permutation(len(y))[:n_rows]
    X, y = X[chosen].astype(np.float32), y[chosen]
    least, most = X.min(axis=0), X.max(axis=0)
    X = (X - least) / np.where(most > least, most - least, 1)
    return X, (y - y.mean()) / y.std() if name in TARGETS else y


def scale_of(X: np.ndarray, kernel: str) -> float:
    """Gamma that "scale" stands for."""
    return 1 / (X.shape[1] * (X.var() if kernel == "rbf" else X.std()))


def score(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Accuracy in %, or the root of the mean squared error."""
    found = model.predict(X)
    return 100 * np.mean(found == y) if isinstance(model, UniSVMClassifier) else np.sqrt(np.mean((found - y) ** 2))


def best(name: str, parts: list[Any], **cells: Any) -> str:
    """A cell of the table: the score of the kernel that is best on the rows to choose on."""
    (X, y), (X_chosen, y_chosen), (X_test, y_test) = parts
    is_class = name in CLASSES
    tried = []
    for kernel in KERNELS:
        for factor in FACTORS:
            kind = UniSVMClassifier if is_class else UniSVMRegressor
            model = kind(kernel=kernel, gamma=factor * scale_of(X, kernel), random_state=0, **cells)
            model.fit(X, y)
            found = score(model, X_chosen, y_chosen)
            tried.append((-found if is_class else found, score(model, X_test, y_test), kernel, factor))
    _, value, kernel, factor = min(tried)
    return f"{value:{'.2f' if is_class else '.4f'}} ({kernel}, {factor:g})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=CLASSES + TARGETS, choices=CLASSES + TARGETS)
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--cells", nargs="+", type=int, default=[3000, 1000], help="sizes beside one machine")
    parser.add_argument("--partitions", nargs="+", type=int, default=[1])
    parser.add_argument("--wrong", type=float, default=0.0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    settings: dict[str, dict[str, Any]] = {"one machine": {}}
    for n_rows in options.cells:
        for n_partitions in options.partitions:
            label = f"cells of {n_rows}" + (f", {n_partitions} partitions" if n_partitions > 1 else "")
            settings[label] = {"cells": n_rows, "partitions": n_partitions}
    print(f"| set | rows | {' | '.join(settings)} |\n|{'---|' * (2 + len(settings))}", flush=True)
    for name in options.sets:
        X, y = load(name, options.rows)
        ends = np.array([0.6, 0.8]) * len(y)
        parts = list(zip(*(np.split(array, ends.astype(int)) for array in (X, y)), strict=True))
        if options.wrong and name in CLASSES:
            for k in range(2):
                parts[k] = parts[k][0], datasets.flip_labels(parts[k][1], options.wrong, random_state=k)[0]
        cells = [best(name, parts, **of_cells) for of_cells in settings.values()]
        print(f"| {name} | {len(parts[0][1])} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
