"""Cost and error of exported graphs in onnxruntime on one thread, beside the model's own predictions.

One table has kernels with 1,000 landmarks of 100 columns: the milliseconds for 10,000 rows and for one, and the memory
that the 10,000 rows take beyond the session. The other has models on real sets with the library's defaults, and the
largest error of their scores.

Run: python benchmarks/onnx_graphs.py [--rows N].
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import warnings
from time import perf_counter

import numpy as np
import onnxruntime
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
from sklearn.preprocessing import StandardScaler

import unisvm
from unisvm import UniSVMClassifier

KERNELS = ("linear", "rbf", "laplacian", "poly", "sigmoid")
ARITHMETICS = ("float64", "float32")
SETS = {
    "digits": lambda: load_digits(return_X_y=True),
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "moons": lambda: make_moons(3000, noise=0.2, random_state=0),
}


def session(model: UniSVMClassifier, arithmetic: str, dtype: str) -> onnxruntime.InferenceSession:
    """A session that runs the model's graph on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    graph = unisvm.to_onnx(model, arithmetic=arithmetic, dtype=dtype).SerializeToString()
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def best_seconds(call, repeats: int) -> float:
    """Least seconds of some calls."""
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        call()
        seconds.append(perf_counter() - start)
    return min(seconds)


def megabytes() -> float:
    """The most memory that this process has taken."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cost(kernel: str, arithmetic: str, n_rows: int) -> str:
    """A line of the first table."""
    rng = np.random.default_rng(0)
    X, rows = rng.standard_normal((1000, 100)), rng.standard_normal((n_rows, 100))
    landmarks = "uniform" if kernel == "linear" else X
    model = UniSVMClassifier("least_squares", kernel=kernel, landmarks=landmarks, C=1.0, n_jobs=1)
    model.fit(X, X[:, 0] * X[:, 1] > 0)
    graph = session(model, arithmetic, "float64")
    before = megabytes()
    graph.run(None, {"X": rows})
    peak = megabytes() - before
    many = best_seconds(lambda: graph.run(None, {"X": rows}), 3)
    one = best_seconds(lambda: graph.run(None, {"X": rows[:1]}), 50)
    ours = best_seconds(lambda: model.decision_function(rows), 3)
    return (
        f"| {kernel} | {arithmetic} | {1e3 * many:.0f} ms | {1e3 * ours:.0f} ms | {1e3 * one:.2f} ms | {peak:.0f} MB |"
    )


def errors(name: str, kernel: str) -> str:
    """A line of the second table: of single precision all through, the model's own and those of its graphs."""
    X, y = SETS[name]()
    X = StandardScaler().fit_transform(X).astype(np.float32)
    model = UniSVMClassifier(kernel=kernel, random_state=0).fit(X, y)
    exact = model.decision_function(X.astype(np.float64))
    found = [session(model, each, "float32").run(None, {"X": X})[1] for each in ARITHMETICS]
    off = [np.abs((scores[:, 1] if exact.ndim == 1 else scores) - exact).max() for scores in found]
    own = np.abs(model.decision_function(X) - exact).max()
    return f"| {name} | {kernel} | {np.abs(exact).max():.1f} | {off[0]:.0e} | {off[1]:.0e} | {own:.0e} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--only", nargs=2, metavar=("KERNEL", "ARITHMETIC"), help="one line of the first table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.only:
        print(cost(*options.only, options.rows))
        return
    print(f"| kernel | arithmetic | {options.rows} rows | the model itself | one row | memory |")
    print("|---|---|---|---|---|---|")
    for kernel in KERNELS:
        for arithmetic in ARITHMETICS:
            # a process each, whose most memory is that of this graph
            command = [sys.executable, __file__, "--rows", str(options.rows), "--only", kernel, arithmetic]
            print(subprocess.run(command, capture_output=True, text=True, check=True).stdout, end="", flush=True)
    print("\n| set | kernel | largest score | float64 | float32 | the model itself |\n|---|---|---|---|---|---|")
    for name in SETS:
        for kernel in KERNELS[1:]:
            print(errors(name, kernel), flush=True)


if __name__ == "__main__":
    main()
