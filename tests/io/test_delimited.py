"""Tables of text: what is read, compared with pandas, and in which forms a file may be."""

import bz2
import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unisvm import FitWarning
from unisvm.io import dialect, text_source
from unisvm.io.delimited import read_table

GOOD = b"size,colour\n1.5,red\n,blue\n3,\n"
NAMES, SIZES, COLOURS = ["size", "colour"], [1.5, np.nan, 3.0], ["red", "blue", None]


def read(data, **options):
    """The table of some bytes, or text."""
    return read_table(io.BytesIO(data.encode() if isinstance(data, str) else data), name="data.csv", **options)


def check_good(table):
    assert table.names == NAMES
    assert table.n_rows == len(table) == 3
    np.testing.assert_array_equal(table["size"], SIZES)
    assert table["size"].dtype == np.float64
    assert table["colour"].tolist() == COLOURS


# ------------------------------------------------------------------ against pandas

ENTRY = st.one_of(
    st.integers(-(10**9), 10**9).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["NA", "", "null", "N/A", "nan"]),
)
WORD = st.one_of(
    st.sampled_from(["", "NA", "a b", 'say "x"', "a,b", "a;b", "a\nb", "é", "true"]), st.text("abc", max_size=3)
)


@st.composite
def tables(draw):
    """Names, columns of numbers and of text."""
    n_rows = draw(st.integers(2, 12))
    columns = []
    for _ in range(draw(st.integers(2, 4))):
        entries = draw(st.lists(draw(st.sampled_from([ENTRY, WORD])), min_size=n_rows, max_size=n_rows))
        columns.append(entries)
    return [f"c{j}" for j in range(len(columns))], columns


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables(), st.sampled_from([",", ";", "\t", "|"]), st.sampled_from(["\n", "\r\n"]))
@pytest.mark.filterwarnings("ignore:.*the column is read as text:unisvm.FitWarning")
def test_random_tables_are_read_as_pandas_reads_them(drawn, delimiter, end):
    names, columns = drawn
    given = pd.DataFrame(dict(zip(names, columns, strict=True)))
    text = given.to_csv(index=False, sep=delimiter, lineterminator=end)
    numeric = [name for name in names if pd.to_numeric(given[name], errors="coerce").notna().any()]
    as_text = [name for name in names if name not in numeric]
    expected = pd.read_csv(
        io.StringIO(text), sep=delimiter, dtype=dict.fromkeys(as_text, str), skipinitialspace=True, na_values=["?"]
    )
    table = read(text, header=True, delimiter=delimiter, decimal=".", text=as_text)
    assert table.names == names
    for name in names:
        if name in as_text or expected[name].dtype.kind in "iuf":
            theirs = expected[name].to_numpy()
            mine = table[name]
            if mine.dtype == object:
                theirs = np.array([None if pd.isna(entry) else str(entry).strip() for entry in theirs], dtype=object)
            np.testing.assert_array_equal(mine, theirs)
        else:
            assert table[name].dtype == object


@pytest.mark.parametrize("chunk", [40, 1000, 2**18])
def test_the_size_of_chunks_changes_nothing(monkeypatch, rng, chunk):
    monkeypatch.setattr(text_source, "_LEAST_CHUNK_BYTES", chunk)
    monkeypatch.setattr(text_source, "_CHUNK_LINES", 1)
    frame = pd.DataFrame(
        {
            "a": rng.randn(300).round(3),
            "b": rng.choice(["x", 'y "z"', "line\nbreak, and more"], 300),
            "c": np.arange(300),
        }
    )
    frame.loc[::7, "a"] = np.nan
    table = read(frame.to_csv(index=False))
    for name in frame:
        np.testing.assert_array_equal(table[name], frame[name].to_numpy())
    # a row begins behind the line breaks in quotes of the rows above
    breaks = np.cumsum(frame["b"].str.contains("\n"))
    assert table.lines.tolist() == (np.arange(300) + 2 + np.concatenate([[0], breaks[:-1]])).tolist()


