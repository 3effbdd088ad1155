"""Labels and real targets as training targets and back: of whole arrays, and block by block."""

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from unisvm.distributed.collections import Blocks
from unisvm.targets import SignEncoder, TargetScaler, TargetUnits, check_labels, signs_of

F64 = np.dtype(np.float64)
ONES = np.ones(6)


def encoded(encoder, y, weights=None, dtype=F64):
    weights = np.ones(len(y)) if weights is None else weights
    return encoder.encode(y, weights, dtype)


def in_blocks(encoder, y, weights=None):
    """Training targets and weights that the blocks of an array on Dask get, their units, and the attributes."""
    blocks = Blocks(da.zeros((len(y), 1), chunks=(7, 1)), y, weights)
    encode, attributes = encoder.encode_blocks(blocks)
    values, weights = map(np.concatenate, zip(*blocks.map_targets(_encode, encode), strict=True))
    return values, weights, encode.units(values.shape[1]), attributes


def _encode(y, weights, encode):
    return encode(y, weights)


# ---------------------------------------------------------------------- labels


def test_two_classes_are_one_column():
    targets, attributes = encoded(SignEncoder(), np.array(["no", "yes", "no", "yes", "yes", "no"]))
    np.testing.assert_array_equal(targets.values, [[-1], [1], [-1], [1], [1], [-1]])
    np.testing.assert_array_equal(targets.weights, ONES)
    assert attributes["classes_"].tolist() == ["no", "yes"]
    assert not attributes["_multilabel"]


def test_several_classes_are_one_column_each():
    targets, attributes = encoded(SignEncoder(), np.array([7, 3, 5, 7, 3, 3]))
    assert attributes["classes_"].tolist() == [3, 5, 7]
    np.testing.assert_array_equal(targets.values.argmax(axis=1), [2, 0, 1, 2, 0, 0])
    np.testing.assert_array_equal(targets.values.sum(axis=1), -ONES)


