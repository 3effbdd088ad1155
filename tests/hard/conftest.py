"""The hard suite: properties, oracles, load and damaged files. `make test` runs a short part of it.

UNISVM_SEED=n tries other cases. Every test counts the cases that it tries with the fixture `tried`; the numbers are
printed at the end.
"""

import pytest
from hypothesis import HealthCheck, settings

from hard.effort import SEED

_CASES = "hard cases"

settings.register_profile(
    "hard",
    deadline=None,
    derandomize=SEED == 0,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("hard")


class Tried:
    """Number of cases that a test has tried."""

    def __init__(self, properties):
        self._properties = properties
        self._n_cases = 0

    def add(self, n_cases: int = 1) -> None:
        """Count so many cases more."""
        self._n_cases += n_cases
        self._properties[:] = [entry for entry in self._properties if entry[0] != _CASES]
        self._properties.append((_CASES, self._n_cases))


@pytest.fixture
def tried(request):
    """Counts the cases of a test."""
    return Tried(request.node.user_properties)


def pytest_terminal_summary(terminalreporter):
    """Print the cases tried and the tests that failed."""
    reports = [
        report
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if report.when == "call" and "tests/hard/" in report.nodeid
    ]
    if reports:
        n_cases = sum(value for report in reports for name, value in report.user_properties if name == _CASES)
        n_failed = sum(report.failed for report in reports)
        terminalreporter.write_line(f"hard suite: {n_cases} cases tried in {len(reports)} tests, {n_failed} failed")
