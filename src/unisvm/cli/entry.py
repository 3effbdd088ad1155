"""Where the program starts: from the arguments of the shell to an exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from unisvm.cli.libsvm_arguments import translate

_missing: str | None = None
try:
    from unisvm.cli.app import run
except ModuleNotFoundError as error:
    _missing = error.name
    if _missing not in ("typer", "rich"):
        raise

#: exit codes: all is well; bad data, a bad model, or a fit that was refused; a wrong command line; Ctrl-C
OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
# what the library raises for bad input; anything else is a fault of ours, and shows where it happened
_REFUSALS = (ValueError, TypeError, OSError, MemoryError, RuntimeError, ImportError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code of the program with these arguments, or those of the shell when None."""
    if _missing is not None:
        return _failed(f"the command line needs {_missing}: pip install 'unisvm[cli]'.")
    for stream in (sys.stdout, sys.stderr):
        # an encoding that lacks a letter of ours is no reason to end
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        given, notes = translate(list(sys.argv[1:] if arguments is None else arguments))
        return run(given, notes)
    except KeyboardInterrupt:
        print("unisvm: interrupted.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # whoever read our output has enough; what Python would flush at its end goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except _REFUSALS as error:
        if os.environ.get("UNISVM_TRACEBACK"):
            raise
        return _failed(_text_of(error))


def _text_of(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, MemoryError) and not str(error):
        return "there is not enough memory. Give --memory-limit, or a lower --rank."
    # what scikit-learn says beyond the first line is about its own estimators
    return str(error).partition("\n")[0] or type(error).__name__


def _failed(message: str) -> int:
    print(f"unisvm: error: {message}", file=sys.stderr)
    return FAILED
