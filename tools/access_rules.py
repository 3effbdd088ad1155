"""The rules `private` and `dict`, on how a module reaches into others and into objects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from findings import Finding
from module_graph import Module
from source_lines import FUNCTIONS

#: spelled like private names, but offered by every NamedTuple
OF_NAMED_TUPLES = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}

#: private names of the scorers of scikit-learn that may be read with `getattr`: there is no public way to learn which
#: method of an estimator a scorer calls, nor which function it wraps
OF_SCORERS = {"_response_method", "_score_func"}

#: where names of attributes stand among the arguments of the functions that take them as text
NAME_ARGUMENTS = {
    "getattr": slice(1, 2),
    "setattr": slice(1, 2),
    "delattr": slice(1, 2),
    "hasattr": slice(1, 2),
    "__getattribute__": slice(0, 2),
    "attrgetter": slice(None),
    "methodcaller": slice(0, 1),
}

#: methods that write to a dictionary, and functions that write to their first argument
MUTATORS = {"__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update"}
MUTATING_FUNCTIONS = {"delitem", "ior", "setitem"}


class Access(NamedTuple):
    """An attribute that is used, and the function that is given its name as text, if it is."""

    node: ast.expr
    owner: ast.expr
    name: str
    function: str


def accesses(syntax: ast.Module) -> Iterator[Access]:
    """Attributes that a module uses, also by means of `getattr` and the like with a constant name."""
    for node in ast.walk(syntax):
        if isinstance(node, ast.Attribute):
            yield Access(node, node.value, node.attr, "")
        elif isinstance(node, ast.Call):
            function = ast.unparse(node.func).rpartition(".")[2]
            for argument in node.args[NAME_ARGUMENTS.get(function, slice(0))]:
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    for name in argument.value.split("."):
                        yield Access(node, node.args[0], name, function)


def check_private(module: Module) -> Iterator[Finding]:
    """Uses of private names of other modules and packages."""
    for found in module.imports:
        if is_private(found.name):
            yield Finding(module.path, found.line, "private", f"{found.name} belongs to {found.module}")
        parts = found.module.split(".")
        for place, part in enumerate(parts):
            owner = ".".join(parts[:place])
            if is_private(part) and not f"{module.name}.".startswith(f"{owner}."):
                yield Finding(module.path, found.line, "private", f"{part} belongs to {owner or 'another package'}")
    aliases = {found.alias for found in module.imports}
    defined = set(defined_names(module.syntax))
    for node, owner_node, name, function in accesses(module.syntax):
        if not is_private(name) or name in OF_NAMED_TUPLES or (function == "getattr" and name in OF_SCORERS):
            continue
        is_own = ast.unparse(owner_node) in ("self", "cls", "super()", "type(self)") or name in defined
        if outermost_name(owner_node) in aliases or not is_own:
            message = f"{ast.unparse(node)}: {name} belongs to another module"
            yield Finding(module.path, node.lineno, "private", message)


def is_private(name: str) -> bool:
    """Whether a name has a leading underscore but is neither special nor a lone underscore."""
    is_special = name.startswith("__") and name.endswith("__")
    return name.startswith("_") and not is_special and name != "_"


def outermost_name(node: ast.expr) -> str:
    """The name that attributes are taken from, `a` in `a.b.c`; nothing if it is not a name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def defined_names(syntax: ast.Module) -> Iterator[str]:
    """Names of functions, classes, variables and attributes of `self` that a module sets."""
    for node in ast.walk(syntax):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self":
            yield node.attr


def check_dict(module: Module) -> Iterator[Finding]:
    """Places that write to the dictionary of an object, or could by a name that they give it."""
    for node in ast.walk(module.syntax):
        if isinstance(node, ast.expr) and writes_dict(node):
            message = f"{ast.unparse(node)} writes to the dictionary of an object"
            yield Finding(module.path, node.lineno, "dict", message)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and any(map(is_dict, bound_values(node))):
            message = f"{ast.unparse(node)} gives a name to the dictionary of an object; copy it"
            yield Finding(module.path, node.lineno, "dict", message)
    for node, owner, name, function in accesses(module.syntax):
        if name == "__dict__" and function not in ("", "hasattr"):
            yield Finding(module.path, node.lineno, "dict", f"{ast.unparse(node)} hides a use of __dict__; use vars")
        elif name in ("__setattr__", "__delattr__") and ast.unparse(owner) != "super()":
            message = f"{ast.unparse(node)} passes by how the object sets its attributes"
            yield Finding(module.path, node.lineno, "dict", message)


def is_dict(node: ast.AST) -> bool:
    """Whether an expression is the dictionary of an object."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("vars", "builtins.vars")
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def writes_dict(node: ast.expr) -> bool:
    """Whether an expression is an object's dictionary or entry that is set or deleted, or a function that does that."""
    if isinstance(node, ast.Call) and node.args and is_dict(node.args[0]):
        owner, _, function = ast.unparse(node.func).rpartition(".")
        return function in MUTATING_FUNCTIONS or (owner in ("dict", "operator") and function in MUTATORS)
    if isinstance(node, ast.Attribute) and node.attr in MUTATORS and is_dict(node.value):
        return True
    is_written = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
    is_entry = isinstance(node, ast.Subscript) and is_dict(node.value)
    return is_written and (is_entry or is_dict(node))


def bound_values(node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> Iterator[ast.expr]:
    """Expressions that an assignment may give a name to: its value, either case of it, or elements of a tuple."""
    values = [node.value] if node.value is not None else []
    while values:
        value = values.pop()
        if isinstance(value, ast.IfExp):
            values += [value.body, value.orelse]
        elif isinstance(value, ast.BoolOp):
            values += value.values
        elif isinstance(value, ast.Tuple | ast.List):
            values += value.elts
        else:
            yield value
