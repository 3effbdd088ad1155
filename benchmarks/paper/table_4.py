"""Table IV: ten losses on Covtype and on Checkerboard3M, a grid of four million points, with time and peak memory.

Run: PYTHONPATH=benchmarks python -m paper.table_4 [--trials 5] [--sets covtype checkerboard3m]
Each fit runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from paper.common import CLASSIFICATION_LOSSES, PUBLISHED, SOLVERS, Results, markdown, options, write_section
from unisvm import UniSVMClassifier, datasets

ITEM = "table_4"
SETS = ("covtype", "checkerboard3m")


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
    model = UniSVMClassifier(
        CLASSIFICATION_LOSSES[number],
        C=1 / (2 * data.penalty * len(data.y_train)),
        gamma=data.gamma,
        rank=data.rank,
        rank_tol=0.0,
        fit_intercept=False,
        random_state=seed,
        **SOLVERS[solver],
    )
    started = perf_counter()
    model.fit(data.X_train, data.y_train)
    seconds = perf_counter() - started
    accuracy = 100 * model.score(data.X_test, data.y_test)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    measured = {"accuracy": accuracy, "seconds": seconds, "gigabytes": peak, "iterations": int(model.n_iter_)}
    print(json.dumps(measured | {"rank": int(model.rank_), "stationarity": float(model.stationarity_)}))


def jobs(sets: list[str], solver: str, seeds: range) -> Iterator[tuple[str, Callable]]:
    for seed in seeds:
        for name in sets:
            for number in range(len(CLASSIFICATION_LOSSES)):
                yield f"{name} {solver} {number + 1} {seed}", partial(measure, name, number, seed, solver)


def table(results: Results, name: str, solver: str) -> str:
    header = ["", "published", "ours", "difference", "published seconds", "ours", "times faster", "peak memory"]
    rows = []
    for number, loss in enumerate(CLASSIFICATION_LOSSES, start=1):
        published = PUBLISHED[ITEM][name]["accuracy"][number - 1]
        seconds_then = PUBLISHED[ITEM][name]["seconds"][number - 1]
        prefix = f"{name} {solver} {number} "
        found = [value for key, value in results.measured.items() if key.startswith(prefix)]
        accuracy = np.array([value["accuracy"] for value in found])
        seconds = np.mean([value["seconds"] for value in found])
        peak = max(value["gigabytes"] for value in found)
        row = [f"{number}. {loss}", f"{published:.2f}", f"{accuracy.mean():.2f} ({accuracy.std():.2f})"]
        row += [f"{accuracy.mean() - published:+.2f}", f"{seconds_then:.1f}", f"{seconds:.1f}"]
        rows.append([*row, f"{seconds_then / seconds:.1f}", f"{peak:.1f} GB"])
    return markdown(header, rows)


def main() -> None:
    if "--worker" in sys.argv:
        worker(*json.loads(sys.argv[-1]))
        return
    chosen = options(__doc__.splitlines()[0], trials=5, sets={"nargs": "*", "choices": SETS, "default": list(SETS)})
    results = Results(ITEM, chosen.folder, chosen.fresh)
    results.run(jobs(chosen.sets, chosen.solver, range(chosen.seed, chosen.seed + chosen.trials)))
    text = [f"## Table IV, `--solver {chosen.solver}`"]
    for name in chosen.sets:
        if not any(key.startswith(f"{name} {chosen.solver} ") for key in results.measured):
            continue
        remark = datasets.load_paper(name, random_state=chosen.seed).remark
        text.append(f"### {name}\n\n{remark}\n\n{table(results, name, chosen.solver)}".replace("\n\n\n\n", "\n\n"))
    write_section(f"{ITEM}_{chosen.solver}", chosen.folder, "\n\n".join(text))


if __name__ == "__main__":
    main()
