"""The choice among candidates, and warnings of one that cannot be good."""

import warnings

import numpy as np
import pytest

from unisvm import FitWarning
from unisvm.feature_selection import SelectionPath
from unisvm.feature_selection.choice import choose, warn_of_choice


def path(losses, sizes, widths=None):
    """Candidates with these losses on held-out rows, of which each selects the first so many of eight columns."""
    n = len(sizes)
    support = np.arange(8) < np.array(sizes)[:, None]
    widths = np.ones(n) if widths is None else np.array(widths)
    nothing = np.zeros((n, 1))
    alphas = np.geomspace(1, 0.1, n)
    return SelectionPath(widths, alphas, support, np.zeros((n, 1, 8)), nothing, nothing, np.array(losses, dtype=float))


# the third is best; the second is worse by 0.1 ± 0.2/√3, the first by 1 ± 0
LOSSES = [[2.0, 3.0, 4.0], [1.0, 2.3, 3.0], [1.0, 2.0, 3.0], [1.2, 2.2, 3.2]]


@pytest.mark.parametrize(("rule", "expected"), [("best", 2), ("one_standard_error", 1)])
def test_rules(rule, expected):
    assert choose(path(LOSSES, [1, 3, 5, 7]), rule) == expected


def test_of_as_many_columns_the_least_loss_counts():
    losses = [[1.2, 2.2, 2.9], [1.1, 2.2, 2.9], [1.0, 2.0, 3.0]]
    assert choose(path(losses, [3, 3, 5]), "one_standard_error") == 1


def test_larger_supports_are_never_taken_for_as_good():
    assert choose(path(LOSSES, [1, 6, 5, 7]), "one_standard_error") == 2


def test_one_split_has_no_standard_error():
    assert choose(path([[1.0], [1.1], [0.9]], [1, 2, 3]), "one_standard_error") == 2


def test_without_splits_the_last_is_taken():
    assert choose(path(np.empty((3, 0)), [1, 2, 3]), "best") == 2


@pytest.mark.parametrize(
    ("losses", "sizes", "widths", "chosen", "message"),
    [
        (LOSSES, [0, 3, 5, 7], None, 0, "No column is selected.*lower alphas"),
        (np.empty((1, 0)), [0], None, 0, "No column is selected.*Lower alpha or width"),
        (LOSSES, [1, 3, 5, 7], None, 3, "lowest alpha, 0.1"),
        (LOSSES, [1, 3, 5, 7], [1, 1, 2, 2], 1, "more columns than 3"),
    ],
)
def test_warnings(losses, sizes, widths, chosen, message):
    with pytest.warns(FitWarning, match=message):
        warn_of_choice(path(losses, sizes, widths), chosen, 8)


@pytest.mark.parametrize(
    ("sizes", "chosen", "n_varying"),
    [([1, 3, 5, 7], 2, 8), ([1, 3, 7, 7], 3, 8), ([1, 3, 5, 7], 3, 7)],
    ids=["not the last", "no more columns at the end", "all columns"],
)
def test_no_warning(sizes, chosen, n_varying):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_choice(path(LOSSES, sizes), chosen, n_varying)
