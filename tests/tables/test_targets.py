"""The target of a table, and the task that it asks for."""

import io

import numpy as np
import pytest

from unisvm.tables import guess_task, read_table, split_target


def table(text):
    return read_table(io.BytesIO(text.encode()), name="data.csv")


NAMED = "size,Label,colour\n1.5,1,red\n2.5,0,blue\n"
NUMBERED = "1.5,1\n2.5,0\n"


@pytest.mark.parametrize(
    ("text", "target", "names", "expected"),
    [
        (NAMED, None, ["size", "colour"], [1, 0]),
        (NAMED, "colour", ["size", "Label"], ["red", "blue"]),
        (NAMED, "first", ["Label", "colour"], [1.5, 2.5]),
        (NAMED, "last", ["size", "Label"], ["red", "blue"]),
        (NUMBERED, "last", ["column 1"], [1, 0]),
        (NUMBERED, 2, ["column 1"], [1, 0]),
        (NUMBERED, "1", ["column 2"], [1.5, 2.5]),
        (NUMBERED, "column 2", ["column 1"], [1, 0]),
        ("last,first\n1,2\n", "last", ["first"], [1]),
    ],
)
def test_targets_by_name_or_place(text, target, names, expected):
    rest, y = split_target(table(text), target)
    assert rest.names == names
    assert y.tolist() == expected
    assert rest.n_rows == len(y)


@pytest.mark.parametrize(
    ("text", "target", "match"),
    [
        (
            NUMBERED,
            None,
            "Say which column is the target, by its number.* has no column named target.* 'column 1', 'col",
        ),
        ("y,label,a\n1,2,3\n", None, "data.csv has 2 columns named like one. Its columns are 'y', 'label', 'a'"),
        (NAMED, "label", "Unknown column of data.csv 'label': did you mean 'Label'"),
        (NAMED, "2", "The target '2' is no column of data.csv, which has names: give one of 'size', 'Label'"),
        (NUMBERED, 3, "The target is column 3, but data.csv has columns 1 to 2"),
        (NUMBERED, 0, "The target is column 0"),
        (NUMBERED, "lst", "Unknown column of data.csv 'lst': did you mean 'last'"),
        ("y\n1\n", None, "data.csv has no columns beside the target 'y'"),
        ("y,a\nNA,1\n?,2\n", "y", "The target 'y' of data.csv is missing in all 2 rows"),
        (
            "y,a\n" + "x" * 300 + ",1\n",
            "y",
            "data.csv, line 2, column 'y': a text of 300 characters is no name of a class",
        ),
    ],
)
def test_targets_that_cannot_be(text, target, match):
    with pytest.raises(ValueError, match=match):
        split_target(table(text), target)


def test_rows_without_a_target():
    given = table("a,y\n1,x\n2,\n3,NA\n4,z\n")
    with pytest.raises(
        ValueError, match=r"data.csv, line 3, column 'y': the target is missing, as in 2 of 4 rows.*'drop'"
    ):
        split_target(given)
    rest, y = split_target(given, missing="drop")
    assert (rest["a"].tolist(), y.tolist(), rest.place(1)) == ([1, 4], ["x", "z"], "data.csv, line 5")
    with pytest.raises(ValueError, match="Unknown value of missing 'skip'"):
        split_target(given, missing="skip")


@pytest.mark.parametrize(
    ("text", "kind"),
    [("a,y\n1,x\n2,zz\n", "U"), ("a,y\n1,1.0\n2,2\n", "i"), ("a,y\n1,1.5\n2,2\n", "f"), ("a,y\n1,1e300\n", "f")],
)
def test_types_of_targets(text, kind):
    assert split_target(table(text))[1].dtype.kind == kind


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["yes", "no"], "classification"),
        (np.array([True, False]), "classification"),
        ([-1, 1, 1], "classification"),
        ([0.5, 2.5, 0.5], "regression"),
        (np.arange(300) % 20, "classification"),
        (np.arange(300) % 20 + 0.5, "regression"),
        (np.arange(300) % 21, "regression"),
        (np.arange(190) % 20, "regression"),
        ([1, 2, 3, 4], "regression"),
        (np.random.RandomState(0).randn(50), "regression"),
    ],
)
def test_tasks(y, task):
    assert guess_task(y) == task


def test_targets_of_two_dimensions():
    with pytest.raises(ValueError, match=r"y must have one dimension; its shape is \(2, 2\)"):
        guess_task(np.eye(2))
