"""Small fitted models of every kind, and what their graphs should give."""

from functools import cache

import numpy as np
from sklearn.base import is_classifier
from sklearn.datasets import make_classification

from unisvm import UniSVMClassifier, UniSVMRegressor, kernels

CENTRE, DIVISOR = np.linspace(-1, 1, 6), np.linspace(0.5, 2, 6)

KERNELS = {
    "linear": "linear",
    "linear with landmarks": "linear",
    "rbf": "rbf",
    "laplacian": "laplacian",
    "poly": kernels.Polynomial(0.2, 3, 1.0),
    "poly of degree 4": kernels.Polynomial(0.2, 4, 0.5),
    "poly of degree 1": kernels.Polynomial(0.2, 1),
    "sigmoid": kernels.Sigmoid(0.1, -0.2),
    "scaled rbf": kernels.Scaled(kernels.RBF(0.2), CENTRE, DIVISOR),
    "scaled laplacian": kernels.Scaled(kernels.Laplacian(0.2), 0.0, 2.0),
    "scaled twice": kernels.Scaled(kernels.Scaled(kernels.Linear(), CENTRE, DIVISOR), 0.0, DIVISOR),
    "precomputed": "precomputed",
}
TASKS = ("two classes", "classes in pairs", "classes against the rest", "labels", "one target", "two targets")


@cache
def rows(dtype=np.float64, n=1000):
    """Rows of six columns, and three classes that they tell."""
    X, y = make_classification(n + 300, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
    return X.astype(dtype), y


def targets(task, X, y):
    """Targets of this task."""
    if task == "two classes":
        return y > 0
    if task.startswith("classes"):
        return y
    if task == "labels":
        return np.stack([y == 0, y > 0, X[:, 0] > 0], axis=1).astype(int)
    values = np.stack([X[:, 0] * X[:, 1], 100 + np.sin(X[:, 2])], axis=1)
    return values[:, 1] if task == "one target" else values


@cache
def fitted(task, kernel="rbf", dtype=np.float64):
    """A model that is fitted to 300 rows, and 1,000 further rows."""
    X, y = rows(dtype)
    given, target = KERNELS[kernel], targets(task, X, y)
    train, new = X[:300], X[300:]
    parameters = {"kernel": given, "rank": 40, "C": 1.0, "random_state": 0}
    if kernel == "precomputed":
        train, new = ((part @ X[:300].T).astype(dtype) for part in (train, new))
    if kernel in ("linear with landmarks", "scaled twice"):
        parameters["landmarks"] = X[:30]
    if task == "classes against the rest":
        parameters["multi_class"] = "ovr"
    plain = UniSVMRegressor if task.endswith(("target", "targets")) else UniSVMClassifier
    return plain(**parameters).fit(train, target[:300]), new


def expected(model, X):
    """Outputs that the graph of a model should have, evaluated in double precision, but for its labels."""
    exact = X.astype(np.float64)
    if not is_classifier(model):
        return {"variable": model.predict(exact).reshape(len(X), -1)}
    labels = {"label": np.asarray(model.predict(X))}
    if hasattr(model, "predict_proba"):
        return labels | {"probabilities": model.predict_proba(exact)}
    scores = model.decision_function(exact)
    return labels | {"scores": np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores}


def check(outputs, model, X, tolerance=1e-5):
    """Raise unless the outputs of a graph are those of the model."""
    right = expected(model, X)
    assert list(outputs) == list(right)
    if "label" in right:
        np.testing.assert_array_equal(outputs["label"], right["label"])
    *_, real = right
    assert outputs[real].dtype == X.dtype
    np.testing.assert_allclose(outputs[real], right[real], rtol=tolerance, atol=tolerance)
