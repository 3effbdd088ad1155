"""Systems that choose their own parameters, on training data with wrong labels or wild targets.

UNISVM_DATA=folder python benchmarks/grid_quality.py [--sets ...] [--systems ...] [--noise ...] [--seeds ...] [--report]

Every run is saved in docs/grid_quality.json.gz and not run again. --report writes docs/grid_quality.md from these runs.
LightGBM is needed for its own rows; scikit-learn-intelex, if it is installed, trains the exact SVMs in less time.
"""

from __future__ import annotations

import argparse
import fcntl
import warnings
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from tempfile import gettempdir
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import accuracy_score, median_absolute_error
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from results import SUFFIX, load, save
from unisvm import UniSVMClassifierCV, UniSVMRegressorCV, datasets

try:
    # the same problems with the same solutions, in less time unless rows are sparse
    from sklearnex import svm as svm_of_dense
except ImportError:
    svm_of_dense = svm

DOCS = Path(__file__).resolve().parents[1] / "docs"
RUNS = DOCS / f"grid_quality{SUFFIX}"
CLASSIFICATION, REGRESSION = "classification", "regression"
CLASSES = ["diabetes", "phoneme", "spambase", "a9a", "ijcnn1", "w8a", "letter"]
TARGETS = ["concrete", "abalone", "kin8nm", "cpu_act", "house_8L"]
#: small sets first
ORDER = [*CLASSES[:3], *TARGETS, *CLASSES[3:]]
SETS = {name: CLASSIFICATION if name in CLASSES else REGRESSION for name in ORDER}
NOISE = {CLASSIFICATION: [0.0, 0.2, 0.4], REGRESSION: [0.1]}
#: the share of wrong labels of the table of points lost
WRONG = 0.2
MOST_TRAINING_ROWS = {"a9a": 20_000, "ijcnn1": 20_000}

#: an exact SVM searches on a sample of the second size if there are more rows than the first, and is fitted on at most
#: the third
SVM_SEARCHES_ALL, SVM_SEARCHES, SVM_FITS = 5_000, 3_000, 10_000
#: with outlying targets an SVR of a high C takes hours to converge
SVM_ITERATIONS = 100_000
SVM_COSTS = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
SVM_GAMMAS = [1 / 16, 1 / 4, 1, 4, 16]
LIGHTGBM_GRID = {"num_leaves": [7, 31], "learning_rate": [0.03, 0.1], "n_estimators": [100, 400]}
PACKAGES = {
    "unisvm": "unisvm",
    "scikit-learn": "sklearn",
    "scikit-learn-intelex": "sklearnex",
    "lightgbm": "lightgbm",
    "numpy": "numpy",
    "scipy": "scipy",
}
#: of the searches, but ours, which has it as its default
SCORING = {CLASSIFICATION: "accuracy", REGRESSION: "neg_median_absolute_error"}


class Data(NamedTuple):
    """A data set with wrong labels or targets in its training part, and its scale for the systems' gamma."""

    kind: str
    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray
    #: 1/(n_features · X.var())
    scale: float
    #: divisor of the targets
    unit: float = 1.0


def prepare(name: str, noise: float, seed: int) -> Data:
    """The set with columns of mean 0 and variance 1; sparse w8a stays as it is."""
    kind, data = SETS[name], datasets.load(name)
    labels = kind == CLASSIFICATION
    if "X_train" in data:
        X_train, y_train, X_test, y_test = (data[part] for part in ("X_train", "y_train", "X_test", "y_test"))
    else:
        stratify = data["y"] if labels else None
        X_train, X_test, y_train, y_test = train_test_split(
            data["X"], data["y"], test_size=0.25, stratify=stratify, random_state=seed
        )
    chosen = sample(y_train, MOST_TRAINING_ROWS.get(name, len(y_train)), seed, labels)
    X_train, y_train = X_train[chosen].astype(np.float32), y_train[chosen]
    X_test = X_test.astype(np.float32)
    if name == "w8a":
        X_train, X_test = sparse.csr_matrix(X_train), sparse.csr_matrix(X_test)
        variance = X_train.power(2).mean() - X_train.mean() ** 2
    else:
        scaler = StandardScaler().fit(X_train)
        X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
        variance = X_train.var(dtype=float)
    scale = float(1 / (X_train.shape[1] * variance))
    if labels:
        wrong, _ = datasets.flip_labels(y_train.astype(int), noise, random_state=seed)
        return Data(kind, X_train, wrong, X_test, y_test.astype(int), scale)
    y_train, y_test = y_train.astype(float), y_test.astype(float)
    wild = make_wild(y_train, noise, seed)
    low, middle, high = np.percentile(wild, [25, 50, 75])
    unit = high - low
    return Data(kind, X_train, (wild - middle) / unit, X_test, (y_test - middle) / unit, scale, unit)


