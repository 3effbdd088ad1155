"""A fit with a checkpoint on a large checkerboard, killed at random moments and started again: the models are compared.

python -m scale.resume                     1,000,000 rows, rank 200, ten kills
python -m scale.resume --rows 5000000 --rank 300 --kills 3 --limit 2GB
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time, sleep

import numpy as np

from scale.disk import generate

STAGES = ("begun", "landmarks", "gram", "start", "solver", "result")


def fit(folder: Path, checkpoint: Path | None, options: argparse.Namespace) -> None:
    """Fit in this process, write the decisions, and print the figures."""
    from unisvm import UniSVMClassifier

    X, y = (np.load(folder / f"{name}_train.npy", mmap_mode="r" if options.limit else None) for name in "Xy")
    model = UniSVMClassifier(
        C=1 / (2e-7 * len(y)),
        gamma=16.0,
        rank=options.rank,
        rank_tol=0.0,
        tol=options.tol,
        random_state=0,
        memory_limit=options.limit,
        scratch_dir=folder,
        checkpoint=checkpoint,
    )
    started, busy = perf_counter(), process_time()
    model.fit(X, y)
    seconds, busy = perf_counter() - started, process_time() - busy
    np.save(folder / "decision.npy", model.decision_function(np.load(folder / "X_test.npy")))
    said = {"seconds": seconds, "processor_seconds": busy, "iterations": model.n_iter_}
    print(json.dumps(said | {"objective": float(model.objective_)}))


def start(folder: Path, checkpoint: Path | None, options: argparse.Namespace) -> subprocess.Popen:
    """Process of its own that fits."""
    command = [sys.executable, "-m", "scale.resume", "--fit", "--folder", str(folder), "--rank", str(options.rank)]
    command += ["--tol", str(options.tol)]
    command += ["--limit", options.limit] if options.limit else []
    command += ["--checkpoint", str(checkpoint)] if checkpoint else []
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def finish(folder: Path, checkpoint: Path | None, options: argparse.Namespace) -> tuple[dict, np.ndarray]:
    """Figures and decisions of a fit that runs to its end."""
    process = start(folder, checkpoint, options)
    said, _ = process.communicate()
    if process.returncode:
        raise SystemExit("the fit failed")
    return json.loads(said.splitlines()[-1]), np.load(folder / "decision.npy")


def kill(folder: Path, checkpoint: Path, options: argparse.Namespace, moment: float) -> str:
    """Last stage that a fit had finished when it was killed, so many seconds after it began."""
    process = start(folder, checkpoint, options)
    while not checkpoint.exists() and process.poll() is None:
        sleep(0.001)
    sleep(moment)
    process.kill()
    process.communicate()
    finished = [stage for stage in STAGES if (checkpoint / f"unisvm-{stage}.ckpt").exists()]
    return finished[-1] if finished else "nothing"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rank", type=int, default=200)
    parser.add_argument("--tol", type=float, default=1e-5)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--limit", help="memory_limit of the fit; X stays on disk then")
    parser.add_argument("--folder", type=Path, help="where the files go; a temporary one if not given")
    parser.add_argument("--fit", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--checkpoint", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        fit(options.folder, options.checkpoint, options)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        print(f"writing {options.rows:,} rows", flush=True)
        generate(folder, options.rows)
        plain, expected = finish(folder, None, options)
        print("without a checkpoint", json.dumps(plain), flush=True)
        kept, decision = finish(folder, folder / "whole", options)
        print("with a checkpoint   ", json.dumps(kept), flush=True)
        more, busier = (kept[which] / plain[which] - 1 for which in ("seconds", "processor_seconds"))
        print(f"  {more:+.1%} of the time, {busier:+.1%} of the processors' time", flush=True)
        n_equal = int(np.array_equal(decision, expected))
        moments = np.random.RandomState(options.seed).uniform(0, plain["seconds"], options.kills)
        for i, moment in enumerate(moments):
            checkpoint = folder / f"checkpoint-{i}"
            stage = kill(folder, checkpoint, options, moment)
            result, decision = finish(folder, checkpoint, options)
            equal = np.array_equal(decision, expected)
            n_equal += equal
            largest = np.abs(decision - expected).max()
            print(
                f"{i + 1:3d}: killed after {moment:6.2f} s, past {stage:<9}; the rest took {result['seconds']:6.2f} s; "
                f"{'equal' if equal else f'differs by {largest:.1e}'}",
                flush=True,
            )
        print(f"{n_equal} of {len(moments) + 1} models are equal to the last bit")


if __name__ == "__main__":
    main()
