"""Descriptions that tell one fit from another, as short texts: values of parameters, and hashes of data."""

from __future__ import annotations

import dis
import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from scipy import sparse

from unisvm.parallel import run
from unisvm.rows import MemoryRows
from unisvm.rows.mapped import StoredRows

# where processors have instructions for it, SHA-256 is about twice as fast as the other sound hashes
_HASH = hashlib.sha256
_BLOCK_BYTES = 2**24
_LONGEST = 120
_LIBRARIES = ("unisvm.", "sklearn.", "numpy.", "scipy.")
#: stands before a hash in a description
_MARK = " #"


def describe(value: Any, n_threads: int = 1) -> str:
    """The same text for the same value in any process, of at most a line.

    Objects are known by their class and parameters or attributes, functions by their code, what they enclose and the
    global data that they read, arrays by a hash of their entries.

    Raises
    ------
    TypeError
        For an object that cannot be told from another of its class.
    """
    text = _describe(value, n_threads, ())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}…{_MARK}{_hash(text.encode())}"


def describe_parameters(parameters: Mapping[str, Any]) -> dict[str, str]:
    """A description of each parameter."""
    described = {}
    for name, value in parameters.items():
        try:
            described[name] = describe(value)
        except TypeError as error:
            raise ValueError(f"{name} does not go with a checkpoint: {error}") from error
    return described


def difference(name: str, before: str, now: str) -> str:
    """In words, how two descriptions of `name` differ."""
    shown, other = before.split(_MARK)[0], now.split(_MARK)[0]
    return f"the contents of {name} differ" if shown == other else f"{name} was {shown} and is {other}"


def _describe(value: Any, n_threads: int, inside: tuple[int, ...]) -> str:
    if id(value) in inside:
        # a function that calls itself
        return "…"

    def inner(part: Any) -> str:
        return _describe(part, n_threads, (*inside, id(value)))

    def call(name: str, parts: Mapping[str, Any]) -> str:
        return f"{name}({', '.join(f'{key}={inner(part)}' for key, part in parts.items())})"

    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        # 1 and 1.0 are the same parameter
        return repr(value).removesuffix(".0")
    if isinstance(value, PurePath):
        return repr(str(value))
    if isinstance(value, np.random.RandomState):
        return f"RandomState{_MARK}{_hash(repr(_listed(value.get_state(legacy=False))).encode())}"
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{inner(key)}: {inner(part)}' for key, part in value.items()))}}}"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(inner, value)))}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(inner, value))}]"
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        code = inner([value.__code__, value.__defaults__, value.__kwdefaults__, cells, _global_data(value)])
        return f"{_name(value)}{_MARK}{_hash(code.encode())}"
    if isinstance(value, CodeType):
        return inner([value.co_code, value.co_consts, value.co_names])
    if isinstance(value, MethodType):
        return call(_name(value), {"self": value.__self__})
    if isinstance(value, functools.partial):
        return call("partial", {"func": value.func, "args": value.args, "keywords": value.keywords})
    if isinstance(value, BuiltinFunctionType | ModuleType | np.ufunc | type):
        return _name(value)
    if sparse.issparse(value) or isinstance(value, StoredRows) or hasattr(value, "__array__"):
        return _describe_array(value, n_threads)
    kind = _name(type(value))
    if hasattr(value, "get_params"):
        return call(kind, value.get_params(deep=False))
    if is_dataclass(value):
        return call(kind, {field.name: getattr(value, field.name) for field in fields(value)})
    if hasattr(value, "__dict__"):
        # of an object that is nobody's but the user's, the methods may be others in the next run
        is_users = not kind.startswith(_LIBRARIES)
        methods = [part for part in vars(type(value)).values() if is_users and isinstance(part, FunctionType)]
        return call(kind, vars(value) | ({"methods": methods} if methods else {}))
    raise TypeError(
        f"{value!r} cannot be told from another {kind}, as a checkpoint must: its class needs attributes that are not "
        f"in __slots__, or a method get_params."
    )


