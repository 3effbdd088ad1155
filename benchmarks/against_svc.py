"""Fit time and accuracy beside scikit-learn's SVC at the paper's parameters, in one run. Needs UNISVM_DATA.

Run: python benchmarks/against_svc.py [--repeats N] [--sets NAME ...]
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
from sklearn.svm import SVC

from unisvm import UniSVMClassifier, datasets

#: data set: (γ, λ), as in the paper
SETTINGS = {"a9a": (2.0**-10, 1e-5), "ijcnn1": (1.0, 1e-5)}


def timed(model, data) -> tuple[float, float]:
    started = perf_counter()
    model.fit(data["X_train"], data["y_train"])
    seconds = perf_counter() - started
    return seconds, 100 * model.score(data["X_test"], data["y_test"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="fits of ours, of which the median counts")
    parser.add_argument("--sets", nargs="*", default=list(SETTINGS), choices=list(SETTINGS))
    options = parser.parse_args()
    print(f"{'set':<8}{'model':<26}{'rank':>6}{'seconds':>9}{'accuracy':>10}{'times faster':>14}{'stationarity':>14}")
    for name in options.sets:
        gamma, penalty = SETTINGS[name]
        data = datasets.load(name)
        C = 1 / (2 * penalty * len(data["y_train"]))
        reference, accuracy = timed(SVC(C=C, gamma=gamma, cache_size=1000), data)
        print(f"{name:<8}{'SVC':<26}{'':>6}{reference:>9.2f}{accuracy:>10.2f}{1:>14.1f}", flush=True)
        for loss, rank in (("saturating", 1000), ("saturating", 700), ("smooth_hinge", 1000), ("squared_hinge", 1000)):
            runs = []
            for seed in range(options.repeats + 1):
                model = UniSVMClassifier(loss, C=C, gamma=gamma, rank=rank, fit_intercept=False, random_state=seed)
                runs.append((*timed(model, data), model.stationarity_, model.rank_))
            # the first is a warm-up: libraries, threads, and memory that a virtual machine may have given away
            seconds, accuracy, stationarity, used = np.median(runs[1:], axis=0)
            print(
                f"{name:<8}{loss:<26}{used:>6.0f}{seconds:>9.2f}{accuracy:>10.2f}{reference / seconds:>14.1f}"
                f"{stationarity:>14.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
