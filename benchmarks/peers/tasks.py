"""The data sets of the comparison, prepared alike for every system, and the parameters that all systems get."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split

from unisvm import datasets

CLASSIFICATION, REGRESSION = "classification", "regression"


class Split(NamedTuple):
    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray


@dataclass(frozen=True)
class Task:
    """A data set with the γ of its RBF kernel and either C or λ = 1/(2Cm)."""

    name: str
    kind: str
    prepare: Callable[[], Split]
    gamma: float
    C: float | None = None
    penalty: float | None = None
    rank: int = 1000
    #: stop before `rank` when the trace left out is below this share of the trace
    rank_tol: float = 1e-3

    def cost(self, n_rows: int) -> float:
        """C for so many training rows."""
        return self.C if self.C is not None else 1 / (2 * self.penalty * n_rows)


def _official(name: str, scale: float = 1.0, positive: int | None = None) -> Split:
    """A set with an official split; with `positive`, this class against the rest."""
    data = datasets.load(name)
    y = [data["y_train"], data["y_test"]]
    if positive is not None:
        y = [np.where(labels == positive, 1, -1) for labels in y]
    X = [(data[part] * np.float32(scale)).astype(np.float32) for part in ("X_train", "X_test")]
    return Split(X[0], y[0].astype(int), X[1], y[1].astype(int))


def _shuttle() -> Split:
    split = _official("shuttle", positive=1)
    low, high = split.X_train.min(axis=0), split.X_train.max(axis=0)
    X = [(2 * (part - low) / (high - low) - 1).astype(np.float32) for part in (split.X_train, split.X_test)]
    return split._replace(X_train=X[0], X_test=X[1])


def _covtype(n_train: int = 381_012) -> Split:
    data = datasets.load("covtype")
    order = np.random.RandomState(0).permutation(len(data["y"]))
    train, test = order[:n_train], order[381_012:]
    low, high = data["X"].min(axis=0), data["X"].max(axis=0)
    X = ((data["X"] - low) / np.where(high > low, high - low, 1)).astype(np.float32)
    y = np.where(data["y"] == 2, 1, -1)
    return Split(X[train], y[train], X[test], y[test])


def _w8a() -> Split:
    data = datasets.load("w8a")
    X_train, X_test, y_train, y_test = train_test_split(data["X"], data["y"].astype(int), test_size=0.2, random_state=0)
    return Split(sparse.csr_matrix(X_train), y_train, sparse.csr_matrix(X_test), y_test)


def _regression(name: str, n_train: int) -> Split:
    """A set with columns and target of mean 0 and variance 1."""
    data = datasets.load(name)
    parts = train_test_split(data["X"].astype(float), data["y"].astype(float), train_size=n_train, random_state=0)
    X_train, X_test, y_train, y_test = parts
    centre, spread = X_train.mean(axis=0), X_train.std(axis=0)
    X = [((part - centre) / spread).astype(np.float32) for part in (X_train, X_test)]
    y = [((part - y_train.mean()) / y_train.std()).astype(np.float32) for part in (y_train, y_test)]
    return Split(X[0], y[0], X[1], y[1])


def _checkerboard(n_rows: int) -> Split:
    def points(n: int, seed: int):
        X = np.random.RandomState(seed).uniform(size=(n, 2)).astype(np.float32)
        return X, np.where(np.floor(4 * X).sum(axis=1) % 2 == 0, 1, -1)

    return Split(*points(n_rows, 0), *points(100_000, 1))


BOARD_SIZES = {"30k": 30_000, "100k": 100_000, "300k": 300_000, "1M": 1_000_000, "3M": 3_000_000}

_ALL = [
    # the paper's parameters
    Task("a9a", CLASSIFICATION, lambda: _official("a9a"), gamma=2.0**-10, penalty=1e-5),
    Task("ijcnn1", CLASSIFICATION, lambda: _official("ijcnn1"), gamma=1.0, penalty=1e-5),
    Task("shuttle", CLASSIFICATION, _shuttle, gamma=2.0, penalty=1e-5),
    Task("covtype", CLASSIFICATION, _covtype, gamma=0.25, penalty=1e-8, rank_tol=0.0),
    Task("covtype-100k", CLASSIFICATION, lambda: _covtype(100_000), gamma=0.25, penalty=1e-8, rank_tol=0.0),
    # the best of a small grid for SVC or SVR, by cross-validation on 4,000 training rows
    Task("w8a", CLASSIFICATION, _w8a, gamma=0.03, C=100.0),
    Task("letter", CLASSIFICATION, lambda: _official("letter"), gamma=2.0, C=10.0),
    Task("cadata", REGRESSION, lambda: _regression("cadata", 10_640), gamma=0.1, C=10.0),
    Task("cpu_act", REGRESSION, lambda: _regression("cpu_act", 6_192), gamma=0.03, C=10.0),
    Task("house_8L", REGRESSION, lambda: _regression("house_8L", 17_784), gamma=0.03, C=10.0),
    Task("mnist", CLASSIFICATION, lambda: _official("mnist", scale=1 / 255), gamma=0.02, C=10.0),
    Task("letter-A", CLASSIFICATION, lambda: _official("letter", positive=1), gamma=2.0, C=10.0),
    *(
        Task(f"board-{label}", CLASSIFICATION, partial(_checkerboard, n), 16.0, penalty=1e-7, rank=300, rank_tol=0.0)
        for label, n in BOARD_SIZES.items()
    ),
]
TASKS = {task.name: task for task in _ALL}
