"""Fits in the log: what a user asks for, whatever `verbose` is, and nothing otherwise."""

import logging
import subprocess
import sys

import pytest

from progress.slow import X, y
from unisvm import UniSVMClassifier, UniSVMClassifierCV

STAGES = ("landmarks", "features", "gram", "majoriser", "start", "solver", "whole fit")


@pytest.mark.parametrize("verbose", [0, 2])
def test_stages_at_info(verbose, caplog, capsys):
    with caplog.at_level(logging.INFO, "unisvm"):
        model = UniSVMClassifier(C=1.0, rank=30, verbose=verbose).fit(X, y)
    assert {(record.name, record.levelname) for record in caplog.records} == {("unisvm", "INFO")}
    messages = [record.getMessage() for record in caplog.records]
    for stage in STAGES:
        assert f"{stage} begins" in messages
        assert sum(message.startswith(f"{stage} took ") for message in messages) == 1
    assert f"rank {model.rank_}" in messages[-1]
    assert not any(message.startswith("iteration") for message in messages)
    assert (capsys.readouterr().out == "") == (verbose == 0)


def test_iterations_at_debug(caplog):
    with caplog.at_level(logging.DEBUG, "unisvm"):
        model = UniSVMClassifier(C=1.0, rank=30).fit(X, y)
    iterations = [record for record in caplog.records if record.getMessage().startswith("iteration ")]
    assert len(iterations) == model.n_iter_
    assert {record.levelname for record in iterations} == {"DEBUG"}
    assert f"objective {model.objective_:.8g}" in iterations[-1].getMessage()


def test_cells_of_a_search_at_info(caplog):
    search = UniSVMClassifierCV(["hinge"], Cs=[0.1, 1.0], gammas=[0.5, 2.0], cv=3, rank=20)
    with caplog.at_level(logging.INFO, "unisvm"):
        search.fit(X, y)
    messages = [record.getMessage() for record in caplog.records]
    assert sum("grid: C=" in message for message in messages) == 4
    assert any(message.startswith("grid, rbf, gamma=2: landmarks took ") for message in messages)
    assert any(message.startswith("refit: solver took ") for message in messages)
    assert any(f"best score {search.best_score_:.6g} with C=" in message for message in messages)


def test_nothing_without_being_asked(caplog):
    with caplog.at_level(logging.WARNING):
        UniSVMClassifier(C=1.0, rank=30).fit(X, y)
    assert caplog.records == []


def test_a_program_that_knows_nothing_of_logging_prints_nothing():
    code = (
        "import logging; from progress.slow import X, y; from unisvm import UniSVMClassifier\n"
        "logging.getLogger('unisvm').setLevel(logging.DEBUG)\n"
        "UniSVMClassifier(C=1.0, rank=30, rank_tol=0).fit(X, y)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == done.stderr == ""
