"""The examples of the README and the pages run, and the README's table of losses is the registry."""

import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pytest

from unisvm import losses

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def examples(text):
    return re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)


EXAMPLES = examples(README)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.filterwarnings("ignore:.* rows are left out of the refit:unisvm.FitWarning")
@pytest.mark.parametrize("page", [page for page in PAGES if examples(page.read_text())], ids=lambda page: page.name)
def test_examples_run(page, capsys):
    # one after the other, as a reader runs them
    namespace = {}
    for example in examples(page.read_text()):
        exec(compile(example, page.name, "exec"), namespace)


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


def test_the_page_on_reliability_names_tests_that_are_there():
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 20
    for file, test in named:
        assert f"def {test}" in (ROOT / file).read_text(encoding="utf-8"), (file, test)
    targets = re.findall(r"`make ([\w-]+)`", page)
    assert all(f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8") for target in targets)
