"""Make the golden files: small models as this version saves them, with rows and what their models say of these.

    python tests/model_files/golden/make.py

Files that were made once stay as they are: later versions have to load them. A new format has files of its own.
"""

import json
from pathlib import Path

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import unisvm
from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, losses
from unisvm.tables import TableEncoder

FOLDER = Path(__file__).resolve().parent
SETTINGS = {"rank": 8, "random_state": 0, "tol": 1e-2}


def models():
    """Fitted models by the names of their files."""
    rng = np.random.RandomState(0)
    X = np.round(rng.randn(60, 3), 2)
    letters = np.array(["ant", "bee", "zebu"])[np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.2])]
    wave = np.sin(2 * X[:, 0]) + X[:, 2]
    classifier = UniSVMClassifier(losses.Feng(a=3.0), C=2.0, class_weight={"zebu": 2.0}, **SETTINGS)
    regressor = UniSVMRegressor("welsch", kernel="laplacian", scale="standard", **SETTINGS)
    search = UniSVMClassifierCV(["hinge", "feng"], Cs=[1.0, 10.0], gammas=[0.1, "scale"], cv=3, **SETTINGS)
    encoded = Pipeline(
        [("columns", TableEncoder(scale="standard")), ("machine", UniSVMClassifier("hinge", C=1.0, **SETTINGS))]
    )
    pipeline = make_pipeline(StandardScaler(), UniSVMClassifier(kernel="poly", C=1.0, **SETTINGS))
    return X, {
        "classifier": classifier.fit(X, letters),
        "regressor": regressor.fit(X.astype(np.float32), wave),
        "search": search.fit(X, letters == "bee"),
        "pipeline": pipeline.fit(X * [1, 100, 1], letters),
        "table": encoded.fit(table(X), letters),
    }


def table(X):
    """The rows as columns of numbers and text, some of them missing."""
    towns = np.array(["Ulm", "Köln", None])[np.digitize(X[:, 1], [0.0, 1.5])]
    return {"size": [None if x > 1.5 else 100 * x for x in X[:, 0].tolist()], "town": towns.tolist()}


def main():
    X, fitted = models()
    for name, model in fitted.items():
        path = FOLDER / f"{name}.unisvm"
        if path.exists():
            continue
        rows = table(X[:10]) if name == "table" else X[:10] * ([1, 100, 1] if name == "pipeline" else 1)
        unisvm.save(model, path, extra={"made by": "make.py"})
        said = {
            method: getattr(model, method)(rows).tolist()
            for method in ("predict", "decision_function", "predict_proba")
            if hasattr(model, method)
        }
        given = rows if isinstance(rows, dict) else rows.tolist()
        path.with_suffix(".json").write_text(
            json.dumps({"rows": given, "answers": said}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
