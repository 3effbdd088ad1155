"""Files with damage of many kinds, as bytes."""

import re
import struct

import numpy as np

#: numbers that a header or an index should not have
HUGE = [
    -(2**63),
    -1,
    0,
    1,
    7,
    255,
    2**15,
    2**31 - 1,
    2**31,
    2**32,
    2**40,
    2**53,
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    10**30,
]


def any_of(rng, choices):
    """One of the choices."""
    return choices[rng.integers(len(choices))]


def place(good, rng):
    """A place in a file, as often near one of its ends as anywhere."""
    near = min(len(good), 130)
    return int(any_of(rng, [rng.integers(len(good)), rng.integers(near), len(good) - 1 - rng.integers(near)]))


def piece(good, rng):
    """Bounds of a piece of a file, short or long."""
    low = place(good, rng)
    return low, min(len(good), low + int(any_of(rng, [1, 4, 8, 20, 200, max(len(good) // 3, 1)])))


def flip(good, rng):
    bad = bytearray(good)
    for _ in range(any_of(rng, [1, 1, 2, 8])):
        bad[place(good, rng)] ^= 1 << int(rng.integers(8))
    return bytes(bad)


def write_over(good, rng):
    low, high = piece(good, rng)
    filled = any_of(rng, [b"\0", b"\xff", b"\x80", b" "]) * (high - low)
    return good[:low] + any_of(rng, [filled, rng.bytes(high - low)]) + good[high:]


def insert(good, rng):
    low = place(good, rng)
    return good[:low] + any_of(rng, [rng.bytes(int(rng.integers(1, 9))), b"\0" * 8, rng.bytes(3000)]) + good[low:]


def duplicate(good, rng):
    low, high = piece(good, rng)
    return good[:high] + good[low:]


def cut_out(good, rng):
    low, high = piece(good, rng)
    return good[:low] + good[high:]


def cut_off(good, rng):
    return good[: place(good, rng)]


def swap(good, rng):
    a, b, c = sorted(place(good, rng) for _ in range(3))
    return good[:a] + good[b:c] + good[a:b] + good[c:]


def put_number(good, rng):
    """A huge number as binary formats have it."""
    number = any_of(rng, HUGE) % 2**64
    written = any_of(rng, [struct.pack("<Q", number), struct.pack("<I", number % 2**32), varint(number)])
    low = place(good, rng)
    return good[:low] + written + good[low + len(written) :]


def varint(number):
    """A number in groups of seven bits."""
    written = bytearray()
    while number > 127:
        written.append(number % 128 + 128)
        number //= 128
    return bytes([*written, number])


def end_with_carriage_returns(good, rng):
    return good.replace(b"\n", b"\r")


def replace_all(good, rng):
    return any_of(
        rng, [b"", b"\n", b"\0", b"\0" * 5000, rng.bytes(int(rng.integers(1, 3000))), good + good, good[::-1]]
    )


ANY_FILE = [flip, write_over, insert, duplicate, cut_out, cut_off, swap, put_number]


def damaged(good, rng, of_format):
    """The bytes with up to three damages, and the names of these; `of_format` has those of its own."""
    if rng.integers(25) == 0:
        rare = any_of(rng, [replace_all, end_with_carriage_returns])
        return rare(good, rng), [rare.__name__]
    names = []
    for _ in range(any_of(rng, [1, 1, 2, 3])):
        damage = any_of(rng, any_of(rng, [ANY_FILE, of_format or ANY_FILE]))
        if good:
            good = damage(good, rng)
            names.append(damage.__name__)
    return good, names


# ------------------------------------------------------------------ the header of a .npy file

TYPES = ["'|O'", "'<U0'", "'|S0'", "'|V0'", "'|V8'", "'>f2'", "'<c16'", "'<M8[s]'", "'<m8[7Y]'", "'<f16'", "'|b1'"]
TYPES += ["'<U99999999999'", "'<U3'", "'|S8'", "'>i8'", "'<u2'", "'=f4'", "[('a', '<f8')]", "[('a', '<f8', (2, 2))]"]
TYPES += ["[('a', '|O')]", "('<f8', (2,))", "'f8,f8'", "None", "3", "''", "'" + "9" * 50 + "'", "[]", "{'names': []}"]


def other_header(good, rng):
    """A header that is well formed, but for one entry."""
    end = good.find(b"\n") + 1
    if not good.startswith(b"\x93NUMPY") or end == 0:
        return good
    text = good[10:end].decode("latin1")
    numbers = [str(number) for number in HUGE]
    what = rng.integers(5)
    if what == 0:
        text = re.sub(r"'descr': .*?, 'fort", lambda _: f"'descr': {any_of(rng, TYPES)}, 'fort", text)
    elif what == 1:
        shapes = [f"({any_of(rng, numbers)}, {any_of(rng, numbers)})", f"({any_of(rng, numbers)},)", "()", "(2.5, 4)"]
        shapes += ["(True, 4)", "[60, 4]", "(60, 4" + ", 1" * 70 + ")", "('60', 4)", "(60, 4, 0)", "(" * 150, "None"]
        text = re.sub(r"'shape': \(.*?\)", lambda _: f"'shape': {any_of(rng, shapes)}", text)
    elif what == 2:
        text = re.sub(r"\d+", lambda found: any_of(rng, [found[0], any_of(rng, numbers)]), text)
    elif what == 3:
        text = re.sub(r"True|False", lambda _: any_of(rng, ["True", "False", "None", "1", "'yes'", "[]"]), text)
    else:
        text = any_of(
            rng, ["", "{", "{}", "[" * 3000, "'" + "a" * 20, "__import__('os')", "{1: 2}", "1e400", "-" * 9000]
        )
    coded = text.strip().encode("latin1").ljust(len(good[10:end]) - 1) + b"\n"
    version = int(any_of(rng, [1, 1, 1, 2, 3, 9]))
    width = "<H" if version == 1 else "<I"
    length = any_of(rng, [len(coded)] * 6 + [0, 2**16 - 1, 2**32 - 1]) % (2**16 if version == 1 else 2**32)
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack(width, length) + coded + good[end:]


# ------------------------------------------------------------------ the text of LIBSVM

WORDS = [
    "nan",
    "inf",
    "-inf",
    "1e999",
    "-1e-999",
    "0x1p3",
    "1_0",
    "1,5",
    "٣",
    "1" * 5000,
    "1." + "0" * 5000,
    "1e",
    "+",
    "-0",
]
WORDS += [
    "qid:3",
    "qid:x",
    "1:2:3",
    ":",
    "1:",
    ":1",
    "#",
    "1:1 1:1",
    "2:1 1:1",
    "\0",
    "\x00:1",
    "1:\x00",
    "\x0b",
    "\x1c",
]
WORDS += ["\x85", "\u2028", "\ufeff", "", " ", "\t", "\n", "\r", "\r\n", "\n\n", "\r\r\n"]


def other_word(good, rng):
    """A word of the text, its index or its value by something else."""
    words = list(re.finditer(rb"[^\s:]+", good))
    if not words:
        return good
    found = words[rng.integers(len(words))]
    numbers = [str(number + int(rng.integers(-1, 2))) for number in HUGE]
    return (
        good[: found.start()] + any_of(rng, [any_of(rng, WORDS), any_of(rng, numbers)]).encode() + good[found.end() :]
    )


def other_lines(good, rng):
    """Lines in another order, with another end, or without one."""
    lines = good.splitlines(keepends=True)
    what = rng.integers(4)
    if what == 0:
        return b"".join(lines[i] for i in rng.permutation(len(lines)))
    if what == 1:
        i = int(rng.integers(len(lines)))
        ended = lines[i].rstrip(b"\r\n") + any_of(rng, [b"\r", b"\r\r\n", b"\0", b"", b"\n\r", b"\x0c"])
        return b"".join([*lines[:i], ended, *lines[i + 1 :]])
    if what == 2:
        return good.rstrip(b"\r\n")
    return good.replace(b"\n", b"\r\n")


def as_matrix(rng, n_rows=60):
    """Rows of four columns."""
    return np.round(rng.normal(size=(n_rows, 4)), 3)
