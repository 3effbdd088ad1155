"""Files that `to_onnx` writes, what they say of the model, and what it costs to run them."""

import json
import subprocess
import sys

import numpy as np
import onnx
import pytest

import unisvm
from onnx_export.models import check, fitted, rows
from unisvm import UniSVMClassifier

pytestmark = pytest.mark.filterwarnings("ignore::unisvm.FitWarning", "ignore::sklearn.exceptions.ConvergenceWarning")

#: writes a file that is larger than the process may write
TOO_LARGE = """
import resource
import sys
from sklearn.datasets import make_moons
import unisvm

X, y = make_moons(200, noise=0.2, random_state=0)
model = unisvm.UniSVMClassifier(rank_tol=0, C=1.0).fit(X, y)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    unisvm.to_onnx(model, sys.argv[1])
except OSError as error:
    print(error)
"""

#: the memory in MB that the rows of a Laplacian kernel take beyond that of the session
MEMORY = """
import resource
import numpy as np
import onnxruntime
import unisvm

rng = np.random.RandomState(0)
X = rng.randn(1000, 100)
model = unisvm.UniSVMClassifier("least_squares", kernel="laplacian", landmarks=X, C=1.0).fit(X, X[:, 0] > 0)
assert len(model.landmark_vectors_) == 1000
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
graph = unisvm.to_onnx(model).SerializeToString()
session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
rows = rng.randn(10_000, 100)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
labels, _ = session.run(None, {"X": rows})
assert (labels == model.predict(rows)).all()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


def python(code, *arguments):
    """What a process of its own prints that runs this code."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("as_path", [str, lambda path: path], ids=["str", "Path"])
def test_file_holds_the_model_that_is_returned(run, tmp_path, as_path):
    model, X = fitted("classes in pairs")
    file = tmp_path / "model.onnx"
    returned = unisvm.to_onnx(model, as_path(file))
    assert onnx.load(file) == returned
    assert list(tmp_path.iterdir()) == [file]
    check(run(file, X), model, X)


def test_file_is_replaced(tmp_path):
    file = tmp_path / "model.onnx"
    for task in ("classes in pairs", "one target"):
        returned = unisvm.to_onnx(fitted(task)[0], file)
    assert onnx.load(file) == returned
    assert list(tmp_path.iterdir()) == [file]


def test_file_that_cannot_be_written_is_not_there_in_part(tmp_path):
    file = tmp_path / "model.onnx"
    assert "File too large" in python(TOO_LARGE, file)
    assert list(tmp_path.iterdir()) == []
    file.write_text("the model before")
    python(TOO_LARGE, file)
    assert file.read_text() == "the model before"
    assert list(tmp_path.iterdir()) == [file]


def test_model_says_where_it_comes_from():
    pandas = pytest.importorskip("pandas")
    X, y = rows()
    table = pandas.DataFrame(X, columns=[*"abcde", "größe"])
    model = UniSVMClassifier(gamma=0.25, rank=30, C=1.0).fit(table, np.array(["no", "yes", "ja"])[y])
    onnx_model = unisvm.to_onnx(model)
    assert (onnx_model.producer_name, onnx_model.producer_version) == ("unisvm", unisvm.__version__)
    assert onnx_model.graph.name == "UniSVMClassifier"
    assert "UniSVMClassifier" in onnx_model.doc_string
    assert "30 landmarks" in onnx_model.doc_string
    properties = {each.key: each.value for each in onnx_model.metadata_props}
    assert json.loads(properties.pop("classes")) == ["ja", "no", "yes"]
    assert json.loads(properties.pop("features")) == [*"abcde", "größe"]
    assert properties == {
        "unisvm_version": unisvm.__version__,
        "estimator": "UniSVMClassifier",
        "kernel": "RBF(gamma=0.25)",
    }


def test_number_of_rows_is_left_open():
    for task, shape in (("classes in pairs", ["", 3]), ("two targets", ["", 2])):
        graph = unisvm.to_onnx(fitted(task)[0]).graph
        found = [
            [each.dim_param or each.dim_value or "" for each in value.type.tensor_type.shape.dim]
            for value in (graph.input[0], graph.output[-1])
        ]
        assert found == [["", 6], shape]


def test_laplacian_kernel_takes_little_memory():
    # 80 MB are kernel values; all differences at once would take 8 GB
    assert float(python(MEMORY)) < 400


def test_importing_unisvm_imports_no_onnx():
    code = "import sys, unisvm; print([name for name in sys.modules if name.split('.')[0] in sys.argv[1:]])"
    assert python(code, "onnx", "skl2onnx", "onnxruntime", "google") == "[]"
