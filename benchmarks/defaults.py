"""Accuracy of classifiers with their defaults, against the share of wrong training labels.

UNISVM_DATA=folder python benchmarks/defaults.py [--sets ...] [--systems ...] [--rows ...] [--noise ...] [--seeds ...]
                                                 [--report]

Columns are scaled to mean 0 and variance 1; test labels are right. Every run is saved in docs/defaults.json.gz and not
run again; --report writes docs/defaults.md and docs/defaults.png from these runs. "SVC, searched" is GridSearchCV over
eight values of C from 0.03 to 100 and three of gamma; the other systems have their defaults. LightGBM is needed for its
own rows.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import Any

import matplotlib
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from results import SUFFIX, load, save
from unisvm import UniSVMClassifier, UniSVMClassifierCV, datasets

DOCS = Path(__file__).resolve().parents[1] / "docs"
RUNS = DOCS / f"defaults{SUFFIX}"
TWO_CLASSES = ["diabetes", "phoneme", "spambase", "a9a", "w8a", "ijcnn1"]
MANY_CLASSES = ["covtype", "letter", "mnist"]
SETS = [*TWO_CLASSES, *MANY_CLASSES]
ROWS, NOISE, SEEDS = [2500, 10_000], [0.0, 0.2, 0.4], list(range(5))
#: a set without test rows of its own gives away this share of its rows, always the same ones, and not more than so many
TEST_SHARE, MAX_TEST_ROWS = 0.25, 10_000
SPLIT_SEED = 12345
SVC_CS, SVC_GAMMAS = [0.03, 0.1, 0.3, 1, 3, 10, 30, 100], [0.25, 1, 4]


def lightgbm(seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, verbose=-1, n_jobs=2)


def searched_svc(X: np.ndarray) -> GridSearchCV:
    scale = float(1 / (X.shape[1] * X.var()))
    grid = {"C": SVC_CS, "gamma": [factor * scale for factor in SVC_GAMMAS]}
    return GridSearchCV(SVC(cache_size=1000), grid, cv=5, n_jobs=2)


#: a system by its name, for training rows and a seed
SYSTEMS: dict[str, Callable[[np.ndarray, int], Any]] = {
    "UniSVMClassifier()": lambda X, seed: UniSVMClassifier(random_state=seed),
    "UniSVMClassifierCV()": lambda X, seed: UniSVMClassifierCV(random_state=seed),
    "SVC()": lambda X, seed: SVC(),
    "LGBMClassifier()": lambda X, seed: lightgbm(seed),
    "HistGradientBoostingClassifier()": lambda X, seed: HistGradientBoostingClassifier(random_state=seed),
    "SVC, searched": lambda X, seed: searched_svc(X),
}


def split(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test rows of a set with their labels."""
    data = datasets.load(name)
    if "X_train" in data:
        return data["X_train"], data["y_train"], data["X_test"], data["y_test"]
    X, y = data["X"], data["y"]
    order = np.random.RandomState(SPLIT_SEED).permutation(len(y))
    n_test = min(int(TEST_SHARE * len(y)), MAX_TEST_ROWS)
    test, train = order[:n_test], order[n_test:]
    return X[train], y[train], X[test], y[test]


def measure(name: str, system: str, n_rows: int, noise: float, seed: int) -> dict[str, float]:
    """Accuracy in % on clean test rows, and seconds of the fit, for the log."""
    X, y, X_test, y_test = split(name)
    chosen = np.random.RandomState(seed).permutation(len(y))[:n_rows]
    scaler = StandardScaler().fit(X[chosen].astype(np.float32))
    X, X_test = (scaler.transform(rows.astype(np.float32)) for rows in (X[chosen], X_test))
    labels = y[chosen].astype(int)
    if noise:
        labels, _ = datasets.flip_labels(labels, noise, random_state=seed)
    model = SYSTEMS[system](X, seed)
    started = perf_counter()
    model.fit(X, labels)
    seconds = perf_counter() - started
    return {"accuracy": 100 * float(np.mean(model.predict(X_test) == y_test)), "seconds": seconds}


def key(name: str, system: str, n_rows: int, noise: float, seed: int) -> str:
    return f"{name}|{system}|{n_rows}|{noise:g}|{seed}"


def run(cells: Iterable[tuple[str, str, int, float, int]]) -> None:
    """Measure the cells that were not measured before."""
    for cell in cells:
        done = load(RUNS, {})
        if key(*cell) in done:
            continue
        result = measure(*cell)
        done = load(RUNS, {})
        done[key(*cell)] = result
        save(RUNS, done)
        print(*cell, f"{result['accuracy']:.2f} %", f"{result['seconds']:.2f} s", flush=True)