# ------------------------------------------------------------------ forms of files


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress], ids=["plain", "gzip", "bzip2"])
@pytest.mark.parametrize("name", ["data.csv", "data.gz", "data"])
def test_packed_files_are_known_by_what_they_hold(tmp_path, pack, name):
    path = tmp_path / name
    path.write_bytes(pack(GOOD))
    check_good(read_table(path))
    assert read_table(str(path)).source == str(path)


@pytest.mark.parametrize(
    "data",
    [
        GOOD.removesuffix(b"\n"),
        GOOD.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + GOOD,
        GOOD.decode().encode("utf-16"),
        GOOD.replace(b",", b"\t"),
        GOOD.replace(b",", b";"),
        GOOD.replace(b",", b"|"),
        b"\n" + GOOD.replace(b"\n", b"\n  \n\n"),
        GOOD.replace(b"red", b' "red"').replace(b"1.5", b" 1.5 "),
        GOOD.replace(b",red", b', "red"').replace(b"\n,", b"\nNA, "),
    ],
)
def test_forms_of_one_table(data):
    check_good(read(data))


def test_blanks_between_numbers():
    table = read("a b\n 1   2\n3\t4 \n")
    assert table.names == ["a", "b"]
    np.testing.assert_array_equal(table["b"], [2, 4])
    assert read('"a b" c\n1 2\n').names == ["a b", "c"]


def test_a_delimiter_that_is_given():
    assert read("a:b\n1:2\n", delimiter=":").names == ["a", "b"]


def test_commas_within_text_are_not_taken_for_the_delimiter():
    table = read("name\tage\nDoe, Ann\t38\nRay, Bob\t40\n")
    assert table.names == ["name", "age"]


def test_decimal_commas_are_found_and_can_be_given():
    for data, options in [("a;b\n1,5;2\n2,25;3\n", {}), ("a;b\n1,5;2\n2;3\n", {"decimal": ","})]:
        np.testing.assert_array_equal(read(data, **options)["a"][0], 1.5)
    np.testing.assert_array_equal(read("1,5 2,5\n3,5 4,5\n").columns, [[1.5, 3.5], [2.5, 4.5]])


@pytest.mark.parametrize(
    ("data", "has_header"),
    [
        ("a,b\n1,2\n", True),
        ("1,2\n3,4\n", False),
        ("1,2\n", False),
        ("5.1,setosa\n4,virginica\n", False),
        ("name,town\nann,Ulm\nbob,Bonn\n", True),
        (",a\n1,2\n", True),
        ("id,2019\n1,2\n", True),
        ("a,b\n,x\n,y\n", True),
        ("age,x\n1,2\nunknown,3\n2,4\n3,5\n", True),
    ],
)
@pytest.mark.filterwarnings("ignore:.*the column is read as text:unisvm.FitWarning")
def test_headers_are_told_from_rows(data, has_header):
    table = read(data)
    assert table.has_header == has_header
    assert (table.names[-1] == "column 2") == (not has_header)


def test_a_header_that_is_given():
    assert read("name,town\nann,Ulm\n", header=False).n_rows == 2
    assert read("1,2\n3,4\n", header=True).names == ["1", "2"]
    assert read(",b\n1,2\n", header=True).names == ["column 1", "b"]


def test_standard_input_is_read(tmp_path):
    script = "import sys; from unisvm.tables import read_table; t = read_table(sys.stdin.buffer); print(t, t['c'][-1])"
    # the last column is text late, so that what came through the pipe is read again
    data = b"a,c\n" + b"".join(b"%d,%s\n" % (i, b"x" if i > 39_000 and i % 2 else b"7") for i in range(60_000))
    command = [sys.executable, "-W", "ignore", "-c", script]
    ran = subprocess.run(command, input=gzip.compress(data), capture_output=True, check=True)
    assert ran.stdout.decode().strip() == "<Table of 60000 rows and 2 columns from standard input> x"


