"""The modules of a package as they are written, and the graph of their imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple


class Import(NamedTuple):
    """An imported module, or a `name` of it, and the alias that it gets."""

    line: int
    module: str
    name: str
    alias: str

    @property
    def package(self) -> str:
        """The outermost package."""
        return self.module.split(".")[0]


class Module(NamedTuple):
    """A module as it was read."""

    name: str
    path: Path
    syntax: ast.Module
    imports: list[Import]


def read_modules(tree: Path, package: str) -> dict[str, Module]:
    """Modules of a package below src of a tree, by name."""
    paths = {}
    for path in sorted((tree / "src" / package).rglob("*.py")):
        names = path.relative_to(tree / "src").with_suffix("").parts
        paths[".".join(names[:-1] if names[-1] == "__init__" else names)] = path
    known = paths.keys() | compiled_modules(tree, package)
    modules = {}
    for name, path in paths.items():
        syntax = ast.parse(path.read_text(encoding="utf-8"), path)
        modules[name] = Module(name, path, syntax, list(_read_imports(syntax, known)))
    return modules


def compiled_modules(tree: Path, package: str) -> set[str]:
    """Names of the modules that setup.py builds from C."""
    setup = tree / "setup.py"
    return set(re.findall(rf'"({package}(?:\.\w+)+)"', setup.read_text(encoding="utf-8"))) if setup.exists() else set()


def _read_imports(syntax: ast.Module, known: set[str]) -> Iterator[Import]:
    """Absolute imports, wherever they stand; in `from a import b`, b is a module if it is known as one."""
    for node in ast.walk(syntax):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, "", alias.asname or alias.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                module, name = (inner, "") if inner in known else (node.module, alias.name)
                yield Import(node.lineno, module, name, alias.asname or alias.name)


def import_graph(modules: dict[str, Module]) -> dict[str, set[str]]:
    """Modules that each of them imports: those that it names, without the packages that these lie in."""
    return {
        name: {found.module for found in module.imports if found.module in modules and found.module != name}
        for name, module in modules.items()
    }


def layers(graph: dict[str, set[str]]) -> list[list[str]]:
    """Modules by layer, bottom to top: one above the highest of those that they import.

    Raises `graphlib.CycleError`, of which the second argument is the cycle.
    """
    layer: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        layer[name] = 1 + max((layer[other] for other in graph[name]), default=0)
    return [sorted(name for name in layer if layer[name] == number) for number in sorted(set(layer.values()))]
