"""A cell fits the columns that its rows tell of; the others are constants."""

import numpy as np
import pytest

from unisvm.class_pairs import class_pairs
from unisvm.local.columns import columns_of_cell
from unisvm.targets import TargetUnits


def units(n_columns, pairs=None):
    return TargetUnits(None, np.zeros(n_columns), np.ones(n_columns), pairs)


def signs(classes, n_classes):
    """Training targets of such classes, of shape (n_rows, n_classes)."""
    return np.where(np.asarray(classes)[:, None] == np.arange(n_classes), 1.0, -1.0)


def expected_constant(first, second, present):
    """Of a pair of classes: the second is where the function is positive."""
    if first in present and second in present:
        return None
    return 1 if second in present else -1 if first in present else 0


@pytest.mark.parametrize("present", [[0], [3], [0, 1], [1, 3], [0, 2, 3], [0, 1, 2, 3]])
def test_pairs_of_classes(present):
    pairs = class_pairs(4)
    columns = columns_of_cell(signs(present * 3, 4), units(6, pairs), is_margin=True)
    constants = [expected_constant(first, second, present) for first, second in pairs.tolist()]
    assert columns.fitted.tolist() == [k for k, constant in enumerate(constants) if constant is None]
    assert columns.constants.tolist() == [constant or 0 for constant in constants]
    assert columns.units.n_columns == len(columns.fitted)
    if len(present) > 1:
        assert columns.targets.tolist() == present
        # the pairs of the classes that are there, by their places among these
        of_present = np.array(present)[columns.units.pairs]
        np.testing.assert_array_equal(of_present, pairs[columns.fitted])


def test_labels_that_all_rows_have_or_lack_are_constants():
    targets = np.array([[1.0, 1, -1, 1], [1, -1, -1, -1], [1, 1, -1, -1]])
    columns = columns_of_cell(targets, units(4), is_margin=True)
    assert columns.fitted.tolist() == columns.targets.tolist() == [1, 3]
    assert columns.constants.tolist() == [1, 0, -1, 0]
    assert columns.units.n_columns == 2


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_one_class_of_two(label):
    columns = columns_of_cell(np.full((5, 1), label), units(1), is_margin=True)
    assert len(columns.fitted) == 0
    assert columns.constants.tolist() == [label]


def test_real_targets_are_all_fitted():
    of_all = TargetUnits(None, np.array([1.0, 2.0]), np.array([3.0, 4.0]), None)
    columns = columns_of_cell(np.ones((5, 2)), of_all, is_margin=False)
    assert columns.units is of_all
    assert columns.fitted.tolist() == columns.targets.tolist() == [0, 1]
    assert columns.constants.tolist() == [0, 0]
