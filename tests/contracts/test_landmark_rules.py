"""The contract of a landmark rule: those with a name, and objects of a user's that return indices or points."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone

import naive
from contracts.user_objects import FarthestFirst, Midpoints
from unisvm import UniSVMClassifier, UniSVMRegressor, kernels
from unisvm.nystrom.feature_map import FeatureMap
from unisvm.nystrom.landmarks import RULES as NAMED
from unisvm.nystrom.landmarks import choose_landmarks

KERNELS = {
    "rbf": kernels.RBF(0.2),
    "linear": kernels.Linear(),
    "laplacian": kernels.Laplacian(0.05),
    "poly": kernels.Polynomial(0.5, degree=2, coef0=1.0),
}
RULES = {name: name for name in NAMED} | {"object of indices": FarthestFirst(), "object of points": Midpoints()}
RANK = 60

named_rule = pytest.mark.parametrize("rule", NAMED)
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES.keys())
every_rule_of_rows = pytest.mark.parametrize("rule", [*NAMED, FarthestFirst()], ids=[*NAMED, "object of indices"])
every_kernel = pytest.mark.parametrize("name", KERNELS)
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])
each_estimator = pytest.mark.parametrize("estimator", [UniSVMClassifier, UniSVMRegressor])


def rows_of(dtype, m=250, d=6, seed=0):
    return np.random.RandomState(seed).randn(m, d).astype(dtype)


def choose(rule, rows, kernel, rank=RANK, tol=0.05, seed=0):
    return choose_landmarks(rule, rows, kernel, rank, tol, np.random.RandomState(seed))


def matrix(kernel, X, Z=None):
    Z = X if Z is None else Z
    return kernel(X.astype(np.float64), Z.astype(np.float64))


def feature_map(kernel, landmarks, dtype):
    return FeatureMap(kernel, landmarks.kernel_points, matrix(kernel, landmarks.vectors), np.dtype(dtype))


@every_rule
@every_kernel
@every_dtype
def test_landmarks(store, rule, name, dtype):
    X, kernel = rows_of(dtype), KERNELS[name]
    landmarks = choose(rule, store(X), kernel)
    assert 0 < len(landmarks.vectors) <= RANK
    assert landmarks.vectors.dtype == dtype
    indices = landmarks.store_indices
    if indices is None:
        assert landmarks.row_indices is None
    else:
        assert np.issubdtype(indices.dtype, np.integer)
        assert len(np.unique(indices)) == len(indices)
        np.testing.assert_array_equal(landmarks.vectors, X[indices])
        np.testing.assert_array_equal(landmarks.row_indices, indices)
    # the features are exact in the columns of the landmarks, and leave out no negative part of the diagonal
    features = feature_map(kernel, landmarks, dtype)
    P, B = (features.from_values(features.block(rows.astype(np.float64)).T).T for rows in (X, landmarks.vectors))
    K, scale = matrix(kernel, X), matrix(kernel, X).max()
    np.testing.assert_allclose(P @ B.T, matrix(kernel, X, landmarks.vectors), atol=1e-5 * scale)
    assert (K - P @ P.T).diagonal().min() >= -1e-5 * scale


@named_rule
@every_kernel
@every_dtype
def test_no_landmark_of_a_named_rule_is_dropped(store, rule, name, dtype):
    # they are independent of each other
    X, kernel = rows_of(dtype), KERNELS[name]
    landmarks = choose(rule, store(X), kernel)
    assert feature_map(kernel, landmarks, dtype).rank == len(landmarks.vectors)


@every_rule
@every_kernel
def test_the_seed_alone_decides(store, rule, name):
    rows, kernel = store(rows_of(np.float64)), KERNELS[name]
    first = choose(rule, rows, kernel, seed=3).vectors
    np.testing.assert_array_equal(first, choose(rule, rows, kernel, seed=3).vectors)
    others = [{tuple(row) for row in choose(rule, rows, kernel, seed=seed).vectors} for seed in range(4, 8)]
    assert any(other != {tuple(row) for row in first} for other in others)


@every_rule
@pytest.mark.parametrize("rank", [1, 2, 9, 10, 11, 37])
def test_never_more_than_rank(store, rule, rank):
    # a tolerance of 0 cannot be met before the rank is
    landmarks = choose(rule, store(rows_of(np.float64)), kernels.Laplacian(1.0), rank, tol=0.0)
    assert len(landmarks.vectors) == rank


@every_rule
@every_dtype
@pytest.mark.parametrize("d", [1, 3, 7])
def test_linear_kernel_has_the_rank_of_its_columns(store, rule, dtype, d):
    kernel = kernels.Linear()
    landmarks = choose(rule, store(rows_of(dtype, d=d)), kernel, rank=40, tol=1e-6)
    assert feature_map(kernel, landmarks, dtype).rank == d
    # the named rules stop there
    assert len(landmarks.vectors) == d or not isinstance(rule, str)


def degenerate():
    rng = np.random.RandomState(0)
    distinct = rng.randn(7, 3)
    yield "duplicates", distinct[rng.randint(7, size=60)], 7
    yield "constant columns", np.c_[np.ones((60, 2)), np.repeat(np.arange(6.0), 10)], 6
    yield "one point", np.tile(distinct[:1], (60, 1)), 1
    for m in (1, 2, 3):
        yield f"{m} rows", distinct[:m], m


@every_rule_of_rows
@every_kernel
@every_dtype
@pytest.mark.parametrize(("X", "n_distinct"), [case[1:] for case in degenerate()], ids=[c[0] for c in degenerate()])
def test_degenerate_rows(store, rule, name, dtype, X, n_distinct):
    X, kernel = X.astype(dtype), KERNELS[name]
    K = matrix(kernel, X)
    for rank in (1, 2, 20):
        landmarks = choose(rule, store(X), kernel, rank, tol=1e-4)
        chosen = landmarks.store_indices
        # by a named rule all rows are landmarks when they are no more than the rank, and the features drop repetitions
        assert 1 <= len(chosen) <= max(rank, len(X) if len(X) <= rank else 0)
        assert len(np.unique(chosen)) == len(chosen)
        if len(X) > rank:
            assert len(chosen) <= n_distinct
        features = feature_map(kernel, landmarks, dtype)
        assert features.rank <= n_distinct
        assert np.isfinite(features.factor).all()
        if rank >= n_distinct:
            assert naive.trace_left(K, chosen) <= 1e-3


@pytest.mark.filterwarnings("ignore:All rows of X are the same:unisvm.FitWarning")
@every_rule
@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
@pytest.mark.parametrize("m", [2, 3, 40])
def test_fit_on_few_or_equal_rows(rule, kernel, m):
    X = np.tile([[1.0, 2.0]], (m, 1)) if m > 3 else np.arange(2.0 * m).reshape(m, 2) + 1
    X = X @ X.T if kernel == "precomputed" else X
    for rank in (1, 10):
        model = UniSVMClassifier(kernel=kernel, rank=rank, landmarks=rule, random_state=0)
        if kernel == "precomputed" and isinstance(rule, Midpoints):
            # a point is the index of a column there
            with pytest.raises(ValueError, match="an array of row indices"):
                model.fit(X, np.arange(m) % 2)
            continue
        model.fit(X, np.arange(m) % 2)
        assert np.isfinite(model.decision_function(X)).all()
        assert 0 <= model.trace_error_ <= 1


@every_rule
@every_kernel
def test_rows_of_weight_0_are_as_if_they_were_not_there(rule, name):
    X = rows_of(np.float64, m=150)
    y = (X[:, 0] > 0).astype(int)
    weights = np.random.RandomState(2).randint(3, size=len(X)).astype(float)
    present = np.flatnonzero(weights)
    model = UniSVMClassifier(kernel=name, rank=30, landmarks=rule, random_state=0).fit(X, y, weights)
    alone = UniSVMClassifier(kernel=name, rank=30, landmarks=rule, random_state=0)
    alone.fit(X[present], y[present], weights[present])
    np.testing.assert_array_equal(model.landmark_vectors_, alone.landmark_vectors_)
    if model.landmarks_ is not None:
        # they are indices among all rows that were given
        assert (weights[model.landmarks_] > 0).all()
        np.testing.assert_array_equal(model.landmarks_, present[alone.landmarks_])
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X), rtol=1e-6, atol=1e-8)


# ---------------------------------------------------------------------- in the estimators


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def problem(estimator, form=np.array, m=300):
    X = rows_of(np.float64, m=m, d=3)
    y = np.sin(2 * X[:, 0]) + 0.1 * X[:, 1]
    return form(X), (y > 0).astype(int) if estimator is UniSVMClassifier else y


@every_rule
@each_estimator
@pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_the_chosen_landmarks_are_those_of_the_model(estimator, rule, form):
    X, y = problem(estimator, form)
    model = estimator(landmarks=rule, rank=25, rank_tol=0.0, tol=1e-6, random_state=0).fit(X, y)
    vectors = model.landmark_vectors_
    assert sparse.issparse(vectors) == sparse.issparse(X)
    assert model.dual_coef_.shape == (1, model.rank_)
    assert vectors.shape == (model.rank_, 3)
    assert model.rank_ == 25
    assert model.stationarity_ <= model.tol
    if model.landmarks_ is not None:
        assert abs(X[model.landmarks_] - vectors).sum() == 0
    # the landmarks alone make the model
    points = estimator(landmarks=vectors, rank_tol=0.0, gamma=model.kernel_.gamma, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(points.predict(X), model.predict(X), atol=1e-2)


@each_estimator
def test_an_object_chooses_what_it_says(estimator):
    X, y = problem(estimator)
    wanted = np.array([7, 250, 3, 199, 42])

    class Fixed:
        def choose(self, rows, kernel, rank, tol, rng):
            assert (rows.n_rows, rows.n_features, rank, tol) == (300, 3, 9, 0.25)
            assert kernel.gamma == pytest.approx(1 / (3 * X.var()))
            assert isinstance(rng, np.random.RandomState)
            return self.wanted

    rule = Fixed()
    rule.wanted = wanted
    model = estimator(landmarks=rule, rank=9, rank_tol=0.25).fit(X, y)
    assert set(model.landmarks_) == set(wanted)
    rule.wanted = X[wanted] + 0.5
    model.fit(X, y)
    assert model.landmarks_ is None
    assert {tuple(row) for row in model.landmark_vectors_} == {tuple(row) for row in rule.wanted}


@each_estimator
def test_an_object_is_asked_also_when_all_rows_could_be_landmarks(estimator):
    X, y = problem(estimator, m=40)
    model = estimator(landmarks=Midpoints(), rank=1000, rank_tol=0.0, random_state=0).fit(X, y)
    assert model.rank_ == 39


BAD = {
    "negative": [0, -1],
    "too large": [0, 300],
    "twice": [4, 9, 4],
    "none": np.empty(0, dtype=int),
    "no integers": [0.0, 1.0],
    "a number": 3,
    "names": ["a", "b"],
    "mask": np.arange(300) < 5,
}


@each_estimator
@pytest.mark.parametrize("indices", BAD.values(), ids=BAD.keys())
def test_bad_indices_of_an_object_are_refused(estimator, indices):
    class Bad:
        def choose(self, rows, kernel, rank, tol, rng):
            return indices

    with pytest.raises(ValueError, match=r"Bad\.choose must return distinct store indices from 0 to 299"):
        estimator(landmarks=Bad()).fit(*problem(estimator))


@each_estimator
@pytest.mark.parametrize(
    ("points", "message"), [(np.ones((4, 2)), "have 2 columns, but X has 3"), (np.full((4, 3), np.nan), "NaN")]
)
def test_bad_points_of_an_object_are_refused(estimator, points, message):
    class Bad:
        def choose(self, rows, kernel, rank, tol, rng):
            return points

    with pytest.raises(ValueError, match=message):
        estimator(landmarks=Bad()).fit(*problem(estimator))


@each_estimator
def test_a_class_is_no_object(estimator):
    with pytest.raises(ValueError, match=r"landmarks must be an object: use FarthestFirst\(\) instead of the class"):
        estimator(landmarks=FarthestFirst).fit(*problem(estimator))


class Every(BaseEstimator):
    """A rule with a parameter, as scikit-learn's objects have them."""

    def __init__(self, step=10):
        self.step = step

    def choose(self, rows, kernel, rank, tol, rng):
        return np.arange(0, rows.n_rows, self.step)


