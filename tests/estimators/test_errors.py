"""Every mistake is refused with a message that names it, before anything is computed or stored."""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from unisvm import UniSVMClassifier, UniSVMRegressor, kernels, losses, solvers

X, y = make_moons(60, noise=0.2, random_state=0)
WAVE = np.sin(3 * X[:, 0]) + X[:, 1]
GRAM = X @ X.T
ESTIMATORS = pytest.mark.parametrize(
    ("cls", "target"), [(UniSVMClassifier, y), (UniSVMRegressor, WAVE)], ids=["classifier", "regressor"]
)


def refused(model, exception, fragments, rows, target, weights=None):
    """Fitting raises, the message holds the fragments, and the estimator is as if it had not been called."""
    with pytest.raises(exception) as error:
        model.fit(rows, target, sample_weight=weights)
    for fragment in fragments:
        assert fragment in str(error.value)
    # scikit-learn's own checks store the width and the names of X
    learned = {name for name in vars(model) if name.endswith("_")} - {"n_features_in_", "feature_names_in_"}
    assert learned == set()


# ------------------------------------------------------------------ parameters

PARAMETERS = [
    # names, with the nearest offered
    ({"kernel": "rbff"}, ValueError, ["kernel", "'rbff'", "did you mean 'rbf'"]),
    ({"kernel": "polynomial"}, ValueError, ["kernel", "'polynomial'", "'poly'"]),
    ({"kernel": 3}, ValueError, ["kernel", "3", "'rbf'", "'precomputed'"]),
    ({"kernel": None}, ValueError, ["kernel", "None", "'rbf'"]),
    ({"kernel": kernels.RBF}, (TypeError, ValueError), ["kernel", "RBF"]),
    ({"landmarks": "rpcholeski"}, ValueError, ["landmark", "'rpcholeski'", "did you mean 'rpcholesky'"]),
    ({"landmarks": "kmeans"}, ValueError, ["landmark", "'kmeans'", "'uniform'"]),
    ({"solver": "lbfg"}, ValueError, ["solver", "'lbfg'", "did you mean 'lbfgs'"]),
    ({"solver": "smo"}, ValueError, ["solver", "'smo'", "'dca'"]),
    ({"solver": None}, ValueError, ["solver", "None", "'dca'"]),
    ({"solver": solvers.DCA}, ValueError, ["solver", "DCA"]),
    ({"gamma": "scal"}, ValueError, ["gamma", "'scal'", "did you mean 'scale'"]),
    ({"gamma": "median"}, ValueError, ["gamma", "'median'", "'scale'", "'auto'"]),
    ({"loss": "saturatin"}, ValueError, ["loss", "'saturatin'", "'saturating'"]),
    ({"loss": "hubber"}, ValueError, ["loss", "'hubber'", "'huber'"]),
    ({"loss": 3}, TypeError, ["loss", "int", "losses.custom"]),
    ({"loss": np.square}, TypeError, ["loss", "losses.custom"]),
    ({"loss": losses.LeastSquares}, TypeError, ["loss", "instance"]),
    (
        {"loss": losses.TruncatedLeastSquares().set_params(a=-1.0)},
        ValueError,
        ["TruncatedLeastSquares", "a must", "-1"],
    ),
    ({"kernel_params": {"degree": 2}}, ValueError, ["kernel_params", "function"]),
    # numbers
    *(
        ({"C": value}, ValueError, ["C must", repr(value)])
        for value in (0, 0.0, -1.0, np.nan, np.inf, "1", None, [1.0])
    ),
    *(
        ({"gamma": value}, ValueError, ["gamma must", "positive", "'scale'"])
        for value in (0, -1.0, np.nan, np.inf, None, [0.5], np.array([0.5, 1.0]))
    ),
    *(({"rank": value}, ValueError, ["rank must", "None", repr(value)]) for value in (0, -5, 2.5, "all", True)),
    *(
        ({"rank_tol": value}, ValueError, ["rank_tol must", repr(value)])
        for value in (-1e-3, 1, 2.0, np.nan, None, "a")
    ),
    *(({"tol": value}, ValueError, ["tol must", repr(value)]) for value in (0, -1e-4, np.nan, np.inf, None, "small")),
    *(({"max_iter": value}, ValueError, ["max_iter must", repr(value)]) for value in (0, -1, 10.0, None, "10")),
    *(({"n_jobs": value}, ValueError, ["n_jobs must", repr(value)]) for value in (0, 1.5, "2")),
    *(
        ({"memory_limit": value}, ValueError, ["memory_limit must", "'4GB'", repr(value)])
        for value in (0, -1, 0.0, -0.5, 1.5, np.nan, "4 bananas", "", "-1GB", "0GB", [1])
    ),
    *(({"verbose": value}, ValueError, ["verbose"]) for value in ("loud", None)),
    *(({"kernel": "poly", "degree": value}, ValueError, ["degree"]) for value in ("3", None, np.nan)),
    *(({"kernel": "poly", "coef0": value}, ValueError, ["coef0"]) for value in ("1", None, np.nan)),
    # landmarks
    ({"landmarks": [0, 60]}, ValueError, ["andmark", "0 to 59", "60"]),
    ({"landmarks": [-1, 3]}, ValueError, ["andmark", "0 to 59", "-1"]),
    ({"landmarks": [0.0, 1.0]}, ValueError, ["landmarks must", "1-D integers", "2-D", "float64"]),
    ({"landmarks": [True, False] * 30}, ValueError, ["landmarks must", "1-D integers", "bool"]),
    ({"landmarks": []}, ValueError, ["landmarks must", "1-D integers"]),
    ({"landmarks": None}, ValueError, ["landmarks must", "'rpcholesky'"]),
    ({"landmarks": 7}, ValueError, ["landmarks must", "1-D integers"]),
    ({"landmarks": np.zeros((2, 2, 2))}, ValueError, ["landmarks must", "2-D"]),
    ({"landmarks": np.zeros((4, 3))}, ValueError, ["landmarks", "3 columns", "X has 2"]),
    ({"landmarks": np.array([[0.0, np.nan]])}, ValueError, ["landmarks", "NaN"]),
    ({"landmarks": sparse.csr_array(np.eye(3))}, ValueError, ["landmarks", "3 columns", "X has 2"]),
]


