"""Every public name says what it is, with an example; the examples run as doctests."""

import inspect

import pytest

import unisvm
from unisvm import datasets, kernels, losses, plotting, solvers

#: records that a fit hands back, and bases that are not used by themselves
WITHOUT_EXAMPLE = {"Kernel", "Loss", "History", "Result", "StopReason"}

PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (unisvm, datasets, kernels, losses, plotting, solvers)
    for name in module.__all__
}
DOCUMENTED = {name: thing for name, thing in PUBLIC.items() if inspect.isclass(thing) or inspect.isfunction(thing)}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstring(name):
    thing = DOCUMENTED[name]
    text = inspect.getdoc(thing)
    assert text
    if thing.__name__ not in WITHOUT_EXAMPLE:
        assert ">>> " in text
    # each parameter of the constructor or function is described
    for parameter in inspect.signature(thing).parameters.values():
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) and "Parameters" in text:
            assert parameter.name in text


@pytest.mark.parametrize("cls", [unisvm.UniSVMClassifier, unisvm.UniSVMRegressor])
def test_public_methods(cls):
    own = [name for name, _ in inspect.getmembers(cls, inspect.isfunction) if not name.startswith("_")]
    for name in own:
        assert inspect.getdoc(getattr(cls, name)), name
