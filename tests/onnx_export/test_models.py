"""The graph of every estimator, kernel and task gives the model's labels and scores."""

import numpy as np
import onnx
import pytest
import skl2onnx
from scipy import sparse

import unisvm
from onnx_export.models import KERNELS, TASKS, check, fitted, rows
from unisvm import (
    UniSVMClassifier,
    UniSVMClassifierCV,
    UniSVMRegressor,
    UniSVMRegressorCV,
    baselines,
    kernels,
)
from unisvm.feature_selection import SparseUniSVMClassifier, SparseUniSVMRegressor

pytestmark = pytest.mark.filterwarnings("ignore::unisvm.FitWarning", "ignore::sklearn.exceptions.ConvergenceWarning")

single_and_double = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["single", "double"])
TOLERANCE = {np.float32: 1e-5, np.float64: 1e-10}
SEARCH = {"Cs": [1.0], "gammas": [0.2], "cv": 3, "random_state": 0}


@single_and_double
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("task", TASKS)
def test_graph_gives_what_the_model_gives(run, task, kernel, dtype):
    model, X = fitted(task, kernel, dtype)
    onnx_model = unisvm.to_onnx(model)
    onnx.checker.check_model(onnx_model, full_check=True)
    check(run(onnx_model, X), model, X, TOLERANCE[dtype])


@single_and_double
@pytest.mark.parametrize("calibration", ["sigmoid", "isotonic", "temperature"])
@pytest.mark.parametrize("task", ["two classes", "three classes", "labels"])
def test_probabilities_are_those_of_the_search(run, task, calibration, dtype):
    X, y = rows(dtype)
    target = {"two classes": y == 1, "three classes": y, "labels": np.stack([y == 0, y > 0], axis=1).astype(int)}[task]
    model = UniSVMClassifierCV(["feng"], calibration=calibration, rank=40, **SEARCH).fit(X[:300], target[:300])
    check(run(unisvm.to_onnx(model), X[300:]), model, X[300:], 10 * TOLERANCE[dtype])


def test_scores_in_place_of_probabilities(run):
    X, y = rows()
    model = UniSVMClassifierCV(["feng"], **SEARCH).fit(X[:300], y[:300])
    outputs = run(unisvm.to_onnx(model, raw_scores=True), X)
    assert list(outputs) == ["label", "scores"]
    np.testing.assert_allclose(outputs["scores"], model.decision_function(X), atol=1e-10)


def test_rows_that_no_class_is_likely_for_have_equal_probabilities(run):
    # isotonic curves are 0 for low decisions, and far from all landmarks no decision is high
    X, y = rows()
    model = UniSVMClassifierCV(["feng"], calibration="isotonic", fit_intercept=False, **SEARCH).fit(X[:300], y[:300])
    curve = model.calibration_.curves[0]
    assert curve.thresholds[1][0] == 0
    far = np.full((3, 6), 1e3)
    check(run(unisvm.to_onnx(model), far), model, far)


@pytest.mark.parametrize("targets", [1, 2], ids=["one target", "two targets"])
def test_search_over_real_targets(run, targets):
    X, _ = rows()
    y = X[:, :targets] * X[:, 2:3]
    model = UniSVMRegressorCV(["huber"], **SEARCH).fit(X[:300], y[:300].squeeze())
    check(run(unisvm.to_onnx(model), X[300:]), model, X[300:])


@single_and_double
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifier_that_selects_columns(run, n_classes, dtype):
    X, y = rows(dtype)
    y = np.minimum(y, n_classes - 1)
    model = SparseUniSVMClassifier(alpha=0.01, width=0.01).fit(X[:300], y[:300])
    check(run(unisvm.to_onnx(model), X[300:]), model, X[300:], TOLERANCE[dtype])


@single_and_double
def test_regressor_that_selects_columns(run, dtype):
    X, _ = rows(dtype)
    model = SparseUniSVMRegressor(alpha=0.01, width=0.01).fit(X[:300], 5 * X[:300, 1] + 7)
    check(run(unisvm.to_onnx(model), X[300:]), model, X[300:], TOLERANCE[dtype])


@pytest.mark.parametrize("model", [baselines.LSSVM(gamma=0.2), baselines.PrimalLSSVR(kernel="laplacian", gamma=0.2)])
def test_comparators(run, model):
    X, y = rows()
    model.fit(X[:200], y[:200] > 0)
    check(run(unisvm.to_onnx(model), X), model, X)


