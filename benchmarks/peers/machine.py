"""The machine of the measurements: processor, memory, versions, and the rates that the cost model needs."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from unisvm.rows import MemoryRows

PACKAGES = (
    "unisvm",
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-learn-intelex",
    "thundersvm-cpu",
    "libsvm-official",
    "falkon",
    "torch",
    "lightgbm",
)


def describe(threads: int) -> dict:
    """Processor, memory, versions and rates."""
    return {
        "processor": _processor(),
        "processors": os.cpu_count(),
        "threads": threads,
        "memory_gigabytes": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
        "rates": rates(threads),
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _median_seconds(action, repeats: int = 7) -> float:
    seconds = []
    for _ in range(repeats):
        started = perf_counter()
        action()
        seconds.append(perf_counter() - started)
    return float(np.median(seconds))


def read_seconds(features: np.ndarray, threads: int, repeats: int = 7) -> float:
    """Seconds of a plain read of the array in so many threads: a sum that uses each number once."""
    rows = MemoryRows(features, features[:, :1], np.ones(len(features), dtype=features.dtype), threads)
    return _median_seconds(
        lambda: rows.reduce(lambda block, targets, weights: (np.add.reduce(block, axis=None),), features), repeats
    )


def rates(threads: int) -> dict[str, float]:
    """Rates of the cost model in single precision: products, exponentials and memory."""
    rng = np.random.RandomState(0)
    with threadpool_limits(threads):
        A = rng.rand(2000, 2000).astype(np.float32)
        product = _median_seconds(lambda: A @ A)
        block = rng.rand(1000, 1000).astype(np.float32)
        exponential = _median_seconds(lambda: np.exp(block))
        features = rng.rand(200_000, 500).astype(np.float32)
        read = read_seconds(features, threads)
    return {
        "gigaflops": 2 * 2000**3 / product / 1e9,
        "exp_nanoseconds": exponential / block.size * 1e9,
        "read_gigabytes_per_second": features.nbytes / read / 1e9,
    }
