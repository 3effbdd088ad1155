"""Fitted models in files that are safe to share: arrays and JSON, no pickle and no code.

`save` writes a file, `load` makes its model again, and `read_summary` reads what it says of itself. The classes of
objects in files are registered: `register` adds one. docs/model_files.md describes the format.
"""

from unisvm.model_files.fields import Fields
from unisvm.model_files.persistence import load, read_summary, register, save
from unisvm.model_files.registry import NotSaved, Record

__all__ = ["Fields", "NotSaved", "Record", "load", "read_summary", "register", "save"]


def __dir__() -> list[str]:
    return sorted(__all__)
