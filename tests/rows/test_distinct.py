"""Rows that are the same."""

import numpy as np
import pytest
from scipy import sparse

from unisvm.rows.distinct import distinct_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("as_X", [np.asarray, sparse.csr_matrix, np.asfortranarray], ids=["dense", "sparse", "columns"])
def test_kinds_of_rows(as_X, dtype):
    rng = np.random.RandomState(0)
    kinds = rng.randint(4, size=50)
    table = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 2.5], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]], dtype=dtype)
    first, group = distinct_rows(as_X(table[kinds]))
    assert len(first) == 4
    # a kind is a kind, and its row is one of it
    assert len({(a, b) for a, b in zip(kinds, group, strict=True)}) == 4
    np.testing.assert_array_equal(group[first], np.arange(4))
    # in an order that does not depend on that of the rows
    order = rng.permutation(50)
    again, group_again = distinct_rows(as_X(table[kinds[order]]))
    np.testing.assert_array_equal(table[kinds[first]], table[kinds[order]][again])
    np.testing.assert_array_equal(group_again, group[order])


def test_other_tables_tell_rows_apart():
    X, y = np.zeros((4, 2)), np.array([[0.0], [1.0], [0.0], [-0.0]])
    first, group = distinct_rows(X, y)
    assert len(first) == 2
    assert group[0] == group[2] == group[3] != group[1]
    assert len(distinct_rows(X, y, np.arange(4)[:, None])[0]) == 4
    # -0 is 0
    assert len(distinct_rows(np.array([[0.0], [-0.0]]))[0]) == 1
