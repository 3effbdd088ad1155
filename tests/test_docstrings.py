"""Every public name says what it is in numpydoc's sections, with an example; the examples run as doctests."""

import inspect
import re
from enum import Enum
from itertools import pairwise

import pytest
from sklearn.base import BaseEstimator

import unisvm
from unisvm import (
    baselines,
    datasets,
    feature_selection,
    kernels,
    losses,
    model_files,
    model_selection,
    nystrom,
    onnx_export,
    plotting,
    solvers,
    tables,
)

PACKAGES = (
    unisvm,
    baselines,
    datasets,
    feature_selection,
    kernels,
    losses,
    model_files,
    model_selection,
    nystrom,
    onnx_export,
    plotting,
    solvers,
    tables,
)
#: records that a fit returns or a file has, and bases of the user's own classes, which are shown where they are used
WITHOUT_EXAMPLE = {
    "Fields",
    "History",
    "Iteration",
    "Kernel",
    "Loss",
    "PaperSet",
    "Path",
    "Record",
    "Result",
    "SelectionPath",
    "Start",
    "StopReason",
}
SECTIONS = {
    "Parameters",
    "Returns",
    "Yields",
    "Receives",
    "Other Parameters",
    "Raises",
    "Warns",
    "Warnings",
    "See Also",
    "Notes",
    "References",
    "Examples",
    "Attributes",
    "Methods",
}
VARIADIC = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)

PUBLIC = {
    f"{package.__name__}.{name}": getattr(package, name)
    for package in PACKAGES
    for name in package.__all__
    if inspect.isclass(getattr(package, name)) or inspect.isfunction(getattr(package, name))
}
METHODS = {
    f"{name}.{method}": (thing, function)
    for name, thing in PUBLIC.items()
    if inspect.isclass(thing)
    for method, function in inspect.getmembers(thing, inspect.isfunction)
    if not method.startswith("_") and function.__module__.startswith("unisvm")
}


def sections(text):
    """The sections of a docstring: the lines of each by its title. Those before the first have an empty title."""
    found, title = {"": []}, ""
    lines = [*text.splitlines(), ""]
    for line, below in pairwise(lines):
        if re.fullmatch("-{3,}", below) and line:
            assert line in SECTIONS, f"{line!r} is no section of numpydoc"
            assert len(line) == len(below), f"the line below {line!r} is not as long"
            assert line not in found, f"there are two sections {line!r}"
            title = line
            found[title] = []
        elif not (title and re.fullmatch("-{3,}", line)):
            found[title].append(line)
    return found


def entries(lines):
    """Names that a section describes, which may share an entry: "a, b : int"."""
    heads = [line for line in lines if line and not line.startswith(" ")]
    return [name.lstrip("*") for head in heads for name in head.split(" : ")[0].split(", ")]


def check_parameters(thing, found):
    """Each parameter of the signature has an entry, and each entry is a parameter.

    A record or base whose constructor stores its parameters, and does nothing else, has them among its attributes.
    """
    parameters = {
        name: parameter.kind in VARIADIC
        for name, parameter in inspect.signature(thing).parameters.items()
        if name != "self" and not name.startswith("_")
    }
    as_attributes = inspect.isclass(thing) and "Parameters" not in found and "Attributes" in found
    described = entries(found.get("Attributes" if as_attributes else "Parameters", []))
    assert len(set(described)) == len(described)
    assert {name for name, is_variadic in parameters.items() if not is_variadic} <= set(described)
    assert as_attributes or set(described) <= set(parameters)


@pytest.mark.parametrize("name", PUBLIC)
def test_docstring(name):
    thing = PUBLIC[name]
    found = sections(inspect.getdoc(thing) or "")
    assert found[""], "there is no summary"
    if thing.__name__ not in WITHOUT_EXAMPLE:
        assert any(line.startswith(">>> ") for line in found.get("Examples", []))
    if not (inspect.isclass(thing) and issubclass(thing, Enum | Warning)):
        check_parameters(thing, found)


@pytest.mark.parametrize("name", METHODS)
def test_method(name):
    cls, method = METHODS[name]
    found = sections(inspect.getdoc(method) or "")
    assert found[""], "there is no summary"
    # methods of losses, kernels and other parts say it in their summary, if at all
    if "Parameters" in found or (issubclass(cls, BaseEstimator) and cls.__name__.startswith("UniSVM")):
        check_parameters(method, found)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Summary.\n\nParameter\n---------\na : int", "no section of numpydoc"),
        ("Summary.\n\nParameters\n--------\na : int", "not as long"),
        ("Summary.\n\nNotes\n-----\nA note.\n\nNotes\n-----\nB.", "two sections"),
    ],
)
def test_sections_that_are_not_numpydocs(text, reason):
    with pytest.raises(AssertionError, match=reason):
        sections(text)


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        ("Summary.\n\nParameters\n----------\na, b : int\n    Both.\n*others, **options : dict", True),
        ("Summary.\n\nParameters\n----------\na : int\nb : int", True),
        ("Summary of a, b, others and options.", False),
        ("Summary.\n\nParameters\n----------\na : int\n    Not b.", False),
        ("Summary.\n\nParameters\n----------\na, b, c : int", False),
        ("Summary.\n\nParameters\n----------\na, b : int\na : int", False),
    ],
)
def test_parameters_that_are_not_those_of_the_signature(text, is_right):
    def function(a, b=0, *others, **options):
        pass

    found = sections(text)
    if is_right:
        check_parameters(function, found)
    else:
        with pytest.raises(AssertionError):
            check_parameters(function, found)