# ------------------------------------------------------------------ labels


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ([5, -3, 2**40], "i"),
        (np.array([1, 2, 250], dtype=np.uint8), "i"),
        (["no", "yes", "Übung"], "O"),
        (np.array(["a", "b", "c"], dtype=object), "O"),
        ([-1.0, 0.0, 1.0], "i"),
    ],
    ids=["int", "uint8", "str", "object", "whole numbers"],
)
def test_labels(run, names, kind):
    X, y = rows()
    labels = np.asarray(names)[y]
    model = UniSVMClassifier(rank=30, C=1.0, random_state=0).fit(X[:300], labels[:300])
    found = run(unisvm.to_onnx(model), X)["label"]
    assert found.dtype.kind == kind
    np.testing.assert_array_equal(found, model.predict(X))


def test_false_and_true_are_0_and_1(run):
    model, X = fitted("two classes")
    assert model.classes_.dtype == bool
    found = run(unisvm.to_onnx(model), X)["label"]
    assert set(found) == {0, 1}


def test_labels_that_onnx_does_not_have_are_refused():
    X, y = rows()
    labels = np.array([0, 2**64 - 1], dtype=np.uint64)[(y > 0).astype(int)]
    model = UniSVMClassifier(rank=30, C=1.0, random_state=0).fit(X, labels)
    with pytest.raises(ValueError, match="Labels in ONNX are integers or strings, but the model has the classes"):
        unisvm.to_onnx(model)


# ------------------------------------------------------------------ unusual fits and rows


@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "poly", "sigmoid"])
@pytest.mark.parametrize("n_columns", [1, 6])
@pytest.mark.parametrize("n_landmarks", [1, 7])
def test_few_landmarks_and_columns(run, kernel, n_columns, n_landmarks):
    X, y = rows()
    X = X[:, :n_columns]
    model = UniSVMClassifier(kernel=kernel, landmarks=X[:n_landmarks], C=1.0, fit_intercept=False).fit(X, y)
    check(run(unisvm.to_onnx(model), X), model, X)


@single_and_double
@pytest.mark.parametrize("kernel", ["linear", "rbf", "laplacian", "poly"])
def test_sparse_landmarks(run, kernel, dtype):
    X, y = rows(dtype)
    X = np.where(np.abs(X) > 1, X, 0).astype(dtype)
    model = UniSVMClassifier(kernel=kernel, rank=30, C=1.0, random_state=0).fit(sparse.csr_array(X), y)
    assert model.landmark_vectors_ is None or sparse.issparse(model.landmark_vectors_)
    check(run(unisvm.to_onnx(model), X), model, X, TOLERANCE[dtype])


def test_scaled_kernel_of_sparse_rows(run):
    X, y = rows()
    X = np.where(np.abs(X) > 1, X, 0)
    kernel = kernels.Scaled(kernels.RBF(0.2), 0.0, np.linspace(0.5, 2, 6))
    model = UniSVMClassifier(kernel=kernel, rank=30, C=1.0, random_state=0).fit(sparse.csr_array(X), y)
    check(run(unisvm.to_onnx(model), X), model, X)


@pytest.mark.parametrize("intercept", [False, "penalised"])
def test_intercepts(run, intercept):
    X, y = rows()
    model = UniSVMClassifier(rank=30, C=1.0, fit_intercept=intercept, random_state=0).fit(X, y)
    check(run(unisvm.to_onnx(model), X), model, X)


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS if kernel != "precomputed"])
@pytest.mark.parametrize("n_rows", [0, 1, 2, 5000])
def test_any_number_of_rows(run, kernel, n_rows):
    model, X = fitted("classes in pairs", kernel)
    outputs = run(unisvm.to_onnx(model), np.tile(X, (5, 1))[:n_rows])
    assert outputs["label"].shape == (n_rows,)
    assert outputs["scores"].shape == (n_rows, 3)
    np.testing.assert_array_equal(outputs["label"], np.tile(model.predict(X), 5)[:n_rows])


@pytest.mark.parametrize("n_rows", [0, 1])
def test_any_number_of_rows_for_probabilities(run, n_rows):
    X, y = rows()
    model = UniSVMClassifierCV(["feng"], calibration="isotonic", **SEARCH).fit(X[:300], y[:300])
    assert run(unisvm.to_onnx(model), X[:n_rows])["probabilities"].shape == (n_rows, 3)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "poly"])
