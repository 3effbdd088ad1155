"""Test the tests: change the source in one place at a time, and see whether they fail.

    python tools/test_mutation.py                             a random sample of changes in each part
    python tools/test_mutation.py --seed 3 --mutants 50       another sample, of so many in each part
    python tools/test_mutation.py --parts losses objective    only in these parts
    python tools/test_mutation.py --all                       every change, which takes half a day

A mutant is a copy of the package with one change, as + for −, < for <=, 1 for 2, or a condition turned round: those of
cosmic-ray, which is installed into a temporary folder. It is killed when tests of its part fail or take far too long,
and a survivor is printed as a diff: either it computes the same, or a test is missing. docs/mutation.md has more.
The exit status is 0 unless the tests fail without any change.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENT = "cosmic-ray>=8.4,<9"
COPIED = "src", "tests", "benchmarks", "pyproject.toml"

#: the sources of each part, and the tests that are to find mutants in them; these switch the compiled code off
#: themselves where NumPy is to do its work
PARTS = {
    "losses": ("losses", ["tests/contracts/test_losses.py", "tests/losses", "tests/compiled/test_compiled.py"]),
    "objective": (
        "objective.py",
        ["tests/test_objective.py", "tests/test_sweep.py", "tests/test_preconditioner.py", "tests/test_engine.py"],
    ),
    "solvers": ("solvers", ["tests/solvers", "tests/contracts/test_solvers.py"]),
    "nystrom": (
        "nystrom",
        ["tests/nystrom", "tests/contracts/test_landmark_rules.py", "tests/contracts/test_kernels.py"],
    ),
}

#: operators are replaced by others of their family alone: the rest raise TypeErrors, or, as `is` for ==, often agree
FAMILIES = (
    {"Add", "Sub", "Mul", "Div", "FloorDiv", "Mod", "Pow"},
    {"RShift", "LShift", "BitOr", "BitAnd", "BitXor"},
    {"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"},
    {"Is", "IsNot"},
)
#: decorators that change nothing of what is computed
FOR_READERS = {"abstractmethod", "runtime_checkable"}
#: options that check what ought to hold anyway
CHECKS = {"check_finite", "strict"}
#: from here on, numbers are thresholds of work or memory, where one more or less makes no difference
LARGE = 100
#: a run of the tests that takes so many times as long as without a change, and some seconds more, is taken to hang
MOST_TIMES, MORE_SECONDS = 3, 20

Position = tuple[int, int]


class Mutant(NamedTuple):
    """A change of a file: the `occurrence`-th that an operator of cosmic-ray can make there."""

    path: Path
    start: Position
    operator: Any
    occurrence: int


def find_mutants(path: Path) -> Iterator[Mutant]:
    """The changes of a file that are worth a try."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.operators import provider

    source = path.read_text(encoding="utf-8")
    nodes, skipped = list(ast_nodes(get_ast(source))), list(skipped_ranges(source))
    operators = provider.OperatorProvider()
    for name in operators:
        if not is_sensible(name):
            continue
        operator, occurrence = operators[name](), 0
        for node in nodes:
            for start, end in operator.mutation_positions(node):
                if not any(first <= start and end <= last for first, last in skipped):
                    yield Mutant(path, start, operator, occurrence)
                occurrence += 1


def is_sensible(operator: str) -> bool:
    """Whether an operator of cosmic-ray makes changes that are like slips."""
    if operator.startswith("Variable"):
        return False  # these want names of variables
    if operator.startswith(("ReplaceBinaryOperator", "ReplaceComparisonOperator")):
        return any(set(operator.split("_")[1:]) <= family for family in FAMILIES)
    return True


def skipped_ranges(source: str) -> Iterator[tuple[Position, Position]]:
    """Beginnings and ends of annotations, messages, large numbers and decorators for readers."""
    lines = source.splitlines()

    def position(line: int, n_bytes: int) -> Position:
        return line, len(lines[line - 1].encode()[:n_bytes].decode())

    for node in ast.walk(ast.parse(source)):
        for part in parts_without_effect(node):
            last = position(part.end_lineno, part.end_col_offset)
            # the line of a decorator belongs to it
            if part in getattr(node, "decorator_list", ()):
                yield (part.lineno, 0), (part.lineno + 1, 0)
            yield position(part.lineno, part.col_offset), last


def parts_without_effect(node: ast.AST) -> Iterator[ast.AST]:
    """The node, or parts of it, if a change in them has no effect that a test should notice."""
    for field in ("annotation", "returns"):
        if getattr(node, field, None) is not None:
            yield getattr(node, field)
    for decorator in getattr(node, "decorator_list", ()):
        if isinstance(decorator, ast.Name) and decorator.id in FOR_READERS:
            yield decorator
    yield from (option for option in getattr(node, "keywords", ()) if option.arg in CHECKS)
    is_warning = isinstance(node, ast.Call) and "warn" in ast.unparse(node.func)
    is_number = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
    if isinstance(node, ast.Raise | ast.JoinedStr) or is_warning or (is_number and node.value >= LARGE):
        yield node


