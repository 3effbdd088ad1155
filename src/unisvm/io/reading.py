"""Errors that name the file which they come from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Have an error of the system, or a ValueError about a file that is damaged or of another kind, name the file.

    Libraries raise almost any exception for a damaged file, also OSError without a number.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise ValueError(f"{path} is no {kind}, or it is damaged: {error}") from error