@ESTIMATORS
@pytest.mark.parametrize(
    ("parameters", "exception", "fragments"),
    PARAMETERS,
    ids=[re.sub(r"\s+", " ", ",".join(f"{k}={v!r}" for k, v in p.items()))[:50] for p, _, _ in PARAMETERS],
)
def test_parameters(cls, target, parameters, exception, fragments):
    refused(cls(**parameters), exception, fragments, X, target)


@pytest.mark.parametrize("loss", ["huber", "pinball", losses.Welsch()], ids=str)
def test_regression_loss_for_the_classifier(loss):
    usable = [repr(name) for name in losses.names("classification")]
    refused(UniSVMClassifier(loss), ValueError, ["not for classification", *usable], X, y)


@pytest.mark.parametrize("loss", ["saturating", "hinge", losses.Feng()], ids=str)
def test_classification_loss_for_the_regressor(loss):
    usable = [repr(name) for name in losses.names("regression")]
    refused(UniSVMRegressor(loss), ValueError, ["not for regression", *usable], X, WAVE)


@pytest.mark.parametrize(
    ("class_weight", "fragments"),
    [
        ("balancd", ["class_weight", "balanced"]),
        ({5: 1.0}, ["class_weight", "0, 1"]),
        ({0: 0.0, 1: 0.0}, ["weight"]),
        ({0: 0.0, 1: 1.0}, ["class", "weight"]),
        ({0: -1.0, 1: 1.0}, ["class_weight", "egative"]),
        ({0: np.nan, 1: 1.0}, ["class_weight", "NaN"]),
    ],
    ids=str,
)
def test_class_weight(class_weight, fragments):
    refused(UniSVMClassifier(class_weight=class_weight), ValueError, fragments, X, y)


@pytest.mark.parametrize(("number", "word"), [(-1.0, "egative"), (np.nan, "NaN")])
def test_class_weight_of_one_class_among_several(number, word):
    # with two classes left, the check for a single class does not step in
    three = np.arange(60) % 3
    refused(UniSVMClassifier(class_weight={0: number, 1: 1.0, 2: 1.0}), ValueError, ["class_weight", word], X, three)


# ------------------------------------------------------------------ data


def spoiled(array, value):
    array = array.astype(float)
    array.flat[5] = value
    return array


