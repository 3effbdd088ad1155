"""Wrong labels found by `unisvm.suspects` and by cleanlab with LightGBM: ranking, number, flags and time.

UNISVM_DATA=folder python benchmarks/wrong_labels.py [--sets ...] [--wrong ...] [--seeds ...] [--rows N] [--folds]
                                                     [--noise even|next|onto] [--report]

Up to N rows of each set, labels flipped to another class: "even" to any, "next" to the one that follows, "onto" only
rows of the first class to the second, of which twice the share is taken. Both systems are given the same rows: cleanlab
the out-of-fold probabilities of LightGBM in five stratified folds, ours the rows as they are, and with --folds the same
five folds. "average precision" is that of the ranking (`scores`; cleanlab's self-confidence), "number" the estimated
share of wrong labels in % (`n_wrong`; cleanlab's `num_label_issues`), "flagged" the share of rows that are flagged
(`flagged`; `find_label_issues`). Seconds are those of all of that, one system after the other. Results go to
docs/wrong_labels.json.gz, and --report prints the tables of docs/wrong_labels.md from there.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold

import results
import unisvm
from unisvm import datasets

SETS = ["spambase", "phoneme", "letter", "a9a", "ijcnn1", "mnist", "covtype"]
SHARES = [0.0, 0.05, 0.1, 0.2, 0.3]
NOISES = ["even", "next", "onto"]
OURS, OURS_IN_FOLDS, CLEANLAB = "suspects", "suspects, five folds", "cleanlab, LightGBM"
FEWEST_OF_A_CLASS = 5
RESULTS = Path(__file__).resolve().parents[1] / "docs" / "wrong_labels.json.gz"


def load(name: str, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a set, training rows if it has a split, with indices of classes."""
    data = datasets.load(name)
    X, y = (data[f"{part}_train"] if f"{part}_train" in data else data[part] for part in "Xy")
    rows = np.random.RandomState(seed).permutation(len(y))[:n_rows]
    X, y = X[rows].astype(np.float32), y[rows]
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    # each fold of LightGBM needs rows of all classes
    present = counts[codes] >= FEWEST_OF_A_CLASS
    return X[present], np.unique(codes[present], return_inverse=True)[1]


