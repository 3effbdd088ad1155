"""A checkerboard fitted by two processes of a Dask cluster, compared with two threads of one process.

python -m scale.cluster                    3,000,000 rows, rank 300
python -m scale.cluster --rows 300000 --rank 100 --chunk 20000 --dtype float32
python -m scale.cluster --write docs/scaling.md
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter

import numpy as np

from scale.disk import generate
from scale.page import write

WORKERS = 2


def load(folder: Path, name: str, dtype: str, low: int, high: int) -> np.ndarray:
    """Rows of a file, read on the worker that needs them."""
    return np.load(folder / f"{name}_train.npy", mmap_mode="r")[low:high].astype(dtype)


def lazily(folder: Path, name: str, dtype: str, chunk: int):
    """A Dask array of a file."""
    import dask.array as da
    from dask import delayed

    file = np.load(folder / f"{name}_train.npy", mmap_mode="r")
    bounds = [(low, min(low + chunk, len(file))) for low in range(0, len(file), chunk)]
    parts = [
        da.from_delayed(delayed(load)(folder, name, dtype, low, high), (high - low, *file.shape[1:]), dtype=dtype)
        for low, high in bounds
    ]
    return da.concatenate(parts)


def fit(folder: Path, where: str, rank: int, dtype: str, chunk: int) -> None:
    """Fit in this process or on a cluster that it starts, and print the figures."""
    from unisvm import UniSVMClassifier

    n_rows = len(np.load(folder / "y_train.npy", mmap_mode="r"))
    model = UniSVMClassifier(C=1 / (2e-7 * n_rows), gamma=16.0, rank=rank, rank_tol=0.0, random_state=0, n_jobs=WORKERS)
    counts: Counter[str] = Counter()
    if where == "process":
        X, y = (np.load(folder / f"{name}_train.npy").astype(dtype) for name in "Xy")
        started = perf_counter()
        model.fit(X, y)
        seconds = perf_counter() - started
    else:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
            Client(cluster),
        ):
            cluster.scheduler.add_plugin(counter_of_tasks(counts))
            started = perf_counter()
            model.fit(lazily(folder, "X", dtype, chunk), lazily(folder, "y", dtype, chunk))
            seconds = perf_counter() - started
    test = np.load(folder / "X_test.npy").astype(dtype)
    np.save(folder / f"decision_{where}.npy", model.decision_function(test))
    n_blocks = -(-n_rows // chunk)
    sweeps = np.diff(model.history_["seconds"]) / np.diff(model.history_["n_sweeps"])
    print(
        json.dumps(
            {
                "seconds": seconds,
                "sweeps": int(model.n_sweeps_),
                "seconds_a_sweep": float(np.median(sweeps)),
                "objective": float(model.objective_),
                "accuracy": 100 * model.score(test, np.load(folder / "y_test.npy")),
                "blocks": n_blocks,
                "tasks": dict(counts),
            }
        )
    )


def counter_of_tasks(counts: Counter[str]):
    """Scheduler plugin that counts finished tasks by their kind."""
    from dask.utils import key_split
    from distributed import SchedulerPlugin

    class Count(SchedulerPlugin):
        def transition(self, key, start, finish, *args, **kwargs):
            if start == "processing" and finish == "memory":
                counts[key_split(key)] += 1

    return Count()


def run(arguments: list[str]) -> dict:
    """Figures that this script prints when it is run in a process of its own."""
    command = [sys.executable, "-m", "scale.cluster", *arguments]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(said.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--rank", type=int, default=300)
    parser.add_argument("--chunk", type=int, default=375_000, help="rows per block")
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the figures into this page")
    parser.add_argument("--fit", choices=["process", "cluster"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        fit(options.folder, options.fit, options.rank, options.dtype, options.chunk)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder, options.rows)
        results = {}
        for where in ("process", "cluster"):
            arguments = ["--fit", where, "--folder", str(folder), "--dtype", options.dtype]
            results[where] = run([*arguments, "--rank", str(options.rank), "--chunk", str(options.chunk)])
            print(where, json.dumps(results[where]), flush=True)
        decisions = [np.load(folder / f"decision_{where}.npy") for where in ("process", "cluster")]
    text = report(options, results["process"], results["cluster"], *decisions)
    print(text)
    if options.write:
        write(options.write, "cluster", text)


def report(options, process: dict, cluster: dict, one: np.ndarray, other: np.ndarray) -> str:
    """The figures as text."""
    unequal = (one > 0) != (other > 0)
    sweeps = cluster["tasks"]["reduce"] / cluster["blocks"]
    tree = cluster["tasks"].get("add", 0) / sweeps
    rows = [
        ("one process, two threads", process),
        (f"{WORKERS} processes of one thread, {cluster['blocks']} blocks", cluster),
    ]
    lines = [
        f"{options.rows:,} rows, rank {options.rank}, {options.dtype}:",
        "",
        "| | seconds | sweeps | seconds a sweep | accuracy |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {result['seconds']:.1f} | {result['sweeps']} | {result['seconds_a_sweep']:.2f} | "
            f"{result['accuracy']:.2f} % |"
            for name, result in rows
        ),
        "",
        f"The cluster takes {cluster['seconds'] / process['seconds']:.2f} × the time of one process (the aim is at "
        f"most 1.5), and {cluster['seconds_a_sweep'] / process['seconds_a_sweep']:.2f} × the time for each sweep. Sums "
        "are rounded in another order, which in single precision may end in another solution within the tolerance. The "
        f"objectives differ by {abs(cluster['objective'] / process['objective'] - 1):.0e}; {unequal.sum()} of "
        f"{len(unequal):,} predictions differ, the furthest at |f| = {np.abs(one[unequal]).max(initial=0):.0e}. "
        f"A sweep has {cluster['blocks']} tasks for the blocks, {tree:.1f} for the tree of sums, and 1 that sends the "
        "coefficients.",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