def test_labels_of_an_indicator_matrix_are_one_column_each():
    y = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1]])
    targets, attributes = encoded(SignEncoder(), y)
    np.testing.assert_array_equal(targets.values, 2 * y - 1)
    assert attributes["classes_"].tolist() == [0, 1, 2]
    assert attributes["_multilabel"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_signs_have_the_precision_of_the_rows(dtype):
    targets, _ = encoded(SignEncoder(), np.array([0, 1, 1]), dtype=np.dtype(dtype))
    assert targets.values.dtype == dtype


def test_classes_are_those_of_rows_of_positive_weight():
    y, weights = np.array([0, 1, 2, 0, 1, 2]), np.array([1.0, 1, 0, 1, 1, 0])
    targets, attributes = encoded(SignEncoder(), y, weights)
    assert attributes["classes_"].tolist() == [0, 1]
    assert targets.values.shape == (6, 1)
    with pytest.raises(ValueError, match="holds only one class, 1"):
        encoded(SignEncoder(), y, (y == 1).astype(float))


def test_classes_of_a_reference():
    # a split that lacks a class has the columns of all rows
    _, attributes = encoded(SignEncoder(), np.array([0, 1, 2]))
    targets, _ = SignEncoder().encode(np.array([0, 0, 1]), np.ones(3), F64, attributes)
    np.testing.assert_array_equal(targets.values, [[1, -1, -1], [1, -1, -1], [-1, 1, -1]])


def test_class_weights_multiply_the_weights():
    y, weights = np.array(["a", "b", "a", "c"]), np.array([1.0, 2.0, 3.0, 4.0])
    targets, _ = encoded(SignEncoder({"a": 2.0, "b": 0.5, "c": 1.0}), y, weights)
    np.testing.assert_array_equal(targets.weights, [2, 1, 6, 4])
    np.testing.assert_array_equal(weights, [1, 2, 3, 4])
    # rows are counted, whatever they weigh, if they weigh something
    targets, _ = encoded(SignEncoder("balanced"), np.array([0, 0, 0, 1, 1]), np.array([1.0, 1, 1, 1, 0]))
    np.testing.assert_allclose(targets.weights, [2 / 3, 2 / 3, 2 / 3, 2, 0])


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_bad_class_weights_are_refused(weight):
    with pytest.raises(ValueError, match="class_weight must be 'balanced' or give each class a weight"):
        encoded(SignEncoder({0: 1.0, 1: weight}), np.array([0, 1]))
    with pytest.raises(ValueError, match="some class a positive one"):
        encoded(SignEncoder({0: 0.0, 1: 0.0}), np.array([0, 1]))


def test_signs_mean_the_same_everywhere():
    y = np.array([2, 0, 2])
    np.testing.assert_array_equal(signs_of(y, np.array([0, 2]), F64)[:, 0], [1, -1, 1])
    np.testing.assert_array_equal(signs_of(y, np.array([0, 1, 2]), F64)[0], [-1, -1, 1])


@pytest.mark.parametrize(
    ("y", "shape"),
    [
        (np.array([0, 1, 1]), (3,)),
        (np.array([[0, 1], [1, 1], [0, 0]]), (3, 2)),
        (sparse.csr_array(np.array([[0, 1], [1, 1], [0, 0]])), (3, 2)),
        (np.array(["a", "b"]), (2,)),
    ],
    ids=["labels", "indicator", "sparse indicator", "text"],
)
def test_labels_that_are_accepted(y, shape):
    checked = check_labels(y)
    assert type(checked) is np.ndarray
    assert checked.shape == shape


@pytest.mark.parametrize(
    ("y", "message"),
    [(np.array([0.5, 1.2, 3.3]), "Unknown label type"), (np.array([[0, 1], [2, 3], [1, 1]]), "MultiOutputClassifier")],
)
def test_labels_that_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        check_labels(y)


# ---------------------------------------------------------------------- real targets


def test_real_targets_are_in_units_of_their_robust_scale():
    y = np.array([10.0, 12, 14, 16, 1000])
    targets, attributes = encoded(TargetScaler(), y)
    scale = 1.4826 * 2
    np.testing.assert_allclose(targets.values[:, 0], (y - 14) / scale)
    np.testing.assert_allclose(targets.units.median, [0])
    np.testing.assert_allclose(attributes["target_centre_"], [14])
    np.testing.assert_allclose(attributes["target_scale_"], [scale])
    assert attributes["_one_target"]
    assert not encoded(TargetScaler(), y[:, None])[1]["_one_target"]


def test_without_an_intercept_the_targets_are_only_scaled():
    y = np.array([10.0, 12, 14, 16, 1000])
    targets, _ = encoded(TargetScaler(fit_intercept=False), y)
    scale = 1.4826 * 2
    np.testing.assert_allclose(targets.values[:, 0], y / scale)
    np.testing.assert_array_equal(targets.units.offset, [0])
    # the median is where outliers are counted from, all the same
    np.testing.assert_allclose(targets.units.median, [14 / scale])


def test_units_and_back():
    rng = np.random.RandomState(0)
    units = TargetUnits(np.zeros(2), np.array([5.0, -3.0]), np.array([10.0, 0.1]))
    K, dual, intercept = rng.randn(8, 4), rng.randn(4, 2), rng.randn(2)
    in_units_of_y = units.restore(dual, intercept)
    restored = K @ in_units_of_y[0] + in_units_of_y[1]
    np.testing.assert_allclose(restored, (K @ dual + intercept) * units.scale + units.offset)
    np.testing.assert_allclose(units.to_training(restored), K @ dual + intercept)
    single = units.restore(dual.astype(np.float32), intercept.astype(np.float32))
    assert single[0].dtype == single[1].dtype == np.float32


# ---------------------------------------------------------------------- blocks

rng = np.random.RandomState(1)
LABELS = {
    "two classes": rng.randint(2, size=40),
    "three classes": rng.randint(3, size=40),
    "text": np.array(["a", "bc", "d"])[rng.randint(3, size=40)],
    "indicator": rng.randint(2, size=(40, 3)),
    # the first block has one of the classes, and the last the others
    "sorted": np.repeat([0, 1, 2, 3], 10),
}
WEIGHTS = {"ones": None, "varied": rng.uniform(0.5, 2, size=40), "some 0": (np.arange(40) % 5 > 0).astype(float)}


@pytest.mark.usefixtures("threaded_dask")
@pytest.mark.parametrize("weighting", WEIGHTS)
@pytest.mark.parametrize("class_weight", [None, "balanced", "dict"])
@pytest.mark.parametrize("one_vs_one", [False, True])
@pytest.mark.parametrize("name", LABELS)
def test_labels_in_blocks_are_as_in_one_array(name, one_vs_one, class_weight, weighting):
    y, weights = LABELS[name], WEIGHTS[weighting]
    if class_weight == "dict":
        class_weight = {label: 1.0 + k for k, label in enumerate(np.unique(y).tolist())}
    encoder = SignEncoder(class_weight, one_vs_one)
    if y.ndim == 2 and class_weight is not None:
        with pytest.raises(ValueError, match="class_weight is not supported for a multilabel y on Dask"):
            in_blocks(encoder, y, weights)
        return
    values, found, units, attributes = in_blocks(encoder, y, weights)
    targets, expected = encoded(encoder, y, weights)
    np.testing.assert_array_equal(values, targets.values)
    np.testing.assert_allclose(found, targets.weights, rtol=1e-12)
    np.testing.assert_array_equal(attributes["classes_"], expected["classes_"])
    assert attributes["_multilabel"] == expected["_multilabel"]
    np.testing.assert_array_equal(units.scale, targets.units.scale)
    assert units.median is None
    assert (units.pairs is not None) == (one_vs_one and len(expected["classes_"]) > 2 and y.ndim == 1)
    for pairs in (units.pairs, attributes["_pairs"], expected["_pairs"]):
        np.testing.assert_array_equal(pairs, targets.units.pairs)


@pytest.mark.usefixtures("threaded_dask")
@pytest.mark.parametrize("weighting", WEIGHTS)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n_targets", [None, 2, 3])
def test_real_targets_in_blocks_are_as_in_one_array(n_targets, intercept, weighting):
    shape = (40,) if n_targets is None else (40, n_targets)
    y, weights, encoder = 50 + rng.randn(*shape), WEIGHTS[weighting], TargetScaler(intercept)
    values, _, units, attributes = in_blocks(encoder, y, weights)
    targets, expected = encoded(encoder, y, weights)
    np.testing.assert_allclose(values, targets.values, rtol=1e-9)
    assert units.pairs is targets.units.pairs is None
    for one, other in zip(units[:3], targets.units[:3], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert attributes.keys() == expected.keys()
    assert attributes["_one_target"] == expected["_one_target"] == (n_targets is None)
