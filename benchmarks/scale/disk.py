"""A checkerboard on disk, fitted within a memory limit, compared with the same fit in memory.

python -m scale.disk                       3,000,000 rows, rank 300, 1.5 GB
python -m scale.disk --rows 20000000 --rank 100 --gamma 16 --limit 4GB --only disk

The limit must be below the size of the features; otherwise they are not on disk, and the run stops. X is a memory map,
and predictions for it are written to another one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

BLOCK = 1_000_000


def generate(folder: Path, n_rows: int) -> None:
    """Write X and y to files, block by block; the test rows are drawn with another seed."""
    for name, n, seed in (("train", n_rows, 0), ("test", 100_000, 1)):
        X = np.lib.format.open_memmap(folder / f"X_{name}.npy", "w+", np.float32, (n, 2))
        y = np.lib.format.open_memmap(folder / f"y_{name}.npy", "w+", np.int8, (n,))
        rng = np.random.RandomState(seed)
        for low in range(0, n, BLOCK):
            part = slice(low, min(low + BLOCK, n))
            X[part] = rng.uniform(size=(part.stop - low, 2))
            y[part] = np.where(np.floor(X[part] * 4).sum(axis=1) % 2 == 0, 1, -1)


def fit(folder: Path, rank: int, gamma: float, limit: str | None) -> None:
    """Fit in this process, and print the figures."""
    from unisvm import UniSVMClassifier

    mode = None if limit is None else "r"
    X, y = (np.load(folder / f"{name}_train.npy", mmap_mode=mode) for name in "Xy")
    model = UniSVMClassifier(
        C=1 / (2e-7 * len(y)),
        gamma=gamma,
        rank=rank,
        rank_tol=0.0,
        random_state=0,
        memory_limit=limit,
        scratch_dir=folder,
        verbose=1,
    )
    started = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - started
    labels = np.lib.format.open_memmap(folder / "predicted.npy", "w+", y.dtype, y.shape)
    started = perf_counter()
    model.predict(X, out=labels)
    seconds_to_predict = perf_counter() - started
    test = np.load(folder / "X_test.npy")
    sweeps = np.diff(model.history_["seconds"]) / np.diff(model.history_["n_sweeps"])
    np.save(folder / f"decision_{'disk' if limit else 'memory'}.npy", model.decision_function(test))
    print(
        json.dumps(
            {
                "seconds": seconds,
                "seconds_to_predict": seconds_to_predict,
                "sweeps": int(model.n_sweeps_),
                "seconds_a_sweep": float(np.median(sweeps)),
                "objective": float(model.objective_),
                "stationarity": float(model.stationarity_),
                "accuracy": 100 * model.score(test, np.load(folder / "y_test.npy")),
            }
        )
    )


def watched(arguments: list[str]) -> dict:
    """Figures that this script prints in a process of its own, with its peak memory and the place of the features."""
    command = [sys.executable, "-m", "scale.disk", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    size, where = re.search(r"^\[unisvm\]\s+([\d.]+ \w+) (in memory|on disk)$", said, flags=re.M).groups()
    return json.loads(said.splitlines()[-1]) | {"peak_GB": usage.ru_maxrss / 1e6, "features": f"{size} {where}"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--rank", type=int, default=300)
    # with a smaller one the kernel has a lower rank than 300 in single precision
    parser.add_argument("--gamma", type=float, default=64.0)
    parser.add_argument("--limit", default="1.5GB", help="memory_limit on disk")
    parser.add_argument("--only", choices=["disk", "memory"])
    parser.add_argument("--folder", type=Path, help="where the files go; a temporary one if not given")
    parser.add_argument("--fit", choices=["disk", "memory"], help=argparse.SUPPRESS)
    parser.add_argument("--generate", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.generate:
        generate(options.folder, options.rows)
        return
    if options.fit:
        fit(options.folder, options.rank, options.gamma, options.limit if options.fit == "disk" else None)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        print(f"writing {options.rows:,} rows", flush=True)
        # in a process of its own: the peak of a process counts that of the one that started it
        command = [sys.executable, "-m", "scale.disk", "--generate", "--folder", name, "--rows", str(options.rows)]
        subprocess.run(command, check=True)
        results = {}
        for where in [options.only] if options.only else ["memory", "disk"]:
            shared = ["--rank", str(options.rank), "--gamma", str(options.gamma), "--limit", options.limit]
            results[where] = watched(["--fit", where, "--folder", name, *shared])
            left = sorted(path.name for path in folder.iterdir() if path.suffix != ".npy")
            print(where, json.dumps(results[where]), "left behind:", left or "nothing", flush=True)
            print(f"  features: {results[where]['features']}" + (f", limit {options.limit}" if where == "disk" else ""))
            if where == "disk" and not results[where]["features"].endswith("on disk"):
                raise SystemExit("The features fit into the limit: give a lower --limit.")
            sweep = results[where]["seconds_a_sweep"]
            print(f"  {sweep:.2f} s a sweep, {options.rows / sweep / 1e6:.1f} million rows a second", flush=True)
        if len(results) == 2:
            disk, memory = results["disk"], results["memory"]
            decisions = [np.load(folder / f"decision_{where}.npy") for where in ("disk", "memory")]
            unequal = (decisions[0] > 0) != (decisions[1] > 0)
            furthest = np.abs(decisions[1][unequal]).max(initial=0)
            print(f"disk takes {disk['seconds'] / memory['seconds']:.2f} x the time in memory (at most 3)")
            print(f"the objectives differ by {abs(disk['objective'] / memory['objective'] - 1):.1e}")
            print(f"{unequal.sum()} of {len(unequal)} predictions differ, the furthest at |f| = {furthest:.1e}")


if __name__ == "__main__":
    main()
