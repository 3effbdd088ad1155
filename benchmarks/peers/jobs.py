"""The jobs: which systems run on which tasks and how often, and the reasons for those that are left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from peers.systems import SYSTEMS
from peers.tasks import BOARD_SIZES, TASKS

MAIN = ("a9a", "ijcnn1", "shuttle", "letter", "w8a", "cadata", "cpu_act", "house_8L", "covtype", "mnist")
RANKS = (125, 250, 500, 1000, 2000, 4000)
#: the losses of the paper's tables
TEN_LOSSES = (
    "least_squares",
    "smooth_hinge",
    "squared_hinge",
    "truncated_squared_hinge",
    "truncated_least_squares",
    "quadratic_ramp",
    "feng",
    "saturating(2,2,2)",
    "saturating(2,3,4)",
    "saturating(2,2,4)",
)
#: least squares with uniform landmarks, as Nystroem + RidgeClassifier has it; in single precision 400 of them would be
#: dropped as linearly dependent
EVEN = {"loss": "least_squares", "landmarks": "uniform", "dtype": "float64"}
#: rank 4000 and 8000 with narrower kernels, for which uniform landmarks are best
WIDE = {
    4000: {"gamma": 8.0, "penalty": 1e-7, "landmarks": "uniform"},
    8000: {"gamma": 16.0, "penalty": 5e-8, "landmarks": "uniform"},
}
#: machines of cells, with a narrow kernel, and the mean of three partitions
CELLS = {"cells": "auto", "kernel": "laplacian", "gamma": 2.0, "C": 10.0}
PARTED = CELLS | {"partitions": 3}

_QUADRATIC = "not tried: its time grows with the square of the rows"
LEFT_OUT = {
    ("sklearn-svm", "covtype"): _QUADRATIC,
    ("intelex-svm", "covtype"): _QUADRATIC + "; see covtype-100k",
    ("thundersvm", "covtype"): _QUADRATIC,
    ("libsvm", "covtype"): _QUADRATIC,
    ("libsvm", "mnist"): "the same solver as scikit-learn's",
    ("nystroem-linear-svc", "covtype"): "not tried: 16 s on ijcnn1, which has an eighth of the rows",
    ("nystroem-linear-svc", "mnist"): "not tried: it fits the ten classes one after the other",
    ("falkon", "w8a"): "dense rows only",
    ("falkon", "letter"): "one column of labels only",
    ("falkon", "mnist"): "one column of labels only",
}
#: systems and tasks that take minutes are run once
_SLOW = {
    ("sklearn-svm", "mnist"),
    ("sklearn-svm", "a9a"),
    ("libsvm", "a9a"),
    ("sklearn-svm", "w8a"),
    ("libsvm", "w8a"),
    ("intelex-svm", "covtype-100k"),
    ("algorithm-1", "covtype"),
    ("algorithm-1", "mnist"),
}


@dataclass(frozen=True)
class Job:
    task: str
    system: str
    options: dict[str, Any] = field(default_factory=dict)
    repeats: int = 3
    #: part of the report that it belongs to
    part: str = "main"


def every_job() -> list[Job]:
    jobs = []
    for task in MAIN:
        for name, system in SYSTEMS.items():
            if TASKS[task].kind in system.kinds and (name, task) not in LEFT_OUT:
                jobs.append(Job(task, name, repeats=1 if (name, task) in _SLOW else 3))
        jobs.append(Job(task, "unisvm", {"loss": "least_squares"}))
    jobs.append(Job("covtype", "unisvm", EVEN))
    jobs += [Job("covtype-100k", "unisvm"), Job("covtype-100k", "intelex-svm", repeats=1), Job("letter-A", "unisvm")]
    for rank, options in WIDE.items():
        wide = {"rank": rank, "rank_tol": 0.0} | options
        default = {name: value for name, value in wide.items() if name != "landmarks"}
        jobs += [Job("covtype", "unisvm", chosen, 1, "rank") for chosen in (wide, default)]
    jobs += [Job("covtype", "unisvm", CELLS, 3), Job("covtype", "unisvm", PARTED, 1)]
    for rank in RANKS:
        jobs.append(Job("ijcnn1", "unisvm", {"rank": rank, "rank_tol": 0.0}, 1, "rank"))
        if rank <= 2000:
            jobs.append(Job("ijcnn1", "nystroem-ridge", {"rank": rank}, 1, "rank"))
    for label, n_rows in BOARD_SIZES.items():
        jobs.append(Job(f"board-{label}", "unisvm", repeats=1 if n_rows > 10**6 else 3, part="rows"))
        if n_rows >= 10**5:
            jobs.append(Job(f"board-{label}", "unisvm", {"cells": "auto"}, 1, "rows"))
        if n_rows <= 10**6:
            jobs.append(Job(f"board-{label}", "nystroem-ridge", repeats=1, part="rows"))
            jobs.append(Job(f"board-{label}", "lightgbm", repeats=1, part="rows"))
        if n_rows <= 10**5:
            jobs.append(Job(f"board-{label}", "intelex-svm", repeats=1, part="rows"))
    for task in ("a9a", "covtype"):
        for loss in TEN_LOSSES:
            for system in ("unisvm", "algorithm-1"):
                repeats = 3 if task == "a9a" else 1
                # our least squares is in the main part already
                if (system, loss) != ("unisvm", "least_squares"):
                    jobs.append(Job(task, system, {"loss": loss}, repeats, "losses"))
    return jobs
