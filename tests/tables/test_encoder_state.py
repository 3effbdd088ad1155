"""The state of an encoder goes through JSON and arrays, and a state that is none is refused."""

import json
import random

import numpy as np
import pytest

from unisvm import FitWarning
from unisvm.tables import TableEncoder

TABLE = {"age": [38, None, 40] * 20, "town": ["Ulm", "Bonn", None] * 20, "id": [f"id{i}" for i in range(60)]}


@pytest.fixture
def encoder():
    with pytest.warns(FitWarning, match="'id'"):
        return TableEncoder(scale="standard", indicator_share=np.inf, max_categories=7).fit(TABLE)


def through_json(state):
    """The state as a file would hold it: arrays apart, the rest as JSON."""
    arrays = {name: entry for name, entry in state.items() if isinstance(entry, np.ndarray)}
    rest = {name: entry for name, entry in state.items() if name not in arrays}
    return arrays | json.loads(json.dumps(rest, allow_nan=False))


def test_an_encoder_from_a_state_is_the_same(encoder):
    state = encoder.to_state()
    assert all(entry.dtype.kind in "ifb" for entry in state.values() if isinstance(entry, np.ndarray))
    again = TableEncoder.from_state(through_json(state))
    np.testing.assert_array_equal(again.transform(TABLE), encoder.transform(TABLE))
    assert again.get_params() == encoder.get_params()
    assert again.summary() == encoder.summary()
    assert again.get_feature_names_out().tolist() == encoder.get_feature_names_out().tolist()
    assert (again.n_rows_, again.n_features_in_) == (60, 3)


def test_an_encoder_of_an_array_has_no_names():
    encoder = TableEncoder().fit(np.eye(3))
    again = TableEncoder.from_state(through_json(encoder.to_state()))
    assert not hasattr(again, "feature_names_in_")
    np.testing.assert_array_equal(again.transform(np.eye(3)), np.eye(3))


WRONG = {
    "format": [2, None, "1", True],
    "max_categories": [0, "many", None, True],
    "indicator_share": [0, -1.0, 2, "all", float("nan"), float("inf")],
    "sparse_output": ["yes", None, 1, []],
    "names": [[], ["age", "town"], ["age", "town", "age"], ["age", "town", 3], "abc", 3],
    "n_rows": [0, -1, 1.5, None, "60", 10, 2**70],
    "kinds": [["number", "text"], ["number", "text", "other"], ["number", "number", "dropped"], [], None, [1, 2, 3]],
    "n_missing": [np.array([1, 2]), np.array([-1, 0, 0]), np.array([0, 0, 61]), np.zeros(3), [0, 0, 0], None],
    "medians": [np.array([np.nan, 0, 0]), np.zeros((3, 1)), np.array(["a", "b", "c"]), [0.0, 0.0, 0.0], None],
    "has_missing_column": [np.array([0, 1, 0]), np.array([False, True, True]), [False] * 3, np.array([None] * 3), None],
    "categories": [
        [[], ["Ulm", "Bonn"], []],
        [[], ["Ulm", "Ulm"], []],
        [[], [], []],
        [[], [1], []],
        [["x"]] * 3,
        {},
        None,
    ],
    "scale": ["robust", 1, True, []],
    "centres": [np.array([np.nan, 0, 0]), np.zeros(2), [0.0] * 3, None],
    "divisors": [np.array([0.0, 1, 1]), np.array([-1.0, 1, 1]), np.array([np.inf, 1, 1]), np.ones((1, 3)), None],
    "reasons": [["", "", ""], ["x", "", "y"], ["", ""], [None] * 3, None],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_states_that_are_none(encoder, name, value):
    with pytest.raises(ValueError, match=r"This is no state of a TableEncoder: .+\."):
        TableEncoder.from_state(encoder.to_state() | {name: value})


def test_entries_that_are_missing_or_more(encoder):
    state = encoder.to_state()
    for name in state:
        with pytest.raises(ValueError, match="its entries are not format, "):
            TableEncoder.from_state({key: value for key, value in state.items() if key != name})
    for wrong in (state | {"more": 1}, [], None, "state"):
        with pytest.raises(ValueError, match="no state of a TableEncoder"):
            TableEncoder.from_state(wrong)


def test_no_state_does_more_than_be_refused(encoder):
    rng = random.Random(0)
    state = encoder.to_state()
    anything = [None, 0, -1, 1e300, "", "x" * 1000, [], [[]], {}, [None], np.zeros(0), np.array(1.0), np.array([None])]
    anything += [entry for values in WRONG.values() for entry in values] + list(state.values())
    n_refused = 0
    for _ in range(2000):
        spoilt = state | {rng.choice(list(state)): rng.choice(anything) for _ in range(rng.choice([1, 2]))}
        try:
            again = TableEncoder.from_state(spoilt)
        except ValueError:
            n_refused += 1
        else:
            again.get_feature_names_out()
            again.summary()
    assert 1500 < n_refused < 2000
