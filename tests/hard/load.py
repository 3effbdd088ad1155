"""Many fits, one after the other or at the same time; the last line of the output is a JSON summary.

python -m hard.load one_after_the_other FOLDER N_FITS N_PREDICTIONS
python -m hard.load in_threads FOLDER N_ROUNDS
python -m hard.load in_processes FOLDER N_ROUNDS
python -m hard.load nested FOLDER N_ROUNDS
"""

import ctypes
import gc
import itertools
import json
import multiprocessing
import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV

from hard.varied_fits import (
    at_rest,
    blas_threads_of_a_fit,
    cases,
    data,
    decisions,
    digest,
    digest_of,
    fit,
    n_threads,
    write_files,
)
from unisvm import UniSVMClassifier

N_THREADS = 8


# ------------------------------------------------------------------ one after the other


def in_use():
    """Bytes of memory, threads and open files of this process."""
    gc.collect()
    with suppress(OSError, AttributeError):
        # what is free goes back to the system
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    with open("/proc/self/status") as file:
        status = dict(line.split(":", 1) for line in file)
    n_files = len(os.listdir("/proc/self/fd"))
    return {"KB": int(status["VmRSS"].split()[0]), "threads": n_threads(), "files": n_files}


def one_after_the_other(folder, n_fits, n_predictions):
    """What the process uses after a warm-up, in the midst and at the end."""
    scratch_files = []

    def note(event, arguments):
        if event == "open" and arguments[0] == str(folder):
            scratch_files.append(1)

    sys.addaudithook(note)
    tried = cases(folder)
    for _ in range(3):
        models = [(fit(case), case[1]) for case in tried.values()]
        for model, X in models:
            model.predict(X)
    used, names = [in_use()], itertools.cycle(tried)
    warm, scratch_files[:] = len(scratch_files), []
    for _half in range(2):
        for _ in range(n_fits // 2):
            name = next(names)
            digest(fit(tried[name]))
        for i in range(n_predictions // 2):
            model, X = models[i % len(models)]
            # rows in a file are read anew, which takes its time
            model.predict(X if isinstance(X, Path) and i % 20 < len(models) else data()[0][i % 50 : i % 50 + 7])
        used.append(in_use())
    return {"used": used, "scratch files": [warm, len(scratch_files)], "cases": n_fits + n_predictions}


# ------------------------------------------------------------------ at the same time


def differences(names, digests, alone):
    """Names of the cases whose models are not those of a fit alone."""
    return sorted({name for name, found in zip(names, digests, strict=True) if found != alone[name]})


def in_threads(folder, n_rounds):
    """Cases whose models differ when they are fitted beside others.

    To the bit, if they have one thread; two share the limit on the threads of BLAS, which is the process's, with the
    fits beside them, and their sums may be rounded otherwise.
    """
    alone = {name: fit(case) for name, case in cases(folder).items()}
    digests = {name: digest(model) for name, model in alone.items()}
    # each thread begins with another case
    orders = [[*list(alone)[i:], *list(alone)[:i]] * n_rounds for i in range(N_THREADS)]

    def fit_all(names):
        models = (fit(cases(folder)[name]) for name in names)
        return [(digest(model), decisions(model)) for model in models]

    with ThreadPoolExecutor(N_THREADS) as pool:
        found = list(itertools.chain(*pool.map(fit_all, orders)))
    names, error = list(itertools.chain(*orders)), 0.0
    for name, (_, values) in zip(names, found, strict=True):
        expected = decisions(alone[name])
        error = max(error, float(np.abs(values - expected).max() / np.abs(expected).max()))
    differ = differences(names, [bits for bits, _ in found], digests)
    one_thread = [name for name, case in cases(folder).items() if case[0].n_jobs == 1]
    return {"differ": sorted({*differ} & {*one_thread}), "error": error, "cases": len(names)}


def in_processes(folder, n_rounds):
    """Cases whose models differ in processes of each kind."""
    # a process that has fitted, whose threads a fork does not have
    alone = {name: digest(fit(case)) for name, case in cases(folder).items()}
    names, differ = list(alone) * n_rounds, {}
    for method in multiprocessing.get_all_start_methods():
        context = multiprocessing.get_context(method)
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            differ[method] = differences(names, pool.map(digest_of, names, [folder] * len(names)), alone)
    return {"differ": differ, "cases": len(names) * len(differ)}


# ------------------------------------------------------------------ nested


def children():
    """Processes that this one has started."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(path.parent.name)
    return found


@contextmanager
def watched():
    """Most threads of each process that works in the block."""
    most, ended = {}, Event()

    def watch():
        while not ended.wait(0.005):
            for process in children():
                most[process] = max(most.get(process, 0), n_threads(process))

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield most
    finally:
        ended.set()
        watcher.join()


def nested(folder, n_rounds):
    """Threads of worker processes at rest, and the most of them while there are fits within fits."""
    alone = {name: digest(fit(case)) for name, case in cases(folder).items()}
    names = list(alone) * n_rounds
    X, y, _ = data()
    model = UniSVMClassifier(rank=40, n_jobs=2, random_state=0)
    search = GridSearchCV(model, {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}, cv=2, n_jobs=2)
    with Parallel(n_jobs=2) as workers:
        rest = workers(delayed(at_rest)() for _ in range(8))
        with watched() as most:
            found = workers(delayed(digest_of)(name, folder) for name in names)
            blas = workers(delayed(blas_threads_of_a_fit)(n_jobs) for n_jobs in [1, 2] * 4)
            scores = [search.fit(X, y).cv_results_["mean_test_score"] for _ in range(n_rounds)]
            most_in_search = dict(most)
    serial = search.set_params(n_jobs=None, estimator__n_jobs=1).fit(X, y).cv_results_["mean_test_score"]
    return {
        "at rest": max(n for n, _ in rest),
        "BLAS libraries": max(n for _, n in rest),
        "most": max(most_in_search.values()),
        "workers": len(most_in_search),
        "BLAS in fits": [max(blas[::2]), max(blas[1::2])],
        "differ": differences(names, found, alone),
        "scores differ": max(float(abs(other - serial).max()) for other in scores),
        "cases": len(names) + len(blas) + 12 * n_rounds,
    }


PARTS = {part.__name__: part for part in (one_after_the_other, in_threads, in_processes, nested)}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    given = Path(sys.argv[2])
    write_files(given)
    print(json.dumps(PARTS[sys.argv[1]](given, *map(int, sys.argv[3:]))))
