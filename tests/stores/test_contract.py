"""One contract for all stores of rows: whatever is asked of them, they answer as the plainest one does."""

from functools import cache, partial

import dask.array as da
import numpy as np
import pytest
from dask import delayed
from scipy import sparse

from unisvm import kernels, landmarks
from unisvm.features import FeatureMap, gram_of_all, gram_sample
from unisvm.rows import MemoryRows
from unisvm.rows.collections import Blocks

M, D = 900, 3
KERNEL = kernels.RBF(0.7)
# lengths of blocks; those of the last kind come with blocks of weight 0
CUTS = {
    "one block": [M],
    "even blocks": [100] * 9,
    "uneven blocks": [400, 1, 7, 250, 2, 240],
    "single rows": [1] * 40 + [M - 41] + [1],
    "empty blocks": [0, 300, 0, 0, 599, 1, 0],
    "blocks of weight 0": [50, 300, 60, 440, 50],
}
SILENT = [slice(0, 50), slice(350, 410), slice(850, 900)]


class Given:
    """Rows as a user gives them."""

    def __init__(self, kind, weighting, dtype, form):
        rng = np.random.RandomState(0)
        X = rng.randn(M, D) * (rng.uniform(size=(M, D)) < 0.8)
        self.X = form(X.astype(dtype))
        self.targets = rng.randn(M, 2).astype(dtype)
        self.weights = {"even": np.full(M, 2.0), "uneven": rng.randint(1, 9, M) / 4.0}[weighting]
        if kind == "blocks of weight 0":
            for part in SILENT:
                self.weights[part] = 0
        self.weights = self.weights.astype(dtype)
        self.lengths = CUTS.get(kind)


def plain(given, **options):
    present = np.flatnonzero(given.weights)
    return MemoryRows(given.X[present], given.targets[present], given.weights[present], present=present, **options)


def as_it_is(y, weights):
    return y, weights


def distributed(given):
    ends = np.cumsum(given.lengths)
    X = da.concatenate(
        [
            da.from_delayed(delayed(_same)(given.X[low:high]), (high - low, D), dtype=given.X.dtype)
            for low, high in zip(ends - given.lengths, ends, strict=True)
        ]
    )
    return Blocks(X, given.targets, given.weights).stores(as_it_is, 1)


def _same(part):
    return part


STORES = {"threads": (partial(plain, n_threads=2), np.inf), "scratch": (plain, 0)}


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


@pytest.fixture(params=[*STORES, *CUTS])
def pair(request, kind, small_blocks):
    """The plain store, the one under test, and the room that its features have in memory."""
    return _pair(request.param, *kind)


@cache
def _pair(kind, weighting, dtype, form):
    given = Given(kind, weighting, dtype, form)
    make, room = STORES.get(kind, (distributed, np.inf))
    return plain(given), make(given), room


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def close(one, other, dtype):
    np.testing.assert_allclose(one, other, rtol=1e-4 if dtype == np.float32 else 1e-11, atol=1e-12)


# ---------------------------------------------------------------------- facts


def test_facts(pair):
    expected, rows, _ = pair
    for name in ("n_rows", "n_features", "n_columns", "dtype"):
        assert getattr(rows, name) == getattr(expected, name), name
    assert rows.total_weight == pytest.approx(expected.total_weight, rel=1e-14)
    assert rows.variance() == pytest.approx(expected.variance(), rel=1e-12)
    assert rows.trace(KERNEL) == pytest.approx(expected.trace(KERNEL), rel=1e-12)
    linear = kernels.Linear()
    assert rows.trace(linear) == pytest.approx(expected.trace(linear), rel=1e-6)


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
    np.testing.assert_array_equal(rows.weights_of(indices), expected.weights_of(indices))
    np.testing.assert_array_equal(rows.numbers(indices), expected.numbers(indices))
    np.testing.assert_allclose(rows.diagonal(KERNEL, indices), expected.diagonal(KERNEL, indices))
    sample = rows.sample(indices, np.arange(1.0, len(indices) + 1))
    assert isinstance(sample, MemoryRows)
    np.testing.assert_array_equal(dense(sample.X), dense(taken))
    np.testing.assert_array_equal(sample.targets, expected.targets[indices])
    np.testing.assert_array_equal(sample.weights, np.arange(1, len(indices) + 1))
    assert sample.weights.dtype == sample.targets.dtype == rows.dtype


def test_rows_are_located_by_their_numbers(pair):
    expected, rows, _ = pair
    some = np.array([0, 8, 300, 600, rows.n_rows - 1])
    numbers = expected.numbers(some)
    np.testing.assert_array_equal(rows.locate(numbers), some)
    if expected.n_rows < M:
        # a row of weight 0 is not here, nor are those of a block without others
        assert rows.locate(np.array([0, 100])) is None
        assert rows.locate(np.array([100, 360])) is None


# ---------------------------------------------------------------------- drawn rows


@pytest.mark.parametrize("n", [1, 7, 300, 5000])
def test_the_same_rows_are_drawn(pair, n):
    expected, rows, _ = pair
    for seed in range(3):
        drawn = rows.draw(n, np.random.RandomState(seed))
        np.testing.assert_array_equal(drawn, expected.draw(n, np.random.RandomState(seed)))
        assert len(np.unique(drawn)) == min(n, rows.n_rows)
        one, other = (store.represent(n, np.random.RandomState(seed)) for store in (rows, expected))
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize("rule", landmarks.RULES)
def test_the_same_landmarks_are_chosen(pair, rule):
    expected, rows, _ = pair
    one, other = (
        landmarks.choose(rule, store, KERNEL, 40, 0.0, np.random.RandomState(1)) for store in (rows, expected)
    )
    np.testing.assert_array_equal(one, other)
    assert len(one) > 10


# ---------------------------------------------------------------------- all rows


def a_block(features, targets, weights):
    weights = np.ones((len(features), 1)) if weights is None else weights
    return features.T.astype(np.float64) @ (weights * targets), (weights * targets).sum(axis=0, dtype=np.float64)


def rows_of(features):
    return features


def test_features_and_sums(pair):
    expected, rows, room = pair
    points = expected.take(np.arange(17))
    block = KERNEL.against(points)
    features = expected.build(block, 17)
    built = rows.build(block, 17, room)
    assert built.shape == features.shape
    assert built.itemsize == features.itemsize
    for n_columns in (1, 2):
        sums = rows.reduce(a_block, built, n_columns=n_columns)
        assert all(array.dtype == np.float64 for array in sums)
        exact = a_block(features, expected.targets, expected.weights[:, None])
        for one, other in zip(sums, exact, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-4 if rows.dtype == np.float32 else 1e-10)
    for indices in (np.array([5, rows.n_rows - 1, 0, 399, 5]), np.arange(rows.n_rows)[::-1]):
        close(rows.values(rows_of, built, indices), features[indices], rows.dtype)


def test_moments(pair):
    expected, rows, room = pair
    points = expected.take(np.arange(17))
    feature_map = FeatureMap(KERNEL, points, KERNEL(points, points).astype(np.float64), rows.dtype)
    tolerance = 1e-3 if rows.dtype == np.float32 else 1e-8
    kept = feature_map.kept
    for moments in (gram_of_all, partial(gram_sample, n_rows=200, landmarks=kept)):
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
        np.testing.assert_allclose(np.tril(one.gram), np.tril(other.gram), rtol=tolerance, atol=tolerance)
        assert one.trace_error == pytest.approx(other.trace_error, abs=tolerance)
