"""Cost of a grid, compared with one fit and with GridSearchCV over SVC, and of a 10 × 10 grid of gamma and C.

UNISVM_DATA=folder python benchmarks/grid_cost.py [--parts fit svc ten]
"""

from __future__ import annotations

import argparse
from functools import partial
from time import perf_counter

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from unisvm import UniSVMClassifier, UniSVMClassifierCV, datasets

FIVE_LOSSES = ["squared_hinge", "smooth_hinge", "saturating", "logistic", "quadratic_ramp"]
GAMMAS = [0.25, 0.5, 1.0, 2.0, 4.0]


def seconds(function, repeats: int = 1) -> tuple[float, object]:
    """Median seconds, and the last result of the function."""
    times = []
    for _ in range(repeats):
        started = perf_counter()
        result = function()
        times.append(perf_counter() - started)
    return float(np.median(times)), result


def search_of(gammas=(1.0,)) -> UniSVMClassifierCV:
    """A search of 10 C × 5 losses × 5 folds for one gamma, or for several."""
    return UniSVMClassifierCV(FIVE_LOSSES, gammas=list(gammas), rank=500, random_state=0, cv=5)


def beside_one_fit(X, y, rounds: int = 3) -> None:
    ones, singles, severals = [], [], []
    model = UniSVMClassifier(C=1.0, rank=500, gamma=1.0, random_state=0)
    # in alternation, since the machine is not equally fast from one minute to the next
    for _ in range(rounds):
        ones.append(seconds(partial(model.fit, X, y), repeats=5)[0])
        singles.append(seconds(lambda: search_of().fit(X, y))[0])
        taken, found = seconds(lambda: search_of(GAMMAS).fit(X, y))
        severals.append(taken)
    one, single, several = map(np.median, (ones, singles, severals))
    print(f"one fit, rank 500: {one:.2f} s")
    print(f"10 C x 5 losses x 5 folds, one gamma: {single:.2f} s = {single / one:.1f} fits (at most 15)")
    print(
        f"the same for 5 gammas: {several:.2f} s = {several / single:.2f} x that (at most 5); best {found.best_params_}"
    )


def beside_svc(X, y, X_test, y_test) -> None:
    costs = np.geomspace(0.01, 100, 10)
    theirs, peer = seconds(lambda: GridSearchCV(SVC(), {"C": costs, "gamma": GAMMAS}, cv=5, n_jobs=2).fit(X, y))
    print(
        f"{len(X)} rows, 10 C x 5 gammas x 5 folds: GridSearchCV(SVC, n_jobs=2) {theirs:.1f} s, "
        f"held out {100 * peer.score(X_test, y_test):.2f} %"
    )
    one = ["squared_hinge"]
    for losses, rank in (one, 300), (one, 400), (one, 500), (one, 1000), (None, 1000):
        search = UniSVMClassifierCV(losses, Cs=costs, gammas=GAMMAS, cv=5, rank=rank, random_state=0)
        ours, model = seconds(partial(search.fit, X, y))
        print(
            f"  ours, {'one loss' if losses else 'three losses'}, rank {rank}: {ours:.1f} s, {theirs / ours:.1f} x "
            f"(at least 20), held out {100 * model.score(X_test, y_test):.2f} %"
        )


def ten_by_ten() -> None:
    X, y = make_classification(5000, 20, n_informative=10, random_state=0)
    for dtype, rank, losses in (
        (np.float32, 500, ["smooth_hinge"]),
        (np.float32, 1000, ["smooth_hinge"]),
        (np.float64, 1000, ["smooth_hinge"]),
        (np.float32, 500, None),
    ):
        search = UniSVMClassifierCV(losses, gammas=10, search="full", rank=rank, random_state=0)
        rows = X.astype(dtype)
        time, model = seconds(partial(search.fit, rows, y))
        print(
            f"10 C x 10 gammas x 5 folds on 5000 x 20, {'one loss' if losses else 'three losses'}, rank {rank}, "
            f"{np.dtype(dtype)}: {time:.1f} s (under 10), score {model.best_score_:.4f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="*", default=["fit", "svc", "ten"], choices=["fit", "svc", "ten"])
    parts = parser.parse_args().parts
    data = datasets.load("ijcnn1")
    X, X_test = (data[name].astype(np.float32) for name in ("X_train", "X_test"))
    y, y_test = data["y_train"], data["y_test"]
    UniSVMClassifierCV(Cs=2, gammas=1, rank=50).fit(X[:1000], y[:1000])
    if "ten" in parts:
        ten_by_ten()
    if "fit" in parts:
        beside_one_fit(X, y)
    if "svc" in parts:
        chosen = np.random.RandomState(0).permutation(len(X))[:10_000]
        beside_svc(X[chosen], y[chosen], X_test, y_test)


if __name__ == "__main__":
    main()