def test_a_pipe_that_gives_little_at_a_time():
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        for byte in gzip.compress(GOOD):
            os.write(writer, bytes([byte]))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb", buffering=0) as stream:
        check_good(read_table(stream))
    os.waitpid(child, 0)


def test_a_stream_is_read_from_where_it_is_and_left_open():
    stream = io.BytesIO(b"not this line\n" + GOOD)
    stream.readline()
    check_good(read_table(stream))
    assert not stream.closed


# ------------------------------------------------------------------ numbers or text


def test_columns_that_are_text_whatever_they_hold():
    table = read("code,size\n01,1\nNA,2\n", text=["code"])
    assert table["code"].tolist() == ["01", None]


def test_a_column_without_entries_is_numbers():
    assert np.isnan(read("a,b\n1,\n2,NA\n")["b"]).all()


def test_text_that_comes_late_keeps_how_numbers_were_written(tmp_path):
    lines = [f"{i},{i % 9:03}" for i in range(60_000)] + [f"{i},A{i % 9}" for i in range(10_000)]
    path = tmp_path / "late.csv"
    path.write_text("id,code\n" + "\n".join(lines))
    with pytest.warns(
        FitWarning, match=r"late.csv, line 60002, column 'code': 'A0' is no number, as most .*read as text"
    ):
        table = read_table(path)
    assert table["code"][[1, -1]].tolist() == ["001", "A0"]
    assert table["id"].dtype == np.float64


@pytest.mark.parametrize("place", [1, 30_000])
def test_a_wrong_entry_among_numbers_is_an_error_wherever_it_is(place):
    lines = [str(i) for i in range(50_000)]
    lines[place] = "abc"
    wrong = rf"data.csv, line {place + 2}, column 'age': 'abc' is no number, as 49,999 of the 50,000 entries"
    with pytest.raises(ValueError, match=rf"{wrong} .* NA .*--text age"):
        read("age\n" + "\n".join(lines))
    assert read("age\n" + "\n".join(lines), text=["age"])["age"][place] == "abc"


def test_a_column_of_text_at_first_is_judged_by_all_of_it():
    # one in ten of the first chunk, and one in a hundred of all
    lines = ["abc" if i < 2000 and i % 10 == 0 else str(i) for i in range(20_000)]
    with pytest.raises(
        ValueError, match=r"data.csv, line 2, column 'age': 'abc' is no number, as 19,800 of the 20,000"
    ):
        read("age\n" + "\n".join(lines))


def test_half_numbers_are_text_without_a_warning():
    assert read("a\n1\nx\n2\ny\n")["a"].tolist() == ["1", "x", "2", "y"]


# ------------------------------------------------------------------ tables


def test_parts_of_a_table():
    table = read(GOOD)
    assert table.without(["size"]).names == ["colour"]
    part = table.take_rows(np.array([False, True, True]))
    assert (part.n_rows, part["colour"].tolist(), part.place(1)) == (2, ["blue", None], "data.csv, line 4")
    with pytest.raises(ValueError, match=r"Unknown column of data.csv 'color': did you mean 'colour'"):
        table["color"]


def test_sample_of_long_lines_has_a_header(monkeypatch):
    monkeypatch.setattr(text_source, "_LEAST_CHUNK_BYTES", 100)
    names = [f"column{j}" for j in range(100)]
    table = read(",".join(names) + "\n" + ",".join(["1"] * 100) + "\n")
    assert table.names == names
    assert dialect.FEW_LINES > 1


def test_a_header_longer_than_a_chunk_above_a_column_that_is_text_late():
    names = [f"{'x' * 4000}{j}" for j in range(80)]
    rows = [["1"] * 80 for _ in range(3000)]
    rows[-1500:] = [["1"] * 79 + ["late"] for _ in range(1500)]
    content = "\n".join(",".join(row) for row in [names, *rows]) + "\n"
    table = read(content)
    assert table.n_rows == 3000
    assert table.columns[-1][-1] == "late"
