"""The commands of the pages run."""

import re
import shlex
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "command_line.md").read_text(encoding="utf-8")
PAGES = "".join(path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md")))
EXAMPLES = re.findall(r"<!-- run: (.*?) -->\n```sh\n(.*?)```", PAGES, flags=re.DOTALL)


@pytest.mark.parametrize(("files", "commands"), EXAMPLES, ids=[files for files, _ in EXAMPLES])
def test_examples_run(unisvm, people, libsvm_files, files, commands):
    assert set(files.split()) <= {*people, *libsvm_files}
    for command in commands.splitlines():
        program, *arguments = shlex.split(command)
        assert program == "unisvm"
        unisvm(*arguments)


def test_the_summary_is_that_of_the_page(unisvm, people):
    shown = re.search(r"^    data .*?^    model .*?$", PAGE, flags=re.DOTALL | re.MULTILINE)[0]
    printed = unisvm("train", "--target", "income", people[0], "income.model").out

    def without_numbers(text):
        # of a fit that other processors round otherwise, and of its file
        return [re.sub(r"[\d.,e-]+", "#", line.strip()) for line in text.splitlines()]

    assert without_numbers(printed) == without_numbers(shown)
    assert printed.splitlines()[:4] == [line.removeprefix("    ") for line in shown.splitlines()[:4]]


def test_every_option_of_the_page_is_one(unisvm):
    helps = [unisvm(command, "--help").out for command in ("train", "predict", "cv", "suspects", "losses", "convert")]
    known = {option for text in helps for option in re.findall(r"--[a-zA-Z-]+", text)}
    named = set(re.findall(r"`(--[a-z-]+)", PAGE)) - {"--help", "--install-completion"}
    assert named
    assert {option for option in named if option not in known} == set()
