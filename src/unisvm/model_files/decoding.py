"""Values from JSON with a list of arrays; the inverse of `encoding`.

The JSON may be forged. Every value is of a type that is listed here, every array of the file stands for one value, so
that a short file cannot name a large model, and whatever is wrong is an error.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from unisvm._checks import is_integer
from unisvm.model_files.encoding import ARRAY_TYPES, INTEGERS, SPARSE, TYPES_OF_ROWS, type_code
from unisvm.model_files.fields import Fields
from unisvm.model_files.registry import type_named

_TEXT_TYPE = re.compile(r"<U([1-9][0-9]{0,4})")
_LAST_CHARACTER = 0x10FFFF
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_MOST_AXES = 4


def read_type(code: Any) -> np.dtype:
    """The type of an array; raises for one that files do not have."""
    if not isinstance(code, str) or not (code in ARRAY_TYPES or _TEXT_TYPE.fullmatch(code)):
        raise ValueError(f"there are no arrays of type {code!r}")
    return np.dtype(code)


def read_shape(shape: Any, most: int) -> tuple[int, ...]:
    """The lengths of an array, none above `most`, so that an empty array is not long either."""
    if not isinstance(shape, list) or len(shape) > _MOST_AXES:
        raise ValueError(f"{shape!r:.80} is no shape of an array")
    for length in shape:
        if not is_integer(length) or not 0 <= length <= most:
            raise ValueError(f"{shape!r:.80} is no shape of an array in a file of {most} bytes")
    return tuple(shape)


def check_entries(array: np.ndarray) -> None:
    """Raise when bytes of an array are none of its type's: truth values beyond 1, or texts of what is no character."""
    if array.dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise ValueError("an array of truth values has other values")
    if array.dtype.kind == "U" and (np.ascontiguousarray(array).ravel().view(np.uint32) > _LAST_CHARACTER).any():
        raise ValueError("an array of texts has what is no character")


class Decoder:
    """Makes values of JSON.

    Parameters
    ----------
    arrays : sequence of ndarray
        The arrays that the JSON names.
    """

    def __init__(self, arrays: Any):
        self._arrays = dict(enumerate(arrays))

    def decode(self, tree: Any) -> Any:
        """The value; raises when it is none that is written, or leaves an array of the file out."""
        value = self._decode(tree)
        if self._arrays:
            raise ValueError(f"{len(self._arrays)} arrays are no part of it")
        return value

    def _decode(self, tree: Any) -> Any:
        if tree is None or isinstance(tree, bool | str):
            return tree
        if isinstance(tree, int):
            if not INTEGERS[0] <= tree <= INTEGERS[1]:
                raise ValueError("a whole number is too large")
            return tree
        if isinstance(tree, float):
            if not math.isfinite(tree):
                raise ValueError("a number is too large")
            return tree
        if isinstance(tree, list):
            return [self._decode(part) for part in tree]
        if not isinstance(tree, dict) or not isinstance(tree.get("is"), str):
            raise ValueError("an object does not say what it is")
        return self._tagged(tree["is"], {name: part for name, part in tree.items() if name != "is"})

    def _tagged(self, kind: str, parts: dict[str, Any]) -> Any:
        match kind, sorted(parts):
            case "float", ["value"]:
                return _NOT_FINITE[parts["value"]]
            case "scalar", ["type", "value"]:
                return _scalar(read_type(parts["type"]), parts["value"])
            case "tuple", ["items"]:
                return tuple(self._items(parts["items"]))
            case "dict", ["items"]:
                return self._dict(parts["items"])
            case "array", ["at"]:
                return self._take(parts["at"])
            case "rows", ["at"]:
                return self._rows(parts["at"])
            case "texts", ["at"]:
                return self._texts(parts["at"])
            case "objects", ["items", "shape"]:
                return _objects(parts["shape"], self._items(parts["items"]))
            case "masked", ["data", "mask"]:
                return _masked(self._decode(parts["data"]), self._decode(parts["mask"]))
            case (("csr_array" | "csr_matrix"), ["data", "indices", "indptr", "shape"]):
                arrays = {name: self._decode(parts[name]) for name in ("data", "indices", "indptr")}
                return _csr(kind, parts["shape"], Fields(kind, arrays))
            case "object", ["fields", "type"]:
                return self._object(parts["type"], parts["fields"])
        raise ValueError(f"there is no {kind[:80]!r} of {', '.join(parts)[:80]}")

    def _items(self, parts: Any) -> list[Any]:
        if not isinstance(parts, list):
            raise ValueError("items are no list")
        return [self._decode(part) for part in parts]

    def _dict(self, items: Any) -> dict[Any, Any]:
        pairs = self._items(items)
        if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            raise ValueError("the items of a dict are no pairs")
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a dict has a key twice")
        return found

    def _object(self, name: Any, fields: Any) -> Any:
        kind = type_named(name)
        if not isinstance(fields, dict):
            raise ValueError(f"the fields of a {name} have no names")
        checked = Fields(kind.cls.__name__, {field: self._decode(part) for field, part in fields.items()})
        value = kind.from_fields(checked)
        checked.finish()
        return value

    def _take(self, at: Any) -> np.ndarray:
        if not is_integer(at) or at not in self._arrays:
            raise ValueError(f"there is no array {at!r:.80}, or two values share it")
        return self._arrays.pop(at)

    def _rows(self, at: Any) -> list[Any]:
        array = self._take(at)
        if type_code(array.dtype) not in TYPES_OF_ROWS or array.ndim not in (1, 2) or array.size == 0:
            raise ValueError(f"the array {at} has no rows")
        return list(array)

    def _texts(self, at: Any) -> np.ndarray:
        array = self._take(at)
        if array.dtype.kind != "U" or array.ndim != 1:
            raise ValueError(f"the array {at} has no texts")
        return array.astype(object)


