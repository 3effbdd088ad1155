"""How much can be learned from wrong labels: many learners, of which the test labels choose the best.

UNISVM_DATA=folder python benchmarks/wrong_labels_limit.py [--sets ...] [--wrong SHARE] [--seeds ...]

On the splits of grid_quality.py, forests, nearest neighbours and exact SVMs are trained on wrong labels with a range of
parameters each. Prints a row of a Markdown table for each set: the accuracy in % of UniSVMClassifierCV with clean and
with wrong labels, from docs/grid_quality.json.gz; the accuracy and the name of the learner that is best on average over
the seeds; and the mean over the seeds if each has its own best learner. Without the test labels nobody could choose so
well. The stored runs of two classes were made when suspects of two classes were left out, too.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from grid_quality import CLASSES, prepare, stored

LEAVES = [1, 2, 3, 5, 8, 12, 20]
NEIGHBOURS = [3, 5, 7, 9, 11, 15, 21, 31]
COSTS = [0.1, 0.3, 1, 3, 10, 30]
#: in units of 1/(n_features · variance)
GAMMAS = [1 / 16, 1 / 4, 1, 4, 16]


def learners(scale: float) -> dict[str, Any]:
    """Every learner with every choice of its parameters, by names that do not depend on the set."""
    forest = {"n_estimators": 500, "n_jobs": -1, "random_state": 0}
    found: dict[str, Any] = {}
    for leaf in LEAVES:
        found[f"random forest, leaves of {leaf}"] = RandomForestClassifier(min_samples_leaf=leaf, **forest)
        for columns, which in (("sqrt", "some"), (None, "all")):
            name = f"extremely random trees, {which} columns, leaves of {leaf}"
            found[name] = ExtraTreesClassifier(min_samples_leaf=leaf, max_features=columns, **forest)
    for n in NEIGHBOURS:
        for weights in ("uniform", "distance"):
            found[f"{n} neighbours, {weights} weights"] = KNeighborsClassifier(n, weights=weights)
    for C in COSTS:
        for factor in GAMMAS:
            found[f"SVC, C = {C}, gamma = {factor} scale"] = SVC(C=C, gamma=factor * scale)
    return found


def accuracies(name: str, wrong: float, seeds: list[int]) -> dict[str, list[float]]:
    """Accuracy of every learner on the clean test rows, for each seed."""
    reached: dict[str, list[float]] = {}
    for seed in seeds:
        data = prepare(name, wrong, seed)
        for learner, model in learners(data.scale).items():
            accuracy = model.fit(data.X_train, data.y_train).score(data.X_test, data.y_test)
            reached.setdefault(learner, []).append(100 * accuracy)
    return reached


def ours(name: str, wrong: float, seeds: list[int]) -> float:
    """Mean accuracy of UniSVMClassifierCV on the same splits."""
    own = [run for run in stored()["runs"] if (run["set"], run["noise"], run["system"]) == (name, wrong, "ours")]
    return float(np.mean([run["score"] for run in own if run["seed"] in seeds]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=["diabetes", "phoneme"], choices=CLASSES)
    parser.add_argument("--wrong", type=float, default=0.2)
    parser.add_argument("--seeds", nargs="*", type=int, default=list(range(5)))
    options = parser.parse_args()
    print("| set | ours, clean | ours | best of all | which is | best for each seed |\n|---|---|---|---|---|---|")
    for name in options.sets:
        reached = accuracies(name, options.wrong, options.seeds)
        best = max(reached, key=lambda learner: np.mean(reached[learner]))
        each = np.mean(np.max(list(reached.values()), axis=0))
        clean, own = (100 * ours(name, wrong, options.seeds) for wrong in (0.0, options.wrong))
        print(
            f"| {name} | {clean:.2f} | {own:.2f} | {np.mean(reached[best]):.2f} | {best} | {each:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
