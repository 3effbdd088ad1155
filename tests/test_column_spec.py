"""Columns of a batched solve: which target, weights, loss and penalty each of them has."""

import numpy as np
import pytest

from unisvm import losses
from unisvm.column_spec import ColumnSpec, unit_cost

HINGE, LOGISTIC, SATURATING = losses.get("hinge"), losses.get("logistic"), losses.get("saturating")


def spec_of(loss_of, target_of, weight_of=None, target_medians=None):
    q = len(loss_of)
    arrays = (np.array(loss_of), np.linspace(1, 2, q), np.arange(10.0, 10 + q), np.array(target_of))
    weight_of = None if weight_of is None else np.array(weight_of)
    return ColumnSpec((HINGE, LOGISTIC, SATURATING), *arrays, weight_of, target_medians)


def test_shared():
    spec = ColumnSpec.shared(HINGE, 0.1, 50.0, 3, np.array([1.0, 2.0, 3.0]))
    assert spec.n_columns == 3
    assert spec.loss_slices == [(HINGE, slice(0, 3))]
    assert spec.weight_of is None
    np.testing.assert_array_equal(spec.penalties, [0.1] * 3)
    np.testing.assert_array_equal(spec.totals, [50] * 3)
    np.testing.assert_array_equal(spec.target_of, [0, 1, 2])
    np.testing.assert_array_equal(spec.target_medians, [1, 2, 3])


@pytest.mark.parametrize("columns", [[0, 1, 2, 3, 4], [1, 4], [0, 0, 3], [], [2]], ids=str)
@pytest.mark.parametrize("weight_of", [None, [4, 3, 4, 3, 4]])
@pytest.mark.parametrize("medians", [None, np.arange(5.0)])
def test_take(columns, weight_of, medians):
    spec = spec_of([0, 0, 1, 2, 2], [0, 1, 2, 0, 1], weight_of, medians)
    part = spec.take(np.array(columns, dtype=int))
    assert part.n_columns == len(columns)
    for name in ("loss_of", "penalties", "totals", "target_of", "weight_of", "target_medians"):
        whole = getattr(spec, name)
        if whole is None:
            assert getattr(part, name) is None
        else:
            np.testing.assert_array_equal(getattr(part, name), whole[columns])


@pytest.mark.parametrize(
    ("loss_of", "slices"),
    [
        ([0, 0, 0], [(HINGE, slice(0, 3))]),
        ([0, 0, 1, 2, 2], [(HINGE, slice(0, 2)), (LOGISTIC, slice(2, 3)), (SATURATING, slice(3, 5))]),
        ([0, 2], [(HINGE, slice(0, 1)), (SATURATING, slice(1, 2))]),
        ([1], [(LOGISTIC, slice(0, 1))]),
        ([], []),
    ],
)
def test_loss_slices(loss_of, slices):
    assert spec_of(loss_of, [0] * len(loss_of)).loss_slices == slices


def test_attributes_of_the_losses():
    np.testing.assert_array_equal(
        spec_of([0, 0, 1, 2, 2], [0] * 5).of_losses(lambda loss: loss.A),
        [HINGE.A, HINGE.A, LOGISTIC.A] + [SATURATING.A] * 2,
    )


# ---------------------------------------------------------------------- targets and weights

STORED = np.random.RandomState(0).randn(7, 5)
WEIGHTS = np.random.RandomState(1).uniform(size=(7, 1))


def test_every_target_is_taken_without_a_copy():
    y, weights = spec_of([0] * 5, range(5)).take_targets(STORED, WEIGHTS)
    assert y is STORED
    assert weights is WEIGHTS


@pytest.mark.parametrize("target_of", [[2, 0, 2], [1], [0, 1, 2, 3], [4, 3, 2, 1, 0]], ids=str)
def test_targets_of_the_columns(target_of):
    y, weights = spec_of([0] * len(target_of), target_of).take_targets(STORED, None)
    np.testing.assert_array_equal(y, STORED[:, target_of])
    assert weights is None


def test_a_target_that_all_columns_share_is_taken_once():
    y, _ = spec_of([0, 1, 2], [3, 3, 3]).take_targets(STORED, None)
    np.testing.assert_array_equal(y, STORED[:, [3]])


def test_weights_beside_the_targets():
    spec = spec_of([0, 0, 1], [0, 1, 0], weight_of=[4, 3, 3])
    # those of the rows are in them already
    for of_rows in (None, WEIGHTS):
        y, weights = spec.take_targets(STORED, of_rows)
        np.testing.assert_array_equal(y, STORED[:, [0, 1, 0]])
        np.testing.assert_array_equal(weights, STORED[:, [4, 3, 3]])
        assert spec.take_targets(STORED, of_rows, unit_weights=True)[1] is None


def test_cost_of_a_residual_of_one_unit():
    assert unit_cost(losses.get("least_squares")) == 1
    assert unit_cost(losses.get("huber", delta=0.5)) == 0.75
    # within its tube a loss is almost free, and a little is taken for it
    flat = losses.get("epsilon_insensitive", epsilon=5.0, p=100.0)
    assert unit_cost(flat) == pytest.approx(0.01 * flat.A)
