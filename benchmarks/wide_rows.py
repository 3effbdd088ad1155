"""Cost of kernels of long rows, dense and sparse: fits and predictions without the compiled code and with it.

The rows are generated: embeddings are dense, documents are sparse counts of words, some of which are far more frequent
than others.

Run: python benchmarks/wide_rows.py [--rank N] [--rounds N].
"""

from __future__ import annotations

import argparse
import os

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from compiled import Part, seconds
from unisvm import UniSVMClassifier


def embeddings(n_rows: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Points around ten centres, in single precision, and whether the centre is one of the first five."""
    rng = np.random.default_rng(0)
    centre = rng.integers(10, size=n_rows)
    X = rng.standard_normal((10, width))[centre] + 2 * rng.standard_normal((n_rows, width))
    return X.astype(np.float32), centre < 5


def documents(n_rows: int, n_words: int, length: int = 100) -> tuple[sparse.csr_matrix, np.ndarray]:
    """TF-IDF of words, of which one in seven is of the document's topic, and which of two topics that is."""
    rng = np.random.default_rng(0)
    topic = rng.integers(2, size=n_rows)
    common = rng.dirichlet(np.full(n_words, 0.05))
    words = np.empty((n_rows, length), dtype=np.int64)
    for k in range(2):
        own = 0.85 * common + 0.15 * rng.dirichlet(np.full(n_words, 0.01))
        words[topic == k] = rng.choice(n_words, (np.sum(topic == k), length), p=own / own.sum())
    counts = sparse.csr_matrix(
        (np.ones(words.size), words.ravel(), np.arange(n_rows + 1) * length), shape=(n_rows, n_words)
    )
    counts.sum_duplicates()
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts), topic


ROWS = {
    "450 × 20,000": lambda: embeddings(450, 20_000),
    "20,000 × 64": lambda: embeddings(20_000, 64),
    "20,000 × 768": lambda: embeddings(20_000, 768),
    "10,000 × 5,000, sparse": lambda: documents(10_000, 5_000),
    "10,000 × 30,000, sparse": lambda: documents(10_000, 30_000),
    "10,000 × 500,000, sparse": lambda: documents(10_000, 500_000),
}


def compare(X, y, kernel: str, rank: int, part: Part, rounds: int) -> str:
    """Median seconds of a fit and of a prediction of all rows, without the compiled code and with it; and the share of
    the kernel's trace that the landmarks leave out."""
    times = np.empty((2, 2, rounds))
    for k in range(rounds):
        for wanted in (0, 1):
            part.use(bool(wanted))
            model = UniSVMClassifier(kernel=kernel, rank=rank, n_jobs=min(2, os.cpu_count() or 1), random_state=0)
            times[wanted, :, k] = seconds(model.fit, X, y), seconds(model.predict, X)
    part.use(True)
    (fit, predict), (fit_compiled, predict_compiled) = np.median(times, axis=2)
    return (
        f"{fit:>8.2f}s{fit_compiled:>9.2f}s{fit / fit_compiled:>8.1f}x"
        f"{predict:>9.2f}s{predict_compiled:>9.2f}s{predict / predict_compiled:>8.1f}x"
        f"{100 * model.trace_error_:>9.1f} %"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rank", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    part = Part()
    print(f"{'':<36}{'fit':>9}{'compiled':>10}{'':>9}{'predict':>10}{'compiled':>10}{'':>9}{'left out':>11}")
    for name, rows in ROWS.items():
        X, y = rows()
        for kernel in ("rbf", "laplacian"):
            print(f"{name + ', ' + kernel:<36}{compare(X, y, kernel, options.rank, part, options.rounds)}", flush=True)


if __name__ == "__main__":
    main()
