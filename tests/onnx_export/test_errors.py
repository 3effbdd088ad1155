"""What cannot be exported is refused with what to do, and nothing is written."""

import sys

import numpy as np
import pytest
import skl2onnx
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import unisvm
from onnx_export.models import fitted, rows
from unisvm import UniSVMClassifier, UniSVMClassifierCV, UniSVMRegressor, kernels, onnx_export
from unisvm.feature_selection import SparseUniSVMClassifier

pytestmark = pytest.mark.filterwarnings("ignore::unisvm.FitWarning", "ignore::sklearn.exceptions.ConvergenceWarning")


class OwnKernel(kernels.RBF):
    """A kernel of the user's."""

    def diagonal(self, X):
        return 2 * super().diagonal(X)


class OwnClassifier(UniSVMClassifier):
    """A classifier of the user's, which predicts otherwise."""

    def predict(self, X):
        return super().predict(X)[::-1]


def linear_kernel(X, Z):
    return X @ Z.T


@pytest.fixture
def refuses(tmp_path):
    """Checks that a model is refused with this message, and that no file is written."""

    def check_refusal(model, message, error=ValueError, **parameters):
        with pytest.raises(error, match=message):
            unisvm.to_onnx(model, tmp_path / "model.onnx", **parameters)
        assert list(tmp_path.iterdir()) == []

    return check_refusal


@pytest.mark.parametrize(
    "model",
    [
        UniSVMClassifier(),
        UniSVMRegressor(),
        UniSVMClassifierCV(),
        SparseUniSVMClassifier(),
        make_pipeline(StandardScaler(), UniSVMClassifier()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_that_are_not_fitted(refuses, model):
    refuses(model, "not fitted", NotFittedError)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        UniSVMClassifier,
        OwnClassifier(),
        make_pipeline(UniSVMClassifier(), LogisticRegression()),
        GridSearchCV(UniSVMClassifier(), {}),
        None,
        "model.onnx",
    ],
    ids=["other", "class", "subclass", "pipeline", "search that is not fitted", "None", "text"],
)
def test_other_models(refuses, model):
    refuses(model, "converts fitted estimators of unisvm, pipelines that end in one", TypeError)


def test_search_without_a_refit(refuses):
    X, y = rows()
    search = UniSVMClassifierCV(["feng"], Cs=[1.0], gammas=[0.2], cv=3, refit=False).fit(X[:200], y[:200])
    refuses(search, "with refit=False: there is no model to export. Fit it with refit=True")


@pytest.mark.parametrize(
    "kernel",
    [linear_kernel, OwnKernel(0.2), kernels.Scaled(OwnKernel(0.2), 0.0, 1.0), kernels.Function(linear_kernel)],
    ids=["function", "subclass", "scaled", "kernel of a function"],
)
def test_kernels_of_the_user(refuses, kernel):
    X, y = rows()
    model = UniSVMClassifier(kernel=kernel, rank=10, C=1.0).fit(X[:100], y[:100])
    refuses(model, "a kernel of your own, which ONNX has no operators for.*kernel='precomputed'")


def test_models_that_are_too_large(refuses):
    X, y = rows()
    model = UniSVMClassifier(rank=10, C=1.0).fit(X[:100], y[:100])
    landmarks = model.landmark_vectors_
    model.landmark_vectors_ = np.broadcast_to(landmarks[:1, :1], (1000, 300_000))
    refuses(model, r"\(1000, 300000\) take 2.2 GB in float64.*with arithmetic='float32'")
    model.landmark_vectors_ = np.broadcast_to(landmarks[:1, :1], (1000, 600_000))
    refuses(model, r"take 2.2 GB in float32.*fewer landmarks, by rank=", arithmetic="float32")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"dtype": "int64"}, "Unknown dtype 'int64'"),
        ({"dtype": "double precision"}, "Unknown dtype 'double precision'"),
        ({"dtype": np.float16}, "Unknown dtype 'float16'"),
        ({"arithmetic": "float16"}, "Unknown arithmetic 'float16'"),
        ({"target_opset": 17}, "target_opset must be an integer from 18 to [0-9]+.*got 17"),
        ({"target_opset": 1000}, "got 1000"),
        ({"target_opset": "18"}, "got '18'"),
        ({"target_opset": None}, "got None"),
    ],
)
def test_parameters(refuses, parameters, message):
    refuses(fitted("one target")[0], message, **parameters)


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("", TypeError, "path must be that of a file, or None for none; got ''"),
        (7, TypeError, "got 7"),
        ("folder", IsADirectoryError, "is a folder: give the path of a file in it"),
        ("nowhere/model.onnx", FileNotFoundError, "nowhere' is not there: make it first"),
    ],
)
def test_paths(tmp_path, monkeypatch, path, error, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(error, match=message):
        # before the model is looked at
        unisvm.to_onnx(None, path)
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("package", ["onnx", "skl2onnx"])
def test_missing_packages(refuses, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    message = r"Exporting to ONNX needs onnx and skl2onnx: pip install 'unisvm\[onnx\]'"
    refuses(fitted("one target")[0], message, ImportError)
    with pytest.raises(ImportError, match=message):
        onnx_export.register()


# ------------------------------------------------------------------ parts of other models


def test_selection_of_columns_by_a_model_in_a_pipeline(refuses):
    X, y = rows()
    model = make_pipeline(SparseUniSVMClassifier(alpha=0.01, width=0.01), UniSVMClassifier(rank=10, C=1.0)).fit(X, y)
    refuses(model, "The step 'sparseunisvmclassifier' selects columns.*Put a ColumnTransformer there")
    onnx_export.register()
    with pytest.raises(ValueError, match=r"takes one input, the matrix X, but gets 2: .*put a ColumnTransformer"):
        skl2onnx.to_onnx(model, X)


def test_pipeline_over_texts(refuses):
    model = make_pipeline(TfidfVectorizer(), UniSVMClassifier(kernel="linear", C=1.0))
    model.fit(["good", "bad", "very good", "very bad"], [1, 0, 1, 0])
    refuses(model, "was not fitted to a matrix of numbers. Call unisvm.onnx_export.register")


def test_rows_with_other_columns():
    onnx_export.register()
    model, X = fitted("one target")
    with pytest.raises(ValueError, match="UniSVMRegressor was fitted with 6 columns, but its input has 5"):
        skl2onnx.to_onnx(model, X[:, :5])


def test_tables_of_columns():
    pandas = pytest.importorskip("pandas")
    onnx_export.register()
    model, X = fitted("one target")
    with pytest.raises(ValueError, match="takes one input, the matrix X, but gets 6: a, b, c, d, e, f"):
        skl2onnx.to_onnx(model, pandas.DataFrame(X, columns=list("abcdef")))


def test_old_versions_of_the_operators():
    onnx_export.register()
    model, X = fitted("one target")
    with pytest.raises(ValueError, match="target_opset must be 18 or higher, got 15"):
        skl2onnx.to_onnx(model, X, target_opset=15)


def test_models_of_other_packages_are_not_converted_by_ours():
    class Other(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

    onnx_export.register(Other)
    X, y = rows()
    with pytest.raises(TypeError, match=r"Only estimators of unisvm are converted by it, got Other\(\)"):
        skl2onnx.to_onnx(Other().fit(X, y), X)
