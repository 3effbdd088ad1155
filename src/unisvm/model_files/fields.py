"""Fields of an object in a model file, which are checked as they are taken."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from unisvm._checks import is_integer, is_number

#: lengths of an array, one an axis; None is any length
Shape = tuple[int | None, ...]
_MISSING = object()


class Fields:
    """The fields of an object, each of which is taken once.

    Every method raises a ValueError that names the field when it is missing or is not what it must be.

    Parameters
    ----------
    owner : str
        Name of the object's class, for messages.
    values : dict
    """

    def __init__(self, owner: str, values: dict[str, Any]):
        self.owner = owner
        self._values = dict(values)
        self._left = dict(values)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def refuse(self, name: str, expected: str) -> ValueError:
        """The error for a field that is not what was expected."""
        value = self._values.get(name, _MISSING)
        if value is _MISSING:
            return ValueError(f"{self.owner}: {name} is missing, which must be {expected}")
        found = f"an array of {value.dtype} of shape {value.shape}" if hasattr(value, "shape") else repr(value)[:80]
        return ValueError(f"{self.owner}: {name} must be {expected}, got {found}")

    def take(self, name: str) -> Any:
        """The value of a field, whatever it is."""
        if name not in self._values:
            raise ValueError(f"{self.owner}: {name} is missing")
        self._left.pop(name, None)
        return self._values[name]

    def of_type(self, name: str, *classes: type) -> Any:
        """An object of one of these classes."""
        if not isinstance(value := self.take(name), classes):
            raise self.refuse(name, " or ".join(each.__name__ for each in classes))
        return value

    def flag(self, name: str) -> bool:
        """True or False."""
        return bool(self.of_type(name, bool, np.bool_))

    def text(self, name: str) -> str:
        """A text."""
        return str(self.of_type(name, str))

    def integer(self, name: str, low: int = 0) -> int:
        """A whole number of at least `low`."""
        if not is_integer(value := self.take(name)) or value < low:
            raise self.refuse(name, f"a whole number of at least {low}")
        return int(value)

    def number(self, name: str, low: float = -math.inf, *, closed: bool = False) -> float:
        """A finite number above `low`, or equal to it if `closed`."""
        value = self.take(name)
        if not is_number(value) or value < low or (value == low and not closed):
            raise self.refuse(name, f"a finite number {'from' if closed else 'above'} {low}")
        return float(value)

    def array(self, name: str, shape: Shape, kinds: str = "f", *, finite: bool = True) -> np.ndarray:
        """An array of this shape, of a type of one of these kinds, as NumPy names them."""
        value = self.take(name)
        is_array = type(value) is np.ndarray and value.dtype.kind in kinds and has_shape(value, shape)
        if is_array and value.dtype.kind == "f":
            # estimators have none of half precision
            is_array = value.dtype.itemsize >= 4 and (not finite or bool(np.isfinite(value).all()))
        if not is_array:
            lengths = ", ".join("any" if length is None else str(length) for length in shape)
            raise self.refuse(name, f"an array of kind {kinds!r} of shape ({lengths}), with finite numbers")
        return value

    def texts(self, name: str, length: int) -> np.ndarray:
        """An array of so many texts."""
        value = self.array(name, (length,), "OU")
        if value.dtype.kind == "O" and not all(isinstance(entry, str) for entry in value):
            raise self.refuse(name, f"an array of {length} texts")
        return value

    def rows(self, name: str, n_columns: int) -> Any:
        """An array or a canonical CSR matrix of finite numbers, of at least one row, with so many columns."""
        value = self.take(name)
        if not sparse.issparse(value):
            self.array(name, (None, n_columns))
        elif value.shape[1] != n_columns or not np.isfinite(value.data).all():
            raise self.refuse(name, f"a CSR matrix of finite numbers of {n_columns} columns")
        if value.shape[0] == 0:
            raise self.refuse(name, "of at least one row")
        return value

    def per_column(self, name: str, n_columns: int) -> None:
        """Check for a number for one column, or an array of one for each of several."""
        value = self.take(name)
        if isinstance(value, np.ndarray):
            self.array(name, (n_columns,), "fi", finite=False)
        elif n_columns > 1 or isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise self.refuse(name, f"numbers of {n_columns} columns")

    def finish(self) -> dict[str, Any]:
        """All fields; raises when one was not taken."""
        if self._left:
            raise ValueError(f"{self.owner}: there is no field {', '.join(sorted(self._left))} in this version")
        return self._values


def has_shape(array: np.ndarray, shape: Shape) -> bool:
    """Whether an array has these lengths, of which None is any."""
    return array.ndim == len(shape) and all(
        expected in (None, length) for expected, length in zip(shape, array.shape, strict=True)
    )
