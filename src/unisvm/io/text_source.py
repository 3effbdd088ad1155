"""Text of files and streams: unpacked, as UTF-8, in chunks of whole lines, with what is no text refused by its kind."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

# Objects of Python's for the lines of a chunk take up to 25 times its bytes, so that it is small. Of long lines it has
# so many that the time of a column's array is shared by them: 0.2 µs an entry, against 1 µs for few lines.
_LEAST_CHUNK_BYTES, _MOST_CHUNK_BYTES, _CHUNK_LINES = 2**18, 2**22, 64
#: of a line, and of a row with its quoted line breaks
MAX_LINE_BYTES = 2**23
_HEAD_BYTES = 2**12

#: how packed text begins, and is opened
_PACKED: dict[re.Pattern[bytes], Callable[..., Any]] = {
    re.compile(rb"\x1f\x8b"): lambda stream: gzip.GzipFile(fileobj=stream),
    re.compile(rb"BZh[1-9](1AY&SY|\x17\x72\x45\x38\x50\x90)"): bz2.BZ2File,
}
_OTHER_KINDS = {
    b"PK\x03\x04": "a zip archive, as .xlsx, .ods and .npz files are",
    b"PK\x05\x06": "an empty zip archive",
    b"PAR1\x15": "a Parquet file",
    b"\x93NUMPY": "a .npy file",
    b"\x89HDF": "an HDF5 file",
    b"ARROW1\0": "an Arrow or Feather file",
    b"\xff\xff\xff\xff": "an Arrow stream",
    b"Obj\x01": "an Avro file",
    b"SQLite format 3\0": "an SQLite database",
    b"%PDF": "a PDF document",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls)",
    b"\xfd7zXZ": "packed by xz",
    b"\x28\xb5\x2f\xfd": "packed by zstd",
    b"7z\xbc\xaf": "a 7z archive",
    b"\x80\x04\x95": "a pickle",
    b"\x80\x05\x95": "a pickle",
    b"\x7fELF": "a program",
    b"\x89PNG": "a picture",
    b"<!DOCTYPE": "an HTML page",
    b"<!doctype": "an HTML page",
    b"<html": "an HTML page",
    b"<?xml": "an XML document",
    b'{"': "JSON",
    b"{\n": "JSON",
    b"[{": "JSON",
}
_LIBSVM = re.compile(rb"[-+]?[\d.,]+( +\d+:[-+]?[\d.eE+-]+){2}\s")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class TextSource:
    """Text that can be read more than once.

    What a stream gives that cannot go back is kept, as long as the context of this object, in a nameless file of the
    system's folder for temporary files.

    Parameters
    ----------
    source : str, Path or binary stream
        Plain or packed as .gz or .bz2, whatever its name.
    name : str, optional
        What messages call it.
    """

    def __init__(self, source: Any, name: str | None = None):
        self._path = os.fspath(source) if isinstance(source, str | os.PathLike) else None
        if self._path is None:
            if isinstance(source, io.TextIOBase) or not hasattr(source, "read"):
                raise TypeError(
                    f"source must be a path, or a stream of bytes such as open(path, 'rb') or sys.stdin.buffer; "
                    f"got {type(source).__name__}."
                )
            self._kept = _Kept(source)
        elif not os.path.exists(self._path):
            raise FileNotFoundError(f"There is no file {str(self._path)!r}.")
        elif os.path.isdir(self._path):
            raise IsADirectoryError(f"{self._path} is a folder: give a file of text.")
        self.name = name or (str(self._path) if self._path is not None else _name_of(source))

    def __enter__(self) -> TextSource:
        return self

    def __exit__(self, *_: object) -> None:
        if self._path is None:
            self._kept.close()

    def chunks(self) -> Iterator[str]:
        """Texts of whole lines, from the start; the last may lack the end of its line."""
        with ExitStack() as stack:
            if self._path is not None:
                stream = _Headed(stack.enter_context(open(self._path, "rb")))
            else:
                self._kept.rewind()
                stream = _Headed(self._kept)
            opener = next((opener for magic, opener in _PACKED.items() if magic.match(stream.head)), None)
            if opener is not None:
                # it leaves the stream below to those who opened that
                stream = self._unpacking(_Headed, stack.enter_context(opener(stream)))
            self._check_kind(stream.head)
            blocks = self._blocks(stream)
            n_lines = 0
            for data in self._whole_lines(self._recoded(blocks) if stream.head[:2] in _UTF16 else blocks):
                yield self._decoded(data, n_lines)
                n_lines += data.count(b"\n")

    def _unpacking(self, read: Callable[..., Any], *arguments: Any) -> Any:
        """Result of a function that may unpack. Raises for what cannot be unpacked."""
        try:
            return read(*arguments)
        except (OSError, EOFError, zlib.error) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise ValueError(f"{self.name} cannot be unpacked: {str(error)[:100]}.") from error

    def _check_kind(self, head: bytes) -> None:
        """Raise for the beginning of a file that is none of text, or of text of another kind."""
        text = head.removeprefix(codecs.BOM_UTF8).lstrip()
        kinds = [kind for magic, kind in _OTHER_KINDS.items() if text.startswith(magic)]
        kinds += ["packed twice" for magic in _PACKED if magic.match(text)]
        kinds += ["the text of LIBSVM"] if _LIBSVM.match(text) else []
        if kinds:
            raise ValueError(f"{self.name} is {kinds[0]}, where a table of text (CSV, TSV) was expected.")

    def _blocks(self, stream: Any) -> Iterator[bytes]:
        size, n_bytes, n_lines = _LEAST_CHUNK_BYTES, 0, 1
        while data := self._unpacking(stream.read, size):
            n_bytes, n_lines = n_bytes + len(data), n_lines + data.count(b"\n")
            size = min(max(_LEAST_CHUNK_BYTES, _CHUNK_LINES * n_bytes // n_lines), _MOST_CHUNK_BYTES)
            yield data

    def _recoded(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """UTF-8 of blocks of UTF-16."""
        decoder = codecs.getincrementaldecoder("utf-16")()
        try:
            for data in blocks:
                yield decoder.decode(data).encode()
            yield decoder.decode(b"", final=True).encode()
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.name} begins as UTF-16 text, but is none: {error.reason}.") from None

    def _whole_lines(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Parts that end where a line does. Raises for a byte of zeros, and for a line that is too long."""
        rest: list[bytes] = []
        n_lines = 0
        for data in blocks:
            if b"\0" in data:
                line = n_lines + data[: data.index(b"\0")].count(b"\n") + 1
                raise ValueError(
                    f"{self.name}, line {line}: there is a byte of zeros, as no text in UTF-8 has. Save the table as "
                    "UTF-8 text."
                )
            n_lines += data.count(b"\n")
            end = data.rfind(b"\n") + 1
            if end:
                yield b"".join([*rest, data[:end]])
                rest = []
            rest.append(data[end:])
            if sum(map(len, rest)) > MAX_LINE_BYTES:
                raise ValueError(
                    f"{self.name}, line {n_lines + 1}: the line does not end within {MAX_LINE_BYTES:,} bytes, the most "
                    "that is read."
                )
        if any(rest):
            yield b"".join(rest)

    def _decoded(self, data: bytes, n_before: int) -> str:
        try:
            return data.decode("utf-8-sig" if n_before == 0 else "utf-8")
        except UnicodeDecodeError as error:
            # the codec counts from behind the mark of the byte order
            start = error.start + (len(data) - len(error.object))
            line = n_before + data[:start].count(b"\n") + 1
            raise ValueError(
                f"{self.name}, line {line}: the byte 0x{data[start]:02x} is not UTF-8. If the text is in Latin-1 or "
                "Windows-1252, save it as UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8."
            ) from None