@pytest.mark.parametrize("offset", [1e3, 1e5])
def test_columns_far_from_the_origin_in_single_precision(run, kernel, offset):
    X, y = rows()
    X = (X + offset).astype(np.float32)
    model = UniSVMClassifier(kernel=kernel, gamma=0.2, degree=2, rank=40, C=1.0, random_state=0).fit(X[:300], y[:300])
    outputs = run(unisvm.to_onnx(model), X)
    exact = model.decision_function(X.astype(np.float64))
    np.testing.assert_allclose(outputs["scores"], exact, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(outputs["label"], model.predict(X.astype(np.float64)))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_rows_with_huge_values_have_the_intercept(run, kernel):
    model, X = fitted("classes against the rest", kernel, np.float32)
    far = X[:4].copy()
    far[0, 0], far[1, 1], far[2, :], far[3, :] = 1e15, -1e18, 1e15, -1e18
    scores = run(unisvm.to_onnx(model), far)["scores"]
    np.testing.assert_allclose(scores, np.tile(model.intercept_, (4, 1)), rtol=1e-6)


@single_and_double
def test_landmarks_that_are_far_from_each_other(run, dtype):
    # ‖x‖² of the far ones has no digits left for their distances, from any origin
    X, y = rows(dtype)
    X = X.copy()
    X[::10] += dtype(2**20)
    X = np.round(X * 8) / 8
    model = UniSVMClassifier(gamma=0.2, landmarks=X[:40], C=1.0).fit(X[:300], y[:300])
    exact = model.decision_function(X.astype(np.float64))
    for arithmetic, tolerance in (("float32", 1e-3), ("float64", 1e-5)):
        scores = run(unisvm.to_onnx(model, arithmetic=arithmetic), X)["scores"]
        np.testing.assert_allclose(scores, exact, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("offset", "gap", "by_differences"), [(0, 0, False), (1e6, 0, False), (0, 1e9, True)], ids=["near", "far", "apart"]
)
def test_landmarks_are_compared_by_differences_if_they_are_far_apart(offset, gap, by_differences):
    X = offset + np.concatenate([np.linspace(0, 1, 50), gap + np.linspace(1, 2, 50)])[:, None]
    model = UniSVMRegressor(gamma=1.0, landmarks=X[::10], C=1.0).fit(X, np.sin(X[:, 0]))
    for arithmetic in ("float32", "float64"):
        nodes = unisvm.to_onnx(model, arithmetic=arithmetic).graph.node
        assert any(node.op_type == "Scan" for node in nodes) == by_differences


# ------------------------------------------------------------------ precisions


@single_and_double
def test_input_has_the_type_of_the_fit_by_default(dtype):
    model, _ = fitted("one target", "rbf", dtype)
    (given,) = unisvm.to_onnx(model).graph.input
    expected = onnx.TensorProto.FLOAT if dtype is np.float32 else onnx.TensorProto.DOUBLE
    assert given.type.tensor_type.elem_type == expected


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype(np.float64), float])
def test_input_of_another_type(run, dtype):
    for fit_dtype in (np.float32, np.float64):
        model, X = fitted("classes in pairs", "rbf", fit_dtype)
        X = X.astype(dtype)
        outputs = run(unisvm.to_onnx(model, dtype=dtype), X)
        assert outputs["scores"].dtype == X.dtype
        np.testing.assert_allclose(outputs["scores"], model.decision_function(X.astype(float)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly", "sigmoid", "linear"])
def test_arithmetic_in_single_precision_has_no_doubles(run, kernel):
    model, X = fitted("classes in pairs", kernel, np.float32)
    onnx_model = unisvm.to_onnx(model, arithmetic="float32")
    assert onnx.TensorProto.DOUBLE not in {tensor.data_type for tensor in onnx_model.graph.initializer}
    inferred = onnx.shape_inference.infer_shapes(onnx_model, strict_mode=True).graph.value_info
    assert onnx.TensorProto.DOUBLE not in {value.type.tensor_type.elem_type for value in inferred}
    assert onnx_model.ByteSize() < unisvm.to_onnx(model).ByteSize()
    scores = run(onnx_model, X)["scores"]
    np.testing.assert_allclose(scores, model.decision_function(X.astype(float)), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("target_opset", range(18, skl2onnx.get_latest_tested_opset_version() + 1))
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_versions_of_the_operators(run, kernel, target_opset):
    model, X = fitted("classes in pairs", kernel)
    onnx_model = unisvm.to_onnx(model, target_opset=target_opset)
    assert [(each.domain, each.version) for each in onnx_model.opset_import] == [("", target_opset)]
    check(run(onnx_model, X), model, X)