# ------------------------------------------------------------------ the page


def accuracies(runs: dict[str, Any], names: list[str], system: str, n_rows: int, noise: float) -> np.ndarray | None:
    """Accuracies by set and seed; None if one is missing."""
    cells = [[key(name, system, n_rows, noise, seed) for seed in SEEDS] for name in names]
    if not all(cell in runs for row in cells for cell in row):
        return None
    return np.array([[runs[cell]["accuracy"] for cell in row] for row in cells])


def table(runs: dict[str, Any], names: list[str], n_rows: int) -> str:
    """Mean accuracies over the sets, with the standard deviation of that mean over the seeds."""
    lines = ["| | " + " | ".join(f"{100 * noise:.0f} %" for noise in NOISE) + " |", "|---" * 4 + "|"]
    for system in SYSTEMS:
        found = [accuracies(runs, names, system, n_rows, noise) for noise in NOISE]
        if all(values is None for values in found):
            continue
        entries = [
            "" if values is None else f"{values.mean():.2f} ± {values.mean(axis=0).std(ddof=1):.2f}" for values in found
        ]
        lines.append(f"| `{system}` | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def report() -> None:
    """Write the page and the picture."""
    runs = load(RUNS, {})
    parts = [
        "# Classifiers with their defaults, and wrong labels",
        "Mean accuracy in % on clean test rows, over the sets and five seeds, with the standard deviation of this mean "
        "over the seeds, for shares of training labels that are wrong. A wrong label is drawn evenly from the other "
        "classes. Columns are scaled to mean 0 and variance 1. Made by `python benchmarks/defaults.py` and `--report`; "
        "sets with fewer rows give all they have.",
    ]
    for n_rows, (title, names) in product(
        ROWS, [("all nine sets", SETS), ("two classes", TWO_CLASSES), ("many classes", MANY_CLASSES)]
    ):
        parts += [f"## {n_rows:,} rows, {title}", f"{', '.join(names)}.", table(runs, names, n_rows)]
    parts += ["## Each set", each_set(runs)]
    (DOCS / "defaults.md").write_text("\n\n".join(parts) + "\n")
    draw(runs)


def each_set(runs: dict[str, Any]) -> str:
    """Mean accuracies of every set over the seeds, for all shares of wrong labels."""
    lines = [
        "| set | rows | " + " | ".join(f"`{system}`" for system in SYSTEMS) + " |",
        "|---" * (2 + len(SYSTEMS)) + "|",
    ]
    for name, n_rows in product(SETS, ROWS):
        entries = []
        for system in SYSTEMS:
            found = [accuracies(runs, [name], system, n_rows, noise) for noise in NOISE]
            entries.append(" / ".join("–" if values is None else f"{values.mean():.1f}" for values in found))
        lines.append(f"| {name} | {n_rows:,} | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def draw(runs: dict[str, Any]) -> None:
    """Mean accuracy against the share of wrong labels, a panel for each number of rows."""
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(ROWS), figsize=(9, 3.6), sharey=True, layout="constrained")
    for ax, n_rows in zip(axes, ROWS, strict=True):
        for i, system in enumerate(SYSTEMS):
            found = [accuracies(runs, SETS, system, n_rows, noise) for noise in NOISE]
            if any(values is None for values in found):
                continue
            means = [values.mean() for values in found]
            spread = [values.mean(axis=0).std(ddof=1) for values in found]
            style = {"color": f"C{i}", "marker": "o", "lw": 2.5 if system.startswith("UniSVM") else 1.2}
            ax.errorbar(100 * np.array(NOISE), means, spread, label=system, **style)
        ax.set(title=f"{n_rows:,} training rows", xlabel="wrong training labels, %")
    axes[0].set_ylabel("mean test accuracy, %")
    axes[0].legend(fontsize=8)
    figure.savefig(DOCS / "defaults.png", dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--rows", nargs="+", type=int, default=ROWS)
    parser.add_argument("--noise", nargs="+", type=float, default=NOISE)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--report", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if arguments.report:
        report()
        return
    # all systems on a set before the next
    for n_rows, seed, name, noise in product(arguments.rows, arguments.seeds, arguments.sets, arguments.noise):
        run((name, system, n_rows, noise, seed) for system in arguments.systems)


if __name__ == "__main__":
    main()
