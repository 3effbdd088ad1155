"""Speed-up by the compiled code: whole fits without it and with it, in alternation.

The task "grid" is a search of 10 C × 5 losses × 5 folds on ijcnn1, as in grid_cost.py.

Run: python benchmarks/compiled.py [--tasks NAME ...] [--loss NAME] [--rank N] [--gamma X] [--rounds N]. Needs
UNISVM_DATA.
"""

from __future__ import annotations

import argparse
import os
import warnings
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from grid_cost import search_of
from peers.systems import SYSTEMS
from peers.tasks import REGRESSION, TASKS
from unisvm import compiled, parallel

GRID = "grid"


class Part:
    """The compiled code, which can be switched off and on."""

    def __init__(self) -> None:
        if not compiled.is_available():
            raise SystemExit("The compiled code was not built here, or UNISVM_COMPILED=0 turns it off.")
        self._module = compiled._sweeps

    def use(self, wanted: bool) -> None:
        compiled._sweeps = self._module if wanted else None
        # whether a thread flushes subnormal numbers is fixed when it starts
        parallel._helpers.reset()


def seconds(function, *arguments) -> float:
    started = perf_counter()
    function(*arguments)
    return perf_counter() - started


def score(task, model, X, y) -> str:
    predicted = model.predict(X)
    if task.kind == REGRESSION:
        return f"RMSE {np.sqrt(np.mean((predicted - y) ** 2)):.4f}"
    return f"{100 * np.mean(predicted == y):.2f} %"


def compare(task, part: Part, rounds: int, chosen: dict) -> str:
    """A line of the table: seconds of fits without it and with it, and the speed-up of fits, sweeps and predict."""
    X, y, X_test, y_test = task.prepare()
    n_jobs = min(2, os.cpu_count() or 1)
    SYSTEMS["unisvm"].make(task, 1000, n_jobs=n_jobs, **chosen).fit(X[:1000], y[:1000])
    times = np.empty((2, 3, rounds))
    said = ["", ""]
    for k in range(rounds):
        for wanted in (0, 1):
            part.use(bool(wanted))
            model = SYSTEMS["unisvm"].make(task, len(y), n_jobs=n_jobs, **chosen)
            fit = seconds(model.fit, X, y)
            sweep = np.median(np.diff(model.history_["seconds"]) / np.diff(model.history_["n_sweeps"]))
            times[wanted, :, k] = fit, sweep, seconds(model.predict, X_test)
            said[wanted] = f"{score(task, model, X_test, y_test)} after {np.max(model.n_sweeps_)} sweeps"
    part.use(True)
    without, with_it = np.median(times, axis=2)
    ratios = "".join(f"{ratio:>8.2f}x" for ratio in without / with_it)
    return f"{task.name:<14}{without[0]:>8.2f}s{with_it[0]:>9.2f}s{ratios}   {', '.join(said)}"


def compare_grids(part: Part, rounds: int) -> str:
    """The same for a search, without single sweeps and predict."""
    X, y, _, _ = TASKS["ijcnn1"].prepare()
    times = np.empty((2, rounds))
    for k in range(rounds):
        for wanted in (0, 1):
            part.use(bool(wanted))
            times[wanted, k] = seconds(search_of().fit, X, y)
    part.use(True)
    without, with_it = np.median(times, axis=1)
    return f"{GRID:<14}{without:>8.2f}s{with_it:>9.2f}s{without / with_it:>8.2f}x"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks = ["a9a", "ijcnn1", "letter", "mnist", "covtype", "board-1M", GRID]
    parser.add_argument("--tasks", nargs="*", default=tasks, choices=[*TASKS, GRID])
    parser.add_argument("--loss")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--gamma", type=float)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    chosen = {name: value for name in ("loss", "rank", "gamma") if (value := getattr(options, name))}
    part = Part()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{'':<14}{'NumPy':>9}{'compiled':>10}{'a fit':>9}{'a sweep':>9}{'predict':>9}")
    for name in options.tasks:
        if name == GRID:
            print(compare_grids(part, options.rounds), flush=True)
        else:
            print(compare(TASKS[name], part, options.rounds, chosen), flush=True)


if __name__ == "__main__":
    main()