@ESTIMATORS
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("kind", ["X", "sparse X", "y", "sample_weight"])
def test_numbers_that_are_none(cls, target, kind, value, word):
    rows = spoiled(X, value) if "X" in kind else X
    rows = sparse.csr_array(rows) if "sparse" in kind else rows
    target = spoiled(target, value) if kind == "y" else target
    weights = spoiled(np.ones(60), value) if kind == "sample_weight" else None
    refused(cls(), ValueError, [f"Input {kind.split()[-1]} contains", word], rows, target, weights)


DATA = {
    "negative-weight": (lambda t: (X, t, spoiled(np.ones(60), -1.0)), ["sample_weight", "egative"]),
    "zero-weights": (lambda t: (X, t, np.zeros(60)), ["weights are zero", "at least one row"]),
    "short-weights": (lambda t: (X, t, np.ones(59)), ["sample_weight", "(60,)", "(59,)"]),
    "flat-weights": (lambda t: (X, t, np.ones((60, 2))), ["sample_weight", "(60,)", "(60, 2)"]),
    "short-y": (lambda t: (X, t[:59], None), ["inconsistent numbers of samples", "60", "59"]),
    "cubic-y": (lambda t: (X, np.zeros((60, 2, 2)), None), ["dim 3"]),
    "no-y": (lambda t: (X, None, None), ["requires y"]),
    "flat-X": (lambda t: (X[:, 0], t, None), ["Expected 2D array", "eshape"]),
    "text-X": (lambda t: (np.full((60, 2), "a"), t, None), ["column 0", "'a'"]),
    "complex-X": (lambda t: (X + 1j, t, None), ["Complex data not supported"]),
    "empty-X": (lambda t: (X[:0], t[:0], None), ["0 sample"]),
}


@ESTIMATORS
@pytest.mark.parametrize(("make", "fragments"), DATA.values(), ids=DATA.keys())
def test_data(cls, target, make, fragments):
    refused(cls(), ValueError, fragments, *make(target))


@pytest.mark.parametrize("weights", [None, np.where(y == 0, 0.0, 1.0)], ids=["y", "weights"])
def test_one_class(weights):
    target = np.full(60, "only") if weights is None else np.array(["other", "only"])[y]
    refused(UniSVMClassifier(), ValueError, ["class", "'only'", "Check y"], X, target, weights)


def test_labels_of_the_wrong_kind():
    refused(UniSVMClassifier(), ValueError, ["label type", "continuous"], X, WAVE)
    several = np.stack([y, y + 2], axis=1)
    refused(UniSVMClassifier(), ValueError, ["y must be", "MultiOutputClassifier"], X, several)
    refused(UniSVMRegressor(), ValueError, ["string"], X, np.array(["no", "yes"])[y])


PRECOMPUTED = {
    "not-square": (GRAM[:, :50], {}, ["square", "(60, 50)"]),
    "not-symmetric": (GRAM + np.triu(np.ones((60, 60)), 1), {}, ["symmetric"]),
    "indefinite": (-GRAM, {"indefinite": "raise"}, ["positive semidefinite", "eigenvalue", "flip"]),
    "points": (GRAM, {"landmarks": X[:5]}, ["landmarks must", "row indices", "(5, 2)"]),
    "out-of-range": (GRAM, {"landmarks": [0, 60]}, ["andmark", "0 to 59", "60"]),
}


@ESTIMATORS
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize(("matrix", "parameters", "fragments"), PRECOMPUTED.values(), ids=PRECOMPUTED.keys())
def test_precomputed(cls, target, container, matrix, parameters, fragments):
    refused(cls(kernel="precomputed", **parameters), ValueError, fragments, container(matrix), target)


@ESTIMATORS
def test_landmarks_of_a_precomputed_kernel_have_positive_weight(cls, target):
    weights = np.r_[0.0, np.ones(59)]
    model = cls(kernel="precomputed", landmarks=[0, 1])
    refused(model, ValueError, ["andmark", "positive weight"], GRAM, target, weights)


@ESTIMATORS
@pytest.mark.parametrize("limit", ["1KB", 1000, 1e-7], ids=str)
def test_memory_limit(cls, target, limit):
    evaluated = []

    def kernel(A, B):
        evaluated.append(len(A))
        return A @ B.T

    fragments = ["memory_limit", "60 rows", "60 landmarks", "Lower rank", "float32"]
    refused(cls(rank=None, kernel=kernel, memory_limit=limit), MemoryError, fragments, X, target)
    assert evaluated == []


