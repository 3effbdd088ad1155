"""Call every function of the extension module with random arguments, half of them spoilt.

A call either is refused with a ValueError or the like and writes nothing, or writes what NumPy finds; native_calls.py
says which of them. tools/test_native.py runs this with sanitizers, which end the process at the first fault: the file
PROGRESS has a summary in JSON, with the call that is being made.

    python tools/fuzz_native.py PROGRESS --seed 0 --seconds 60
    python tools/fuzz_native.py PROGRESS --seed 0 --first 17 --cases 1
"""

from __future__ import annotations

import argparse
import array
import ctypes
import json
import sys
import warnings
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any, TextIO

import numpy as np
from native_calls import CALLS, MODULE, Calls, Expected, Unfit

#: what a function may raise for arguments that do not fit; a number beyond C's long is an OverflowError
REFUSALS = (TypeError, ValueError, BufferError, OverflowError)
OTHER_DTYPES = "?", "i1", "i4", "i8", "u8", "f2", "f4", "f8", "g", "c8", "c16", "O", "S8", "M8[s]", ">f4", ">f8", ">i8"
WHOLE_NUMBERS = -1, 0, 1, 2, 3, 5, 7, 2**31, 2**32 + 1, 2**60, 2**61 + 1, 2**63 - 1, -(2**63)
NUMBERS = np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e-40, 1e20, -1e20, 1e38, 1e300, -1e300
#: of the time, the arguments are left as they are
SHARE_UNSPOILT = 0.4
MOST_FAILURES = 10


def retyped(rng, numbers: np.ndarray) -> Any:
    """The same numbers in another type, or in a type that names the order of its bytes."""
    if not rng.integers(4):
        return numbers.view(numbers.dtype.newbyteorder("<"))
    with np.errstate(all="ignore"):
        return numbers.astype(rng.choice(OTHER_DTYPES))


def reshaped(rng, numbers: np.ndarray) -> Any:
    """The same numbers, or some of them, in another shape."""
    axis = int(rng.integers(numbers.ndim))
    changes = [
        lambda: numbers.ravel(),
        lambda: numbers[None],
        lambda: numbers[..., None],
        lambda: numbers.T.copy(),
        lambda: numbers.ravel()[0].reshape(()) if numbers.size else numbers,
        lambda: np.delete(numbers, -1, axis) if numbers.shape[axis] else numbers,
        lambda: np.append(numbers, numbers[:1], 0),
        lambda: np.repeat(numbers, 2, axis),
        lambda: numbers.take(np.zeros(0, int), axis),
        lambda: np.zeros((0, *numbers.shape[1:]), numbers.dtype),
    ]
    return rng.choice(changes)()


def relaid(rng, numbers: np.ndarray) -> Any:
    """The same numbers, with other strides, or at an address that their type does not allow."""
    whole = np.empty(numbers.nbytes + 1, np.uint8)
    moved = whole[1:].view(numbers.dtype).reshape(numbers.shape)
    moved[...] = numbers
    changes = [
        lambda: np.asfortranarray(numbers),
        lambda: np.repeat(numbers, 2, axis=-1)[..., ::2],
        lambda: np.flip(numbers),
        lambda: np.broadcast_to(numbers[..., :1], numbers.shape),
        lambda: np.lib.stride_tricks.as_strided(numbers, strides=[0] * numbers.ndim),
        lambda: moved,
        # of the native format, which an array at such an address has not
        lambda: memoryview(whole)[1:].cast(numbers.dtype.char, numbers.shape) if numbers.size else memoryview(whole),
    ]
    return rng.choice(changes)()


def exposed(rng, numbers: np.ndarray) -> Any:
    """The same numbers in something that is no array of NumPy, or not writable."""
    frozen = numbers.copy()
    frozen.flags.writeable = False
    kind = numbers.dtype.char
    changes = [
        lambda: frozen,
        lambda: memoryview(numbers),
        lambda: memoryview(numbers).toreadonly(),
        lambda: numbers.tobytes(),
        lambda: bytearray(numbers.tobytes()),
        lambda: array.array(kind, numbers.tobytes()),
        lambda: (np.ctypeslib.as_ctypes_type(numbers.dtype) * numbers.size)(*numbers.ravel().tolist()),
        lambda: numbers.tolist(),
        lambda: numbers.ravel()[0] if numbers.size else None,
    ]
    return rng.choice(changes)()


def replaced(rng, _: Any = None) -> Any:
    """Something that has nothing to do with the argument."""
    numbers = None, True, -1, 2**70, 1.5, 1j, np.zeros(0), np.zeros((0, 0)), np.eye(3)
    others = *numbers, "text", b"", object(), [], {}, ctypes
    return others[rng.integers(len(others))]


def revalued(rng, numbers: np.ndarray) -> Any:
    """The same array with a few other numbers in it, or with its rows in another order."""
    changed = numbers.copy()
    if not rng.integers(6):
        return rng.permutation(changed)
    n = min(changed.size, int(rng.integers(1, 4)))
    where = rng.integers(0, max(1, changed.size), n)
    if changed.dtype.kind == "f":
        with np.errstate(all="ignore"):
            changed.reshape(-1)[where] = rng.choice(NUMBERS, n)
    elif rng.integers(2):
        changed.reshape(-1)[where] += rng.choice([-1, 1], n)
    elif n and rng.integers(2):
        # at or just beyond the end of what they are indices of
        changed.reshape(-1)[where[:1]] = changed.max() + rng.integers(1, 4)
    else:
        changed.reshape(-1)[where] = [WHOLE_NUMBERS[k] for k in rng.integers(0, len(WHOLE_NUMBERS), n)]
    return changed


