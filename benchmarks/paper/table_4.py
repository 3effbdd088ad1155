"""Table IV: ten losses on Covtype and on Checkerboard3M, a grid of four million points, with time and peak memory.

Run: PYTHONPATH=benchmarks python -m paper.table_4 [--solver dca] [--trials 3] [--sets covtype checkerboard3m]
In double precision, with the paper's ranks: 1,000 and 300. Algorithm 1 is slow on so many rows and is run with 300
landmarks, with some of the losses. Each fit runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from paper import findings_tables
from paper.common import CLASSIFICATION_LOSSES, PUBLISHED, SOLVERS, Results, markdown, options, write_section
from paper.figures import SOLVER_NAMES
from paper.quiet import quiet_seconds, remark_on, written_seconds
from paper.tables import mean_and_deviation, span
from unisvm import UniSVMClassifier, datasets

ITEM = "table_4"
SETS = ("covtype", "checkerboard3m")
#: most landmarks of Algorithm 1, and the losses that it is run with: least squares, the squared hinge, the truncated
#: one, and (2, 2, 4)
RANK_OF_DCA = 300
LOSSES_OF_DCA = (1, 3, 4, 9)
#: of Algorithm 1, whose rule asks for more of them the more rows there are
MOST_ITERATIONS = 1000


def measure(name: str, number: int, seed: int, solver: str) -> dict[str, float]:
    """Measurement of a fit in a process of its own."""
    command = [sys.executable, "-m", "paper.table_4", "--worker", json.dumps([name, number, seed, solver])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


def worker(name: str, number: int, seed: int, solver: str) -> None:
    import resource
    from time import perf_counter

    data = datasets.load_paper(name, random_state=seed)
    X_train, y_train = data.X_train.astype(np.float64), data.y_train
    X_test, y_test = data.X_test.astype(np.float64), data.y_test
    rank = data.rank if solver == "lbfgs" else min(data.rank, RANK_OF_DCA)
    settings = dict(SOLVERS[solver]) | ({} if solver == "lbfgs" else {"max_iter": MOST_ITERATIONS})
    model = UniSVMClassifier(
        CLASSIFICATION_LOSSES[number - 1],
        C=1 / (2 * data.penalty * len(y_train)),
        gamma=data.gamma,
        rank=rank,
        rank_tol=0.0,
        fit_intercept=False,
        random_state=seed,
        **settings,
    )
    del data
    started = perf_counter()
    model.fit(X_train, y_train)
    seconds = perf_counter() - started
    accuracy = 100 * model.score(X_test, y_test)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    measured = {"accuracy": accuracy, "seconds": seconds, "gigabytes": peak, "iterations": int(model.n_iter_)}
    print(json.dumps(measured | {"rank": int(model.rank_), "stationarity": float(model.stationarity_)}))


def numbers_of(system: str) -> tuple[int, ...]:
    """The losses that a system is run with."""
    return LOSSES_OF_DCA if system == "dca" else tuple(range(1, len(CLASSIFICATION_LOSSES) + 1))


def jobs(sets: list[str], solver: str, seeds: range) -> Iterator[tuple[str, Callable]]:
    for seed in seeds:
        for name in sets:
            for number in numbers_of(solver):
                yield f"{name} {solver} {number} {seed}", partial(measure, name, number, seed, solver)


def row(results: Results, name: str, system: str, number: int) -> list[str]:
    """A row of a table: one system, one loss, one set."""
    published = PUBLISHED[ITEM][name]["accuracy"][number - 1]
    seconds = PUBLISHED[ITEM][name]["seconds"][number - 1]
    cells = [f"{number}. {CLASSIFICATION_LOSSES[number - 1]}, {SOLVER_NAMES[system]}", f"{published:.2f}"]
    found = results.of_trials(f"{name} {system} {number} ")
    if not found:
        return [*cells, "", "", "", "", "", f"{seconds:.1f}", "", "", ""]
    accuracy = np.array([each["accuracy"] for each in found])
    cells += [mean_and_deviation(accuracy, 2), f"{accuracy.mean() - published:+.2f}", str(len(found))]
    cells += [span([each[what] for each in found]) for what in ("rank", "iterations")]
    cells += [f"{seconds:.1f}", written_seconds(found, 1), f"{seconds / quiet_seconds(found)[0]:.1f}"]
    return [*cells, f"{max(each['gigabytes'] for each in found):.1f} GB"]


HEADER = ["", "published", "ours", "difference", "trials", "rank", "iterations"]
HEADER += ["seconds, published", "ours", "times faster", "peak memory"]


def table(results: Results, name: str) -> str:
    """One set: each loss by each solver."""
    rows = [
        row(results, name, system, number)
        for number in range(1, len(CLASSIFICATION_LOSSES) + 1)
        for system in ("lbfgs", "dca")
        if number in numbers_of(system)
    ]
    return markdown(HEADER, rows)


def section(results: Results) -> str:
    """The text of the table."""
    text = [
        "## Table IV: ten losses on two very large sets",
        "Test accuracy in per cent, means (standard deviations) over the trials, each a random split. Seconds are "
        f"medians, with {results.threads} threads. Double precision. L-BFGS, the library's default, has randomly "
        "pivoted landmarks, as many as the paper's: 1,000 for Covtype, 300 for Checkerboard3M. Algorithm 1, with "
        f"greedy pivots, has {RANK_OF_DCA} on both, fewer than the paper's on Covtype, and stops by the rule of the "
        f"authors' code or after {MOST_ITERATIONS:,} iterations.",
    ]
    for name in SETS:
        remark = datasets.load_paper(name).remark
        text += [f"### {name}", remark, table(results, name)]
    text.append(remark_on("\n".join(text)))
    return "\n\n".join(part for part in [*text, findings_tables.large(results, SETS)] if part)


def main() -> None:
    if "--worker" in sys.argv:
        worker(*json.loads(sys.argv[-1]))
        return
    sets = {"nargs": "*", "choices": SETS, "default": list(SETS)}
    chosen = options(__doc__.splitlines()[0], trials=3, sets=sets)
    results = Results.of(ITEM, chosen)
    trials = chosen.trials if chosen.solver == "lbfgs" else 1
    results.run(jobs(chosen.sets, chosen.solver, range(chosen.seed, chosen.seed + trials)))
    write_section(ITEM, chosen.folder, section(results))


if __name__ == "__main__":
    main()