@ESTIMATORS
def test_memory_limit_counts_what_is_used(cls, target):
    # the same data pass with what the message asks for
    with pytest.raises(MemoryError):
        cls(C=1.0, memory_limit="10KB").fit(X, target)
    assert cls(C=1.0, memory_limit="10KB", rank=10, rank_tol=0.0).fit(X, target).rank_ == 10
    cls(memory_limit="1MB").fit(X, target)
    cls(memory_limit=0.5).fit(X, target)


# ------------------------------------------------------------------ use


@ESTIMATORS
def test_use_before_fit(cls, target):
    calls = [lambda model: model.predict(X), lambda model: model.trust(X, target)]
    if cls is UniSVMClassifier:
        calls.append(lambda model: model.decision_function(X))
    for call in calls:
        with pytest.raises(NotFittedError, match="not fitted yet"):
            call(cls())


@ESTIMATORS
def test_rows_of_the_wrong_width(cls, target):
    model = cls().fit(X, target)
    for rows in (X[:, :1], np.hstack([X, X]), sparse.csr_array(X[:, :1])):
        with pytest.raises(ValueError, match=rf"has {rows.shape[1]} features.*expecting 2"):
            model.predict(rows)
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.predict(spoiled(X, np.nan))
    precomputed = cls(kernel="precomputed").fit(GRAM, target)
    with pytest.raises(ValueError, match=r"has 5 features.*expecting 60"):
        precomputed.predict(GRAM[:, :5])


def test_trust_of_unknown_labels():
    model = UniSVMClassifier().fit(X, np.array(["no", "yes"])[y])
    with pytest.raises(ValueError, match=r"not trained on.*'maybe'"):
        model.trust(X[:2], ["no", "maybe"])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples.*60, 2"):
        model.trust(X, ["no", "yes"])


def test_trust_of_the_wrong_shape():
    multilabel = UniSVMClassifier().fit(X, np.stack([y, 1 - y], axis=1))
    for labels in (y, np.zeros((60, 3))):
        with pytest.raises(ValueError, match=r"y must be.*\(60, 2\)"):
            multilabel.trust(X, labels)
    regressor = UniSVMRegressor().fit(X, np.stack([WAVE, WAVE], axis=1))
    for target in (WAVE, np.zeros((60, 3))):
        with pytest.raises(ValueError, match="y must have 2 columns"):
            regressor.trust(X, target)


def test_trust_of_targets_that_are_none():
    with pytest.raises(ValueError, match="y contains NaN"):
        UniSVMRegressor().fit(X, WAVE).trust(X, spoiled(WAVE, np.nan))


# ------------------------------------------------------------------ warnings


@ESTIMATORS
@pytest.mark.parametrize("solver", ["lbfgs", "dca"])
def test_too_few_iterations(cls, target, solver):
    loss = "logistic" if cls is UniSVMClassifier else "absolute"
    model = cls(loss, max_iter=2, tol=1e-9, C=10.0, solver=solver)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X, target)
    (warning,) = caught
    message = str(warning.message)
    assert model.n_iter_ == 2
    for fragment in ("max_iter=2", f"stationarity {model.stationarity_:.2g}", "tol=1e-09", "Raise max_iter"):
        assert fragment in message
    # the warning points at the call, not into the library
    assert warning.filename == __file__
    # and the model can be used all the same
    assert np.isfinite(model.predict(X)).all()


@ESTIMATORS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_precision_than_there_is(cls, target, dtype):
    with pytest.warns(ConvergenceWarning, match="rounding error.*raise tol") as caught:
        cls(tol=1e-300).fit(X.astype(dtype), target)
    # advice that can be taken
    assert ("give it in float64" in str(caught[0].message)) == (dtype == np.float32)


def test_kernel_function_that_misbehaves():
    with pytest.raises(ValueError, match=r"kernel function must return.*\(60, 2\)"):
        UniSVMClassifier(kernel=lambda A, B: A @ A.T, landmarks=[1, 2]).fit(X, y)
    with pytest.raises(ValueError, match="kernel function returned NaN"):
        UniSVMClassifier(kernel=lambda A, B: np.nan * (A @ B.T)).fit(X, y)
    with pytest.raises(ValueError, match=r"not positive semidefinite.*eigenvalue"):
        UniSVMClassifier(kernel=lambda A, B: np.tanh(2 * A @ B.T - 1), indefinite="raise").fit(X, y)
