"""Prediction intervals of UniSVMRegressorCV beside those of MAPIE with LightGBM: coverage, width, score and time.

UNISVM_DATA=folder python benchmarks/intervals.py [--sets ...] [--systems ...] [--seeds ...] [--rows N] [--coverage C]
                                                  [--share]

Each seed is a random split into 80 % training rows, of which at most N are used (8,000 by default), and 20 % test rows.
Prints a row of a Markdown table for each set and system, means over the seeds: the share of test targets in the
intervals, their mean width and interval score (width + 2/(1 − C) · distance of the targets outside) in units of the
test targets' standard deviation, and the median of the seconds of fit and prediction; the systems take turns. With
--share, prints instead how much longer a search takes that fits widths which vary with the rows, and the share of its
time that the intervals take. MAPIE and LightGBM are needed for their own rows.
"""

from __future__ import annotations

import argparse
import logging
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from unisvm import UniSVMRegressorCV, datasets
from unisvm.progress import StageEnds, listen

SETS = ["concrete", "kin8nm", "abalone", "cpu_act", "cadata", "house_8L"]
SEEDS = list(range(5))
TEST_SHARE, CONFORMAL_SHARE = 0.2, 0.25

#: function from training rows, targets, test rows, coverage and a seed to ends of intervals of shape (n_rows, 2)
System = Callable[[np.ndarray, np.ndarray, np.ndarray, float, int], np.ndarray]


def ours(intervals: str) -> System:
    def ends(X, y, X_test, coverage, seed):
        model = UniSVMRegressorCV(scale="standard", intervals=intervals, random_state=seed).fit(X, y)
        return model.predict_interval(X_test, coverage)

    return ends


def lightgbm(seed: int, **parameters: Any) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(random_state=seed, verbose=-1, n_jobs=2, **parameters)


def cross_conformal(X, y, X_test, coverage, seed):
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(lightgbm(seed), confidence_level=coverage, cv=5, random_state=seed)
    return model.fit_conformalize(X, y).predict_interval(X_test)[1][:, :, 0]


def conformal_quantiles(X, y, X_test, coverage, seed):
    from mapie.regression import ConformalizedQuantileRegressor

    X, X_held_out, y, y_held_out = train_test_split(X, y, test_size=CONFORMAL_SHARE, random_state=seed)
    model = ConformalizedQuantileRegressor(lightgbm(seed, objective="quantile", alpha=0.5), confidence_level=coverage)
    model.fit(X, y).conformalize(X_held_out, y_held_out)
    return model.predict_interval(X_test)[1][:, :, 0]


SYSTEMS: dict[str, System] = {
    "unisvm": ours("auto"),
    "unisvm, constant": ours("constant"),
    "MAPIE, cross-conformal": cross_conformal,
    "MAPIE, conformalised quantiles": conformal_quantiles,
}


def split(name: str, n_rows: int, seed: int) -> list[np.ndarray]:
    """Training rows, test rows, and their targets."""
    data = datasets.load(name)
    X, X_test, y, y_test = train_test_split(data["X"], data["y"], test_size=TEST_SHARE, random_state=seed)
    return [X[:n_rows], X_test, y[:n_rows].astype(float), y_test.astype(float)]


def measure(system: System, parts: list[np.ndarray], coverage: float, seed: int) -> list[float]:
    """Coverage, width, interval score and seconds."""
    X, X_test, y, y_test = parts
    started = perf_counter()
    low, high = np.asarray(system(X, y, X_test, coverage, seed)).T
    seconds = perf_counter() - started
    outside = np.maximum(low - y_test, 0) + np.maximum(y_test - high, 0)
    width, unit = high - low, y_test.std()
    score = np.mean(width + 2 / (1 - coverage) * outside)
    return [100 * np.mean(outside == 0), width.mean() / unit, score / unit, seconds]


def share(name: str, n_rows: int, seeds: list[int]) -> tuple[float, float]:
    """Seconds of a search, and those of them that its intervals take; medians over the seeds."""
    found = []
    for seed in seeds:
        X, _, y, _ = split(name, n_rows, seed)
        ended: list[StageEnds] = []
        model = UniSVMRegressorCV(scale="standard", random_state=seed)
        started = perf_counter()
        with listen(lambda event, ended=ended: ended.append(event) if isinstance(event, StageEnds) else None):
            model.fit(X, y)
        total = perf_counter() - started
        found.append((total, sum(event.seconds for event in ended if event.name == "intervals")))
    whole, of_intervals = np.median(found, axis=0)
    return float(whole), float(of_intervals)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--rows", type=int, default=8000)
    parser.add_argument("--coverage", type=float, default=0.9)
    parser.add_argument("--share", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    # MAPIE logs to the root, and switches it on for all
    logging.disable(logging.INFO)
    if options.share:
        print("| set | search, s | intervals, s | share, % |\n|---|---|---|---|")
        for name in options.sets:
            whole, part = share(name, options.rows, options.seeds)
            print(f"| {name} | {whole:.2f} | {part:.2f} | {100 * part / whole:.0f} |", flush=True)
        return
    print("| set | system | coverage, % | width | interval score | s |\n|---|---|---|---|---|---|")
    for name in options.sets:
        parts = {seed: split(name, options.rows, seed) for seed in options.seeds}
        results = np.array(
            [
                [measure(SYSTEMS[system], parts[seed], options.coverage, seed) for system in options.systems]
                for seed in options.seeds
            ]
        )
        means, seconds = results.mean(axis=0), np.median(results[:, :, 3], axis=0)
        for system, (covered, width, score, _), time in zip(options.systems, means, seconds, strict=True):
            print(f"| {name} | {system} | {covered:.1f} | {width:.3f} | {score:.3f} | {time:.2f} |", flush=True)


if __name__ == "__main__":
    main()
