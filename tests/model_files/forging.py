"""Model files that a hostile author could make: with any contents, and the checksum of these."""

import io
import json

import numpy as np

from unisvm.model_files.file_format import ALIGNMENT, MAGIC
from unisvm.whole_files import first_line, first_line_bytes

FIRST = first_line_bytes(MAGIC)

#: what may stand in JSON in place of anything else
VALUES = [None, True, False, 0, 1, -1, 2**31, 2**63 - 1, 2**63, 10**30, 0.5, -0.0, 1e308, "", "a", "nan", "O", "<f8"]
VALUES += [[], {}, [[]], [0], [2**40, 0], [2**62, 2**62], {"is": "dict", "items": []}, {"is": "array", "at": 0}]
VALUES += [{"is": "object", "type": "losses.Huber", "fields": {}}, {"is": "object", "type": "os.system", "fields": {}}]
VALUES += [{"is": "float", "value": "nan"}, {"is": "float", "value": "inf"}, {"is": "tuple", "items": [3, 4]}]
VALUES += [{"is": "scalar", "type": "<f4", "value": 1e300}, {"is": "scalar", "type": "<U9", "value": "x"}, [[0, 1]] * 9]
VALUES += [{"is": "objects", "shape": [2**50], "items": []}, {"is": "object", "type": "NotSaved", "fields": {}}]
#: what may stand in the description of an array
TYPES = [
    "|O",
    "O",
    "<f8",
    ">f8",
    "<f4",
    "<f2",
    "|b1",
    "|i1",
    "<i8",
    "<u8",
    "<U1",
    "<U99999",
    "<U999999999",
    "|V8",
    "|S4",
]
TYPES += ["<M8[s]", "<c16", "f8", "", None, 3, [], "<f8,<f8", "[('a','<f8')]", "(2,)<f8", "<U0", "|V0"]
LENGTHS = [0, 1, 2, 3, 7, 2**16, 2**31, 2**40, 2**62, 2**63, 10**30, -1, 1.0, "3", None, True]
#: numbers that an array may have
NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, -1e300, 5e-324]


def split(data):
    """The JSON of a file, and what comes after its line."""
    line, _, rest = data[FIRST:].partition(b"\n")
    return json.loads(line), rest


def with_checksum(body):
    """A file whose first line fits the others."""
    return first_line(MAGIC, io.BytesIO(body)) + body


def joined(header, rest):
    """A file with this JSON, a dict or text, and what comes after it, where arrays expect to be."""
    line = header if isinstance(header, bytes) else json.dumps(header).encode()
    return with_checksum(line + b" " * (-(FIRST + len(line) + 1) % ALIGNMENT) + b"\n" + rest)


def places(tree):
    """Every container of a tree of JSON with the keys of its parts."""
    found, left = [], [tree]
    while left:
        part = left.pop()
        keys = list(part) if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else []
        for key in keys:
            found.append((part, key))
            left.append(part[key])
    return found


def mutated_json(header, choose):
    """The JSON with one part that is something else; `choose` takes one of a list."""
    header = json.loads(json.dumps(header))
    # of several changes, one before may have left nothing of the model
    of_tree = places(header.get("model")) or places(header)
    container, key = choose(of_tree if choose([True, True, True, False]) else places(header))
    how = choose(["replace", "replace", "copy", "delete", "double", "deep", "number"])
    if how == "replace":
        container[key] = choose(VALUES)
    elif how == "copy":
        other, its_key = choose(of_tree)
        # a copy, or the tree would have itself for a part
        container[key] = json.loads(json.dumps(other[its_key]))
    elif how == "delete":
        del container[key]
    elif how == "double" and isinstance(container, list):
        container.insert(key, json.loads(json.dumps(container[key])))
    elif how == "deep":
        for _ in range(choose([3, 100])):
            container[key] = [container[key]]
    elif isinstance(container[key], int | float):
        container[key] = choose([-1, 0, 1, 2, 3, 2**31, 2**63 - 1, container[key] + 1, container[key] * -1, 1e300])
    return header


def mutated_array(header, rest, choose):
    """A file with another type, shape, order or other entries of one of its arrays."""
    header = json.loads(json.dumps(header))
    place, chosen = 0, choose(range(len(header["arrays"])))
    for entry in header["arrays"][:chosen]:
        place += -place % ALIGNMENT + nbytes(entry)
    place += -place % ALIGNMENT
    entry = header["arrays"][chosen]
    how = choose(["type", "shape", "order", "entries", "entries", "swap"])
    if how == "type":
        entry["type"] = choose(TYPES)
    elif how == "shape":
        entry["shape"] = [choose([*entry["shape"], *LENGTHS]) for _ in range(choose([0, 1, 2, 2, 3, 9]))]
    elif how == "order":
        entry["order"] = choose(["C", "F", "A", None])
    elif how == "swap":
        other = choose(range(len(header["arrays"])))
        header["arrays"][chosen], header["arrays"][other] = header["arrays"][other], entry
    elif nbytes(entry):
        array = np.frombuffer(rest[place : place + nbytes(entry)], dtype=entry["type"]).copy()
        at = choose(range(len(array)))
        if array.dtype.kind == "f":
            array[at] = choose(NUMBERS)
        elif array.dtype.kind in "iu":
            array[at] = choose([0, 1, np.iinfo(array.dtype).max, np.iinfo(array.dtype).min])
        else:
            array.view(np.uint8)[choose(range(array.nbytes))] = choose([0, 1, 2, 255])
        rest = rest[:place] + array.tobytes() + rest[place + nbytes(entry) :]
    return joined(header, rest)


def nbytes(entry):
    """Bytes of an array by its description."""
    return int(np.prod(entry["shape"], dtype=int)) * np.dtype(entry["type"]).itemsize
