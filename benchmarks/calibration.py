"""Expected calibration error of a search's probabilities beside that of scikit-learn's `CalibratedClassifierCV`.

UNISVM_DATA=folder python benchmarks/calibration.py [--sets ...] [--wrong ...] [--rows N] [--seeds ...]

The expected calibration error of probabilities p of shape (n_rows, n_classes) on test rows is

    ECE = Σ_b n_b/n |accuracy_b − confidence_b|

over 15 bins of equal width from 0 to 1 of the largest probability of each row: confidence is its mean in a bin, and
accuracy how often its class is that of the test row.

A search chooses loss, C, kernel and gamma. Its peer is `CalibratedClassifierCV` of the best estimator, unfitted, with
``ensemble=False`` and the same folds. Both have the same training labels, of which a share is wrong. Probabilities that
were fitted to wrong labels tell how often such labels occur: there is a row for test labels of which the same share is
wrong, and one for right ones, beside which all these probabilities are too low. Prints a Markdown table with the log
loss of each method and its ECE in %, ours and the peer's, and on the last line the largest excess of an ECE over the
peer's.
"""

from __future__ import annotations

import argparse
import warnings
from tempfile import TemporaryDirectory

import numpy as np
from joblib import Memory
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import LabelEncoder, StandardScaler

from unisvm import FitWarning, UniSVMClassifierCV, datasets
from unisvm.model_selection.calibration import METHODS

SETS = ["spambase", "phoneme", "letter", "a9a", "ijcnn1", "mnist"]
MOST_TEST_ROWS = 10_000
RANK = 500
N_BINS = 15
#: probabilities below it count as this in a log loss, which is infinite at 0
LEAST_PROBABILITY = 1e-4


def expected_calibration_error(y: np.ndarray, probabilities: np.ndarray, classes: np.ndarray) -> float:
    """Mean distance of accuracy and confidence over bins of the largest probability, weighted by their rows."""
    confidence = probabilities.max(axis=1)
    is_right = classes[probabilities.argmax(axis=1)] == y
    bins = np.minimum((N_BINS * confidence).astype(int), N_BINS - 1)
    return float(np.abs(np.bincount(bins, is_right - confidence)).sum() / len(y))


class Remembered(ClassifierMixin, BaseEstimator):
    """A classifier that looks up fits that were made before, since the peer makes the same ones for each method.

    Parameters
    ----------
    estimator : estimator
    memory : joblib.Memory
    """

    def __init__(self, estimator, memory):
        self.estimator = estimator
        self.memory = memory

    def fit(self, X, y):
        """Fit, or look up the fit to these rows."""
        self.fitted_ = self.memory.cache(fitted)(self.estimator, X, y)
        self.classes_ = self.fitted_.classes_
        return self

    def decision_function(self, X):
        """Decisions of the fit."""
        return self.fitted_.decision_function(X)

    def predict(self, X):
        """Labels of the fit, which scikit-learn asks of every classifier."""
        return self.fitted_.predict(X)


def fitted(estimator, X, y):
    """A fitted copy of an estimator."""
    return clone(estimator).fit(X, y)


def load(name: str, n_rows: int, seed: int) -> list[np.ndarray]:
    """Scaled training and test rows, drawn by class, and their classes from 0: scikit-learn's temperature needs these.

    If the set has a split of its own, each part is drawn from its part.
    """
    data = datasets.load(name)
    if "X_train" in data:
        given = [data[f"{array}_{part}"] for array in "Xy" for part in ("train", "test")]
        parts = [draw(*given[::2], n_rows, seed)[0], draw(*given[1::2], MOST_TEST_ROWS, seed)[0]]
    else:
        train, left = draw(data["X"], data["y"], n_rows, seed)
        parts = [train, draw(*left, MOST_TEST_ROWS, seed)[0]]
    (X_train, y_train), (X_test, y_test) = parts
    scaler, encoder = StandardScaler().fit(X_train.astype(np.float32)), LabelEncoder().fit(y_train)
    rows = [scaler.transform(X.astype(np.float32)) for X in (X_train, X_test)]
    return rows + [encoder.transform(y) for y in (y_train, y_test)]


def draw(X: np.ndarray, y: np.ndarray, n_rows: int, seed: int) -> tuple[tuple, tuple]:
    """So many rows with their labels, drawn by class, or all; and the others."""
    if n_rows >= len(y):
        return (X, y), (X[:0], y[:0])
    chosen, others = train_test_split(np.arange(len(y)), train_size=n_rows, stratify=y, random_state=seed)
    return (X[chosen], y[chosen]), (X[others], y[others])


def compare(name: str, wrong: float, n_rows: int, seed: int) -> dict[float, np.ndarray]:
    """Log losses and calibration errors, of shape (n_methods, 2, 2), ours first, by the share of wrong test labels."""
    X_train, X_test, y_train, y_test = load(name, n_rows, seed)
    y_train, _ = datasets.flip_labels(y_train, wrong, random_state=seed)
    y_tests = {share: datasets.flip_labels(y_test, share, random_state=seed + 1)[0] for share in sorted({wrong, 0.0})}
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    search = UniSVMClassifierCV(["smooth_hinge", "saturating"], cv=folds, rank=RANK, random_state=seed)
    best = search.fit(X_train, y_train).best_params_
    # one cell is left to search for each method
    search.set_params(losses=[best["loss"]], Cs=[best["C"]], gammas=[best["gamma"]], kernel=best["kernel"])
    results = {share: np.empty((len(METHODS), 2, 2)) for share in y_tests}
    with TemporaryDirectory() as folder:
        memory = Memory(folder, verbose=0)
        for k, method in enumerate(METHODS):
            search.set_params(calibration=method).fit(X_train, y_train)
            model = Remembered(clone(search.best_estimator_), memory)
            peer = CalibratedClassifierCV(model, method=method, ensemble=False, cv=folds).fit(X_train, y_train)
            for i, each in enumerate((search, peer)):
                p = each.predict_proba(X_test)
                clipped = np.maximum(p, LEAST_PROBABILITY)
                clipped /= clipped.sum(axis=1, keepdims=True)
                for share, y in y_tests.items():
                    loss = log_loss(y, clipped, labels=each.classes_)
                    results[share][k, :, i] = loss, expected_calibration_error(y, p, each.classes_)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--wrong", nargs="*", type=float, default=[0.0, 0.2])
    parser.add_argument("--rows", type=int, default=2000, help="training rows at most")
    parser.add_argument("--seeds", nargs="*", type=int, default=[0], help="splits, over which the numbers are averaged")
    options = parser.parse_args()
    # few landmarks are what is asked for, and rows that are left out are part of the search
    warnings.simplefilter("ignore", FitWarning)
    columns = [f"{what}, {method}" for method in METHODS for what in ("log loss", "ECE %")]
    print(f"| set | wrong | of the test | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 3)}")
    excess = []
    for name in options.sets:
        for wrong in options.wrong:
            of_seeds = [compare(name, wrong, options.rows, seed) for seed in options.seeds]
            for share in of_seeds[0]:
                result = np.mean([results[share] for results in of_seeds], axis=0)
                cells = [
                    f"{loss[0]:.3f} / {loss[1]:.3f} | {100 * error[0]:.2f} / {100 * error[1]:.2f}"
                    for loss, error in result
                ]
                excess.append((result[:, 1, 0] - result[:, 1, 1]).max())
                print(f"| {name} | {100 * wrong:g} % | {100 * share:g} % | {' | '.join(cells)} |", flush=True)
    print(f"\nLargest excess of an ECE over the peer's: {100 * max(excess):.2f} points.")


if __name__ == "__main__":
    main()
