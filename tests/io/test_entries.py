"""What an entry of a table means: a number, a missing value, or text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unisvm.io.entries import MISSING, TextCodes, parse_number, parse_numbers

NUMBERS = {"1": 1.0, "-1.5": -1.5, "+3": 3.0, "1e5": 1e5, ".5": 0.5, "5.": 5.0, "2E-3": 0.002, "007": 7.0}
TEXTS = ["1_000", "0x10", "٣", "1e", "e5", ".", "1,5", "--1", "1 2", "nana", "abc", "1d5", "+", "True"]


@pytest.mark.parametrize("entry", NUMBERS)
def test_numbers_as_C_has_them(entry):
    assert parse_number(entry) == NUMBERS[entry]
    assert parse_numbers([entry, f" {entry}\t", "2"]).values.tolist() == [NUMBERS[entry], NUMBERS[entry], 2.0]


@pytest.mark.parametrize("entry", TEXTS)
def test_text_that_is_no_number(entry):
    assert parse_number(entry) is None
    for beside in (["1", "2"], ["NA", "2"]):
        parsed = parse_numbers([*beside, entry])
        assert parsed.texts == [2]
        assert parsed.n_numbers == sum(other != "NA" for other in beside)
        assert np.isnan(parsed.values[2])


@pytest.mark.parametrize("entry", sorted(MISSING))
def test_missing_values(entry):
    parsed = parse_numbers(["1", f" {entry} ", "2"])
    assert (parsed.n_numbers, parsed.texts, parsed.infinite) == (2, [], [])
    np.testing.assert_array_equal(parsed.values, [1, np.nan, 2])


@pytest.mark.parametrize("entry", ["inf", "-Infinity", "INF", "1e999", "-1e999"])
def test_infinite_entries_are_told_by_their_indices(entry):
    assert parse_numbers(["1", entry, "2", entry]).infinite == [1, 3]


def test_decimal_commas():
    parsed = parse_numbers(["1,5", "-2,25e1", "3", "NA"], ",")
    np.testing.assert_array_equal(parsed.values, [1.5, -22.5, 3, np.nan])
    assert parse_numbers(["1,5", "1.5", "1.234,5"], ",").texts == [1, 2]


@given(st.lists(st.one_of(st.sampled_from([*NUMBERS, *TEXTS, *sorted(MISSING), "inf"]), st.text(max_size=4))))
def test_all_entries_at_once_are_read_as_one_by_one(entries):
    parsed = parse_numbers(entries)
    stripped = [entry.strip() for entry in entries]
    numbers = [None if entry in MISSING else parse_number(entry) for entry in stripped]
    is_text = [number is None and entry not in MISSING for number, entry in zip(numbers, stripped, strict=True)]
    assert parsed.texts == np.flatnonzero(is_text).tolist()
    assert parsed.n_numbers == sum(number is not None for number in numbers)
    np.testing.assert_array_equal(parsed.values, [np.nan if number is None else number for number in numbers])


def test_codes_of_texts():
    codes = TextCodes()
    assert codes.encode(["b", " a", "NA", "a ", None, "b"]).tolist() == [1, 2, 0, 2, 0, 1]
    assert codes.texts == [None, "b", "a"]