def flip(y: np.ndarray, share: float, noise: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of which a share is wrong, and the mask of these."""
    if noise == "even" and share:
        wrong, _ = datasets.flip_labels(y, share, random_state=seed)
        return wrong, wrong != y
    chance = np.random.RandomState(seed).random_sample(len(y))
    n_classes = int(y.max()) + 1
    chosen = chance < share if noise == "next" else (y == 0) & (chance < 2 * share)
    wrong = np.where(chosen, (y + 1) % n_classes, y)
    return wrong, wrong != y


def folds_of(y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """The folds of both systems."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return list(StratifiedKFold(5, shuffle=True, random_state=0).split(y[:, None], y))


def by_cleanlab(X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Scores, number and flags of cleanlab."""
    from cleanlab.count import num_label_issues
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores
    from lightgbm import LGBMClassifier

    probabilities = np.zeros((len(y), int(y.max()) + 1))
    for train, test in folds_of(y):
        model = LGBMClassifier(n_jobs=2, verbose=-1, random_state=0).fit(X[train], y[train])
        probabilities[np.ix_(test, model.classes_)] = model.predict_proba(X[test])
    scores = get_label_quality_scores(y, probabilities)
    # in one process: to start others takes longer than the work
    flagged = find_label_issues(y, probabilities, n_jobs=1)
    return {"scores": scores, "n_wrong": num_label_issues(y, probabilities), "flagged": flagged}


def by_suspects(X: np.ndarray, y: np.ndarray, cv: Any = None) -> dict[str, Any]:
    """Scores, number and flags of ours."""
    report = unisvm.suspects(X, y, cv=cv, random_state=0)
    return {
        "scores": report.scores,
        "n_wrong": report.n_wrong,
        "flagged": report.flagged,
        "interval": report.n_wrong_interval,
    }


def measure(name: str, share: float, noise: str, seed: int, n_rows: int, in_folds: bool) -> dict[str, Any]:
    """What each system finds in a set with a share of wrong labels."""
    X, clean = load(name, n_rows, seed)
    y, wrong = flip(clean, share, noise, seed)
    systems = {OURS: by_suspects, CLEANLAB: by_cleanlab}
    if in_folds:
        systems[OURS_IN_FOLDS] = lambda X, y: by_suspects(X, y, folds_of(y))
    case: dict[str, Any] = {"set": name, "share": share, "noise": noise, "seed": seed, "wrong": float(wrong.mean())}
    for system, find in systems.items():
        started = perf_counter()
        found = find(X, y)
        seconds = perf_counter() - started
        case[system] = {
            "precision": float(average_precision_score(wrong, -found["scores"])) if wrong.any() else None,
            "number": found["n_wrong"] / len(y),
            "flagged": float(found["flagged"].mean()),
            "right": float(wrong[found["flagged"]].mean()) if found["flagged"].any() else None,
            "seconds": seconds,
        }
        if "interval" in found:
            case[system]["interval"] = [end / len(y) for end in found["interval"]]
    return case


def tables(cases: list[dict[str, Any]]) -> str:
    """Markdown of all cases, and what they come to; suspects stands before cleanlab in each pair."""
    lines = []
    for noise in dict.fromkeys(case["noise"] for case in cases):
        of_noise = [case for case in cases if case["noise"] == noise]
        lines += [f"### Noise: {noise}", "", _HEADING, "|" + "---|" * _HEADING.count(" | ") + "---|"]
        for name, share in dict.fromkeys((case["set"], case["share"]) for case in of_noise):
            lines.append(_row(name, [case for case in of_noise if (case["set"], case["share"]) == (name, share)]))
        lines.append("")
        for system in (OURS, OURS_IN_FOLDS, CLEANLAB):
            if has_system := [case for case in of_noise if system in case]:
                lines.append(_summary(has_system, system))
        lines.append("")
    return "\n".join(lines)


_HEADING = "| set | wrong, % | average precision | number, % | flagged, % | of these wrong, % | s |"


def _row(name: str, some: list[dict[str, Any]]) -> str:
    """A row of a table: means over the seeds."""

    def pair(what: str, form: str, factor: float = 1.0) -> str:
        means = []
        for system in (OURS, CLEANLAB):
            values = [case[system][what] for case in some if case[system][what] is not None]
            means.append(format(factor * np.mean(values), form) if values else "–")
        return " / ".join(means) if set(means) != {"–"} else ""

    wrong = 100 * np.mean([case["wrong"] for case in some])
    of_wrong = pair("right", ".0f", 100) if wrong else ""
    cells = pair("precision", ".3f"), pair("number", ".1f", 100), pair("flagged", ".1f", 100), of_wrong
    return f"| {name} | {wrong:.1f} | {' | '.join(cells)} | {pair('seconds', '.1f')} |"


def _summary(cases: list[dict[str, Any]], system: str) -> str:
    """A line about all cases of a system."""
    flipped, clean = [case for case in cases if case["wrong"]], [case for case in cases if not case["wrong"]]
    near = np.mean([abs(case[system]["number"] - case["wrong"]) <= 0.02 for case in flipped])
    line = f"- {system}: number within 2 points in {100 * near:.0f} % of {len(flipped)} cases"
    if clean:
        line += f"; {100 * np.mean([case[system]['flagged'] for case in clean]):.2f} % of clean rows flagged"
    if system != CLEANLAB:
        ahead = [case[system]["precision"] - case[CLEANLAB]["precision"] for case in flipped]
        held = [case[system]["interval"][0] <= case["wrong"] <= case[system]["interval"][1] for case in cases]
        line += (
            f"; average precision at least cleanlab's in {100 * np.mean(np.array(ahead) >= 0):.0f} %, the least "
            f"difference {min(ahead):+.3f}; the interval holds the number in {100 * np.mean(held):.0f} %"
        )
    return f"{line}; {sum(case[system]['seconds'] for case in cases):.0f} s in all"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--wrong", nargs="*", type=float, default=SHARES)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--noise", default="even", choices=NOISES)
    parser.add_argument("--folds", action="store_true", help="ours on the folds of LightGBM, too")
    parser.add_argument("--report", action="store_true", help="print the tables of all results that are kept")
    options = parser.parse_args()
    kept: list[dict[str, Any]] = results.load(RESULTS, [])
    if options.report:
        print(tables(kept))
        return
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    cases = []
    for name in options.sets:
        for share in options.wrong:
            for seed in options.seeds:
                case = measure(name, share, options.noise, seed, options.rows, options.folds)
                cases.append(case)
                key = ("set", "share", "noise", "seed")
                kept = [other for other in kept if any(other[part] != case[part] for part in key)] + [case]
                results.save(RESULTS, kept)
                print(case, flush=True)
    print(tables(cases))


if __name__ == "__main__":
    main()