def describe_together(values: Iterable[Any], n_threads: int = 1) -> str:
    """One description of several values: that of the first, with a hash of all."""
    texts = [describe(value, n_threads) for value in values]
    return f"{texts[0].split(_MARK)[0]}{_MARK}{_hash(repr(texts).encode())}" if texts else "nothing"


def describe_store(store: MemoryRows) -> dict[str, str]:
    """Descriptions of all rows that were given with the indices of those in the store, of targets and of weights."""
    return {
        "X": describe_together((store.given, store.row_indices(np.arange(store.n_rows))), store.n_threads),
        "y": describe(store.targets, store.n_threads),
        "the weights": describe(store.weights, store.n_threads),
    }


def describe_blocks(parts: Sequence[str]) -> str:
    """One description of an array in blocks, from those of the blocks."""
    return f"{len(parts)} blocks, the first {parts[0].split(_MARK)[0]}{_MARK}{_hash(repr(parts).encode())}"


def _describe_array(array: Any, n_threads: int = 1) -> str:
    """Kind, shape and hash of an array or a CSR matrix; in blocks, so that one on disk is not read as a whole."""
    if isinstance(array, StoredRows):
        parts = [_describe_array(block, n_threads) for block in array.blocks()]
        return f"{array.dtype} rows in a file, of shape {array.shape}{_MARK}{_hash(''.join(parts).encode())}"
    if sparse.issparse(array):
        array = array.tocsr()
        parts = [_hash_of(part, n_threads) for part in (array.data, array.indices, array.indptr)]
        return f"a {array.dtype} CSR matrix of shape {array.shape}{_MARK}{_hash(''.join(parts).encode())}"
    array = np.asarray(array)
    return f"a {array.dtype} array of shape {array.shape}{_MARK}{_hash_of(array, n_threads)}"


def _hash_of(array: np.ndarray, n_threads: int) -> str:
    if array.dtype == object:
        return _hash(_describe(array.tolist(), 1, ()).encode())
    array = np.atleast_1d(array)
    length = max(1, _BLOCK_BYTES // max(array[:1].nbytes, 1))

    def part(low: int) -> bytes:
        return _HASH(np.ascontiguousarray(array[low : low + length]).ravel().view(np.uint8).data).digest()

    return _hash(b"".join(run([functools.partial(part, low) for low in range(0, len(array), length)], n_threads)))


def _hash(data: bytes) -> str:
    return _HASH(data).hexdigest()[:32]


def _global_data(function: FunctionType) -> dict[str, Any]:
    """Global numbers, texts and arrays, and containers of such, that a function reads and does not set.

    Functions, objects and modules are left out: they lead through whole libraries.
    """
    read, set_by_itself = set(), set()
    for instruction in _instructions(function.__code__):
        if instruction.opname == "LOAD_GLOBAL":
            read.add(instruction.argval)
        elif instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            set_by_itself.add(instruction.argval)
    found = function.__globals__
    return {name: found[name] for name in sorted(read - set_by_itself) if name in found and _is_data(found[name])}


def _instructions(code: CodeType) -> Iterator[dis.Instruction]:
    """The instructions of a function, and of the functions that are defined in it."""
    yield from dis.get_instructions(code)
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _instructions(part)


def _is_data(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_data, value.keys())) and all(map(_is_data, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(_is_data, value))
    if isinstance(value, np.ndarray):
        return not value.dtype.hasobject
    is_number_or_text = value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic)
    return is_number_or_text or sparse.issparse(value)


def _listed(state: Any) -> Any:
    """The state of a random number generator with lists for arrays."""
    if isinstance(state, Mapping):
        return {key: _listed(part) for key, part in state.items()}
    return state.tolist() if isinstance(state, np.ndarray | np.generic) else state


def _name(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or value.__name__
    module = getattr(value, "__module__", None)
    # a script is the same file under another name
    return name if module in (None, "builtins", "__main__") else f"{module}.{name}"
