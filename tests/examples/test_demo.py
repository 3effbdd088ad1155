"""The demo's table on a terminal of 80 columns: each model has a line with its whole name."""

import importlib.util
import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from unisvm import losses
from unisvm.datasets import make_xor

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "demo.py"


@pytest.fixture
def demo(monkeypatch):
    specification = importlib.util.spec_from_file_location("demo", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    # a dataclass looks for its module there
    monkeypatch.setitem(sys.modules, "demo", module)
    specification.loader.exec_module(module)
    return module


@pytest.mark.filterwarnings("ignore::unisvm.FitWarning")
def test_all_names_are_whole_on_80_columns(demo):
    data = demo.Data("digits, ten classes", 10.0, 0.5, *make_xor(100, random_state=0))
    table, models = demo.empty_table(), demo.models(data)
    table.add_row(f"{data.name}\n1,000,000 training rows")
    for name, model in models.items():
        table.add_row(*demo.row(name, model, data))
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table)
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    first_words = [line.strip("│ ").split("│")[0].strip() for line in lines]
    assert set(losses.names("classification")) <= set(models)
    for name in models:
        assert first_words.count(name) == 1, name
    assert not any("…" in line for line in lines)
