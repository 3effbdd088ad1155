"""Test installations of the package: the oldest and the newest dependencies, no compiler, the sdist alone.

Each is made in a virtual environment of its own, for every Python that is found here. The tests run against what was
installed, in a folder without the sources. `python3 tools/test_matrix.py --help` has the options.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from environments import Environment, Failure, Interpreter, as_tuple, find_interpreters, run

_PROJECT = Path(__file__).resolve().parent.parent
_NUMERICAL = ("numpy", "scipy", "scikit-learn")
#: of the extra "test", what the tests below need
_FOR_TESTS = ("pytest", "pytest-xdist", "hypothesis", "pandas", "polars")
_QUICK_TESTS = ("compiled", "losses", "kernels", "nystrom", "solvers")
_TESTS = (*_QUICK_TESTS, "estimators", "model_selection")
#: fails where there is a compiler that was hidden from the installation alone
_NEEDS_COMPILER = "tests/compiled/test_compiled.py::test_it_is_built_where_there_is_a_compiler"
_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "*.so", "*.egg-info", "build", "dist", "*.partial")
_SMALL_FIT = """
import sys
from pathlib import Path
from sklearn.datasets import make_moons
import unisvm
from unisvm import UniSVMClassifier, compiled

X, y = make_moons(600, noise=0.2, random_state=0)
score = UniSVMClassifier(random_state=0).fit(X[:300], y[:300]).score(X[300:], y[300:])
assert score > 0.9, score
assert Path(unisvm.__file__).is_relative_to(sys.prefix), unisvm.__file__
assert compiled.is_available() == (sys.argv[1] == "compiled"), "not " + sys.argv[1]
"""


class Result(NamedTuple):
    """The outcome of a check; `output` is all that a failed command printed."""

    part: str
    python: str
    check: str
    seconds: float
    summary: str
    output: str | None = None

    def __str__(self) -> str:
        outcome = "ok" if self.output is None else "FAILED"
        return f"{self.part:<12} {self.python:<6} {self.check:<16} {outcome:<7} {self.seconds:6.0f} s  {self.summary}"


class Matrix:
    """The checks, each for one Python.

    Parameters
    ----------
    folder : Path
        An empty one, which is filled with the sources, the built files and the environments.
    n_workers : int
        Processes among which pytest shares the tests.
    tests : sequence of str
        Folders of tests.
    """

    def __init__(self, folder: Path, n_workers: int, tests: tuple[str, ...]):
        self.results: list[Result] = []
        self._folder = folder
        self._n_workers = n_workers
        self._tests = tests
        self._sources = folder / "sources"
        shutil.copytree(_PROJECT, self._sources, ignore=_NOT_COPIED)
        # apart from the sources, which tests beside them could import
        self._beside_tests = folder / "tests"
        for name in ("tests", "benchmarks"):
            shutil.copytree(self._sources / name, self._beside_tests / name)
        shutil.copy(self._sources / "pyproject.toml", self._beside_tests)
        self._settings = tomllib.loads((self._sources / "pyproject.toml").read_text(encoding="utf-8"))
        self._sdist = folder / "no sdist"
        self._wheels: dict[str, Path] = {}

    @contextmanager
    def _check(self, part: str, interpreter: Interpreter, check: str) -> Iterator[list[str]]:
        """A list for the words of the summary, for a check that fails if `Failure` is raised."""
        summary: list[str] = []
        start = time.monotonic()

        def end(words: list[str], output: str | None = None) -> None:
            self.results.append(
                Result(part, interpreter.name, check, time.monotonic() - start, " ".join(words), output)
            )
            print(self.results[-1], *([] if output is None else [output]), sep="\n", flush=True)

        try:
            yield summary
        except Failure as failure:
            lines = str(failure).strip().splitlines() or ["no output"]
            end([*summary, lines[-1]], str(failure))
            raise
        end(summary)

    def _environment(self, interpreter: Interpreter, name: str) -> Environment:
        return Environment(interpreter, self._folder / f"{interpreter.name}-{name}")

    def build_sdist(self, interpreter: Interpreter) -> None:
        """Build the sdist with the oldest build tools that pyproject.toml allows."""
        with self._check("build", interpreter, "sdist") as summary:
            environment = self._environment(interpreter, "build")
            pins = self._pins(environment, self._settings["build-system"]["requires"])
            environment.install(*pins)
            summary += pins
            code = "from setuptools import build_meta; build_meta.build_sdist('../sdist')"
            run([environment.python, "-c", code], self._sources)
            [self._sdist] = (self._folder / "sdist").glob("*.tar.gz")
            with tarfile.open(self._sdist) as archive:
                names = {name.partition("/")[2] for name in archive.getnames()}
            needed = {"pyproject.toml", "setup.py", "README.md", "LICENSE"}
            _require(needed | self._names_in_package("py", "typed", "c", "h"), names, self._sdist)

    def build_wheel(self, interpreter: Interpreter) -> None:
        """Build a wheel from the sdist with the newest build tools."""
        with self._check("build", interpreter, "wheel") as summary:
            wheel = self._wheels[interpreter.name] = self._make_wheel(self._environment(interpreter, "wheel"))
            summary.append(wheel.name)
            with zipfile.ZipFile(wheel) as archive:
                names = {f"src/{name}" for name in archive.namelist()}
            _require(self._names_in_package("py", "typed"), names, wheel)
            if not any(re.fullmatch(r"src/unisvm/compiled/_sweeps\..*", name) for name in names):
                raise Failure(f"{wheel.name} lacks the compiled part")
            outside = sorted(name for name in names if not re.match(r"src/unisvm(-[^/]*\.dist-info)?/", name))
            if outside:
                raise Failure(f"{wheel.name} has more than the package: {', '.join(outside)}")

    def _names_in_package(self, *suffixes: str) -> set[str]:
        """Files of the package with these suffixes, below the folder of the sources."""
        package = self._sources / "src" / "unisvm"
        return {str(path.relative_to(self._sources)) for suffix in suffixes for path in package.rglob(f"*.{suffix}")}

    def _make_wheel(self, environment: Environment, **variables: str) -> Path:
        """The wheel that an environment makes of the sdist."""
        folder = environment.folder / "wheels"
        environment.pip("wheel", "--quiet", "--no-deps", "--wheel-dir", folder, self._sdist, **variables)
        [wheel] = folder.glob("*.whl")
        return wheel

    def _pins(self, environment: Environment, requirements: list[str]) -> list[str]:
        """Requirements of the form "name>=bound", pinned to the oldest versions that there are wheels of."""
        named = (requirement.split(">=") for requirement in requirements)
        return [f"{name}=={environment.oldest(name, bound)}" for name, bound in named]

    def oldest(self, interpreter: Interpreter) -> None:
        """Test the oldest dependencies that pyproject.toml allows and that there are wheels of."""
        with self._check("oldest", interpreter, "install") as summary:
            environment = self._environment(interpreter, "oldest")
            project = self._settings["project"]
            needed = [name for name in project["optional-dependencies"]["test"] if name.split(">=")[0] in _FOR_TESTS]
            pins = self._pins(environment, [*project["dependencies"], *needed])
            self._install(environment, self._wheels[interpreter.name], pins, summary)
        self._test("oldest", interpreter, environment)

    def newest(self, interpreter: Interpreter) -> None:
        """Test the newest dependencies."""
        with self._check("newest", interpreter, "install") as summary:
            environment = self._environment(interpreter, "newest")
            self._install(environment, self._wheels[interpreter.name], [], summary)
        self._test("newest", interpreter, environment)

    def no_compiler(self, interpreter: Interpreter) -> None:
        """Install where the compiler fails and where there is none, and test the latter."""
        for state in ("failing", "missing"):
            with self._check("no-compiler", interpreter, f"install, {state}") as summary:
                environment = self._environment(interpreter, f"compiler-{state}")
                variables = {"CC": "false"} if state == "failing" else {"PATH": str(environment.python.parent)}
                wheel = self._make_wheel(environment, **variables)
                self._install(environment, wheel, [], summary, is_compiled=False)
        self._test("no-compiler", interpreter, environment, "--deselect", _NEEDS_COMPILER)

    def sdist(self, interpreter: Interpreter) -> None:
        """Install from the sdist alone."""
        with self._check("sdist", interpreter, "install") as summary:
            environment = self._environment(interpreter, "sdist")
            environment.pip("install", "--quiet", self._sdist)
            self._try(environment, summary)

    def _install(
        self, environment: Environment, wheel: Path, pins: list[str], summary: list[str], is_compiled: bool = True
    ) -> None:
        """Install a wheel and what the tests need, and fit a small problem."""
        environment.install(wheel, *_FOR_TESTS, *pins)
        self._try(environment, summary, is_compiled)

    def _try(self, environment: Environment, summary: list[str], is_compiled: bool = True) -> None:
        """Fit a small problem."""
        installed = dict(line.split("==") for line in environment.pip("freeze").splitlines() if "==" in line)
        summary += [f"{name} {installed[name]}" for name in _NUMERICAL]
        environment.pip("check")
        run([environment.python, "-c", _SMALL_FIT, "compiled" if is_compiled else "without"], environment.folder)

    def _test(self, part: str, interpreter: Interpreter, environment: Environment, *options: str) -> None:
        """Run the tests, with these options of pytest."""
        with self._check(part, interpreter, "tests") as summary:
            command = [environment.python, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
            command += ["-n", str(self._n_workers), *options, *(f"tests/{name}" for name in self._tests)]
            output = run(command, self._beside_tests, PYTHONDONTWRITEBYTECODE="1")
            summary.append(output.strip().splitlines()[-1])


def _require(needed: set[str], names: set[str], archive: Path) -> None:
    if not needed <= names:
        raise Failure(f"{archive.name} lacks {', '.join(sorted(needed - names))}")


#: what is done for each Python after the wheels are built
_PARTS: dict[str, Callable[[Matrix, Interpreter], None]] = {
    "oldest": Matrix.oldest,
    "newest": Matrix.newest,
    "no-compiler": Matrix.no_compiler,
    "sdist": Matrix.sdist,
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=_PARTS, default=list(_PARTS), help="parts to run")
    parser.add_argument("--python", nargs="+", metavar="3.x", help="versions to use; all that are found by default")
    parser.add_argument("--quick", action="store_true", help=f"run only the tests of {', '.join(_QUICK_TESTS)}")
    parser.add_argument("--workers", type=int, default=2, help="processes that share the tests")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="make all in this new folder and leave it there")
    return parser.parse_args()


def _choose(names: list[str] | None) -> list[Interpreter]:
    """The interpreters to use; prints all that were found."""
    settings = tomllib.loads((_PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
    every, used = find_interpreters(as_tuple(settings["project"]["requires-python"].removeprefix(">=")))
    for interpreter in every:
        print(f"found Python {interpreter}{'' if interpreter in used else ', left out: there is a later one'}")
    missing = set(names or ()) - {interpreter.name for interpreter in used}
    if missing or not used:
        sys.exit(f"there is no Python {', '.join(sorted(missing))} here")
    return [interpreter for interpreter in used if names is None or interpreter.name in names]


def main() -> int:
    """1 if any check failed, and 0 otherwise."""
    options = _options()
    interpreters = _choose(options.python)
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        matrix = Matrix(folder, options.workers, _QUICK_TESTS if options.quick else _TESTS)
        with suppress(Failure):
            matrix.build_sdist(interpreters[-1])
            for interpreter in interpreters:
                with suppress(Failure):
                    matrix.build_wheel(interpreter)
                    for part in options.only:
                        with suppress(Failure):
                            _PARTS[part](matrix, interpreter)
    failed = [result for result in matrix.results if result.output is not None]
    print("", *matrix.results, f"{len(failed)} of {len(matrix.results)} checks failed", sep="\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
