"""Similarities that are not positive semidefinite: what becomes of the negative part, beside SVC.

UNISVM_DATA=folder python benchmarks/indefinite.py [--sets ...] [--systems ...] [--noise ...] [--seeds ...] [--report]

Trains on 600 rows of a pool (benchmarks/similarities.py), or on 60 % of it, and scores on the others; every seed draws
them anew. All have the whole similarity matrix, and C by the accuracy in four stratified folds of the training rows. A
C at which a fit is refused has the accuracy 0. SVC stops after 100,000 steps: with negative eigenvalues its problem is
not convex. Every run is saved in docs/indefinite.json.gz and not run again; --report writes the tables of
docs/indefinite.md from these runs. Seconds are those of the processor, search included.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.svm import SVC

from results import SUFFIX, load, save
from similarities import SETS, Similarities
from unisvm import UniSVMClassifier
from unisvm.parallel import blas_threads

DOCS = Path(__file__).resolve().parents[1] / "docs"
RUNS, PAGE = DOCS / f"indefinite{SUFFIX}", DOCS / "indefinite.md"
#: the tables stand below this line of the page
MEASURED = "## Measured\n"
NOISE, SEEDS = [0.0, 0.2], list(range(10))
TRAIN_ROWS, TRAIN_SHARE, N_FOLDS = 600, 0.6, 4
CS = [0.01, 0.1, 1, 10, 100, 1000]
SVC_STEPS = 100_000


def unisvm(loss: str, indefinite: str) -> Callable[[], Any]:
    """Maker of a classifier of the full matrix."""
    return lambda: UniSVMClassifier(loss, kernel="precomputed", rank=None, indefinite=indefinite, random_state=0)


#: a system by its name
SYSTEMS: dict[str, Callable[[], Any]] = {
    "SVC": lambda: SVC(kernel="precomputed", max_iter=SVC_STEPS),
    "clip, hinge": unisvm("hinge", "clip"),
    "flip, hinge": unisvm("hinge", "flip"),
    "clip, least squares": unisvm("least_squares", "clip"),
    "flip, least squares": unisvm("least_squares", "flip"),
    "krein, least squares": unisvm("least_squares", "krein"),
}


def split(y: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of training and test rows."""
    size = min(TRAIN_ROWS, int(TRAIN_SHARE * len(y)))
    train, test = train_test_split(np.arange(len(y)), train_size=size, stratify=y, random_state=seed)
    return train, test


def with_wrong_labels(y: np.ndarray, noise: float, seed: int) -> np.ndarray:
    """Labels of which this share is replaced by another class, each as often."""
    rng = np.random.RandomState(seed)
    classes, labels = np.unique(y, return_inverse=True)
    wrong = rng.permutation(len(y))[: round(noise * len(y))]
    labels[wrong] = (labels[wrong] + rng.randint(1, len(classes), size=len(wrong))) % len(classes)
    return classes[labels]


def measure(data: Similarities, system: str, noise: float, seed: int) -> dict[str, float]:
    """Accuracy on test rows, the C that was chosen, and seconds."""
    train, test = split(data.y, seed)
    y = with_wrong_labels(data.y[train], noise, seed)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(SYSTEMS[system](), {"C": CS}, cv=folds, error_score=0.0, refit=False)
    K = data.K[np.ix_(train, train)]
    started = process_time()
    with warnings.catch_warnings(), blas_threads(1):
        warnings.simplefilter("ignore")
        search.fit(K, y)
        model = SYSTEMS[system]().set_params(**search.best_params_).fit(K, y)
        seconds = process_time() - started
        accuracy = model.score(data.K[np.ix_(test, train)], data.y[test])
    refused = float(np.mean(search.cv_results_["mean_test_score"] == 0))
    return {"accuracy": accuracy, "C": search.best_params_["C"], "seconds": seconds, "refused": refused}


def negative_share(K: np.ndarray) -> float:
    """Share of the negative eigenvalues in Σ |eigenvalues|."""
    values = np.linalg.eigvalsh(K)
    return float(-values[values < 0].sum() / np.abs(values).sum())


def table(runs: dict[str, Any], sets: list[str], noise: float) -> list[str]:
    """Lines of the table of accuracies at this share of wrong labels."""
    lines = ["| set | negative part | " + " | ".join(SYSTEMS) + " |", "|---" * (len(SYSTEMS) + 2) + "|"]
    for name in sets:
        cells = []
        for system in SYSTEMS:
            found = [runs[key]["accuracy"] for seed in SEEDS if (key := run_key(name, system, noise, seed)) in runs]
            cells.append(f"{100 * np.mean(found):.1f} ± {100 * np.std(found):.1f}" if found else "")
        lines.append(f"| {name} | {100 * runs[name]['negative_share']:.0f} % | " + " | ".join(cells) + " |")
    return lines


def seconds_table(runs: dict[str, Any], sets: list[str]) -> list[str]:
    """Lines of the table of seconds, the mean over all runs."""
    lines = ["| set | " + " | ".join(SYSTEMS) + " |", "|---" * (len(SYSTEMS) + 1) + "|"]
    for name in sets:
        found = [
            [runs[key]["seconds"] for n, s in product(NOISE, SEEDS) if (key := run_key(name, system, n, s)) in runs]
            for system in SYSTEMS
        ]
        lines.append(f"| {name} | " + " | ".join(f"{np.mean(each):.1f}" if each else "" for each in found) + " |")
    return lines


def run_key(name: str, system: str, noise: float, seed: int) -> str:
    return f"{name} | {system} | {noise} | {seed}"


def write_report(runs: dict[str, Any]) -> None:
    """Replace the tables of the page."""
    sets = [name for name in SETS if name in runs]
    lines = ["", *_INTRODUCTION, "", "Training labels as they are:", "", *table(runs, sets, 0.0)]
    lines += ["", "With 20 % wrong training labels:", "", *table(runs, sets, 0.2)]
    lines += ["", "Seconds of the processor for a search of six C in four folds, and the refit:", ""]
    lines += seconds_table(runs, sets)
    text, _, _ = PAGE.read_text().partition(MEASURED)
    PAGE.write_text(text + MEASURED + "\n".join(lines) + "\n")


_INTRODUCTION = [
    "`python benchmarks/indefinite.py` trains on 600 rows (460 of diabetes) with the whole similarity matrix, and",
    "chooses C from 0.01, 0.1, … 1000 by four folds of the training rows. Accuracy in % on rows that had no part in",
    "it, mean and standard deviation of ten draws of the rows. The negative part is the share of negative eigenvalues",
    'in the sum of absolute ones. The strings have four classes and the series three, which "krein" fits each against',
    "the rest and the others in pairs.",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--noise", nargs="+", type=float, default=NOISE)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    runs = load(RUNS, {})
    for name in arguments.sets:
        grid = list(product(arguments.noise, arguments.seeds, arguments.systems))
        missing = [each for each in grid if run_key(name, each[2], each[0], each[1]) not in runs]
        if not missing:
            continue
        data = SETS[name]()
        runs[name] = {"negative_share": negative_share(data.K)}
        for noise, seed, system in missing:
            found = measure(data, system, noise, seed)
            runs[run_key(name, system, noise, seed)] = found
            save(RUNS, runs)
            print(f"{name}, {noise:.0%}, seed {seed}, {system}: {found}", flush=True)
    if arguments.report:
        write_report(runs)


if __name__ == "__main__":
    main()
