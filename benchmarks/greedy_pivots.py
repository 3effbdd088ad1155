"""Seconds of greedily pivoted Cholesky: the library's, in blocks, beside the textbook's, one pivot after another.

Run: PYTHONPATH=benchmarks python benchmarks/greedy_pivots.py [--rounds 5] [--threads 1]
The textbook's code has all its memory allocated at once and one thread. Both take the rows in the same order, so that
the pivots are the same; what share of them is, is in the last column.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

from unisvm import datasets, kernels
from unisvm.nystrom.landmarks import PivotedCholesky
from unisvm.parallel import blas_threads
from unisvm.rows import MemoryRows

#: set, rows, rank
TASKS = (("ijcnn", 20_000, 300), ("ijcnn", 49_990, 1000), ("adult", 32_561, 89), ("shuttle", 43_500, 90))


def one_after_another(X: np.ndarray, gamma: float, rank: int, order: np.ndarray) -> np.ndarray:
    """Row indices of the pivots of the RBF kernel's matrix, by the textbook's code."""
    X = X[order]
    squares = np.einsum("ij,ij->i", X, X)
    residual = np.ones(len(X))
    factor = np.empty((len(X), rank), order="F")
    pivots = []
    for j in range(rank):
        pivot = int(np.argmax(residual))
        pivots.append(pivot)
        column = np.exp(-gamma * np.maximum(squares + squares[pivot] - 2 * (X @ X[pivot]), 0))
        column -= factor[:, :j] @ factor[pivot, :j]
        column /= np.sqrt(residual[pivot])
        factor[:, j] = column
        residual -= column**2
        residual[pivots] = 0
    return order[pivots]


def in_blocks(X: np.ndarray, gamma: float, rank: int, n_threads: int) -> np.ndarray:
    """Row indices of the pivots by the library."""
    n = len(X)
    rows = MemoryRows(X, np.ones((n, 1)), np.ones(n), n_threads, None, None, np.arange(n), given=X)
    return PivotedCholesky().choose(rows, kernels.RBF(gamma), rank, 0.0, np.random.RandomState(0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args()
    print(f"{'set':8} {'rows':>6} {'rank':>5} {'textbook, s':>12} {'ours, s':>8} {'ratio':>6} {'same pivots':>12}")
    for name, n_rows, rank in TASKS:
        data = datasets.load_paper(name)
        X = data.X_train[:n_rows].astype(np.float64)
        order = np.random.RandomState(0).permutation(len(X))
        seconds = []
        with blas_threads(1):
            for _ in range(chosen.rounds):
                times = [perf_counter()]
                found = [one_after_another(X, data.gamma, rank, order)]
                times.append(perf_counter())
                found.append(in_blocks(X, data.gamma, rank, chosen.threads))
                times.append(perf_counter())
                seconds.append(np.diff(times))
        textbook, ours = np.median(seconds, axis=0)
        same = np.mean(found[0] == found[1])
        print(f"{name:8} {n_rows:6} {rank:5} {textbook:12.2f} {ours:8.2f} {textbook / ours:6.1f} {same:12.0%}")


if __name__ == "__main__":
    main()
