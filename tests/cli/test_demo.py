"""The demo's table on a terminal of 80 columns: each model has a line with its whole name."""

import io

import pytest
from rich.console import Console

from unisvm.cli import demo
from unisvm.datasets import make_xor


def test_all_names_are_whole_on_80_columns():
    data = demo.Data("digits, ten classes", 10.0, 0.5, *make_xor(100, random_state=0))
    table, models = demo.empty_table(), demo.models(data)
    for name, model in models.items():
        table.add_row(*demo.row(name, model, data))
    printed = io.StringIO()
    Console(file=printed, width=80).print(table)
    lines = printed.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    first_words = [line.strip("│ ").split("│")[0].strip() for line in lines]
    for name in models:
        assert first_words.count(name) == 1, name
    assert not any("…" in line for line in lines)


def test_boundaries_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    data = demo.Data("xor", 10.0, 0.5, *make_xor(100, random_state=0))
    fitted = {name: model.fit(data.X, data.y) for name, model in demo.models(data).items()}
    demo.draw_boundaries(fitted, data, str(tmp_path / "demo.png"))
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
