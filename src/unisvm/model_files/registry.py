"""The types of objects that model files hold, by name.

A type has a name in files, a function that takes an object apart into fields, and one that checks fields and makes an
object of them. Nothing else of a file becomes an object, so that a file names no code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from unisvm._checks import one_of
from unisvm.model_files.fields import Fields


class FileType(NamedTuple):
    """A type of objects in model files; `unisvm.model_files.register` describes the entries."""

    cls: type
    name: str
    to_fields: Callable[[Any], dict[str, Any]]
    from_fields: Callable[[Fields], Any]
    is_model: bool = False


class NotSaved:
    """Stands in a loaded model for an object that its file does not have, as it was code of the user's.

    Only training, scores or reports need such an object: predictions are those of the model that was saved.

    Parameters
    ----------
    description : str
        What it was.

    Examples
    --------
    >>> from unisvm.model_files import NotSaved
    >>> NotSaved("MySolver")
    NotSaved('MySolver')
    """

    def __init__(self, description: str):
        self.description = description

    def __repr__(self) -> str:
        return f"NotSaved({self.description!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NotSaved) and other.description == self.description

    def __hash__(self) -> int:
        return hash(self.description)

    def __call__(self, *arguments: Any, **others: Any) -> Any:
        """Raise: a scorer that is called says so."""
        raise ValueError(
            f"{self.description} was code of the user's, which the model file does not have. Set the parameter anew "
            "with set_params and fit again; a score can be computed from the predictions with sklearn.metrics."
        )


class Record(NamedTuple):
    """A field that predictions do not need: parts of it that cannot be saved become `NotSaved`.

    Attributes
    ----------
    value
    """

    value: Any


#: name of the field with the parameters of an estimator
PARAMETERS = "parameters"
#: the end of a message about other objects
WHAT_CAN_BE_SAVED = (
    "Model files hold fitted estimators of unisvm, and pipelines that end in one, of StandardScaler, MinMaxScaler, "
    "MaxAbsScaler, RobustScaler, SimpleImputer and TableEncoder. skops.io and joblib save other objects"
)
_by_class: dict[type, FileType] = {}
_by_name: dict[str, FileType] = {}


def add(file_type: FileType) -> None:
    """Register a type; raises when its class or its name is that of another one."""
    cls, name = file_type.cls, file_type.name
    if _by_class.get(cls, file_type) is not file_type or _by_name.get(name, file_type) is not file_type:
        raise ValueError(f"{cls.__name__} or the name {name!r} is registered already.")
    _by_class[cls] = _by_name[name] = file_type


def type_of(value: Any) -> FileType | None:
    """The type of an object in files, None if it has none."""
    return _by_class.get(type(value))


def type_named(name: Any) -> FileType:
    """The type of this name."""
    return _by_name[one_of("type of object", name, _by_name)]


def name_of(value: Any) -> str:
    """Name of a function or class, or of the class of an object."""
    return str(getattr(value, "__qualname__", type(value).__qualname__))


#: what stands for an object that is not saved
FILE_TYPES = (
    FileType(
        NotSaved,
        "NotSaved",
        lambda value: {"description": value.description},
        lambda fields: NotSaved(fields.text("description")),
    ),
)
