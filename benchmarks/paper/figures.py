"""What the scripts of the figures share: timed fits, and what was measured over trials.

The key of a measurement is a prefix that ends in a slash, and the trial's seed.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter

import numpy as np

from paper.common import Results

SOLVER_NAMES = {"lbfgs": "L-BFGS", "dca": "Algorithm 1"}


def fit(model, X, y, repeats: int = 1) -> float:
    """Fit, and tell the seconds: the median where it is done again, since small fits vary."""
    seconds = []
    for _ in range(repeats):
        started = perf_counter()
        model.fit(X, y)
        seconds.append(perf_counter() - started)
    return float(np.median(seconds))


def seeds_of(results: Results, prefixes: Iterable[str]) -> list[int]:
    """The trials in which everything was measured, this time or before."""
    found = [{key.removeprefix(prefix) for key in results.measured if key.startswith(prefix)} for prefix in prefixes]
    return sorted(map(int, set.intersection(*found)))


def values(results: Results, prefix: str, seeds: Iterable[int], name: str) -> np.ndarray:
    """One figure of the measurements, a number a trial."""
    return np.array([results.measured[f"{prefix}{seed}"][name] for seed in seeds], dtype=float)


def mean_and_deviation(numbers: np.ndarray, digits: int) -> str:
    """As the paper gives it: the standard deviation in brackets."""
    return f"{numbers.mean():.{digits}f} ({numbers.std():.{digits}f})"
