"""Structural rules of the package, checked on its text without importing it.

    python tools/check_structure.py                     the layers of the import graph, then one line a finding
    python tools/check_structure.py --layers            each module with what it imports, top to bottom
    python tools/check_structure.py --lines [TREE ...]  lines of source of each part, one column a tree

The exit status is 1 if there is a finding. The rules, by their names in a finding:

size       A file (.py, .c, .h) has at most 400 lines, a function at most 60, from its first decorator to its end,
           docstring included.
private    A module uses no private name of another module, neither imported nor as an attribute. An attribute belongs
           to another module if it is reached through an imported name, or through anything but `self` and `cls` while
           nothing in the file defines that name. A private module may be imported inside the package that it lies in.
dict       Nothing writes to `__dict__` or `vars(...)`; reading is fine.
lazy       Imports stand at the top of a module, but for those of OPTIONAL packages; none is for type checking only.
import     Imports are absolute, and the modules of the package that they name exist.
cycle      The import graph has no cycle. A package's `__init__` is a module of its own: to import `unisvm.losses.base`
           is not to import `unisvm.losses`.
order      A part, which is a module or package right below `unisvm`, imports only parts that stand before it in ORDER.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError
from pathlib import Path
from typing import NamedTuple

from module_graph import Module, compiled_modules, import_graph, layers, read_modules
from source_lines import (
    C_SUFFIXES,
    FUNCTIONS,
    c_functions,
    python_functions,
    source_files,
    table_of_source_lines,
)

PACKAGE = "unisvm"

#: the parts of the package, bottom to top; parts of one line do not import each other
ORDER = [
    ["_checks", "_version"],
    ["losses"],
    ["compiled"],
    ["parallel"],
    ["memory_budget"],
    ["rows"],
    ["kernels"],
    ["nystrom"],
    ["columns"],
    ["sweep"],
    ["objective"],
    ["preconditioner"],
    ["solvers"],
    ["checkpoint", "expansion", "medians"],
    ["progress", "targets"],
    ["engine"],
    ["io"],
    ["_validation"],
    ["distributed"],
    ["_base"],
    ["classifier", "regressor"],
    ["model_selection"],
    ["baselines", "datasets"],
    ["plotting"],
    ["cli"],
    ["__init__", "__main__"],
]

#: packages that may be missing, and so are imported where they are used
OPTIONAL = {"dask", "distributed", "matplotlib", "onnx", "pandas", "piqp", "polars", "pyarrow", "rich", "typer"}

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

#: spelled like private names, but offered by every NamedTuple
OF_NAMED_TUPLES = {"_asdict", "_field_defaults", "_fields", "_make", "_replace"}

MUTATORS = {"__delitem__", "__ior__", "__setitem__", "clear", "pop", "popitem", "setdefault", "update"}


class Finding(NamedTuple):
    """A place that breaks a rule."""

    path: Path
    line: int
    rule: str
    message: str


def check_size(tree: Path, modules: dict[str, Module]) -> Iterator[Finding]:
    """Files and functions that are too long."""
    for path in source_files(tree):
        text = path.read_text(encoding="utf-8")
        n_lines = len(text.splitlines())
        if n_lines > MAX_FILE_LINES:
            yield Finding(path, 1, "size", f"a file of {n_lines} lines, at most {MAX_FILE_LINES}")
        for lines in c_functions(text) if path.suffix in C_SUFFIXES else ():
            if len(lines) > MAX_FUNCTION_LINES:
                yield Finding(path, lines[0], "size", f"a function of {len(lines)} lines, at most {MAX_FUNCTION_LINES}")
    for module in modules.values():
        for node, lines in python_functions(module.syntax):
            if len(lines) > MAX_FUNCTION_LINES:
                message = f"{node.name} has {len(lines)} lines, at most {MAX_FUNCTION_LINES}"
                yield Finding(module.path, lines[0], "size", message)


def check_private(module: Module) -> Iterator[Finding]:
    """Uses of private names of other modules."""
    imports = [found for found in module.imports if found.package == PACKAGE]
    for found in imports:
        owner, _, last = found.module.rpartition(".")
        if is_private(found.name):
            yield Finding(module.path, found.line, "private", f"{found.name} belongs to {found.module}")
        if is_private(last) and not f"{module.name}.".startswith(f"{owner}."):
            yield Finding(module.path, found.line, "private", f"{last} belongs to {owner}")
    aliases = {found.alias for found in imports}
    defined = set(defined_names(module.syntax))
    for node in ast.walk(module.syntax):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in OF_NAMED_TUPLES:
            owner = ast.unparse(node.value)
            is_own = owner in ("self", "cls", "super()", "type(self)") or node.attr in defined
            if owner in aliases or not is_own:
                yield Finding(module.path, node.lineno, "private", f"{owner}.{node.attr} belongs to another module")


def is_private(name: str) -> bool:
    """Whether a name has a leading underscore but is neither special nor a lone underscore."""
    return name.startswith("_") and not name.endswith("__") and name != "_"


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
    """Writes to the dictionary of an object."""

    def is_dict(node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id == "vars"
        return isinstance(node, ast.Attribute) and node.attr == "__dict__"

    for node in (node for node in ast.walk(module.syntax) if isinstance(node, ast.expr)):
        is_written = isinstance(getattr(node, "ctx", None), ast.Store | ast.Del)
        is_entry = isinstance(node, ast.Subscript) and is_dict(node.value)
        is_update = isinstance(node, ast.Attribute) and node.attr in MUTATORS and is_dict(node.value)
        if is_update or (is_written and (is_entry or is_dict(node))):
            message = f"{ast.unparse(node)} writes to the dictionary of an object"
            yield Finding(module.path, node.lineno, "dict", message)


def check_imports(module: Module, known: set[str]) -> Iterator[Finding]:
    """Imports that are relative, for type checking only, lazy, or of a module that does not exist."""
    nodes = [node for node in outside_definitions(module.syntax) if isinstance(node, ast.Import | ast.ImportFrom)]
    at_top = {node.lineno for node in nodes}
    for node in ast.walk(module.syntax):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield Finding(module.path, node.lineno, "import", "a relative import")
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield Finding(module.path, node.lineno, "lazy", "imports for type checking only")
    for found in module.imports:
        if found.line not in at_top and found.package not in OPTIONAL:
            yield Finding(module.path, found.line, "lazy", f"{found.module} is imported inside a definition")
        if found.package == PACKAGE and found.module not in known:
            yield Finding(module.path, found.line, "import", f"there is no module {found.module}")


def outside_definitions(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that are in no function or class."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            yield from outside_definitions(child)


def check_order(module: Module, known: set[str]) -> Iterator[Finding]:
    """Imports of parts that do not stand below the module's own."""
    ranks = {part: rank for rank, parts in enumerate(ORDER) for part in parts}
    part = part_of(module.name)
    if part not in ranks:
        yield Finding(module.path, 1, "order", f"{part} is missing from ORDER in tools/{Path(__file__).name}")
        return
    for found in module.imports:
        other = part_of(found.module)
        if found.module in known and other != part and ranks.get(other, 0) >= ranks[part]:
            yield Finding(module.path, found.line, "order", f"{part} imports {other}, which is not below it")


