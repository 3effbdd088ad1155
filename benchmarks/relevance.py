"""Learned relevance of the columns: errors on rows held out of the training rows, with and without.

UNISVM_DATA=folder python benchmarks/relevance.py [--splits N] [--rows N] [--sets NAME ...]

Of each set at most so many training rows are drawn; 70 % of them are fitted. The error is the share of wrong labels, or
the root mean squared error relative to the standard deviation of the target. Times are of single fits on one thread.
"""

from __future__ import annotations

import argparse
import warnings
from time import perf_counter

import numpy as np

from unisvm import UniSVMClassifier, UniSVMRegressor, datasets

LABELS = ("phoneme", "spambase", "diabetes", "letter")
TARGETS = ("cadata", "cpu_act", "house_8L", "abalone", "concrete", "kin8nm")
KERNELS = ("rbf", "laplacian")


def split(name: str, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows and targets to fit, and others of the training rows."""
    arrays = datasets.load(name)
    X, y = (arrays[f"{part}_train" if "X_train" in arrays else part] for part in ("X", "y"))
    chosen = np.random.RandomState(seed).permutation(len(y))[:n_rows]
    fitted, held_out = np.split(chosen, [int(0.7 * len(chosen))])
    return X[fitted].astype(np.float64), y[fitted], X[held_out].astype(np.float64), y[held_out]


def error(name: str, kernel: str, relevance: str | None, n_rows: int, seed: int) -> tuple[float, float, bool]:
    """Error on rows held out, seconds, and whether scales were learned."""
    X, y, X_test, y_test = split(name, n_rows, seed)
    estimator = UniSVMClassifier if name in LABELS else UniSVMRegressor
    model = estimator(kernel=kernel, scale="standard", relevance=relevance, random_state=seed, n_jobs=1)
    started = perf_counter()
    model.fit(X, y)
    seconds, is_learned = perf_counter() - started, relevance is not None and bool((model.relevances_ != 1).any())
    if name in LABELS:
        return float(np.mean(model.predict(X_test) != y_test)), seconds, is_learned
    return float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)) / y_test.std()), seconds, is_learned


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--sets", nargs="+", default=[*LABELS, *TARGETS])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | kernel | error | learned | change | splits in which scales were learned | seconds | learned |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.sets:
        for kernel in KERNELS:
            plain, learned = (
                np.array([error(name, kernel, relevance, options.rows, seed) for seed in range(options.splits)])
                for relevance in (None, "learned")
            )
            before, after = plain[:, 0].mean(), learned[:, 0].mean()
            shown = f"| {name} | {kernel} | {before:.4f} | {after:.4f} | {100 * (after / before - 1):+.1f} % "
            times = f"| {plain[:, 1].mean():.1f} | {learned[:, 1].mean():.1f} |"
            print(f"{shown}| {learned[:, 2].sum():.0f} of {options.splits} {times}", flush=True)


if __name__ == "__main__":
    main()
