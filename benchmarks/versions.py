"""This version of the library beside another one: time, accuracy and decisions of the same fits.

OTHER is a folder with another version, such as a git worktree, whose compiled part was built in place. Each version is
run in a process of its own, warmed up by one fit; then they take turns, and medians are shown. The tasks are fits of
the peers' benchmark, the grid of 250 fits of grid_cost.py, and the default searches of default_cost.py.

UNISVM_DATA=folder python benchmarks/versions.py OTHER [--tasks NAME ...] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.datasets import make_classification

THIS = Path(__file__).resolve().parents[1]
GRID = "grid of 250 fits"
SEARCHES = {"search, 2 classes": 2, "search, 10 classes": 10}
TASKS = ("a9a", "ijcnn1", "covtype-100k", GRID, *SEARCHES)
# test rows whose decisions are compared
N_COMPARED = 2000


def serve(name: str) -> None:
    """Fit once for each line of the standard input, and print the seconds; then accuracy and decisions."""
    from peers import systems, tasks
    from unisvm import UniSVMClassifierCV, compiled

    if name in SEARCHES:
        X, y = X_test, y_test = generate(SEARCHES[name])
        model = UniSVMClassifierCV(random_state=0)
    else:
        from grid_cost import search_of

        task = tasks.TASKS["ijcnn1" if name == GRID else name]
        X, y, X_test, y_test = task.prepare()
        model = search_of() if name == GRID else systems.SYSTEMS["unisvm"].make(task, len(y), n_jobs=2)
    model.fit(X, y)
    print(json.dumps(compiled.is_available()), flush=True)
    for _ in sys.stdin:
        started = perf_counter()
        model.fit(X, y)
        print(json.dumps(perf_counter() - started), flush=True)
    accuracy = 100 * float(np.mean(model.predict(X_test) == y_test))
    decisions = model.decision_function(X_test[:N_COMPARED]).astype(float).ravel().tolist()
    print(json.dumps({"accuracy": accuracy, "decisions": decisions}))


def generate(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of default_cost.py's searches."""
    return make_classification(3000, 20, n_informative=8, n_classes=n_classes, flip_y=0.05, random_state=0)


class Version:
    """A process that fits with the library of one tree."""

    def __init__(self, tree: Path, name: str):
        path = os.pathsep.join(map(str, (tree / "src", tree / "benchmarks")))
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(Path(__file__).resolve()), "--serve", name],
            env=os.environ | {"PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if not self._read():
            raise SystemExit(f"The compiled part was not built in {tree}.")

    def _read(self):
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("A version failed; its error is above.")
        return json.loads(line)

    def seconds(self) -> float:
        """Seconds of one fit."""
        self._process.stdin.write("fit\n")
        self._process.stdin.flush()
        return self._read()

    def end(self) -> dict:
        """Accuracy on the test rows, and decisions on some of them."""
        self._process.stdin.close()
        return self._read()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", nargs="?", type=Path)
    parser.add_argument("--tasks", nargs="*", default=TASKS, choices=TASKS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", choices=TASKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    if options.other is None:
        parser.error("give the folder of another version")
    print("| task | other, s | this, s | ratio | other, accuracy | this, accuracy | largest difference of decisions |")
    print("|---|---|---|---|---|---|---|")
    for name in options.tasks:
        versions = [Version(tree, name) for tree in (options.other, THIS)]
        other, this = np.median([[version.seconds() for version in versions] for _ in range(options.rounds)], axis=0)
        first, second = (version.end() for version in versions)
        difference = np.abs(np.subtract(first["decisions"], second["decisions"])).max()
        print(
            f"| {name} | {other:.3f} | {this:.3f} | {this / other:.2f} | {first['accuracy']:.2f} | "
            f"{second['accuracy']:.2f} | {difference:.1e} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
