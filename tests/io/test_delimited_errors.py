"""Tables of text that are refused: by the file, the line and the column, and what to do."""

import gzip
import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unisvm.io import delimited, dialect, row_batches, text_source
from unisvm.io.delimited import read_table

NUMBERS = "a,b\n" + "\n".join(f"{i},{i}" for i in range(100))


def refused(data, match, **options):
    data = data.encode() if isinstance(data, str) else data
    with pytest.raises(ValueError, match=match) as caught:
        read_table(io.BytesIO(data), name="data.csv", **options)
    assert str(caught.value).startswith("data.csv")


@pytest.mark.parametrize(
    ("data", "match"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("a,b\n", "has a header in line 1, and no rows below.*header=False"),
        ("a,b\n1,2\n\n3\n", r"line 4: 1 field, but the header has 2 \(separated by ','\)"),
        ("1,2\n1,2,3\n4,5\n", r"line 2: 3 fields, but line 1 has 2"),
        ("a b\n1 2\n3\n", r"line 3: 1 field, .*separated by blanks"),
        ("a,b,a\n1,2,3\n", "line 1: columns 1 and 3 have the same name 'a'"),
        ('a,b\n1,"x\ny"\n2,"z\n3,4\n', r"line 4: a quote .* is never closed"),
        ('a,b\n1,"x"y\n', r"line 2: behind a closing quote .* is more than a delimiter"),
        ("a,b\r1,2\r", r"line 1: .*\(CR\) without a line feed"),
        ("1 2\r3 4\r", r"line 1: .*\(CR\) without a line feed"),
        (b"a,b\n1,2\n1,\0\n", "line 3: there is a byte of zeros"),
        (b"a,b\n1,x\n2,caf\xe9\n", "line 3: the byte 0xe9 is not UTF-8.*WINDOWS-1252"),
        (b"\xef\xbb\xbfa,b\n1,caf\xe9\n", "line 2: the byte 0xe9 is not UTF-8"),
        ("a,b\n1,é\n".encode("utf-16-le"), "line 1: there is a byte of zeros"),
        ("a,b\n1,é\n".encode("utf-16")[:-3] + b"\xd8\n\0", "begins as UTF-16 text, but is none"),
        (gzip.compress(NUMBERS.encode())[:-10], "cannot be unpacked"),
        (gzip.compress(gzip.compress(b"a,b\n1,2\n")), "is packed twice"),
        (NUMBERS + "\n1,inf\n", "line 102, column 'b': 'inf' is infinite, or too large"),
        (NUMBERS + "\n1,-1e999\n", "line 102, column 'b': '-1e999' is infinite, or too large"),
        (NUMBERS.replace("\n7,7", '\n7,"7,5"'), r"line 9, column 'b': '7,5' is no number, .*say so: decimal=','"),
        ("1 1:2 3:4\n-1 2:1 3:1\n", "is the text of LIBSVM"),
        ("<html><body>\n", "is an HTML page"),
        ('{"a": 1}\n', "is JSON"),
        ("a,b\n1," + '"' + "x" * 200_000 + '"\n', "line 2: an entry of this row has more than 131,072 characters"),
    ],
)
def test_the_place_and_the_reason_are_told(data, match):
    refused(data, match)


def test_files_of_other_kinds(tmp_path):
    table = pa.table({"a": np.arange(1000.0)})
    pq.write_table(table, tmp_path / "a.parquet")
    np.save(tmp_path / "a.npy", np.arange(3))
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("a", "b")
    for name, kind in [("a.parquet", "a Parquet file"), ("a.npy", "a .npy file"), ("a.xlsx", "a zip archive")]:
        with pytest.raises(ValueError, match=rf"{name} is {kind}.*table of text \(CSV, TSV\) was expected"):
            read_table(tmp_path / name)
        packed = gzip.compress((tmp_path / name).read_bytes())
        refused(packed, f"is {kind}")


def test_long_lines_take_no_more_memory(monkeypatch):
    monkeypatch.setattr(text_source, "MAX_LINE_BYTES", 10_000)
    monkeypatch.setattr(text_source, "_LEAST_CHUNK_BYTES", 1000)
    refused("a,b\n1,2\n" + "x" * 50_000, "line 3: the line does not end within 10,000 bytes")


def test_a_row_of_many_quoted_lines(monkeypatch):
    monkeypatch.setattr(row_batches, "MAX_LINE_BYTES", 10_000)
    monkeypatch.setattr(text_source, "_LEAST_CHUNK_BYTES", 1000)
    refused("a,b\n1,2\n1" + ',"x\n"' * 50_000, "line 3: an entry of this row has more .* Is a quote")


def test_many_columns(monkeypatch):
    monkeypatch.setattr(delimited, "MAX_COLUMNS", 5)
    monkeypatch.setattr(dialect, "MAX_COLUMNS", 5)
    refused("1,2,3,4,5,6\n", "line 1: 6 fields, at most 5 are read")


def test_names_of_text_columns_that_are_not_there():
    with pytest.raises(ValueError, match=r"Unknown column of data.csv 'coed': did you mean 'code'"):
        read_table(io.BytesIO(b"code,b\n1,2\n"), name="data.csv", text=["coed"])
    with pytest.raises(TypeError, match=r"text must be a list of names of columns, got 'code': give \['code'\]"):
        read_table(io.BytesIO(b"code,b\n1,2\n"), text="code")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"header": "yes"}, "header must be True, False or 'auto', got 'yes'"),
        ({"delimiter": "ab"}, "delimiter must be 'auto' or a character"),
        ({"delimiter": "a"}, "delimiter must be 'auto' or a character"),
        ({"delimiter": '"'}, "delimiter must be 'auto' or a character"),
        ({"decimal": ";"}, "decimal must be"),
        ({"decimal": ",", "delimiter": ","}, "cannot both be ','"),
        ({"memory_limit": "many"}, "memory_limit must be a size"),
    ],
)
def test_parameters_are_checked_before_the_file(options, match):
    with pytest.raises(ValueError, match=match):
        read_table("no such file", **options)


def test_tables_larger_than_the_limit():
    with pytest.raises(MemoryError, match=r"data.csv: the first 99 rows take 2.38 KB, more than the limit of 1 KB"):
        read_table(io.BytesIO(NUMBERS.encode()), name="data.csv", memory_limit="1KB")
    texts = "a\n" + "\n".join(f"text{i}" for i in range(100))
    with pytest.raises(MemoryError, match="the first 99 rows"):
        read_table(io.BytesIO(texts.encode()), memory_limit="10KB")


def test_sources_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file '.*none.csv'"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        read_table(tmp_path)
    for source in (io.StringIO("a,b\n1,2\n"), 3, None):
        with pytest.raises(TypeError, match="source must be a path, or a stream of bytes"):
            read_table(source)


def test_a_file_that_changes_while_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "changing.csv"
    path.write_text("a,b\n" + "".join(f"{i},{i}\n" for i in range(60_000)) + "1,x\n" * 10_000)
    judge = delimited._Reading.finish

    def change(reading):
        judge(reading)
        path.write_text("a,b\n1,x\n")

    monkeypatch.setattr(delimited._Reading, "finish", change)
    with (
        pytest.warns(Warning, match="the column is read as text"),
        pytest.raises(ValueError, match=r"changing.csv was changed while it was read"),
    ):
        read_table(path)