def sample(y: np.ndarray, n_rows: int, seed: int, stratified: bool) -> np.ndarray:
    """Indices of so many rows, or of all."""
    if n_rows >= len(y):
        return np.arange(len(y))
    stratify = y if stratified else None
    chosen, _ = train_test_split(np.arange(len(y)), train_size=n_rows, stratify=stratify, random_state=seed)
    return chosen


def make_wild(y: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Replace a share of the targets by values 10 to 30 interquartile ranges from the median, on either side."""
    rng = np.random.RandomState(seed)
    y = y.copy()
    rows = rng.choice(len(y), round(share * len(y)), replace=False)
    low, middle, high = np.percentile(y, [25, 50, 75])
    y[rows] = middle + rng.choice([-1, 1], len(rows)) * rng.uniform(10, 30, len(rows)) * (high - low)
    return y


# ------------------------------------------------------------------ systems: a fitted model and its parameters


def ours(data: Data, seed: int, jobs: int, **params):
    cls = UniSVMClassifierCV if data.kind == CLASSIFICATION else UniSVMRegressorCV
    model = cls(random_state=seed, **params).fit(data.X_train, data.y_train)
    chosen = {"loss": model.loss_, "C": model.C_, "kernel": model.kernel_, "gamma/scale": model.gamma_ / data.scale}
    return model, chosen | {"rank": model.best_estimator_.rank_, "cv_score": model.best_score_}


def ours_with_rbf(data: Data, seed: int, jobs: int):
    """Ours with one kernel."""
    return ours(data, seed, jobs, kernel="rbf")


def exact_svm(data: Data, seed: int, jobs: int):
    labels, n = data.kind == CLASSIFICATION, len(data.y_train)
    searched = sample(data.y_train, n if n <= SVM_SEARCHES_ALL else SVM_SEARCHES, seed, labels)
    fitted = sample(data.y_train, SVM_FITS, seed, labels)
    library = svm if sparse.issparse(data.X_train) else svm_of_dense
    plain = (library.SVC if labels else library.SVR)(cache_size=500, max_iter=SVM_ITERATIONS)
    grid = {"C": SVM_COSTS, "gamma": [factor * data.scale for factor in SVM_GAMMAS]}
    search = GridSearchCV(plain, grid, cv=5, scoring=SCORING[data.kind], n_jobs=jobs, refit=False)
    search.fit(data.X_train[searched], data.y_train[searched])
    model = plain.set_params(**search.best_params_).fit(data.X_train[fitted], data.y_train[fitted])
    chosen = {"C": model.C, "gamma/scale": model.gamma / data.scale, "converged": not model.fit_status_}
    return model, chosen | {"rows_searched": len(searched), "rows_fitted": len(fitted)}


def boosting(data: Data, seed: int, jobs: int, grid: dict | None = None, **params):
    import lightgbm

    cls = lightgbm.LGBMClassifier if data.kind == CLASSIFICATION else lightgbm.LGBMRegressor
    plain = cls(n_jobs=jobs, random_state=seed, verbose=-1, **params)
    model = GridSearchCV(plain, grid, cv=3, scoring=SCORING[data.kind]) if grid else plain
    model.fit(data.X_train, data.y_train)
    return model, model.best_params_ if grid else {}


def nystroem(data: Data, seed: int, jobs: int):
    features = Nystroem(gamma=data.scale, n_components=min(1000, len(data.y_train)), random_state=seed)
    if data.kind == CLASSIFICATION:
        last = LogisticRegressionCV(cv=5, scoring="accuracy", l1_ratios=(0,), use_legacy_attributes=False, n_jobs=jobs)
    else:
        last = RidgeCV(np.logspace(-4, 3, 8), scoring=SCORING[data.kind], cv=5)
    model = make_pipeline(features, last).fit(data.X_train, data.y_train)
    chosen = {"C": float(last.C_)} if data.kind == CLASSIFICATION else {"alpha": float(last.alpha_)}
    return model, chosen


#: function, and names in the report for classification and regression; empty if it is not for that kind
SYSTEMS = {
    "ours": (ours, "UniSVMClassifierCV", "UniSVMRegressorCV"),
    "ours rbf": (ours_with_rbf, "UniSVMClassifierCV, rbf", "UniSVMRegressorCV, rbf"),
    "svm grid": (exact_svm, "GridSearchCV(SVC)", "GridSearchCV(SVR)"),
    "lightgbm": (boosting, "LightGBM", "LightGBM"),
    "lightgbm l1": (partial(boosting, objective="regression_l1"), "", "LightGBM, l1"),
    "lightgbm grid": (partial(boosting, grid=LIGHTGBM_GRID), "LightGBM grid", "LightGBM grid"),
    "nystroem": (nystroem, "Nystroem + LogisticRegressionCV", "Nystroem + RidgeCV"),
}


#: a variant of ours, which has a table of its own
RBF_ALONE = "ours rbf"


def titles(kind: str) -> dict[str, str]:
    """The systems that are compared on sets of a kind, with their names in the report."""
    named = {system: names[kind == REGRESSION] for system, (_, *names) in SYSTEMS.items()}
    return {system: name for system, name in named.items() if name and system != RBF_ALONE}


def is_for(system: str, name: str) -> bool:
    """Whether a system runs on a set."""
    return bool(SYSTEMS[system][1 + (SETS[name] == REGRESSION)])


# ------------------------------------------------------------------ runs


def stored() -> dict[str, Any]:
    """The runs so far, and the versions that they were made with."""
    return load(RUNS, {"versions": {}, "runs": []})


def add(run: dict[str, Any]) -> None:
    """Add a run to the file; several processes may do so at the same time."""
    with open(Path(gettempdir()) / f"{RUNS.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = stored()
        # a package that is not there did not take part, and keeps the version that it was measured with
        there = [package for package, module in PACKAGES.items() if find_spec(module)]
        versions = known["versions"] | {name: version(name) for name in there}
        save(RUNS, {"versions": versions, "runs": [*known["runs"], run]})


def key_of(run: dict[str, Any]) -> tuple:
    return run["set"], run["noise"], run["seed"], run["system"]


def run(name: str, noise: float, seed: int, system: str, jobs: int) -> dict[str, Any]:
    data = prepare(name, noise, seed)
    started = perf_counter()
    model, chosen = SYSTEMS[system][0](data, seed, jobs)
    seconds = round(perf_counter() - started, 1)
    predicted = model.predict(data.X_test)
    measure = accuracy_score if data.kind == CLASSIFICATION else median_absolute_error
    score = float(measure(data.y_test, predicted) * data.unit)
    key = {"set": name, "noise": noise, "seed": seed, "system": system}
    return key | {"score": score, "seconds": seconds, "chosen": chosen}


# ------------------------------------------------------------------ report

HEAD = f"""# Systems that choose their own parameters, on wrong labels and outlying targets

This page compares `UniSVMClassifierCV` and `UniSVMRegressorCV` with other systems that choose their own parameters. The
training data have wrong labels or targets that are far off; test labels and targets are clean. The runs are stored in
`docs/grid_quality.json.gz`. The first command runs those that are missing, the second writes this page:

    UNISVM_DATA=folder python benchmarks/grid_quality.py
    python benchmarks/grid_quality.py --report

- All systems are given the same rows. Columns have mean 0 and variance 1 on the training rows; w8a is sparse and stays
  as it is. a9a and ijcnn1 are trained on 20,000 rows.
- Ours runs with its defaults.
- The exact SVM searches {len(SVM_COSTS)} C × {len(SVM_GAMMAS)} gammas in 5 folds, on a sample of {SVM_SEARCHES:,} rows
  if there are more than {SVM_SEARCHES_ALL:,}. It is fitted on at most {SVM_FITS:,} rows, and stops after
  {SVM_ITERATIONS:,} iterations. scikit-learn trained it in the first runs, and scikit-learn-intelex in the later ones.
- The grid of LightGBM has 8 cells and 3 folds.
- Nystroem has 1,000 landmarks, and its gamma is that of "scale".
"""
TARGETS_NOTE = """
Errors are in units of the target. All systems see the target divided by its interquartile range, and every search is
scored by the median absolute error.
"""


def scores_of(runs: list[dict], name: str, noise: float, system: str) -> dict[int, float]:
    """Scores of a system on a set, by seed."""
    return {run["seed"]: run["score"] for run in runs if key_of(run) == (name, noise, run["seed"], system)}


def both(one: dict[int, float], other: dict[int, float]) -> tuple[float, float]:
    """The means over the seeds that both have; NaN if there are none."""
    shared = sorted(one.keys() & other.keys())
    return tuple(float(np.mean([scores[k] for k in shared])) if shared else np.nan for scores in (one, other))


def row(*cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def table(runs: list[dict], kind: str, noise: float) -> list[str]:
    """Means by set and system over the seeds that all systems of a row have, the best in bold."""
    named = titles(kind)
    lines = [row("set", "seeds", *named.values()), "|---" * (len(named) + 2) + "|"]
    for name in (CLASSES, TARGETS)[kind == REGRESSION]:
        found = [scores_of(runs, name, noise, system) for system in named]
        shared = set.intersection(*(set(scores) for scores in found if scores)) if any(found) else set()
        if not shared:
            continue
        means = [np.mean([scores[seed] for seed in shared]) if scores else np.nan for scores in found]
        best = np.nanmax(means) if kind == CLASSIFICATION else np.nanmin(means)
        cells = ["–" if np.isnan(x) else f"{100 * x:.2f}" if kind == CLASSIFICATION else f"{x:.4g}" for x in means]
        cells = [f"**{cell}**" if mean == best else cell for cell, mean in zip(cells, means, strict=True)]
        lines.append(row(name, len(shared), *cells))
    return lines


def lost(runs: list[dict]) -> list[str]:
    """Points that each system loses to wrong labels, over the seeds that it has for both."""
    named = titles(CLASSIFICATION)
    lines = [row("set", *named.values()), "|---" * (len(named) + 1) + "|"]
    for name in CLASSES:
        pairs = [both(*(scores_of(runs, name, noise, system) for noise in (0.0, WRONG))) for system in named]
        lines.append(row(name, *("–" if np.isnan(clean) else f"{100 * (clean - worse):.2f}" for clean, worse in pairs)))
    return lines


def ranks(runs: list[dict], kind: str) -> list[str]:
    """The mean rank of each system over the seeds that all systems have, then over sets and noise."""
    named, score_of = titles(kind), {key_of(run): run["score"] for run in runs}
    ranked: dict[tuple, list] = {}
    for name, noise, seed in sorted({key_of(run)[:3] for run in runs if SETS[run["set"]] == kind}):
        scores = [score_of.get((name, noise, seed, system)) for system in named]
        if None not in scores:
            ranked.setdefault((name, noise), []).append(
                rankdata(np.array(scores) * (-1 if kind == CLASSIFICATION else 1))
            )
    if not ranked:
        return []
    # a set with more seeds counts no more
    mean = np.mean([np.mean(of_seeds, axis=0) for of_seeds in ranked.values()], axis=0)
    lines = ["", f"## Mean rank, {kind}", ""]
    lines += [f"Over {len(ranked)} pairs of set and noise, each averaged over its seeds. 1 is best.", ""]
    lines += [row("system", "mean rank"), "|---|---|"]
    return lines + [row(peer, f"{rank:.2f}") for rank, peer in sorted(zip(mean, named.values(), strict=True))]


def shortfalls(runs: list[dict], kind: str) -> list[str]:
    """Sentences on the sets and noise where ours is not first, over the seeds that both have."""
    lines = []
    for noise, name in product(NOISE[kind], (CLASSES, TARGETS)[kind == REGRESSION]):
        behind = []
        for system, peer in titles(kind).items():
            own, other = both(scores_of(runs, name, noise, "ours"), scores_of(runs, name, noise, system))
            lead = other - own if kind == CLASSIFICATION else 1 - other / own
            if lead > 0:
                behind.append((lead, peer))
        if behind:
            unit = "points" if kind == CLASSIFICATION else "% less error"
            listed = ", ".join(f"{peer} ({100 * lead:.2f} {unit})" for lead, peer in sorted(behind, reverse=True))
            lines.append(f"- {name}, {100 * noise:g} %: behind {listed}.")
    return ["", f"Where ours is not first, {kind}:", "", *(lines or ["- Nowhere."])]


def kernels(runs: list[dict]) -> list[str]:
    """Rows for ours with both kernels and with one, over the seeds that both have."""
    lines = [row("set", "wrong", "rbf or laplacian", "rbf alone"), "|---" * 4 + "|"]
    for name in [*CLASSES, *TARGETS]:
        for noise in NOISE[SETS[name]]:
            means = both(*(scores_of(runs, name, noise, system) for system in ("ours", RBF_ALONE)))
            if not np.isnan(means[0]):
                cells = [f"{100 * x:.2f}" if SETS[name] == CLASSIFICATION else f"{x:.4g}" for x in means]
                lines.append(row(name, f"{100 * noise:g} %", *cells))
    return lines


def report(content: dict[str, Any]) -> str:
    runs, lines = content["runs"], [HEAD]
    for noise in NOISE[CLASSIFICATION]:
        lines += [f"## Accuracy in % with {100 * noise:g} % of the training labels wrong", ""]
        lines += [*table(runs, CLASSIFICATION, noise), ""]
    lines += [f"## Points lost from clean labels to {100 * WRONG:g} % wrong ones", "", *lost(runs)]
    lines += ["", "## Median absolute error with 10 % of the training targets far off", ""]
    lines += [*table(runs, REGRESSION, 0.1), TARGETS_NOTE.rstrip()]
    for kind in (CLASSIFICATION, REGRESSION):
        lines += ranks(runs, kind) + shortfalls(runs, kind)
    if any(run["system"] == RBF_ALONE for run in runs):
        lines += ["", "## Gain from the second kernel", "", *kernels(runs)]
        lines += ["", "Accuracies in %, and median absolute errors of targets, over the seeds that both have."]
    used = [f"{package} {number}" for package, number in content["versions"].items()]
    return "\n".join([*lines, "", f"Versions: {', '.join(used)}."]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--systems", nargs="*", default=list(SYSTEMS), choices=list(SYSTEMS))
    parser.add_argument("--noise", nargs="*", type=float, default=[0.0, 0.1, 0.2, 0.4])
    parser.add_argument("--seeds", nargs="*", type=int, default=list(range(5)))
    parser.add_argument("--jobs", type=int, default=2, help="of the peers")
    parser.add_argument("--report", action="store_true", help="write the report and run nothing")
    options = parser.parse_args()
    if options.report:
        (DOCS / "grid_quality.md").write_text(report(stored()))
        return
    warnings.simplefilter("ignore", ConvergenceWarning)
    for seed, name in product(options.seeds, [name for name in SETS if name in options.sets]):
        for noise, system in product(NOISE[SETS[name]], options.systems):
            key = (name, noise, seed, system)
            known = key in map(key_of, stored()["runs"])
            if known or noise not in options.noise or not is_for(system, name):
                continue
            done = run(*key, options.jobs)
            add(done)
            print(*key, f"{done['score']:.5g} {done['seconds']} s", done["chosen"], flush=True)


if __name__ == "__main__":
    main()
