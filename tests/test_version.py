"""The version of the package is that of the installation, and is written in one place."""

from importlib.metadata import version
from pathlib import Path

import unisvm

ROOT = Path(__file__).resolve().parents[1]


def test_version_is_that_of_the_installation():
    assert unisvm.__version__ == version("unisvm")


def test_version_is_written_once():
    files = [*ROOT.glob("src/**/*.py"), *ROOT.glob("*.py"), *ROOT.glob("*.toml"), *ROOT.glob("*.cff")]
    assert {path.name for path in files} >= {"__init__.py", "pyproject.toml", "setup.py", "CITATION.cff"}
    assert [path.name for path in files if unisvm.__version__ in path.read_text(encoding="utf-8")] == ["_version.py"]
