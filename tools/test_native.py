"""Run the compiled part with sanitizers: its tests, and random calls of every function, with wide vectors and without.

    python tools/test_native.py                         all of it, in less than six minutes
    python tools/test_native.py --seconds 3600          random calls for so long, besides the tests
    python tools/test_native.py --seed 3 --case 1234    one random call again, which was reported

The compiled part is built in a temporary folder, beside a copy of the package, with address and undefined-behaviour
sanitizers, which end the process at the first fault. Before that, a fault is put into the copy, which has to be found.
The exit status is 1 if anything failed, and 2 if a compiler or a sanitizer is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path("unisvm", "compiled", "module.c")
TESTS = "tests/compiled", "tests/kernels", "tests/test_sweep.py"
FLAGS = ["-shared", "-fPIC", "-g", "-O1", "-fno-omit-frame-pointer", "-fno-math-errno", "-fno-trapping-math"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover"]
#: has the extension module find that the processor has no wide vectors
NO_WIDE_VECTORS = "-D__builtin_cpu_supports(name)=0"
#: a text of the sources, and another with which `decay` reads and writes one number too many
FAULT = "numbers->len / numbers->itemsize", "numbers->len / numbers->itemsize + 1"
FAULT_FOUND = "heap-buffer-overflow"
#: a sanitizer's report begins here, and so many of its lines are shown that have one of these; or the last lines
REPORT = re.compile(r"runtime error:|ERROR: AddressSanitizer")
SHOWN, MOST_LINES = re.compile(r"compiled/|(READ|WRITE) of"), 8
MOST_FAILURES = 10
#: beyond these, tests or a random call are taken to hang
MOST_SECONDS_OF_TESTS, MOST_SECONDS_OF_CALL = 900, 60


class Missing(Exception):
    """Something that is needed is not here."""


class Tools(NamedTuple):
    """The compiler, and the libraries that are loaded before Python."""

    compiler: list[str]
    preload: str


def find_tools() -> Tools:
    """The compiler and the sanitizers' runtime."""
    if not sys.platform.startswith("linux"):
        raise Missing("The sanitizers are loaded before Python here, which is written for Linux alone.")
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if shutil.which(compiler[0]) is None:
        raise Missing(f"There is no C compiler {compiler[0]!r}: install GCC, or name one with CC.")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        raise Missing("Python.h is missing: install the headers of this Python.")
    # exceptions of C++ in other libraries pass through the runtime, which has to find that library first
    paths = [find_library(compiler, name) for name in ("libasan.so", "libubsan.so", "libstdc++.so")]
    for name, path in zip(("libasan", "libubsan"), paths, strict=False):
        if path is None:
            raise Missing(f"{compiler[0]} has no {name}.so: install the sanitizers' runtime ({name}) of this GCC.")
    return Tools(compiler, " ".join(str(path) for path in (paths[0], paths[2]) if path))


