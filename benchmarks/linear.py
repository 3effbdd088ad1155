"""The linear kernel beside LinearSVC: accuracy and seconds, with C = 1 and with the defaults.

UNISVM_DATA=folder python benchmarks/linear.py [--rounds N]

The text is generated: TF-IDF of 15,000 documents of 100 words out of 30,000, in eight topics; half of them are for
training. a9a and w8a are sparse, as LIBSVM has them; w8a is split into halves.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.svm import LinearSVC

from unisvm import UniSVMClassifier, datasets

N_DOCUMENTS, N_WORDS, LENGTH, N_TOPICS, SHARE_OF_TOPIC = 15_000, 30_000, 100, 8, 0.12

#: a system by its name
SYSTEMS: dict[str, Callable[[], Any]] = {
    "LinearSVC()": LinearSVC,
    "squared hinge, C=1, ovr": lambda: UniSVMClassifier(
        "squared_hinge", kernel="linear", C=1.0, multi_class="ovr", random_state=0
    ),
    "squared hinge, C=1": lambda: UniSVMClassifier("squared_hinge", kernel="linear", C=1.0, random_state=0),
    "kernel='linear', C=1": lambda: UniSVMClassifier(kernel="linear", C=1.0, random_state=0),
    "kernel='linear'": lambda: UniSVMClassifier(kernel="linear", random_state=0),
}


def text() -> tuple[Any, np.ndarray]:
    """TF-IDF of documents, and their topics."""
    rng = np.random.default_rng(0)
    topics = rng.integers(N_TOPICS, size=N_DOCUMENTS)
    common = rng.dirichlet(np.full(N_WORDS, 0.3))
    words = np.empty((N_DOCUMENTS, LENGTH), dtype=np.int64)
    for topic in range(N_TOPICS):
        of_topic = topics == topic
        own = (1 - SHARE_OF_TOPIC) * common + SHARE_OF_TOPIC * rng.dirichlet(np.full(N_WORDS, 0.05))
        words[of_topic] = rng.choice(N_WORDS, (of_topic.sum(), LENGTH), p=own / own.sum())
    pointers = np.arange(N_DOCUMENTS + 1) * LENGTH
    counts = sparse.csr_matrix((np.ones(words.size), words.ravel(), pointers), shape=(N_DOCUMENTS, N_WORDS))
    counts.sum_duplicates()
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts), topics


def problems() -> dict[str, tuple[Any, np.ndarray, Any, np.ndarray]]:
    """Training and test rows with their labels."""
    a9a, w8a, (X, y) = datasets.load("a9a"), datasets.load("w8a"), text()
    of_a9a = (sparse.csr_matrix(a9a["X_train"]), a9a["y_train"], sparse.csr_matrix(a9a["X_test"]), a9a["y_test"])
    half = len(w8a["y"]) // 2
    order = np.random.RandomState(0).permutation(len(w8a["y"]))
    rows, labels = sparse.csr_matrix(w8a["X"][order]), w8a["y"][order]
    return {
        "text": (X[: len(y) // 2], y[: len(y) // 2], X[len(y) // 2 :], y[len(y) // 2 :]),
        "a9a": of_a9a,
        "w8a": (rows[:half], labels[:half], rows[half:], labels[half:]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, (X, y, X_test, y_test) in problems().items():
        seconds: dict[str, list[float]] = {system: [] for system in SYSTEMS}
        scores = {}
        for _ in range(rounds):
            for system, make in SYSTEMS.items():
                model = make()
                started = perf_counter()
                model.fit(X, y)
                seconds[system].append(perf_counter() - started)
                scores[system] = model.score(X_test, y_test)
        least = np.median(seconds["LinearSVC()"])
        for system, times in seconds.items():
            median = np.median(times)
            print(
                f"{name:<6}{system:<26}{100 * scores[system]:>8.2f} %{median:>8.3f} s{median / least:>7.2f}x",
                flush=True,
            )


if __name__ == "__main__":
    main()
