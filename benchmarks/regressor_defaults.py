"""Median absolute errors of regressors with their defaults: clean targets, wild ones, and errors of heavy tails.

UNISVM_DATA=folder python benchmarks/regressor_defaults.py [--sets ...] [--systems ...] [--seeds ...] [--rows N]
                                                           [--validate]

Columns are scaled to mean 0 and variance 1, and targets to median 0 and interquartile range 1; test targets are as they
are. "wild" replaces 10 % of the training targets by values 10 to 30 interquartile ranges off, "heavy" adds Student's t
with 1.5 degrees of freedom, a fifth of the interquartile range wide, to all of them. With --validate, rows that were
held out of the training rows are predicted instead of the test rows, as choices are made by. Prints a row of a Markdown
table for each set and kind of targets: the mean over the seeds, in per cent of the interquartile range, the least in
bold. LightGBM is needed for its own column.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics import median_absolute_error
from sklearn.preprocessing import RobustScaler, StandardScaler
from sklearn.svm import SVR

from defaults import SEEDS, split
from grid_quality import make_wild
from unisvm import UniSVMRegressor, losses

SETS = ["concrete", "abalone", "kin8nm", "cpu_act", "cadata", "house_8L"]
KINDS = ["clean", "wild", "heavy"]
WILD_SHARE, HEAVY_WIDTH, HEAVY_DEGREES = 0.1, 0.2, 1.5
MAX_SCORED_ROWS = 5000


def lightgbm(seed: int) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(objective="regression_l1", random_state=seed, verbose=-1, n_jobs=2)


#: a system by its name, for a seed
SYSTEMS: dict[str, Callable[[int], Any]] = {
    "UniSVMRegressor()": lambda seed: UniSVMRegressor(random_state=seed),
    "SVR()": lambda seed: SVR(),
    "LGBMRegressor, l1": lightgbm,
}
SYSTEMS |= {
    name: partial(lambda name, seed: UniSVMRegressor(name, random_state=seed), name)
    for name in losses.names("regression")
}


def spoil(y: np.ndarray, kind: str, seed: int) -> np.ndarray:
    """Training targets of a kind."""
    if kind == "wild":
        return make_wild(y, WILD_SHARE, seed)
    if kind == "heavy":
        low, high = np.percentile(y, [25, 75])
        return y + HEAVY_WIDTH * (high - low) * np.random.RandomState(seed).standard_t(HEAVY_DEGREES, len(y))
    return y


def parts(name: str, n_rows: int, seed: int, *, validate: bool) -> tuple[np.ndarray, ...]:
    """Training rows and scored ones, scaled, with their targets."""
    X, y, X_scored, y_scored = split(name)
    order = np.random.RandomState(seed).permutation(len(y))
    if validate:
        n_rows = min(n_rows, 3 * len(y) // 4)
        scored = order[n_rows : n_rows + MAX_SCORED_ROWS]
        X_scored, y_scored = X[scored], y[scored]
    fitted = order[:n_rows]
    scaler = StandardScaler().fit(X[fitted].astype(np.float32))
    rows = (scaler.transform(each.astype(np.float32)) for each in (X[fitted], X_scored))
    return *rows, y[fitted].astype(float), y_scored.astype(float)


def errors(name: str, kind: str, systems: list[str], n_rows: int, seed: int, *, validate: bool) -> list[float]:
    """Median absolute error of each system, in per cent of the interquartile range."""
    X, X_scored, y, y_scored = parts(name, n_rows, seed, validate=validate)
    unit = RobustScaler().fit(y[:, None])
    scaler = RobustScaler().fit(spoiled := spoil(y, kind, seed)[:, None])
    found = []
    for system in systems:
        model = SYSTEMS[system](seed).fit(X, scaler.transform(spoiled).ravel())
        predicted = scaler.inverse_transform(model.predict(X_scored)[:, None]).ravel()
        found.append(100 * median_absolute_error(y_scored, predicted) / float(unit.scale_[0]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS)[:3], choices=list(SYSTEMS))
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--rows", type=int, default=2500)
    parser.add_argument("--validate", action="store_true")
    options = parser.parse_args()
    print("| set | targets | " + " | ".join(options.systems) + " |")
    print("|---" * (2 + len(options.systems)) + "|")
    for kind, name in product(options.kinds, options.sets):
        measured = partial(errors, name, kind, options.systems, options.rows, validate=options.validate)
        means = np.mean([measured(seed) for seed in options.seeds], axis=0)
        cells = [f"**{mean:.2f}**" if mean == means.min() else f"{mean:.2f}" for mean in means]
        print(f"| {name} | {kind} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