def find_library(compiler: list[str], name: str) -> Path | None:
    """The path of a library of the compiler's, or None."""
    said = subprocess.run([*compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False)
    path = Path(said.stdout.strip())
    return path.resolve() if path.is_absolute() and path.exists() else None


def build(tools: Tools, folder: Path, *flags: str, with_fault: bool = False) -> None:
    """Copy the package into a folder and build its extension module there."""
    ignored = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(ROOT / "src" / "unisvm", folder / "unisvm", ignore=ignored)
    if with_fault:
        texts = {path: path.read_text() for path in (folder / SOURCE).parent.glob("*.[ch]")}
        found = [path for path, text in texts.items() if FAULT[0] in text]
        if not found:
            raise Missing(f"No source has {FAULT[0]!r}, where a fault would be put in: look for another place.")
        found[0].write_text(texts[found[0]].replace(*FAULT, 1))
    target = folder / SOURCE.with_name(f"_sweeps{sysconfig.get_config_var('EXT_SUFFIX')}")
    command = [*tools.compiler, *FLAGS, *SANITIZERS, *flags, f"-I{sysconfig.get_path('include')}"]
    ran = subprocess.run(
        [*command, str(folder / SOURCE), "-o", str(target)], capture_output=True, text=True, check=False
    )
    if ran.returncode:
        raise Missing(f"The compiled part cannot be built with sanitizers:\n{ran.stderr}")


def environment(tools: Tools, folder: Path) -> dict[str, str]:
    """Environment variables with which Python takes the copy of the package and reports faults in it."""
    others = {name: value for name, value in os.environ.items() if name != "UNISVM_COMPILED"}
    return others | {
        "LD_PRELOAD": tools.preload,
        # what Python itself keeps until its end is not a leak of ours; memory that is not there is a MemoryError
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def has_wide_vectors(tools: Tools, folder: Path) -> bool:
    """Whether a build uses wide vectors; raises Missing unless Python loads it."""
    program = "from unisvm.compiled import _sweeps; print(_sweeps.__file__, _sweeps.wide_vectors)"
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment(tools, folder), capture_output=True, text=True, check=False
    )
    path, _, wide = ran.stdout.strip().rpartition(" ")
    if not path.startswith(str(folder)):
        raise Missing(f"Python does not load what was built in {folder}:\n{ran.stdout}{ran.stderr}")
    return wide == "True"


def report(text: str) -> str:
    """Lines of an output that tell of a sanitizer's fault, or its last ones."""
    lines = text.rstrip().splitlines()
    found = [number for number, line in enumerate(lines) if REPORT.search(line)]
    if found:
        lines = [lines[found[0]], *filter(SHOWN.search, lines[found[0] + 1 :])][:MOST_LINES]
    return "\n".join(f"    {line.strip()}" for line in lines[-MOST_LINES:])


def run(command: list[object], variables: dict[str, str], seconds: float) -> tuple[int | str, str]:
    """The exit status of a command at the root of the project, or that it gave no answer; and its output."""
    options = {"cwd": ROOT, "env": variables, "timeout": seconds, "check": False}
    try:
        ran = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    except subprocess.TimeoutExpired as error:
        return f"no answer in {seconds:.0f} s", (error.stdout or b"").decode(errors="replace")
    return ran.returncode, ran.stdout.decode(errors="replace")


def run_tests(tools: Tools, folder: Path) -> tuple[int, int]:
    """Number of tests run and failed; what failed is printed."""
    summary = folder / "tests.xml"
    # a fault ends the process, and its report is lost if pytest holds the output
    options = ["-v", "--capture=sys", "--tb=short", "-p", "no:faulthandler", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, f"--junitxml={summary}", *TESTS]
    ended, output = run(command, environment(tools, folder), MOST_SECONDS_OF_TESTS)
    if not summary.exists():
        last = [line for line in output.splitlines() if line.startswith("tests/")][-1:]
        print("  FAILED", *last, f"the tests ended with {ended}:\n{report(output)}")
        return output.count(" PASSED"), output.count(" FAILED") + 1
    suite = ElementTree.parse(summary).getroot().find("testsuite").attrib
    n_failed = int(suite["failures"]) + int(suite["errors"])
    if ended or n_failed:
        print(*(f"  {line}" for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))), sep="\n")
    return int(suite["tests"]) - int(suite["skipped"]), n_failed or int(ended != 0)


class Calls(NamedTuple):
    """Random calls that were made.

    Attributes
    ----------
    counts : dict of Counter
        The answers of each function.
    failures : list of (case, call, message)
    """

    counts: dict[str, Counter]
    failures: list[tuple[int, str, str]]


def fuzz(
    tools: Tools, folder: Path, seed: int, seconds: float, *options: str, first: int = 0, most: int = MOST_FAILURES
) -> Calls:
    """Random calls for so long, or until so many fail; after one that ends the process, they go on with the next."""
    end, counts, failures = perf_counter() + seconds, {}, []
    progress, program = folder / "progress.json", Path(__file__).with_name("fuzz_native.py")
    while (left := end - perf_counter()) > 0 and len(failures) < most:
        progress.unlink(missing_ok=True)
        command = [
            sys.executable,
            program,
            progress,
            f"--seed={seed}",
            f"--first={first}",
            f"--seconds={left}",
            *options,
        ]
        ended, output = run(command, environment(tools, folder), left + MOST_SECONDS_OF_CALL)
        said = json.loads(progress.read_text()) if progress.exists() else {"call": "the first"}
        for name, answers in said.get("counts", {}).items():
            counts.setdefault(name, Counter()).update(answers)
        failures += said.get("failures", [])
        if said["call"] is None and ended == 0:
            break
        case = said.get("case", first)
        failures.append((case, said["call"] or "the last", f"{ended}:\n{report(output)}"))
        if "case" not in said:
            break
        counts.setdefault(said["name"], Counter())["faults"] += 1
        first = case + 1
    return Calls(counts, failures)


