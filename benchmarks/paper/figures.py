"""Common part of the scripts of figures: timed fits, and measurements over trials.

The key of a measurement is a prefix that ends in a slash, and the trial's seed.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter

import numpy as np

from paper.common import Results

SOLVER_NAMES = {"lbfgs": "L-BFGS", "dca": "Algorithm 1"}


def fit(model, X, y, repeats: int = 1) -> float:
    """Median seconds of a fit over the repeats, since small fits vary."""
    seconds = []
    for _ in range(repeats):
        started = perf_counter()
        model.fit(X, y)
        seconds.append(perf_counter() - started)
    return float(np.median(seconds))


def seeds_of(results: Results, prefixes: Iterable[str]) -> list[int]:
    """Seeds of the trials for which all of these prefixes were measured."""
    found = [{key.removeprefix(prefix) for key in results.measured if key.startswith(prefix)} for prefix in prefixes]
    return sorted(map(int, set.intersection(*found)))


def values(results: Results, prefix: str, seeds: Iterable[int], name: str) -> np.ndarray:
    """One figure of the measurements, a number for each trial."""
    return np.array([results.measured[f"{prefix}{seed}"][name] for seed in seeds], dtype=float)


def mean_and_deviation(numbers: np.ndarray, digits: int) -> str:
    """Mean with the standard deviation in brackets, as in the paper."""
    return f"{numbers.mean():.{digits}f} ({numbers.std():.{digits}f})"
