"""tools/fuzz.py: its targets bear what it gives them, and what they do not bear is found and kept."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hard.effort import HARD, SEED

FUZZ = Path(__file__).resolve().parents[2] / "tools" / "fuzz.py"
#: cases of the short part; all of the suite takes a minute for each target
CASES = {"models": 400}

#: a target of which one case in ten is not borne
FRAGILE = """
import os, sys
sys.path.insert(0, {tools!r})
import fuzz

def case(shared, rng):
    return bytes([rng.integers(10)]), ["a digit"]

def attempt(shared, path):
    if path.read_bytes() == b"\\7":
        {fault}
    if path.read_bytes() == b"\\1":
        raise ValueError(path.name)
    return "read"

fuzz.WARM_UP = 0
fuzz.TARGETS["fragile"] = fuzz.Target(lambda folder: None, case, attempt, (ValueError,), ".bin")
sys.exit(fuzz.main())
"""


def run(*command):
    return subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits on memory")
@pytest.mark.parametrize("target", CASES)
def test_targets(tmp_path, tried, target):
    amount = ["--seconds", "60"] if HARD else ["--cases", str(CASES[target])]
    ran = run(FUZZ, target, "--seed", SEED, "--keep", tmp_path, *amount)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    counts = dict(re.findall(r"'(\w+)': (\d+)", ran.stdout))
    tried.add(sum(map(int, counts.values())))
    # most bytes are refused, and some are such that they can still be read
    assert int(counts["refused"]) > int(counts["predicted"]) > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits on memory")
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("raise ValueError('no name of a file')", "ValueError: no name of a file"),
        ("os.abort()", "the process ended with status -6"),
        ("bytearray(2**33)", "MemoryError"),
    ],
)
def test_a_finding_is_kept(tmp_path, fault, said):
    script = tmp_path / "fragile.py"
    script.write_text(FRAGILE.format(tools=str(FUZZ.parent), fault=fault))
    ran = run(script, "fragile", "--cases", 60, "--keep", tmp_path)
    assert ran.returncode == 1
    assert said in ran.stdout
    kept = sorted(tmp_path.glob("fragile-0-*.bin"))
    assert kept
    assert {path.read_bytes() for path in kept} == {b"\7"}
