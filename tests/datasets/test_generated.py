"""Generated data, and labels that are flipped."""

import numpy as np
import pytest

from unisvm import datasets


def test_checkerboard_is_a_board():
    X, y = datasets.make_checkerboard(40, dtype=np.float32)
    assert X.dtype == np.float32
    assert X.shape == (1600, 2)
    assert X.min() > 0
    assert X.max() < 1
    fields = {}
    for (column, row), label in zip(np.floor(X * 4).astype(int), y, strict=True):
        fields.setdefault((column, row), set()).add(label)
    # sixteen fields of one colour each, neighbours of the other
    assert len(fields) == 16
    for (column, row), labels in fields.items():
        assert labels == {1 if (column + row) % 2 == 0 else -1}


def test_xor_is_seeded_and_balanced():
    X, y = datasets.make_xor(2000, random_state=3)
    again, _ = datasets.make_xor(2000, random_state=3)
    np.testing.assert_array_equal(X, again)
    assert abs(y.mean()) < 0.1
    np.testing.assert_array_equal(y, np.sign(X.prod(axis=1)))


@pytest.mark.parametrize("labels", [["a", "b"], [0, 1, 2, 7]])
@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_flipped_labels_are_wrong_and_the_others_right(labels, share):
    y = np.resize(labels, 200)
    before = y.copy()
    wrong, flipped = datasets.flip_labels(y, share, random_state=0)
    assert len(flipped) == round(share * 200)
    assert set(np.flatnonzero(wrong != y)) == set(flipped)
    assert set(wrong) <= set(y)
    np.testing.assert_array_equal(y, before)
    if share == 1.0 and len(labels) > 2:
        # evenly over the other classes
        counts = np.unique(wrong[y == labels[0]], return_counts=True)[1]
        assert counts.min() > 8


def test_flip_labels_refuses():
    with pytest.raises(ValueError, match="between 0 and 1"):
        datasets.flip_labels([0, 1], 1.5)
    with pytest.raises(ValueError, match="one class"):
        datasets.flip_labels([1, 1], 0.5)
