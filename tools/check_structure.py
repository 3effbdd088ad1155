"""Structural rules of the package, checked on its text without importing it.

    python tools/check_structure.py                     the layers of the import graph, then one line a finding
    python tools/check_structure.py --layers            each module with what it imports, top to bottom
    python tools/check_structure.py --lines [TREE ...]  lines of source of each part, one column a tree

The exit status is 1 if there is a finding. The rules, by their names in a finding:

size       A file (.py, .c, .h) has at most 400 lines, a function at most 60, from its first decorator to its end,
           docstring included; a macro with braces counts as a function. The braces of a C file balance without those
           of its macros. There are no source files of other kinds, which these counts would miss.
private    A module uses no private name of another module or package, neither imported nor as an attribute, nor with
           `getattr` and the like and a constant. An attribute belongs to another module if it is reached through an
           imported name, or through anything but `self` and `cls` while nothing in the file defines that name. A
           private module may be imported inside the package that it lies in. Two names of scikit-learn are excepted
           in tools/access_rules.py.
dict       Nothing writes to `__dict__` or `vars(...)`, gives them a name by which it could, or uses
           `object.__setattr__`; reading is fine.
lazy       Imports stand at the top of a module, but for those of OPTIONAL packages, which stand where they are used
           or in a `try` that expects an ImportError (parts in NEEDED excepted), and of SLOW modules, which may stand
           where they are used. None is for type checking only, and none is in a text that is run, but for
           `importlib.import_module` in the `__getattr__` of the package, by which its parts are imported on demand.
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

from access_rules import check_dict, check_private
from findings import Finding
from module_graph import Module, compiled_modules, import_graph, layers, read_modules
from source_lines import (
    C_SUFFIXES,
    FUNCTIONS,
    OTHER_SUFFIXES,
    c_functions,
    has_balanced_braces,
    python_functions,
    source_files,
    table_of_source_lines,
)

PACKAGE = "unisvm"

#: the parts of the package, bottom to top; parts of one line do not import each other
ORDER = [
    ["_checks", "_version", "_warnings", "class_pairs", "whole_files"],
    ["compiled"],
    ["losses"],
    ["parallel"],
    ["memory_budget"],
    ["rows"],
    ["kernels"],
    ["nystrom"],
    ["column_spec"],
    ["sweep"],
    ["objective"],
    ["preconditioner"],
    ["solvers"],
    ["checkpoint", "kernel_expansion", "robust_scale"],
    ["held_out"],
    ["progress", "scaling", "targets", "leave_one_out", "bases"],
    ["engine"],
    ["fit_checks", "fitted_attributes"],
    ["local"],
    ["relevance"],
    ["io"],
    ["_validation"],
    ["distributed"],
    ["_base"],
    ["fitting"],
    ["classifier", "regressor"],
    ["model_selection"],
    ["feature_selection"],
    ["tables"],
    ["baselines", "datasets", "onnx_export"],
    ["model_files"],
    ["plotting"],
    ["wrong_labels"],
    ["cli"],
    ["__init__", "__main__"],
]

#: packages that may be missing, and so are imported where they are used
OPTIONAL = {
    "dask",
    "distributed",
    "matplotlib",
    "onnx",
    "pandas",
    "piqp",
    "polars",
    "pyarrow",
    "rich",
    "skl2onnx",
    "typer",
}

#: packages without which a part is of no use: it may import them at its top, and no other part imports it
NEEDED = {"cli": {"rich", "typer"}}

#: modules that take long to import and that few programs need: they may be imported where they are used
SLOW = {"sklearn.datasets", "sklearn.inspection", "unisvm.model_files.file_types"}

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

#: functions that import or run what a text says
RUN_TEXT = {"__import__", "eval", "exec", "import_module"}


def check_size(tree: Path, modules: dict[str, Module]) -> Iterator[Finding]:
    """Files and functions that are too long, and files of which that cannot be told."""
    for path in source_files(tree, OTHER_SUFFIXES):
        yield Finding(path, 1, "size", f"the checks do not cover {path.suffix} files")
    for path in source_files(tree):
        text = path.read_text(encoding="utf-8")
        n_lines = len(text.splitlines())
        if n_lines > MAX_FILE_LINES:
            yield Finding(path, 1, "size", f"a file of {n_lines} lines, at most {MAX_FILE_LINES}")
        if path.suffix not in C_SUFFIXES:
            continue
        if not has_balanced_braces(text):
            yield Finding(path, 1, "size", "braces that do not balance hide where functions end")
        for lines in c_functions(text):
            if len(lines) > MAX_FUNCTION_LINES:
                yield Finding(path, lines[0], "size", f"a function of {len(lines)} lines, at most {MAX_FUNCTION_LINES}")
    for module in modules.values():
        for node, lines in python_functions(module.syntax):
            if len(lines) > MAX_FUNCTION_LINES:
                message = f"{node.name} has {len(lines)} lines, at most {MAX_FUNCTION_LINES}"
                yield Finding(module.path, lines[0], "size", message)


def check_imports(module: Module, known: set[str]) -> Iterator[Finding]:
    """Imports that are relative, or of a module that does not exist."""
    for node in ast.walk(module.syntax):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield Finding(module.path, node.lineno, "import", "a relative import")
    for found in module.imports:
        if found.package == PACKAGE and found.module not in known:
            yield Finding(module.path, found.line, "import", f"there is no module {found.module}")


def check_lazy(module: Module) -> Iterator[Finding]:
    """Imports that are lazy and need not be, that are not and should be, and that are for type checking only."""
    at_top = import_lines(outside_definitions(module.syntax))
    at_once = import_lines(run_on_import(module.syntax))
    for found in module.imports:
        if found.package in NEEDED.get(part_of(module.name), ()):
            continue
        if found.package in OPTIONAL and found.line in at_once:
            message = f"{found.package} may be missing, so that it must be imported where it is used"
            yield Finding(module.path, found.line, "lazy", message)
        elif found.package not in OPTIONAL and found.module not in SLOW and found.line not in at_top:
            yield Finding(module.path, found.line, "lazy", f"{found.module} is imported inside a definition")
        if found.name in RUN_TEXT:
            yield Finding(module.path, found.line, "lazy", f"{found.name} imports or runs what a text says")
    on_demand = set(imports_on_demand(module))
    for node in ast.walk(module.syntax):
        if node in on_demand:
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield Finding(module.path, node.lineno, "lazy", "imports for type checking only")
        elif isinstance(node, ast.Name | ast.Attribute):
            name = ast.unparse(node)
            # not every attribute of that name: many libraries have an `eval` of their own
            if name.removeprefix("builtins.") in RUN_TEXT or name.endswith((".__import__", ".import_module")):
                yield Finding(module.path, node.lineno, "lazy", f"{name} imports or runs what a text says")


def imports_on_demand(module: Module) -> Iterator[ast.AST]:
    """The names `importlib.import_module` in the `__getattr__` of the package."""
    for function in module.syntax.body:
        if module.name == PACKAGE and isinstance(function, ast.FunctionDef) and function.name == "__getattr__":
            yield from (node for node in ast.walk(function) if ast.unparse(node) == "importlib.import_module")


def import_lines(nodes: Iterator[ast.AST]) -> set[int]:
    """Line numbers of the imports among some nodes."""
    return {node.lineno for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)}


def outside_definitions(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that are in no function or class."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            yield from outside_definitions(child)


def run_on_import(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that are in no function, and in no `try` that expects an ImportError."""
    guarded = node.body if isinstance(node, ast.Try) and expects_import_error(node) else []
    for child in ast.iter_child_nodes(node):
        if child not in guarded and not isinstance(child, (*FUNCTIONS, ast.Lambda)):
            yield child
            yield from run_on_import(child)


def expects_import_error(node: ast.Try) -> bool:
    """Whether one of the exceptions that are caught is named as an ImportError."""
    expected = [name for handler in node.handlers if handler.type for name in ast.walk(handler.type)]
    return any(isinstance(name, ast.Name) and name.id in ("ImportError", "ModuleNotFoundError") for name in expected)


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
        findings += [*check_imports(module, known), *check_lazy(module), *check_order(module, known)]
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
