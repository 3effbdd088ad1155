"""The contract of a row store: whatever the algorithm asks of it, it answers as the plainest one does."""

import inspect
from functools import cache, partial

import dask.array as da
import numpy as np
import pytest
from dask import delayed
from scipy import sparse

from contracts.user_objects import FarthestFirst, Midpoints
from unisvm import kernels
from unisvm.distributed.collections import Blocks
from unisvm.distributed.rows import DaskRows
from unisvm.nystrom.feature_map import FeatureMap
from unisvm.nystrom.gram import gram_of_all, sampled_gram
from unisvm.nystrom.landmarks import RULES, choose_landmarks
from unisvm.rows import MemoryRows, RowStore
from unisvm.rows.mapped import DenseRows, SparseRows, take_rows
from unisvm.rows.scratch import Appended, Scratch

pytestmark = pytest.mark.usefixtures("threaded_dask")

M, D = 900, 3
KERNEL = kernels.RBF(0.7)
# lengths of the blocks on Dask
CUTS = {
    "one block": [M],
    "even blocks": [100] * 9,
    "uneven blocks": [400, 1, 7, 250, 2, 240],
    "single rows": [1] * 40 + [M - 41] + [1],
    "empty blocks": [0, 300, 0, 0, 599, 1, 0],
    "blocks of weight 0": [50, 300, 60, 440, 50],
}
WEIGHT_0 = [slice(0, 50), slice(350, 410), slice(850, 900)]


class Given:
    """Rows as a user gives them."""

    def __init__(self, name, weighting, dtype, form):
        rng = np.random.RandomState(0)
        X = rng.randn(M, D) * (rng.uniform(size=(M, D)) < 0.8)
        self.X = form(X.astype(dtype))
        self.targets = rng.randn(M, 2).astype(dtype)
        self.weights = {"even": np.full(M, 2.0), "uneven": rng.randint(1, 9, M) / 4.0}[weighting]
        if name.endswith("of weight 0"):
            for part in WEIGHT_0:
                self.weights[part] = 0
        self.weights = self.weights.astype(dtype)
        self.lengths = CUTS.get(name)


def plain(given, X=None, **options):
    X, present = given.X if X is None else X, np.flatnonzero(given.weights)
    targets, weights = given.targets[present], given.weights[present]
    return MemoryRows(take_rows(X, present), targets, weights, present=present, given=X, **options)


def ordered(given):
    """Rows that are visited in another order."""
    return plain(given, order=np.random.RandomState(5).permutation(np.count_nonzero(given.weights)))


def in_file(given):
    """Rows that stay in a file without a name."""
    if sparse.issparse(given.X):
        parts = []
        for array in (given.X.data, given.X.indices.astype(np.int32), given.X.indptr.astype(np.int64)):
            file = Appended(array.dtype, None, "The rows")
            file.append(array)
            parts.append(file.mapped())
        return plain(given, SparseRows(*parts, D, 0))
    scratch = Scratch(given.X.shape, given.X.dtype)
    scratch.write(0, given.X)
    return plain(given, DenseRows(scratch.mapped()))


def distributed(given):
    ends = np.cumsum(given.lengths)
    X = da.concatenate(
        [
            da.from_delayed(delayed(_same)(given.X[low:high]), (high - low, D), dtype=given.X.dtype)
            for low, high in zip(ends - given.lengths, ends, strict=True)
        ]
    )
    return Blocks(X, given.targets, given.weights).store(lambda y, weights: (y, weights), 1)


def _same(part):
    return part


# the store, and the room that its features have in memory
STORES = {
    "threads": (partial(plain, n_threads=2), np.inf),
    "scratch": (plain, 0),
    "ordered": (ordered, np.inf),
    "ordered scratch": (ordered, 0),
    "file": (in_file, np.inf),
    "file and scratch": (in_file, 0),
    "some rows of weight 0": (plain, np.inf),
    "file with rows of weight 0": (in_file, np.inf),
} | dict.fromkeys(CUTS, (distributed, np.inf))


# weights, precision and form, so that each two of them meet
KINDS = {
    "even float32 dense": ("even", np.float32, np.array),
    "uneven float64 dense": ("uneven", np.float64, np.array),
    "uneven float32 sparse": ("uneven", np.float32, sparse.csr_array),
    "even float64 sparse": ("even", np.float64, sparse.csr_array),
}


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


@pytest.fixture(params=STORES)
def pair(request, kind, small_blocks, small_reads):
    """The plain store, the one under test, and the room that its features have in memory."""
    return _pair(request.param, *kind)


