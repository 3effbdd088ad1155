"""The time that ``import unisvm`` takes, beside ``import sklearn.svm``: a fresh process for each, in turns.

Run: python benchmarks/import_time.py [--rounds 15]
Prints the medians and their ratio, which is to stay below 1.15. Byte code is kept in a folder for this run, so that no
process compiles the source.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

MODULES = ("sklearn.svm", "unisvm")


def seconds(module: str, environment: dict[str, str]) -> float:
    """Seconds that a process takes which imports the module and ends."""
    started = perf_counter()
    subprocess.run([sys.executable, "-c", f"import {module}"], check=True, env=environment)
    return perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    with TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = folder
        for module in MODULES:
            seconds(module, environment)
        found = [[seconds(module, environment) for module in MODULES] for _ in range(rounds)]
    theirs, ours = (median(times) for times in zip(*found, strict=True))
    print(f"sklearn.svm {theirs:.3f} s, unisvm {ours:.3f} s, ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
