"""The README's examples run, and its table of losses is the registry."""

import re
from pathlib import Path

import pytest

from unisvm import losses

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_runs(example, capsys):
    exec(compile(example, "README.md", "exec"), {})


def test_first_example_shows_what_it_claims(capsys):
    namespace = {}
    exec(compile(EXAMPLES[0], "README.md", "exec"), namespace)
    assert namespace["model"].score(namespace["X_test"], namespace["y_test"]) > 0.95
    assert capsys.readouterr().out.count("\n") == 2


def test_table_of_losses():
    rows = re.findall(
        r"^\| (`.*?) \|.*\| (both|classification|regression) \| (yes|) ?\| (yes|) ?\|$", README, flags=re.M
    )
    listed = {}
    for names, task, convex, bounded in rows:
        name, *aliases = re.findall(r"`(\w+)`", names)
        loss = losses.get(name)
        listed[name] = aliases
        assert loss.tasks == ({"classification", "regression"} if task == "both" else {task})
        assert loss.is_convex == bool(convex), name
        assert (loss.bound < float("inf")) == bool(bounded), name
    assert sorted(listed) == sorted(losses.names())
    assert {alias: name for name, aliases in listed.items() for alias in aliases} == losses.ALIASES
