"""Distances of the benchmark of similarities, against recursions entry by entry, and wrong labels."""

import numpy as np

from indefinite import with_wrong_labels
from similarities import edit_distances, of_pairs, warped_distances


def edit_distance(a, b):
    D = np.add.outer(np.arange(len(a) + 1), np.arange(len(b) + 1))
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
    return D[-1, -1]


def warped_distance(a, b):
    D = np.full((len(a) + 1, len(b) + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            D[i, j] = (a[i - 1] - b[j - 1]) ** 2 + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return np.sqrt(D[-1, -1])


def test_edit_distances():
    rng = np.random.RandomState(1)
    words = [rng.randint(3, size=rng.randint(0, 8)) for _ in range(40)]
    lengths = np.array([len(word) for word in words])
    letters = np.full((40, 8), -1)
    for row, word in zip(letters, words, strict=True):
        row[: len(word)] = word
    d = of_pairs(40, lambda i, j: edit_distances(letters[i], letters[j], lengths[i], lengths[j]))
    np.testing.assert_array_equal(d, [[edit_distance(a, b) for b in words] for a in words])


def test_warped_distances():
    series = np.random.RandomState(1).randn(15, 9)
    d = of_pairs(15, lambda i, j: warped_distances(series[i], series[j]))
    np.testing.assert_allclose(d, [[warped_distance(a, b) for b in series] for a in series])


def test_wrong_labels_are_other_classes():
    y = np.repeat(["a", "b", "c"], 100)
    wrong = with_wrong_labels(y, 0.2, 0)
    assert (wrong != y).sum() == 60
    assert set(wrong) == {"a", "b", "c"}
    np.testing.assert_array_equal(with_wrong_labels(y, 0.0, 0), y)
