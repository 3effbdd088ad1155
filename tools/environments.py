"""Python interpreters of this machine, and virtual environments made of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

#: variables that would change what is tested
_UNWANTED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "UNISVM_DATA", "UNISVM_COMPILED", "UNISVM_HARD")
_PROBE = """
import ensurepip, json, sys, venv
print(json.dumps([sys.implementation.name, *sys.version_info[:3], sys.abiflags]))
"""
_TIME_LIMIT = 1800  # seconds of one command


class Failure(Exception):
    """A command that failed, or something that ought to hold and does not."""


class Interpreter(NamedTuple):
    """A CPython that can make virtual environments."""

    version: tuple[int, int, int]
    abi_flags: str
    path: Path

    @property
    def name(self) -> str:
        """Its version as in the names of files, as 3.13 or 3.13t."""
        return f"{self.version[0]}.{self.version[1]}{self.abi_flags}"

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.version))}{self.abi_flags} ({self.path})"


def run(command: Sequence[str | Path], folder: Path, **variables: str) -> str:
    """What a command printed; raises `Failure` with the end of it if it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in _UNWANTED} | variables
    try:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_TIME_LIMIT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failure(str(error)) from error
    if done.returncode:
        raise Failure(done.stdout)
    return done.stdout


def find_interpreters(oldest: tuple[int, ...]) -> tuple[list[Interpreter], list[Interpreter]]:
    """All interpreters from a version on, and the last patch release of each minor version, old ones first."""
    found = {}
    for path in _candidates():
        try:
            implementation, *version, abi_flags = json.loads(run([path, "-c", _PROBE], Path.home()))
        except (Failure, ValueError):
            continue  # a shim without a version behind it, or no module venv
        if implementation == "cpython" and tuple(version) >= oldest:
            found[path] = Interpreter(tuple(version), abi_flags, path)
    every = sorted(found.values())
    return every, list({interpreter.name: interpreter for interpreter in every}.values())


def _candidates() -> Iterator[Path]:
    """Paths of interpreters on PATH, of pyenv and of uv, each file once."""
    pattern = re.compile(r"python3(\.\d+t?)?")
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    folders += Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin")
    if shutil.which("uv"):
        folders += Path(run(["uv", "python", "dir"], Path.home()).strip()).glob("*/bin")
    paths = [Path(sys._base_executable)]  # type: ignore[attr-defined]
    paths += [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir())]
    seen = set()
    for path in paths:
        is_shim = path.parent.name == "shims"  # the versions behind these are found in their own folder
        if pattern.fullmatch(path.name) and not is_shim and path.resolve() not in seen:
            seen.add(path.resolve())
            # an environment made of another environment would be tied to it
            if not (path.parent.parent / "pyvenv.cfg").exists():
                yield path


class Environment:
    """A new virtual environment.

    Parameters
    ----------
    interpreter : Interpreter
    folder : Path
        Is made.
    """

    def __init__(self, interpreter: Interpreter, folder: Path):
        run([interpreter.path, "-m", "venv", folder], folder.parent)
        self.python = folder / "bin" / "python"
        self.folder = folder

    def install(self, *requirements: str | Path, **variables: str) -> None:
        """Install packages; all but local files and folders only if there are wheels of them."""
        self.pip("install", "--quiet", "--prefer-binary", "--only-binary", ":all:", *requirements, **variables)

    def pip(self, *arguments: str | Path, **variables: str) -> str:
        """What pip printed."""
        return run([self.python, "-m", "pip", *arguments], self.folder, **variables)

    def oldest(self, package: str, bound: str) -> str:
        """The oldest version from a bound on that has a wheel for this interpreter; releases only."""
        listing = self.pip("index", "versions", package)
        [versions] = re.findall(r"^Available versions: (.*)$", listing, re.MULTILINE)
        releases = sorted(filter(re.compile(r"[\d.]+").fullmatch, versions.split(", ")), key=as_tuple)
        for version in releases:
            # not all pips leave out of the list the versions without a wheel
            if as_tuple(version) >= as_tuple(bound) and self._has_wheel(f"{package}=={version}"):
                return version
        raise Failure(f"no wheels of {package} {bound} or later")

    def _has_wheel(self, requirement: str) -> bool:
        try:
            self.install("--dry-run", "--no-deps", requirement)
        except Failure:
            return False
        return True


def as_tuple(version: str) -> tuple[int, ...]:
    """The numbers of a version, without zeros at the end: 2.0 is 2.0.0."""
    numbers = [int(number) for number in version.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
