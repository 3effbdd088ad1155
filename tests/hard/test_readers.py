"""Hostile tables, texts of LIBSVM and archives are read, or refused in words, in little time and memory."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hard.effort import HARD, SEED

TOOL = Path(__file__).resolve().parents[2] / "tools" / "fuzz_readers.py"
#: cases of the short part; all of the suite takes a minute for each reader
CASES = {"csv": 120, "libsvm": 200, "npz": 120}


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits on memory")
@pytest.mark.parametrize("reader", CASES)
def test_hostile_files(tmp_path, tried, reader):
    amount = ["--seconds", "60"] if HARD else ["--cases", str(CASES[reader])]
    command = [sys.executable, str(TOOL), reader, "--seed", str(SEED), *amount]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stdout[-3000:]
    counts = dict(re.findall(r"'(read|refused)': (\d+)", ran.stdout))
    tried.add(sum(map(int, counts.values())))
    # hostile files can be well formed, too
    assert int(counts["refused"]) > int(counts["read"]) > 0


def test_a_case_that_is_neither_is_a_finding(tmp_path):
    script = f"""
import runpy, sys
sys.path.insert(0, {str(TOOL.parent)!r})
import fuzz_readers

def fuzz(rng, folder):
    (folder / "case.csv").write_text("kept")
    raise KeyError("not in words")

fuzz_readers.READERS["csv"] = fuzz
sys.exit(fuzz_readers.main())
"""
    tool = tmp_path / "spoilt.py"
    tool.write_text(script)
    ran = subprocess.run(
        [sys.executable, str(tool), "csv", "--cases", "3"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ran.returncode == 1
    assert "csv, seed 0, case 0: the file is kept as finding-csv-0-0.csv" in ran.stdout
    assert "KeyError: 'not in words'" in ran.stdout
    assert (tmp_path / "finding-csv-0-0.csv").read_text() == "kept"
