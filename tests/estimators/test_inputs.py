"""Inputs of many kinds: labels of any type, X in any container, and kernels in any form."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from unisvm import UniSVMClassifier, UniSVMRegressor, kernels

X, y = make_moons(100, noise=0.2, random_state=0)
X_NEW = make_moons(30, noise=0.2, random_state=1)[0]
WAVE = np.sin(3 * X[:, 0]) + X[:, 1]

# ------------------------------------------------------------------ labels

LABELS = {
    "str": (np.array(["no", "yes"])[y], ["no", "yes"]),
    "bool": (y == 1, [False, True]),
    "int-gaps": (np.where(y == 1, 70, -3), [-3, 70]),
    "int8": (y.astype(np.int8), [0, 1]),
    "float": (np.where(y == 1, 1.0, -1.0), [-1.0, 1.0]),
    "object": (np.array(["no", "yes"], dtype=object)[y], ["no", "yes"]),
    "list": (np.array(["no", "yes"])[y].tolist(), ["no", "yes"]),
    "series": (pd.Series(np.array(["no", "yes"])[y], index=np.arange(100)[::-1]), ["no", "yes"]),
    "categorical": (pd.Series(pd.Categorical(np.array(["no", "yes"])[y], categories=["yes", "no"])), ["no", "yes"]),
    "pandas-string": (pd.Series(np.array(["no", "yes"])[y], dtype="string"), ["no", "yes"]),
    "polars": (pl.Series(np.array(["no", "yes"])[y].tolist()), ["no", "yes"]),
    "frame-column": (pd.DataFrame({"label": y})["label"], [0, 1]),
}


@pytest.mark.parametrize(("labels", "classes"), LABELS.values(), ids=LABELS.keys())
def test_labels_of_any_type(labels, classes):
    reference = UniSVMClassifier().fit(X, y)
    model = UniSVMClassifier().fit(X, labels)
    assert model.classes_.tolist() == classes
    np.testing.assert_allclose(model.decision_function(X_NEW), reference.decision_function(X_NEW), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X_NEW), np.array(classes)[reference.predict(X_NEW)])
    np.testing.assert_allclose(model.trust(X, labels), reference.trust(X, y), rtol=1e-12)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, float])
def test_label_type_comes_back(dtype):
    assert UniSVMClassifier().fit(X, y.astype(dtype)).predict(X_NEW).dtype == dtype


def test_multilabel_dense_and_sparse_agree():
    Y = np.stack([y, X[:, 0] > 0.5], axis=1).astype(int)
    dense = UniSVMClassifier().fit(X, Y)
    for container in (
        sparse.csr_array(Y),
        sparse.csr_matrix(Y),
        pd.DataFrame(Y, columns=["moon", "right"]),
        Y.tolist(),
    ):
        model = UniSVMClassifier().fit(X, container)
        np.testing.assert_array_equal(model.decision_function(X_NEW), dense.decision_function(X_NEW))
        np.testing.assert_array_equal(model.predict(X_NEW), dense.predict(X_NEW))


@pytest.mark.parametrize(
    "target",
    [pd.Series(WAVE), pl.Series(WAVE), WAVE.tolist(), WAVE.astype(object)],
    ids=["pandas", "polars", "list", "object"],
)
def test_targets_of_any_container(target):
    reference = UniSVMRegressor().fit(X, WAVE)
    model = UniSVMRegressor().fit(X, target)
    np.testing.assert_array_equal(model.predict(X_NEW), reference.predict(X_NEW))
    np.testing.assert_array_equal(model.trust(X, target), reference.trust(X, WAVE))


def test_integer_targets():
    counts = np.round(10 * WAVE).astype(int)
    expected = UniSVMRegressor().fit(X, counts.astype(float)).predict(X_NEW)
    np.testing.assert_array_equal(UniSVMRegressor().fit(X, counts).predict(X_NEW), expected)


# ------------------------------------------------------------------ data frames

FRAMES = {
    "pandas": lambda rows, names: pd.DataFrame(rows, columns=names),
    "polars": lambda rows, names: pl.DataFrame(rows, schema=names),
}
ESTIMATORS = pytest.mark.parametrize(
    ("cls", "target"), [(UniSVMClassifier, y), (UniSVMRegressor, WAVE)], ids=["classifier", "regressor"]
)


def values(model, rows):
    """f(x), whatever the estimator."""
    return (model.decision_function if isinstance(model, UniSVMClassifier) else model.predict)(rows)


@ESTIMATORS
@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_data_frames(cls, target, frame):
    model = cls().fit(frame(X, ["width", "height"]), target)
    assert model.feature_names_in_.tolist() == ["width", "height"]
    expected = cls().fit(X, target).predict(X_NEW)
    np.testing.assert_array_equal(model.predict(frame(X_NEW, ["width", "height"])), expected)
    for wrong in (["height", "width"], ["width", "depth"]):
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame(X_NEW, wrong))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X_NEW)
    # names are forgotten when there are none any more
    model.fit(X, target)
    assert not hasattr(model, "feature_names_in_")
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        model.predict(frame(X_NEW, ["width", "height"]))


# ------------------------------------------------------------------ arrays

CONTAINERS = {
    "csr-matrix": sparse.csr_matrix,
    "csr-array": sparse.csr_array,
    "csc-matrix": sparse.csc_matrix,
    "csc-array": sparse.csc_array,
    "coo-array": sparse.coo_array,
    "fortran": np.asfortranarray,
    "list": np.ndarray.tolist,
    "strided": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "pandas": pd.DataFrame,
}
SPARSE_X = np.where(np.abs(X) < 0.3, 0.0, X)


@ESTIMATORS
@pytest.mark.parametrize(
    ("name", "kernel"),
    [(name, "rbf") for name in CONTAINERS] + [("csr-array", kernel) for kernel in ("linear", "laplacian", "poly")],
)
def test_containers_agree(cls, target, name, kernel):
    container = CONTAINERS[name]
    # all rows are landmarks of full rank only for some kernels, so they are given
    parameters = {"kernel": kernel, "tol": 1e-10, "landmarks": np.arange(0, 100, 5)}
    chosen = [cls(**parameters).fit(rows, target).C_ for rows in (SPARSE_X, container(SPARSE_X))]
    assert chosen[0] == pytest.approx(chosen[1], rel=1e-6)
    plain = cls(C=1.0, **parameters).fit(SPARSE_X, target)
    model = cls(C=1.0, **parameters).fit(container(SPARSE_X), target)
    expected = values(plain, X_NEW)
    # trained on one kind, used on the other
    for fitted, rows in ((model, X_NEW), (model, container(X_NEW)), (plain, container(X_NEW))):
        np.testing.assert_allclose(values(fitted, rows), expected, rtol=1e-4, atol=1e-5)


def test_sparse_landmarks_stay_sparse():
    model = UniSVMClassifier().fit(sparse.csr_array(SPARSE_X), y)
    assert sparse.issparse(model.landmark_vectors_)
    np.testing.assert_array_equal(model.landmark_vectors_.toarray(), SPARSE_X[model.landmarks_])


@ESTIMATORS
@pytest.mark.parametrize("rule", ["rpcholesky", "pivoted_cholesky", "uniform"])
def test_dense_and_sparse_choose_the_same_landmarks(cls, target, rule):
    models = [
        cls(rank=15, rank_tol=0.0, landmarks=rule, random_state=0).fit(rows, target)
        for rows in (SPARSE_X, sparse.csr_array(SPARSE_X))
    ]
    assert sorted(models[0].landmarks_) == sorted(models[1].landmarks_)


@ESTIMATORS
def test_sparse_landmark_points(cls, target):
    dense = cls(landmarks=SPARSE_X[::5]).fit(SPARSE_X, target).predict(X_NEW)
    given = cls(landmarks=sparse.csr_array(SPARSE_X[::5])).fit(sparse.csr_array(SPARSE_X), target).predict(X_NEW)
    np.testing.assert_allclose(given, dense, rtol=1e-6)


@ESTIMATORS
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_float32_is_kept(cls, target, container):
    single = cls(C=1.0).fit(container(X.astype(np.float32)), target)
    for name in ("dual_coef_", "intercept_", "landmark_vectors_"):
        assert getattr(single, name).dtype == np.float32, name
    assert values(single, container(X_NEW.astype(np.float32))).dtype == np.float32
    double = cls(C=1.0).fit(container(X), target)
    assert double.dual_coef_.dtype == values(double, container(X_NEW)).dtype == np.float64
    # both stopped within tol of the optimum, which leaves this much room
    np.testing.assert_allclose(values(single, X_NEW.astype(np.float32)), values(double, X_NEW), atol=0.05)
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-3)


@ESTIMATORS
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, bool, np.float16])
def test_other_types_become_double(cls, target, dtype):
    rows = (X > 0 if dtype is bool else np.round(5 * X + 10)).astype(dtype)
    model = cls().fit(rows, target)
    assert model.dual_coef_.dtype == np.float64
    expected = cls().fit(rows.astype(float), target).predict(rows.astype(float))
    np.testing.assert_array_equal(model.predict(rows), expected)


@ESTIMATORS
def test_memmap(cls, target, tmp_path):
    rows = np.memmap(tmp_path / "rows.bin", dtype=np.float64, mode="w+", shape=X.shape)
    rows[:] = X
    rows.flush()
    rows = np.memmap(tmp_path / "rows.bin", dtype=np.float64, mode="r", shape=X.shape)
    model = cls().fit(rows, target)
    np.testing.assert_array_equal(model.predict(rows), cls().fit(X, target).predict(X))


# ------------------------------------------------------------------ kernels

GAMMA = 0.7
K, K_NEW = rbf_kernel(X, gamma=GAMMA), rbf_kernel(X_NEW, X, gamma=GAMMA)


@ESTIMATORS
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "extra",
    [{}, {"landmarks": np.arange(0, 100, 7)}, {"rank": 20, "random_state": 0, "rank_tol": 0.0}],
    ids=["all", "given", "chosen"],
)
def test_precomputed_is_rbf_by_hand(cls, target, container, extra):
    weights = np.arange(100) % 4.0  # a quarter of the rows is left out
    weights[extra.get("landmarks", 0)] = 1.0
    by_name = cls(gamma=GAMMA, C=1.0, tol=1e-10, **extra).fit(X, target, sample_weight=weights)
    for kernel in ("precomputed", kernels.Precomputed()):
        model = cls(kernel=kernel, C=1.0, tol=1e-10, **extra).fit(container(K), target, sample_weight=weights)
        assert set(model.landmarks_) == set(by_name.landmarks_)
        np.testing.assert_array_equal(model.landmark_vectors_, model.landmarks_)
        np.testing.assert_allclose(values(model, container(K_NEW)), values(by_name, X_NEW), rtol=1e-4, atol=1e-5)


@ESTIMATORS
@pytest.mark.parametrize("kernel", ["precomputed", kernels.Precomputed()], ids=["name", "object"])
def test_cross_validation_slices_a_precomputed_kernel(cls, target, kernel):
    by_name, precomputed = cls(gamma=GAMMA, tol=1e-6), cls(kernel=kernel, tol=1e-6)
    expected = cross_val_score(by_name, X, target, cv=3)
    np.testing.assert_allclose(cross_val_score(precomputed, K, target, cv=3), expected, atol=1e-4)
    np.testing.assert_allclose(
        cross_val_predict(precomputed, K, target, cv=3), cross_val_predict(by_name, X, target, cv=3), atol=1e-3
    )
    search = GridSearchCV(precomputed, {"C": [0.1, 10.0]}, cv=3).fit(K, target)
    assert search.predict(K).shape == (100,)


OBJECTS = {
    "linear": (kernels.Linear(), linear_kernel),
    "rbf": (kernels.RBF(gamma=GAMMA), lambda A, B: rbf_kernel(A, B, gamma=GAMMA)),
    "laplacian": (kernels.Laplacian(gamma=GAMMA), lambda A, B: laplacian_kernel(A, B, gamma=GAMMA)),
    "poly": (
        kernels.Polynomial(gamma=GAMMA, degree=2, coef0=1.5),
        lambda A, B: polynomial_kernel(A, B, gamma=GAMMA, degree=2, coef0=1.5),
    ),
}


@ESTIMATORS
@pytest.mark.parametrize("name", OBJECTS)
def test_objects_and_functions_equal_names(cls, target, name):
    parameters = {"C": 1.0, "tol": 1e-10, "gamma": GAMMA, "degree": 2, "coef0": 1.5}
    expected = cls(kernel=name, **parameters).fit(X, target).predict(X_NEW)
    for kernel in OBJECTS[name]:
        # a kernel object brings its own parameters
        model = cls(kernel=kernel, C=1.0, tol=1e-10).fit(X, target)
        np.testing.assert_allclose(model.predict(X_NEW), expected, rtol=1e-4, atol=1e-5)


def test_gamma_of_names_and_objects():
    scale = 1 / (2 * X.var())
    for gamma, number in (("scale", scale), ("auto", 0.5), (0.3, 0.3)):
        by_name = UniSVMClassifier(gamma=gamma).fit(X, y)
        by_object = UniSVMClassifier(kernel=kernels.RBF(gamma=gamma)).fit(X, y)
        assert by_name.kernel_.gamma == pytest.approx(number)
        assert by_object.kernel_.gamma == pytest.approx(number)
        assert by_object.kernel.gamma == gamma  # the parameter itself is left alone


@ESTIMATORS
def test_kernel_params_reach_the_function(cls, target):
    def power(A, B, degree, offset=0.0):
        return (A @ B.T + offset) ** degree

    function = cls(kernel=power, kernel_params={"degree": 2, "offset": 1.0}, tol=1e-10).fit(X, target)
    named = cls(kernel="poly", degree=2, coef0=1.0, gamma=1.0, tol=1e-10).fit(X, target)
    np.testing.assert_allclose(function.predict(X_NEW), named.predict(X_NEW), rtol=1e-4, atol=1e-5)
    other = cls(kernel=power, kernel_params={"degree": 3, "offset": 1.0}, tol=1e-10).fit(X, target)
    assert abs(other.dual_coef_).sum() != pytest.approx(abs(function.dual_coef_).sum(), rel=1e-3)