def part_of(module: str) -> str:
    """Name of the part that a module of the package belongs to."""
    return module.split(".")[1] if "." in module else "__init__"


def check_cycles(modules: dict[str, Module]) -> Iterator[Finding]:
    """A cycle of imports, if there is one."""
    try:
        layers(import_graph(modules))
    except CycleError as error:
        # graphlib lists a module before those that import it
        cycle = error.args[1][::-1]
        yield Finding(modules[cycle[0]].path, 1, "cycle", " imports ".join(cycle))


def check(tree: Path, modules: dict[str, Module]) -> list[Finding]:
    """All findings in a tree, by file and line."""
    known = modules.keys() | compiled_modules(tree, PACKAGE)
    findings = [*check_size(tree, modules), *check_cycles(modules)]
    for module in modules.values():
        findings += [*check_private(module), *check_dict(module)]
        findings += [*check_imports(module, known), *check_order(module, known)]
    return sorted(set(findings))


def describe_layers(graph: dict[str, set[str]], *, with_imports: bool) -> Iterator[str]:
    """Lines that list the modules of each layer, top to bottom."""
    short = {name: name.removeprefix(f"{PACKAGE}.") for name in graph}
    for number, names in reversed(list(enumerate(layers(graph), start=1))):
        if not with_imports:
            yield f"{number:>3}  {'  '.join(short[name] for name in names)}"
            continue
        for name in names:
            imported = " ".join(sorted(short[other] for other in graph[name]))
            yield f"{number:>3}  {short[name]:<28}  {imported}".rstrip()


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path, default=[Path(__file__).resolve().parents[1]], metavar="TREE")
    parser.add_argument("--layers", action="store_true", help="print each module with what it imports")
    parser.add_argument("--lines", action="store_true", help="print the number of lines of source of each part")
    options = parser.parse_args()
    if options.lines:
        print(table_of_source_lines(options.trees, PACKAGE))
        return 0
    n_findings = 0
    for tree in options.trees:
        modules = read_modules(tree, PACKAGE)
        findings = check(tree, modules)
        if not any(finding.rule == "cycle" for finding in findings):
            print(*describe_layers(import_graph(modules), with_imports=options.layers), sep="\n")
        for path, line, rule, message in findings:
            print(f"{path.relative_to(tree)}:{line}: {rule}: {message}")
        n_findings += len(findings)
    return 1 if n_findings else 0


if __name__ == "__main__":
    sys.exit(main())