def _scalar(dtype: np.dtype, value: Any) -> np.generic:
    if dtype.kind == "f" and isinstance(value, str):
        return dtype.type(_NOT_FINITE[value])
    if not isinstance(value, {"b": bool, "U": str, "f": float | int}.get(dtype.kind, int)):
        raise ValueError(f"{value!r:.80} is no number of type {dtype}")
    with np.errstate(over="ignore"):
        number = dtype.type(value)
    if number != value:
        raise ValueError(f"{value!r:.80} is no number of type {dtype}")
    return number


def _objects(shape: Any, items: list[Any]) -> np.ndarray:
    lengths = read_shape(shape, max(len(items), 1))
    if math.prod(lengths) != len(items):
        raise ValueError(f"an array of shape {lengths} has {len(items)} entries")
    flat = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        flat[i] = item
    return flat.reshape(lengths)


def _masked(data: Any, mask: Any) -> np.ma.MaskedArray:
    is_mask = isinstance(data, np.ndarray) and isinstance(mask, np.ndarray) and mask.dtype == bool
    if not is_mask or data.shape != mask.shape:
        raise ValueError("a masked array has no mask of its shape")
    return np.ma.MaskedArray(data, mask=mask)


def _csr(name: str, shape: Any, fields: Fields) -> Any:
    """A CSR matrix in canonical form: compiled code follows its indices."""
    n_rows, n_columns = read_shape(shape, INTEGERS[1])
    starts, columns = fields.array("indptr", (n_rows + 1,), "i"), fields.array("indices", (None,), "i")
    data = fields.array("data", (len(columns),), "f", finite=False)
    is_outside = starts.min() < 0 or starts.max() > len(columns)
    if is_outside or starts[0] != 0 or starts[-1] != len(columns) or (np.diff(starts) < 0).any():
        raise ValueError("the rows of a CSR matrix do not follow each other")
    if len(columns) and not 0 <= columns.min() <= columns.max() < n_columns:
        raise ValueError("a CSR matrix has entries in columns that it has not")
    # within a row, columns rise
    rises = np.diff(columns) > 0
    rises[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < len(columns))] - 1] = True
    if not rises.all():
        raise ValueError("the entries of a CSR matrix are not in their order")
    return SPARSE[name]((data, columns, starts), shape=(n_rows, n_columns))
