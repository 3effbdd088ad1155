"""Cost of what the defaults choose: C by the data beside a given C, and a search beside GridSearchCV over SVC.

UNISVM_DATA=folder python benchmarks/default_cost.py [--parts fit search] [--rounds N]

The fits and searches of each part take turns; medians are shown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from defaults import TWO_CLASSES, split
from unisvm import UniSVMClassifier, UniSVMClassifierCV
from versions import generate

SMALL = 2500


def medians(functions: list[Callable[[], Any]], rounds: int) -> tuple[np.ndarray, list[Any]]:
    """Median seconds of each function, all in turn, and their last results."""
    times = np.empty((rounds, len(functions)))
    results = [function() for function in functions]
    for i in range(rounds):
        for j, function in enumerate(functions):
            started = perf_counter()
            results[j] = function()
            times[i, j] = perf_counter() - started
    return np.median(times, axis=0), results


def fits(rounds: int) -> None:
    """C="auto" beside the same C as a number."""
    print("| rows | C by the data, s | the same C given, s | ratio |")
    print("|---|---|---|---|")
    cases = [("a9a", None), ("ijcnn1", None), *((name, SMALL) for name in TWO_CLASSES), ("mnist", SMALL)]
    for name, n_rows in cases:
        X, y, _, _ = split(name)
        X, y = X[:n_rows].astype(np.float32), y[:n_rows]
        chosen = UniSVMClassifier(random_state=0).fit(X, y).C_
        (auto, given), _ = medians(
            [
                lambda X=X, y=y: UniSVMClassifier(random_state=0).fit(X, y),
                lambda X=X, y=y, C=chosen: UniSVMClassifier(C=C, random_state=0).fit(X, y),
            ],
            rounds,
        )
        print(f"| {name}, {len(y):,} | {auto:.3f} | {given:.3f} | {auto / given:.2f} |", flush=True)


def searches(rounds: int) -> None:
    """UniSVMClassifierCV() beside GridSearchCV over SVC."""
    print("| classes | UniSVMClassifierCV(), s | GridSearchCV(SVC), s | ratio | scores |")
    print("|---|---|---|---|---|")
    for n_classes in (2, 10):
        X, y = generate(n_classes)
        scale = float(1 / (X.shape[1] * X.var()))
        grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [factor * scale for factor in (0.25, 1, 4, 16)]}
        (ours, theirs), (search, peer) = medians(
            [
                lambda X=X, y=y: UniSVMClassifierCV(random_state=0).fit(X, y),
                lambda X=X, y=y, grid=grid: GridSearchCV(SVC(), grid, cv=5, n_jobs=2).fit(X, y),
            ],
            rounds,
        )
        scores = f"{search.best_score_:.4f}, {peer.best_score_:.4f}"
        print(f"| {n_classes} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} | {scores} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="*", default=["fit", "search"], choices=["fit", "search"])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if "fit" in arguments.parts:
        fits(arguments.rounds)
    if "search" in arguments.parts:
        searches(arguments.rounds)


if __name__ == "__main__":
    main()