@each_estimator
def test_clone_and_set_params(estimator):
    X, y = problem(estimator)
    model = estimator(landmarks=Every(step=50))
    copy = clone(model)
    assert copy.landmarks is not model.landmarks
    np.testing.assert_array_equal(np.sort(copy.fit(X, y).landmarks_), np.arange(0, 300, 50))
    copy.set_params(landmarks__step=100)
    np.testing.assert_array_equal(np.sort(copy.fit(X, y).landmarks_), [0, 100, 200])
    assert model.landmarks.step == 50
    copy.set_params(landmarks=FarthestFirst(), rank=5)
    assert len(copy.fit(X, y).landmarks_) == 5
    # an object without parameters is copied as it is
    assert isinstance(clone(copy).landmarks, FarthestFirst)


@every_rule
@each_estimator
@pytest.mark.parametrize("form", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_resume_has_the_same_landmarks(tmp_path, estimator, rule, form):
    X, y = problem(estimator, form)
    model = estimator(landmarks=rule, rank=20, random_state=0, checkpoint=tmp_path)
    first = dense(model.fit(X, y).landmark_vectors_)
    # the folder has the finished model, so that nothing is chosen anew
    again = clone(model).set_params(checkpoint=tmp_path).fit(X, y)
    np.testing.assert_array_equal(dense(again.landmark_vectors_), first)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


class Returns:
    """A rule that returns what it is told to."""

    def __init__(self, chosen):
        self.chosen = chosen

    def choose(self, rows, kernel, rank, tol, rng):
        return self.chosen


@each_estimator
@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ([0, 5, 5], "3 indices from 0 to 5, 2 distinct"),
        ([-1, 5], "2 indices from -1 to 5, 2 distinct"),
        ([0, 300], "2 indices from 0 to 300, 2 distinct"),
        (np.arange(31), "31 landmarks, where at most 30 are asked for"),
        ([0.0, 1.0], r"shape \(2,\) and type float64"),
        ([], r"shape \(0,\)"),
        (None, r"shape \(\) and type object"),
        (np.full((3, 3), np.nan), "NaN"),
        (np.ones((3, 2)), "2 columns, but X has 3"),
    ],
    ids=["duplicate", "negative", "too large", "too many", "floats", "empty", "None", "NaN", "columns"],
)
def test_a_rule_that_returns_no_landmarks_is_told_so(estimator, chosen, said):
    X, y = problem(estimator)
    with pytest.raises(ValueError, match=f"Returns.choose must return distinct store indices from 0 to 299.*{said}"):
        estimator(landmarks=Returns(chosen), rank=30).fit(X, y)


@each_estimator
def test_indices_of_any_integer_type(estimator):
    X, y = problem(estimator, m=6000)
    models = [
        estimator(landmarks=Returns(np.arange(0, 60, 2).astype(dtype)), rank=30, random_state=0).fit(X, y)
        for dtype in (np.uint64, np.int64)
    ]
    np.testing.assert_array_equal(*(model.dual_coef_ for model in models))


@each_estimator
def test_a_rule_is_asked_for_no_more_landmarks_than_there_are_rows(estimator):
    class Draw:
        def choose(self, rows, kernel, rank, tol, rng):
            return rng.choice(rows.n_rows, rank, replace=False)

    X, y = problem(estimator, m=40)
    assert estimator(landmarks=Draw()).fit(X, y).rank_ <= 40


@each_estimator
@pytest.mark.parametrize("landmarks", [None, 7, len, Returns], ids=["None", "number", "function", "class"])
def test_landmarks_that_are_neither_rule_nor_array_are_refused_before_any_work(estimator, landmarks):
    with pytest.raises(ValueError, match="landmarks must be"):
        # the rows are not looked at
        estimator(landmarks=landmarks).fit("no such file", None)
