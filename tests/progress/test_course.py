"""How far a fit is, as far as its events tell."""

import numpy as np
import pytest

from unisvm.progress import (
    CellScored,
    IterationEnds,
    KernelBegins,
    KernelEnds,
    RoundBegins,
    RoundEnds,
    StageBegins,
    StageEnds,
    course,
)


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is moved."""
    now = [0.0]
    monkeypatch.setattr(course, "perf_counter", lambda: now[0])
    return now


def begin(name, *path):
    return StageBegins(path=path, name=name, label=name)


def end(name, *path, failed=False):
    return StageEnds(path=path, name=name, label=name, seconds=1.0, failed=failed)


def iteration(number, *stationarity, tol=1e-4, max_iter=1000):
    column = np.array(stationarity)
    return IterationEnds(
        number=number,
        objective=0.5 * np.ones_like(column),
        stationarity=column,
        n_sweeps=number,
        seconds=0.0,
        tol=tol,
        max_iter=max_iter,
        fitted=lambda: None,
    )


def following(*events):
    followed = course.Course()
    for event in events:
        followed.follow(event)
    return followed


def test_the_innermost_stage_is_under_way(clock):
    followed = following(begin("result"), begin("landmarks"))
    clock[0] = 3.0
    assert followed.standing() == ("landmarks", 3.0, None)
    followed.follow(end("landmarks"))
    assert followed.standing().text == "result"
    followed.follow(end("result"))
    assert followed.standing() is None


def test_a_stage_that_failed_is_over(clock):
    followed = following(begin("suspects"), begin("features", "suspects"), end("features", "suspects", failed=True))
    assert followed.standing().text == "suspects"


def test_the_share_of_a_solver_is_that_of_the_logarithm(clock):
    followed = following(begin("solver"), iteration(1, 1e-1), iteration(2, 1e-2))
    clock[0] = 2.0
    standing = followed.standing()
    assert standing.share == pytest.approx(1 / 3)
    assert standing.seconds_left == pytest.approx(4.0)
    # what rises again is not lost
    followed.follow(iteration(3, 5e-2))
    assert followed.standing().share == pytest.approx(1 / 3)
    # the last column counts
    followed.follow(iteration(4, 1e-9, 1e-3))
    assert followed.standing().share == pytest.approx(2 / 3)
    followed.follow(iteration(5, 1e-9, 1e-9))
    assert followed.standing().share == 0.99


def test_the_number_of_iterations_tells_the_share_if_that_is_nearer(clock):
    followed = following(begin("solver"), iteration(1, 1e-1, max_iter=11), iteration(7, 1e-1, max_iter=11))
    assert followed.standing().share == pytest.approx(0.6)


def test_where_nothing_is_known_nothing_is_said(clock):
    followed = following(begin("solver"), iteration(1, 1e-1))
    assert followed.standing().seconds_left is None
    # as far as tol from the first iteration, but not done by the solver's own rule
    followed = following(begin("solver"), iteration(1, 1e-5), iteration(2, 1e-5))
    assert 0 <= followed.standing().share <= 0.99
    followed = following(begin("solver"), iteration(1, 0.0), iteration(2, 0.0))
    assert 0 <= followed.standing().share <= 0.99


def test_a_round_counts_its_cells(clock):
    def cell(index, score, best):
        return CellScored(index=index, params={"C": 1.0}, score=score, best_score=best, best_params={"C": 1.0})

    def kernel(index):
        return KernelBegins(index=index, name=f"kernel {index}", number=index, n_kernels=3, n_cells=2)

    followed = following(RoundBegins(name="grid", n_kernels=3, n_cells=6), kernel(1), begin("landmarks", "grid"))
    clock[0] = 4.0
    assert followed.standing() == ("search, grid: kernel 1 of 3, kernel 1", 4.0, 0.0)
    followed.follow(cell(1, 0.7, 0.7))
    followed.follow(cell(1, 0.6, 0.7))
    followed.follow(kernel(2))
    standing = followed.standing()
    assert standing.text == "search, grid: kernel 1 and 2 of 3, best score 0.7"
    assert standing.seconds_left == pytest.approx(8.0)
    followed.follow(KernelEnds(index=1, name="kernel 1", seconds=1.0))
    assert "kernel 2 of 3, kernel 2" in followed.standing().text
    followed.follow(RoundEnds(name="grid", seconds=1.0, best_score=0.7, best_params={"C": 1.0}))
    assert followed.standing().text == "grid, landmarks"