def mutate(mutant: Mutant) -> str | None:
    """The changed text of the file; None unless it is Python that differs from what was there."""
    from cosmic_ray.mutating import mutate_code

    source = mutant.path.read_text(encoding="utf-8")
    changed = mutate_code(source, mutant.operator, mutant.occurrence)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SyntaxWarning)
        try:
            is_other = ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))
            compile(changed, mutant.path.name, "exec")
        except (SyntaxError, SyntaxWarning):
            return None
    return changed if is_other else None


def one_a_place(mutants: list[Mutant], rng: random.Random) -> Iterator[Mutant]:
    """One of the mutants at each place in the files, in a random order."""
    places: dict[tuple[Path, Position], list[Mutant]] = {}
    for mutant in mutants:
        places.setdefault((mutant.path, mutant.start), []).append(mutant)
    order = list(places.values())
    rng.shuffle(order)
    yield from map(rng.choice, order)


class TestRunner:
    """Runs tests on a copy of the project, in one process.

    Parameters
    ----------
    tree : Path
        The copy.
    tests : list of str
    """

    def __init__(self, tree: Path, tests: list[str]):
        self._tree = tree
        self._command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        # bytecode of a mutant could be taken for that of the next one
        kept = {name: value for name, value in os.environ.items() if name not in ("UNISVM_COMPILED", "UNISVM_HARD")}
        self._variables = kept | {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, seconds: float | None = None) -> tuple[str, str]:
        """The outcome, "passed", "failed" or "timeout", and the output."""
        options = {"cwd": self._tree, "env": self._variables, "stdin": subprocess.DEVNULL, "start_new_session": True}
        process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return "timeout", ""
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return "failed" if process.returncode else "passed", output.decode(errors="replace")


def check(tree: Path, part: str, n_mutants: int | None, rng: random.Random) -> list[int]:
    """Number of mutants of a part and of those killed by a failure and by the limit of time; survivors are printed.

    All mutants are tried if `n_mutants` is None.
    """
    source, tests = PARTS[part]
    place = tree / "src" / "unisvm" / source
    mutants = [mutant for path in sorted(place.rglob("*.py")) or [place] for mutant in find_mutants(path)]
    runner = TestRunner(tree, tests)
    started = perf_counter()
    outcome, output = runner.run()
    if outcome != "passed":
        sys.exit(f"The tests of {part} fail without any change:\n{output}")
    seconds = perf_counter() - started
    print(f"{part}: {len(mutants)} mutants, tests of {seconds:.0f} s", flush=True)
    chosen = mutants if n_mutants is None else one_a_place(mutants, rng)
    counts = {"passed": 0, "failed": 0, "timeout": 0}
    for mutant, text in islice(((mutant, text) for mutant in chosen if (text := mutate(mutant))), n_mutants):
        original = mutant.path.read_text(encoding="utf-8")
        mutant.path.write_text(text, encoding="utf-8")
        try:
            outcome, _ = runner.run(MOST_TIMES * seconds + MORE_SECONDS)
        finally:
            mutant.path.write_text(original, encoding="utf-8")
        counts[outcome] += 1
        if outcome == "passed":
            name = str(mutant.path.relative_to(tree))
            diff = difflib.unified_diff(original.splitlines(), text.splitlines(), name, name, n=1, lineterm="")
            print(f"\nSurvivor in {part}, {type(mutant.operator).__name__}:", *diff, sep="\n", flush=True)
    return [sum(counts.values()), counts["failed"], counts["timeout"]]


def table(counts: dict[str, list[int]]) -> str:
    """Mutants, those killed and their share, in each part and in all."""
    rows = [*counts.items(), ("all", [sum(numbers) for numbers in zip(*counts.values(), strict=True)])]
    lines = [f"{'part':<12} {'mutants':>8} {'killed':>8} {'by time':>8} {'share':>8}"]
    for part, (n_mutants, n_failed, n_late) in rows:
        killed = n_failed + n_late
        lines.append(f"{part:<12} {n_mutants:>8} {killed:>8} {n_late:>8} {killed / max(n_mutants, 1):>8.1%}")
    return "\n".join(lines)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=30, help="how many are tried in each part")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="the parts that are changed")
    parser.add_argument("--all", action="store_true", help="try every mutant")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unisvm-mutation-") as name:
        folder = Path(name)
        tools, tree = folder / "tools", folder / "tree"
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tools), REQUIREMENT]
        subprocess.run(install, check=True)
        sys.path.append(str(tools))
        tree.mkdir()
        for source in COPIED:
            copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy2
            copy(ROOT / source, tree / source)
        counts = {}
        for part in given.parts:
            rng = random.Random(f"{given.seed} {part}")
            counts[part] = check(tree, part, None if given.all else given.mutants, rng)
    print(f"\n{table(counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
