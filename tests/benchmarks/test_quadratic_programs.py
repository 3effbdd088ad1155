"""The comparison of solvers for quadratic programs, really run on small ones."""

import sys

import pytest

import quadratic_programs


def test_the_tables(monkeypatch, capsys):
    solvers = ["Newton", "piqp, polished"]
    arguments = ["--rows", "60", "--fits", "80", "--solvers", *solvers]
    monkeypatch.setattr(sys, "argv", ["quadratic_programs", *arguments])
    quadratic_programs.main()
    lines = capsys.readouterr().out.splitlines()
    assert [lines[0].split()[0], lines[5].split()[0]] == ["program", "fit"]
    programs, fits = lines[1:5], lines[6:]
    # both are right to the precision of the machine
    assert all(float(line.split()[-1]) < 1e-8 for line in programs)
    assert [line.split()[0] for line in fits[::2]] == ["RampSVM", "MultiStageSVM", "ReweightedL2SVM"]
    # as many programs, and the same function in the end
    for newton, interior in zip(fits[::2], fits[1::2], strict=True):
        assert newton.split()[-1] == interior.split()[-1]
        assert float(interior.split()[-2]) < 1e-6


@pytest.mark.parametrize("name", ["L2SVM", "RampSVM"])
def test_error(name):
    program = quadratic_programs.programs(50)[name]
    best = quadratic_programs.newton(*program)
    assert quadratic_programs.error(best, *program) < 1e-8
    assert quadratic_programs.error(best + 0.1, *program) > 0.01
