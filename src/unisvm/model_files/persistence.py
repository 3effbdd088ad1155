"""Save a fitted model, load it, and read what its file says of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from unisvm._version import __version__
from unisvm.model_files import registry
from unisvm.model_files.decoding import Decoder
from unisvm.model_files.encoding import CannotSave, Encoder
from unisvm.model_files.fields import Fields
from unisvm.model_files.file_format import FORMAT, check_path, header_line, read, refused, write
from unisvm.model_files.registry import type_of
from unisvm.model_files.summary import summarise


def save(model: BaseEstimator, path: Any, *, extra: dict[str, Any] | None = None) -> None:
    """Save a fitted model to a file that is safe to share: it holds numbers and texts, and no code.

    The loaded model gives the same predictions to the last bit, has the same parameters and attributes, and can be
    fitted again. The file is written as a whole, or the one that was there before stays as it is.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this library, or a scikit-learn `Pipeline` of scalers, a `SimpleImputer` or a
        `unisvm.tables.TableEncoder` with one at its end. Kernels of `unisvm.kernels` are saved, and kernel functions,
        which are code, are refused. Other code that only training, scores or `trust` need, such as a solver or a loss
        of your own, becomes a `unisvm.model_files.NotSaved`, which says what it was. `checkpoint` and `scratch_dir`,
        folders of this machine, become None.
    path : str or Path
        The file. Its folder must be there.
    extra : dict, optional
        What else to keep, as JSON has it: `unisvm.model_files.read_summary` returns it.

    See Also
    --------
    load : The inverse.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import unisvm
    >>> model = unisvm.UniSVMClassifier(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     unisvm.save(model, Path(folder) / "letters.unisvm")
    ...     unisvm.load(Path(folder) / "letters.unisvm").predict([[0.2], [2.9]])
    array(['a', 'b'], dtype='<U1')
    """
    place = check_path(path)
    _know_the_library()
    _check_model(model)
    extra = _check_extra(extra)
    encoder, name = Encoder(), type(model).__name__
    try:
        tree = encoder.encode(model, "")
        # what could not be loaded is not saved
        Decoder(encoder.arrays).decode(tree)
        header = {"unisvm": __version__, "summary": summarise(model, encoder.not_saved), "extra": extra}
        line = header_line(header | {"model": tree}, encoder.arrays)
    except CannotSave as error:
        raise TypeError(f"This {name} cannot be saved: {error}.") from None
    except ValueError as error:
        raise ValueError(f"This {name} cannot be saved, as it could not be loaded again: {error}.") from error
    write(place, line, encoder.arrays)


def load(path: Any) -> Any:
    """The fitted model in a file that `save` wrote. Loading runs no code of the file, whoever made it.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    model : estimator
        Fitted as the one that was saved.

    Raises
    ------
    ValueError
        If the file is damaged, forged, of a newer format, or no model file; the message says what to do.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    save : The inverse, with an example.

    Examples
    --------
    >>> import unisvm
    >>> unisvm.load("nowhere.unisvm")
    Traceback (most recent call last):
    FileNotFoundError: [Errno 2] No such file or directory: 'nowhere.unisvm'
    """
    return load_with_summary(path)[0]


def load_with_summary(path: Any) -> tuple[Any, dict[str, Any]]:
    """The model in a file, and what the file says of it, as `read_summary` returns it; the file is read once."""
    header, arrays = read(path)
    _know_the_library()
    with refused(path, header["unisvm"]):
        model = Decoder(arrays).decode(header["model"])
        if (kind := type_of(model)) is None or not kind.is_model:
            raise ValueError("what it holds is no model")
    return model, _summary_of(header)


def read_summary(path: Any) -> dict[str, Any]:
    """What a model file says of its model, which is not made.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    summary : dict
        JSON values: the ``estimator``, its ``task``, ``loss``, ``kernel``, ``classes``, how its fit ended, and more, as
        docs/model_files.md lists them; ``format`` and ``unisvm``, the versions; ``extra``, what was given to `save`.

    Examples
    --------
    >>> import tempfile
    >>> import unisvm
    >>> from unisvm import model_files
    >>> model = unisvm.UniSVMRegressor(random_state=0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     unisvm.save(model, file.name, extra={"unit": "m"})
    ...     summary = model_files.read_summary(file.name)
    >>> summary["estimator"], summary["loss"], summary["n_features"], summary["extra"]
    ('UniSVMRegressor', 'huber', 1, {'unit': 'm'})
    """
    return _summary_of(read(path)[0])


def _summary_of(header: dict[str, Any]) -> dict[str, Any]:
    return header["summary"] | {"format": FORMAT, "unisvm": header["unisvm"], "extra": header["extra"]}


def register(
    cls: type,
    name: str,
    to_fields: Callable[[Any], dict[str, Any]],
    from_fields: Callable[[Fields], Any],
    *,
    is_model: bool = False,
) -> None:
    """Have model files hold objects of a class. Subclasses need a registration of their own.

    Parameters
    ----------
    cls : type
    name : str
        In files, for ever.
    to_fields : callable
        Maps an object to its fields, a dict of values by name: None, bools, numbers, texts, arrays, CSR matrices,
        lists, tuples and dicts of such, and objects of registered classes. A field that predictions do not need may be
        a `Record`.
    from_fields : callable
        Maps `Fields` to an object. A file may be forged, and so each field has to be checked for its type, its shape
        and its range; a ValueError says what is wrong. Fields that are not taken are an error.
    is_model : bool, default=False
        Whether it may be saved by itself or as the last step of a pipeline.

    Examples
    --------
    >>> from unisvm import model_files
    >>> class Shift:
    ...     def __init__(self, by):
    ...         self.by = by
    >>> model_files.register(
    ...     Shift, "examples.Shift", lambda shift: {"by": shift.by}, lambda fields: Shift(fields.number("by"))
    ... )
    """
    _know_the_library()
    registry.add(registry.FileType(cls, name, to_fields, from_fields, is_model))


def _know_the_library() -> None:
    """Register the classes of the library."""
    # with the comparators and scikit-learn's imputers, which `import unisvm` leaves out
    from unisvm.model_files.file_types import FILE_TYPES

    for file_type in FILE_TYPES:
        registry.add(file_type)


def _check_model(model: Any) -> None:
    """Raise unless this is a fitted object of a class that can be saved."""
    if isinstance(model, type):
        raise TypeError(f"model must be a fitted estimator, got the class {model.__name__}.")
    kind = type_of(model)
    if kind is None or not kind.is_model:
        # a search of scikit-learn's
        advice = " Save its best_estimator_." if type_of(getattr(model, "best_estimator_", None)) is not None else ""
        raise TypeError(f"{registry.name_of(model)} objects cannot be saved.{advice} {registry.WHAT_CAN_BE_SAVED}.")
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise NotFittedError(f"This {type(model).__name__} is not fitted: fit it before it is saved.") from None


def _check_extra(extra: Any) -> dict[str, Any]:
    """A dict of JSON values; raises when JSON would not give the same back."""
    if extra is None:
        return {}
    try:
        same = isinstance(extra, dict) and json.loads(json.dumps(extra, allow_nan=False)) == extra
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"extra must be a dict of JSON values: {error}.") from None
    if not same:
        raise ValueError(
            "extra must be a dict of JSON values: None, bools, finite numbers, texts, lists, and dicts whose keys are "
            f"texts; got {extra!r:.200}."
        )
    return extra