@cache
def _pair(name, weighting, dtype, form):
    given = Given(name, weighting, dtype, form)
    make, room = STORES[name]
    return plain(given), make(given), room


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def close(one, other, dtype):
    np.testing.assert_allclose(one, other, rtol=1e-4 if dtype == np.float32 else 1e-11, atol=1e-12)


# ---------------------------------------------------------------------- the protocol


@pytest.mark.parametrize("store", [MemoryRows, DaskRows])
def test_methods_are_called_as_the_protocol_says(store):
    methods = {name: method for name, method in vars(RowStore).items() if inspect.isfunction(method) and name[0] != "_"}
    assert len(methods) > 10
    for name, method in methods.items():
        own = inspect.signature(getattr(store, name)).parameters
        expected = inspect.signature(method).parameters
        if isinstance(inspect.getattr_static(store, name), staticmethod):
            expected = {key: value for key, value in expected.items() if key != "self"}
        assert list(own) == list(expected), name
        assert [p.default for p in own.values()] == [p.default for p in expected.values()], name


# ---------------------------------------------------------------------- attributes


def test_attributes(pair):
    expected, rows, _ = pair
    for name in ("n_rows", "n_features", "n_columns", "dtype", "n_given"):
        assert getattr(rows, name) == getattr(expected, name), name
    assert rows.n_threads >= 1
    assert rows.n_given == M
    assert rows.total_weight == pytest.approx(expected.total_weight, rel=1e-14)
    assert rows.variance() == pytest.approx(expected.variance(), rel=1e-12)
    for found, wanted in zip(rows.column_moments(), column_moments(expected), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    assert rows.trace(KERNEL) == pytest.approx(expected.trace(KERNEL), rel=1e-12)
    linear = kernels.Linear()
    assert rows.trace(linear) == pytest.approx(expected.trace(linear), rel=1e-6)


def column_moments(rows):
    """Moments of the columns as a few words of NumPy have them."""
    X = rows.take(np.arange(rows.n_rows))
    X = (X.toarray() if sparse.issparse(X) else X).astype(np.float64)
    weights = rows.take_weights(np.arange(rows.n_rows))
    mean = np.average(X, axis=0, weights=weights)
    return mean, np.average((X - mean) ** 2, axis=0, weights=weights), X.min(axis=0), X.max(axis=0)


# ---------------------------------------------------------------------- chosen rows

CHOICES = {
    "some in no order": np.array([717, 3, 399, 400, 401, 12, 0, 701]),
    "one twice": np.array([5, 5, 600, 5]),
    "none": np.array([], dtype=np.intp),
    "the last": np.array([-1]),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_chosen_rows(pair, choice):
    expected, rows, _ = pair
    indices = np.where(CHOICES[choice] < 0, rows.n_rows - 1, CHOICES[choice])
    taken = rows.take(indices)
    assert sparse.issparse(taken) == sparse.issparse(expected.X)
    assert taken.dtype == rows.dtype
    np.testing.assert_array_equal(dense(taken), dense(expected.X[indices]))
    np.testing.assert_array_equal(rows.take_weights(indices), expected.take_weights(indices))
    assert rows.take_weights(indices).dtype == np.float64
    np.testing.assert_array_equal(rows.row_indices(indices), expected.row_indices(indices))
    np.testing.assert_allclose(rows.diagonal(KERNEL, indices), expected.diagonal(KERNEL, indices))
    subset = rows.subset(indices, np.arange(1.0, len(indices) + 1))
    assert isinstance(subset, MemoryRows)
    np.testing.assert_array_equal(dense(subset.X), dense(taken))
    np.testing.assert_array_equal(subset.targets, expected.targets[indices])
    np.testing.assert_array_equal(subset.weights, np.arange(1, len(indices) + 1))
    assert subset.weights.dtype == subset.targets.dtype == rows.dtype


def test_rows_are_located_by_their_row_indices(pair):
    expected, rows, _ = pair
    some = np.array([0, 8, 300, 600, rows.n_rows - 1])
    row_indices = expected.row_indices(some)
    np.testing.assert_array_equal(rows.locate(row_indices), some)
    if expected.n_rows < M:
        # a row of weight 0 is not here, nor are those of a block without others
        assert rows.locate(np.array([0, 100])) is None
        assert rows.locate(np.array([100, 360])) is None


def test_rows_that_were_given(pair):
    expected, rows, _ = pair
    # the first ones may have weight 0
    row_indices = np.array([700, 0, 360])
    if isinstance(rows, DaskRows):
        with pytest.raises(ValueError, match="must be rows of positive weight"):
            rows.take_given(row_indices)
    else:
        np.testing.assert_array_equal(dense(rows.take_given(row_indices)), dense(expected.take_given(row_indices)))


# ---------------------------------------------------------------------- drawn rows


@pytest.mark.parametrize("n", [1, 7, 300, 5000])
def test_the_same_rows_are_drawn(pair, n):
    expected, rows, _ = pair
    for seed in range(3):
        drawn = rows.draw(n, np.random.RandomState(seed))
        np.testing.assert_array_equal(drawn, expected.draw(n, np.random.RandomState(seed)))
        assert len(np.unique(drawn)) == min(n, rows.n_rows)
        one, other = (store.weighted_subsample(n, np.random.RandomState(seed)) for store in (rows, expected))
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize("rule", [*RULES, FarthestFirst(), Midpoints()], ids=[*RULES, "of indices", "of points"])
def test_the_same_landmarks_are_chosen(pair, rule):
    expected, rows, _ = pair
    one, other = (
        choose_landmarks(rule, store, KERNEL, 40, 0.0, np.random.RandomState(1)) for store in (rows, expected)
    )
    np.testing.assert_array_equal(dense(one.vectors), dense(other.vectors))
    if not isinstance(rule, Midpoints):
        np.testing.assert_array_equal(one.store_indices, other.store_indices)
        np.testing.assert_array_equal(one.row_indices, other.row_indices)
    assert one.vectors.shape[0] > 10


# ---------------------------------------------------------------------- all rows


def a_block(features, targets, weights):
    weights = np.ones((len(features), 1)) if weights is None else weights
    return features.T.astype(np.float64) @ (weights * targets), (weights * targets).sum(axis=0, dtype=np.float64)


def same_features(features):
    return features


def test_features_and_sums(pair):
    expected, rows, room = pair
    points = expected.take(np.arange(17))
    block = KERNEL.against(points)
    features = expected.build(block, 17)
    built = rows.build(block, 17, room)
    assert built.shape == features.shape
    if not isinstance(rows, DaskRows):
        assert rows.location(built) == ("in memory" if room > 0 else "on disk")
    else:
        assert rows.location(built).endswith("blocks on Dask")
    exact = a_block(features, expected.targets, expected.weights[:, None])
    for options in ({}, {"n_columns": 2}, {"n_columns": 2, "n_sums": 36}, {"read_once": True}):
        sums = rows.reduce(a_block, built, **options)
        assert all(array.dtype == np.float64 for array in sums)
        for one, other in zip(sums, exact, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-4 if rows.dtype == np.float32 else 1e-10)
    for indices in (np.array([5, rows.n_rows - 1, 0, 399, 5]), np.arange(rows.n_rows)[::-1], np.arange(3, 200)):
        close(rows.map_rows(same_features, built, indices), features[indices], rows.dtype)
    halves = rows.map_rows(lambda features: features[:, 0] / 2, built, np.array([8, 2]))
    close(halves, features[[8, 2], 0] / 2, rows.dtype)


def test_features_that_can_be_written_are_transformed(pair):
    expected, rows, room = pair
    block = KERNEL.against(expected.take(np.arange(17)))
    matrix = np.random.RandomState(0).randn(17, 17).astype(rows.dtype)
    features, built = expected.build(block, 17), rows.build(block, 17, room)
    every = np.arange(rows.n_rows)
    transformed = rows.transform(built, matrix)
    # in memory they can
    assert transformed == (room > 0 and not isinstance(rows, DaskRows))
    wanted = features @ matrix if transformed else features
    tolerance = 1e-4 if rows.dtype == np.float32 else 1e-11
    np.testing.assert_allclose(rows.map_rows(same_features, built, every), wanted, rtol=tolerance, atol=tolerance)


def test_moments(pair):
    expected, rows, room = pair
    points = expected.take(np.arange(17))
    feature_map = FeatureMap(KERNEL, points, KERNEL(points, points).astype(np.float64), rows.dtype)
    tolerance = 1e-3 if rows.dtype == np.float32 else 1e-8
    kept = feature_map.kept
    for moments in (gram_of_all, partial(sampled_gram, n_rows=200, landmarks=kept)):
        one, other = (
            moments(
                store,
                feature_map,
                store.build(feature_map.block, feature_map.rank, limit),
                **({} if moments is gram_of_all else {"rng": np.random.RandomState(2)}),
            )
            for store, limit in ((rows, room), (expected, np.inf))
        )
        np.testing.assert_allclose(one.mean, other.mean, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(np.tril(one.matrix), np.tril(other.matrix), rtol=tolerance, atol=tolerance)
        assert one.trace_error == pytest.approx(other.trace_error, abs=tolerance)
        np.testing.assert_array_equal(one.indices, other.indices)
