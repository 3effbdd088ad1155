"""One measurement in a process of its own: reads a job from the command line and prints its result as JSON."""

from __future__ import annotations

import json
import sys
import warnings
from time import perf_counter

import numpy as np

from peers.systems import SYSTEMS
from peers.tasks import CLASSIFICATION, TASKS

_WARM_UP_ROWS = 1000
#: line that is printed when all is loaded and the fit begins
READY = "ready"


def peak_megabytes() -> float:
    """Peak memory of this process; getrusage would count that of the process which started it."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def warm_up(system, task, options, X, y) -> None:
    """Load libraries and start threads, on rows of at least two classes."""
    head = np.random.RandomState(0).permutation(X.shape[0])[:_WARM_UP_ROWS]
    model = system.make(task, len(head), **options)
    model.fit(X[head], y[head])
    model.predict(X[head[:50]])


def measure(task_name: str, system_name: str, options: dict) -> dict:
    task, system = TASKS[task_name], SYSTEMS[system_name]
    missing = system.missing()
    if missing:
        return {"skipped": missing}
    X, y, X_test, y_test = task.prepare()
    if "dtype" in options:
        X, X_test = X.astype(options["dtype"]), X_test.astype(options["dtype"])
        options = {name: value for name, value in options.items() if name != "dtype"}
    warm_up(system, task, options, X, y)
    before = peak_megabytes()
    model = system.make(task, len(y), **options)
    print(READY, flush=True)
    started = perf_counter()
    model.fit(X, y)
    fitted = perf_counter()
    predicted = model.predict(X_test)
    done = perf_counter()
    result = {
        "fit_seconds": fitted - started,
        "predict_seconds": done - fitted,
        "peak_megabytes": peak_megabytes(),
        "before_megabytes": before,
        "n_rows": len(y),
        "n_test": len(y_test),
    }
    if task.kind == CLASSIFICATION:
        result["accuracy"] = 100 * float(np.mean(predicted == y_test))
    else:
        result["rmse"] = float(np.sqrt(np.mean((predicted - y_test) ** 2)))
    if hasattr(model, "stationarity_"):
        result |= {
            "rank": int(np.max(model.rank_)),
            "sweeps": int(np.max(model.n_sweeps_)),
            "stationarity": float(np.max(model.stationarity_)),
            "trace_error": float(np.mean(model.trace_error_)),
        }
    return result


def main() -> None:
    job = json.loads(sys.argv[1])
    warnings.simplefilter("ignore")
    print(json.dumps(measure(job["task"], job["system"], job["options"])))


if __name__ == "__main__":
    main()
