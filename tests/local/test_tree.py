"""Trees part rows into cells of nearly equal size, the same ones however the rows are given."""

import numpy as np
import pytest
from scipy import sparse

from unisvm import kernels
from unisvm.local import tree as tree_module
from unisvm.local.tree import CellTree, Partitions, grow_tree
from unisvm.rows import MemoryRows

RBF = kernels.RBF(1.0)


@pytest.fixture
def points(rng):
    return rng.randn(500, 4) @ rng.randn(4, 4)


def grown(X, most_rows=30, kernel=RBF, seed=0):
    """A tree of these rows."""
    rows = MemoryRows(X, np.ones((X.shape[0], 1)), np.ones(X.shape[0]))
    return grow_tree(rows, kernel, most_rows, np.random.RandomState(seed))


def walk(tree, x):
    """The cell of a row, node by node."""
    node = 0 if len(tree.thresholds) else -1
    while node >= 0:
        node = tree.children[node, int(tree.directions[node] @ x > tree.thresholds[node])]
    return -1 - node


def sizes(tree, X):
    """Different rows of each cell."""
    cells = tree.cells_of(X)
    X = X.toarray() if sparse.issparse(X) else X
    return np.array([len(np.unique(X[cells == k], axis=0)) for k in range(tree.n_cells)])