def report_calls(calls: Calls, seed: int) -> tuple[int, int]:
    """Number of random calls and of failures, which are printed."""
    for name, answers in sorted(calls.counts.items()):
        print(f"    {name:<16} {', '.join(f'{number} {answer}' for answer, number in sorted(answers.items()))}")
    for case, call, message in calls.failures:
        print(f"  FAILED --seed {seed} --case {case}: {call}\n    {message}")
    silent = [name for name, answers in calls.counts.items() if not answers]
    for name in silent:
        print(f"  FAILED {name}: it was never called")
    return sum(answers.total() for answers in calls.counts.values()), len(calls.failures) + len(silent)


def finds_faults(tools: Tools, folder: Path) -> bool:
    """Whether a fault is found that was put into a copy of the sources."""
    build(tools, folder, with_fault=True)
    calls = fuzz(tools, folder, 0, MOST_SECONDS_OF_CALL, "--only=decay", most=3)
    return any(FAULT_FOUND in message for _, _, message in calls.failures)


def check(tools: Tools, folder: Path, seed: int, seconds: float, case: int | None) -> tuple[int, int]:
    """Number of tests and random calls of both builds, and of failures."""
    totals = [0, 0]
    for name, flags in (("wide", ()), ("narrow", (NO_WIDE_VECTORS,))):
        started = perf_counter()
        build(tools, folder / name, *flags)
        is_wide = has_wide_vectors(tools, folder / name)
        if is_wide and flags:
            raise Missing("The compiled part uses wide vectors although it was told that there are none.")
        if not (is_wide or flags):
            print("This processor has no AVX2: what is written for it is not tested.")
            continue
        print(f"With{'' if is_wide else 'out'} wide vectors:")
        if case is not None:
            calls = fuzz(tools, folder / name, seed, MOST_SECONDS_OF_CALL, "--cases=1", first=case)
            print("".join(f"  FAILED {call}\n    {message}\n" for _, call, message in calls.failures), end="")
            counted = [(1, len(calls.failures))]
        else:
            counted = [run_tests(tools, folder / name)]
            calls = fuzz(tools, folder / name, seed, seconds / 2)
            counted.append(report_calls(calls, seed))
            (n_tests, failed_tests), (n_calls, failed_calls) = counted
            print(f"  {n_tests} tests, {failed_tests} failed; {n_calls} random calls, {failed_calls} failed;", end=" ")
        print(f"{perf_counter() - started:.0f} s", flush=True)
        totals = [total + sum(numbers) for total, numbers in zip(totals, zip(*counted, strict=True), strict=True)]
    return totals[0], totals[1]


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=120, help="how long random calls are made, in both builds")
    parser.add_argument("--seed", type=int, help="of the random calls; another one each time if not given")
    parser.add_argument("--case", type=int, help="the only random call to make; no tests are run")
    given = parser.parse_args()
    seed = secrets.randbelow(2**31) if given.seed is None else given.seed
    with tempfile.TemporaryDirectory(prefix="unisvm-native-") as folder:
        try:
            tools = find_tools()
            if not finds_faults(tools, Path(folder, "faulty")):
                print("FAILED: a fault that was put into a copy of the sources is not found.")
                return 1
            print("A fault that was put into a copy of the sources is found.", flush=True)
            n_cases, n_failed = check(tools, Path(folder), seed, given.seconds, given.case)
        except Missing as error:
            print(error, file=sys.stderr)
            return 2
    print(f"compiled part with sanitizers: {n_cases} cases tried (seed {seed}), {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
