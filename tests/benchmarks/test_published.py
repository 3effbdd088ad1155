"""The published numbers that the page compares with, against an excerpt of the paper's tables."""

import re
from pathlib import Path

import pytest

from paper.common import CLASSIFICATION_LOSSES, PUBLISHED, REGRESSION_LOSSES

EXCERPT = Path(__file__).with_name("published_excerpt.txt")
#: names of the sets in the paper's tables, and ours
SETS = {
    "Adult": "adult",
    "Ijcnn": "ijcnn",
    "Shuttle": "shuttle",
    "Vechile": "vehicle",
    "Cadata": "cadata",
    "3D-Spatial": "spatial3d",
    "Slice": "slice",
    "Covtype": "covtype",
    "Checkerboard3M": "checkerboard3m",
}
#: by table: where its numbers are, and the measure in its left half
TABLES = {
    "Table I": (PUBLISHED["tables_1_2"]["clean"], "accuracy"),
    "Table II": (PUBLISHED["tables_1_2"]["flipped"], "accuracy"),
    "Table III": (PUBLISHED["table_3"], "rmse"),
    "Table IV": (PUBLISHED["table_4"], "accuracy"),
}
COUNTS = {"Table I": 88, "Table II": 88, "Table III": 42, "Table IV": 40}


def number(text):
    """The number and its standard deviation, or None for a cell without one."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(?:\((\d+(?:\.\d+)?)\))?", text)
    if found is None:
        assert text in ("---", ">3hr")
        return None, None
    return float(found[1]), None if found[2] is None else float(found[2])


def excerpt():
    """The rows of every table, each a list of words; the first has the names of the columns."""
    blocks = EXCERPT.read_text().strip().split("\n\n")[1:]
    return {title: [line.split() for line in lines] for title, *lines in (block.split("\n") for block in blocks)}


@pytest.mark.parametrize("title", TABLES)
def test_every_number_of_the_tables(title):
    published, measure = TABLES[title]
    header, *rows = excerpt()[title]
    assert all(len(row) == len(header) for row in rows)
    names = [SETS[name] for name in header[1:]]
    half = len(names) // 2
    assert names[:half] == names[half:] == list(published)
    compared = 0
    for column, name in enumerate(names):
        value, deviation = (measure, "deviation") if column < half else ("seconds", "seconds_deviation")
        expected = [number(row[1 + column]) for row in rows]
        assert published[name][value] == [mean for mean, _ in expected]
        assert published[name][deviation] == [spread for _, spread in expected]
        compared += len(expected)
    assert compared == COUNTS[title]


def test_the_caption_of_sinc():
    _, *rows = excerpt()["Sinc"]
    assert [float(row[1]) for row in rows] == PUBLISHED["sinc"]["msr"]
    assert [float(row[2]) for row in rows] == PUBLISHED["sinc"]["seconds"]


@pytest.mark.parametrize("title", TABLES)
def test_rows_are_in_the_order_of_the_losses(title):
    _, *rows = excerpt()[title]
    systems = [row[0] for row in rows]
    losses = REGRESSION_LOSSES if title == "Table III" else CLASSIFICATION_LOSSES
    ours = [f"UniSVM{number}" for number in range(1, len(losses) + 1)]
    assert systems == ([] if title == "Table IV" else ["LibSVM"]) + ours


def test_the_excerpt_has_numbers_and_names_alone():
    _, *lines = EXCERPT.read_text().splitlines()
    words = {word for line in lines for word in line.split() if not re.match(r"[\d.>-]", word)}
    assert not {word for word in words if not re.fullmatch(r"[A-Z][A-Za-z0-9-]*|MSR|seconds", word)}
    assert len(words) < 50
