"""Common part of the scripts of figures: timed fits, and measurements over trials.

The key of a measurement is a prefix that ends in a slash, and the trial's seed.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter

import numpy as np

from paper.common import Results
from paper.quiet import quiet_seconds, remark_on, written_seconds

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


def counted(number: int, noun: str) -> str:
    """The number and the noun, in the plural where it has to be."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def over_trials(n_trials: int) -> str:
    """A clause on what the accuracies are."""
    return f"means (standard deviations) over {n_trials} trials" if n_trials > 1 else "one trial"


def medians_of_seconds(results: Results) -> str:
    """A clause on what the seconds are."""
    return f"seconds are medians with {counted(results.threads, 'thread')}, LibSVM's always with one"


def seconds_of(results: Results, prefix: str, seeds: Iterable[int]) -> float:
    """Median seconds of the trials that nothing disturbed, or of all if there are none."""
    return quiet_seconds(results.measured[f"{prefix}{seed}"] for seed in seeds)[0]


def median_seconds(results: Results, prefix: str, seeds: Iterable[int], digits: int = 3) -> str:
    """The same as a table shows it, with a mark where other work disturbed every trial."""
    return written_seconds([results.measured[f"{prefix}{seed}"] for seed in seeds], digits)


def with_remark(text: str) -> str:
    """A table with the remark on the marks of its seconds, if there are any."""
    return f"{text}\n\n{remark_on(text)}".rstrip()
