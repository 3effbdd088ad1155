"""Gain from leaving out suspects, on sets that had no part in the choice of its rule.

The exception is one constant, the least share of suspects, which was chosen on seeds 0 to 3; these are not among the
default seeds.

UNISVM_DATA=folder python benchmarks/suspects.py [--sets ...] [--wrong ...] [--seeds ...] [--rows N]

The sets have three classes or more, as the rule demands: "clusters" are well apart, "overlap" are five Gaussian classes
of which a fit on clean labels knows two rows of three. Prints a row of a Markdown table for each set and share of wrong
labels: the accuracy in % on clean rows if no suspects are left out, the gain from leaving them out with its standard
error, and the number of seeds for which some were left out.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn import datasets as generated
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from unisvm import UniSVMClassifierCV, datasets

SETS = ["clusters", "overlap", "digits", "covtype", "shuttle"]
MOST_TEST_ROWS = 20_000
#: classes with fewer rows are left out, since every fold needs some
FEWEST_OF_A_CLASS = 60


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """All rows of a set, and the indices of their classes."""
    if name == "digits":
        return generated.load_digits(return_X_y=True)
    if name == "overlap":
        return generated.make_blobs(6000, 3, centers=5, cluster_std=2.0, center_box=(-4, 4), random_state=7)
    if name == "clusters":
        return generated.make_classification(
            6000, 20, n_informative=8, n_classes=4, n_clusters_per_class=3, flip_y=0, class_sep=1.5, random_state=3
        )
    data = datasets.load(name)
    X, y = (
        np.concatenate([data[f"{part}_train"], data[f"{part}_test"]]) if f"{part}_train" in data else data[part]
        for part in "Xy"
    )
    _, classes, count = np.unique(y, return_inverse=True, return_counts=True)
    known = count[classes] >= FEWEST_OF_A_CLASS
    return X[known], np.unique(classes[known], return_inverse=True)[1]


def gains(X: np.ndarray, y: np.ndarray, wrong: float, seeds: list[int], n_rows: int) -> str:
    """The last three cells of a row of the table."""
    n_rows = min(n_rows, 6 * len(y) // 10)
    accuracy = np.empty((2, len(seeds)))
    n_left_out = 0
    for k, seed in enumerate(seeds):
        train, test = train_test_split(
            np.arange(len(y)),
            train_size=n_rows,
            test_size=min(len(y) - n_rows, MOST_TEST_ROWS),
            stratify=y,
            random_state=seed,
        )
        scaler = StandardScaler().fit(X[train].astype(np.float32))
        X_train, X_test = (scaler.transform(X[rows].astype(np.float32)) for rows in (train, test))
        labels, _ = datasets.flip_labels(y[train], wrong, random_state=seed)
        believing = model = UniSVMClassifierCV(random_state=seed).fit(X_train, labels)
        if len(model.suspects_):
            n_left_out += 1
            believing = UniSVMClassifierCV(drop_suspects=False, random_state=seed).fit(X_train, labels)
        accuracy[:, k] = [100 * each.score(X_test, y[test]) for each in (believing, model)]
    gain = accuracy[1] - accuracy[0]
    error = f" ± {gain.std(ddof=1) / np.sqrt(len(seeds)):.2f}" if len(seeds) > 1 else ""
    return f"{accuracy[0].mean():.2f} | {gain.mean():+.2f}{error} | {n_left_out}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--wrong", nargs="*", type=float, default=[0.0, 0.2, 0.4])
    parser.add_argument("--seeds", nargs="*", type=int, default=list(range(10, 15)))
    parser.add_argument("--rows", type=int, default=4000, help="training rows at most")
    options = parser.parse_args()
    print("| set | wrong | all rows | without suspects | seeds |\n|---|---|---|---|---|")
    for name in options.sets:
        X, y = load(name)
        for wrong in options.wrong:
            print(f"| {name} | {100 * wrong:g} % | {gains(X, y, wrong, options.seeds, options.rows)} |", flush=True)


if __name__ == "__main__":
    main()
