"""What a fit tells while it runs, and after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np

from unisvm.solvers import History


class Report:
    """Prints stages and the certificate for verbose ≥ 1, and each iteration for verbose ≥ 2."""

    def __init__(self, verbose: int):
        self.verbose = int(verbose)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = perf_counter()
        yield
        self.say(f"{name:<10} {perf_counter() - started:8.3f} s")

    def iteration(self, history: History) -> None:
        if self.verbose < 2:
            return
        objective, stationarity = history.objective[-1], history.stationarity[-1]
        self.say(
            f"  {len(history.objective):4d}  objective {np.mean(objective):.8g}  "
            f"stationarity {np.max(stationarity):.2e}  {history.seconds[-1]:.2f} s"
        )

    def certificate(self, fitted: dict[str, Any]) -> None:
        self.say(
            f"rank {fitted['rank_']}, trace left out {fitted['trace_error_']:.2e}; "
            f"{fitted['n_iter_']} iterations, objective {np.mean(fitted['objective_']):.8g}, "
            f"stationarity {np.max(fitted['stationarity_']):.2e}"
        )

    def say(self, line: str) -> None:
        """Print a line for verbose ≥ 1."""
        if self.verbose >= 1:
            print(f"[unisvm] {line}", flush=True)