def assert_same_tree(one, other, rtol=0.0):
    np.testing.assert_array_equal(one.children, other.children)
    np.testing.assert_allclose(one.thresholds, other.thresholds, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(one.directions, other.directions, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("most_rows", [1, 7, 30, 100, 499])
def test_cells_are_nearly_equal_and_no_more_than_needed(points, most_rows):
    tree = grown(points, most_rows)
    found = sizes(tree, points)
    assert tree.n_cells == -(-500 // most_rows)
    assert tree.most_rows == most_rows
    assert found.sum() == 500
    assert 1 <= found.max() <= most_rows
    # a node that has n cells to give splits its rows in proportion, to one row on each level
    assert found.max() - found.min() <= 1 + np.log2(tree.n_cells)


def test_rows_are_one_cell_if_they_are_few(points):
    tree = grown(points, 500)
    assert tree.n_cells == 1
    assert tree.directions.shape == (0, 4)
    np.testing.assert_array_equal(tree.cells_of(points), np.zeros(500))


@pytest.mark.parametrize("most_rows", [2, 5, 60])
def test_routes_are_those_of_walks(points, rng, most_rows):
    tree = grown(points, most_rows)
    new = 3 * rng.randn(200, 4)
    np.testing.assert_array_equal(tree.cells_of(new), [walk(tree, x) for x in new])


def test_a_tree_deeper_than_the_levels_of_a_product():
    # cells along a line whose tree is a path: each node gives a cell to the left and the rest to the right
    n = 80
    children = np.stack([-1 - np.arange(n), np.append(np.arange(1, n), -1 - n)], axis=1)
    tree = CellTree(np.ones((n, 1)), np.arange(n) + 0.5, children, 1)
    line = np.random.RandomState(0).permutation(n + 1).astype(float)
    np.testing.assert_array_equal(tree.cells_of(line[:, None]), line)


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csr_matrix])
def test_blocks_threads_and_single_rows_agree(points, monkeypatch, form):
    tree, X = grown(points, 3), form(points)
    expected = [walk(tree, x) for x in points]
    np.testing.assert_array_equal(tree.cells_of(X), expected)
    np.testing.assert_array_equal(np.concatenate([tree.cells_of(X[i : i + 1]) for i in range(500)]), expected)
    monkeypatch.setattr(tree_module, "_BLOCK_NUMBERS", 1)
    for n_threads in (1, 2):
        np.testing.assert_array_equal(tree.cells_of(X, n_threads), expected)
    assert tree.cells_of(X[:0]).shape == (0,)


def test_copies_and_weights_have_no_part(points, rng):
    tree = grown(points)
    copies = np.concatenate([points, points[:200], points[:50]])
    assert_same_tree(grown(copies[rng.permutation(750)]), tree)
    rows = MemoryRows(points, np.ones((500, 1)), rng.uniform(0.1, 9.0, 500))
    assert_same_tree(grow_tree(rows, RBF, 30, np.random.RandomState(0)), tree)


def test_the_order_of_rows_has_no_part(points, rng):
    assert_same_tree(grown(points[rng.permutation(500)]), grown(points))


def test_other_random_numbers_are_another_tree(points):
    one, other = grown(points).cells_of(points), grown(points, seed=1).cells_of(points)
    assert len(np.unique(np.stack([one, other]), axis=1).T) > grown(points).n_cells


def test_zeros_of_either_sign_are_one_row():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 3.0]])
    tree = grown(X, 1)
    assert tree.n_cells == 2
    assert tree.cells_of(X)[0] == tree.cells_of(X)[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scaled", [False, True])
def test_sparse_rows_have_the_cells_of_dense_ones(rng, dtype, scaled):
    # a few columns apart from a tiny one: gaps that single precision does not show
    X = np.where(rng.rand(565, 8) < 0.5, rng.randn(565, 8), 0)
    X = np.concatenate([1e-7 * X[:, :1], np.sign(X[:, 1:])], axis=1)
    X = X.astype(dtype)
    kernel = kernels.Scaled(RBF, 0.0, 3.7 * np.maximum(X.std(axis=0).astype(float), 1e-3)) if scaled else RBF
    dense, of_sparse = grown(X, 20, kernel), grown(sparse.csr_array(X), 20, kernel)
    cells = dense.cells_of(X)
    np.testing.assert_array_equal(of_sparse.cells_of(sparse.csr_array(X)), cells)
    np.testing.assert_array_equal(of_sparse.cells_of(X), cells)
    assert sizes(of_sparse, X).max() <= 20


def test_single_precision_has_the_cells_of_the_same_numbers(points):
    X = points.astype(np.float32)
    tree = grown(X)
    assert_same_tree(tree, grown(X.astype(np.float64)), rtol=1e-9)
    np.testing.assert_array_equal(tree.cells_of(X), tree.cells_of(X.astype(np.float64)))


def test_scaled_columns_are_parted_and_new_rows_come_in_their_own_units(points, rng):
    points = points / points.std(axis=0)
    centre, divisor = np.array([5.0, -300.0, 0.0, 1e6]), np.array([1e-3, 10.0, 1.0, 1e4])
    own = points * divisor + centre
    tree, plain = grown(own, kernel=kernels.Scaled(RBF, centre, divisor)), grown((own - centre) / divisor)
    np.testing.assert_array_equal(tree.cells_of(own), plain.cells_of((own - centre) / divisor))
    new = rng.randn(300, 4)
    np.testing.assert_array_equal(tree.cells_of(new * divisor + centre), plain.cells_of(new))
    # without scaling, the large column alone would part the rows
    assert (grown(own).cells_of(own) != tree.cells_of(own)).any()


def test_one_column_is_cut_into_intervals(rng):
    x = rng.rand(100)
    cells = grown(x[:, None], 10).cells_of(np.sort(x)[:, None])
    np.testing.assert_array_equal(np.flatnonzero(np.diff(cells)), np.arange(9, 99, 10))


def test_constant_columns_part_nothing(points):
    X = np.concatenate([points, np.full((500, 2), 1e3)], axis=1)
    tree = grown(X, 30)
    assert sizes(tree, X).max() <= 30
    cells = tree.cells_of(X)
    # the principal directions have next to no part in them, where rounding alone varies
    assert abs(tree.directions[:, 4:]).max() < 1e-6
    assert len(np.unique(cells)) == tree.n_cells


@pytest.mark.parametrize("value", [0.0, 1.0, 1e300, -1e-300])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_that_are_all_the_same_are_one_cell(value, form):
    assert grown(form(np.full((50, 3), value)), 1).n_cells == 1


def test_rows_that_rounding_alone_tells_apart_are_one_cell():
    X = np.stack([1e9 + np.arange(20) * 1.2e-7, np.full(20, 1e9)], axis=1)
    assert len(np.unique(X, axis=0)) > 4
    assert grown(X, 4).n_cells == 1


@pytest.mark.parametrize("n_columns", [3, 6, 9])
def test_heavy_ties(rng, n_columns):
    X = rng.randint(2, size=(600, n_columns)).astype(float)
    different = len(np.unique(X, axis=0))
    tree = grown(X, 10)
    found = sizes(tree, X)
    assert found.max() <= 10
    assert found.sum() == different
    assert tree.n_cells >= different / 10
    assert found.min() >= 1
    np.testing.assert_array_equal(tree.cells_of(X), [walk(tree, x) for x in X])


def test_columns_without_variance_along_the_principal_direction():
    # two directions vary alike, and the mean of the rows is far from them
    angles = np.linspace(0, 2 * np.pi, 64, endpoint=False)
    X = 1000 + np.stack([np.cos(angles), np.sin(angles)], axis=1)
    found = sizes(grown(X, 8), X)
    assert found.max() <= 8
    assert len(found) == 8


def test_trees_of_a_sample_have_cells_of_about_that_size(rng, monkeypatch):
    monkeypatch.setattr(tree_module, "_MOST_ROWS", 300)
    monkeypatch.setattr(tree_module, "_FEWEST_ROWS", 300)
    X = rng.randn(3000, 3)
    tree = grown(X, 100)
    found = sizes(tree, X)
    assert tree.n_cells == 30
    assert found.min() > 30
    assert found.max() < 250


def test_states_are_trees(points):
    trees = Partitions([grown(points, 30), grown(points, 100, seed=1), grown(points, 500)])
    copies = Partitions.from_state(trees.state()).trees
    assert len(copies) == 3
    for tree, same in zip(trees.trees, copies, strict=True):
        assert_same_tree(tree, same)
        assert same.most_rows == tree.most_rows
        assert same.is_same(tree)
    assert not copies[0].is_same(copies[1])
    assert not copies[0].is_same(CellTree(copies[0].directions, copies[0].thresholds + 1, copies[0].children, 30))
