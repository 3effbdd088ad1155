"""Values as JSON with a list of arrays.

None, True, False, texts, whole numbers, finite numbers and lists are themselves in JSON. Everything else is a JSON
object whose entry ``is`` says what it is; docs/model_files.md lists them. An array is named by its place in the list.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import sparse

from unisvm.model_files.registry import PARAMETERS, FileType, NotSaved, Record, name_of, type_of

#: types of arrays in files, beside texts
ARRAY_TYPES = frozenset({"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"})
#: most characters of a text in an array
MOST_CHARACTERS = 99_999
#: a list of arrays, or of NumPy's numbers, of one of these types is one array with a row for each
TYPES_OF_ROWS = frozenset({"<f4", "<f8", "<i8"})
#: sparse matrices by their names
SPARSE = {"csr_array": sparse.csr_array, "csr_matrix": sparse.csr_matrix}
#: least and largest whole number, as other languages have them
INTEGERS = -(2**63), 2**64 - 1


class CannotSave(TypeError):
    """A value has no form in a model file; the message begins with where it is."""


class Encoder:
    """Turns values into JSON.

    Attributes
    ----------
    arrays : list of ndarray
        The arrays that the JSON names.
    not_saved : dict of str
        What has become `NotSaved`, by where it was.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.not_saved: dict[str, str] = {}

    def encode(self, value: Any, where: str, *, lenient: bool = False) -> Any:
        """The value as JSON. With `lenient`, parts that cannot be saved become `NotSaved`.

        Raises
        ------
        CannotSave
        """
        if isinstance(value, Record):
            return self.encode(value.value, where, lenient=True)
        n_arrays = len(self.arrays)
        try:
            return self._encode(value, where, lenient)
        except CannotSave:
            if not lenient:
                raise
        del self.arrays[n_arrays:]
        self.not_saved[where] = name_of(value)
        return self._encode(NotSaved(name_of(value)), where, lenient)

    def _encode(self, value: Any, where: str, lenient: bool) -> Any:
        if (kind := type_of(value)) is not None:
            return self._object(kind, value, where, lenient)
        if isinstance(value, np.generic):
            return _scalar(value, where)
        if isinstance(value, np.ma.MaskedArray):
            parts = {"data": np.ma.getdata(value), "mask": np.ma.getmaskarray(value)}
            return {"is": "masked"} | self._named(parts, where, lenient)
        cls = type(value)
        if cls in (type(None), bool, str):
            return value
        if cls is int and INTEGERS[0] <= value <= INTEGERS[1]:
            return value
        if cls is float:
            return value if math.isfinite(value) else {"is": "float", "value": repr(value)}
        if cls is tuple:
            return {"is": "tuple", "items": self._items(value, where, lenient)}
        if cls is list:
            rows = _as_rows(value)
            return self._items(value, where, lenient) if rows is None else {"is": "rows", "at": self._place(rows)}
        if cls is dict:
            items = [
                [self.encode(key, f"{where}: a key"), self.encode(part, f"{where}.{key}".lstrip("."), lenient=lenient)]
                for key, part in value.items()
            ]
            return {"is": "dict", "items": items}
        if cls in (np.ndarray, np.memmap):
            return self._array(np.asarray(value), where, lenient)
        if cls in SPARSE.values():
            parts = {"data": value.data, "indices": value.indices, "indptr": value.indptr}
            return {"is": cls.__name__, "shape": list(map(int, value.shape))} | self._named(parts, where, lenient)
        raise CannotSave(f"{where}: {name_of(value)} is no type of object that model files hold")

    def _object(self, kind: FileType, value: Any, where: str, lenient: bool) -> dict[str, Any]:
        return {"is": "object", "type": kind.name, "fields": self._named(kind.to_fields(value), where, lenient)}

    def _named(self, parts: dict[str, Any], where: str, lenient: bool) -> dict[str, Any]:
        names = {name: where if name == PARAMETERS else f"{where}.{name}".lstrip(".") for name in parts}
        return {name: self.encode(part, names[name], lenient=lenient) for name, part in parts.items()}

    def _items(self, parts: Any, where: str, lenient: bool) -> list[Any]:
        return [self.encode(part, f"{where}[{i}]", lenient=lenient) for i, part in enumerate(parts)]

    def _array(self, array: np.ndarray, where: str, lenient: bool) -> dict[str, Any]:
        if array.dtype == object:
            texts = _as_texts(array)
            if texts is not None:
                return {"is": "texts", "at": self._place(texts)}
            items = self._items(array.ravel().tolist(), where, lenient)
            return {"is": "objects", "shape": list(array.shape), "items": items}
        if type_code(array.dtype) is None:
            raise CannotSave(f"{where}: arrays of {array.dtype} are none that model files hold")
        return {"is": "array", "at": self._place(array)}

    def _place(self, array: np.ndarray) -> int:
        self.arrays.append(array)
        return len(self.arrays) - 1


def type_code(dtype: np.dtype) -> str | None:
    """The type of an array in files, None if it has none there."""
    code = dtype.newbyteorder("<").str
    is_text = dtype.kind == "U" and 1 <= dtype.itemsize // 4 <= MOST_CHARACTERS
    return code if is_text or code in ARRAY_TYPES else None


def _scalar(value: np.generic, where: str) -> dict[str, Any]:
    code = type_code(value.dtype)
    if value.dtype.kind == "f" and code is not None and not np.isfinite(value):
        return {"is": "scalar", "type": code, "value": repr(float(value))}
    if code is None:
        raise CannotSave(f"{where}: numbers of {value.dtype} are none that model files hold")
    return {"is": "scalar", "type": code, "value": value.item()}


def _as_rows(values: list[Any]) -> np.ndarray | None:
    """Arrays or numbers of NumPy's of one type and shape as the rows of an array; None if they are not such."""
    kinds = {(type(value), value.dtype, value.shape) for value in values if isinstance(value, np.ndarray | np.generic)}
    if len(kinds) != 1 or not all(isinstance(value, np.ndarray | np.generic) for value in values):
        return None
    first = values[0]
    is_plain = (type(first) is np.ndarray and first.ndim == 1 and first.size > 0) or isinstance(first, np.generic)
    return np.stack(values) if is_plain and type_code(first.dtype) in TYPES_OF_ROWS else None


def _as_texts(array: np.ndarray) -> np.ndarray | None:
    """An array of objects that are texts as an array of texts; None if they are not, or would be others."""
    entries = array.ravel().tolist()
    if array.ndim != 1 or not entries or not all(type(entry) is str for entry in entries):
        return None
    if not 1 <= max(map(len, entries)) <= MOST_CHARACTERS:
        return None
    texts = array.astype(str)
    # zeros at the end of a text are lost
    return texts if texts.tolist() == entries else None