class _Headed:
    """A stream whose first bytes are known before it is read.

    Attributes
    ----------
    head : bytes
        Fewer than _HEAD_BYTES only where there are no more.
    """

    def __init__(self, stream: Any):
        self._stream = stream
        self.head = b""
        while len(self.head) < _HEAD_BYTES and (data := self._read(_HEAD_BYTES - len(self.head))):
            self.head += data
        self._left = self.head

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        data, self._left = self._left[:size], self._left[size:]
        return data + self._read(size - len(data)) if len(data) < size else data

    def _read(self, size: int) -> bytes:
        data = self._stream.read(size) or b""
        if not isinstance(data, bytes):
            raise TypeError(f"The stream gives {type(data).__name__}, where bytes were expected.")
        return data


class _Kept:
    """A stream that can be read again, with a copy in a file where it cannot go back itself."""

    def __init__(self, stream: Any):
        seekable = getattr(stream, "seekable", None)
        self._stream = stream
        self._start = stream.tell() if seekable is not None and seekable() else None
        self._copy = tempfile.TemporaryFile() if self._start is None else None  # noqa: SIM115 - as long as this object

    def close(self) -> None:
        """Remove the copy; the stream is left open."""
        if self._copy is not None:
            self._copy.close()

    def rewind(self) -> None:
        """Begin again."""
        if self._copy is None:
            self._stream.seek(self._start)
        else:
            self._copy.seek(0)

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        if self._copy is None:
            return self._stream.read(size)
        data = self._copy.read(size)
        if not data:
            data = self._stream.read(size)
            self._copy.write(data or b"")
        return data


def _name_of(stream: Any) -> str:
    """The name of the file that a stream reads; "the stream" where it has none."""
    name = getattr(stream, "name", None)
    if name == "<stdin>" or name == 0:
        return "standard input"
    return name if isinstance(name, str) else "the stream"