def is_plain(argument: Any) -> bool:
    """Whether an argument is an array of numbers as the functions take them, with axes."""
    return isinstance(argument, np.ndarray) and argument.ndim > 0 and argument.dtype.char in "fdl"


def spoilt(rng: np.random.Generator, arguments: list[Any]) -> list[Any]:
    """The arguments with one or two changes, which they may yet fit."""
    arguments = list(arguments)
    for _ in range(rng.integers(1, 3)):
        place = int(rng.integers(max(1, len(arguments))))
        how = rng.integers(30)
        if how == 0:
            arguments.insert(place, replaced(rng))
        elif how == 1:
            del arguments[place : place + 1]
        elif how == 2 and arguments:
            other = int(rng.integers(len(arguments)))
            arguments[place], arguments[other] = arguments[other], arguments[place]
        elif arguments:
            change = rng.choice([retyped, reshaped, relaid, exposed, revalued, revalued])
            arguments[place] = (change if is_plain(arguments[place]) else replaced)(rng, arguments[place])
    return arguments


def contents(argument: Any) -> bytes | None:
    """The bytes of a buffer, or None."""
    try:
        return memoryview(argument).tobytes()
    except (TypeError, ValueError, BufferError):
        return None


def is_aligned(argument: Any) -> bool:
    """Whether a buffer, if it is one, begins at a multiple of its items' size, as an empty one need not."""
    try:
        numbers = np.asarray(memoryview(argument))
    except (TypeError, ValueError, BufferError):
        return True
    return numbers.__array_interface__["data"][0] % max(1, numbers.itemsize) == 0


def agrees(found: np.ndarray, expected: Expected) -> bool:
    """Whether numbers are as near to the expected ones as they should be; NaN is expected of what cannot be told."""
    with np.errstate(all="ignore"):
        # in single precision, numbers beyond it are infinite
        values = expected.values.astype(found.dtype)
        near = np.abs(found - expected.values) <= expected.tolerance
        return bool((near | (found == values) | np.isnan(values)).all())


def verdict(call: Calls, name: str, arguments: list[Any]) -> str:
    """ "correct" or "refused", or what is wrong."""
    try:
        expected, fits = call.expect(arguments), True
    except Unfit:
        fits = False
    before = [contents(argument) for argument in arguments]
    references = [sys.getrefcount(arguments[place]) for place in range(len(arguments))]
    try:
        result = getattr(MODULE, name)(*arguments)
    except REFUSALS as error:
        # a function may refuse addresses that a type does not allow
        if fits and all(map(is_aligned, arguments)):
            return f"refused arguments that fit: {error!r}"
        written, said = (), "refused"
    except Exception as error:
        return f"raised {error!r}"
    else:
        if not fits:
            return "accepted arguments that do not fit"
        if not call.answers(arguments, result):
            return f"returned {result!r}"
        written, said = call.outputs, "correct"
        for place, wanted in expected.items():
            if not agrees(np.asarray(arguments[place]), wanted):
                return f"wrote wrong numbers to argument {place}"
    for place in range(len(arguments)):
        if place not in written and contents(arguments[place]) != before[place]:
            return f"{said}, and wrote to argument {place}"
        if before[place] is not None and sys.getrefcount(arguments[place]) != references[place]:
            return f"{said}, and keeps argument {place}"
    return said


def describe(name: str, arguments: list[Any]) -> str:
    """A call on one line."""
    texts = []
    for argument in arguments:
        kind = type(argument).__name__
        if isinstance(argument, np.ndarray | memoryview):
            kind = argument.dtype if isinstance(argument, np.ndarray) else f"memoryview {argument.format}"
            texts.append(f"{kind} {argument.shape} strides {argument.strides}")
        else:
            texts.append(repr(argument) if isinstance(argument, int | float | None) else kind)
    return f"{name}({'; '.join(texts)})"


def write(file: TextIO, **summary: Any) -> None:
    """Have only this summary in a file."""
    file.seek(0)
    file.write(json.dumps(summary))
    file.truncate()
    file.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("progress", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cases", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--only", help="the only function to call")
    given = parser.parse_args()
    # of overflows in spoilt arguments
    warnings.simplefilter("ignore")
    functions = [name for name in dir(MODULE) if callable(getattr(MODULE, name)) and not name.startswith("__")]
    tried = [given.only] if given.only else [*functions, "sweep", "sweep"]
    failures = [[0, name, "tools/native_calls.py makes up no calls of it"] for name in tried if name not in CALLS]
    tried = [name for name in tried if name in CALLS]
    counts, started = {name: Counter() for name in tried}, perf_counter()
    with given.progress.open("w") as progress:
        for case in range(given.first, given.first + given.cases):
            if perf_counter() - started > given.seconds or len(failures) >= MOST_FAILURES:
                break
            rng = np.random.default_rng([given.seed, case])
            name = tried[rng.integers(len(tried))]
            call = CALLS[name](rng)
            arguments = call.arguments if rng.uniform() < SHARE_UNSPOILT else spoilt(rng, call.arguments)
            text = describe(name, arguments)
            write(progress, case=case, name=name, call=text, counts=counts, failures=failures)
            said = verdict(call, name, arguments)
            if said not in ("correct", "refused"):
                failures.append([case, text, said])
                said = "wrong"
            counts[name][said] += 1
        write(progress, call=None, counts=counts, failures=failures)


if __name__ == "__main__":
    main()
