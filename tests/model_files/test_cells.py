"""Trees and machines of cells that do not belong to each other are refused before such a file is written."""

import copy

import numpy as np
import pytest

import unisvm
from model_files.saved_models import TARGETS, X, plain
from unisvm.local.tree import CellTree
from unisvm.model_files import read_summary


@pytest.fixture(scope="module")
def model():
    return plain("three classes", cells=30).fit(X, TARGETS["three classes"])


def with_tree(model, **changes):
    """A copy of the model whose tree has other arrays."""
    other, tree = copy.deepcopy(model), model.partitions_[0]
    names = ("directions", "thresholds", "children", "most_rows")
    other.partitions_ = [CellTree(**{name: getattr(tree, name) for name in names} | changes)]
    return other


CHILDREN = {
    "a cycle": [[1, -1], [0, -2]],
    "its own child": [[0, -1], [-2, -3]],
    "a cell twice": [[1, -1], [-1, -2]],
    "a node twice": [[1, 1], [-1, -2]],
    "no such cell": [[1, -1], [-2, -9]],
    "no such node": [[2, -1], [-2, -3]],
    "one node": [[-1, -2]],
    "three columns": [[1, -1, -4], [-2, -3, -5]],
    "fractions": [[1.0, -1], [-2, -3]],
}


@pytest.mark.parametrize("children", CHILDREN.values(), ids=CHILDREN)
def test_children_that_are_no_tree(tmp_path, model, children):
    assert model.partitions_[0].n_cells == 3
    refused(with_tree(model, children=np.array(children)), tmp_path, "children")


@pytest.mark.parametrize(
    "changes",
    [
        {"directions": np.ones((2, 4))},
        {"directions": np.ones((3, 3))},
        {"directions": np.ones((2, 3), np.float32)},
        {"directions": np.full((2, 3), np.nan)},
        {"thresholds": np.array([0.0, np.inf])},
        {"thresholds": np.zeros((2, 1))},
        {"thresholds": np.zeros(2, np.float32)},
        {"most_rows": 0},
    ],
    ids=lambda changes: " ".join(changes),
)
def test_numbers_of_trees(tmp_path, model, changes):
    refused(with_tree(model, **changes), tmp_path, "")


def refused(model, folder, what):
    """Raise unless a file of this model could not be loaded."""
    with pytest.raises(ValueError, match=rf"could not be loaded again.*{what}"):
        unisvm.save(model, folder / "forged")
    assert list(folder.iterdir()) == []


def of_other_classes(model):
    return [plain("two classes").fit(X, TARGETS["two classes"]), *model.cells_[1:]]


MACHINES = {
    "one too few": lambda model: model.cells_[:-1],
    "one too many": lambda model: [*model.cells_, model.cells_[0]],
    "none": lambda model: [],
    "a regressor": lambda model: [*model.cells_[1:], plain("target").fit(X, TARGETS["target"])],
    "other classes": of_other_classes,
    "other columns": lambda model: [plain("three classes").fit(X[:, :2], TARGETS["three classes"]), *model.cells_[1:]],
    "cells in a cell": lambda model: [model, *model.cells_[1:]],
}


@pytest.mark.parametrize("machines", MACHINES.values(), ids=MACHINES)
def test_machines_that_are_not_those_of_the_cells(tmp_path, model, machines):
    other = copy.deepcopy(model)
    other.cells_ = machines(model)
    refused(other, tmp_path, "cells_")


@pytest.mark.parametrize("trees", [[], ["tree"]])
def test_trees_that_are_none(tmp_path, model, trees):
    other = copy.deepcopy(model)
    other.partitions_ = trees
    refused(other, tmp_path, "")


@pytest.mark.parametrize("name", ["rank_", "trace_error_", "objective_", "n_sweeps_", "C_", "n_iter_"])
def test_attributes_that_are_left_out(tmp_path, model, name):
    other = copy.deepcopy(model)
    delattr(other, name)
    refused(other, tmp_path, f"{name} is missing")


def test_the_summary_tells_of_cells(tmp_path, model):
    unisvm.save(model, tmp_path / "model")
    summary = read_summary(tmp_path / "model")
    assert summary["model"]["n_cells"] == 3 if "model" in summary else summary["n_cells"] == 3
