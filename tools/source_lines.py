"""Lines of Python and C: those of files, functions and docstrings, and how many of them are source."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
C_SUFFIXES = {".c", ".h"}
#: of sources that nothing here can read
OTHER_SUFFIXES = {".cc", ".cpp", ".cu", ".cxx", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".pxd", ".pxi", ".pyi", ".pyx"}

_LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_COMMENT_OR_STRING = re.compile(r"""/\*.*?\*/|//(?:\\\n|[^\n])*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\[ \t]*\n)*[^\n]*", re.MULTILINE)


def source_files(tree: Path, suffixes: Collection[str] = frozenset({".py", *C_SUFFIXES})) -> list[Path]:
    """Files below src of a tree, Python and C unless other suffixes are given."""
    return sorted(path for path in (tree / "src").rglob("*") if path.suffix in suffixes)


def docstring_lines(node: ast.AST) -> range:
    """Line numbers of the docstring of a module, class or function."""
    first = next(iter(getattr(node, "body", ())), None)
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return range(first.lineno, (first.end_lineno or first.lineno) + 1)
    return range(0)


def python_functions(syntax: ast.AST) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, range]]:
    """Functions and methods with their line numbers, from the first decorator to the end."""
    for node in ast.walk(syntax):
        if isinstance(node, FUNCTIONS):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield node, range(first, (node.end_lineno or first) + 1)


def has_balanced_braces(text: str) -> bool:
    """Whether each opening brace of a C source, outside of its directives, has its closing one."""
    depth = 0
    for brace in re.findall(r"[{}]", _DIRECTIVE.sub("", _without_comments(text))):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def c_functions(text: str) -> Iterator[range]:
    """Line numbers of each function of a C source: braces outside of others that follow a closing parenthesis.

    A macro with braces counts as a function, from its `#define` to its end.
    """
    text = _without_comments(text)
    for match in _DIRECTIVE.finditer(text):
        if re.match(r"\s*#\s*define\b", match[0]) and "{" in match[0]:
            yield range(text.count("\n", 0, match.start()) + 1, text.count("\n", 0, match.end()) + 2)
    text = _DIRECTIVE.sub(_newlines, text)
    depth = begin = 0
    head = ""
    for match in re.finditer(r"[{};]", text):
        depth += {"{": 1, "}": -1, ";": 0}[match[0]]
        if match[0] == "{" and depth == 1:
            head = text[begin : match.start()]
        elif depth == 0:
            is_declaration = text.startswith(";", match.end())
            if match[0] == "}" and head.rstrip().endswith(")") and not is_declaration:
                first = begin + len(head) - len(head.lstrip())
                yield range(text.count("\n", 0, first) + 1, text.count("\n", 0, match.start()) + 2)
            begin = match.end()


def count_source_lines(path: Path) -> int:
    """Number of lines of a file that are neither blank nor comment nor docstring."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in C_SUFFIXES:
        return sum(1 for line in _without_comments(text).splitlines() if line.strip())
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _LAYOUT:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module)):
            lines.difference_update(docstring_lines(node))
    return len(lines.difference(number for number, line in enumerate(text.split("\n"), start=1) if not line.strip()))


def table_of_source_lines(trees: list[Path], package: str) -> str:
    """Number of source lines of each part of a package, one column a tree."""
    by_part: list[Counter[str]] = []
    totals: list[Counter[str]] = []
    for tree in trees:
        by_part.append(Counter())
        totals.append(Counter())
        for path in source_files(tree):
            n_lines = count_source_lines(path)
            inner = path.relative_to(tree / "src" / package)
            by_part[-1][inner.parts[0].removesuffix(".py")] += n_lines
            totals[-1].update({"C" if path.suffix in C_SUFFIXES else "Python": n_lines, "in all": n_lines})

    def row(name: str, counts: list[Counter[str]]) -> str:
        return f"{name:<20}" + "".join(f"{count[name] or '-':>8}" for count in counts)

    rows = [row(part, by_part) for part in sorted(set().union(*by_part))]
    rows += [row(kind, totals) for kind in ("Python", "C", "in all")]
    return "\n".join(rows)


def _newlines(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def _without_comments(text: str) -> str:
    """A C source with comments left out and strings emptied; what is left stays on its line."""
    return _COMMENT_OR_STRING.sub(lambda match: ('""' if match[0][0] in "\"'" else "") + _newlines(match), text)
